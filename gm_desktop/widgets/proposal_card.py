"""One proposal to decide on: what would leave beside what stays, differing words tinted, losses named, five buttons.

The card knows no engine and no view-model: it shows a `Card` and says what the person wants.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.proposal_cards import Card, CardFact, Caution, Spans
from gm_desktop.plain_text import as_lines, as_tip, excerpt
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.widgets.basics import Picture, push_button, row, text_label
from gm_desktop.widgets.flow_layout import FlowLayout
from gm_desktop.widgets.pills import Pill
from gm_desktop.widgets.scrolled import scroll_area
from gm_desktop.widgets.text_panes import TextPane

_MOST_PX = 260
_SHOWN_CHARS = 4_000
_MOST_CAUTIONS = 8


class FactPanel(QFrame):
    """One fact on a card: its text, who and when, and a way to keep it instead."""

    keep_wanted = Signal(str)
    opened = Signal(str)

    def __init__(self, theme: Theme, *, ground: str, ink: str) -> None:
        super().__init__()
        self._ground, self._ink = ground, ink
        self._id = ""
        self.setProperty("kind", "well")
        self.pane = TextPane(theme, most_px=_MOST_PX)
        self.pane.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.label = Pill(theme)
        self.pin = Picture(theme, "pin", "accent", 14)
        self.note = text_label("", "small", wrap=True)
        self.keep = push_button(tr("Keep this instead"), "link", lambda: self.keep_wanted.emit(self._id))
        self.open = push_button(tr("Open"), "link", lambda: self.opened.emit(self._id))
        self.open.setToolTip(tr("Open the fact in Memory"))
        layout = QVBoxLayout(self)
        layout.setSpacing(6)
        layout.addWidget(self.pane)
        foot = row(self.label, self.pin, self.note, spacing=SPACE)
        foot.setStretch(2, 1)
        layout.addLayout(foot)
        layout.addLayout(row(self.keep, self.open, 1, spacing=2 * SPACE))
        layout.setContentsMargins(14, 12, 14, 6)

    def show_fact(self, fact: CardFact, *, spans: Spans, may_keep: bool) -> None:
        """Shows a fact with tinted spans."""
        self._id = fact.id
        part = excerpt(as_lines(fact.text), _SHOWN_CHARS)
        self.pane.show_text(part.text + ("…" if part.hidden else ""))
        self.pane.tint(_within(spans, part.text), ground=self._ground, ink=self._ink)
        self.label.show_text(fact.confidence_title, fact.confidence)
        self.pin.setVisible(fact.is_pinned)
        self.note.setText(fact.note)
        self.note.setToolTip(as_tip(fact.hover))
        self.keep.setVisible(may_keep)
        self.pane.setAccessibleName(fact.text[:200])

    def tint(self, spans: Spans) -> None:
        """Changes the tinted spans alone."""
        self.pane.tint(_within(spans, self.pane.raw_text()), ground=self._ground, ink=self._ink)


def _within(spans: Spans, text: str) -> Spans:
    return tuple((start, min(end, len(text))) for start, end in spans if start < len(text))


class CautionList(QWidget):
    """Sentences to read before accepting."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        self._lines: list[QWidget] = []
        self.texts: tuple[str, ...] = ()

    def show_cautions(self, cautions: Sequence[Caution]) -> None:
        """Shows other sentences; the widget hides without any."""
        texts = tuple(caution.text for caution in cautions)
        self.setVisible(bool(texts))
        if texts == self.texts:
            return
        self.texts = texts
        for line in self._lines:
            self._layout.removeWidget(line)
            line.hide()
            line.deleteLater()
        self._lines = [self._line(caution) for caution in cautions[:_MOST_CAUTIONS]]
        if len(cautions) > _MOST_CAUTIONS:
            more = tr("… and {count} more", count=len(cautions) - _MOST_CAUTIONS)
            self._lines.append(text_label(more, "small"))
        for line in self._lines:
            self._layout.addWidget(line)

    def _line(self, caution: Caution) -> QWidget:
        line = QWidget()
        icon, role = ("triangle-alert", "warning") if caution.is_grave else ("info", "info")
        layout = QHBoxLayout(line)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE)
        layout.addWidget(Picture(self._theme, icon, role, 15), 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(text_label(caution.text, "", wrap=True), 1)
        return line


class ProposalCard(QWidget):
    """The card and its buttons."""

    accept_wanted = Signal()
    reject_wanted = Signal()
    later_wanted = Signal()
    never_wanted = Signal()
    edit_wanted = Signal()
    edit_ended = Signal()
    edited = Signal(str)
    keep_wanted = Signal(str)
    fact_wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._card: Card | None = None
        self._panels: list[FactPanel] = []
        self._is_editing = False
        self._make_widgets()
        self._lay_out()
        self._wire()

    def _make_widgets(self) -> None:
        theme = self._theme
        self.kind, self.agent = Pill(theme), text_label("", "muted")
        self.reason = text_label("", "heading", wrap=True)
        self.stale = QFrame()
        self.stale.setProperty("kind", "card")
        self.stale_text = text_label("", "", wrap=True)
        self.cautions = CautionList(theme)
        self.goes_title, self.stays_title = text_label("", "section"), text_label("", "section")
        self.kept = FactPanel(theme, ground="diff_added", ink="diff_added_text")
        self.written = TextPane(theme, most_px=_MOST_PX)
        self.written.setProperty("kind", "bare")
        self.written.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.rest = text_label("", "small")
        self.editor = TextPane(theme, editable=True)
        self.editor.setMinimumHeight(140)
        self.editor.setAccessibleName(tr("Your own text"))
        self.more = text_label("", "small")
        self.accept = push_button("", "primary", self.accept_wanted.emit)
        self.edit = push_button(tr("Edit…"), "", self.edit_wanted.emit)
        self.reject = push_button(tr("Reject"), "", self.reject_wanted.emit)
        self.later = push_button(tr("Later"), "quiet", self.later_wanted.emit)
        self.never = push_button(tr("Never again"), "quiet", self.never_wanted.emit)
        self.cancel = push_button(tr("Stop editing"), "", self.edit_ended.emit)
        for button, keys in (
            (self.accept, "→"),
            (self.edit, "E"),
            (self.reject, "←"),
            (self.later, "↓"),
            (self.never, "X"),
            (self.cancel, tr("Esc")),
        ):
            button.setToolTip(f"{button.text()} ({keys})".strip())

    def _lay_out(self) -> None:
        self._goes = QVBoxLayout()
        self._goes.setSpacing(10)
        left, right = QWidget(), QWidget()
        for side, title, content in ((left, self.goes_title, self._goes), (right, self.stays_title, self._stays())):
            column = QVBoxLayout(side)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(8)
            column.addWidget(title)
            column.addLayout(content)
            column.addStretch(1)
        self._goes.addWidget(self.more)
        self._left, self._right = left, right
        columns = QHBoxLayout()
        columns.setSpacing(2 * SPACE)
        columns.addWidget(left, 1)
        columns.addWidget(right, 1)
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(MARGIN, 4, MARGIN, 12)
        inner.setSpacing(14)
        inner.addLayout(row(self.kind, self.agent, 1))
        for widget in (self.reason, self.stale, self.cautions):
            inner.addWidget(widget)
        inner.addLayout(columns)
        inner.addStretch(1)
        self.area = scroll_area(body)
        stale = QHBoxLayout(self.stale)
        stale.setContentsMargins(14, 10, 14, 10)
        stale.addWidget(Picture(self._theme, "triangle-alert", "danger", 16), 0, Qt.AlignmentFlag.AlignTop)
        stale.addWidget(self.stale_text, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.area, 1)
        layout.addLayout(self._foot())

    def _foot(self) -> QHBoxLayout:
        """What accepts at the right; what does not at the left, in lines where there is little room."""
        away = QWidget()
        flow = FlowLayout(away)
        for button in (self.reject, self.later, self.never):
            flow.addWidget(button)
        for button in (self.cancel, self.edit, self.accept):
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        foot = row(away, self.cancel, self.edit, self.accept, margins=(MARGIN, 10, MARGIN, 14))
        foot.setStretch(0, 1)
        for button in (self.cancel, self.edit, self.accept):
            foot.setAlignment(button, Qt.AlignmentFlag.AlignTop)
        return foot

    def _stays(self) -> QVBoxLayout:
        self._well = QFrame()
        self._well.setProperty("kind", "well")
        inner = QVBoxLayout(self._well)
        inner.setContentsMargins(14, 12, 14, 12)
        inner.addWidget(self.written)
        inner.addWidget(self.rest)
        column = QVBoxLayout()
        column.setSpacing(8)
        for widget in (self.kept, self._well, self.editor):
            column.addWidget(widget)
        return column

    def _wire(self) -> None:
        self.editor.textChanged.connect(lambda: self.edited.emit(self.editor.raw_text()))
        self.kept.opened.connect(self.fact_wanted)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self.editor, self.accept.click, context=Qt.ShortcutContext.WidgetShortcut)
        QShortcut(QKeySequence("Esc"), self.editor, self.edit_ended.emit, context=Qt.ShortcutContext.WidgetShortcut)

    # --- showing ---------------------------------------------------------------------------------------------------

    def show_card(self, card: Card, *, may_decide: bool) -> None:
        """Shows a card from its top."""
        is_new = self._card is None or self._card.id != card.id
        self._card = card
        self.kind.show_text(card.kind_title, card.tone)
        self.agent.setText(card.agent)
        self.reason.setText(card.reason)
        self.stale.setVisible(bool(card.stale))
        self.stale_text.setText(card.stale)
        self.cautions.show_cautions(card.cautions)
        self.goes_title.setText(card.goes_title)
        self.stays_title.setText(card.stays_title)
        self._left.setVisible(bool(card.goes_title))
        self._right.setVisible(bool(card.stays_title))
        self._show_leaving(card)
        self._show_remaining(card)
        self.accept.setText(card.accept_title)
        self.accept.setToolTip(f"{card.accept_title} (→)")
        self.reject.setText(card.reject_title or tr("Reject"))
        self.reject.setToolTip(f"{self.reject.text()} (←)")
        self.allow(may_decide=may_decide)
        if is_new:
            self.area.verticalScrollBar().setValue(0)

    def _show_leaving(self, card: Card) -> None:
        while len(self._panels) < len(card.goes):
            panel = FactPanel(self._theme, ground="diff_removed", ink="diff_removed_text")
            panel.keep_wanted.connect(self.keep_wanted)
            panel.opened.connect(self.fact_wanted)
            self._goes.insertWidget(len(self._panels), panel)
            self._panels.append(panel)
        may_keep = card.stays is not None and not card.stale
        for panel, fact in zip(self._panels, card.goes, strict=False):
            panel.show_fact(fact, spans=fact.removed, may_keep=may_keep)
        for at, panel in enumerate(self._panels):
            panel.setVisible(at < len(card.goes))
        self.more.setVisible(card.more > 0)
        self.more.setText(tr_count("… and {count} more fact", "… and {count} more facts", card.more))

    def _show_remaining(self, card: Card) -> None:
        if card.stays is not None:
            self.kept.show_fact(card.stays, spans=card.added, may_keep=False)
        part = excerpt(as_lines(card.result), _SHOWN_CHARS)
        self.written.show_text(part.text)
        self.rest.setVisible(part.hidden > 0)
        self.rest.setText(
            tr_count(
                "… and {count} more character; E shows all", "… and {count} more characters; E shows all", part.hidden
            )
        )
        self.written.tint(_within(card.added, self.written.raw_text()), ground="diff_added", ink="diff_added_text")
        self._show_mode()

    def allow(self, *, may_decide: bool) -> None:
        """Switches the buttons on or off."""
        card = self._card
        may_accept = may_decide and card is not None and not card.stale
        self.accept.setEnabled(may_accept)
        self.edit.setEnabled(may_accept and card is not None and card.can_edit)
        for button in (self.reject, self.later, self.never):
            button.setEnabled(may_decide)
        for panel in self._panels:
            panel.keep.setEnabled(may_accept)

    def show_later_title(self, text: str) -> None:
        """What the button in the middle does: put off, or bring back."""
        self.later.setText(text)
        self.later.setToolTip(f"{text} (↓)")

    def show_draft(
        self, *, is_editing: bool, text: str, added: Spans, removed: Sequence[Spans], cautions: Sequence[Caution]
    ) -> None:
        """Switches to an own text or back; spans and sentences follow what is typed."""
        if is_editing and not self._is_editing:
            with QSignalBlocker(self.editor):
                self.editor.setPlainText(as_lines(text))
            self._is_editing = True
            self._show_mode()
            self.editor.setFocus()
            self.editor.moveCursor(QTextCursor.MoveOperation.End)
        elif not is_editing and self._is_editing:
            self._is_editing = False
            self._show_mode()
        if is_editing:
            with QSignalBlocker(self.editor):
                spans = _within(added, self.editor.raw_text())
                self.editor.tint(spans, ground="diff_added", ink="diff_added_text")
            for panel, spans in zip(self._panels, removed, strict=False):
                panel.tint(spans)
            self.cautions.show_cautions(cautions)

    def _show_mode(self) -> None:
        card = self._card
        has_kept = card is not None and card.stays is not None
        self.editor.setVisible(self._is_editing)
        self.kept.setVisible(has_kept and not self._is_editing)
        self._well.setVisible(not has_kept and not self._is_editing)
        self.cancel.setVisible(self._is_editing)
        self.edit.setVisible(not self._is_editing and card is not None and card.can_edit)
        for button in (self.reject, self.later, self.never):
            button.setVisible(not self._is_editing)
        if card is not None:
            self.accept.setText(tr("Accept my text") if self._is_editing else card.accept_title)
            self.stays_title.setText(tr("Your own text") if self._is_editing else card.stays_title)
        self.editor.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
