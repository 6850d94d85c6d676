"""Subcommands that bring memories in and publish them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

import click

from gm_engine.cli.payloads import import_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import Session, current, finish_index, shared_options
from gm_engine.errors import NotFound
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import Counts, ImportReport, JsonValue, Skipped

if TYPE_CHECKING:
    from gm_engine.importing.door import ImportOptions
    from gm_engine.memory import Memory

EXPORTERS = "graymatter.exporters"
_SHOWN_SKIPS = 20


class Exporter(Protocol):
    """What a package puts into the entry point group `graymatter.exporters`."""

    name: str

    def export(
        self,
        memory: Memory,
        target: Path | None,
        *,
        folder: str | None,
        profile: str | None,
        progress: Progress,
        cancel: CancelToken | None,
    ) -> object:
        """Publishes the store to `target`, or to where a profile says; the report is a dataclass."""

    def preview(
        self,
        memory: Memory,
        target: Path | None,
        *,
        folder: str | None,
        profile: str | None,
        progress: Progress,
        cancel: CancelToken | None,
    ) -> object:
        """What `export` would do, as a dataclass; writes nothing."""


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--as", "agent", metavar="AGENT", help="Give every text to AGENT (else whom the file names).")
@click.option("--format", "name", metavar="FORMAT", help="What PATH is, if it is not told right by itself.")
@click.option("--map", "mapped", multiple=True, metavar="FIELD=COLUMN", help="Where a table has text, agent, created …")
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option("--no-wait", is_flag=True, help="Do not compute the vectors now; they follow with the next recalls.")
@shared_options
def import_(
    path: Path, *, agent: str | None, name: str | None, mapped: tuple[str, ...], dry_run: bool, no_wait: bool
) -> None:
    """Import PATH: a GrayMatter store, or what another program remembers. Importing twice brings nothing new.

    FORMAT is graymatter (gray.db, memories.json), mcp-memory (memory.jsonl), mem0, mcp-memory-service, claude-mem,
    memory-list (Claude or ChatGPT memories), agent-instructions (CLAUDE.md, AGENTS.md), markdown (a note or a folder:
    basic-memory, Obsidian), csv or jsonl. FIELD is text, agent, created, confidence or id.
    """
    session = current()
    if not path.exists():
        raise NotFound(f"There is no file {path}.", path=str(path))
    options: ImportOptions = {"format": name, "agent_id": agent, "columns": _columns(mapped)}
    with session.progress() as options["progress"]:
        report = _preview(session, path, options) if dry_run else _apply(session, path, options, wait=not no_wait)
    lines = [
        f"{'would import' if dry_run else 'imported'} {_counts(report.imported)}",
        f"found {_counts(report.found)} in {plain(report.source)} ({report.format})",
    ]
    if report.agents:
        lines.append(f"for {', '.join(map(plain, report.agents))}")
    session.answer(import_payload(report), [*lines, *_skip_lines(report.skipped)])


def _columns(mapped: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in mapped]
    for text, (ours, _, theirs) in zip(mapped, pairs, strict=True):
        if not ours or not theirs:
            raise click.UsageError(f"--map wants FIELD=COLUMN, not {text!r}.", click.get_current_context())
    return {ours: theirs for ours, _, theirs in pairs}


def _preview(session: Session, path: Path, options: ImportOptions) -> ImportReport:
    """What an import would bring. Where there is no store yet, none is made for asking."""
    from gm_engine.memory import Memory

    if session.has_store:
        with session.reading() as memory:
            return memory.import_preview(path, **options)
    with TemporaryDirectory(prefix="graymatter-") as empty, Memory.open(empty, background=False) as memory:
        return memory.import_preview(path, **options)


def _apply(session: Session, path: Path, options: ImportOptions, *, wait: bool) -> ImportReport:
    if not session.has_store:
        quiet = options.copy()
        quiet["progress"] = no_progress
        _preview(session, path, quiet)  # a file that is refused leaves no empty store behind
    with session.writing(create=True) as memory:
        report = memory.import_store(path, **options)
        if wait:
            finish_index(memory, options["progress"])
    return report


def _counts(counts: Counts) -> str:
    return (
        f"{counts.facts:,} facts, {counts.checkpoints:,} checkpoints, "
        f"{counts.entities:,} entities, {counts.edges:,} links"
    )


def _skip_lines(skipped: tuple[Skipped, ...]) -> list[str]:
    lines = [f"  skipped {plain(skip.kind)} {plain(skip.id)}: {plain(skip.reason)}" for skip in skipped[:_SHOWN_SKIPS]]
    if len(skipped) > _SHOWN_SKIPS:
        lines.append(f"  … and {len(skipped) - _SHOWN_SKIPS:,} more (--json lists all)")
    return lines


@click.command()
@click.argument("format", metavar="FORMAT")
@click.option("--out", "--vault", "--to", "target", type=click.Path(path_type=Path), help="Where to publish to.")
@click.option("--folder", help="A folder in it; of a vault the one that we own (else Memory).")
@click.option("--profile", metavar="NAME", help="Publish where and what this profile of the store says.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@shared_options
def export(format: str, *, target: Path | None, folder: str | None, profile: str | None, dry_run: bool) -> None:  # noqa: A002 — the word of the manual
    """Publish the store in FORMAT, for instance `obsidian`. A second run writes only what changed."""
    session = current()
    exporter = _exporter(format)
    if target is None and profile is None:
        raise click.UsageError("Say where to: --out DIR or --profile NAME.", click.get_current_context())
    with session.reading() as memory, session.progress() as progress:
        carry_out = exporter.preview if dry_run else exporter.export
        report = carry_out(memory, target, folder=folder, profile=profile, progress=progress, cancel=None)
    payload = report_payload(report)
    if not isinstance(payload, dict):
        raise TypeError(f"the exporter {format!r} gave no report")
    session.answer(payload, [_report_line(key, value) for key, value in payload.items()])


def _exporter(name: str) -> Exporter:
    known: dict[str, EntryPoint] = {entry.name: entry for entry in entry_points(group=EXPORTERS)}
    if name not in known:
        raise click.UsageError(f"Unknown format {name!r}; known: {', '.join(sorted(known))}.")
    made: Exporter = known[name].load()()
    return made


def report_payload(value: object) -> JsonValue:
    """A report (a dataclass of plain values, tuples and further dataclasses) as JSON.

    Fields that hold their default have nothing to say and are left out.
    """
    if is_dataclass(value) and not isinstance(value, type):
        held = ((field, getattr(value, field.name)) for field in fields(value))
        return {field.name: report_payload(item) for field, item in held if item != field.default}
    if isinstance(value, Mapping):
        return {str(key): report_payload(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [report_payload(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _report_line(key: str, value: JsonValue) -> str:
    name = "files beside the notes" if key == "files" else key.replace("_", " ")
    if not isinstance(value, list):
        return f"{name}: {plain(str(value))}"
    shown = "".join(f"\n  {plain(_item(item))}" for item in value[:_SHOWN_SKIPS])
    return f"{name}: {len(value)}{shown}"


def _item(value: JsonValue) -> str:
    return " · ".join(str(part) for part in value.values()) if isinstance(value, dict) else str(value)
