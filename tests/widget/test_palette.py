"""The command palette: what it finds, and how it is driven by keys."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.palette import PaletteEntry, find
from gm_desktop.theme import Theme
from gm_desktop.widgets.command_palette import CommandPalette


def _entry(title: str, ran: list[str] | None = None, words: str = "") -> PaletteEntry:
    runs = ran if ran is not None else []
    return PaletteEntry(title, "Go", "", "", lambda: runs.append(title), words)


NAMES = ("New store…", "Open store…", "Import…", "Dark theme", "Light theme", "Publish", "sales-closer", "Undo")


def _titles(query: str) -> list[str]:
    return [entry.title for entry in find(query, [_entry(name) for name in NAMES])]


def test_nothing_typed_lists_everything_in_order() -> None:
    assert _titles("") == list(NAMES)
    assert _titles("   ") == list(NAMES)


def test_a_beginning_is_found_first() -> None:
    assert _titles("dark")[0] == "Dark theme"
    assert _titles("UNDO")[0] == "Undo"
    assert _titles("sales")[0] == "sales-closer"


def test_a_slip_of_the_finger_still_finds() -> None:
    assert _titles("pubish")[0] == "Publish"
    assert _titles("ligth theme")[0] == "Light theme"


def test_unseen_words_find_too() -> None:
    entries = [_entry("Publish", words="obsidian export"), _entry("Undo")]
    assert [entry.title for entry in find("obsidian", entries)] == ["Publish"]


def test_what_resembles_nothing_finds_nothing() -> None:
    assert _titles("zzzzqqqq") == []


def test_an_action_that_cannot_run_now_is_not_replaced_by_one_that_merely_resembles_it() -> None:
    assert find("Pin", [_entry("Open the demo"), _entry("Find an entity")]) == ()


def test_many_agents_are_all_searched() -> None:
    entries = [_entry(f"agent-{number}") for number in range(5_000)]
    assert find("agent-4999", entries)[0].title == "agent-4999"


def test_keys_choose_run_and_give_the_focus_back(theme: Theme, qtbot: QtBot) -> None:
    ran: list[str] = []
    window, field = QWidget(), QLineEdit()
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(field)
    window.resize(800, 600)
    palette = CommandPalette(theme, window, lambda query: find(query, [_entry(name, ran) for name in NAMES]))
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    field.setFocus()
    palette.open()
    line = palette.findChild(QLineEdit)
    assert isinstance(line, QLineEdit)
    qtbot.waitUntil(line.hasFocus)
    QTest.keyClicks(line, "theme")
    assert set(palette.titles()[:2]) == {"Dark theme", "Light theme"}
    second = palette.titles()[1]
    QTest.keyClick(line, Qt.Key.Key_Down)
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert ran == [second]
    assert not palette.isVisible()
    qtbot.waitUntil(field.hasFocus)
    palette.open()
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    assert len(ran) == 1


def test_a_whole_title_comes_before_a_longer_one_that_begins_with_it() -> None:
    entries = [_entry("Restore a backup…", words="zip copy"), _entry("Restore", words="bring back")]
    assert [entry.title for entry in find("restore", entries)] == ["Restore", "Restore a backup…"]


def test_what_is_chosen_stays_chosen_when_the_palette_fills_although_another_group_has_its_title(
    theme: Theme, qtbot: QtBot
) -> None:
    ran: list[str] = []
    entries = [PaletteEntry("ops", group, "", "", partial(ran.append, group), "") for group in ("Memory", "Agents")]
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(800, 600)
    window.show()
    palette = CommandPalette(theme, window, lambda query: find(query, entries))
    palette.open()
    line = palette.findChild(QLineEdit)
    assert isinstance(line, QLineEdit)
    QTest.keyClick(line, Qt.Key.Key_Down)
    entries.insert(0, _entry("Undo"))
    palette.look_again()
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert ran == ["Agents"]
