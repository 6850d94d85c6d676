"""An action is data: menus, buttons, shortcuts and the palette read the same table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def always() -> bool:
    """The `when` of an action that is never switched off."""
    return True


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One thing a person can do.

    `id` is `noun.verb`; `icon` a file name in resources/icons; `shortcut` portable text as in `Ctrl+Shift+Z`, or empty;
    `menu` the menu it stands in (empty: palette, toolbar or context menu only); `words` more words to find it by.
    """

    id: str
    title: str
    icon: str = ""
    shortcut: str = ""
    when: Callable[[], bool] = always
    run: Callable[[], None] = lambda: None
    menu: str = ""
    words: str = ""
    checked: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line of the sheet of shortcuts: the menu or page it stands under, what it does, its keys as one reads them."""

    group: str
    title: str
    keys: str
