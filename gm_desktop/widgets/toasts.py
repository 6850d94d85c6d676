"""Toasts: short messages in the rail's column, with at most one button, gone after a while."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import SPACE, Theme
from gm_desktop.widgets.basics import Picture, icon_button, push_button, text_label

SHOWN_MS = 6_000
AT_MOST = 3
_MARGINS = (10, 6, 6, 8)
_AIR = 4
_SPARE = 8  # a word is broken before it is just as wide as the column
_WORD = re.compile(r"\S+")
_PLACES = re.compile(r"(?<=\S)(?=[\w/\\.:@-])")  # never before a mark that belongs to the letter before it
_SOFT_BREAK = "\u200b"
_ICONS = {
    "info": ("info", "info"),
    "success": ("circle-check", "success"),
    "warning": ("triangle-alert", "warning"),
    "error": ("circle-alert", "danger"),
}


class Toast(QFrame):
    """One message, its text below its mark. It stays while the pointer is over it."""

    dismissed = Signal(object)

    def __init__(
        self,
        theme: Theme,
        text: str,
        *,
        level: str,
        action: tuple[str, Callable[[], None]] | None,
        lasting: bool,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.text = text
        self.setProperty("kind", "toast")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._label = text_label(text, wrap=True)
        self._label.setAccessibleName(text)
        self.button = None if action is None else push_button(action[0], "link", self._runner(action[1]))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(*_MARGINS)
        self._grid.setSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(Picture(theme, *_ICONS[level]), 0, 0)
        self._grid.addWidget(icon_button(theme, "x", tr("Dismiss"), self.dismiss), 0, 2)
        self._grid.addWidget(self._label, 1, 0, 1, 3)
        if self.button is not None:
            self._grid.addWidget(self.button, 2, 0, 1, 3, Qt.AlignmentFlag.AlignLeft)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.dismiss)
        if not lasting:
            self._timer.start()
        self.is_lasting = lasting

    def fit(self, width: int) -> int:
        """Takes `width` pixels and the height that its text needs there, which is returned."""
        room = width - _MARGINS[0] - _MARGINS[2] - _SPARE
        metrics = self._label.fontMetrics()

        def broken(word: re.Match[str]) -> str:
            return word[0] if metrics.horizontalAdvance(word[0]) <= room else _PLACES.sub(_SOFT_BREAK, word[0])

        self._label.setText(_WORD.sub(broken, self.text))
        height = max(1, self._grid.totalHeightForWidth(width))
        self.setFixedSize(width, height)
        return height

    def dismiss(self) -> None:
        """Takes the toast away."""
        self._timer.stop()
        self.hide()
        self.dismissed.emit(self)
        self.deleteLater()

    def event(self, event: QEvent) -> bool:
        """Waits while the pointer is over it."""
        if event.type() == QEvent.Type.Enter:
            self._timer.stop()
        elif event.type() == QEvent.Type.Leave and not self.is_lasting:
            self._timer.start()
        return super().event(event)

    def _runner(self, run: Callable[[], None]) -> Callable[[], None]:
        def act() -> None:
            self.dismiss()
            run()

        return act


class ToastStack(QWidget):
    """Up to three toasts, newest lowest, at the lower end of `gap`, the place of the rail where nothing else is.

    They are as wide as the gap, whatever they say, so that no row of a page is ever covered. Where they have no room in
    it, those that may go make room for the newest; in a small window they stand over the entries above.
    """

    def __init__(self, theme: Theme, parent: QWidget, *, gap: Callable[[], QRect]) -> None:
        super().__init__(parent)
        self._theme, self._gap = theme, gap
        self._toasts: list[Toast] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(SPACE)
        self.hide()

    def show_toast(
        self, text: str, *, level: str, action: tuple[str, Callable[[], None]] | None = None, lasting: bool = False
    ) -> Toast:
        """Adds a toast; the oldest gives way when there are too many."""
        for toast in list(self._toasts[: max(0, len(self._toasts) - AT_MOST + 1)]):
            toast.dismiss()
        toast = Toast(self._theme, text, level=level, action=action, lasting=lasting, parent=self)
        self._toasts.append(toast)
        toast.dismissed.connect(self._forget)
        self._layout.addWidget(toast)
        toast.show()
        self.place()
        return toast

    def withdraw(self, text: str) -> None:
        """Takes the toasts away that say `text`."""
        for toast in [each for each in self._toasts if each.text == text]:
            toast.dismiss()

    def clear(self) -> None:
        """Takes every toast away."""
        for toast in list(self._toasts):
            toast.dismiss()

    def texts(self) -> tuple[str, ...]:
        """What is being said, oldest first."""
        return tuple(toast.text for toast in self._toasts if toast.isVisibleTo(self))

    def place(self) -> None:
        """Puts the toasts where the gap is now."""
        if not self._toasts:
            self.hide()
            return
        gap = self._gap().adjusted(0, 0, 0, -_AIR)
        height = _height_in(gap.width(), self._toasts)
        older = [toast for toast in self._toasts[:-1] if not toast.is_lasting]
        if older and height > gap.height() >= _height_in(gap.width(), self._toasts[-1:]):
            older[0].dismiss()  # which places the others
            return
        self._layout.activate()
        self.setGeometry(gap.x(), max(0, gap.bottom() + 1 - height), gap.width(), height)
        self.show()
        self.raise_()

    def _forget(self, toast: Toast) -> None:
        if toast in self._toasts:
            self._toasts.remove(toast)
            self._layout.removeWidget(toast)
            self.place()


def _height_in(width: int, toasts: Sequence[Toast]) -> int:
    """How high they are in a column of `width` pixels, where they stand afterwards."""
    return sum(toast.fit(width) + SPACE for toast in toasts) - SPACE
