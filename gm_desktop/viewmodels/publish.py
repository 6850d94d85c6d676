"""The Vault page without widgets: where to publish, a run of it, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr, tr_count
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.preferences import Preferences
from gm_desktop.tasks import Task
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_engine import Changes
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress

if TYPE_CHECKING:
    from exporters.obsidian.publish import PublishReport
    from exporters.profiles import PublishOptions, PublishProfile
    from gm_engine import Memory

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Ready:
    """Nothing was published in this session."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """A run is on its way."""

    task: Task


@dataclass(frozen=True, slots=True)
class NoteLines:
    """Notes that deserve a look: why, and one line for each."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """What a run did: `figures` are (count, label); `notes` is empty when all is well.

    `orphaned` counts notes of retired or gone facts, which go to the vault's trash only with the person's consent.
    """

    vault: Path
    folder: str
    figures: tuple[tuple[int, str], ...]
    notes: tuple[NoteLines, ...]
    has_changed: bool
    broken_links: int
    orphaned: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run failed or was cancelled: why, as a sentence."""

    sentence: str


State = Ready | Publishing | Published | Stopped


@dataclass(frozen=True, slots=True)
class ProfileDraft:
    """A profile as a form: `parts` switches of `PublishOptions`, `accepted` kinds of edits that need no review.

    `place` is the folder that it publishes to, chosen on the page.
    """

    name: str
    agents: str
    retired: str
    links: str
    dates: str
    parts: Mapping[str, bool]
    accepted: tuple[str, ...]
    place: str = ""


def with_parts(options: PublishOptions, parts: Mapping[str, bool]) -> PublishOptions:
    """`options` with the switches of a form."""
    return replace(
        options,
        shared=parts.get("shared", options.shared),
        entities=parts.get("entities", options.entities),
        checkpoints=parts.get("checkpoints", options.checkpoints),
        canvas=parts.get("canvas", options.canvas),
        base=parts.get("base", options.base),
        colours=parts.get("colours", options.colours),
    )


def with_choices(options: PublishOptions, *, retired: str, links: str, dates: str) -> PublishOptions:
    """`options` with the choices of a form; an unknown one leaves the option as it is."""
    from exporters.profiles import DateFormat, LinkStyle, RetiredNotes

    for retired_notes in get_args(RetiredNotes):
        options = replace(options, retired=retired_notes) if retired_notes == retired else options
    for style in get_args(LinkStyle):
        options = replace(options, links=style) if style == links else options
    for form in get_args(DateFormat):
        options = replace(options, date_format=form) if form == dates else options
    return options


