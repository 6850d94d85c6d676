"""`graymatter sources`: other sources beside memory, searched together with it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from gm_engine.cli.payloads import fact_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import Session, current, minute, origin, shared_options, short, with_embedding
from gm_engine.cli.source_payloads import answer_payload, config_payload, expand_payload, health_payload
from gm_engine.clock import SystemClock, parse_rfc3339
from gm_engine.errors import InvalidInput
from gm_engine.records.facts import CONFIDENCE_LABELS, JsonValue

if TYPE_CHECKING:
    from gm_engine.recall_protocol.joint_answer import JointAnswer, SourceOutcome
    from gm_engine.recall_protocol.payloads import Sensitivity
    from gm_engine.recall_protocol.sources import SourceHealth, Sources

SENSITIVITIES = ("public", "internal", "confidential", "restricted")
DETAILS = ("summary", "excerpt", "full", "context")


@click.group()
@shared_options
def sources() -> None:
    """Search memory and other sources together.

    A source is a program that speaks the Recall adapter protocol. Sources are configured in `sources.toml` in the
    user's configuration directory (GRAYMATTER_SOURCES names another file), and nowhere else.
    """


@sources.command("list")
@shared_options
def list_() -> None:
    """The configured sources; none is started."""
    from gm_engine.recall_protocol.source_config import default_sources_file

    file = default_sources_file(os.environ)
    found = file.load()
    lines = [
        f"{each.id:<16} {'' if each.enabled else '(off) '}{plain(' '.join((each.command, *each.args)))}"
        f"  {plain(each.location)}  ceiling {each.ceiling}, prior {each.prior:g}"
        for each in found
    ]
    payload: list[JsonValue] = [config_payload(each) for each in found]
    current().answer(payload, lines or [f"no sources in {plain(str(file.path))}"])


def _setting(text: str) -> tuple[str, JsonValue]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"A setting is NAME=VALUE, not {text[:80]!r}.", field="set")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@sources.command()
@click.argument("source_id", metavar="NAME")
@click.argument("command")
@click.option("--arg", "args", multiple=True, metavar="ARG", help="An argument of COMMAND; can be repeated.")
@click.option("--location", default="", help="What the adapter is to open: a path or an address.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the adapter; VALUE as JSON.")
@click.option("--ceiling", type=click.Choice(SENSITIVITIES), default="confidential", help="Drop what is above this.")
@click.option("--prior", type=float, default=1.0, help="Weight of its places against others, 0 to 10.")
@click.option("--deadline", type=float, default=5.0, metavar="SECONDS", help="How long a search waits for it.")
@shared_options
def add(
    source_id: str,
    command: str,
    *,
    args: tuple[str, ...],
    location: str,
    settings: tuple[str, ...],
    ceiling: str,
    prior: float,
    deadline: float,
) -> None:
    """Configure the source NAME: COMMAND is started when it is first asked."""
    from gm_engine.recall_protocol.source_config import default_sources_file, new_source

    made = new_source(
        source_id,
        command,
        clock=SystemClock(),
        args=args,
        location=location,
        settings=dict(_setting(each) for each in settings),
        ceiling=cast("Sensitivity", ceiling),
        prior=prior,
        deadline_s=deadline,
    )
    default_sources_file(os.environ).add(made)
    current().answer(config_payload(made), [f"added {made.id}; try it with `graymatter sources health {made.id}`"])


@sources.command()
@click.argument("source_id", metavar="NAME")
@shared_options
def remove(source_id: str) -> None:
    """Take a source out of the configuration. What was kept from it stays."""
    from gm_engine.recall_protocol.source_config import default_sources_file

    gone = default_sources_file(os.environ).remove(source_id)
    current().answer(config_payload(gone), [f"removed {gone.id}"])


@sources.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--refresh", is_flag=True, help="Let them catch up with what they read first.")
@shared_options
def health(names: tuple[str, ...], *, refresh: bool) -> None:
    """Start the sources and ask how they are."""
    with _opened(current()) as opened:
        found = opened.health(names or None, refresh=refresh)
    payload: list[JsonValue] = [health_payload(each) for each in found]
    current().answer(payload, [line for each in found for line in _health_lines(each)])


def _health_lines(each: SourceHealth) -> Iterator[str]:
    if each.health is None:
        yield f"{each.source_id:<16} failed: {plain(each.error)}"
    else:
        told = f"; {plain(each.error)}" if each.error else ""
        counts = "" if each.health.record_count is None else f", {each.health.record_count:,} records"
        yield f"{each.source_id:<16} {each.health.status}, coverage {each.health.coverage}{counts}{told}"
    if each.manifest is not None:
        name, version = plain(each.manifest.display_name), each.manifest.protocol_version
        yield f"{'':<16} {name} ({plain(each.manifest.adapter_id)}), protocol {version}"
    if each.status is not None and each.status.cold_start_ns is not None:
        yield f"{'':<16} started in {each.status.cold_start_ns / 1e9:.2f} s"
    if each.status is not None and each.status.diagnostics.lines:
        yield f"{'':<16} said last: {short(each.status.diagnostics.lines[-1])}"


@sources.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 200), default=10, help="How many hits at most.")
@click.option("--source", "only", multiple=True, metavar="NAME", help="Ask only this one; can be repeated.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only records of this type; can be repeated.")
@click.option("--entity", "entities", multiple=True, metavar="NAME", help="Only about this entity; can be repeated.")
@click.option("--project", default="", help="Only of this project; memory takes it as an agent.")
@click.option("--since", metavar="TIME", help="Only what was made from this time on (RFC 3339).")
@click.option("--until", metavar="TIME", help="Only what was made before this time.")
@click.option("--as-of", metavar="TIME", help="Ask about the sources as they were then.")
@shared_options
def search(
    query: str,
    *,
    limit: int,
    only: tuple[str, ...],
    types: tuple[str, ...],
    entities: tuple[str, ...],
    project: str,
    since: str | None,
    until: str | None,
    as_of: str | None,
) -> None:
    """Ask memory and every source at once.

    A source that fails or answers in part is named on standard error; the answer of the others stands, and the exit
    code is 0. With --json, `coverage` is `complete` or `degraded`.
    """
    from gm_engine.recall_protocol.payloads import SearchFilters

    filters = SearchFilters(types, _instant(since), _instant(until), entities, project)
    with _opened(current()) as opened:
        found = opened.search(query, limit=limit, filters=filters, as_of_ns=_instant(as_of), only=only or None)
        current().answer(answer_payload(found), _answer_lines(found))
        for outcome in found.outcomes:
            if outcome.state in ("degraded", "failed"):
                sys.stderr.write(f"warning: {_outcome_line(outcome)}\n")
        sys.stdout.flush()  # ending the adapters may take a moment


def _instant(text: str | None) -> int | None:
    return None if text is None else parse_rfc3339(text)


def _answer_lines(found: JointAnswer) -> Iterator[str]:
    for place, hit in enumerate(found.hits, 1):
        candidate = hit.candidate
        when = "" if candidate.observed_at_ns is None else f"  {minute(candidate.observed_at_ns)}"
        yield f"{place:>3}. {short(candidate.title)}"
        yield f"     {plain(candidate.locator)}  {plain(candidate.record_type)}{when}"
        if hit.also_in:
            yield f"     also in {', '.join(plain(each) for each in hit.also_in)}"
    if not found.hits:
        yield "nothing found" if found.found_nothing else "no hits, but not every source has looked"
    yield from (f"{_outcome_line(outcome)}" for outcome in found.outcomes)


def _outcome_line(outcome: SourceOutcome) -> str:
    why = f" ({plain(outcome.reason)})" if outcome.reason else ""
    dropped = f", {outcome.dropped} above its ceiling" if outcome.dropped else ""
    return f"{outcome.source_id} {outcome.state}{why}: {outcome.found} hits{dropped}, {outcome.took_s:.2f} s"


@sources.command()
@click.argument("locator")
@click.option("--detail", type=click.Choice(DETAILS), default="full", help="How much of it.")
@click.option("--budget", type=click.IntRange(0), default=65_536, metavar="BYTES", help="At most so many bytes.")
@shared_options
def expand(locator: str, *, detail: str, budget: int) -> None:
    """Show what LOCATOR names."""
    with _opened(current()) as opened:
        found = opened.expand(locator, detail=cast("Any", detail), budget_bytes=budget)
    lines: Iterable[str] = [plain(line) for line in found.content.splitlines()]
    current().answer(expand_payload(locator, found), lines)
    if found.truncated:
        sys.stderr.write("warning: cut at the budget\n")


@sources.command()
@click.argument("locator")
@click.option("--agent", required=True, metavar="AGENT", help="Whose memory it goes to.")
@click.option("--text", help="What to keep; without it, what the source says in full.")
@click.option("--confidence", type=click.Choice(CONFIDENCE_LABELS), help="How sure it is.")
@shared_options
def keep(locator: str, *, agent: str, text: str | None, confidence: str | None) -> None:
    """Keep what LOCATOR names as a fact, with LOCATOR as its origin."""
    with _opened(current(), writes=True) as opened:
        fact = opened.keep(locator, agent, origin=origin(), text=text, confidence=confidence)
    current().answer(fact_payload(fact), [f"kept {fact.id}  {short(fact.text)}"])


@contextmanager
def _opened(session: Session, *, writes: bool = False) -> Iterator[Sources]:
    """Memory, where there is a store, and the configured sources."""
    from contextlib import ExitStack

    from platformdirs import user_state_path

    from gm_engine.recall_protocol.process import Patience
    from gm_engine.recall_protocol.source_config import default_sources_file
    from gm_engine.recall_protocol.sources import Sources

    patience = Patience(shutdown_s=0.5, terminate_s=0.5)  # somebody waits for the prompt
    with ExitStack() as stack:
        memory = None
        if writes:
            memory = stack.enter_context(session.writing())
        elif session.has_store:
            memory = stack.enter_context(session.reading(config=with_embedding(None)))
        state_dir = user_state_path("graymatter", appauthor=False) / "sources"
        yield stack.enter_context(
            Sources(default_sources_file(os.environ), state_dir, memory=memory, patience=patience)
        )
