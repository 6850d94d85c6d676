"""Publishing a store into a folder of an Obsidian vault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from exporters.exporting import Exporter, Request
from exporters.obsidian.colours import Colours
from exporters.obsidian.compare import LEFT_ALONE, Step
from exporters.obsidian.extras import Extra
from exporters.obsidian.folder import Folder, locked, open_folder
from exporters.obsidian.links import BrokenLink, VaultIndex
from exporters.obsidian.note_file import content_hash
from exporters.obsidian.plan import Plan, make_plan
from exporters.obsidian.round_trip import fact_id_of
from exporters.obsidian.writing import Writer
from exporters.plan import ExportPlan, PlanItem, PlanStatus
from exporters.profiles import PublishOptions
from gm_engine import CancelToken, GrayMatterError, Memory, Progress, no_progress
from gm_engine.records.activity import ActivityQuery

FOLDER = "Memory"
_DELETED = "its note was deleted in the vault; that waits in the inbox"


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A note that was not written, and why: `edited`, `conflict`, `unreadable`, `elsewhere`, `read-only`, `double`,
    `deleted`, `settings` (the colours of the graph view)."""

    note: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class PublishReport:
    """What a publish did. Counts are of notes; paths are from the vault's root.

    `written` counts new and changed notes, `moved` those renamed after their title, `removed` those put into the
    vault's `.trash` (only with consent); `files` counts written files that are no notes. `orphaned` are notes that
    stayed although their fact is retired or gone.
    """

    vault: str
    written: int
    unchanged: int
    removed: int
    broken_links: tuple[BrokenLink, ...]
    moved: int = 0
    orphaned: tuple[str, ...] = ()
    left: tuple[LeftAlone, ...] = ()
    files: int = 0


class ObsidianExporter(Exporter[PublishReport]):
    """The entry point `obsidian` of the group `graymatter.exporters`: the target is a vault."""

    name = "obsidian"

    def write(self, request: Request) -> PublishReport:
        """Publishes the store; see `publish`."""
        return publish(request.memory, request.target, **_asked(request))

    def look(self, request: Request) -> ExportPlan:
        """What publishing would do, note by note; see `preview`."""
        return preview(request.memory, request.target, **_asked(request))


class _Asked(TypedDict):
    folder: str
    options: PublishOptions
    progress: Progress
    cancel: CancelToken


def _asked(request: Request) -> _Asked:
    return {
        "folder": request.vault_folder or FOLDER,
        "options": request.options,
        "progress": request.progress,
        "cancel": request.cancel,
    }


def publish(
    memory: Memory,
    vault: Path,
    *,
    folder: str = FOLDER,
    options: PublishOptions | None = None,
    progress: Progress = no_progress,
    cancel: CancelToken | None = None,
    remove_orphans: bool = False,
) -> PublishReport:
    """Publishes every live fact, agent, entity and checkpoint as notes into `folder` of `vault`.

    Nothing outside the folder is written, but for colours of the graph view where the options ask for them. What a
    person wrote into a note stays; a note whose managed part was edited is left alone and reported. Publishing the same
    store again writes nothing. `remove_orphans` is the consent to move notes of retired or gone facts into the vault's
    `.trash`. When a text is purged meanwhile, nothing that was written keeps it; a note that a person wrote in or moved
    out since is an orphan. Raises `PublishRefused`, `DiskFull` or `Cancelled`; every note is then whole, and the next
    publish finishes the work.
    """
    place = open_folder(vault, folder, store=memory.data_dir)
    run = _Run(memory, place, options or PublishOptions(), progress, cancel or CancelToken(), remove_orphans)
    with locked(place):
        plan = run.planned()
        place.remove_leftovers(plan.scan)
        writers = [run.written(plan)]
        while _was_purged(memory, since=plan.seq):  # what was written may hold what nobody may keep
            writers[-1].save()
            plan = run.planned()
            if _forget(memory, plan, writers):
                plan = run.planned()
            writers.append(run.written(plan))
        progress(len(plan.steps), len(plan.steps), "Checking links")
        report = _report(plan, writers, vault=vault, remove_orphans=remove_orphans)
        is_complete = not (writers[-1].is_late or report.left or report.orphaned or report.broken_links)
        writers[-1].save(is_complete=is_complete, cancel=run.cancel)
        return report


