"""Removing a text for good: what goes and from where, typed to be sure, then what is gone."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QCheckBox, QDialog, QLineEdit, QPlainTextEdit, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.line_list import LineList
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.settings_keeping import KeepingSettings
from gm_desktop.widgets.basics import push_button, row, set_kind, text_label
from gm_desktop.widgets.form_card import ResultLine
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.text_panes import raw_text

_LOOK_MS = 250


class PurgeDialog(QDialog):
    """The button works once the asked word is typed; the report follows in the same window."""

    def __init__(self, viewmodel: KeepingSettings, theme: Theme, parent: QWidget, *, text: str = "") -> None:
        super().__init__(parent)
        self._viewmodel, self._theme = viewmodel, theme
        self.word = tr("remove")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.resize(600, 560)
        self.setWindowTitle(tr("Remove a text for good"))
        self._soon = QTimer(self, singleShot=True, interval=_LOOK_MS)
        self._make_widgets(text)
        self._lay_out()
        self._wire()
        self._show_preview()
        self._look_soon()

    def _make_widgets(self, text: str) -> None:
        self.text = QPlainTextEdit(text)
        self.text.setAccessibleName(tr("The text"))
        self.text.setPlaceholderText(tr("The whole text of a fact, or a part of it"))
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(84)
        self.containing = QCheckBox(tr("Every fact that holds it anywhere, not only those that equal it"))
        self.block = QCheckBox(tr("Refuse it from now on; it is then known by its hash only"))
        self.found = text_label("", "strong", wrap=True)
        self.lines = LineList(self)
        self.view = LineView(self.lines, self._theme, tr("Facts that go"))
        self.typed = QLineEdit()
        self.typed.setAccessibleName(tr("Type {word} to go on", word=self.word))
        self.remove = push_button(tr("Remove for good"), "danger", self._on_remove)
        self.cancel = push_button(tr("Cancel"), "", self.reject)
        self.close_it = push_button(tr("Close"), "primary", self.accept)
        self.said = ResultLine(self._theme)
        self.report = text_label("", "muted", wrap=True, selectable=True)

    def _lay_out(self) -> None:
        ask, done = QWidget(), QWidget()
        column = QVBoxLayout(ask)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        note = tr(
            "The text goes from the facts, the journal, the search indexes, the inbox, the backups in the store's own "
            "folder and the unused parts of its files. This can't be undone. Copies that you keep elsewhere are yours "
            "to delete."
        )
        above, below = QVBoxLayout(), QVBoxLayout()
        for part in (above, below):  # the texts of the list stand in line with these
            part.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
            part.setSpacing(10)
        for each in (text_label(note, "muted", wrap=True), self.text, self.containing, self.block, self.found):
            above.addWidget(each)
        column.addLayout(above)
        column.addWidget(self.view, 1)
        column.addLayout(below)
        self._ask = text_label(tr("Type {word} to go on:", word=f"“{self.word}”"))
        below.addLayout(row(self._ask, self.typed, 1, spacing=12))
        below.addLayout(row(1, self.cancel, self.remove))
        ended = QVBoxLayout(done)
        ended.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
        ended.setSpacing(10)
        ended.addWidget(self.said)
        ended.addWidget(self.report)
        ended.addStretch(1)
        ended.addLayout(row(1, self.close_it))
        self.stack = QStackedWidget()
        self.stack.addWidget(ask)
        self.stack.addWidget(done)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN - LINE_INDENT, 20, MARGIN - LINE_INDENT, 20)
        layout.setSpacing(12)
        title = text_label(tr("Remove a text for good"), "title")
        title.setContentsMargins(LINE_INDENT, 0, 0, 0)
        layout.addWidget(title)
        layout.addWidget(self.stack, 1)

    def _wire(self) -> None:
        model = self._viewmodel
        self._soon.timeout.connect(self._on_look)
        self.text.textChanged.connect(self._look_soon)
        self.containing.toggled.connect(self._look_soon)
        self.typed.textChanged.connect(self._refresh)
        model.preview_changed.connect(self._show_preview)
        model.running_changed.connect(self._refresh)
        model.purged.connect(self._on_purged)

    def _wanted(self) -> str:
        return raw_text(self.text)

    def _look_soon(self) -> None:
        self._soon.start()
        self._refresh()

    def _on_look(self) -> None:
        self._viewmodel.look_for(self._wanted(), containing=self.containing.isChecked())

    def _show_preview(self) -> None:
        preview = self._viewmodel.preview
        self.lines.set_lines(() if preview is None else preview.lines)
        if preview is None:
            self.found.setText(tr("The facts that go are listed here."))
        elif preview.count:
            more = preview.count - len(preview.lines)
            said = tr_count("{count} fact goes.", "{count} facts go.", preview.count)
            self.found.setText(said + (" " + tr("The first of them:") if more > 0 else ""))
        else:
            self.found.setText(tr("No fact holds it now. The journal, backups and indexes are looked through as well."))
        set_kind(self.found, "muted" if preview is None else "strong")
        self._refresh()

    def _refresh(self) -> None:
        is_sure = self.typed.text().strip().casefold() == self.word.casefold()
        is_ready = self._viewmodel.can_write and bool(self._wanted().strip()) and not self._soon.isActive()
        self.remove.setEnabled(is_sure and is_ready)
        self.remove.setText(tr("Removing…") if self._viewmodel.is_running else tr("Remove for good"))

    def _on_remove(self) -> None:
        self._viewmodel.purge(self._wanted(), containing=self.containing.isChecked(), block=self.block.isChecked())
        self._refresh()

    def _on_purged(self, sentence: str, lines: tuple[str, ...]) -> None:
        self.said.say("success", sentence)
        self.report.setText("\n".join(lines))
        self.stack.setCurrentIndex(1)
        self.close_it.setFocus()

    def done(self, result: int) -> None:
        """Nothing is looked for once the window is closed."""
        self._soon.stop()
        self._viewmodel.look_for("", containing=False)
        super().done(result)
