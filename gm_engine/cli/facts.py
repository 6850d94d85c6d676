"""Subcommands that list and change facts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from gm_engine.cli.moments import MOMENT_HELP, view_at
from gm_engine.cli.payloads import fact_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, write_json_array
from gm_engine.errors import InvalidInput
from gm_engine.records import CONFIDENCE_LABELS, SHARED_AGENT_ID, Confidence, Fact, FactQuery, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory
    from gm_engine.moment import MemoryView

_PAGE = 256
_confidence = click.option(
    "--confidence", type=click.Choice(CONFIDENCE_LABELS), help="How sure the writer is; omitted means not said."
)


def fact_line(fact: Fact) -> str:
    """A fact for a reader: id, time, what is special about it, text; one line."""
    marks = [name for name, holds in (("pinned", fact.pinned), ("retired", fact.is_superseded)) if holds]
    marks += [mark for mark in (plain(fact.confidence), plain(fact.kind)) if mark]
    tail = f" [{', '.join(marks)}]" if marks else ""
    return f"{plain(fact.id)}  {minute(fact.created_ns)}{tail}  {plain(fact.text)}"


def _label(name: str | None) -> Confidence | None:
    return None if name is None else Confidence(name)


def _text(text: str) -> str:
    """The text itself, or standard input for `-`."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text ({error.reason} at byte {error.start})") from error


@click.command("list")
@click.argument("agent", required=False)
@click.option("--all", "everything", is_flag=True, help="Retired facts and aliases too; without AGENT, of all agents.")
@click.option("--retired", is_flag=True, help="Only retired facts.")
@click.option("--text", default="", help="Only facts that contain this.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, newest first.")
@click.option("--at", "moment", metavar="MOMENT", help=f"As the store was then: {MOMENT_HELP}.")
@shared_options
def list_(
    agent: str | None, *, everything: bool, retired: bool, text: str, limit: int | None, moment: str | None
) -> None:
    """The facts of AGENT, newest first; with --all and no AGENT those of the whole store."""
    if agent is None and not everything:
        raise click.UsageError("Name an AGENT, or give --all.", click.get_current_context())
    query = FactQuery(
        agent_id=agent,
        status="retired" if retired else "all" if everything else "live",
        kind="all" if everything else "content",
        text=text,
    )
    with current().reading() as memory:
        if moment is None:
            _show(memory, query, limit)
            return
        with view_at(memory, moment) as view:
            _show(view, query, limit)
            if view.reconstructed:
                sys.stderr.write("Facts from later imports are shown as they were when they came in.\n")


def _show(source: Memory | MemoryView, query: FactQuery, limit: int | None) -> None:
    facts = _paged(source, source.fact_ids(query)[:limit])
    if current().json:
        write_json_array(fact_payload(fact) for fact in facts)
        return
    for fact in facts:
        owner = "" if query.agent_id is not None else f"{plain(fact.agent_id)}: "
        sys.stdout.write(f"{owner}{fact_line(fact)}\n")


def _paged(source: Memory | MemoryView, ids: list[str]) -> Iterator[Fact]:
    for start in range(0, len(ids), _PAGE):
        yield from source.facts(ids[start : start + _PAGE])


@click.command()
@click.argument("agent")
@click.argument("text", required=False)
@_confidence
@click.option("--shared", is_flag=True, help="Keep it in the namespace that every agent reads; AGENT may be left out.")
@shared_options
def remember(agent: str, text: str | None, *, confidence: str | None, shared: bool) -> None:
    """Keep TEXT as a fact of AGENT. TEXT `-` reads standard input, every character of it."""
    if text is None:
        if not shared:
            raise click.UsageError("Missing argument 'TEXT'.", click.get_current_context())
        agent, text = SHARED_AGENT_ID, agent
    body = _text(text)
    with current().writing(create=True) as memory:
        label = _label(confidence)
        fact = (
            memory.remember_shared(body, confidence=label) if shared else memory.remember(agent, body, confidence=label)
        )
    current().answer(fact_payload(fact), [f"kept {fact_line(fact)}"])