@dataclass(frozen=True, slots=True)
class _Run:
    """One publish: it plans and writes once, or again where a purge came between."""

    memory: Memory
    folder: Folder
    options: PublishOptions
    progress: Progress
    cancel: CancelToken
    remove_orphans: bool

    def planned(self) -> Plan:
        """What there is to do now."""
        return make_plan(
            self.memory,
            self.folder,
            options=self.options,
            progress=self.progress,
            cancel=self.cancel,
            remove_orphans=self.remove_orphans,
        )

    def written(self, plan: Plan) -> Writer:
        """Carries the plan out, but for the manifest."""
        writer = Writer(plan)
        try:
            writer.write_notes(progress=self.progress, cancel=self.cancel)
            writer.write_extras()
            writer.write_colours()
            if self.remove_orphans:
                writer.discard_orphans()
        except GrayMatterError:
            writer.save_what_can_be_saved(self.cancel)
            raise
        return writer


def _was_purged(memory: Memory, *, since: int) -> bool:
    newest = memory.activity.list(ActivityQuery(verbs=frozenset({"purge"})), limit=1)
    return bool(newest) and newest[0].seq > since


def _forget(memory: Memory, plan: Plan, writers: Sequence[Writer]) -> bool:
    """Deletes the notes that were just written for records that are gone now; whether there were any.

    Not by way of the trash: it would keep the text. A note that a person touched stays, as an orphan.
    """
    written = _made(writers).intersection(plan.orphans)
    gone = [key for key in written if not memory.facts([fact_id_of(key)]) and _is_as_written(plan, key)]
    for key in gone:
        plan.folder.delete(plan.orphans[key])
    return bool(gone)


def _is_as_written(plan: Plan, key: str) -> bool:
    """Whether an orphan lies in the folder and its file holds what we wrote, to the byte, and nothing of a person's."""
    path, entry = plan.orphans[key], plan.manifest.notes.get(key)
    if path.startswith("/") or entry is None or not entry.alone:
        return False
    return content_hash(plan.folder.read(path) or b"") == entry.content


def preview(
    memory: Memory,
    vault: Path,
    *,
    folder: str = FOLDER,
    options: PublishOptions | None = None,
    progress: Progress = no_progress,
    cancel: CancelToken | None = None,
) -> ExportPlan:
    """What `publish` would do now, note by note, with paths from the vault's root; writes nothing, creates nothing.

    Raises `PublishRefused` or `Cancelled`.
    """
    place = open_folder(vault, folder, create=False, store=memory.data_dir)
    plan = make_plan(
        memory, place, options=options or PublishOptions(), progress=progress, cancel=cancel or CancelToken()
    )
    items = [_item(plan, step) for step in plan.steps]
    if plan.untouched:
        kept = plan.manifest.notes.items()
        known = (entry for key, entry in kept if key in plan.fresh or not plan.fresh)
        items += [PlanItem("unchanged", plan.vault_path(entry.path)) for entry in known]
    items += [_extra_item(plan, extra) for extra in plan.extras]
    items += [] if plan.colours is None else [_colours_item(plan.folder.vault, plan.colours)]
    items += [PlanItem("orphaned", plan.vault_path(path)) for path in plan.orphans.values()]
    items += [PlanItem("conflict", plan.vault_path(path), reason=_double(key)) for path, key in plan.found.doubles]
    items += [PlanItem("conflict", plan.vault_path(path), reason=_DELETED) for path in plan.deleted.values()]
    return ExportPlan(str(vault), tuple(sorted(items, key=lambda item: (item.path, item.status))))


