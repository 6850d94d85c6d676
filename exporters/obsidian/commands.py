"""The subcommand `graymatter vault`: what happened in a vault, and deciding on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click

from exporters.obsidian.proposals import SOURCE, spelt, take_in, to_proposals
from exporters.obsidian.publish import preview, publish
from exporters.obsidian.reading import read_note
from exporters.obsidian.round_trip import read_edits
from exporters.profiles import (
    AUTO_ACCEPT,
    AutoAccept,
    DateFormat,
    LinkStyle,
    PublishOptions,
    PublishProfile,
    RetiredNotes,
    delete_profile,
    profile,
    profiles,
    save_profile,
)
from gm_engine import BulkDecision, Memory, Proposal
from gm_engine.cli.payloads import proposal_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, shared_options, short
from gm_engine.cli.transfer import report_payload
from gm_engine.records import JsonValue

_SHOWN = 20


@click.group()
@shared_options
def vault() -> None:
    """Look at a published vault, and decide on what was edited in it."""


def _where(command: click.decorators.FC) -> click.decorators.FC:
    command = click.option("--folder", help="The published folder in it (else Memory).")(command)
    command = click.option("--profile", "name", metavar="NAME", help="The vault of this profile of the store.")(command)
    return click.option("--vault", "--out", "path", type=click.Path(path_type=Path), help="The vault.")(command)


def _profile(memory: Memory, path: Path | None, folder: str | None, name: str | None) -> PublishProfile:
    """The vault that a command means: the one named, the profile's, or the only profile's."""
    found = profiles(memory)
    place = None if path is None else str(path.absolute())
    if name is not None:
        wanted = profile(memory, name)
    elif place is not None:
        wanted = _published_to(found, place, folder)
    elif len(found) == 1:
        wanted = found[0]
    else:
        raise click.UsageError("Say which vault: --vault DIR or --profile NAME.", click.get_current_context())
    return replace(wanted, vault=place or wanted.vault, folder=folder or wanted.folder)


def _published_to(found: Sequence[PublishProfile], place: str, folder: str | None) -> PublishProfile:
    """How a vault is published to: as its only profile says, else the plain way. Those of other folders say nothing."""
    here = [each for each in found if spelt(each.vault) == spelt(place) and folder in (None, each.folder)]
    if len(here) > 1:
        raise click.UsageError(
            "Several profiles publish to that vault: say which by --profile NAME.", click.get_current_context()
        )
    return here[0] if here else PublishProfile("", place)


@vault.command()
@_where
@shared_options
def status(path: Path | None, folder: str | None, name: str | None) -> None:
    """What publishing would do, and what was edited in the vault since."""
    session = current()
    with session.reading() as memory, session.progress() as progress:
        aim = _profile(memory, path, folder, name)
        plan = preview(memory, Path(aim.vault), folder=aim.folder, options=aim.options, progress=progress)
        edits = read_edits(memory, Path(aim.vault), folder=aim.folder, progress=progress)
    counts = plan.counts()
    payload: dict[str, JsonValue] = {
        "vault": aim.vault,
        "folder": aim.folder,
        "plan": {status: counts[status] for status in counts},
        "edits": [report_payload(edit) for edit in edits.edits],
        "problems": [report_payload(problem) for problem in edits.problems],
        "moved": [list(pair) for pair in edits.moved],
    }
    lines = [f"{aim.vault}: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count)]
    lines += [f"  edited: {plain(card.reason)}" for card in to_proposals(edits)]
    lines += [f"  problem: {plain(problem.note)}: {plain(problem.reason)}" for problem in edits.problems]
    lines += [f"  moved: {plain(old)} → {plain(new)}" for old, new in edits.moved]
    session.answer(payload, lines)


@vault.command()
@_where
@shared_options
def inbox(path: Path | None, folder: str | None, name: str | None) -> None:
    """Bring the inbox up to date with the vault and list what waits for a decision."""
    session = current()
    with session.writing() as memory, session.progress() as progress:
        aim = _profile(memory, path, folder, name)
        edits = read_edits(memory, Path(aim.vault), folder=aim.folder, progress=progress)
        decision = take_in(memory, edits, aim)
        waiting = memory.inbox.list("waiting", source=SOURCE)
    taken = () if decision is None else decision.accepted
    payload: dict[str, JsonValue] = {
        "proposals": [proposal_payload(card) for card in waiting],
        "accepted": [proposal_payload(card) for card in taken],
        "problems": [report_payload(problem) for problem in edits.problems],
    }
    lines = [line for card in waiting for line in _card(card)]
    lines += [f"accepted as the profile says: {plain(card.reason)}" for card in taken]
    lines += [f"problem: {plain(problem.note)}: {plain(problem.reason)}" for problem in edits.problems]
    session.answer(payload, lines or ["nothing was edited"])


def _card(card: Proposal) -> list[str]:
    marks = [*(["stale"] if card.stale else []), *(["conflict"] if card.details.get("conflict") else [])]
    head = f"{plain(card.id)}  {card.kind}{f' [{chr(44).join(marks)}]' if marks else ''}: {plain(card.reason)}"
    return [head, *([f"    {short(card.text)}"] if card.text else [])]


@vault.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--edit", "edited", metavar="TEXT", help="Keep this text: store and vault merged by hand.")
@shared_options
def accept(ids: tuple[str, ...], edited: str | None) -> None:
    """Do what was done in the vault. Of a conflict this keeps the vault's side."""
    session = current()
    if edited is not None and len(ids) > 1:
        raise click.UsageError("--edit is for one card.", click.get_current_context())
    with session.writing() as memory:
        if edited is None:
            decision = memory.inbox.accept_many(ids)
        else:
            card = memory.inbox.accept(ids[0], edited=edited)
            decision = BulkDecision((card,), (), card.seq)
    payload: dict[str, JsonValue] = {
        "accepted": [proposal_payload(card) for card in decision.accepted],
        "left": [{"id": each.id, "reason": each.reason} for each in decision.left],
        "undo": decision.seq,
    }
    undo = f"; undo with `graymatter undo {decision.seq}`" if decision.seq is not None else ""
    left = [f"  left {plain(each.id)}: {plain(each.reason)}" for each in decision.left]
    session.answer(payload, [f"accepted {len(decision.accepted)}{undo}", *left])