@click.command()
@click.argument("agent")
@click.argument("target", metavar="OLD")
@click.argument("new")
@_confidence
@shared_options
def revise(agent: str, target: str, new: str, *, confidence: str | None) -> None:
    """Replace OLD (a fact's id or exact text) by NEW. NEW `-` reads standard input."""
    body = _text(new)
    with current().writing() as memory:
        ids = memory.resolve(agent, target)
        fact = memory.revise(agent, ids, body, confidence=_label(confidence))
    current().answer(fact_payload(fact), [f"now {fact_line(fact)}"])


def _change(agent: str, target: str, verb: Callable[[Memory, tuple[str, ...]], Iterable[Fact]], *, live: bool) -> None:
    """Resolves TARGET, applies the verb, and answers with the facts as they are now."""
    session = current()
    with session.writing() as memory:
        facts = tuple(verb(memory, memory.resolve(agent, target, live_only=live)))
    payload: dict[str, JsonValue] = {
        "agent_id": agent,
        "count": len(facts),
        "facts": [fact_payload(fact) for fact in facts],
    }
    session.answer(payload, [fact_line(fact) for fact in facts])


@click.command()
@click.argument("agent")
@click.argument("target")
@click.option("--never-again", is_flag=True, help="Also refuse this text from now on, whoever writes it.")
@shared_options
def forget(agent: str, target: str, *, never_again: bool) -> None:
    """Retire TARGET: it leaves recall at once, stays listed, and can be restored."""
    _change(agent, target, lambda memory, ids: memory.retire(agent, ids, block=never_again), live=True)


@click.command()
@click.argument("agent")
@click.argument("target", metavar="ID")
@shared_options
def restore(agent: str, target: str) -> None:
    """Bring the retired fact ID back."""
    _change(agent, target, lambda memory, ids: memory.restore(agent, ids), live=False)


@click.command()
@click.argument("agent")
@click.argument("target")
@shared_options
def pin(agent: str, target: str) -> None:
    """Exempt TARGET from fading, pruning and summaries."""
    _change(agent, target, lambda memory, ids: memory.pin(agent, ids), live=True)


@click.command()
@click.argument("agent")
@click.argument("target")
@shared_options
def unpin(agent: str, target: str) -> None:
    """Let TARGET fade again; also works on retired facts."""
    _change(agent, target, lambda memory, ids: memory.unpin(agent, ids), live=False)


@click.command()
@click.argument("agent")
@click.argument("target")
@click.argument("confidence", type=click.Choice(CONFIDENCE_LABELS))
@shared_options
def label(agent: str, target: str, confidence: str) -> None:
    """Set how sure TARGET is."""
    _change(agent, target, lambda memory, ids: memory.label(agent, ids, Confidence(confidence)), live=True)


@click.command()
@click.argument("agent")
@click.argument("target")
@click.argument("to")
@shared_options
def move(agent: str, target: str, to: str) -> None:
    """Move TARGET from AGENT to the agent TO; it keeps its id."""
    _change(agent, target, lambda memory, ids: memory.move(agent, ids, to), live=True)


@click.command()
@click.argument("agent")
@click.argument("target")
@click.argument("to")
@shared_options
def copy(agent: str, target: str, to: str) -> None:
    """Copy TARGET from AGENT to the agent TO; the copy names the original as its source."""
    _change(agent, target, lambda memory, ids: memory.copy(agent, ids, to), live=True)


@click.command()
@click.argument("agent")
@click.argument("term")
@click.argument("equivalents", nargs=-1, required=True)
@shared_options
def alias(agent: str, term: str, equivalents: tuple[str, ...]) -> None:
    """Teach the memory of AGENT that TERM means the same as EQUIVALENTS."""
    with current().writing(create=True) as memory:
        fact = memory.alias(agent, term, equivalents)
    payload: dict[str, JsonValue] = {
        "agent_id": agent,
        "term": term,
        "equivalents": list(equivalents),
        "stored": True,
        "fact_id": fact.id,
    }
    current().answer(payload, [f"kept {fact_line(fact)}"])