def _item(plan: Plan, step: Step) -> PlanItem:
    path = plan.vault_path(step.note.place.path)
    there = step.present
    if there is None:
        return PlanItem("new", path, after=step.data)
    old = plan.vault_path(there.path)
    if step.status in LEFT_ALONE:
        return PlanItem("conflict", old, reason=step.reason, file=plan.folder.vault / old)
    status: PlanStatus = "moved" if step.is_moved else "unchanged" if step.data is None else "changed"
    return PlanItem(status, path, old if step.is_moved else "", file=plan.folder.vault / old, after=step.data)


def _extra_item(plan: Plan, extra: Extra) -> PlanItem:
    path = plan.vault_path(extra.path)
    if extra.reason:
        return PlanItem("conflict", path, reason=extra.reason, file=plan.folder.vault / path)
    status: PlanStatus = "new" if extra.is_new else "unchanged" if extra.data is None else "changed"
    return PlanItem(status, path, file=None if extra.is_new else plan.folder.vault / path, after=extra.data)


def _colours_item(vault: Path, wanted: Colours) -> PlanItem:
    file = vault / wanted.path
    if wanted.reason:
        return PlanItem("conflict", wanted.path, reason=wanted.reason, file=file)
    status: PlanStatus = "unchanged" if wanted.data is None else "new" if wanted.stamp is None else "changed"
    return PlanItem(status, wanted.path, file=file, after=wanted.data)


def _double(key: str) -> str:
    return f"it has the id {key} of another note"


def _made(writers: Sequence[Writer]) -> set[str]:
    return {step.note.key for writer in writers for step in writer.done if step.data is not None}


def _report(plan: Plan, writers: Sequence[Writer], *, vault: Path, remove_orphans: bool) -> PublishReport:
    writer = writers[-1]
    written = _made(writers).intersection(plan.layout.places)
    doubles = (LeftAlone(plan.vault_path(path), "double", _double(key)) for path, key in plan.found.doubles)
    deleted = (LeftAlone(plan.vault_path(path), "deleted", _DELETED) for path in sorted(plan.deleted.values()))
    left = (
        LeftAlone(plan.vault_path(writer.path_of(step.note.key)), step.status, step.reason)
        for step in writer.done
        if step.status in LEFT_ALONE
    )
    return PublishReport(
        vault=str(vault),
        written=len(written),
        unchanged=plan.untouched
        + sum(
            step.status == "unchanged" and not step.is_moved and step.note.key not in written for step in writer.done
        ),
        removed=sum(each.removed for each in writers),
        broken_links=tuple(_broken_links(plan, writer)),
        moved=sum(each.moved for each in writers),
        orphaned=() if remove_orphans else tuple(sorted(_orphaned(plan, writer))),
        left=(*doubles, *deleted, *left, *_refused_colours(plan)),
        files=sum(each.files for each in writers),
    )


def _orphaned(plan: Plan, writer: Writer) -> Iterator[str]:
    for key, path in plan.orphans.items():  # that of a retired fact may have followed its title
        yield plan.vault_path(writer.path_of(key) if key in plan.layout.places else path)


def _refused_colours(plan: Plan) -> Iterator[LeftAlone]:
    if plan.colours is not None and plan.colours.reason:
        yield LeftAlone(plan.colours.path, "settings", plan.colours.reason)


def _broken_links(plan: Plan, writer: Writer) -> Iterator[BrokenLink]:
    """Every link of the notes that are as we wrote them, against the files that are there now."""
    if plan.untouched and not plan.fresh:
        return
    folder = plan.folder
    paths = [f"{folder.name}/{path}" for path in (writer.paths() if plan.fresh else folder.scan().files)]
    paths += [note.path[1:] for note in plan.found.notes.values() if note.path.startswith("/")]
    index = VaultIndex(paths)
    for step in writer.done:
        if step.status not in LEFT_ALONE:
            yield from index.broken(plan.layout.vault_path(step.note.key), step.note.block)