@vault.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@shared_options
def reject(ids: tuple[str, ...]) -> None:
    """Keep the store's side. The next publish writes it; the vault's words go to its .trash."""
    with current().writing() as memory:
        cards = memory.inbox.reject(ids)
    answer: list[JsonValue] = [proposal_payload(card) for card in cards]
    current().answer(answer, [f"rejected {plain(card.id)}" for card in cards])


@vault.command()
@_where
@shared_options
def tidy(path: Path | None, folder: str | None, name: str | None) -> None:
    """Publish, and move notes of retired and gone facts to the vault's .trash."""
    session = current()
    with session.reading() as memory, session.progress() as progress:
        aim = _profile(memory, path, folder, name)
        report = publish(
            memory, Path(aim.vault), folder=aim.folder, options=aim.options, progress=progress, remove_orphans=True
        )
    payload = report_payload(report)
    session.answer(payload, [f"{report.removed} moved to .trash, {report.written} written, {len(report.left)} left"])


@vault.command()
@click.argument("note", type=click.Path(path_type=Path))
@shared_options
def read(note: Path) -> None:
    """Give back the exact text of the fact in the file NOTE."""
    found = read_note(note)
    payload: dict[str, JsonValue] = {
        "path": found.path,
        "id": found.fact_id,
        "agent_id": found.agent_id,
        "kind": found.kind,
        "text": found.text,
    }
    current().answer(payload, [plain(line) for line in found.text.split("\n")])


@vault.group("profile")
@shared_options
def profile_group() -> None:
    """The store's publish profiles."""


@profile_group.command("list")
@shared_options
def list_profiles() -> None:
    """Every profile of the store."""
    with current().reading() as memory:
        found = profiles(memory)
    _answer_profiles(found)


def _answer_profiles(found: Sequence[PublishProfile]) -> None:
    payload: list[JsonValue] = [report_payload(each) for each in found]
    current().answer(payload, [f"{plain(each.name)}  {plain(each.vault)}  {plain(each.folder)}" for each in found])


@profile_group.command("save")
@click.argument("name")
@click.option("--vault", "--out", "path", type=click.Path(path_type=Path), required=True, help="The vault.")
@click.option("--folder", default="Memory", show_default=True, help="The one folder in it that we own.")
@click.option("--agent", "agents", multiple=True, help="Only this agent; may be given again.")
@click.option("--shared/--no-shared", default=True, help="The facts that every agent reads.")
@click.option("--retired", type=click.Choice(get_args(RetiredNotes)), default="none", help="Retired facts.")
@click.option("--entities/--no-entities", default=True, help="Notes of entities.")
@click.option("--checkpoints/--no-checkpoints", default=True, help="Notes of checkpoints.")
@click.option("--canvas/--no-canvas", default=True, help="The graph as a canvas.")
@click.option("--base/--no-base", default=True, help="Tables of facts and entities.")
@click.option("--links", type=click.Choice(get_args(LinkStyle)), default="vault", help="How links are written.")
@click.option("--dates", type=click.Choice(get_args(DateFormat)), default="YYYY-MM-DD", help="How days are written.")
@click.option("--colours/--no-colours", default=False, help="Colour groups in the vault's graph.json.")
@click.option("--auto-accept", "accepted", multiple=True, type=click.Choice(AUTO_ACCEPT), help="Edits to accept.")
@shared_options
def save(
    name: str,
    path: Path,
    *,
    folder: str,
    agents: tuple[str, ...],
    shared: bool,
    retired: RetiredNotes,
    entities: bool,
    checkpoints: bool,
    canvas: bool,
    base: bool,
    links: LinkStyle,
    dates: DateFormat,
    colours: bool,
    accepted: tuple[AutoAccept, ...],
) -> None:
    """Keep how to publish under NAME."""
    options = PublishOptions(
        agents=agents,
        shared=shared,
        retired=retired,
        entities=entities,
        checkpoints=checkpoints,
        canvas=canvas,
        base=base,
        links=links,
        date_format=dates,
        colours=colours,
    )
    wanted = PublishProfile(name, str(path.absolute()), folder, options, accepted)
    with current().writing() as memory:
        save_profile(memory, wanted)
    _answer_profiles([wanted])


@profile_group.command("delete")
@click.argument("name")
@shared_options
def delete(name: str) -> None:
    """Forget the profile NAME; the vault stays as it is."""
    with current().writing() as memory:
        delete_profile(memory, name)
    current().answer({"deleted": name}, [f"deleted {plain(name)}"])
