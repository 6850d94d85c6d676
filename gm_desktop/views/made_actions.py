"""The `QAction`s that the window made of a page's specs: context menus show the same ones."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget


def made_actions(owner: QWidget, known: str) -> dict[str, QAction]:
    """The actions by id, found at the nearest parent of `owner` that has the one called `known`."""
    widget: QWidget | None = owner
    while widget is not None:
        found = {action.objectName(): action for action in widget.actions()}
        if known in found:
            return found
        widget = widget.parentWidget()
    return {}


def fill_menu(menu: QMenu, owner: QWidget, names: str) -> None:
    """Adds actions by id; `|` is a separator, and what the window did not make is left out."""
    wanted = names.split()
    made = made_actions(owner, wanted[0])
    for name in wanted:
        if name == "|":
            menu.addSeparator()
        elif name in made:
            menu.addAction(made[name])
