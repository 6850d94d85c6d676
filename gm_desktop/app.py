"""The composition root: builds every object by hand, once, and connects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QTabBar

from gm_desktop import crash
from gm_desktop.action_table import ActionTable
from gm_desktop.engine_host import EngineHost
from gm_desktop.glance import Glance
from gm_desktop.help_desk import HelpDesk
from gm_desktop.i18n import tr
from gm_desktop.language import speak
from gm_desktop.main_window import INSPECTOR_WIDTH, MainWindow
from gm_desktop.notices import Notice, Notices, sentence_for
from gm_desktop.page_builder import PageBuilder
from gm_desktop.pages import ENTRIES, PageMakers
from gm_desktop.palette import PaletteEntry, find
from gm_desktop.palette_entries import palette_entries
from gm_desktop.paths import default_data_dir, holds_store
from gm_desktop.plain_text import as_caption
from gm_desktop.preferences import Preferences
from gm_desktop.settings_desk import SettingsDesk
from gm_desktop.shell_actions import Deeds, page_specs, shell_specs
from gm_desktop.sources_desk import SourcesDesk
from gm_desktop.store_flow import StoreFlow
from gm_desktop.store_opener import Opener, StoreOpener
from gm_desktop.theme import Mode, Theme
from gm_desktop.tickets import Latest
from gm_desktop.tour import Tour
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels import inbox_subjects
from gm_desktop.viewmodels.agent_eye import AgentEyeViewModel
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.checkpoints import CheckpointsViewModel
from gm_desktop.viewmodels.cycles import CyclesViewModel
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.graph import GraphViewModel
from gm_desktop.viewmodels.graph_verbs import GraphVerbs
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.viewmodels.lab import LabViewModel
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.viewmodels.publish import PublishViewModel
from gm_desktop.viewmodels.revision import RevisionViewModel
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.viewmodels.search_models import SearchModels
from gm_desktop.viewmodels.vault import VaultModels
from gm_desktop.viewmodels.vault_links import VaultLinks
from gm_desktop.viewmodels.vault_plan import VaultPlanViewModel
from gm_desktop.viewmodels.vault_watch import VaultWatch
from gm_desktop.viewmodels.why_not import WhyNotViewModel
from gm_desktop.views.crash_dialog import CrashDialog
from gm_desktop.views.first_run import FirstRunView
from gm_desktop.views.shortcuts_dialog import ShortcutsDialog
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import AgentSummary, VectorStatus

INDEX_AFTER_MS = 1_500  # the first page is read and painted by then; Chroma takes a second of the interpreter


@dataclass(frozen=True, slots=True)
class Places:
    """Where the program keeps what is not the store's."""

    preferences: Path
    logs: Path


