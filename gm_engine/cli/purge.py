"""`graymatter purge`: removing a text for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, shared_options, short
from gm_engine.errors import NotFound
from gm_engine.records import JsonValue, PurgeReport


@click.command()
@click.argument("target", metavar="TEXT")
@click.option("--containing", is_flag=True, help="Every fact that holds TEXT anywhere, not only those that equal it.")
@click.option("--never-again", is_flag=True, help="Also refuse these texts from now on, known by their hashes only.")
@click.option("--checkpoints", is_flag=True, help="Also whole checkpoints that hold TEXT.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
def purge(target: str, *, containing: bool, never_again: bool, checkpoints: bool, yes: bool) -> None:
    """Remove TEXT (or the text of the fact with that id) for good: it cannot be undone.

    It goes from the facts, the journal, the names of entities, the search indexes, the inbox, the backups in the
    store's own folder and in that of the schedule, and the unused parts of its files. Copies that you keep elsewhere
    are yours to delete.
    """
    session = current()
    with session.writing() as memory:
        try:
            text = target if containing else memory.get(target).text
        except NotFound:
            text = target
        if not yes:
            _ask(text)
        with session.progress() as progress:
            report = memory.purge(
                text, containing=containing, block=never_again, checkpoints=checkpoints, progress=progress
            )
    session.answer(_payload(report), _lines(report))


def _ask(text: str) -> None:
    if current().json or not sys.stdin.isatty():
        raise click.UsageError("A purge cannot be undone: give --yes.", click.get_current_context())
    click.confirm(f"Remove for good: {short(text)}\nThis cannot be undone. Go on?", abort=True, err=True)


def _payload(report: PurgeReport) -> dict[str, JsonValue]:
    return {
        "facts": report.facts,
        "journal_images": report.journal_images,
        "vectors": report.vectors,
        "proposals": report.proposals,
        "entities": report.entities,
        "checkpoints": report.checkpoints,
        "backups": [*report.backups],
        "removed_bytes": report.removed_bytes,
        "still_in": [*report.still_in],
        "incomplete": [*report.incomplete],
    }


def _lines(report: PurgeReport) -> Iterator[str]:
    yield (
        f"removed {report.removed_bytes:,} bytes: {report.facts:,} facts, {report.journal_images:,} journal images, "
        f"{report.vectors:,} vectors, {report.proposals:,} proposals, {report.entities:,} entities"
    )
    if report.checkpoints:
        yield f"removed {report.checkpoints:,} checkpoints that held it"
    for path in report.backups:
        yield f"rewritten or deleted: {plain(path)}"
    for place in report.still_in:
        offer = " (--checkpoints removes it)" if place.startswith("checkpoint ") else ""
        yield f"left, because it holds the text within something longer: {plain(place)}{offer}"
    for sentence in report.incomplete:
        yield f"incomplete: {plain(sentence)}"
