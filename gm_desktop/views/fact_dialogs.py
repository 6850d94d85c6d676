"""Small dialogs of the Memory page: a new fact, and which agent to move or copy to."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QComboBox, QCompleter, QDialog, QPlainTextEdit, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, SPACE
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.text_panes import raw_text


class AgentBox(QComboBox):
    """Choose an agent, or type the name of a new one. The name is taken as typed, never trimmed."""

    def __init__(self, agents: Sequence[tuple[str, str]], chosen: str | None) -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setAccessibleName(tr("Agent"))
        for agent_id, title in agents:
            self.addItem(title, agent_id)
        completer = QCompleter(self.model(), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setCompleter(completer)
        at = self.findData(chosen) if chosen is not None else 0
        self.setCurrentIndex(max(0, at))

    def agent_id(self) -> str:
        """The namespace that is chosen or typed; blank when there is none."""
        at = self.findText(self.currentText(), Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
        return str(self.itemData(at)) if at >= 0 else self.currentText()


class AddFactDialog(QDialog):
    """Emits `accepted_fact(agent_id, text, confidence)` and waits for `answer`; `left(text)` when it is cancelled.

    One that is left while it waits is out of sight, and there again with its text when the answer is that it failed.
    """

    accepted_fact = Signal(str, str, str)
    left = Signal(str)

    def __init__(self, agents: Sequence[tuple[str, str]], chosen: str | None, parent: QWidget, text: str = "") -> None:
        super().__init__(parent)
        self._is_waiting = False
        self.setWindowTitle(tr("Add a fact"))
        self.finished.connect(self.deleteLater)
        self.setModal(True)
        self.resize(520, 340)
        self.agent = AgentBox(agents, chosen)
        self.text = QPlainTextEdit(text)
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.text.setPlaceholderText(tr("One fact, in a sentence that makes sense on its own"))
        self.text.setAccessibleName(tr("Text of the fact"))
        self.text.setTabChangesFocus(True)
        self.label = QComboBox()
        self.label.setAccessibleName(tr("Confidence"))
        for each in ("", "verified", "inferred", "unverified"):
            self.label.addItem(confidence_title(each) if each else tr("No label"), each)
        self.problem = text_label("", "danger", wrap=True)
        self.problem.hide()
        self.save = push_button(tr("Add fact"), "primary", self._on_save)
        self._lay_out()
        self.text.textChanged.connect(self._refresh)
        self.agent.editTextChanged.connect(self._refresh)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self.save.click)
        self._refresh()
        self.text.setFocus()

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(12)
        layout.addWidget(text_label(tr("Add a fact"), "title"))
        self.agent.setSizePolicy(self.label.sizePolicy())
        layout.addLayout(row(text_label(tr("To"), "muted"), self.agent, 1, self.label, spacing=SPACE))
        layout.addWidget(self.text, 1)
        layout.addWidget(self.problem)
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.save))

    def _refresh(self) -> None:
        is_whole = bool(self.text.toPlainText().strip()) and bool(self.agent.agent_id().strip())
        self.save.setEnabled(is_whole and not self._is_waiting)
        self.text.setReadOnly(self._is_waiting)

    def _on_save(self) -> None:
        self._is_waiting = True
        self._refresh()
        self.accepted_fact.emit(self.agent.agent_id(), raw_text(self.text), str(self.label.currentData()))

    def answer(self, problem: str) -> None:
        """Closes when the fact was added; else says why it was not, with everything as it was typed."""
        self._is_waiting = False
        if not problem:
            self.accept()
            return
        self.problem.setText(problem)
        self.problem.show()
        self._refresh()
        self.open()
        self.text.setFocus()

    def reject(self) -> None:
        """Esc and Cancel; what is on its way is not held up by them."""
        if self._is_waiting:
            self.hide()
            return
        self.left.emit(raw_text(self.text))
        super().reject()


class AgentDialog(QDialog):
    """Emits `agent_chosen(agent_id)`."""

    agent_chosen = Signal(str)

    def __init__(self, title: str, button: str, agents: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.setMinimumWidth(380)
        self.agent = AgentBox(agents, None)
        self.save = push_button(button, "primary", self._on_save)
        self.save.setDefault(True)
        self.agent.editTextChanged.connect(self._refresh)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(14)
        layout.addWidget(text_label(title, "title"))
        layout.addWidget(self.agent)
        layout.addWidget(text_label(tr("Choose an agent, or type the name of a new one."), "small"))
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.save))
        self._refresh()

    def _refresh(self) -> None:
        self.save.setEnabled(bool(self.agent.agent_id().strip()))

    def _on_save(self) -> None:
        self.agent_chosen.emit(self.agent.agent_id())
        self.accept()
