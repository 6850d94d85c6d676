"""The tour: a card at five places of the window, once after the first store was opened, and whenever it is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRect, QTimer
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.main_window import MainWindow
from gm_desktop.page_builder import PageBuilder
from gm_desktop.preferences import Preferences
from gm_desktop.theme import MARGIN, Theme

if TYPE_CHECKING:
    from gm_desktop.widgets.tour_card import TourCard, TourOutline

LOOK_EVERY_MS = 150
_TYPED_INTO = (QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox)
_MOVES = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide)


@dataclass(frozen=True, slots=True)
class Step:
    """What the card says at the landmark of a page."""

    page_id: str
    title: str  # English; goes through `tr`
    text: str  # English; goes through `tr`


STEPS = (
    Step(
        "memory",
        "Who remembers what",
        "Choose an agent to see its facts. Enter corrects the fact you are on; the panel at the side says where it "
        "came from.",
    ),
    Step(
        "search",
        "Why a fact came back",
        "Ask what an agent would ask and choose a hit. Here stands what put it in its place: meaning, words and age, "
        "added up.",
    ),
    Step(
        "consolidate",
        "What you decide",
        "Duplicates and contradictions wait here as cards: → accepts, ← rejects. Ctrl+Z takes back this, and anything "
        "else.",
    ),
    Step(
        "vault",
        "Memory as notes",
        "Choose a folder, and everything is published as linked notes for Obsidian. Publishing again writes only what "
        "changed.",
    ),
    Step(
        "settings",
        "Let your agents in",
        "Connect a program, and its agents read and write this memory. F1 explains the page in view; Ctrl+K finds "
        "everything.",
    ),
)


@dataclass(slots=True)
class _Open:
    """The tour while it shows."""

    card: TourCard
    outline: TourOutline
    origin: str
    came_from: QWidget | None
    at: int = 0
    target: QWidget | None = None


class Tour(QObject):
    """Says when the card shows, what it points at, and where one is afterwards.

    It counts as seen from the moment it shows, however it ends.
    """

    def __init__(
        self,
        window: MainWindow,
        host: EngineHost,
        building: PageBuilder,
        *,
        theme: Theme,
        preferences: Preferences,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._window, self._host, self._building = window, host, building
        self._theme, self._preferences = theme, preferences
        self._open: _Open | None = None
        self._followed: list[QWidget] = []
        self._looking = QTimer(self, interval=LOOK_EVERY_MS)
        self._looking.timeout.connect(self._on_look)
        self._placing = QTimer(self, singleShot=True, interval=0)
        self._placing.timeout.connect(self._place)
        host.store_closed.connect(self._take_away)

    @property
    def card(self) -> TourCard | None:
        """The card; None while no tour shows."""
        return self._open.card if self._open is not None else None

    @property
    def is_waiting(self) -> bool:
        """Whether it begins as soon as the window has come to rest."""
        return self._looking.isActive()

    def wait_for_first_store(self) -> None:
        """Begins by itself after a store was opened and the window has come to rest, unless it was seen before."""
        self._host.store_opened.connect(self._on_store_opened)

    def begin(self) -> None:
        """Shows the first step. Call it while a store is open."""
        self._looking.stop()
        self._preferences.remember_tour()
        origin = self._window.page_id
        if self._open is None and origin is not None:
            from gm_desktop.widgets.tour_card import TourCard, TourOutline  # the first paint waits for no card

            ground = self._window.ground
            card, outline = TourCard(self._theme, ground), TourOutline(self._theme, ground)
            card.stepped.connect(self._on_stepped)
            card.left.connect(self.end)
            self._open = _Open(card, outline, origin, self._window.focusWidget())
        self._show_step(0)

    def end(self) -> None:
        """Takes the card away. The window is as before the tour, unless the person went to another page meanwhile."""
        shown = self._open
        if shown is None:
            return
        is_led = self._window.page_id == STEPS[shown.at].page_id
        self._take_away()
        self._window.show_page(shown.origin if is_led else self._window.page_id or shown.origin)
        before = shown.came_from
        if is_led and before is not None and isValid(before) and before.isVisible():
            before.setFocus()

    def close(self) -> None:
        """Waits for nothing any more."""
        self._looking.stop()
        self._take_away()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """What is pointed at, or something around it, moved."""
        if event.type() in _MOVES:
            self._placing.start()
        return super().eventFilter(watched, event)

    def _on_store_opened(self) -> None:
        if not self._preferences.tour_seen:
            self._looking.start()

    def _on_look(self) -> None:
        if self._is_calm():
            self.begin()

    def _is_calm(self) -> bool:
        """Whether the person looks at a page that is read and drawn, at nothing above it, and does not type."""
        window = self._window
        page = window.built_pages.get(window.page_id or "")
        above = QApplication.activeModalWidget() or QApplication.activePopupWidget()
        return (
            self._host.is_open
            and self._building.is_finished
            and page is not None
            and page.is_settled()
            and above is None
            and not isinstance(window.focusWidget(), _TYPED_INTO)
            and not window.isMinimized()
        )

    def _on_stepped(self, by: int) -> None:
        if self._open is not None:
            following = self._open.at + by
            if following < len(STEPS):
                self._show_step(following)
            else:
                self.end()

    def _show_step(self, at: int) -> None:
        shown = self._open
        if shown is None:
            return
        step, shown.at = STEPS[at], at
        self._window.show_page(step.page_id)
        shown.target = self._window.pages[step.page_id].landmark()
        self._follow(shown.target)
        shown.card.show_step(at + 1, len(STEPS), tr(step.title), tr(step.text))
        self._place()

    def _follow(self, target: QWidget | None) -> None:
        """Listens to everything between the target and the window, since moving one of them moves the target."""
        for widget in self._followed:
            if isValid(widget):
                widget.removeEventFilter(self)
        self._followed = []
        while target is not None and target is not self._window:
            target.installEventFilter(self)
            self._followed.append(target)
            target = target.parentWidget()

    def _place(self) -> None:
        shown = self._open
        if shown is None:
            return
        ground, page_id = self._window.ground, self._window.page_id or ""
        page = self._window.built_pages.get(page_id)
        room = ground.rect() if page is None else _seen(page.parentWidget(), ground)
        _scroll_to(shown.target)
        target = _seen(shown.target, ground)
        if target.isEmpty() and page_id == STEPS[shown.at].page_id:
            target = room
        shown.outline.surround(target, room)
        shown.card.stand_beside(target, room)

    def _take_away(self) -> None:
        shown, self._open = self._open, None
        self._follow(None)
        self._placing.stop()
        for widget in (shown.outline, shown.card) if shown is not None else ():
            widget.hide()
            widget.deleteLater()


def _scroll_to(widget: QWidget | None) -> None:
    """Brings a widget into what its scroll area shows, also when a list above it grows later."""
    area = widget.parentWidget() if widget is not None and isValid(widget) else None
    while area is not None and not isinstance(area, QScrollArea):
        area = area.parentWidget()
    if area is not None and widget is not None:
        area.ensureWidgetVisible(widget, 0, MARGIN)


def _seen(widget: QWidget | None, ground: QWidget) -> QRect:
    """Where a widget is, as far as it can be seen; an empty rectangle when it can't."""
    if widget is None or not isValid(widget) or not widget.isVisible():
        return QRect()
    seen = widget.rect()
    while widget is not None and widget is not ground:
        seen = (seen & widget.rect()).translated(widget.pos())
        widget = widget.parentWidget()
    return seen
