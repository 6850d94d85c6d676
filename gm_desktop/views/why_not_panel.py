"""*Why not that?*: pick the fact that was expected, see what kept it out, try what would bring it in."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QLineEdit, QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_caption
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.why_not import NothingAsked, NothingPicked, Unexplained, WhyNotViewModel
from gm_desktop.viewmodels.why_not_words import RemedyLine, WhyNotReport
from gm_desktop.widgets.basics import ElidedLabel, EmptyState, add_glass, icon_button, push_button, row, text_label
from gm_desktop.widgets.contribution_bar import ContributionBar, SignalDot
from gm_desktop.widgets.fact_drag import dragged_fact
from gm_desktop.widgets.line_view import LineView
from gm_desktop.widgets.pills import Pill
from gm_desktop.widgets.scrolled import PANEL_MARGIN, scrolled
from gm_desktop.widgets.text_panes import LongText


class FactField(QLineEdit):
    """Words or an id; the arrow down goes to the choices."""

    down_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hands the arrow on."""
        if event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
        else:
            super().keyPressEvent(event)


class RemedyCard(QFrame):
    """One change that would bring the fact in, and a button that tries it."""

    tried = Signal(object)  # RemedyLine

    def __init__(self, remedy: RemedyLine) -> None:
        super().__init__()
        self.setProperty("kind", "well")
        self.button = push_button(tr("Try in the lab"), "link", lambda: self.tried.emit(remedy))
        self.button.setAccessibleName(tr("Try in the lab: {change}", change=remedy.sentence))
        self.sentence = text_label(remedy.sentence, "strong" if remedy.is_simplest else "", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 9, 12, 7)
        column.setSpacing(2)
        column.addWidget(self.sentence)
        note = text_label(tr("Simplest change") if remedy.is_simplest else "", "small")
        column.addLayout(row(note, 1, self.button))


