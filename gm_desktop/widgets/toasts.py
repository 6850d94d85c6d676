"""Toasts: short messages where the window is empty, with at most one button, gone after a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import SPACE, Theme
from gm_desktop.widgets.basics import Picture, icon_button, push_button, text_label

SHOWN_MS = 6_000
AT_MOST = 3
MAX_WIDTH = 460
_TEXT_WIDTH = 300
_ANY = 16_777_215
_AIR = 4
_ICONS = {
    "info": ("info", "info"),
    "success": ("circle-check", "success"),
    "warning": ("triangle-alert", "warning"),
    "error": ("circle-alert", "danger"),
}


class Toast(QFrame):
    """One message. It stays while the pointer is over it."""

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
        self._picture = Picture(theme, *_ICONS[level])
        self._label = text_label(text, wrap=True)
        self._label.setMaximumWidth(_TEXT_WIDTH)
        self._wide = min(QFontMetrics(self._label.font()).horizontalAdvance(text) + 6, _TEXT_WIDTH)
        self._close = icon_button(theme, "x", tr("Dismiss"), self.dismiss)
        self.button = None if action is None else push_button(action[0], "link", self._runner(action[1]))
        self._grid = QGridLayout(self)
        self._width: int | None = -1
        self.arrange(None)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.dismiss)
        if not lasting:
            self._timer.start()
        self.is_lasting = lasting

    def arrange(self, width: int | None) -> None:
        """In a column of `width` pixels the text stands below its mark, without one all stands in a line."""
        if width == self._width:
            return
        self._width = width
        grid, is_line = self._grid, width is None
        grid.setContentsMargins(14, 8, 8, 8) if is_line else grid.setContentsMargins(10, 6, 6, 8)
        grid.setSpacing(10 if is_line else 2)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._picture, 0, 0, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._close, 0, 3, Qt.AlignmentFlag.AlignVCenter)
        grid.setColumnMinimumWidth(1, self._wide if is_line else 0)  # a label keeps the hint of its own minimum
        if is_line:
            grid.addWidget(self._label, 0, 1)
        else:
            grid.addWidget(self._label, 1, 0, 1, 4)
        if self.button is not None and is_line:
            grid.addWidget(self.button, 0, 2)
        elif self.button is not None:
            grid.addWidget(self.button, 2, 0, 1, 4, Qt.AlignmentFlag.AlignLeft)
        if width is None:
            self.setMinimumSize(0, 0)
            self.setMaximumSize(_ANY, _ANY)
        else:
            self.setFixedSize(width, max(1, grid.totalHeightForWidth(width)))

    def height_in(self, width: int) -> int | None:
        """How high it is in a column of `width` pixels, where it stands afterwards; None when a word has no room."""
        self.arrange(width)
        return self.height() if self._grid.totalMinimumSize().width() <= width else None

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
    """Up to three toasts, newest lowest, in `gap`, a place of its parent where nothing else is.

    Those that may go make room for the newest there. What is too wide for it begins there, at least; in a small window
    it stands where the parent's last lines begin, over no button that decides on a card.
    """

    def __init__(self, theme: Theme, parent: QWidget, *, bottom_px: int, gap: Callable[[], QRect]) -> None:
        super().__init__(parent)
        self._theme, self._bottom_px, self._gap, self._over = theme, bottom_px, gap, parent
        self._toasts: list[Toast] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(24, 16, 24, 12)
        self._layout.setSpacing(SPACE)
        parent.installEventFilter(self)
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
        self._layout.addWidget(toast, 0, Qt.AlignmentFlag.AlignLeft)
        toast.show()
        self._place()
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

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follows its parent's size."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return super().eventFilter(watched, event)

    def _forget(self, toast: Toast) -> None:
        if toast in self._toasts:
            self._toasts.remove(toast)
            self._layout.removeWidget(toast)
            self._place()

    def _place(self) -> None:
        if not self._toasts:
            self.hide()
            return
        gap = self._gap().adjusted(0, 0, 0, -_AIR)
        if not _fit(self._toasts, gap) and _fit(self._toasts[-1:], gap):
            older = [toast for toast in self._toasts[:-1] if not toast.is_lasting]
            if older:
                older[0].dismiss()  # which places the others
                return
        if _fit(self._toasts, gap):
            self._layout.setContentsMargins(0, 0, 0, 0)
            self._layout.activate()
            height = self._layout.sizeHint().height()
            self.setGeometry(gap.x(), gap.bottom() + 1 - height, gap.width(), height)
        else:
            self._place_low(gap)
        self.show()
        self.raise_()

    def _place_low(self, gap: QRect) -> None:
        for toast in self._toasts:
            toast.arrange(None)
        parent = self._over
        self._layout.setContentsMargins(24, 16, 24, 12)
        self._layout.activate()
        size = self._layout.sizeHint().boundedTo(QSize(MAX_WIDTH + 48, parent.height()))
        start = parent.width() - size.width() if self.isRightToLeft() else 0
        bottom = gap.bottom() + 1 if gap.height() >= size.height() else parent.height() - self._bottom_px
        self.setGeometry(start, bottom - size.height(), size.width(), size.height())


def _fit(toasts: Sequence[Toast], gap: QRect) -> bool:
    """Whether they have room in a column; there they stand in one afterwards."""
    heights = [toast.height_in(gap.width()) for toast in toasts]
    return sum(height + SPACE for height in heights if height) - SPACE <= gap.height() and None not in heights
