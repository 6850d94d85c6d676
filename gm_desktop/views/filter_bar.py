"""Filter chips above the fact table: each says in words what it lets through."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QButtonGroup, QLineEdit, QMenu, QPushButton, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import MARGIN, SPACE, Theme
from gm_desktop.viewmodels.fact_filter import CHANNELS
from gm_desktop.viewmodels.fact_words import channel_title, confidence_title, extras_title
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.widgets.basics import add_glass, push_button
from gm_desktop.widgets.flow_layout import FlowLayout

_STATUSES = ("live", "retired", "all")
_LABELS = ("verified", "inferred", "unverified")
_CHANNELS = (None, *CHANNELS)
_DAYS = (None, 1, 7, 30, 365)


class FilterBar(QWidget):
    """Text field and chips; it reads and writes the view-model's filter."""

    def __init__(self, viewmodel: MemoryViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_filter()

    def _make_widgets(self) -> None:
        self.text = QLineEdit()
        self.text.setPlaceholderText(tr("Find in facts"))
        self.text.setAccessibleName(tr("Find in facts"))
        self.text.setClearButtonEnabled(True)
        self.text.setMaxLength(500)
        add_glass(self.text, self._theme)
        self._status = QButtonGroup(self)
        titles = (tr("Live"), tr("Retired"), tr("All"))
        self.status_chips = {each: push_button(title, "chip") for each, title in zip(_STATUSES, titles, strict=True)}
        for chip in self.status_chips.values():
            self._status.addButton(chip)
        self.pinned = push_button(tr("Pinned"), "chip")
        self.confidence = push_button("", "chip")
        self.origin = push_button("", "chip")
        self.dates = push_button("", "chip")
        self.extras = push_button("", "chip", self._drop_extras)
        self.clear = push_button(
            tr("Clear"), "link", lambda: self._viewmodel.set_filter(self._viewmodel.filter.cleared())
        )
        self._confidence_menu = self._menu(self.confidence)
        self._origin_menu = self._menu(self.origin)
        self._dates_menu = self._menu(self.dates)
        self._label_actions = {each: self._checkable(self._confidence_menu, confidence_title(each)) for each in _LABELS}
        self._channel_actions = {each: self._checkable(self._origin_menu, _channel_text(each)) for each in _CHANNELS}
        self._day_actions = {each: self._checkable(self._dates_menu, _days_text(each)) for each in _DAYS}
        for menu in (self._origin_menu, self._dates_menu):
            group = QActionGroup(menu)
            for action in menu.actions():
                group.addAction(action)

    def _menu(self, chip: QPushButton) -> QMenu:
        menu = QMenu(chip)
        chip.setMenu(menu)
        return menu

    @staticmethod
    def _checkable(menu: QMenu, title: str) -> QAction:
        action = menu.addAction(title)
        action.setCheckable(True)
        return action

    def _lay_out(self) -> None:
        layout = FlowLayout(self, margins=(MARGIN, 0, MARGIN, 12), gap=SPACE)
        self.text.setMinimumWidth(190)
        layout.addWidget(self.text)
        for chip in self.status_chips.values():
            layout.addWidget(chip)
        for chip in (self.confidence, self.pinned, self.origin, self.dates, self.extras, self.clear):
            layout.addWidget(chip)

    def _wire(self) -> None:
        model = self._viewmodel
        self.text.textChanged.connect(lambda text: model.set_filter(replace(model.filter, text=text)))
        for status, chip in self.status_chips.items():
            chip.clicked.connect(lambda _on=False, status=status: model.set_filter(model.filter.with_status(status)))
        self.pinned.clicked.connect(lambda is_on: model.set_filter(replace(model.filter, pinned=is_on or None)))
        for label, action in self._label_actions.items():
            action.triggered.connect(
                lambda is_on, label=label: model.set_filter(model.filter.with_confidence(label, wanted=is_on))
            )
        for channel, action in self._channel_actions.items():
            action.triggered.connect(
                lambda _on=False, channel=channel: model.set_filter(model.filter.with_channel(channel))
            )
        for days, action in self._day_actions.items():
            action.triggered.connect(lambda _on=False, days=days: model.set_filter(replace(model.filter, days=days)))
        model.filter_changed.connect(self._show_filter)

    def _show_filter(self) -> None:
        wanted = self._viewmodel.filter
        with QSignalBlocker(self.text):
            if self.text.text() != wanted.text:
                self.text.setText(wanted.text)
        self.status_chips[wanted.status].setChecked(True)
        self.pinned.setChecked(bool(wanted.pinned))
        labels = [confidence_title(each) for each in _LABELS if each in wanted.confidence]
        self._say(self.confidence, ", ".join(labels) or tr("Confidence"), is_on=bool(labels))
        self._say(
            self.origin, _channel_text(wanted.channel) if wanted.channel else tr("Origin"), is_on=bool(wanted.channel)
        )
        self._say(self.dates, _days_text(wanted.days) if wanted.days else tr("Written"), is_on=bool(wanted.days))
        for label, action in self._label_actions.items():
            action.setChecked(label in wanted.confidence)
        for channel, action in self._channel_actions.items():
            action.setChecked(channel == wanted.channel)
        for days, action in self._day_actions.items():
            action.setChecked(days == wanted.days)
        extras = extras_title(wanted)
        self.extras.setVisible(bool(extras))
        self.extras.setText(f"{extras} ✕")
        self.extras.setAccessibleName(tr("{filter}, remove", filter=extras))
        self.extras.setChecked(True)
        self.clear.setVisible(wanted.narrows)

    def _drop_extras(self) -> None:
        self._viewmodel.set_filter(self._viewmodel.filter.without_extras())

    @staticmethod
    def _say(chip: QPushButton, title: str, *, is_on: bool) -> None:
        chip.setText(f"{title} ▾")
        chip.setAccessibleName(title)
        chip.setChecked(is_on)


def _channel_text(channel: str | None) -> str:
    return tr("Any origin") if channel is None else channel_title(channel)


def _days_text(days: int | None) -> str:
    if days is None:
        return tr("Any time")
    return tr("Last 24 hours") if days == 1 else tr("Last {days} days", days=days)
