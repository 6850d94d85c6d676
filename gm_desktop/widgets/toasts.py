"""Toasts: short messages low in the window, where lines begin, with at most one button, gone after a while."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QGraphicsDropShadowEffect, QHBoxLayout, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.theme import SPACE, Theme
from gm_desktop.widgets.basics import Picture, icon_button, push_button, text_label

SHOWN_MS = 6_000
AT_MOST = 3
MAX_WIDTH = 460
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
        self._theme = theme
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 8, 8, 8)
        layout.setSpacing(10)
        label = text_label(text, wrap=True)
        wide = QFontMetrics(label.font()).horizontalAdvance(text) + 6
        label.setMinimumWidth(min(wide, 300))
        label.setMaximumWidth(300)
        layout.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(label, 1)
        if action is not None:
            self.button = push_button(action[0], "link", self._runner(action[1]))
            layout.addWidget(self.button)
        layout.addWidget(icon_button(theme, "x", tr("Dismiss"), self.dismiss))
        self._lift()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(self.dismiss)
        if not lasting:
            self._timer.start()
        self._lasting = lasting

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
        elif event.type() == QEvent.Type.Leave and not self._lasting:
            self._timer.start()
        return super().event(event)

    def _runner(self, run: Callable[[], None]) -> Callable[[], None]:
        def act() -> None:
            self.dismiss()
            run()

        return act

    def _lift(self) -> None:
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(24)
        shadow.setOffset(0, 6)
        shadow.setColor(self._theme.color("shadow"))
        self.setGraphicsEffect(shadow)


class ToastStack(QWidget):
    """Up to three toasts where its parent's last lines begin, newest lowest: over no button that decides on a card.

    They keep to the height of `gap`, which is empty, while there is room in it; else to the bottom.
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
        parent = self._over
        self._layout.activate()
        size = self._layout.sizeHint().boundedTo(QSize(MAX_WIDTH + 48, parent.height()))
        gap = self._gap()
        bottom = gap.bottom() + 1 if gap.height() >= size.height() else parent.height() - self._bottom_px
        start = parent.width() - size.width() if self.isRightToLeft() else 0
        self.setGeometry(start, bottom - size.height(), size.width(), size.height())
        self.show()
        self.raise_()
