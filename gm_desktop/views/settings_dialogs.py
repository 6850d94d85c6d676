"""Small dialogs of the Settings page: a blocked value, an entry of the dictionary."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QDialog, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN
from gm_desktop.viewmodels.settings_dictionary import EntryDraft
from gm_desktop.views.graph_dialogs import TypeBox
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.form_card import ChoiceBox
from gm_desktop.widgets.text_panes import raw_text


class BlockDialog(QDialog):
    """Emits `chosen(text, agent_id or None)`."""

    chosen = Signal(str, object)

    def __init__(self, agents: Sequence[tuple[str, str]], text: str, agent_id: str | None, *, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.resize(520, 300)
        title = tr("Edit a blocked value") if text or agent_id else tr("Block a value")
        self.setWindowTitle(title)
        self.text = QPlainTextEdit(text)
        self.text.setAccessibleName(tr("The value"))
        self.text.setPlaceholderText(tr("The whole text of a fact that must not be stored again"))
        self.text.setTabChangesFocus(True)
        self._agents: list[str | None] = [None, *(each for each, _ in agents)]
        if agent_id is not None and agent_id not in self._agents:
            self._agents.append(agent_id)
            agents = (*agents, (agent_id, agent_id))
        self.agent = ChoiceBox((("", tr("For every agent")), *agents))
        self.agent.setAccessibleName(tr("For whom"))
        self.agent.setCurrentIndex(self._agents.index(agent_id))
        self.save = push_button(tr("Block it"), "primary", self._on_save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(12)
        layout.addWidget(text_label(title, "title"))
        layout.addWidget(self.text, 1)
        layout.addWidget(self.agent)
        note = tr("Facts that hold this text now stay; retire them on the Memory page.")
        layout.addWidget(text_label(note, "small", wrap=True))
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.save))
        self.text.textChanged.connect(self._refresh)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self.save.click)
        self._refresh()
        self.text.setFocus()

    def _refresh(self) -> None:
        self.save.setEnabled(bool(self.text.toPlainText().strip()))

    def _on_save(self) -> None:
        text = raw_text(self.text)
        self.chosen.emit(text, self._agents[self.agent.currentIndex()])
        self.accept()


class EntryDialog(QDialog):
    """Emits `saved(draft)`."""

    saved = Signal(object)

    def __init__(self, draft: EntryDraft, kinds: Sequence[tuple[str, str]], *, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.setMinimumWidth(460)
        title = tr("Edit a name") if draft.label else tr("Add a name")
        self.setWindowTitle(title)
        self.label = QLineEdit(draft.label)
        self.label.setAccessibleName(tr("Name"))
        self.label.setPlaceholderText(tr("As it should be written"))
        self.kind = TypeBox(kinds, draft.kind)
        self.names = QPlainTextEdit("\n".join(draft.names))
        self.names.setAccessibleName(tr("Other spellings"))
        self.names.setPlaceholderText(tr("One per line"))
        self.names.setTabChangesFocus(True)
        self.names.setFixedHeight(110)
        self.ignore = QCheckBox(tr("Never an entity"))
        self.ignore.setChecked(draft.ignore)
        self.save = push_button(tr("Save"), "primary", self._on_save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(8)
        layout.addWidget(text_label(title, "title"))
        for name, field in ((tr("Name"), self.label), (tr("Type"), self.kind), (tr("Other spellings"), self.names)):
            layout.addWidget(text_label(name, "section"))
            layout.addWidget(field)
        layout.addWidget(self.ignore)
        layout.addSpacing(6)
        layout.addLayout(row(1, push_button(tr("Cancel"), "", self.reject), self.save))
        self.label.textChanged.connect(self._refresh)
        self.ignore.toggled.connect(self._refresh)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self.save.click)
        self._refresh()
        self.label.setFocus()

    def _refresh(self) -> None:
        self.kind.setEnabled(not self.ignore.isChecked())
        self.save.setEnabled(bool(self.label.text().strip()))

    def _on_save(self) -> None:
        names = tuple(line.strip() for line in self.names.toPlainText().splitlines() if line.strip())
        kind = self.kind.kind().strip() or "concept"
        self.saved.emit(EntryDraft(self.label.text().strip(), kind, names, self.ignore.isChecked()))
        self.accept()
