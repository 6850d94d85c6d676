"""What can be done anywhere in the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gm_desktop.actions import ActionSpec, always
from gm_desktop.i18n import tr
from gm_desktop.theme import Mode


@dataclass(frozen=True, slots=True)
class Deeds:
    """What the shell does when an action runs; `app.py` fills it in."""

    new_store: Callable[[], None]
    open_store: Callable[[], None]
    open_demo: Callable[[], None]
    close_store: Callable[[], None]
    import_file: Callable[[], None]
    import_folder: Callable[[], None]
    close_window: Callable[[], None]
    undo: Callable[[], None]
    redo: Callable[[], None]
    can_undo: Callable[[], bool]
    can_redo: Callable[[], bool]
    open_palette: Callable[[], None]
    toggle_inspector: Callable[[], None]
    has_inspector: Callable[[], bool]
    uses_inspector: Callable[[], bool]
    set_theme: Callable[[Mode], None]
    theme_mode: Callable[[], Mode]
    show_page: Callable[[str], None]
    store_is_open: Callable[[], bool]
    can_write: Callable[[], bool]
    show_help: Callable[[], None]
    show_shortcuts: Callable[[], None]
    show_tour: Callable[[], None]
    show_log: Callable[[], None]


def shell_specs(deeds: Deeds) -> tuple[ActionSpec, ...]:
    """The window's own actions, in menu order."""
    is_open = deeds.store_is_open
    return (
        *_file_specs(deeds),
        ActionSpec("step.undo", tr("Undo"), "undo", "Ctrl+Z", deeds.can_undo, deeds.undo, "Edit"),
        ActionSpec("step.redo", tr("Redo"), "redo", "Ctrl+Shift+Z", deeds.can_redo, deeds.redo, "Edit"),
        ActionSpec(
            "palette.open", tr("Command palette…"), "command", "Ctrl+K", always, deeds.open_palette, "Go", "find search"
        ),
        ActionSpec(
            "inspector.toggle",
            tr("Inspector"),
            "panel-right",
            "Ctrl+I",
            deeds.uses_inspector,
            deeds.toggle_inspector,
            "View",
            "details side panel",
            deeds.has_inspector,
        ),
        *(_theme_spec(deeds, mode, title, icon) for mode, title, icon in _themes()),
        ActionSpec(
            "help.show",
            tr("Help for this page"),
            "circle-question-mark",
            "F1",
            always,
            deeds.show_help,
            "Help",
            "manual explain how",
        ),
        ActionSpec(
            "shortcuts.show",
            tr("Keyboard shortcuts"),
            "keyboard",
            "?",
            always,
            deeds.show_shortcuts,
            "Help",
            "keys help",
        ),
        ActionSpec(
            "tour.show",
            tr("Show the tour"),
            "route",
            "Shift+F1",
            is_open,
            deeds.show_tour,
            "Help",
            "introduction",
        ),
        ActionSpec("log.show", tr("Show log file"), "file-text", "", always, deeds.show_log, "Help", "crash report"),
    )


def _file_specs(deeds: Deeds) -> tuple[ActionSpec, ...]:
    """Ways into a store and out of it."""
    is_open = deeds.store_is_open
    return (
        ActionSpec("store.new", tr("New store…"), "plus", "Ctrl+Shift+N", always, deeds.new_store, "File"),
        ActionSpec("store.open", tr("Open store…"), "folder-open", "Ctrl+O", always, deeds.open_store, "File"),
        ActionSpec("store.demo", tr("Open the demo"), "sparkles", "", always, deeds.open_demo, "File"),
        ActionSpec(
            "store.import",
            tr("Import…"),
            "download",
            "Ctrl+Shift+I",
            deeds.can_write,
            deeds.import_file,
            "File",
            "gray.db memories.json mem0 csv bring in",
        ),
        ActionSpec(
            "store.import_folder",
            tr("Import a folder of notes…"),
            "folder-open",
            "",
            deeds.can_write,
            deeds.import_folder,
            "File",
            "markdown obsidian basic-memory bring in",
        ),
        ActionSpec("store.close", tr("Close store"), "x", "", is_open, deeds.close_store, "File", "first run start"),
        ActionSpec("window.close", tr("Quit"), "", "Ctrl+Q", always, deeds.close_window, "File", "exit close"),
    )


def page_specs(deeds: Deeds, pages: Sequence[tuple[str, str, str, str]]) -> tuple[ActionSpec, ...]:
    """One action per page: (id, title, icon, shortcut)."""
    return tuple(
        ActionSpec(
            f"page.{page_id}", title, icon, shortcut, deeds.store_is_open, _opener(deeds, page_id), "Go", "go to"
        )
        for page_id, title, icon, shortcut in pages
    )


def _themes() -> tuple[tuple[Mode, str, str], ...]:
    return (
        ("system", tr("Theme of the system"), "monitor"),
        ("light", tr("Light theme"), "sun"),
        ("dark", tr("Dark theme"), "moon"),
    )


def _theme_spec(deeds: Deeds, mode: Mode, title: str, icon: str) -> ActionSpec:
    return ActionSpec(
        f"theme.{mode}",
        title,
        icon,
        "",
        always,
        lambda: deeds.set_theme(mode),
        "View",
        "colours appearance",
        lambda: deeds.theme_mode() == mode,
    )


def _opener(deeds: Deeds, page_id: str) -> Callable[[], None]:
    return lambda: deeds.show_page(page_id)
