"""What became different in the facts of a store between two moments."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from gm_engine.records import DifferenceKind, Fact, FactDifference
from gm_engine.store.database import Ledger
from gm_engine.store.facts import load_facts
from gm_engine.store.past import PastLedger

_CHANGED = "SELECT DISTINCT target FROM changes WHERE +kind = 'fact' AND seq > ? AND seq <= ?"
_BORN = (
    "SELECT f.id FROM facts f WHERE f.created_ns > ? AND f.created_ns <= ? AND f.id IN ("
    "SELECT c.target FROM changes c JOIN journal j ON j.seq = c.seq"
    " WHERE c.seq > ? AND +c.kind = 'fact' AND c.version_before = 0 AND j.verb = 'import')"
)


def differences(ledger: Ledger, before: PastLedger, after: PastLedger) -> tuple[FactDifference, ...]:
    """Every fact that differs, oldest first; `before` is the earlier moment. Bookkeeping does not count."""
    with ledger.read() as connection:
        wanted = _candidates(connection, before, after)
    with before.read() as connection:
        old = load_facts(connection, wanted)
    with after.read() as connection:
        new = load_facts(connection, wanted)
    found = []
    for fact_id in wanted:
        kinds = _kinds(old.get(fact_id), new.get(fact_id))
        if kinds:
            found.append(FactDifference(fact_id, kinds, old.get(fact_id), new.get(fact_id)))
    found.sort(key=_age)
    return tuple(found)


def _candidates(connection: Connection, before: PastLedger, after: PastLedger) -> list[str]:
    """Facts that a journal entry between the moments names, or that a later import says were written between them."""
    changed = connection.exec_driver_sql(_CHANGED, (before.seq, after.seq)).scalars().all()
    born = connection.exec_driver_sql(_BORN, (before.as_of_ns, after.as_of_ns, before.seq)).scalars().all()
    return list(dict.fromkeys((*changed, *born)))


def _age(difference: FactDifference) -> tuple[int, str]:
    fact = difference.after or difference.before
    return (0 if fact is None else fact.created_ns), difference.fact_id


def _kinds(old: Fact | None, new: Fact | None) -> tuple[DifferenceKind, ...]:
    if old is None or new is None:
        if old is None and new is None:
            return ()
        return ("added",) if old is None else ("removed",)
    kinds: list[DifferenceKind] = []
    if old.is_superseded != new.is_superseded:
        kinds.append("retired" if new.is_superseded else "restored")
    if old.agent_id != new.agent_id:
        kinds.append("moved")
    alike = replace(
        old,
        agent_id=new.agent_id,
        superseded_by=new.superseded_by if kinds and kinds[0] in ("retired", "restored") else old.superseded_by,
        accessed_ns=new.accessed_ns,
        access_count=new.access_count,
        weight=new.weight,
        version=new.version,
    )
    if alike != new:
        kinds.append("changed")
    return tuple(kinds)