class App(QObject):
    """One running desktop. `close()` ends its threads."""

    def __init__(
        self,
        qt: QApplication,
        *,
        places: Places,
        clock: Clock,
        theme_mode: Mode | None = None,
        language: str = "",
        opener: Opener | None = None,
    ) -> None:
        super().__init__()
        self.places, self.clock = places, clock
        self.log_path = crash.start_log(places.logs)
        self.preferences = Preferences(places.preferences)
        speak(qt, language or self.preferences.language)
        self.theme = Theme(qt, mode=theme_mode or self.preferences.theme, parent=self)
        self.reporter = crash.CrashReporter(places.logs, self)
        self.notices = Notices(self)
        self.host = EngineHost(opener=opener or StoreOpener(self.preferences.engine), parent=self)
        self.undo = UndoController(self.host, self.notices, self)
        self.actions = ActionTable(self.theme, self)
        self.flow = StoreFlow(
            self.host,
            self.notices,
            undo=self.undo,
            theme=self.theme,
            clock=clock,
            window=lambda: self.window,
            parent=self,
        )
        self._build_viewmodels()
        self.start_page = FirstRunView(self.theme)
        self.help = HelpDesk(self.theme, lambda: self.window)
        self.agents: tuple[AgentSummary, ...] = ()
        self._agents_wanted = Latest()
        self._crash_dialog: CrashDialog | None = None
        self._index_later = QTimer(self, singleShot=True, interval=INDEX_AFTER_MS)
        self._index_later.timeout.connect(self.host.start_indexing)
        self.window = MainWindow(
            self.theme,
            self.actions,
            start=self.start_page,
            find=self.find_entries,
            running_tasks=lambda: len(self.host.tasks.running),
        )
        self.building = PageBuilder(self.window, self.host, self)
        self.tour = Tour(
            self.window, self.host, self.building, theme=self.theme, preferences=self.preferences, parent=self
        )
        self._add_pages()
        self._wire()
        self._restore()
        self.reporter.install()

    # --- building ----------------------------------------------------------------------------------------------

    def _build_viewmodels(self) -> None:
        clock = self.clock
        verbs = FactVerbs(self.host, self.undo, self.notices, self)
        self.remembering = MemoryViewModel(self.host, verbs, clock, self)
        self.revising = RevisionViewModel(self.host, self.undo, self)
        self.searching = SearchViewModel(self.host, verbs, clock, self)
        batch = BatchViewModel(self.host, self.searching, clock, self)
        self.search_models = SearchModels(
            self.searching,
            batch,
            AgentEyeViewModel(self.host, self.searching, batch, self),
            WhyNotViewModel(self.host, self.searching, batch, self),
            LabViewModel(self.host, self.searching, batch, undo=self.undo, notices=self.notices, parent=self),
        )
        self.checkpoints = CheckpointsViewModel(self.host, self.undo, self.notices, clock, self)
        self.consolidating = InboxViewModel(
            self.host, self.undo, self.notices, clock, self, subject=inbox_subjects.consolidation()
        )
        self.cycles = CyclesViewModel(self.host, self.undo, self.notices, self)
        graph_verbs = GraphVerbs(self.host, self.undo, self.notices, self)
        self.graph = GraphViewModel(self.host, graph_verbs, self.notices, clock, self)
        self.glance = Glance(self.host, self.undo, self.notices, clock=clock, parent=self)
        self.sources = SourcesDesk(self.host, self.undo, self.notices, preferences=self.places.preferences, parent=self)
        self.settings = SettingsDesk(
            self.host, self.undo, self.notices, clock=clock, preferences=self.preferences, flow=self.flow, parent=self
        )
        self.publishing = PublishViewModel(self.host, self.notices, self.preferences, self.undo, self)
        self.vault = VaultModels(
            self.publishing,
            VaultPlanViewModel(self.host, self.publishing, self),
            VaultWatch(self.host, self.publishing, self.undo, self),
            InboxViewModel(self.host, self.undo, self.notices, clock, self, subject=inbox_subjects.vault_edits()),
            VaultLinks(self.host, self.publishing, self),
        )

    def _add_pages(self) -> None:
        deeds = self._deeds()
        self.actions.add(self.window, shell_specs(deeds), everywhere=True)
        self.actions.add(self.window, page_specs(deeds, [each.spec() for each in ENTRIES]), everywhere=True)
        pages = PageMakers(self)
        for each in ENTRIES:
            page_id, title, icon, shortcut = each.spec()
            make = pages.makers[page_id]
            self.window.add_page(page_id, title, icon, shortcut=shortcut, on_rail=each.on_rail, make=make)
        self.window.page_built.connect(self._on_page_built)
        self.window.rail.fact_dropped.connect(pages.follow)
        self.undo.entry_wanted.connect(pages.show_entry)
        self.window.rail.accept_facts("search")
        self.window.rail.add_action(self.actions.action("store.import"))
        self.window.rail.add_action(self.actions.action("palette.open"))
        self.window.build_menus()

    def open_inspector(self) -> None:
        """Makes room for the inspector."""
        if self.window.inspector_width == 0:
            self.window.set_inspector_width(INSPECTOR_WIDTH)

    def set_theme(self, mode: Mode) -> None:
        """Uses a theme, now and from now on."""
        self.preferences.theme = mode
        self.theme.set_mode(mode)

    def reveal_fact(self, fact_id: str) -> None:
        """Opens a fact on the Memory page."""
        self.show_page("memory")
        self.remembering.reveal(fact_id)

    def reveal_checkpoint(self, checkpoint_id: str) -> None:
        """Opens a checkpoint on its page."""
        self.show_page("checkpoints")
        self.checkpoints.reveal(checkpoint_id)

    def _deeds(self) -> Deeds:
        return Deeds(
            new_store=self.flow.choose_new,
            open_store=self.flow.choose_existing,
            open_demo=self.flow.open_demo,
            close_store=self.flow.close,
            import_file=self.flow.choose_import,
            import_folder=self.flow.choose_import_folder,
            close_window=self._close_window,
            undo=self.undo.undo,
            redo=self.undo.redo,
            can_undo=lambda: self.undo.can_undo,
            can_redo=lambda: self.undo.can_redo,
            open_palette=self.window.palette_popup.open,
            toggle_inspector=self._toggle_inspector,
            has_inspector=lambda: self.window.inspector_width > 0,
            uses_inspector=lambda: self.window.uses_inspector,
            set_theme=self.set_theme,
            theme_mode=lambda: self.theme.mode,
            show_page=self.show_page,
            store_is_open=lambda: self.host.is_open,
            can_write=lambda: not (self.host.is_open and self.host.read_only),
            show_help=lambda: self.help.open(self.window.page_id),
            show_shortcuts=self._show_shortcuts,
            show_tour=self.tour.begin,
            show_log=self._show_log,
        )

    def _wire(self) -> None:
        host, window, start = self.host, self.window, self.start_page
        host.store_opening.connect(self._on_opening)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_store_closed)
        host.open_failed.connect(self._on_open_failed)
        host.failed.connect(self.notices.show_failure)
        host.crashed.connect(self.reporter.report)
        host.changed.connect(self._on_changed)
        host.indexed.connect(self._on_indexed)
        host.tasks.started.connect(window.strip.add_task)
        host.tasks.ended.connect(window.strip.remove_task)
        self.notices.shown.connect(self._on_notice)
        self.notices.withdrawn.connect(self.window.toasts.withdraw)
        self.reporter.reported.connect(self._on_crash)
        self.undo.changed.connect(self._name_steps)
        self.revising.saved.connect(self.searching.prefer)
        review = self.glance.review
        review.state_changed.connect(lambda: window.rail.show_count("review", review.open_count))
        for signal in (
            self.remembering.selection_changed,
            self.remembering.state_changed,
            *self.search_models.signals(),
            self.checkpoints.state_changed,
            self.checkpoints.details_changed,
            *self.glance.signals(),
            self.consolidating.state_changed,
            self.consolidating.card_changed,
            self.consolidating.draft_changed,
            self.cycles.running_changed,
            self.graph.state_changed,
            self.graph.selection_changed,
            *self.vault.signals(),
            *self.settings.signals(),
            *self.sources.signals(),
        ):
            signal.connect(self.actions.refresh_soon)
        window.page_wanted.connect(self.show_page)
        window.page_shown.connect(self._on_page_shown)
        window.first_painted.connect(self.building.start)
        self.building.finished.connect(window.palette_popup.look_again)
        window.file_dropped.connect(self.flow.import_file)
        window.closing.connect(self._save)
        start.new_chosen.connect(self.flow.choose_new)
        start.open_chosen.connect(self.flow.choose_existing)
        start.import_chosen.connect(self.flow.choose_import)
        start.demo_chosen.connect(self.flow.open_demo)
        start.recent_chosen.connect(lambda path: self.flow.open_existing(Path(path)))
        self.flow.show_memory_wanted.connect(lambda: self.show_page("memory"))
        self.flow.publish_wanted.connect(lambda: self.show_page("vault"))

    # --- life --------------------------------------------------------------------------------------------------

    def start(self, data_dir: Path | None, *, read_only: bool = False, demo: bool = False) -> None:
        """Opens the store that was asked for, the last one, or the default one; else the first-run page stays."""
        if demo:
            self.flow.open_demo(data_dir)
        elif data_dir is not None and (read_only or holds_store(data_dir)):
            self.host.open_store(data_dir, read_only=read_only)
        elif data_dir is not None:
            self.flow.open_new(data_dir)
        else:
            known = [*self.preferences.recent_stores[:1], default_data_dir()]
            wanted = next((path for path in known if holds_store(path)), None)
            if wanted is None:
                self.start_page.focus_first()
            else:
                self.host.open_store(wanted, read_only=read_only)

    def close(self) -> None:
        """Ends threads, saves preferences, puts the hooks back. Call once, after the event loop."""
        self.building.stop()
        self.tour.close()
        self._index_later.stop()
        self.vault.watch.close()
        self.host.close()
        self.preferences.save()
        self.reporter.uninstall()
        crash.stop_log()

    def show_page(self, page_id: str) -> None:
        """Opens a page, if it exists and a store is open."""
        if self.host.is_open and page_id in self.window.pages:
            self.window.show_page(page_id)

    def find_entries(self, query: str) -> Sequence[PaletteEntry]:
        """What the command palette lists for `query`; a page adds its actions once it is built."""
        subjects = self.help.entries() if query.strip() else ()
        return find(query, palette_entries(self.actions, self.agents, open_agent=self._open_agent, subjects=subjects))

    def _open_agent(self, agent_id: str) -> None:
        self.show_page("memory")
        self.window.pages["memory"].open_agent(agent_id)

    # --- answers -----------------------------------------------------------------------------------------------

    def _on_opening(self) -> None:
        self.start_page.show_problem("")
        self.window.strip.show_store(str(self.host.data_dir), badge=tr("opening"))
        self.window.show_page(self._page_to_open())

    def _page_to_open(self) -> str:
        """The one that was open; but the settings look alike in every store, so another store begins on the first."""
        wanted, pages = self.preferences.page, self.window.pages
        is_another = self.preferences.recent_stores[:1] != (self.host.data_dir,)
        return wanted if wanted in pages and not (wanted == "settings" and is_another) else next(iter(pages))

    def _on_opened(self) -> None:
        host = self.host
        assert host.data_dir is not None  # noqa: S101  (an open store has a directory)
        self.window.strip.show_store(str(host.data_dir), badge=tr("read only") if host.read_only else "")
        self.window.set_store_name(host.data_dir.name or str(host.data_dir))
        self.window.rail.set_pages_enabled(True)
        self.preferences.remember_store(host.data_dir)
        self.actions.refresh()
        if self.window.page_id is not None:
            self.window.pages[self.window.page_id].activate()
        self._load_agents()
        self._index_later.start()

    def _on_store_closed(self) -> None:
        self.agents = ()
        self.window.toasts.clear()  # what they offer belongs to the store that was open
        self.window.set_store_name("")
        self.window.strip.show_store(None)
        self.window.strip.show_indexing(0, 0)
        self.window.rail.set_pages_enabled(False)
        self.start_page.show_recent([str(path) for path in self.preferences.recent_stores])
        self.window.show_start()

    def _on_open_failed(self, error: GrayMatterError) -> None:
        crash.log.warning("store not opened: %s", error.message)
        self._on_store_closed()
        self.start_page.show_problem(sentence_for(error))

    def _on_changed(self) -> None:
        self._load_agents()
        self.actions.refresh()

    def _load_agents(self) -> None:
        self._agents_wanted.take(self.host.read(lambda memory: memory.agents(), self._on_agents))

    def _on_agents(self, agents: tuple[AgentSummary, ...]) -> None:
        self.agents = agents

    def _on_indexed(self, status: VectorStatus) -> None:
        self.window.strip.show_indexing(status.embedded, status.pending, left_s=status.left_s, error=status.error)

    def _on_notice(self, notice: Notice) -> None:
        action = (notice.action.label, notice.action.run) if notice.action is not None else None
        self.window.toasts.show_toast(notice.text, level=notice.level, action=action, lasting=notice.lasting)

    def _on_crash(self, report: str) -> None:
        if self._crash_dialog is not None:
            return  # one report is enough to act on; the rest is in the log
        self._crash_dialog = CrashDialog(self.theme, report, self.window)
        self._crash_dialog.finished.connect(self._on_crash_closed)
        self._crash_dialog.open()

    def _on_crash_closed(self) -> None:
        if self._crash_dialog is not None:
            self._crash_dialog.deleteLater()
            self._crash_dialog = None

    def _on_page_built(self, page_id: str) -> None:
        page = self.window.pages[page_id]
        page.restore_state(self.preferences.page_state(page_id))
        for tabs in page.findChildren(QTabBar):  # those that the page has now; its inspector is no child of it
            tabs.currentChanged.connect(self.actions.refresh_soon)  # a deed may be there for what one tab shows
        self.window.build_menus()
        self.actions.refresh_soon()

    def _on_page_shown(self, page_id: str) -> None:
        self.preferences.page = page_id

    # --- deeds -------------------------------------------------------------------------------------------------

    def _close_window(self) -> None:
        self.window.close()

    def _toggle_inspector(self) -> None:
        self.window.set_inspector_width(0 if self.window.inspector_width > 0 else INSPECTOR_WIDTH)

    def _show_shortcuts(self) -> None:
        self.building.finish()
        ShortcutsDialog(self.actions.with_keys(), self.window).open()

    def _show_log(self) -> None:
        if self.log_path is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.log_path)))

    def _name_steps(self) -> None:
        undo, redo = self.undo.undo_text, self.undo.redo_text
        self.actions.action("step.undo").setText(tr("Undo: {step}", step=as_caption(undo)) if undo else tr("Undo"))
        self.actions.action("step.redo").setText(tr("Redo: {step}", step=as_caption(redo)) if redo else tr("Redo"))
        self.actions.refresh()

    def _restore(self) -> None:
        geometry = self.preferences.geometry
        if geometry is not None:
            self.window.restoreGeometry(geometry)
        self.window.set_inspector_width(self.preferences.inspector_width)
        self.start_page.show_recent([str(path) for path in self.preferences.recent_stores])
        self.window.rail.set_pages_enabled(False)
        self.window.show_start()

    def _save(self) -> None:
        self.preferences.geometry = self.window.saveGeometry()
        self.preferences.inspector_width = self.window.inspector_width
        for page_id, page in self.window.built_pages.items():
            self.preferences.set_page_state(page_id, page.save_state())
        self.preferences.save()
