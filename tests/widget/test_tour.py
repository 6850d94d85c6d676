"""The tour: once after the first store was opened, by keyboard, in every size and language, and never again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.actions import KeyLine
from gm_desktop.app import App, Places
from gm_desktop.i18n import LANGUAGES, PSEUDO
from gm_desktop.language import speak
from gm_desktop.preferences import Preferences
from gm_desktop.tour import STEPS
from gm_desktop.widgets.tour_card import GAP, TourCard, TourOutline, place
from tests.fakes.clock import FrozenClock
from tests.widget.conftest import open_scripted
from tests.widget.test_languages import nothing_is_cut

CARD = QSize(340, 180)
ROOM = QRect(184, 0, 1096, 735)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a duplicate that waits to be decided."""
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        for number in range(3):
            memory.remember("sales", f"Fact number {number} about invoices")
        for _ in range(2):
            memory.remember("ops", "The night shift starts at ten")
        memory.consolidate("ops")
    return tmp_path / "store"


@pytest.fixture
def toured(app: App, store: Path, qtbot: QtBot) -> App:
    """The desktop on its first step, which came by itself."""
    app.tour.wait_for_first_store()
    app.start(store)
    qtbot.waitUntil(lambda: app.tour.card is not None)
    return app


def _card(app: App) -> TourCard:
    card = app.tour.card
    assert card is not None
    return card


def _outline(app: App) -> TourOutline:
    found = [each for each in app.window.findChildren(TourOutline) if each.isVisible()]
    assert len(found) == 1
    return found[0]


def _press(app: App, *keys: Qt.Key) -> None:
    """Keys where the keyboard is."""
    for key in keys:
        at = app.window.focusWidget()
        assert at is not None
        QTest.keyClick(at, key)


def _told(app: App) -> str:
    spoken = QAccessible.queryAccessibleInterface(_card(app))
    return f"{spoken.text(QAccessible.Text.Name)}: {spoken.text(QAccessible.Text.Description)}"


def _place_of(app: App, widget: QWidget | None) -> QRect:
    assert widget is not None
    return QRect(widget.mapTo(app.window.ground, QPoint(0, 0)), widget.size())


def test_after_the_first_store_was_opened_the_tour_begins_and_has_the_keyboard(toured: App) -> None:
    card = _card(toured)
    assert toured.window.focusWidget() is card.next
    assert _told(toured).startswith("Tour: Step 1 of 5. Who remembers what. Choose an agent")
    assert not card.back.isVisible()


def test_the_tour_is_walked_with_the_arrows_and_enter_and_ends_where_it_began(toured: App, qtbot: QtBot) -> None:
    walked = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Right, Qt.Key.Key_Enter):
        walked.append(toured.window.page_id)
        _press(toured, key)
    assert [*walked, toured.window.page_id] == [step.page_id for step in STEPS]
    assert not _card(toured).skip.isVisible()
    assert _card(toured).next.text() == "Done"
    _press(toured, Qt.Key.Key_Left)
    assert toured.window.page_id == "vault"
    _press(toured, Qt.Key.Key_Right, Qt.Key.Key_Return)
    assert toured.tour.card is None
    assert toured.window.page_id == "memory"
    at = toured.window.focusWidget()
    assert at is not None
    assert toured.window.pages["memory"].isAncestorOf(at)


def test_before_the_first_step_there_is_none(toured: App) -> None:
    _press(toured, Qt.Key.Key_Left)
    assert toured.window.page_id == "memory"
    assert _told(toured).startswith("Tour: Step 1 of 5")


def test_keys_of_the_card_decide_nothing_on_the_page_behind_it(toured: App, qtbot: QtBot) -> None:
    _press(toured, Qt.Key.Key_Right, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: bool(toured.consolidating.cards.lines))
    _press(toured, Qt.Key.Key_Right, Qt.Key.Key_Left)
    assert len(toured.consolidating.cards.lines) == 1
    waiting: list[int] = []
    toured.host.read(lambda memory: len(memory.inbox.list("open")), waiting.append)
    qtbot.waitUntil(lambda: bool(waiting))
    assert waiting == [1]


def test_escape_skips_the_tour_and_gives_the_keyboard_back(toured: App) -> None:
    toured.tour.end()
    table = toured.window.focusWidget()
    toured.tour.begin()
    _press(toured, Qt.Key.Key_Right, Qt.Key.Key_Escape)
    assert toured.tour.card is None
    assert toured.window.page_id == "memory"
    assert toured.window.focusWidget() is table
    assert not [each for each in toured.window.findChildren(TourOutline) if each.isVisible()]


