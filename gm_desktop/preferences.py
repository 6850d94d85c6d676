"""What the program remembers between starts, in one INI file."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from gm_desktop.engine_choices import EngineChoices, choices_from
from gm_desktop.theme import Mode

RECENT_STORES = 6


class Preferences:
    """Typed access to `preferences.ini` in a given directory. A value that makes no sense is as good as absent."""

    def __init__(self, directory: Path) -> None:
        self._settings = QSettings(str(directory / "preferences.ini"), QSettings.Format.IniFormat)

    @property
    def theme(self) -> Mode:
        """`system`, `light` or `dark`."""
        value = self._text("theme")
        return "light" if value == "light" else "dark" if value == "dark" else "system"

    @theme.setter
    def theme(self, mode: Mode) -> None:
        self._settings.setValue("theme", mode)

    @property
    def language(self) -> str:
        """The language that the program speaks; empty: the system's."""
        return self._text("language")

    @language.setter
    def language(self, language: str) -> None:
        self._settings.setValue("language", language)

    @property
    def page(self) -> str:
        """The page that was open last."""
        return self._text("page")

    @page.setter
    def page(self, page_id: str) -> None:
        self._settings.setValue("page", page_id)

    @property
    def tour_seen(self) -> bool:
        """Whether the tour was shown once; it does not come by itself then."""
        return self._text("tour") == "seen"

    def remember_tour(self) -> None:
        """The tour was shown; written at once, so that it never comes again however the program ends."""
        self._settings.setValue("tour", "seen")
        self.save()

    @property
    def geometry(self) -> QByteArray | None:
        """The window's place and size."""
        return self._bytes("window/geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._settings.setValue("window/geometry", value)

    @property
    def inspector_width(self) -> int:
        """Width of the inspector in pixels; 0 while it is closed."""
        text = self._text("window/inspector")
        return int(text) if text.isdecimal() else 320

    @inspector_width.setter
    def inspector_width(self, width: int) -> None:
        self._settings.setValue("window/inspector", str(width))

    @property
    def recent_stores(self) -> tuple[Path, ...]:
        """Stores opened before, newest first."""
        return tuple(Path(item) for item in _json_list(self._text("stores/recent")))

    def remember_store(self, data_dir: Path) -> None:
        """Puts a store at the top of the recent ones."""
        others = [str(path) for path in self.recent_stores if path != data_dir]
        self._settings.setValue("stores/recent", json.dumps([str(data_dir), *others][:RECENT_STORES]))

    @property
    def vault(self) -> str:
        """The vault published to last."""
        return self._text("publish/vault")

    @vault.setter
    def vault(self, path: str) -> None:
        self._settings.setValue("publish/vault", path)

    @property
    def vault_folder(self) -> str:
        """The folder inside the vault."""
        return self._text("publish/folder") or "Memory"

    @vault_folder.setter
    def vault_folder(self, folder: str) -> None:
        self._settings.setValue("publish/folder", folder)

    @property
    def engine(self) -> EngineChoices:
        """The models and the upkeep that the person chose."""
        try:
            return choices_from(json.loads(self._text("engine") or "{}"))
        except ValueError:
            return EngineChoices()

    @engine.setter
    def engine(self, choices: EngineChoices) -> None:
        self._settings.setValue("engine", json.dumps(choices.as_json()))

    def page_state(self, page_id: str) -> dict[str, str]:
        """What a page asked to remember."""
        try:
            value = json.loads(self._text(f"pages/{page_id}") or "{}")
        except ValueError:
            return {}
        return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else {}

    def set_page_state(self, page_id: str, state: dict[str, str]) -> None:
        """Keeps what a page wants to remember."""
        self._settings.setValue(f"pages/{page_id}", json.dumps(state))

    def save(self) -> None:
        """Writes the file now."""
        self._settings.sync()

    def _text(self, key: str) -> str:
        value = self._settings.value(key, "")
        return value if isinstance(value, str) else ""

    def _bytes(self, key: str) -> QByteArray | None:
        value = self._settings.value(key)
        return value if isinstance(value, QByteArray) else None


def _json_list(text: str) -> list[str]:
    try:
        value = json.loads(text or "[]")
    except ValueError:
        return []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
