"""Every page in other languages: nothing is asked for that a catalogue lacks, and nothing longer is cut."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App, Places
from gm_desktop.i18n import LANGUAGES, PSEUDO, Catalogue, tr
from gm_desktop.language import speak
from gm_desktop.page import Page
from gm_desktop.views.help_window import HelpWindow
from gm_desktop.views.settings import SettingsPage
from gm_desktop.views.settings_program import AppearanceSection
from gm_desktop.widgets.basics import YieldingLabel
from gm_engine.demo import build_demo
from tests.fakes.clock import FrozenClock
from tests.widget.conftest import open_scripted

MakeApp = Callable[[str], App]
WIDTH, HEIGHT = 1280, 800


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something on every page."""
    folder = tmp_path_factory.mktemp("demo") / "store"
    build_demo(folder, clock=FrozenClock())
    return folder


@pytest.fixture
def make_app(qapp: QApplication, qtbot: QtBot, tmp_path: Path, demo: Path) -> Iterator[MakeApp]:
    """The desktop in a language, with a copy of the demo open."""
    made: list[App] = []

    def make(language: str) -> App:
        places = Places(tmp_path / "preferences", tmp_path / "logs")
        app = App(qapp, places=places, clock=FrozenClock(), theme_mode="light", language=language, opener=open_scripted)
        made.append(app)
        app.window.resize(WIDTH, HEIGHT)
        app.window.show()
        qtbot.waitExposed(app.window)
        shutil.copytree(demo, tmp_path / "store")
        app.start(tmp_path / "store")
        qtbot.waitUntil(lambda: app.host.is_open)
        return app

    yield make
    for app in made:
        app.window.close_now()
        app.close()
        app.window.deleteLater()
        app.deleteLater()
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    speak(qapp, "en")


class Recording(Catalogue):
    """A catalogue that notes what it was asked for in vain."""

    def __init__(self, language: str, sentences: dict[str, str]) -> None:
        super().__init__(language, sentences)
        self.known, self.lacking = set(sentences), set[str]()

    def sentence(self, text: str) -> str:
        """The translation; what has none is kept."""
        if text not in self.known:
            self.lacking.add(text)
        return super().sentence(text)


def walk(app: App, qtbot: QtBot) -> Iterator[str]:
    """Every page, then each of its other scenes, as the screenshots show them."""
    for page_id, page in app.window.pages.items():
        app.show_page(page_id)
        qtbot.waitUntil(page.is_settled)
        page.prepare_screenshot()
        yield from _settled(page_id, page, qtbot)
        for name, prepare in page.screenshot_scenes():
            prepare()
            yield from _settled(f"{page_id}-{name}", page, qtbot)


def _settled(name: str, page: Page, qtbot: QtBot) -> Iterator[str]:
    qtbot.waitUntil(page.is_settled)
    yield name


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_no_page_asks_for_a_sentence_that_the_catalogue_lacks(
    language: str, make_app: MakeApp, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[2] / "resources" / "i18n" / f"{language}.json").read_text(encoding="utf-8")
    recording = Recording(language, json.loads(text))
    monkeypatch.setattr(Catalogue, "load", lambda _language: recording)
    app = make_app(language)
    for _scene in walk(app, qtbot):
        qtbot.waitUntil(partial(nothing_is_cut, app.window, edges=True))
    assert recording.lacking == set()


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_nothing_is_cut_when_every_sentence_is_longer(
    direction: Qt.LayoutDirection, make_app: MakeApp, qapp: QApplication, qtbot: QtBot
) -> None:
    qapp.setLayoutDirection(direction)
    app = make_app(PSEUDO)
    for name in walk(app, qtbot):
        assert (name, app.window.width()) == (name, WIDTH)
        qtbot.waitUntil(partial(nothing_is_cut, app.window))


def nothing_is_cut(window: QWidget, *, edges: bool = False) -> bool:
    """Whether every text has its room, and with `edges` none hangs over one; a failure names those that do not."""
    shown = [widget for widget in window.findChildren(QWidget) if widget.isVisible() and text_of(widget)]
    cut = [text_of(widget) for widget in shown if is_cut(widget) or (edges and hangs_over(widget))]
    assert not cut, cut
    return True


def is_cut(widget: QWidget) -> bool:
    """Whether a text is wider than its place, or a wrapped one higher; what ends in an ellipsis is not."""
    if isinstance(widget, YieldingLabel):
        return False
    if isinstance(widget, QLabel) and widget.wordWrap():
        return widget.heightForWidth(widget.width()) > widget.height() + 1
    return widget.sizeHint().width() > widget.width() + 1


def hangs_over(widget: QWidget) -> bool:
    """Whether what holds it cuts it off at a side."""
    seen = widget.visibleRegion().boundingRect()
    return not seen.isEmpty() and seen.width() < widget.width()


def text_of(widget: QWidget) -> str:
    """What a label or a button says."""
    return widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""


def test_the_language_is_chosen_in_settings_and_spoken_from_the_next_start_on(
    make_app: MakeApp, qapp: QApplication
) -> None:
    app = make_app("en")
    page = app.window.pages["settings"]
    assert isinstance(page, SettingsPage)
    section = page.sections["appearance"]
    assert isinstance(section, AppearanceSection)
    section.language.choose("de")
    section.language.activated.emit(section.language.currentIndex())
    assert app.preferences.language == "de"
    assert tr("Cancel") == "Cancel"
    speak(qapp, app.preferences.language)
    assert tr("Cancel") == "Abbrechen"
    assert qapp.translate("QPlatformTheme", "&Yes") == "&Ja"
    assert qapp.translate("QShortcut", "Ctrl") == "Ctrl"


@pytest.mark.parametrize(
    ("language", "title", "begins", "privacy"),
    [
        ("de", "Vergangenheit", "Der Speicher, wie er zu einem Zeitpunkt war.", "Hilfe: Datenschutz"),
        ("es", "Pasado", "El almacén como era en un momento.", "Ayuda: Privacidad"),
    ],
)
def test_the_help_speaks_the_language_of_the_window(
    language: str, title: str, begins: str, privacy: str, make_app: MakeApp
) -> None:
    app = make_app(language)
    app.show_page("past")
    app.actions.run("help.show")
    shown = next(each for each in QApplication.topLevelWidgets() if isinstance(each, HelpWindow) and each.isVisible())
    assert shown.heading.text() == title
    assert shown.text.toPlainText().startswith(begins)
    assert shown.list.sizeHintForColumn(0) <= shown.list.viewport().width()
    assert privacy in {entry.title for entry in app.find_entries(privacy.partition(": ")[2])}
    shown.close()