def test_who_goes_elsewhere_in_the_middle_stays_there(toured: App) -> None:
    _press(toured, Qt.Key.Key_Right)
    toured.show_page("graph")
    QApplication.sendPostedEvents()
    card = _card(toured)
    assert card.isVisible()
    QTest.mouseClick(card.skip, Qt.MouseButton.LeftButton)
    assert toured.tour.card is None
    assert toured.window.page_id == "graph"
    at = toured.window.focusWidget()
    assert at is not None
    assert toured.window.pages["graph"].isAncestorOf(at)


def test_nothing_is_outlined_on_a_page_that_the_step_does_not_speak_of(toured: App, qtbot: QtBot) -> None:
    assert _outline(toured).isVisible()
    toured.show_page("graph")
    qtbot.waitUntil(lambda: not any(each.isVisible() for each in toured.window.findChildren(TourOutline)))
    toured.show_page("memory")
    qtbot.waitUntil(lambda: any(each.isVisible() for each in toured.window.findChildren(TourOutline)))


def test_the_tour_comes_once_however_it_ended(toured: App) -> None:
    assert Preferences(toured.places.preferences).tour_seen, "written while the first step still shows"


@pytest.fixture
def later(toured: App, qapp: QApplication) -> Iterator[App]:
    """The next start of a desktop that was closed on the first step."""
    toured.window.close_now()
    toured.close()
    made = App(qapp, places=toured.places, clock=FrozenClock(), theme_mode="light", language="en", opener=open_scripted)
    made.window.show()
    yield made
    made.window.close_now()
    made.close()
    made.window.deleteLater()
    made.deleteLater()


def test_the_next_start_shows_no_tour_until_somebody_asks_for_it(later: App, store: Path, qtbot: QtBot) -> None:
    later.tour.wait_for_first_store()
    later.start(store)
    qtbot.waitUntil(lambda: later.host.is_open and later.building.is_finished)
    later.show_page("memory")
    qtbot.waitUntil(later.window.pages["memory"].is_settled)
    assert not later.tour.is_waiting
    assert later.tour.card is None
    entry = later.find_entries("tour")[0]
    assert entry.title == "Show the tour"
    entry.run()
    assert _told(later).startswith("Tour: Step 1 of 5")
    assert KeyLine("Help", "Show the tour", "Shift+F1") in later.actions.with_keys()
    assert "Show the tour" in [action.text() for action in later.actions.in_menu("Help")]


def test_without_a_store_there_is_no_tour_to_show(app: App) -> None:
    assert not app.actions.action("tour.show").isEnabled()


def test_the_tour_waits_until_a_dialog_is_closed_and_nobody_types(app: App, store: Path, qtbot: QtBot) -> None:
    app.tour.wait_for_first_store()
    dialog = QDialog(app.window)
    dialog.setModal(True)
    dialog.open()
    app.start(store)
    qtbot.waitUntil(lambda: app.host.is_open and app.building.is_finished and app.window.pages["memory"].is_settled())
    assert app.tour.is_waiting
    app.show_page("search")
    dialog.close()
    dialog.deleteLater()
    assert QApplication.activeModalWidget() is None
    qtbot.waitUntil(app.window.pages["search"].is_settled)
    assert app.tour.is_waiting
    app.show_page("memory")
    qtbot.waitUntil(lambda: app.tour.card is not None)


def test_closing_the_store_ends_the_tour(toured: App, qtbot: QtBot) -> None:
    with qtbot.waitSignal(toured.host.store_closed):
        toured.flow.close()
    assert toured.tour.card is None
    assert toured.window.page_id is None


def test_the_search_step_explains_a_hit_even_if_nobody_asked_anything_yet(toured: App, qtbot: QtBot) -> None:
    toured.window.set_inspector_width(0)
    _press(toured, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: bool(toured.searching.question.query) and toured.window.pages["search"].is_settled())
    assert toured.window.inspector_width > 0
    _press(toured, Qt.Key.Key_Escape)
    asked = toured.searching.question.query
    toured.searching.set_query("what I typed")
    toured.tour.begin()
    _press(toured, Qt.Key.Key_Right)
    assert asked != toured.searching.question.query == "what I typed"


def test_an_empty_store_can_be_toured_too(app: App, qtbot: QtBot, tmp_path: Path) -> None:
    app.tour.wait_for_first_store()
    app.flow.open_new(tmp_path / "new")
    qtbot.waitUntil(lambda: app.tour.card is not None)
    for step in STEPS:
        assert app.window.page_id == step.page_id
        qtbot.waitUntil(app.window.pages[step.page_id].is_settled)
        QApplication.sendPostedEvents()
        assert _outline(app).width() > 50
        _press(app, Qt.Key.Key_Right)
    assert app.tour.card is None


