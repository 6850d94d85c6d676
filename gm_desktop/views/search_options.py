"""What a question asks for beside its words: whom, how sure, as of when. Each chip says it in words."""

from __future__ import annotations

from PySide6.QtCore import QDateTime, QLocale, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QButtonGroup, QDateTimeEdit, QDialog, QMenu, QPushButton, QVBoxLayout, QWidget

from gm_desktop.formatting import local_time
from gm_desktop.i18n import decimal, spoken, tr
from gm_desktop.theme import MARGIN, SPACE
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.viewmodels.question import FILTERS, SCOPES
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.widgets.basics import push_button, row, text_label
from gm_desktop.widgets.flow_layout import FlowLayout

_WEIGHTS = (None, 0.0, 0.1, 0.2, 0.3, 0.5)
_HOUR_S = 3600
_MOMENTS = (_HOUR_S, 24 * _HOUR_S, 7 * 24 * _HOUR_S, 30 * 24 * _HOUR_S)


class SearchOptions(QWidget):
    """The chips; it reads and writes the view-model's question."""

    def __init__(self, viewmodel: SearchViewModel) -> None:
        super().__init__()
        self._viewmodel = viewmodel
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_question()

    def _make_widgets(self) -> None:
        titles = (tr("Own"), tr("Shared"), tr("Both"))
        hints = (
            tr("Only the agent's own facts"),
            tr("Only the facts that every agent reads"),
            tr("Own and shared facts, both answers merged by their places"),
        )
        self._group = QButtonGroup(self)
        self.scopes = {scope: push_button(title, "chip") for scope, title in zip(SCOPES, titles, strict=True)}
        for chip, hint in zip(self.scopes.values(), hints, strict=True):
            chip.setToolTip(hint)
            self._group.addButton(chip)
        self.confidence, self.weight, self.moment = (push_button("", "chip") for _ in range(3))
        self.confidence.setToolTip(tr("Leave out facts that are less sure, before anything is ranked"))
        self.weight.setToolTip(tr("Confidence weight: how far verified facts rise and unverified ones sink, up to 0.5"))
        self.moment.setToolTip(tr("Ask the store as it stood at an earlier moment"))
        self.trial = push_button("", "chip", self._viewmodel.reset_trial)
        self.trial.setToolTip(tr("The ranking lab tries other numbers. Click to rank as the store does"))
        self._filter_actions = {each: self._choice(self.confidence, _filter_text(each)) for each in FILTERS}
        self._weight_actions = {each: self._choice(self.weight, "") for each in _WEIGHTS}
        self.now = self._choice(self.moment, tr("Now"))
        self._moment_actions = {each: self._choice(self.moment, _ago(each)) for each in _MOMENTS}
        self.moment.menu().addSeparator()
        self.choose_moment = self.moment.menu().addAction(tr("Choose a date and time…"))

    def _choice(self, chip: QPushButton, title: str) -> QAction:
        """One of the exclusive choices behind a chip."""
        menu = chip.menu()
        if menu is None:
            menu = QMenu(chip)
            chip.setMenu(menu)
            QActionGroup(menu)
        action = menu.addAction(title)
        action.setCheckable(True)
        group = menu.findChild(QActionGroup)
        if group is not None:
            group.addAction(action)
        return action

    def _lay_out(self) -> None:
        layout = FlowLayout(self, margins=(MARGIN, 0, MARGIN, 10), gap=SPACE)
        for chip in (*self.scopes.values(), self.confidence, self.weight, self.moment, self.trial):
            layout.addWidget(chip)

    def _wire(self) -> None:
        model = self._viewmodel
        for scope, chip in self.scopes.items():
            chip.clicked.connect(lambda _on=False, scope=scope: model.set_scope(scope))
        for label, action in self._filter_actions.items():
            action.triggered.connect(lambda _on=False, label=label: model.set_knob("min_confidence", label))
        for weight, action in self._weight_actions.items():
            action.triggered.connect(lambda _on=False, weight=weight: self._set_weight(weight))
        self.now.triggered.connect(lambda: model.set_as_of(None))
        for ago_s, action in self._moment_actions.items():
            action.triggered.connect(lambda _on=False, ago_s=ago_s: model.set_as_of_ago(ago_s))
        self.choose_moment.triggered.connect(self.open_moment)
        model.question_changed.connect(self._show_question)
        model.state_changed.connect(self._show_question)

    def _set_weight(self, weight: float | None) -> None:
        saved = self._viewmodel.saved.numbers["confidence_weight"]
        self._viewmodel.set_knob("confidence_weight", saved if weight is None else weight)

    def open_moment(self) -> None:
        """Asks for a date and time."""
        dialog = MomentDialog(self._viewmodel.question.as_of_ns, self._viewmodel.now_ns, self)
        dialog.moment_chosen.connect(self._viewmodel.set_as_of)
        dialog.open()

    def _show_question(self) -> None:
        asked, trial = self._viewmodel.question, self._viewmodel.question.trial
        self.scopes[asked.scope].setChecked(True)
        for scope in ("agent", "all"):
            self.scopes[scope].setEnabled(bool(asked.agent_id))
        self._say(self.confidence, _filter_text(trial.min_confidence), is_on=bool(trial.min_confidence))
        self._filter_actions[trial.min_confidence].setChecked(True)
        saved = self._viewmodel.saved.numbers["confidence_weight"]
        tried = trial.numbers.get("confidence_weight")
        shown = saved if tried is None else tried
        self._say(self.weight, tr("Weight {value}", value=decimal(f"{shown:.4g}")), is_on=tried is not None)
        for weight, action in self._weight_actions.items():
            text = (
                tr("As the store ({value})", value=decimal(f"{saved:.6g}"))
                if weight is None
                else decimal(f"{weight:g}")
            )
            action.setText(text)
            action.setChecked(weight == tried)
        as_of = asked.as_of_ns
        said = tr("As of now") if as_of is None else tr("As of {when}", when=local_time(as_of))
        self._say(self.moment, said, is_on=as_of is not None)
        self.now.setChecked(as_of is None)
        for action in self._moment_actions.values():
            action.setChecked(False)
        changes = len(trial.numbers.keys() - {"confidence_weight"})
        self.trial.setVisible(changes > 0)
        self.trial.setChecked(changes > 0)
        self.trial.setText(tr("Trial ranking") + "  ×")
        self.trial.setAccessibleName(tr("Trial ranking; press to rank as the store does"))

    @staticmethod
    def _say(chip: QPushButton, title: str, *, is_on: bool) -> None:
        chip.setText(f"{title} ▾")
        chip.setAccessibleName(title)
        chip.setChecked(is_on)


