"""What the doctor found, each finding with its repair."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gm_desktop.i18n import tr, tr_count
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.health import Examined, ExamineFailed, Examining, Health, HealthLine
from gm_desktop.widgets.basics import Picture, push_button, row, text_label

_ICONS = {"sound": "circle-check", "notice": "circle-alert", "broken": "triangle-alert"}


class HealthPanel(QFrame):
    """Worst first; what is sound is one line until somebody wants to see it."""

    def __init__(self, health: Health, theme: Theme) -> None:
        super().__init__()
        self._health, self._theme = health, theme
        self._shows_sound = False
        self.setProperty("kind", "card")
        self.summary = text_label("", "small")
        self.look = push_button(tr("Examine now"), "", health.examine)
        self.sound = push_button("", "link", self._toggle_sound)
        self._rows: list[QWidget] = []
        self._lines = QVBoxLayout()
        self._lines.setSpacing(0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 14, 18, 16)
        layout.setSpacing(SPACE)
        layout.addLayout(row(text_label(tr("Health"), "strong"), self.summary, 1, self.look, spacing=12))
        layout.addLayout(self._lines)
        layout.addWidget(self.sound, 0, Qt.AlignmentFlag.AlignLeft)
        health.changed.connect(self._show)
        self._show()

    @property
    def repairs(self) -> dict[str, QPushButton]:
        """The repair buttons by check."""
        buttons = [each for line in self._rows for each in line.findChildren(QPushButton)]
        return {str(each.property("check")): each for each in buttons}

    def _toggle_sound(self) -> None:
        self._shows_sound = not self._shows_sound
        self._show()

    def _show(self) -> None:
        state = self._health.state
        self.look.setEnabled(not isinstance(state, Examining))
        self.look.setText(tr("Examine again") if isinstance(state, Examined) else tr("Examine now"))
        if isinstance(state, Examining):
            self.summary.setText(tr("Examining the store…"))
        elif isinstance(state, ExamineFailed):
            self.summary.setText(state.message)
        elif isinstance(state, Examined):
            self.summary.setText(state.summary)
        else:
            self.summary.setText(tr("Not examined yet: the doctor compares facts, journal, indexes and backups."))
        if not isinstance(state, Examining):  # findings stay while the next ones are on their way
            self._show_lines(state.lines if isinstance(state, Examined) else ())

    def _show_lines(self, lines: tuple[HealthLine, ...]) -> None:
        for old in self._rows:
            self._lines.removeWidget(old)
            old.hide()
            old.deleteLater()
        shown = [line for line in lines if self._shows_sound or line.verdict != "sound"]
        self._rows = [self._row(line) for line in shown]
        for each in self._rows:
            self._lines.addWidget(each)
        sound = sum(line.verdict == "sound" for line in lines)
        self.sound.setVisible(sound > 0)
        more = tr_count("Show {count} check that found nothing", "Show {count} checks that found nothing", sound)
        self.sound.setText(tr("Show findings only") if self._shows_sound else more)

    def _row(self, line: HealthLine) -> QWidget:
        made = QWidget()
        inner = QHBoxLayout(made)
        inner.setContentsMargins(0, 8, 0, 8)
        inner.setSpacing(12)
        inner.addWidget(Picture(self._theme, _ICONS[line.verdict], line.tone), 0, Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(text_label(line.title, "strong"))
        detail = text_label(line.text, "muted", wrap=True, selectable=True)
        detail.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        texts.addWidget(detail)
        inner.addLayout(texts, 1)
        if line.repair:
            repair = push_button(tr("Repair"), "", lambda: self._health.repair(line.check))
            repair.setToolTip(as_tip(line.repair))
            repair.setAccessibleName(tr("Repair: {check}", check=line.title))
            repair.setProperty("check", line.check)
            repair.setEnabled(self._health.can_repair)
            inner.addWidget(repair, 0, Qt.AlignmentFlag.AlignVCenter)
        return made