def test_the_window_can_be_used_while_the_card_shows(toured: App, qtbot: QtBot) -> None:
    outline, agents = _place_of(toured, _outline(toured)), toured.window.pages["memory"].landmark()
    below = toured.window.ground.childAt(outline.center())
    assert below is not None
    assert agents.isAncestorOf(below), "a click goes through the outline"
    assert QApplication.activeModalWidget() is None
    toured.actions.run("page.graph")
    assert toured.window.page_id == "graph"


@pytest.mark.parametrize("size", [(1280, 800), (926, 590), (1920, 1080)])
def test_the_card_stays_in_the_window_and_off_what_it_speaks_of(
    toured: App, qtbot: QtBot, size: tuple[int, int]
) -> None:
    for _step in STEPS:
        toured.window.resize(*size)
        qtbot.waitUntil(partial(_is_well_placed, toured))
        _press(toured, Qt.Key.Key_Right)


def _is_well_placed(app: App) -> bool:
    page = app.window.pages[app.window.page_id or ""]
    room = _place_of(app, page.parentWidget())
    card, outline = _place_of(app, _card(app)), _place_of(app, _outline(app))
    assert page.is_settled()
    assert room.contains(card), (room, card)
    assert room.contains(outline), (room, outline)
    if page.page_id in ("memory", "search", "consolidate", "settings"):
        assert outline.width() < room.width(), page.page_id
        assert not outline.intersects(card), page.page_id
    return True


MakeApp = Callable[[str], App]


@pytest.fixture
def speaking(qapp: QApplication, qtbot: QtBot, tmp_path: Path, store: Path) -> Iterator[MakeApp]:
    """The desktop in a language, on the first step."""
    made: list[App] = []

    def make(language: str) -> App:
        places = Places(tmp_path / "preferences", tmp_path / "logs")
        app = App(qapp, places=places, clock=FrozenClock(), theme_mode="dark", language=language, opener=open_scripted)
        made.append(app)
        app.window.resize(926, 590)
        app.window.show()
        app.start(store)
        qtbot.waitUntil(lambda: app.host.is_open and app.building.is_finished)
        app.tour.begin()
        return app

    yield make
    for app in made:
        app.window.close_now()
        app.close()
        app.window.deleteLater()
        app.deleteLater()
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    speak(qapp, "en")


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_no_text_of_the_card_is_cut_in_any_language(speaking: MakeApp, qtbot: QtBot, language: str) -> None:
    app = speaking(language)
    for _step in STEPS:
        qtbot.waitUntil(partial(nothing_is_cut, _card(app)))
        _press(app, Qt.Key.Key_Right)


def test_long_sentences_from_right_to_left_mirror_the_card_and_its_keys(
    speaking: MakeApp, qapp: QApplication, qtbot: QtBot
) -> None:
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    app = speaking(PSEUDO)
    for step in STEPS:
        assert app.window.page_id == step.page_id
        qtbot.waitUntil(partial(nothing_is_cut, _card(app)))
        card = _place_of(app, _card(app))
        room = _place_of(app, app.window.pages[step.page_id].parentWidget())
        assert room.contains(card), step
        assert _card(app).skip.x() > _card(app).next.x() or step == STEPS[-1]
        _press(app, Qt.Key.Key_Left)
    assert app.tour.card is None


@pytest.mark.parametrize(
    ("target", "corner"),
    [
        (QRect(194, 80, 168, 680), QPoint(374, 329)),  # a tall list at the left: after it
        (QRect(960, 0, 320, 735), QPoint(608, 277)),  # a panel at the right: before it
        (QRect(209, 157, 744, 154), QPoint(209, 323)),  # a wide form above: below it
        (QRect(209, 500, 744, 200), QPoint(209, 308)),  # a wide form below: above it
        (ROOM, QPoint(928, 543)),  # everything: in the last corner
        (QRect(), QPoint(928, 543)),
    ],
)
def test_the_card_stands_where_there_is_room(target: QRect, corner: QPoint) -> None:
    assert place(CARD, target, ROOM) == corner


@given(
    left=st.integers(0, 1280),
    top=st.integers(0, 735),
    width=st.integers(1, 1280),
    height=st.integers(1, 735),
    is_mirrored=st.booleans(),
)
def test_wherever_the_target_is_the_card_is_in_the_room_and_mirrors(
    left: int, top: int, width: int, height: int, *, is_mirrored: bool
) -> None:
    room = QRect(0, 0, 1280, 735)
    target = QRect(left, top, width, height)
    card = QRect(place(CARD, target, room, is_mirrored=is_mirrored), CARD)
    assert room.adjusted(GAP, GAP, -GAP, -GAP).contains(card)
    mirrored = QRect(1280 - left - width, top, width, height)
    other = place(CARD, mirrored, room, is_mirrored=not is_mirrored)
    assert other == QPoint(1280 - card.x() - card.width(), card.y())
