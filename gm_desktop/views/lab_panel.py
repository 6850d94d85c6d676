"""The ranking lab: numbers to move while the hits re-rank, profiles to keep, judged questions to hold them against."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QMenu, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_desktop.viewmodels.lab import LabViewModel
from gm_desktop.viewmodels.lab_words import RunReport
from gm_desktop.viewmodels.question import FILTERS, MOST_HITS, MOST_WEIGHT, WEIGHT_REACH
from gm_desktop.viewmodels.why import signal_title
from gm_desktop.views.name_dialog import NameDialog
from gm_desktop.widgets.basics import YieldingLabel, icon_button, push_button, row, rule, set_kind, text_label
from gm_desktop.widgets.flow_layout import flowing
from gm_desktop.widgets.knob import LABEL_WIDTH, Knob
from gm_desktop.widgets.line_view import LINE_INDENT, LineView
from gm_desktop.widgets.scrolled import PANEL_MARGIN, scrolled

_SIGNALS = ("vector", "keyword", "recency")
_TOP_REACH = 64


class MetricTable(QWidget):
    """Figures before and after."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        grid.setColumnMinimumWidth(3, 52)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for column, title in enumerate((tr("Saved"), tr("Tried"), ""), 1):
            grid.addWidget(text_label(title, "small"), 0, column, right)
        font = theme.font("body")
        font.setFeature(font.Tag("tnum"), 1)
        self.rows = []
        for at in range(1, 4):
            labels = [YieldingLabel(), text_label(""), text_label(""), text_label("")]
            for column, label in enumerate(labels):
                label.setFont(font)
                grid.addWidget(label, at, column, right if column else Qt.AlignmentFlag.AlignVCenter)
            labels[3].setAlignment(right)
            self.rows.append(labels)

    def show_report(self, report: RunReport) -> None:
        """Shows the three figures of a run."""
        for labels, metric in zip(self.rows, report.metrics, strict=True):
            for label, text in zip(labels, (metric.title, metric.before, metric.after, metric.change), strict=True):
                label.setText(text)
            set_kind(labels[3], metric.tone if metric.tone != "text_muted" else "")


def _indented() -> QVBoxLayout:
    """A column whose texts stand under those of the lists in the panel."""
    column = QVBoxLayout()
    column.setContentsMargins(LINE_INDENT, 0, LINE_INDENT, 0)
    column.setSpacing(6)
    return column


