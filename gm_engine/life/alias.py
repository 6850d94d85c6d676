"""Vocabulary facts: `alias: term = equivalent, equivalent`."""

from __future__ import annotations

from collections.abc import Sequence

from gm_engine.errors import InvalidInput
from gm_engine.records import Fact
from gm_engine.store.facts import NewFact, insert_facts
from gm_engine.store.transaction import Transaction


def alias_text(term: str, equivalents: Sequence[str]) -> str:
    """The stored form of an alias. `InvalidInput` for blank parts or characters that would break the form."""
    parts = [term.strip(), *(word.strip() for word in equivalents)]
    if len(parts) < 2 or not all(parts):
        raise InvalidInput("An alias needs a term and at least one equivalent.", field="equivalents")
    bad = next((part for part in parts if any(c in part for c in "=,\n\r")), None)
    if bad is not None:
        raise InvalidInput(f"An alias holds no '=', ',' or line break: {bad[:60]!r}", field="term")
    return f"alias: {parts[0]} = {', '.join(dict.fromkeys(parts[1:]))}"


def write_alias(tx: Transaction, agent_id: str, term: str, equivalents: Sequence[str], *, language: str) -> Fact:
    """Stores one alias fact, written deliberately."""
    fact = NewFact(
        id=tx.clock.new_id(tx.at_ns),
        agent_id=agent_id,
        text=alias_text(term, equivalents),
        created_ns=tx.at_ns,
        origin=tx.origin,
        kind="alias",
    )
    return insert_facts(tx, [fact], language=language)[0]
