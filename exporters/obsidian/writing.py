"""Carrying out a plan: each note whole or not at all, the manifest after everything is on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from exporters.obsidian.compare import LEFT_ALONE, Step
from exporters.obsidian.manifest import FILES, MANIFEST, Entry, Manifest, Stamp, dump_files
from exporters.obsidian.plan import Plan
from gm_engine import CancelToken, GrayMatterError, Progress

_EVERY = 32
_STALE_STAMPS = 200
_NAME_IN_USE = "its new name is in use"


@dataclass(slots=True)
class Writer:
    """Writes the notes of one plan. `done` are the steps as they were carried out.

    `is_late` says that a file beside the notes changed since the plan was made and waits for the next publish.
    """

    plan: Plan
    done: list[Step] = field(default_factory=list)
    removed: int = 0
    moved: int = 0
    files: int = 0
    is_late: bool = False
    _manifest: Manifest = field(init=False)
    _stamps: dict[str, Stamp] = field(init=False)

    def __post_init__(self) -> None:
        agents = {**self.plan.manifest.agents, **self.plan.layout.agents}
        places, found, deleted = self.plan.layout.places, self.plan.found.notes, self.plan.deleted
        entries = self.plan.manifest.notes.items()
        known = {key: entry for key, entry in entries if key in places or key in found or key in deleted}
        self._manifest = self.plan.manifest.after(known, agents)
        self._stamps = {
            entry.path: stamp for entry in known.values() if (stamp := self.plan.stamps.get(entry.path)) is not None
        }

    def write_notes(self, *, progress: Progress, cancel: CancelToken) -> None:
        """Renames and writes what the plan says. A note that changed since the plan was made is left alone.

        A note whose name another note is about to leave waits for that.
        """
        total, waiting = len(self.plan.steps), list(self.plan.steps)
        may_wait = True
        while waiting:
            steps, waiting = waiting, []
            for step in steps:
                if len(self.done) % _EVERY == 0:
                    cancel.check()
                    progress(len(self.done), total, "Writing notes")
                done = self._carry_out(step, may_wait=may_wait)
                if done is None:
                    waiting.append(step)
                else:
                    self.done.append(done)
            may_wait = len(waiting) < len(steps)

    def _carry_out(self, step: Step, *, may_wait: bool) -> Step | None:
        """The step as it was carried out; None when it has to wait for others."""
        folder, place = self.plan.folder, step.note.place
        there = step.present
        if step.data is not None or step.is_moved:
            reason = self._obstacle(step)
            if reason == _NAME_IN_USE and may_wait:
                return None
            if reason:
                step = replace(step, status="conflict", data=None, reason=reason)
                if there is None:  # it was never there: the next publish writes it, nobody deleted it
                    self._manifest.notes.pop(step.note.key, None)
                else:
                    self._keep(step, path=there.path, wanted=None)
                return step
        if step.is_moved and there is not None:
            folder.rename(there.path, place.path)
            self._stamps.pop(there.path, None)
            self.moved += 1
        if step.status in LEFT_ALONE:
            self._keep(step, path=place.path, wanted=place.wanted)
            return step
        stamp = there.stamp if there is not None else None
        if step.data is not None:
            if step.keeps_copy:
                folder.keep_copy(place.path)
            stamp = folder.write(place.path, step.data)
        note = step.note
        former = self._manifest.notes.get(note.key)
        base = former.base if step.data is None and former is not None and former.base is not None else note.base()
        entry = Entry(place.path, place.wanted, note.seq, step.content, note.seal, note.shown, step.alone, base)
        self._manifest.notes[note.key] = entry
        if stamp is not None:
            self._stamps[place.path] = stamp
        return step

    def _obstacle(self, step: Step) -> str:
        """Why the file may not be touched after all, or nothing."""
        folder, there, path = self.plan.folder, step.present, step.note.place.path
        if there is not None and folder.stamp(there.path) != there.stamp:
            return "it was changed while publishing"
        in_the_way = folder.stamp(path) if there is None or step.is_moved else None
        if in_the_way is not None and (there is None or in_the_way != there.stamp):  # only its case may change
            return _NAME_IN_USE
        return ""

    def path_of(self, key: str) -> str:
        """Where a note is now, as in `Entry`."""
        known = self._manifest.notes.get(key) or self.plan.found.notes.get(key) or self.plan.layout.places[key]
        return known.path

    def paths(self) -> set[str]:
        """What lies in the folder after the steps, as far as is known without another look."""
        before = {step.present.path for step in self.done if step.present is not None}
        return ({*self.plan.scan.files} - before) | {self.path_of(step.note.key) for step in self.done}

    def _keep(self, step: Step, *, path: str, wanted: str | None) -> None:
        """A note that is left alone keeps its base; only where it lies is remembered. `wanted` None: as it was."""
        entry = self._manifest.notes.get(step.note.key) or Entry(path, "", 0, "", managed="", shown="", alone=False)
        self._manifest.notes[step.note.key] = entry._replace(
            path=path, wanted=entry.wanted if wanted is None else wanted
        )

    def write_extras(self) -> None:
        """Writes the files beside the notes; one that changed since the plan was made is left for the next publish."""
        for extra in self.plan.extras:
            stamp = extra.stamp
            if extra.data is not None:
                if self.plan.folder.stamp(extra.path) != stamp:
                    self.is_late = True
                    continue
                stamp = self.plan.folder.write(extra.path, extra.data)
                self.files += 1
            self._manifest.files[extra.path] = extra.content
            if stamp is not None:
                self._stamps[extra.path] = stamp

    def write_colours(self) -> None:
        """Puts the colour groups that were asked for into the settings, unless these changed meanwhile."""
        wanted = self.plan.colours
        if wanted is None or wanted.reason:
            return
        if wanted.data is not None:
            file = self.plan.folder.vault / wanted.path
            if (Stamp.of(file.lstat()) if file.exists() else None) != wanted.stamp:
                self.is_late = True
                return
            self.plan.folder.write_setting(wanted.path, wanted.data)
            self.files += 1
        self._manifest.files[f"/{wanted.path}"] = wanted.mark

    def discard_orphans(self) -> None:
        """Moves the plan's orphans that lie in the folder to the vault's trash; edited ones as well, they are kept."""
        for key, path in sorted(self.plan.orphans.items()):
            if path.startswith("/"):
                continue
            self.plan.folder.discard(path)
            self._manifest.notes.pop(key, None)
            self._stamps.pop(path, None)
            self.removed += 1

    def save(self, *, is_complete: bool = False, cancel: CancelToken | None = None) -> None:
        """Brings the notes to the disk, then the manifest; files that would not change are not written.

        `is_complete`: the notes show the store without exception. Once `cancel` is cancelled no more files are looked
        at: the next publish reads them.
        """
        folder, found = self.plan.folder, self.plan.manifest
        unchanged = self._manifest.notes == found.notes and self._manifest.agents == found.agents
        unchanged = unchanged and self._manifest.files == found.files
        unchanged = unchanged and bool(found.complete) == is_complete
        self._manifest.complete = self.plan.state if is_complete else ""
        folder.sync()
        stale = [path for path, stamp in self._stamps.items() if self.plan.stamps.get(path) != stamp]
        if not unchanged or len(stale) > _STALE_STAMPS:
            newest = folder.write(MANIFEST, self._manifest.dump(self.plan.seq))
            folder.sync()
            folder.write(FILES, dump_files(self._settled(stale, newest, cancel or CancelToken())))

    def _settled(self, stale: Sequence[str], newest: Stamp, cancel: CancelToken) -> dict[str, Stamp]:
        """The stamps to remember: those of `stale` paths are taken again, with another look at the content."""
        content = {entry.path: entry.content for entry in self._manifest.notes.values()} | self._manifest.files
        stamps = dict(self._stamps)
        for path in stale:
            stamps.pop(path)
            if cancel.is_cancelled:
                continue
            stamp = self.plan.folder.settled(path, content.get(path, ""), newest)
            if stamp is not None:
                stamps[path] = stamp
        return stamps

    def save_what_can_be_saved(self, cancel: CancelToken) -> None:
        """After a failure: remembers what was written, if there is room for it; the next publish works without."""
        try:
            self.save(cancel=cancel)
        except GrayMatterError:
            return
