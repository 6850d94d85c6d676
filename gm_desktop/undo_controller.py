"""Undo and redo: the engine decides, then the stack moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.viewmodels.undo_words import Refusal, refusal
from gm_engine.errors import GrayMatterError, UndoConflict
from gm_engine.records import JournalEntry

if TYPE_CHECKING:
    from gm_engine import Memory


class _Step(QUndoCommand):
    """A finished action. Undoing it is the engine's work; the command only carries the journal's reference."""

    def __init__(self, text: str, entry: int | str) -> None:
        super().__init__(text)
        self.entry = entry  # what the next undo (or redo) refers to


class UndoController(QObject):
    """The person's steps, newest last. One user action is one step."""

    changed = Signal()
    entry_wanted = Signal(int)  # the later action that an undo was refused for: its seq

    def __init__(self, host: EngineHost, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host = host
        self._notices = notices
        self._stack = QUndoStack(self)
        self._is_busy = False
        self._stack.indexChanged.connect(self.changed)
        host.store_closed.connect(self._stack.clear)

    @property
    def undo_text(self) -> str:
        """The name of the step that undo takes back; empty when there is none."""
        return self._stack.undoText()

    @property
    def redo_text(self) -> str:
        """The name of the step that redo repeats; empty when there is none."""
        return self._stack.redoText()

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to take back and no undo is on its way."""
        return self._stack.canUndo() and not self._is_busy

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to repeat and no undo is on its way."""
        return self._stack.canRedo() and not self._is_busy

    def did(self, text: str, seq: int | str) -> None:
        """Notes a committed action, named `text` in the past tense (`Pinned 3 facts`), and offers to undo it.

        `seq` is the journal seq (or group) of its entry, for instance the version of a fact it returned. An answer that
        comes when its store was closed already is told only: in the next store that seq is something else.
        """
        if not self._host.is_open:
            self._notices.show(text, level="success")
            return
        step = _Step(text, seq)
        self._stack.push(step)
        index = self._stack.index()
        self._notices.show(text, level="success", action=(tr("Undo"), lambda: self._undo_if_top(index, seq)))

    def undo(self) -> None:
        """Takes back the newest step; on a conflict nothing is written, the step is dropped and the reason told."""
        if self.can_undo:
            self._move(self._step_at(self._stack.index() - 1), forward=False)

    def redo(self) -> None:
        """Repeats the step that was taken back last."""
        if self.can_redo:
            self._move(self._step_at(self._stack.index()), forward=True)

    def _undo_if_top(self, index: int, entry: int | str) -> None:
        if self._stack.index() == index and self._step_at(index - 1).entry == entry:
            self.undo()
        else:
            self._notices.show(tr("Other steps came after this one. Use Undo in the Edit menu to go back in order."))

    def _step_at(self, index: int) -> _Step:
        step = self._stack.command(index)
        assert isinstance(step, _Step)  # noqa: S101  (the stack holds nothing else)
        return step

    def _move(self, step: _Step, *, forward: bool) -> None:
        self._set_busy(is_busy=True)
        entry, text = step.entry, step.text()

        def job(memory: Memory) -> JournalEntry | Refusal:
            try:
                return memory.redo(entry) if forward else memory.undo(entry)
            except UndoConflict as conflict:
                return refusal(memory, conflict, memory.activity.entry(entry).seq, is_redo=forward)

        def done(made: JournalEntry | Refusal) -> None:
            if isinstance(made, Refusal):
                step.setObsolete(True)
                self._advance(forward=forward)
                self._tell(made)
                return
            step.entry = made.seq
            self._advance(forward=forward)
            self._notices.withdraw(text)
            self._notices.show(tr("Redone: {step}", step=text) if forward else tr("Undone: {step}", step=text))

        def failed(error: GrayMatterError) -> None:
            self._set_busy(is_busy=False)
            self._notices.show(sentence_for(error), level="warning")

        self._host.write(job, done, failed)

    def _tell(self, refused: Refusal) -> None:
        seq = refused.seq
        show = (tr("Show it"), lambda: self.entry_wanted.emit(seq)) if seq is not None else None
        self._notices.show(refused.sentence, level="warning", action=show)

    def _advance(self, *, forward: bool) -> None:
        self._is_busy = False
        if forward:
            self._stack.redo()
        else:
            self._stack.undo()
        self.changed.emit()

    def _set_busy(self, *, is_busy: bool) -> None:
        self._is_busy = is_busy
        self.changed.emit()
