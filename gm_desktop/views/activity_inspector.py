"""One action of the journal, whole: what, who, when, every change, and the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.activity import ActivityViewModel
from gm_desktop.viewmodels.activity_details import ActionDetails, ActionUnread
from gm_desktop.widgets.basics import EmptyState, push_button, row, text_label
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.pills import Pill

_EDGE = 20


class ActivityInspector(QWidget):
    """Emits `target_chosen(kind, id)` for something that is to be opened, `before_wanted` for the store before it."""

    target_chosen = Signal(str, str)
    before_wanted = Signal()

    def __init__(self, viewmodel: ActivityViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        viewmodel.details.changed.connect(self._show)
        viewmodel.selection_changed.connect(self._show_buttons)
        self._show()

    def _make_widgets(self) -> None:
        self.title = text_label("", "heading", wrap=True)
        self.undone = Pill(self._theme)
        self.undo = push_button(tr("Undo this"), "", self._viewmodel.undo)
        self.undo.setToolTip(tr("Take this action back (U). It stays in the journal."))
        self.before = push_button(tr("Before this"), "", self.before_wanted.emit)
        self.before.setToolTip(tr("Show the store as it was before this (B)"))
        self.facts = NameValues()
        self._changed = text_label(tr("What it changed"), "section")
        self.targets = LineView(self._viewmodel.details.targets, self._theme, tr("What it changed"))
        self.targets.setProperty("kind", "palette")
        self.targets.chosen.connect(self._on_chosen)
        self.more = push_button("", "link", self._viewmodel.details.show_more)
        self.note = EmptyState(self._theme, "activity", tr("No action selected"), text_width=220)

    def _lay_out(self) -> None:
        shown = QWidget()
        column = QVBoxLayout(shown)
        column.setContentsMargins(_EDGE - LINE_INDENT, 20, _EDGE - LINE_INDENT, 12)
        column.setSpacing(10)
        above = QVBoxLayout()  # the texts of what changed stand in line with these
        above.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
        above.setSpacing(10)
        above.addWidget(self.title)
        above.addLayout(row(self.undo, self.before, self.undone, 1, spacing=SPACE))
        above.addSpacing(4)
        above.addWidget(self.facts)
        above.addSpacing(4)
        above.addWidget(self._changed)
        column.addLayout(above)
        column.addWidget(self.targets, 1)
        column.addLayout(row(self.more, 1, margins=(LINE_INDENT, 0, 0, 0)))
        self._shown = shown
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(shown)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _show(self) -> None:
        state = self._viewmodel.details.state
        if isinstance(state, ActionDetails):
            self.title.setText(state.title)
            self.undone.show_text(tr("Undone") if state.is_undone else "", "retired")
            self.facts.show_rows(state.facts)
            self._changed.setVisible(bool(self._lines))
            self.more.setVisible(state.hidden > 0)
            self.more.setText(tr("Show more of {count} changes", count=number(state.hidden + len(self._lines))))
            self._stack.setCurrentWidget(self._shown)
        else:
            is_unread = isinstance(state, ActionUnread)
            self.note.say(
                "circle-alert" if is_unread else "activity",
                tr("This action can't be read") if is_unread else tr("No action selected"),
                state.message if isinstance(state, ActionUnread) else "",
            )
            self._stack.setCurrentWidget(self.note)
        self._show_buttons()

    @property
    def _lines(self) -> tuple[object, ...]:
        return self._viewmodel.details.targets.lines

    def _show_buttons(self) -> None:
        state = self._viewmodel.details.state
        self.undo.setVisible(isinstance(state, ActionDetails) and not state.is_undone)
        self.undo.setEnabled(self._viewmodel.can_undo)

    def _on_chosen(self, key: str) -> None:
        kind, _, target = key.partition(":")
        self.target_chosen.emit(kind, target)