class MomentDialog(QDialog):
    """Emits `moment_chosen(nanoseconds UTC, or None for now)`."""

    moment_chosen = Signal(object)

    def __init__(self, as_of_ns: int | None, now_ns: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("As of when?"))
        self.setModal(True)
        self.finished.connect(self.deleteLater)
        self.field = QDateTimeEdit(_local(now_ns if as_of_ns is None else as_of_ns))
        self.field.setLocale(QLocale(spoken()))
        self.field.setDisplayFormat("d MMM yyyy, HH:mm")
        self.field.setCalendarPopup(True)
        self.field.setMaximumDateTime(_local(now_ns))
        self.field.setAccessibleName(tr("Date and time"))
        self.save = push_button(tr("Ask as of then"), "primary", self._on_save)
        self.save.setDefault(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 20, MARGIN, 20)
        layout.setSpacing(14)
        layout.addWidget(text_label(tr("As of when?"), "heading"))
        note = text_label(
            tr("The answer is made from the store as the journal says it stood then."), "small", wrap=True
        )
        note.setMinimumWidth(320)
        layout.addWidget(note)
        layout.addWidget(self.field)
        layout.addLayout(row(push_button(tr("Now"), "quiet", self._on_now), 1, self._cancel(), self.save))

    def _cancel(self) -> QPushButton:
        return push_button(tr("Cancel"), "", self.reject)

    def _on_save(self) -> None:
        self.moment_chosen.emit(self.field.dateTime().toMSecsSinceEpoch() * 1_000_000)
        self.accept()

    def _on_now(self) -> None:
        self.moment_chosen.emit(None)
        self.accept()


def _local(at_ns: int) -> QDateTime:
    return QDateTime.fromMSecsSinceEpoch(at_ns // 1_000_000)


def _filter_text(label: str) -> str:
    if not label:
        return tr("Any confidence")
    title = confidence_title(label)
    return tr("{label} only", label=title) if label == "verified" else tr("{label} or better", label=title)


def _ago(ago_s: int) -> str:
    return {
        _MOMENTS[0]: tr("An hour ago"),
        _MOMENTS[1]: tr("Yesterday at this time"),
        _MOMENTS[2]: tr("A week ago"),
        _MOMENTS[3]: tr("30 days ago"),
    }[ago_s]
