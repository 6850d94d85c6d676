"""The Settings page, built together: its models, its sections, and the actions that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, SignalInstance

from gm_desktop.actions import ActionSpec, KeyLine, always
from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.notices import Notices
from gm_desktop.preferences import Preferences
from gm_desktop.store_flow import StoreFlow
from gm_desktop.store_opener import StoreOpener
from gm_desktop.theme import Mode, Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.settings_blocked import BlockedSettings
from gm_desktop.viewmodels.settings_dictionary import DictionarySettings
from gm_desktop.viewmodels.settings_keeping import KeepingSettings
from gm_desktop.viewmodels.settings_models import ModelSettings
from gm_desktop.viewmodels.settings_store import RankingSettings
from gm_desktop.viewmodels.settings_wiring import WiringSettings
from gm_engine.clock import Clock

if TYPE_CHECKING:
    from gm_desktop.views.settings import SettingsPage
    from gm_desktop.views.settings_parts import Section


@dataclass(frozen=True, slots=True)
class Doors:
    """Where the settings lead, and what they need of the window."""

    set_theme: Callable[[Mode], None]
    show_page: Callable[[str], None]
    run_action: Callable[[str], None]
    keys: Callable[[], Sequence[KeyLine]]


class SettingsDesk:
    """The models live as long as the program; the page shows them."""

    def __init__(
        self,
        host: EngineHost,
        undo: UndoController,
        notices: Notices,
        *,
        clock: Clock,
        preferences: Preferences,
        flow: StoreFlow,
        parent: QObject,
    ) -> None:
        self._host, self._flow, self._preferences = host, flow, preferences
        self.models = ModelSettings(host, notices, preferences, parent=parent)
        self.ranking = RankingSettings(host, undo, notices, parent)
        self.blocked = BlockedSettings(host, undo, notices, parent)
        self.dictionary = DictionarySettings(host, undo, notices, parent)
        self.keeping = KeepingSettings(host, undo, notices, clock=clock, parent=parent)
        self.wiring = WiringSettings(host, notices, clock=clock, parent=parent)
        self.models.reopen_wanted.connect(self._reopen)
        self.keeping.open_wanted.connect(flow.open_existing)

    def page(self, theme: Theme, doors: Doors) -> SettingsPage:
        """The page. Another section is another line here."""
        from gm_desktop.views.settings import SettingsPage
        from gm_desktop.views.settings_keeping import KeepingSection
        from gm_desktop.views.settings_models import EmbeddingSection, LanguageSection
        from gm_desktop.views.settings_program import AppearanceSection, ShortcutsSection, UpkeepSection
        from gm_desktop.views.settings_store import BlockedSection, DictionarySection, RankingSection
        from gm_desktop.views.settings_wiring import WiringSection

        ranking, keeping = RankingSection(self.ranking, theme), KeepingSection(self.keeping, theme)
        ranking.lab_wanted.connect(lambda: self._open_lab(doors))
        keeping.examine_wanted.connect(lambda: self._examine(doors))
        sections: tuple[Section, ...] = (
            AppearanceSection(
                theme, doors.set_theme, language=self._preferences.language, set_language=self._set_language
            ),
            EmbeddingSection(self.models, theme),
            LanguageSection(self.models, theme),
            WiringSection(self.wiring, theme),
            ranking,
            UpkeepSection(self.models),
            BlockedSection(self.blocked, theme),
            DictionarySection(self.dictionary, theme),
            keeping,
            ShortcutsSection(theme, doors.keys, lambda: doors.run_action("shortcuts.show")),
        )
        self._page, self._keeping_section, self._doors = SettingsPage(sections, theme), keeping, doors
        return self._page

    def signals(self) -> tuple[SignalInstance, ...]:
        """What changes what can be done."""
        return (self.keeping.running_changed, self.keeping.changed)

    def specs(self) -> tuple[ActionSpec, ...]:
        """The actions of the menu Store, one for each section, and what can be done in them."""
        keeping, section = self.keeping, self._keeping_section
        can_back_up, can_write = lambda: keeping.can_back_up, lambda: keeping.can_write
        return (
            ActionSpec(
                "store.backup", tr("Back up now"), "archive", "", can_back_up, keeping.back_up, "Store", "save copy zip"
            ),
            ActionSpec(
                "store.backup_to",
                tr("Back up to a folder…"),
                "folder-open",
                "",
                can_back_up,
                section.back_up_to_folder,
                "Store",
                "save copy zip",
            ),
            ActionSpec(
                "store.restore",
                tr("Restore a backup…"),
                "archive-restore",
                "",
                lambda: not keeping.is_running,
                section.restore_from_file,
                "Store",
                "zip copy",
            ),
            ActionSpec(
                "store.purge",
                tr("Remove a text for good…"),
                "trash",
                "",
                can_write,
                section.open_purge,
                "Store",
                "purge delete forget privacy",
            ),
            *(self._opener_of(each) for each in self._page.sections.values()),
            *(spec for each in self._page.sections.values() for spec in each.specs()),
        )

    def _opener_of(self, section: Section) -> ActionSpec:
        def run() -> None:
            self._doors.show_page("settings")
            self._page.open_section(section.section_id)

        title = tr("Settings: {section}", section=tr(section.title))
        return ActionSpec(f"settings.{section.section_id}", title, section.icon_name, "", always, run)

    def _reopen(self) -> None:
        if isinstance(self._host.opener, StoreOpener):
            self._host.opener.choices = self.models.choices
        self._flow.reopen()

    def _set_language(self, language: str) -> None:
        self._preferences.language = language

    @staticmethod
    def _open_lab(doors: Doors) -> None:
        doors.show_page("search")
        doors.run_action("lab.show")

    @staticmethod
    def _examine(doors: Doors) -> None:
        doors.show_page("overview")
        doors.run_action("store.examine")