class StandingTable(QWidget):
    """What each signal gave, and the score against that of the last hit."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self._rows: list[tuple[QLabel, QLabel, QLabel]] = []
        for at in range(3):
            labels = text_label(""), text_label("", "small"), _figure(theme)
            grid.addWidget(SignalDot(theme, at), at, 0)
            grid.addWidget(labels[0], at, 1)
            grid.addWidget(labels[1], at, 2, right)
            grid.addWidget(labels[2], at, 3, right)
            self._rows.append(labels)
        self.score, self.cutoff = _figure(theme), _figure(theme)
        self._cutoff_title = text_label(tr("Last hit"), "small")
        for at, (title, value) in enumerate(
            ((text_label(tr("Its score"), "strong"), self.score), (self._cutoff_title, self.cutoff)), 3
        ):
            grid.addWidget(title, at, 1, 1, 2)
            grid.addWidget(value, at, 3, right)

    def show_report(self, report: WhyNotReport) -> None:
        """Shows the figures of one fact."""
        for (title, place, value), signal in zip(self._rows, report.signals, strict=True):
            title.setText(signal.title)
            place.setText(signal.place)
            value.setText(signal.value)
        self.score.setText(report.score)
        self.cutoff.setText(report.cutoff)
        self._cutoff_title.setVisible(bool(report.cutoff))


def _figure(theme: Theme) -> QLabel:
    label = text_label("", selectable=True)
    font = theme.font("body")
    font.setFeature(font.Tag("tnum"), 1)
    label.setFont(font)
    return label


class WhyNotPanel(QWidget):
    """A tab of the inspector of the Search page. Facts and hits can be dropped on it."""

    fact_wanted = Signal(str)
    hit_wanted = Signal(str)
    lab_wanted = Signal()

    def __init__(self, viewmodel: WhyNotViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._is_target = False
        self.setAcceptDrops(True)
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        model = self._viewmodel
        self.field = FactField()
        self.field.setPlaceholderText(tr("Find the missing fact, or paste its id"))
        self.field.setAccessibleName(tr("The fact that is missing"))
        self.field.setClearButtonEnabled(True)
        self.field.setMaxLength(500)
        add_glass(self.field, self._theme)
        self.choices = LineView(model.choices, self._theme, tr("Facts to choose from"))
        self.empty = EmptyState(self._theme, "circle-question-mark", "", "", text_width=240)
        self.forget = icon_button(self._theme, "x", tr("Choose another fact"), self._forget)
        self.confidence = Pill(self._theme)
        self._meta = ElidedLabel(theme=self._theme)
        self.text = LongText(self._theme, most_px=120)
        self.text.pane.setAccessibleName(tr("Text of the missing fact"))
        self.verdict = text_label("", "heading", wrap=True)
        self.detail = text_label("", "muted", wrap=True)
        self.bar = ContributionBar(self._theme)
        self.standing = StandingTable(self._theme)
        self.remedies_title = text_label(tr("What would bring it in"), "section")
        self.cards: list[RemedyCard] = []
        self.open_fact = push_button(tr("Open in Memory"), "", self._on_open)
        self.ask_agent = push_button("", "", model.ask_its_agent)
        self.show_hit = push_button(tr("Show the hit"), "", self._on_hit)

    def _lay_out(self) -> None:
        column = QVBoxLayout()
        column.setSpacing(10)
        head = row(self.confidence, self._meta, self.forget)
        head.setStretch(1, 1)
        column.addLayout(head)
        column.addWidget(self.text)
        column.addSpacing(SPACE)
        for widget in (self.verdict, self.detail, self.bar, self.standing):
            column.addWidget(widget)
        column.addSpacing(SPACE)
        column.addWidget(self.remedies_title)
        self._remedies = QVBoxLayout()
        self._remedies.setSpacing(6)
        column.addLayout(self._remedies)
        column.addLayout(row(self.show_hit, self.ask_agent, self.open_fact, 1))
        column.addStretch(1)
        self._report = scrolled(column)
        self._found = QWidget()
        found = QVBoxLayout(self._found)
        found.setContentsMargins(PANEL_MARGIN - 10, 0, PANEL_MARGIN - 10, 0)
        found.addWidget(self.choices)
        self._stack = QStackedWidget()
        for page in (self.empty, self._found, self._report):
            self._stack.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 14, 0, 0)
        layout.setSpacing(SPACE)
        layout.addLayout(row(self.field, margins=(PANEL_MARGIN, 0, PANEL_MARGIN, 0)))
        layout.addWidget(self._stack, 1)

    def _wire(self) -> None:
        model = self._viewmodel
        self.field.textEdited.connect(model.seek)
        self.field.returnPressed.connect(self._on_return)
        self.field.down_pressed.connect(self._to_choices)
        self.choices.chosen.connect(self._on_chosen)
        model.changed.connect(self._show_state)
        model.choices_changed.connect(self._show_state)

    def focus(self) -> None:
        """Work begins with finding the fact."""
        self.field.setFocus()
        self.field.selectAll()

    # deeds

    def _on_return(self) -> None:
        lines = self._viewmodel.choices.lines
        if lines:
            self._on_chosen(lines[0].key)

    def _to_choices(self) -> None:
        if self._viewmodel.choices.lines:
            self.choices.setFocus()
            self.choices.setCurrentIndex(self._viewmodel.choices.index(0))

    def _on_chosen(self, key: str) -> None:
        self.field.clear()
        self._viewmodel.pick(key)

    def _forget(self) -> None:
        self.field.clear()
        self._viewmodel.clear()
        self.field.setFocus()

    def _on_open(self) -> None:
        if self._viewmodel.fact_id is not None:
            self.fact_wanted.emit(self._viewmodel.fact_id)

    def _on_hit(self) -> None:
        state = self._viewmodel.state
        if isinstance(state, WhyNotReport):
            self.hit_wanted.emit(state.other or state.fact_id)

    def _on_tried(self, remedy: RemedyLine) -> None:
        self._viewmodel.try_remedy(remedy)
        self.lab_wanted.emit()

    # dropping

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """One fact may come in."""
        if dragged_fact(event.mimeData()) is not None:
            event.acceptProposedAction()
            self._mark(is_target=True)
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """It went elsewhere."""
        self._mark(is_target=False)
        event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        """This is the fact that was expected."""
        self._mark(is_target=False)
        fact_id = dragged_fact(event.mimeData())
        if fact_id is not None:
            event.acceptProposedAction()
            self._on_chosen(fact_id)

    def _mark(self, *, is_target: bool) -> None:
        self._is_target = is_target
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A frame while a fact hovers over the panel."""
        super().paintEvent(event)
        if self._is_target:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self._theme.color("accent"))
            painter.setBrush(self._theme.color("accent_soft"))
            painter.drawRoundedRect(self.rect().adjusted(6, 6, -7, -7), 10, 10)
            painter.end()

    # state

    def _show_state(self) -> None:
        model, state = self._viewmodel, self._viewmodel.state
        if model.sought:
            if model.choices.lines:
                self._stack.setCurrentWidget(self._found)
            else:
                self.empty.say("search", tr("Looking…") if model.is_waiting else tr("No fact holds these words"))
                self._stack.setCurrentWidget(self.empty)
            return
        if isinstance(state, WhyNotReport):
            self._show_report(state)
            self._stack.setCurrentWidget(self._report)
            return
        if isinstance(state, NothingPicked):
            self.empty.say(
                "circle-question-mark",
                tr("Why not that?"),
                tr("Find a fact above, or drop one here, to see what kept it out of the answer."),
            )
        elif isinstance(state, NothingAsked):
            self.empty.say(
                "circle-question-mark",
                tr("Missing from what?"),
                tr("Ask a question, or choose one of the batch; then this says why the fact is not among its hits."),
            )
        elif isinstance(state, Unexplained):
            self.empty.say("circle-alert", tr("That can't be explained"), state.message)
        self._stack.setCurrentWidget(self.empty)

    def _show_report(self, report: WhyNotReport) -> None:
        self.confidence.show_text(report.confidence_title, report.confidence)
        self._meta.set_text(f"{report.agent}  ·  {report.written}")
        self.text.show_text(report.text)
        self.verdict.setText(report.verdict)
        self.detail.setText(report.detail)
        is_ranked = bool(report.signals)
        self.bar.setVisible(is_ranked)
        self.standing.setVisible(is_ranked)
        if is_ranked:
            said = ", ".join(f"{each.title} {each.value}" for each in report.signals)
            self.bar.show_shares([each.share for each in report.signals], said)
            self.standing.show_report(report)
        self._show_remedies(report.remedies)
        self.show_hit.setVisible(report.reason in ("returned", "duplicate"))
        self.ask_agent.setVisible(report.reason == "other_namespace")
        self.ask_agent.setText(tr("Ask {agent} instead", agent=as_caption(report.agent)))

    def _show_remedies(self, remedies: tuple[RemedyLine, ...]) -> None:
        for card in self.cards:
            self._remedies.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = [RemedyCard(remedy) for remedy in remedies]
        for card in self.cards:
            card.tried.connect(self._on_tried)
            self._remedies.addWidget(card)
        self.remedies_title.setVisible(bool(remedies))
