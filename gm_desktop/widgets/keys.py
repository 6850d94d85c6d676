"""Keys that belong to a widget, even where the page around it has an action on the same key."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

_OWN = frozenset((Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down))


class _KeepsKeys(QObject):
    """Claims arrow keys and letters before the page's shortcuts see them."""

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Accepts the question whether the widget wants the key."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            is_plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
            if is_plain and (event.key() in _OWN or event.text().isalnum()):
                event.accept()
                return True
        return False


def keep_keys(*widgets: QWidget) -> None:
    """Arrow keys and letters go to these widgets while they have the focus (boxes to choose from, tabs, lists)."""
    for widget in widgets:
        widget.installEventFilter(_KeepsKeys(widget))