def _yielding(box: QComboBox) -> QComboBox:
    """A box that is as wide as there is room, however long its entries."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(6)
    return box


class LabPanel(QWidget):
    """A tab of the inspector of the Search page."""

    hit_wanted = Signal(str)

    def __init__(self, viewmodel: LabViewModel, theme: Theme, expect: Callable[[], None]) -> None:
        super().__init__()
        self._viewmodel, self._theme, self._expect = viewmodel, theme, expect
        self._make_widgets()
        self._make_keeping()
        self._lay_out()
        self._wire()
        self._show_setting()
        self._show_kept()
        self._show_report()

    def _make_widgets(self) -> None:
        self.profile = _yielding(QComboBox())
        self.profile.setAccessibleName(tr("Ranking profile"))
        self.more_menu = QMenu(self)
        self.more_menu.aboutToShow.connect(self._fill_more)
        self.more = icon_button(self._theme, "ellipsis", tr("More about profiles"))
        self.more.setMenu(self.more_menu)
        self.more.setPopupMode(self.more.ToolButtonPopupMode.InstantPopup)
        self.knobs: dict[str, Knob] = {}
        for at, (name, hint) in enumerate(
            zip(
                _SIGNALS,
                (
                    tr("How much closeness of meaning counts. 0 switches it off"),
                    tr("How much shared words count. 0 switches them off"),
                    tr("How much a recent date counts. 0 switches it off"),
                ),
                strict=True,
            )
        ):
            self.knobs[name] = Knob(
                self._theme, signal_title(name), hint, reach=WEIGHT_REACH, highest=MOST_WEIGHT, signal=at
            )
        self.knobs["confidence_weight"] = Knob(
            self._theme,
            tr("Confidence"),
            tr("How far verified facts rise and unverified ones sink"),
            reach=0.5,
            highest=0.5,
        )
        self.knobs["min_relevance"] = Knob(
            self._theme, tr("Floor"), tr("The least score, as a share of the best hit's"), reach=1.0, highest=1.0
        )
        self.knobs["coverage_gate"] = Knob(
            self._theme,
            tr("Word gate"),
            tr("How much of the question's weight in words a fact must share to be ranked by words"),
            reach=1.0,
            highest=1.0,
        )
        self.knobs["top_k"] = Knob(
            self._theme, tr("Hits"), tr("How many hits are asked for"), reach=_TOP_REACH, highest=MOST_HITS, step=1
        )
        self.filter = _yielding(QComboBox())
        self.filter.setAccessibleName(tr("Confidence filter"))
        for label in FILTERS:
            title = tr("Any confidence") if not label else confidence_title(label)
            self.filter.addItem(tr("{label} or better", label=title) if label == "inferred" else title, label)
        self.comparison = text_label("", "small", wrap=True)
        self.left_title = text_label(tr("Left the answer"), "section")
        self.left_title.setContentsMargins(0, SPACE, 0, 0)
        self.left = LineView(self._viewmodel.left_lines, self._theme, tr("Facts that left the answer"), grows=True)

    def _make_keeping(self) -> None:
        model = self._viewmodel
        self.reset = push_button(tr("Reset"), "", model.reset)
        self.make_default = push_button(tr("Make it the store's own"), "primary", model.make_default)
        self.query_set = _yielding(QComboBox())
        self.query_set.setAccessibleName(tr("Judged questions"))
        self.set_note = text_label("", "small", wrap=True)
        self.run = push_button(tr("Run"), "", model.run)
        self.expect_hit = push_button(tr("Expect the selected hit"), "", self._expect)
        self.expect_hit.setToolTip(tr("Remembers that this question should be answered by the selected hit"))
        self.metrics = MetricTable(self._theme)
        self.run_note = text_label("", "small", wrap=True)
        self.outcomes = LineView(model.outcomes, self._theme, tr("Judged questions"), grows=True)

    def _lay_out(self) -> None:
        column = QVBoxLayout()
        column.setSpacing(6)
        column.addLayout(self._ranking())
        column.addWidget(self.left)
        column.addLayout(self._judging())
        column.addWidget(self.outcomes)
        column.addStretch(1)
        self._area = scrolled(column, margin=PANEL_MARGIN - LINE_INDENT)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._area)

    def _ranking(self) -> QVBoxLayout:
        column = _indented()
        profiles = row(self.profile, self.more)
        profiles.setStretch(0, 1)
        column.addLayout(profiles)
        column.addSpacing(4)
        title = text_label(tr("Filter"))
        widths = [title.sizeHint().width() + 2, *(knob.label_width for knob in self.knobs.values())]
        title.setFixedWidth(max(LABEL_WIDTH, *widths))
        for name in (*_SIGNALS, "confidence_weight", "min_relevance", "coverage_gate", "top_k"):
            self.knobs[name].set_label_width(title.width())
            column.addWidget(self.knobs[name])
        line = row(title, self.filter, spacing=6)
        line.setStretch(1, 1)
        column.addLayout(line)
        column.addSpacing(6)
        column.addWidget(flowing(self.make_default, self.reset))
        column.addSpacing(6)
        column.addWidget(self.comparison)
        column.addWidget(self.left_title)
        return column

    def _judging(self) -> QVBoxLayout:
        column = _indented()
        column.addSpacing(SPACE)
        column.addWidget(rule())
        column.addSpacing(4)
        column.addWidget(text_label(tr("Judged questions"), "section"))
        chosen = row(self.query_set, self.run)
        chosen.setStretch(0, 1)
        column.addLayout(chosen)
        column.addWidget(self.set_note)
        column.addLayout(row(self.expect_hit, 1))
        column.addSpacing(4)
        for widget in (self.run_note, self.metrics):
            column.addWidget(widget)
        return column

    def _wire(self) -> None:
        model = self._viewmodel
        for name, knob in self.knobs.items():
            knob.moved.connect(lambda value, name=name: model.set_knob(name, value))
        self.filter.activated.connect(lambda _at: model.set_knob("min_confidence", str(self.filter.currentData())))
        self.profile.activated.connect(self._on_profile)
        self.query_set.activated.connect(lambda _at: model.choose_set(str(self.query_set.currentData())))
        self.outcomes.chosen.connect(model.open_outcome)
        self.left.chosen.connect(self.hit_wanted)
        model.changed.connect(self._show_setting)
        model.kept_changed.connect(self._show_kept)
        model.report_changed.connect(self._show_report)

    def focus(self) -> None:
        """Work begins with the first number."""
        self.knobs["vector"].slider.setFocus()

    # deeds

    def save_profile(self) -> None:
        """Asks for a name, then saves the tried ranking under it."""
        model = self._viewmodel
        dialog = NameDialog(
            tr("Save as a profile"),
            tr("The numbers, the filter and the number of hits are kept under this name."),
            tr("Save"),
            model.profile_in_use(),
            taken=model.profiles,
            parent=self,
        )
        dialog.named.connect(model.save_profile)
        dialog.open()

    def _on_profile(self) -> None:
        name = self.profile.currentData()
        if name:
            self._viewmodel.use_profile(str(name))
        else:
            self._viewmodel.reset()

    def _fill_more(self) -> None:
        model = self._viewmodel
        self.more_menu.clear()
        save = self.more_menu.addAction(tr("Save as a profile…"))
        save.triggered.connect(self.save_profile)
        save.setEnabled(model.can_write)
        used = model.profile_in_use()
        if used:
            delete = self.more_menu.addAction(tr("Delete the profile {name}", name=used))
            delete.triggered.connect(lambda: model.delete_profile(used))
            delete.setEnabled(model.can_write)
        if model.query_set:
            self.more_menu.addSeparator()
            drop = self.more_menu.addAction(tr("Delete the questions {name}", name=model.query_set))
            drop.triggered.connect(model.delete_set)
            drop.setEnabled(model.can_write)

    # state

    def _show_setting(self) -> None:
        model = self._viewmodel
        setting, saved = model.setting, model.saved
        for name, knob in self.knobs.items():
            if name == "top_k":
                knob.show_value(setting.top_k, None)
            else:
                knob.show_value(setting.numbers[name], saved.numbers[name])
            knob.setEnabled(model.can_rank)
        with QSignalBlocker(self.filter):
            self.filter.setCurrentIndex(self.filter.findData(setting.min_confidence))
        self.comparison.setText(model.comparison)
        self.left_title.setVisible(bool(model.left_lines.lines))
        self.left.setVisible(bool(model.left_lines.lines))
        self.make_default.setEnabled(model.is_trial and model.can_write)
        self.reset.setEnabled(model.is_trial)
        self.expect_hit.setEnabled(model.can_expect)
        self._show_profile()

    def _show_profile(self) -> None:
        model = self._viewmodel
        used = model.profile_in_use()
        entries = [(tr("The store's own ranking"), "")]
        entries += [(name, name) for name in model.profiles]
        if model.is_trial and not used:
            entries.append((tr("Trial ranking"), "trial?"))
        with QSignalBlocker(self.profile):
            if [self.profile.itemText(at) for at in range(self.profile.count())] != [title for title, _ in entries]:
                self.profile.clear()
                for title, name in entries:
                    self.profile.addItem(title, None if name == "trial?" else name)
            at = len(entries) - 1 if model.is_trial and not used else self.profile.findData(used)
            self.profile.setCurrentIndex(max(0, at))
        self.profile.setToolTip(as_tip(self.profile.currentText()))

    def _show_kept(self) -> None:
        model = self._viewmodel
        with QSignalBlocker(self.query_set):
            self.query_set.clear()
            for name in model.query_sets:
                self.query_set.addItem(name, name)
            self.query_set.setCurrentIndex(self.query_set.findData(model.query_set))
        self.query_set.setToolTip(as_tip(model.query_set))
        has_sets = bool(model.query_sets)
        self.query_set.setVisible(has_sets)
        self.run.setVisible(has_sets)
        self.set_note.setText(model.set_sentence)
        self._show_profile()

    def _show_report(self) -> None:
        model, report = self._viewmodel, self._viewmodel.report
        self.run.setEnabled(not model.is_running)
        self.run.setText(tr("Running…") if model.is_running else tr("Run"))
        for widget in (self.metrics, self.run_note, self.outcomes):
            widget.setVisible(report is not None)
        if report is not None:
            self.metrics.show_report(report)
            self.run_note.setText(report.sentence)
            QTimer.singleShot(0, self, self._show_metrics)

    def _show_metrics(self) -> None:
        """What was just found out comes into view."""
        if self.metrics.isVisible():
            self._area.ensureWidgetVisible(self.outcomes, 0, 24)
            self._area.ensureWidgetVisible(self.metrics, 0, 24)
