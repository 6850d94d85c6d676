"""Subcommands on the store as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from gm_engine.cli.payloads import agent_payload, settings_payload, status_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import Session, current, finish_index, origin, shared_options, with_embedding
from gm_engine.errors import InvalidInput
from gm_engine.proposals import ConsolidationCounters
from gm_engine.records import BALANCED_WEIGHTS, AgentSummary, JsonValue, StoreStatus


@click.command()
@shared_options
def init() -> None:
    """Make a new store with the balanced profile; an existing one is left as it is."""
    session = current()
    is_new = not session.has_store
    with session.writing(create=True) as memory:
        if is_new:
            memory.set_settings(replace(memory.settings, signal_weights=BALANCED_WEIGHTS))
        settings = memory.settings
    payload: dict[str, JsonValue] = {
        "data_dir": str(session.data_dir),
        "created": is_new,
        "profile": "balanced" if settings.signal_weights == BALANCED_WEIGHTS else "custom",
        "settings": settings_payload(settings),
    }
    weights = settings.signal_weights
    lines = [
        f"{'made a new store in' if is_new else 'there is a store already in'} {plain(str(session.data_dir))}",
        f"signal weights: vector {weights.vector:g}, keyword {weights.keyword:g}, recency {weights.recency:g}"
        + (" (balanced: how well a fact fits counts far more than how new it is)" if is_new else ""),
    ]
    session.answer(payload, lines)


@click.command()
@click.option("--no-wait", is_flag=True, help="Do not compute the vectors now.")
@shared_options
def demo(*, no_wait: bool) -> None:
    """Make a store filled with a made-up team's memory, to look around in."""
    from gm_engine.clock import SystemClock
    from gm_engine.demo import build_demo

    session = current()
    if session.has_store:
        raise InvalidInput(f"There is a store already in {session.data_dir}; the demo needs a directory of its own.")
    with session.progress() as progress:
        build_demo(session.data_dir, clock=SystemClock(), progress=progress)
        if not no_wait:
            with session.writing() as memory:
                finish_index(memory, progress)
    _answer_status(session)


@click.command()
@shared_options
def agents() -> None:
    """The namespaces and what they hold."""
    with current().reading() as memory:
        summaries = memory.agents()
    payload: list[JsonValue] = [agent_payload(agent) for agent in summaries]
    current().answer(payload, map(_agent_line, summaries))


def _agent_line(agent: AgentSummary) -> str:
    return (
        f"{plain(agent.agent_id)}: {agent.live:,} live, {agent.retired:,} retired, "
        f"{agent.pinned:,} pinned, {agent.aliases:,} aliases"
    )


@click.command()
@shared_options
def status() -> None:
    """The figures of the store, and the state of its vectors."""
    _answer_status(current())


def _answer_status(session: Session) -> None:
    with session.reading() as memory:
        figures, counters = memory.status(), memory.consolidation_counters()
    session.answer(status_payload(figures, counters), _status_lines(figures, counters))


def _status_lines(figures: StoreStatus, counters: ConsolidationCounters) -> Iterator[str]:
    yield f"store: {plain(figures.data_dir)}"
    for agent in figures.agents:
        yield f"  {_agent_line(agent)}"
    yield f"{figures.checkpoints:,} checkpoints, {figures.entities:,} entities, {figures.edges:,} links"
    vectors = figures.vectors
    yield (
        f"vectors ({plain(vectors.model)}): {vectors.embedded:,} texts embedded, {vectors.pending:,} pending, "
        f"{vectors.chroma:,} in Chroma; path: {plain(vectors.path)}"
    )
    if vectors.answering not in ("", vectors.model):
        yield f"until every text is embedded, {plain(vectors.answering)} answers"
    if counters.cycles:
        yield f"{counters.cycles:,} consolidations consumed {counters.consumed:,} facts"


@click.command()
@click.option("--vectors", is_flag=True, help="Also compare the vector index with exact answers; rebuild a wrong one.")
@click.option("--repair", "repairing", is_flag=True, help="Put right what can be, then look again.")
@click.pass_context
@shared_options
def doctor(context: click.Context, *, vectors: bool, repairing: bool) -> None:
    """Check that the store is sound; exit code 1 when something is broken.

    Without --repair and --vectors nothing is changed. Repairs of what the journal keeps are entries in it and can be
    undone.
    """
    from gm_engine.doctor import Finding, Verdict, examine, repair
    from gm_engine.doctor.vector_paths import examine_vector_paths

    session = current()
    session.require_store()
    with session.progress() as progress:
        if repairing:
            findings = repair(session.data_dir, origin=origin(), progress=progress)
        else:
            findings = examine(session.data_dir, progress=progress)
        if vectors:
            config = with_embedding(None)
            findings += (examine_vector_paths(session.data_dir, config=config, origin=origin(), progress=progress),)
    is_sound = all(finding.verdict is not Verdict.BROKEN for finding in findings)

    def line(finding: Finding) -> str:
        offer = f" (--repair would {finding.repair})" if finding.repair else ""
        return f"{finding.verdict:>8}  {finding.check}: {plain(finding.detail)}{offer}"

    payload: dict[str, JsonValue] = {
        "data_dir": str(session.data_dir),
        "sound": is_sound,
        "checks": [
            {
                "name": finding.check,
                "verdict": str(finding.verdict),
                "detail": finding.detail,
                "repair": finding.repair,
            }
            for finding in findings
        ],
    }
    session.answer(payload, map(line, findings))
    context.exit(0 if is_sound else 1)
