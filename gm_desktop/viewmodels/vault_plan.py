"""What publishing would do, without widgets: a tree with counts, one note's diff, its text and its preview."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.models.note_preview import preview_html
from gm_desktop.models.plan_tree import PlanGroup, PlanTree
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.publish import PublishViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.errors import GrayMatterError
from gm_engine.progress import CancelToken, Progress

if TYPE_CHECKING:
    from exporters.plan import PlanExcerpt, PlanItem
    from gm_engine import Memory

SHOWN_ITEMS = 1_000
SHOWN_CHARS = 60_000
_TITLES = {
    "new": "New",
    "changed": "Changed",
    "moved": "Moved",
    "conflict": "Left alone",
    "orphaned": "No longer needed",
    "unchanged": "Unchanged",
}


@dataclass(frozen=True, slots=True)
class NoteView:
    """One note of the plan: where, why it is left alone, what changes, what it will say, raw and rendered."""

    path: str
    reason: str
    diff: str
    raw: str
    html: str


class VaultPlanViewModel(QObject):
    """Compares store and vault and shows one note at a time."""

    state_changed = Signal()
    note_changed = Signal()

    def __init__(self, host: EngineHost, publishing: PublishViewModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._publishing = host, publishing
        self.tree = PlanTree(self)
        self.state: PageState = self._nothing()
        self.note: NoteView | None = None
        self._plan: PlanExcerpt | None = None
        self._is_comparing = False
        self._reading = Latest()
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._is_comparing or self._reading.is_awaited

    @property
    def can_compare(self) -> bool:
        """Whether there is a vault to compare with."""
        return self._publishing.can_publish and not self._is_comparing

    def compare(self) -> None:
        """Finds out what publishing would do now; writes nothing."""
        if not self.can_compare:
            return
        aim = self._publishing.profile()

        def job(memory: Memory, progress: Progress, cancel: CancelToken) -> PlanExcerpt:
            from exporters.obsidian.apart import run_job  # loaded when it is first needed, in its thread
            from exporters.obsidian.jobs import Comparing

            comparing = Comparing(Path(aim.vault), aim.folder, aim.options, SHOWN_ITEMS)
            return run_job(comparing, memory, progress=progress, cancel=cancel)

        self._is_comparing = True
        self._set_state(Loading())
        task = self._host.run_task(tr("Comparing with the vault"), job, self._on_plan, self._on_failed)
        task.ended.connect(self._on_ended)

    def select(self, at: int | None) -> None:
        """Shows the note with this number in the plan."""
        plan = self._plan
        if plan is None or at is None:
            return
        item = plan.items[at]
        self._reading.take(self._host.read(lambda _memory: note_view(item), self._on_note))

    def _on_plan(self, plan: PlanExcerpt) -> None:
        self._plan, self.note = plan, None
        self.tree.set_groups(groups_of(plan))
        self._is_comparing = False
        self._set_state(Full(sum(plan.counts.values())))
        self.note_changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self._is_comparing = False
        self._set_state(Failed(sentence_for(error)))

    def _on_ended(self) -> None:
        if self._is_comparing:  # cancelled: nobody else says so
            self._is_comparing = False
            self._set_state(self._nothing())

    def _on_note(self, note: NoteView) -> None:
        self.note = note
        self.note_changed.emit()

    def _on_closed(self) -> None:
        self._reading.cancel()
        self._plan, self.note, self._is_comparing = None, None, False
        self.tree.set_groups(())
        self._set_state(self._nothing())
        self.note_changed.emit()

    def _nothing(self) -> PageState:
        return Empty(
            "not_compared",
            tr("Not compared yet"),
            tr("See what publishing would write, move or leave alone before it does anything."),
        )

    def _set_state(self, state: PageState) -> None:
        self.state = state
        self.state_changed.emit()


def groups_of(plan: PlanExcerpt) -> tuple[PlanGroup, ...]:
    """The plan by what happens to the notes, with counts; nothing that is not there."""
    groups = []
    for status, title in _TITLES.items():
        lines = [(at, _line(item)) for at, item in enumerate(plan.items) if item.status == status]
        if lines:
            count = next(found for known, found in plan.counts.items() if known == status)
            hidden = count - len(lines)
            more = tr("… and {count} more", count=number(hidden)) if hidden > 0 else ""
            groups.append(PlanGroup(status, f"{tr(title)} ({number(count)})", count, tuple(lines), more))
    return tuple(groups)


def _line(item: PlanItem) -> str:
    path = row_text(item.path, 200)
    return f"{path}  –  {row_text(item.reason, 200)}" if item.reason else path


def note_view(item: PlanItem) -> NoteView:
    """One note of a plan. Reads the file that is there."""
    data = item.after
    if data is None and item.file is not None and item.file.is_file():
        data = item.file.read_bytes()
    text = (data or b"").decode("utf-8", "replace")
    html = preview_html(text) if item.path.endswith(".md") else ""
    diff = "\n".join(item.diff())[:SHOWN_CHARS]
    return NoteView(item.path, item.reason, diff, text[:SHOWN_CHARS], html)
