"""The batch: questions one per line, what each found, and everything they found together."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QItemSelectionModel, QMimeData, Qt
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr, tr_count
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.hit_view import HitView
from gm_desktop.widgets.basics import EmptyState, push_button, rule, text_label
from gm_desktop.widgets.line_view import LineView

QUESTIONS_HEIGHT = 102  # five lines
LINES_WIDTH = (232, 360)  # least and most


class QuestionsEdit(QPlainTextEdit):
    """Takes in pasted and dropped text through `fitting`."""

    def __init__(self, fitting: Callable[[str], str]) -> None:
        super().__init__()
        self._fitting = fitting

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Only text, and only as much of a line as can be laid out at once."""
        if source.hasText():
            self.insertPlainText(self._fitting(source.text()))


class BatchView(QWidget):
    """Arranges; asking is the view-model's business."""

    def __init__(self, viewmodel: BatchViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        model = self._viewmodel
        self.questions = QuestionsEdit(model.fitting)
        self.questions.setPlaceholderText(tr("One question per line"))
        self.questions.setAccessibleName(tr("Questions, one per line"))
        self.questions.setTabChangesFocus(True)
        self.questions.setFixedHeight(QUESTIONS_HEIGHT)
        self.coverage = text_label("", "small", wrap=True)
        self.lines = LineView(model.lines, self._theme, tr("Questions"))
        self.hits = HitView(model.hits, self._theme)
        self.retry = push_button(tr("Try again"), "", model.ask)
        self.note = EmptyState(self._theme, "list", "", "", (self.retry,))

    def _lay_out(self) -> None:
        side = QWidget()
        side.setMinimumWidth(LINES_WIDTH[0])
        side.setMaximumWidth(LINES_WIDTH[1])
        column = QVBoxLayout(side)
        column.setContentsMargins(MARGIN - 10, 8, 8, 8)
        column.addWidget(self.lines)
        answers = QHBoxLayout()
        answers.setSpacing(0)
        answers.addWidget(side, 1)
        answers.addWidget(rule(vertical=True))
        inset = QVBoxLayout()
        inset.setContentsMargins(8, 8, MARGIN - 14, 0)
        inset.addWidget(self.hits)
        answers.addLayout(inset, 3)
        self._full = QWidget()
        full = QVBoxLayout(self._full)
        full.setContentsMargins(0, 0, 0, 0)
        full.setSpacing(0)
        self.coverage.setContentsMargins(MARGIN, 0, MARGIN, 8)
        full.addWidget(self.coverage)
        full.addWidget(rule())
        full.addLayout(answers, 1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self._full)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._stack, 1)

    def _wire(self) -> None:
        model = self._viewmodel
        self.questions.textChanged.connect(lambda: model.set_text(self.questions.toPlainText()))
        self.lines.selectionModel().currentChanged.connect(self._on_line)
        self.hits.current_changed.connect(model.select)
        model.queries_changed.connect(self._show_text)
        model.state_changed.connect(self._show_state)
        model.line_changed.connect(self._show_line)
        model.selection_changed.connect(lambda: self.hits.show_selected(model.selected_id))

    def _show_text(self) -> None:
        if self.questions.toPlainText() != self._viewmodel.text:
            self.questions.setPlainText(self._viewmodel.text)

    def _show_state(self) -> None:
        state, batch = self._viewmodel.state, self._viewmodel.batch
        self.retry.setVisible(isinstance(state, Failed))
        if isinstance(state, Empty):
            self.note.say("list", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The questions can't be answered"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self._full if isinstance(state, Full) else self.note)
        if batch is not None:
            count = tr_count("{count} question", "{count} questions", len(batch.queries))
            said = (count, batch.coverage, self._viewmodel.left_out)
            self.coverage.setText("  ·  ".join(part for part in said if part))

    def _show_line(self) -> None:
        at = self._viewmodel.lines.row_of(self._viewmodel.line_key)
        if at is not None and self.lines.currentIndex().row() != at:
            flags = QItemSelectionModel.SelectionFlag
            self.lines.selectionModel().setCurrentIndex(self._viewmodel.lines.index(at), flags.ClearAndSelect)

    def _on_line(self) -> None:
        at = self.lines.currentIndex().row()
        lines = self._viewmodel.lines.lines
        if 0 <= at < len(lines):
            self._viewmodel.choose(lines[at].key)

    def focus(self) -> None:
        """Work begins with the questions."""
        self.questions.setFocus(Qt.FocusReason.ShortcutFocusReason)