class PublishViewModel(QObject):
    """Publishes the open store into one folder of a vault."""

    changed = Signal()

    def __init__(
        self,
        host: EngineHost,
        notices: Notices,
        preferences: Preferences,
        undo: UndoController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._undo = undo
        self.profiles: tuple[PublishProfile, ...] = ()
        self.profile_name = ""
        self._loading = Latest()
        self._host, self._notices, self._preferences = host, notices, preferences
        self.vault = preferences.vault
        self.folder = preferences.vault_folder
        self.state: State = Ready()
        host.store_opened.connect(self.changed)
        host.store_opened.connect(self.load_profiles)
        host.changed.connect(self._on_changed)
        host.store_closed.connect(self._on_store_closed)

    @property
    def is_publishing(self) -> bool:
        """Whether a run is on its way."""
        return isinstance(self.state, Publishing)

    @property
    def can_publish(self) -> bool:
        """Whether a vault and a folder are named and nothing runs."""
        return bool(self.vault.strip() and self.folder.strip()) and not self.is_publishing and self._host.is_open

    def profile(self) -> PublishProfile:
        """How the next run publishes: the chosen profile's options at the chosen place."""
        from exporters.profiles import PublishProfile

        chosen = next((each for each in self.profiles if each.name == self.profile_name), None)
        made = chosen or PublishProfile("", "")
        return replace(made, vault=str(Path(self.vault.strip()).expanduser()), folder=self.folder.strip() or "Memory")

    @property
    def profile_names(self) -> tuple[str, ...]:
        """The store's profiles."""
        return tuple(each.name for each in self.profiles)

    @property
    def can_save(self) -> bool:
        """Whether a profile can be kept: a store is open for writing and a vault is named."""
        return self._host.is_open and not self._host.read_only and bool(self.vault.strip() and self.folder.strip())

    def draft(self) -> ProfileDraft:
        """The chosen profile as a form."""
        made = self.profile()
        return ProfileDraft(
            name=made.name or Path(made.vault).name,
            agents=", ".join(made.options.agents),
            retired=made.options.retired,
            links=made.options.links,
            dates=made.options.date_format,
            parts={
                "shared": made.options.shared,
                "entities": made.options.entities,
                "checkpoints": made.options.checkpoints,
                "canvas": made.options.canvas,
                "base": made.options.base,
                "colours": made.options.colours,
            },
            accepted=made.auto_accept,
            place=str(Path(made.vault) / made.folder),
        )

    def save_draft(self, draft: ProfileDraft) -> None:
        """Keeps the form as a profile of the chosen place."""
        from exporters.profiles import AUTO_ACCEPT, PublishOptions, PublishProfile

        options = PublishOptions(
            agents=tuple(name.strip() for name in draft.agents.split(",") if name.strip()),
        )
        options = with_parts(options, draft.parts)
        options = with_choices(options, retired=draft.retired, links=draft.links, dates=draft.dates)
        accepted = tuple(kind for kind in AUTO_ACCEPT if kind in draft.accepted)
        here = self.profile()
        self.save_profile(PublishProfile(draft.name.strip() or "Vault", here.vault, here.folder, options, accepted))

    def choose_profile(self, name: str) -> None:
        """Publishes as a saved profile says; an empty name is the plain way."""
        chosen = next((each for each in self.profiles if each.name == name), None)
        self.profile_name = "" if chosen is None else name
        if chosen is not None:
            self.choose(vault=chosen.vault, folder=chosen.folder)
        self.changed.emit()

    def save_profile(self, wanted: PublishProfile) -> None:
        """Keeps a profile with the store and chooses it; undoable."""

        def job(memory: Memory) -> int:
            from exporters.profiles import save_profile

            save_profile(memory, wanted)
            return memory.last_seq()

        def done(seq: int) -> None:
            self._undo.did(tr("Saved the profile {name}", name=wanted.name), seq)
            self.profile_name = wanted.name
            self.load_profiles()

        self._host.write(job, done)

    def delete_profile(self) -> None:
        """Forgets the chosen profile; the vault stays as it is; undoable."""
        name = self.profile_name
        if not name or not self.can_save:
            return

        def job(memory: Memory) -> int:
            from exporters.profiles import delete_profile

            delete_profile(memory, name)
            return memory.last_seq()

        def done(seq: int) -> None:
            self._undo.did(tr("Deleted the profile {name}", name=name), seq)
            self.load_profiles()

        self._host.write(job, done)

    def load_profiles(self) -> None:
        """Reads the store's profiles again."""

        def job(memory: Memory) -> tuple[PublishProfile, ...]:
            from exporters.profiles import profiles

            return profiles(memory)

        self._loading.take(self._host.read(job, self._on_profiles))

    def _on_profiles(self, found: tuple[PublishProfile, ...]) -> None:
        self.profiles = found
        if self.profile_name not in {each.name for each in found}:
            self.profile_name = ""
        self.changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if "setting" in changes.kinds:
            self.load_profiles()

    def choose(self, *, vault: str | None = None, folder: str | None = None) -> None:
        """Names the vault or the folder inside it; remembered."""
        if vault is not None:
            self.vault = self._preferences.vault = vault
        if folder is not None:
            self.folder = self._preferences.vault_folder = folder
        self.changed.emit()

    def remove_orphans(self) -> None:
        """Publishes, and moves notes of retired and gone facts into the vault's `.trash`: the person consented."""
        self.publish(remove_orphans=True)

    def publish(self, *, remove_orphans: bool = False) -> None:
        """Writes what is new or changed. Nothing outside the folder is touched."""
        if not self.can_publish:
            return
        aim = self.profile()
        vault, folder = Path(aim.vault), aim.folder

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> PublishReport:
            from exporters.obsidian.apart import run_job  # loaded when the first run starts, in its thread
            from exporters.obsidian.jobs import Publishing as Job

            return run_job(Job(vault, folder, aim.options, remove_orphans), memory, progress=progress, cancel=cancel)

        task = self._host.run_task(
            tr("Publishing to {vault}", vault=vault.name or str(vault)),
            job,
            lambda report: self._on_published(report, vault, folder),
            self._on_failed,
        )
        task.ended.connect(self._on_ended)
        self._set(Publishing(task))

    def cancel(self) -> None:
        """Stops the run; notes already written stay."""
        if isinstance(self.state, Publishing):
            self.state.task.cancel()

    def _on_ended(self) -> None:
        if isinstance(self.state, Publishing) and self.state.task.token.is_cancelled:
            self._set(Stopped(tr("Cancelled. Publishing again writes only the rest.")))

    def _on_published(self, report: PublishReport, vault: Path, folder: str) -> None:
        self._set(published(report, vault, folder))
        said = tr_count("{count} note written to the vault", "{count} notes written to the vault", report.written)
        self._notices.show(said if report.written else tr("The vault is up to date"), level="success")

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set(Stopped(sentence_for(error)))

    def _on_store_closed(self) -> None:
        self._loading.cancel()
        self.profiles, self.profile_name = (), ""
        self._set(Ready())

    def _set(self, state: State) -> None:
        self.state = state
        self.changed.emit()


def published(report: PublishReport, vault: Path, folder: str) -> Published:
    """What a report says, with labels for the person."""
    figures = [(report.written, tr("written")), (report.unchanged, tr("unchanged"))]
    figures += [(report.moved, tr("renamed"))] if report.moved else []
    figures += [(report.removed, tr("removed"))] if report.removed else []
    broken, left, orphaned = report.broken_links, report.left, report.orphaned
    notes = (
        NoteLines(
            tr_count("{count} link leads nowhere", "{count} links lead nowhere", len(broken)),
            tuple(f"{link.note}  →  {link.target}" for link in broken[:SHOWN]),
        ),
        NoteLines(
            tr_count("{count} note was left as it is", "{count} notes were left as they are", len(left)),
            tuple(f"{note.note}: {note.reason}" for note in left[:SHOWN]),
        ),
        NoteLines(
            tr_count(
                "{count} note stayed although its fact is retired",
                "{count} notes stayed although their facts are retired",
                len(orphaned),
            ),
            orphaned[:SHOWN],
        ),
    )
    return Published(
        vault,
        folder,
        tuple(figures),
        tuple(note for note in notes if note.lines),
        has_changed=bool(report.written or report.moved or report.removed or report.files),
        broken_links=len(broken),
        orphaned=len(orphaned),
    )
