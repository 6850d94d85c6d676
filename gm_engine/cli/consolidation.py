"""`graymatter consolidate` and `graymatter inbox`: cycles, and deciding on what they propose."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, get_args

import click

from gm_engine.cli.payloads import cycle_payload, fact_payload, proposal_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, short
from gm_engine.config import Config, language_model_from
from gm_engine.proposals import (
    APPLICABLE_KINDS,
    PROPOSAL_KINDS,
    PROPOSAL_STATES,
    CycleReport,
    Proposal,
    ProposalKind,
    ProposalSource,
    ProposalState,
)
from gm_engine.records import Fact, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory

_HISTORY = 50
_SHOWN_FINDINGS = 6
_WAITING = ("waiting", *PROPOSAL_STATES)


@click.command()
@click.argument("agent")
@click.option("--dry-run", is_flag=True, help="Only say what a cycle would do; nothing is written, nobody is asked.")
@click.option(
    "--apply", "kinds", multiple=True, type=click.Choice(APPLICABLE_KINDS), help="Carry out this kind of proposal."
)
@click.option("--no-prune", is_flag=True, help="Leave faded facts where they are; they are proposed instead.")
@click.option("--history", is_flag=True, help="Only show the past cycles of AGENT.")
@shared_options
def consolidate(agent: str, *, dry_run: bool, kinds: tuple[ProposalKind, ...], no_prune: bool, history: bool) -> None:
    """Run a cycle over AGENT: weights fade, duplicates and contradictions go to the inbox, faded facts leave.

    A language model is asked for a summary when GRAYMATTER_LLM_URL and GRAYMATTER_LLM_MODEL name one.
    """
    session = current()
    if history:
        with session.reading() as memory:
            reports = memory.cycles(agent, limit=_HISTORY)
        past: list[JsonValue] = [cycle_payload(report) for report in reports]
        session.answer(past, [f"{minute(report.at_ns)}  {_figures(report)}" for report in reports])
        return
    config = Config(language_model=language_model_from(os.environ))
    opened = session.reading(config=config) if dry_run else session.writing(config=config)
    with opened as memory, session.progress() as progress:
        if not dry_run:
            memory.embed_pending(agent)
        report = memory.consolidate(agent, dry_run=dry_run, apply=kinds, prune=not no_prune, progress=progress)
        facts = _facts_of(memory, report.proposals)
    session.answer(cycle_payload(report), _report_lines(report, facts))


def _figures(report: CycleReport) -> str:
    proposed = ", ".join(f"{count:,} {_words(kind)}" for kind, count in report.proposed.items()) or "nothing"
    parts = [f"{report.facts:,} facts", f"{report.decayed:,} faded", f"proposed {proposed}"]
    if report.known:
        parts.append(f"{report.known:,} wait already")
    parts += [f"applied {count:,} {_words(kind)}" for kind, count in report.applied.items()]
    parts.append(f"{report.pruned:,} pruned")
    if report.held_back:
        parts.append(f"{report.held_back:,} faded facts wait in the inbox")
    if report.series:
        parts.append(f"{report.series:,} series left alone")
    return ", ".join(parts)


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _report_lines(report: CycleReport, facts: dict[str, Fact]) -> Iterator[str]:
    yield f"{'a cycle would be' if report.dry_run else 'cycle'}: {_figures(report)}"
    yield from (f"  error: {plain(error)}" for error in report.errors)
    for proposal in report.proposals:
        yield from _card_lines(proposal, facts)


def _facts_of(memory: Memory, proposals: Sequence[Proposal]) -> dict[str, Fact]:
    """The facts that cards show: all but those of a long list of faded ones."""
    ids = [fact_id for proposal in proposals for fact_id in proposal.facts[:_SHOWN_FINDINGS]]
    return {fact.id: fact for fact in memory.facts(list(dict.fromkeys(ids)))}


def _card_lines(proposal: Proposal, facts: dict[str, Fact]) -> Iterator[str]:
    marks = [mark for mark, holds in (("stale", proposal.stale), (proposal.state, proposal.state != "open")) if holds]
    tail = f" [{', '.join(marks)}]" if marks else ""
    owner = f"  {plain(proposal.agent_id)}" if proposal.agent_id is not None else ""
    yield f"{plain(proposal.id) or '–'}{owner}  {_words(proposal.kind)}{tail}: {plain(proposal.reason)}"
    for fact_id in proposal.facts[:_SHOWN_FINDINGS]:
        mark = "keep" if fact_id == proposal.keep else "    "
        text = short(facts[fact_id].text) if fact_id in facts else "(gone)"
        yield f"    {mark}  {plain(fact_id)}  {text}"
    if len(proposal.facts) > _SHOWN_FINDINGS:
        yield f"          … and {len(proposal.facts) - _SHOWN_FINDINGS:,} more"
    if proposal.text:
        yield f"    new   {short(proposal.text)}"
    for finding in proposal.findings[:_SHOWN_FINDINGS]:
        if finding.kind != "words":
            yield f"    {'made up' if finding.kind == 'invented' else 'lost ' + finding.kind}: {plain(finding.text)}"


@click.group()
@shared_options
def inbox() -> None:
    """List what waits for a decision, and decide."""


@inbox.command("list")
@click.argument("agent", required=False)
@click.option("--state", type=click.Choice(_WAITING), default="open", show_default=True, help="Which cards.")
@click.option("--kind", type=click.Choice(PROPOSAL_KINDS), help="Only this kind.")
@click.option("--source", type=click.Choice(get_args(ProposalSource)), help="Only from this source.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@shared_options
def list_(
    agent: str | None,
    *,
    state: ProposalState,
    kind: ProposalKind | None,
    source: ProposalSource | None,
    limit: int | None,
) -> None:
    """The cards of AGENT, or of all: exact duplicates first, the surest first."""
    with current().reading() as memory:
        proposals = memory.inbox.list(state, source=source, kind=kind, agent_id=agent, limit=limit)
        facts = _facts_of(memory, proposals)
    payload: list[JsonValue] = [proposal_payload(proposal) for proposal in proposals]
    current().answer(payload, [line for proposal in proposals for line in _card_lines(proposal, facts)])


@inbox.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--edit", "edited", metavar="TEXT", help="Keep this text instead of the proposed one.")
@click.option("--keep", metavar="FACT", help="Keep this fact of the card instead of the proposed one.")
@shared_options
def accept(ids: tuple[str, ...], *, edited: str | None, keep: str | None) -> None:
    """Do what the cards ID say. Several are one step of undo; what has changed meanwhile is left and named."""
    session = current()
    if len(ids) > 1:
        if edited is not None or keep is not None:
            raise click.UsageError("--edit and --keep are for one card.", click.get_current_context())
        _accept_many(ids)
        return
    with session.writing() as memory:
        proposal = memory.inbox.accept(ids[0], edited=edited, keep=keep)
        facts = memory.facts(proposal.facts)
    payload: dict[str, JsonValue] = {
        "proposal": proposal_payload(proposal),
        "facts": [fact_payload(fact) for fact in facts],
        "undo": proposal.seq,
    }
    session.answer(payload, [f"accepted {plain(proposal.id)}; undo with `graymatter undo {proposal.seq}`"])


def _accept_many(ids: tuple[str, ...]) -> None:
    session = current()
    with session.writing() as memory, session.progress() as progress:
        decision = memory.inbox.accept_many(ids, progress=progress)
    payload: dict[str, JsonValue] = {
        "accepted": [proposal_payload(proposal) for proposal in decision.accepted],
        "left": [{"id": left.id, "reason": left.reason} for left in decision.left],
        "undo": decision.seq,
    }
    undo = f"; undo with `graymatter undo {decision.seq}`" if decision.seq is not None else ""
    lines = [f"accepted {len(decision.accepted):,}{undo}"]
    session.answer(payload, lines + [f"  left {plain(left.id)}: {plain(left.reason)}" for left in decision.left])


def _decide(verb: Callable[[Memory], tuple[Proposal, ...]], done: str) -> None:
    session = current()
    with session.writing() as memory:
        proposals = verb(memory)
    payload: list[JsonValue] = [proposal_payload(proposal) for proposal in proposals]
    session.answer(payload, [f"{done} {plain(proposal.id)}" for proposal in proposals])


@inbox.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@shared_options
def reject(ids: tuple[str, ...]) -> None:
    """Turn the cards ID down: the same is not proposed again while these facts stay as they are."""
    _decide(lambda memory: memory.inbox.reject(ids), "rejected")


@inbox.command("never-again")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@shared_options
def never_again(ids: tuple[str, ...]) -> None:
    """Turn the cards ID down for good: these texts are never proposed together again."""
    _decide(lambda memory: memory.inbox.never_again(ids), "never again")


@inbox.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@shared_options
def later(ids: tuple[str, ...]) -> None:
    """Put the cards ID off until the next cycle, or until they are reopened."""
    _decide(lambda memory: memory.inbox.later(ids), "put off")


@inbox.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@shared_options
def reopen(ids: tuple[str, ...]) -> None:
    """Bring the cards ID back that were put off or turned down."""
    _decide(lambda memory: memory.inbox.reopen(ids), "reopened")
