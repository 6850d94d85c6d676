"""Which keys a widget gets where the page around it has actions on the same keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QTabBar, QWidget

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


def begin_when_clicked(bar: QTabBar, begin: Callable[[], None]) -> None:
    """A click on a tab puts the keyboard where work on that tab begins, as opening it by its key does."""

    def on_clicked(at: int) -> None:
        if at >= 0:  # not beside the tabs
            QTimer.singleShot(0, bar, begin)  # the tab opens after this signal

    bar.tabBarClicked.connect(on_clicked)


class _DropsLetters(QObject):
    """Swallows letters that are deeds of the page; one that can run is taken before a list ever sees it."""

    def __init__(self, parent: QObject, letters: frozenset[str]) -> None:
        super().__init__(parent)
        self._letters = letters

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Whether the key is one of them."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return event.text().upper() in self._letters
        return False


def drop_letters(page: QWidget, shortcuts: Iterable[str]) -> None:
    """Keeps the lists of a page from looking for a row that begins with the letter of a deed that can't run now.

    Else a key that comes a moment too early selects another row, and the next one does its deed to that.
    """
    letters = frozenset(shortcut.upper() for shortcut in shortcuts if len(shortcut) == 1)
    for view in page.findChildren(QAbstractItemView):
        if view.findChild(_KeepsKeys) is None:
            view.installEventFilter(_DropsLetters(view, letters))
