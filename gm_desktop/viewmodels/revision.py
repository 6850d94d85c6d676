"""Revising one fact: the text as it was, the draft, what changed between them, and what to do about a conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.word_changes import WordChanges, word_changes
from gm_desktop.notices import sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.kept_drafts import KeptDrafts
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes, Fact

if TYPE_CHECKING:
    from gm_engine import Memory

COMPARE_PAUSE_MS = 120
PART_CHARS = 20_000
IN_PARTS_FROM = 60_000  # an editor lays out a line as a whole: a megabyte in one line would stop the window at each key


@dataclass(frozen=True, slots=True)
class _Target:
    """The fact that the revision would replace, as it was read."""

    id: str
    agent_id: str
    text: str
    version: int
    confidence: str
    is_live: bool


class RevisionViewModel(QObject):
    """One open draft. It survives every change of the store; only `save` and `discard` end it."""

    opened = Signal()
    changes_changed = Signal()
    conflict_changed = Signal()
    failed = Signal(str)
    closed = Signal()
    saved = Signal(str)

    def __init__(self, host: EngineHost, undo: UndoController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._undo = undo
        self._latest = Latest()
        self._target: _Target | None = None
        self._newer: _Target | None = None
        self._kept = KeptDrafts[str]()
        self._before_parts: list[str] = [""]
        self._draft_parts: list[str] = [""]
        self.part = 0
        self.confidence = ""
        self.changes = WordChanges((), (), "words")
        self._saving: _Target | None = None  # what the save that the editor waits for would replace
        self._compare_soon = QTimer(self, singleShot=True, interval=COMPARE_PAUSE_MS)
        self._compare_soon.timeout.connect(self._compare)
        host.changed.connect(self._on_changed)
        host.store_closed.connect(self._on_store_closed)

    @property
    def is_open(self) -> bool:
        """Whether there is a draft."""
        return self._target is not None

    @property
    def is_saving(self) -> bool:
        """Whether the open draft is being written."""
        return self._saving is not None

    @property
    def before(self) -> str:
        """The text that the draft would replace."""
        return self._target.text if self._target else ""

    @property
    def draft(self) -> str:
        """The new text, all of it."""
        return "".join(self._draft_parts)

    @property
    def part_count(self) -> int:
        """How many parts a very long text is edited in; 1 for others."""
        return len(self._draft_parts)

    @property
    def shown(self) -> tuple[str, str]:
        """The open part of the text as it is, and of the draft."""
        return self._before_parts[self.part], self._draft_parts[self.part]

    def show_part(self, part: int) -> None:
        """Opens another part of a very long text; `opened` follows."""
        if self.is_open and 0 <= part < self.part_count and part != self.part:
            self.part = part
            self._compare()
            self.opened.emit()

    def _cut(self, draft: str) -> None:
        """Cuts both texts into parts: side by side as long as they are the same."""
        self._before_parts = parts_of(self.before)
        self._draft_parts = self._before_parts[:] if draft == self.before else parts_of(draft)
        missing = len(self._draft_parts) - len(self._before_parts)
        self._before_parts += [""] * missing
        self._draft_parts += [""] * -missing
        self.part = min(self.part, self.part_count - 1)

    @property
    def conflict(self) -> str | None:
        """The text that somebody else put there meanwhile; None without a conflict, empty when it was retired."""
        if self._newer is None:
            return None
        return self._newer.text if self._newer.is_live else ""

    @property
    def can_save(self) -> bool:
        """Whether the draft says something new and may be written."""
        is_new = self._target is not None and self.draft != self._target.text
        return is_new and bool(self.draft.strip()) and self._newer is None and not self.is_saving

    def open(self, fact_id: str) -> None:
        """Reads the fact and starts a draft from its text, or goes on with one that was left; `opened` follows."""

        def done(target: _Target) -> None:
            self._begin(target)
            self.opened.emit()

        self._latest.take(self._host.read(lambda memory: _target(memory.get(fact_id)), done))

    def _begin(self, target: _Target) -> None:
        self._target, self._newer = target, None
        self.part = 0
        self._cut(self._kept.take(target.id, target.text))
        self.confidence = ""
        self._saving = None
        self._compare()

    def set_draft(self, text: str) -> None:
        """The person typed in the open part; what changed is compared a moment later."""
        self._draft_parts[self.part] = text
        self._compare_soon.start()

    def set_confidence(self, confidence: str) -> None:
        """The label for the new text; empty leaves it to the engine: at most inferred."""
        self.confidence = confidence

    def _compare(self) -> None:
        self._compare_soon.stop()
        self.changes = word_changes(*self.shown)
        self.changes_changed.emit()

    def save(self) -> None:
        """Writes the revision; `saved` or a conflict follows, also when the editor was left meanwhile."""
        target = self._target
        if target is None or not self.can_save:
            return
        text, label = self.draft, self.confidence or None
        self._saving = target
        self.changes_changed.emit()

        def job(memory: Memory) -> Fact:
            expected = {target.id: target.version}
            return memory.revise(target.agent_id, [target.id], text, confidence=label, expected=expected)

        def done(fact: Fact) -> None:
            self._undo.did(tr("Revised a fact"), fact.version)
            self._kept.was_written(target.id, text)
            if self._saving is target:
                self.discard()
            self.saved.emit(fact.id)

        def failed(error: GrayMatterError) -> None:
            if self._saving is target:
                self._on_failed(error)
            else:
                self._host.failed.emit(error)  # the editor was left: the draft waits until the fact is revised again

        self._host.write(job, done, failed)  # no ticket: what is written needs its undo step

    def _on_failed(self, error: GrayMatterError) -> None:
        self._saving = None
        if error.code == "fact_changed":
            self._look_again()
        else:
            self.failed.emit(sentence_for(error))
        self.changes_changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if self._target is not None and self._target.id in changes.fact_ids and not self.is_saving:
            self._look_again()

    def _look_again(self) -> None:
        target = self._target
        if target is not None:
            self._latest.take(self._host.read(lambda memory: _current(memory, target.id), self._on_looked))

    def _on_looked(self, current: _Target) -> None:
        target = self._target
        if target is None or (current.id == target.id and current.version == target.version):
            return
        if current.id == target.id and current.text == target.text and current.is_live:
            self._target = current  # a pin or a label moved: the draft still stands on the same text
        else:
            self._newer = current
            self.conflict_changed.emit()

    def take_newer(self) -> None:
        """Keeps the draft and lets it replace the text that somebody else wrote."""
        if self._newer is not None and self._newer.is_live:
            draft, self._target, self._newer = self.draft, self._newer, None
            self._cut(draft)
            self._compare()
            if self.part_count > 1:
                self.opened.emit()  # the parts may begin elsewhere now
            self.conflict_changed.emit()

    def close(self) -> None:
        """Leaves the editor; an unsaved draft waits for the next time this fact is opened."""
        target = self._target
        if target is not None and self.draft != target.text:
            self._kept.keep(target.id, self.draft)
        self.discard()

    def _on_store_closed(self) -> None:
        self._kept.clear()
        self.discard()

    def discard(self) -> None:
        """Drops the draft."""
        self._latest.cancel()
        self._compare_soon.stop()
        if self._target is not None:
            self._target = self._newer = self._saving = None
            self.closed.emit()


def parts_of(text: str) -> list[str]:
    """A very long text in parts of about 20,000 characters, cut between words where a blank is near."""
    if len(text) < IN_PARTS_FROM:
        return [text]
    parts, at = [], 0
    while at < len(text):
        end = at + PART_CHARS
        if end < len(text):
            blank = text.rfind(" ", end - 200, end)
            end = blank + 1 if blank >= 0 else end + (text[end - 1 : end + 1] == "\r\n")
        parts.append(text[at:end])
        at = end
    return parts


def _target(fact: Fact) -> _Target:
    return _Target(
        fact.id, fact.agent_id, fact.text, fact.version, fact.effective_confidence.value, not fact.is_superseded
    )


def _current(memory: Memory, fact_id: str) -> _Target:
    """The fact as it is now, or what replaced it."""
    fact = memory.get(fact_id)
    newer = memory.lineage(fact_id).superseded_by if fact.is_superseded else ()
    return _target(newer[-1] if newer else fact)
