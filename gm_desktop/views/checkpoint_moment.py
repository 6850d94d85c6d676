"""The tab with the facts that were live when a checkpoint was saved."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.checkpoint_moment import CheckpointMoment, MomentFailed, MomentLoading, MomentShown
from gm_desktop.widgets.basics import EmptyState, text_label
from gm_desktop.widgets.line_view import LINE_INDENT, LineView


class MomentPanel(QWidget):
    """Emits `fact_wanted(id)` for a fact that is to be opened."""

    fact_wanted = Signal(str)

    def __init__(self, viewmodel: CheckpointMoment, theme: Theme) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self.count = text_label("", "muted", wrap=True)
        self.caution = text_label("", "small", wrap=True)
        self.facts = LineView(viewmodel.facts, theme, tr("Facts live at that moment"))
        self.note = EmptyState(theme, "history", "")
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(self.facts)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 12, 0, 0)
        layout.setSpacing(6)
        for label in (self.count, self.caution):
            label.setContentsMargins(LINE_INDENT, 0, 0, 0)  # the texts of the list stand below
            layout.addWidget(label)
        layout.addWidget(self._stack, 1)
        self.facts.chosen.connect(self.fact_wanted)
        viewmodel.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._viewmodel.state
        is_full = isinstance(state, MomentShown) and state.count > 0
        self.count.setText(state.note if isinstance(state, MomentShown) and is_full else "")
        self.count.setVisible(is_full)
        self.caution.setText(state.caution if isinstance(state, MomentShown) else "")
        self.caution.setVisible(bool(self.caution.text()))
        if isinstance(state, MomentLoading):
            self.note.say("clock", tr("Going back to that moment…"))
        elif isinstance(state, MomentFailed):
            self.note.say("circle-alert", tr("That moment can't be shown"), state.message)
        else:
            self.note.say("history", tr("No fact was live then"), tr("The agent had remembered nothing yet."))
        self._stack.setCurrentWidget(self.facts if is_full else self.note)
