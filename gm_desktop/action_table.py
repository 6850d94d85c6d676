"""Turns action specs into `QAction`s, once, and keeps them enabled exactly when they can run."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from gm_desktop.actions import ActionSpec, KeyLine
from gm_desktop.i18n import tr
from gm_desktop.theme import Theme


class ActionTable(QObject):
    """All actions of the window by id."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._specs: dict[str, ActionSpec] = {}
        self._places: dict[str, int] = {}
        self._groups: dict[str, str] = {}
        self._actions: dict[str, QAction] = {}
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.refresh)

    def add(
        self,
        owner: QWidget,
        specs: Iterable[ActionSpec],
        *,
        everywhere: bool = False,
        place: int = 0,
        group: str = "",
    ) -> None:
        """Installs `specs` on `owner`. Shortcuts work while the focus is inside it, or `everywhere` in the window.

        Lists and menus name them by `place`, then in the order of installation; the sheet of shortcuts puts them under
        `group`, or under the menu they stand in.
        """
        for spec in specs:
            if spec.id in self._specs:
                raise ValueError(f"two actions are called {spec.id}")
            action = self._make(owner, spec)
            context = Qt.ShortcutContext
            action.setShortcutContext(context.WindowShortcut if everywhere else context.WidgetWithChildrenShortcut)
            self._specs[spec.id], self._actions[spec.id] = spec, action
            self._places[spec.id] = place
            self._groups[spec.id] = group or (tr(spec.menu) if spec.menu else "")
            owner.addAction(action)
        self._specs = dict(sorted(self._specs.items(), key=lambda item: self._places[item[0]]))
        self.changed.emit()

    def action(self, action_id: str) -> QAction:
        """The action to put into a menu or on a button; `KeyError` for an unknown id."""
        return self._actions[action_id]

    def spec(self, action_id: str) -> ActionSpec:
        """The data behind an action."""
        return self._specs[action_id]

    def keys(self, action_id: str) -> str:
        """The shortcut as this platform writes it; empty when there is none."""
        return _shown(self._specs[action_id].shortcut)

    def with_keys(self) -> tuple[KeyLine, ...]:
        """Every action that has keys, by place."""
        found = [spec for spec in self._specs.values() if spec.shortcut]
        return tuple(KeyLine(self._groups[spec.id], spec.title.rstrip("…"), self.keys(spec.id)) for spec in found)

    def specs(self) -> tuple[ActionSpec, ...]:
        """Every action, by place."""
        return tuple(self._specs.values())

    def in_menu(self, menu: str) -> tuple[QAction, ...]:
        """The actions that stand in `menu`."""
        return tuple(self._actions[spec.id] for spec in self._specs.values() if spec.menu == menu)

    def refresh(self) -> None:
        """Asks every action again whether it can run. Cheap; call it after anything changed."""
        for action_id, spec in self._specs.items():
            action = self._actions[action_id]
            action.setEnabled(spec.when())
            if spec.checked is not None:
                action.setChecked(spec.checked())

    def refresh_soon(self) -> None:
        """Refreshes once when the event loop is next idle, however often it is called before."""
        self._soon.start()

    def run(self, action_id: str) -> None:
        """Runs an action if it can run now."""
        if self._specs[action_id].when():
            self._specs[action_id].run()
            self.refresh()

    def _make(self, owner: QWidget, spec: ActionSpec) -> QAction:
        action = QAction(spec.title, owner)
        action.setObjectName(spec.id)
        action.setEnabled(spec.when())
        if spec.checked is not None:
            action.setCheckable(True)
            action.setChecked(spec.checked())
        if spec.shortcut:
            both = dict.fromkeys((_as_enter(spec.shortcut), spec.shortcut))
            action.setShortcuts([QKeySequence(each) for each in both])
            action.setToolTip(f"{spec.title} ({_shown(spec.shortcut)})")
        if spec.icon:
            self._theme.bind_icon(action, spec.icon)
        action.triggered.connect(lambda: self.run(spec.id))
        return action


def _as_enter(shortcut: str) -> str:
    """The key that starts a line is Enter to a person; Qt calls it Return, and means the keypad by Enter."""
    return shortcut.replace("Return", "Enter")


def _shown(shortcut: str) -> str:
    return QKeySequence(_as_enter(shortcut)).toString(QKeySequence.SequenceFormat.NativeText)
