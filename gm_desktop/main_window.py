"""The window: rail, page with its inspector, activity strip, toasts, palette. It arranges; it decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QMessageBox,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.action_table import ActionTable
from gm_desktop.i18n import tr, tr_count
from gm_desktop.page import Page
from gm_desktop.theme import Theme
from gm_desktop.widgets.activity_strip import ActivityStrip
from gm_desktop.widgets.basics import rule
from gm_desktop.widgets.command_palette import CommandPalette, Entry
from gm_desktop.widgets.drop_hint import DropHint
from gm_desktop.widgets.keys import drop_letters
from gm_desktop.widgets.rail import NavigationRail
from gm_desktop.widgets.toasts import ToastStack

MENUS = ("File", "Edit", "View", "Go", "Store", "Help")
INSPECTOR_WIDTH = 320
MIN_PAGE_WIDTH = 420
FIRST_PLACE = 10  # in the table of actions: before the pages' own stands what works everywhere
TITLE_BAR = 40  # room for what the window manager adds


class PageFrame(QSplitter):
    """A page and its inspector. Shortcuts of the page work in both."""

    def __init__(self, page: Page) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.page = page
        self.inspector = page.inspector()
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(page)
        page.setMinimumWidth(MIN_PAGE_WIDTH)
        self.setStretchFactor(0, 1)
        self._width = 0
        if self.inspector is not None:
            self.addWidget(self.inspector)
            self.setStretchFactor(1, 0)
            page.inspector_changed.connect(lambda: self.show_inspector(self.inspector_width() or self._width))

    def show_inspector(self, width: int) -> None:
        """Gives the inspector `width` pixels; 0 closes it. It stays away while the page has no use for it."""
        self._width = width
        if self.inspector is not None:
            is_shown = width > 0 and self.page.uses_inspector()
            self.inspector.setVisible(is_shown)
            if is_shown:
                self.setSizes([max(MIN_PAGE_WIDTH, self.width() - width), width])

    def inspector_width(self) -> int | None:
        """Its width now; None when this page has none or it is closed."""
        if self.inspector is None or not self.inspector.isVisibleTo(self):
            return None
        return self.sizes()[1]


class _Pages(Mapping[str, Page]):
    """Looks like a dictionary of pages."""

    def __init__(self, known: Mapping[str, object], build: Callable[[str], Page]) -> None:
        self._known, self._build = known, build

    def __getitem__(self, page_id: str) -> Page:
        return self._build(page_id)

    def __contains__(self, page_id: object) -> bool:
        return page_id in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class MainWindow(QMainWindow):
    """The one window. Signals say what the person wants; `app.py` connects them."""

    page_wanted = Signal(str)
    page_shown = Signal(str)
    page_built = Signal(str)
    file_dropped = Signal(object)  # Path
    closing = Signal()
    first_painted = Signal()

    def __init__(
        self,
        theme: Theme,
        actions: ActionTable,
        *,
        start: QWidget,
        find: Callable[[str], Sequence[Entry]],
        running_tasks: Callable[[], int],
    ) -> None:
        super().__init__()
        self._theme, self._actions = theme, actions
        self._makers: dict[str, Callable[[], Page]] = {}
        self._titles: dict[str, str] = {}
        self._frames: dict[str, PageFrame] = {}
        self._menus: dict[str, QMenu] = {}
        self._start = start
        self._running_tasks = running_tasks
        self._may_close = False
        self._was_painted = False
        self._inspector_width = INSPECTOR_WIDTH
        self._store_name = ""
        self._make_widgets(find)
        self._lay_out()
        theme.dress(self)
        self.rail.chosen.connect(self.page_wanted)
        self.setAcceptDrops(True)
        self._show_title()
        self.setWindowIcon(self._theme.icon("mark", "accent", 64))
        self.resize(QSize(1280, 800).boundedTo(self.screen().availableSize() - QSize(0, TITLE_BAR)))

    # --- pages -------------------------------------------------------------------------------------------------

    @property
    def pages(self) -> Mapping[str, Page]:
        """Every page by id; one that is looked up is built."""
        return _Pages(self._makers, self.build_page)

    @property
    def built_pages(self) -> dict[str, Page]:
        """The pages that were built."""
        return {page_id: frame.page for page_id, frame in self._frames.items()}

    @property
    def page_id(self) -> str | None:
        """The open page; None while the start page shows."""
        frame = self._stack.currentWidget()
        return frame.page.page_id if isinstance(frame, PageFrame) else None

    def add_page(
        self, page_id: str, title: str, icon: str, *, shortcut: str, on_rail: bool, make: Callable[[], Page]
    ) -> None:
        """Puts a page on the rail. `make` builds it when it is first wanted."""
        self._makers[page_id], self._titles[page_id] = make, title
        self.rail.add_page(page_id, title, icon, shortcut=shortcut)
        self.rail.show_entry(page_id, is_shown=on_rail)

    def build_page(self, page_id: str) -> Page:
        """The page, built and with its actions installed; `page_built` follows when it was not there yet."""
        if page_id not in self._frames:
            page = self._makers[page_id]()
            frame = self._frames[page_id] = PageFrame(page)
            self._stack.addWidget(frame)
            specs = page.action_specs()
            place = FIRST_PLACE + list(self._makers).index(page_id)
            self._actions.add(frame, specs, place=place, group=self._titles[page_id])
            drop_letters(frame, [spec.shortcut for spec in specs])
            self.page_built.emit(page_id)
        return self._frames[page_id].page

    def show_page(self, page_id: str) -> None:
        """Opens a page and gives it the keyboard."""
        self._keep_inspector_width()
        self.build_page(page_id)
        frame = self._frames[page_id]
        self._stack.setCurrentWidget(frame)
        frame.show_inspector(self._inspector_width)
        self.rail.show_page(page_id)
        self._show_title()
        frame.page.activate()
        self._actions.refresh()
        self.page_shown.emit(page_id)

    def show_start(self) -> None:
        """Shows the first-run page instead of a page."""
        self._stack.setCurrentWidget(self._start)
        self.rail.show_page(None)
        self._show_title()
        self._actions.refresh()

    def set_store_name(self, name: str) -> None:
        """Names the open store in the title; an empty `name` for none."""
        self._store_name = name
        self._show_title()

    def set_inspector_width(self, width: int) -> None:
        """Opens the inspector `width` pixels wide, or closes it with 0."""
        self._inspector_width = width
        frame = self._stack.currentWidget()
        if isinstance(frame, PageFrame):
            frame.show_inspector(width)

    @property
    def uses_inspector(self) -> bool:
        """Whether the open page has an inspector, and something to say there now."""
        frame = self._stack.currentWidget()
        return isinstance(frame, PageFrame) and frame.inspector is not None and frame.page.uses_inspector()

    @property
    def inspector_width(self) -> int:
        """The inspector's width in pixels; 0 while it is closed."""
        self._keep_inspector_width()
        return self._inspector_width

    def build_menus(self) -> None:
        """Fills the menu bar from the action table; may be called again."""
        for name in MENUS:
            if name not in self._menus:
                self._menus[name] = self.menuBar().addMenu(tr(name))
                self._menus[name].setToolTipsVisible(True)
                self._menus[name].aboutToShow.connect(self._actions.refresh)
            actions = list(self._actions.in_menu(name))
            if actions != self._menus[name].actions():
                self._menus[name].clear()
                self._menus[name].addActions(actions)

    # --- closing, dropping, painting ---------------------------------------------------------------------------

    def close_now(self) -> None:
        """Closes without asking."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Asks first while tasks run."""
        running = self._running_tasks()
        if running and not self._may_close:
            event.ignore()
            self._ask_to_close(running)
            return
        self._keep_inspector_width()
        self.closing.emit()
        event.accept()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """One local file can be dropped anywhere."""
        if _dropped_file(event) is not None:
            event.acceptProposedAction()
            self._drop_hint.cover(self.ground)

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        """The file went elsewhere."""
        self._drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """A dropped file is looked into for an import."""
        self._drop_hint.hide()
        path = _dropped_file(event)
        if path is not None:
            event.acceptProposedAction()
            self.file_dropped.emit(path)

    def event(self, event: QEvent) -> bool:
        """Notices the first paint."""
        handled = super().event(event)
        if event.type() == QEvent.Type.Paint and not self._was_painted:
            self._was_painted = True
            self.first_painted.emit()
        return handled

    def _ask_to_close(self, running: int) -> None:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.NoIcon)
        box.setWindowTitle(tr("Close GrayMatter"))
        box.setText(tr_count("{count} task is still running.", "{count} tasks are still running.", running))
        box.setInformativeText(tr("Closing stops them. What is finished stays, and they can be started again."))
        stop = box.addButton(tr("Stop and close"), QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton(tr("Keep running"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        stop.clicked.connect(self.close_now)
        box.open()

    def _make_widgets(self, find: Callable[[str], Sequence[Entry]]) -> None:
        self.rail = NavigationRail(self._theme, "GrayMatter")
        self._stack = QStackedWidget()
        self._stack.addWidget(self._start)
        self.strip = ActivityStrip(self._theme)
        self.ground = QWidget()
        self.toasts = ToastStack(self._theme, self.ground, gap=lambda: self.rail.gap.translated(self.rail.pos()))
        self.rail.gap_moved.connect(self.toasts.place)
        self._drop_hint = DropHint(self._theme, self.ground)
        self.palette_popup = CommandPalette(self._theme, self.ground, find)

    def _lay_out(self) -> None:
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.rail)
        middle.addWidget(rule(vertical=True))
        middle.addWidget(self._stack, 1)
        layout = QVBoxLayout(self.ground)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(rule())
        layout.addLayout(middle, 1)
        layout.addWidget(rule())
        layout.addWidget(self.strip)
        self.setCentralWidget(self.ground)

    def _show_title(self) -> None:
        frame, store = self._stack.currentWidget(), self._store_name
        if store and isinstance(frame, PageFrame):
            title = self._titles[frame.page.page_id]
            self.setWindowTitle(tr("{page} – {store} – GrayMatter", page=title, store=store))
        else:
            self.setWindowTitle("GrayMatter")

    def _keep_inspector_width(self) -> None:
        frame = self._stack.currentWidget()
        width = frame.inspector_width() if isinstance(frame, PageFrame) else None
        if width and self.isVisible():
            self._inspector_width = width


def _dropped_file(event: QDropEvent) -> Path | None:
    urls = event.mimeData().urls()
    return Path(urls[0].toLocalFile()) if len(urls) == 1 and urls[0].isLocalFile() else None
