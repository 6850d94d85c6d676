"""One fact, whole: its text, what it is, what it was, who touched it, and what can be done."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QMenu, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.fact_details import (
    DetailsFailed,
    FactDetails,
    FactDetailsViewModel,
    ManySelected,
)
from gm_desktop.widgets.basics import EmptyState, icon_button, push_button, row, text_label
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.pills import Pill
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.text_panes import LongText
from gm_desktop.widgets.timeline import Moment, Timeline

_MARGIN = 20


class FactInspector(QWidget):
    """Shows the details view-model; signals say what the person wants done to the fact or the selection."""

    revise_wanted = Signal()
    pin_wanted = Signal()
    retire_wanted = Signal()
    restore_wanted = Signal()
    fact_wanted = Signal(str)

    def __init__(self, details: FactDetailsViewModel, theme: Theme, *, more: QMenu) -> None:
        super().__init__()
        self._details, self._theme = details, theme
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(280)
        self._make_widgets(more)
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self, more: QMenu) -> None:
        self.pills = [Pill(self._theme) for _ in range(4)]
        self.text = LongText(self._theme)
        self.text.pane.setAccessibleName(tr("Text of the fact"))
        self.revise = push_button(tr("Revise"), "primary", self.revise_wanted.emit)
        self.restore = push_button(tr("Restore"), "primary", self.restore_wanted.emit)
        self.pin, self.retire, self.more = self._make_deeds(more)
        self.for_many = self._make_deeds(more)
        self.facts = NameValues()
        self.fact_id = text_label("", "small", selectable=True)
        self.fact_id.setAccessibleName(tr("Id of the fact"))
        self.lineage = Timeline(self._theme, opens=True)
        self.journal = Timeline(self._theme, opens=False)
        self._lineage_title = text_label(tr("Lineage"), "section")
        self._journal_title = text_label(tr("Journal"), "section")
        self._older = text_label(tr("Older entries are in the journal."), "small")
        self._note = EmptyState(self._theme, "file-text", "", "", self.for_many, text_width=220)

    def _make_deeds(self, more: QMenu) -> tuple[QToolButton, QToolButton, QToolButton]:
        """What is done to one fact, and to many alike."""
        pin = icon_button(self._theme, "pin", tr("Pin or unpin"), self.pin_wanted.emit, shortcut="P")
        retire = icon_button(self._theme, "archive", tr("Retire"), self.retire_wanted.emit, shortcut="Del")
        rest = icon_button(self._theme, "ellipsis", tr("More actions"))
        rest.setMenu(more)
        rest.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return pin, retire, rest

    def _lay_out(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(_MARGIN, 20, _MARGIN, 20)
        column.setSpacing(12)
        column.addLayout(row(*self.pills, 1, spacing=6))
        column.addWidget(self.text)
        column.addLayout(row(self.revise, self.restore, 1, self.pin, self.retire, self.more, spacing=4))
        column.addSpacing(SPACE)
        column.addWidget(self._section(tr("Details")))
        column.addWidget(self.facts)
        column.addWidget(self.fact_id)
        column.addSpacing(SPACE)
        column.addWidget(self._lineage_title)
        column.addWidget(self.lineage)
        column.addSpacing(SPACE)
        column.addWidget(self._journal_title)
        column.addWidget(self.journal)
        column.addWidget(self._older)
        column.addStretch(1)
        self.scroll_area = scroll_area(body)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._note)
        self._stack.addWidget(self.scroll_area)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    @staticmethod
    def _section(title: str) -> QLabel:
        return text_label(title, "section")

    def _wire(self) -> None:
        self._details.changed.connect(self._show_state)
        self.lineage.chosen.connect(self.fact_wanted)

    def _show_state(self) -> None:
        state = self._details.state
        if isinstance(state, FactDetails):
            self._show_fact(state)
            self._stack.setCurrentWidget(self.scroll_area)
            return
        for button in self.for_many:
            button.setVisible(isinstance(state, ManySelected))
        if isinstance(state, ManySelected):
            hint = tr("Pin, label, retire, move or copy them together: one step, one undo.")
            self._note.say("layers", tr("{count} facts selected", count=number(state.count)), hint)
        elif isinstance(state, DetailsFailed):
            self._note.say("circle-alert", tr("This fact can't be shown"), state.message)
        else:
            self._note.say("file-text", tr("No fact selected"), tr("Choose a fact to see where it comes from."))
        self._stack.setCurrentWidget(self._note)

    def _show_fact(self, fact: FactDetails) -> None:
        is_other = self.text.property("fact") != fact.id
        if is_other or self.text.text != fact.text:
            self.text.show_text(fact.text)
            self.text.setProperty("fact", fact.id)
        confidence, status, pinned, alias = self.pills
        confidence.show_text("" if fact.is_alias else fact.confidence_title, fact.confidence)
        status.show_text("" if fact.status == "live" else fact.status_title, fact.status)
        pinned.show_text(tr("Pinned") if fact.is_pinned else "", "accent")
        alias.show_text(tr("Alias") if fact.is_alias else "", "info")
        is_live = fact.status == "live"
        self.revise.setVisible(is_live)
        self.retire.setVisible(is_live)
        self.pin.setVisible(is_live or fact.is_pinned)
        self.restore.setVisible(not is_live)
        self.facts.show_rows(fact.facts)
        self.fact_id.setText(fact.id)
        self._show_history(fact)
        if is_other:
            self.scroll_area.verticalScrollBar().setValue(0)

    def _show_history(self, fact: FactDetails) -> None:
        moments = [
            Moment(item.id, item.text, item.when, tr("Open this fact"), is_here=item.place == "this")
            for item in fact.lineage
        ]
        self._lineage_title.setVisible(bool(moments))
        self._lineage_title.setText(tr_count("{count} version", "{count} versions", len(moments)))
        self.lineage.setVisible(bool(moments))
        self.lineage.show_moments(moments)
        self.journal.show_moments(
            [
                Moment(str(line.seq), line.what, f"{line.when} · {line.who}", f"{line.who} · {line.when_utc}")
                for line in fact.journal
            ]
        )
        self._older.setVisible(fact.has_more_journal)
