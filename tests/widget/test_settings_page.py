"""The Settings page: models, ranking, blocked values, dictionary, cycles; each section in each of its states."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_choices import (
    EmbeddingChoice,
    EngineChoices,
    LanguageChoice,
    UpkeepChoice,
    choices_from,
    config_of,
)
from gm_desktop.engine_host import EngineHost
from gm_desktop.language import speak
from gm_desktop.notices import Notice, Notices
from gm_desktop.preferences import Preferences
from gm_desktop.store_opener import StoreOpener
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.settings_blocked import BlockedSettings
from gm_desktop.viewmodels.settings_dictionary import DictionarySettings, EntryDraft
from gm_desktop.viewmodels.settings_models import ModelSettings, NotTried, Refused, Worked
from gm_desktop.viewmodels.settings_store import RankingSettings
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading
from gm_desktop.views.overview import OverviewPage
from gm_desktop.views.search import SearchPage
from gm_desktop.views.settings import SettingsPage
from gm_desktop.views.settings_dialogs import BlockDialog, EntryDialog
from gm_desktop.views.settings_keeping import KeepingSection
from gm_desktop.views.settings_models import EmbeddingSection, LanguageSection
from gm_desktop.views.settings_parts import Section
from gm_desktop.views.settings_program import AppearanceSection, ShortcutsSection, UpkeepSection
from gm_desktop.views.settings_store import BlockedSection, DictionarySection, RankingSection
from gm_engine import BlockedValue, Memory
from gm_engine.config import EmbeddingMode, LanguageModelConfig
from gm_engine.graph.records import DictionaryEntry
from gm_engine.records import BALANCED_WEIGHTS
from tests.fakes.model_server import ModelServer, Reply

T = TypeVar("T", bound=QWidget)
S = TypeVar("S", bound=Section)
Asked = Callable[[EngineHost, Callable[[Memory], object]], object]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer(Reply())
    yield made
    made.close()


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    made.resize(900, 700)
    qtbot.addWidget(made)
    return made


def placed(section: QWidget, window: QWidget) -> None:
    section.setParent(window)
    window.show()


def models(host: EngineHost, preferences: Preferences, **environ: str) -> ModelSettings:
    return ModelSettings(host, Notices(host), preferences, environ=environ, parent=host)


# --- choices -------------------------------------------------------------------------------------------------------


def test_choices_come_back_from_the_preferences_and_nonsense_is_as_good_as_absent(preferences: Preferences) -> None:
    chosen = EngineChoices(
        EmbeddingChoice("openai", "http://localhost:1234/v1", "small", "MY_KEY"),
        LanguageChoice("anthropic", "https://api.anthropic.com", "one", "OTHER_KEY"),
        UpkeepChoice(by_itself=False, threshold=5, half_life_h=48.0, auto_apply=("exact_duplicate",), auto_prune=True),
    )
    preferences.engine = chosen
    assert preferences.engine == chosen
    assert choices_from(["nothing"]) == EngineChoices()
    spoilt = {
        "embedding": {"mode": "telepathy"},
        "language": {"kind": "openai", "url": "ftp://x", "model": "m"},
        "upkeep": {"half_life_h": -1.0, "threshold": "many"},
    }
    assert choices_from(spoilt) == EngineChoices()
    assert choices_from({**spoilt, "embedding": {"mode": "ollama", "url": 7}}).embedding == EmbeddingChoice("ollama")


def test_the_engine_is_configured_by_choice_and_the_environment_decides_where_it_speaks() -> None:
    chosen = EngineChoices(
        EmbeddingChoice("keyword-only"),
        LanguageChoice("openai", "http://localhost:1/v1", "one", "MY_KEY"),
        UpkeepChoice(auto_apply=("exact_duplicate",)),
    )
    config = config_of(chosen, {"MY_KEY": "secret"})
    assert config.embedding_mode is EmbeddingMode.KEYWORD_ONLY
    assert config.language_model == LanguageModelConfig("openai", "http://localhost:1/v1", "one", api_key="secret")
    assert config.auto_apply == ("exact_duplicate",)
    environ = {
        "GRAYMATTER_EMBEDDING_MODE": "ollama",
        "GRAYMATTER_LLM_URL": "http://localhost:2",
        "GRAYMATTER_LLM_MODEL": "x",
    }
    config = config_of(chosen, environ)
    assert config.embedding_mode is EmbeddingMode.OLLAMA
    assert config.language_model is not None
    assert config.language_model.model == "x"


def test_the_key_itself_is_written_nowhere(preferences: Preferences, tmp_path: Path) -> None:
    preferences.engine = EngineChoices(language=LanguageChoice("openai", "https://x.example/v1", "one", "MY_KEY"))
    config = config_of(preferences.engine, {"MY_KEY": "sk-very-secret"})
    preferences.save()
    assert config.language_model is not None
    assert config.language_model.api_key == "sk-very-secret"
    kept = "".join(path.read_text() for path in (tmp_path / "preferences").rglob("*") if path.is_file())
    assert "MY_KEY" in kept
    assert "sk-very-secret" not in kept


def test_a_store_is_opened_with_the_chosen_model(tmp_path: Path) -> None:
    opener = StoreOpener(EngineChoices(EmbeddingChoice("keyword-only")))
    with opener(tmp_path / "store", read_only=False) as memory:
        memory.remember("ops", "One")
        assert memory.status().vectors.model == ""


# --- models --------------------------------------------------------------------------------------------------------


def test_an_embedding_server_is_tested_and_taken_over(
    open_host: EngineHost, preferences: Preferences, theme: Theme, window: QWidget, server: ModelServer, qtbot: QtBot
) -> None:
    vectors = {"data": [{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [0.8, 0.6]}]}
    first = {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}
    server.answer(Reply(json.dumps(first).encode()), Reply(json.dumps(vectors).encode()))
    model = models(open_host, preferences, MY_KEY="secret")
    section = EmbeddingSection(model, theme)
    placed(section, window)
    form = section.form
    assert form.kind.chosen == "bundled"
    assert not form.url.isEnabled()
    assert not form.use.isEnabled()  # it is in use
    form.kind.choose("openai")
    assert form.use.isEnabled()
    form.url.setText(f"{server.url}/v1")
    form.model.setText("tiny")
    form.key_name.setText("MY_KEY")
    assert form.key_hint.text() == "Found in the environment."
    form.test.click()
    assert not form.test.isEnabled()
    qtbot.waitUntil(lambda: isinstance(model.embedding_trial, Worked))
    assert "2 dimensions" in form.result.text.text()
    assert "0.80 alike" in form.result.text.text()
    assert server.asked[0].headers["authorization"] == "Bearer secret"
    with qtbot.waitSignal(model.reopen_wanted):
        form.use.click()
    assert not form.use.isEnabled()
    chosen = EmbeddingChoice("openai", f"{server.url}/v1", "tiny", "MY_KEY")
    assert preferences.engine.embedding == model.choices.embedding == chosen
    assert "GRAYMATTER_EMBEDDING_MODEL=tiny" in model.environment_lines(chosen)
    qtbot.waitUntil(lambda: not model.is_waiting)


def test_a_failed_test_says_what_to_do(
    open_host: EngineHost, preferences: Preferences, theme: Theme, window: QWidget, server: ModelServer, qtbot: QtBot
) -> None:
    server.answer(Reply(b'{"error": {"message": "no such key"}}', status=401))
    model = models(open_host, preferences)
    section = EmbeddingSection(model, theme)
    placed(section, window)
    section.form.kind.choose("openai")
    section.form.url.setText(f"{server.url}/v1")
    section.form.test.click()
    qtbot.waitUntil(lambda: isinstance(model.embedding_trial, Refused))
    assert "refused the key (401)" in section.form.result.text.text()
    section.form.url.setText("not an address")
    section.form.test.click()
    qtbot.waitUntil(lambda: "no http address" in section.form.result.text.text())
    qtbot.waitUntil(lambda: not model.is_waiting)


def test_a_bad_address_is_not_taken_over(open_host: EngineHost, preferences: Preferences) -> None:
    notices = Notices(open_host)
    told: list[Notice] = []
    notices.shown.connect(told.append)
    model = ModelSettings(open_host, notices, preferences, environ={}, parent=open_host)
    model.use_embedding(EmbeddingChoice("openai", "somewhere"))
    assert model.choices == EngineChoices()
    assert "no http address" in told[-1].text
    model.use_embedding(EmbeddingChoice())
    assert told[-1].text == "Nothing to change: it already is that way."


def test_where_the_environment_names_a_model_nothing_can_be_chosen(
    open_host: EngineHost, preferences: Preferences, theme: Theme, window: QWidget
) -> None:
    model = models(open_host, preferences, GRAYMATTER_EMBEDDING_MODE="ollama", GRAYMATTER_LLM_URL="http://localhost:1")
    embedding, language = EmbeddingSection(model, theme), LanguageSection(model, theme)
    placed(embedding, window)
    placed(language, window)
    assert "GRAYMATTER_EMBEDDING_MODE" in embedding.form.decided.text.text()
    assert "GRAYMATTER_LLM_URL" in language.form.decided.text.text()
    for form in (embedding.form, language.form):
        assert not form.use.isEnabled()
        assert not form.kind.isEnabled()


def test_a_language_model_is_tested_cancelled_and_taken_over(
    open_host: EngineHost, preferences: Preferences, theme: Theme, window: QWidget, server: ModelServer, qtbot: QtBot
) -> None:
    answer = json.dumps({"summary": "Nights go from 22:00 to 06:00.", "consumes": ["1", "2"]})
    server.answer(Reply(json.dumps({"choices": [{"message": {"content": answer}}]}).encode()))
    model = models(open_host, preferences)
    section = LanguageSection(model, theme)
    placed(section, window)
    form = section.form
    assert not form.test.isEnabled()
    assert not form.use.isEnabled()  # none is in use, and none is chosen
    form.kind.choose("openai")
    form.url.setText(f"{server.url}/v1")
    form.model.setText("tiny")
    form.test.click()
    qtbot.waitUntil(lambda: isinstance(model.language_trial, Worked))
    assert "Nights go from 22:00" in form.result.text.text()
    with qtbot.waitSignal(model.reopen_wanted):
        form.use.click()
    assert preferences.engine.language.model == "tiny"
    qtbot.waitUntil(lambda: not model.is_waiting)
    server.answer(Reply(hangs=True))
    form.test.click()
    qtbot.waitUntil(lambda: bool(open_host.tasks.running))
    open_host.tasks.running[0].cancel()
    qtbot.waitUntil(lambda: isinstance(model.language_trial, NotTried))
    assert form.result.isHidden()


def test_the_progress_of_embedding_is_told(
    open_host: EngineHost, preferences: Preferences, theme: Theme, window: QWidget, qtbot: QtBot
) -> None:
    model = models(open_host, preferences)
    section = EmbeddingSection(model, theme)
    placed(section, window)
    open_host.write(lambda memory: memory.remember("ops", "A text without a vector"), lambda _: model._read_vectors())
    qtbot.waitUntil(lambda: model.vector_share == 0.0)
    assert "0 of 1" in section.progress_text.text()
    assert section.bar.isVisible()
    open_host.start_indexing()
    qtbot.waitUntil(lambda: model.vector_share is None, timeout=30_000)
    assert "1 text has its vector" in section.progress_text.text()
    assert not section.bar.isVisible()
    open_host.close_store()
    assert section.progress_text.text() == "No store is open."


def test_rules_for_cycles_are_kept_and_only_a_change_can_be_saved(
    open_host: EngineHost, preferences: Preferences, window: QWidget, qtbot: QtBot
) -> None:
    model = models(open_host, preferences)
    section = UpkeepSection(model)
    placed(section, window)
    assert not section.save.isEnabled()
    section.kinds["exact_duplicate"].click()
    section.threshold.setValue(7)
    section.half_life.setValue(2)
    assert section.save.isEnabled()
    with qtbot.waitSignal(model.reopen_wanted):
        section.save.click()
    assert preferences.engine.upkeep == UpkeepChoice(threshold=7, half_life_h=48.0, auto_apply=("exact_duplicate",))
    assert not section.save.isEnabled()
    section.by_itself.click()
    assert not section.threshold.isEnabled()


# --- ranking -------------------------------------------------------------------------------------------------------


def test_the_stores_ranking_is_shown_changed_and_undone(
    open_host: EngineHost,
    undo: UndoController,
    notices: Notices,
    theme: Theme,
    window: QWidget,
    asked: Asked,
    qtbot: QtBot,
) -> None:
    model = RankingSettings(open_host, undo, notices, open_host)
    model.reload()
    section = RankingSection(model, theme)
    placed(section, window)
    qtbot.waitUntil(lambda: model.settings is not None)
    assert section.profile.chosen == "default"
    assert section.gate.value() == 0.4
    section.floor.setValue(0.25)
    qtbot.waitUntil(lambda: undo.undo_text == "Changed how the store ranks")
    section.profile.choose("balanced")
    section.profile.activated.emit(section.profile.currentIndex())
    qtbot.waitUntil(lambda: asked(open_host, lambda memory: memory.settings.signal_weights) == BALANCED_WEIGHTS)
    assert asked(open_host, lambda memory: memory.settings.min_relevance) == 0.25
    qtbot.waitUntil(lambda: not model.is_waiting)
    undo.undo()
    qtbot.waitUntil(lambda: section.profile.chosen == "default" and undo.can_undo)
    undo.undo()
    qtbot.waitUntil(lambda: section.floor.value() == 0.0)


def test_a_figure_that_was_not_touched_is_not_written(
    open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, window: QWidget, qtbot: QtBot
) -> None:
    model = RankingSettings(open_host, undo, notices, open_host)
    model.reload()
    section = RankingSection(model, theme)
    placed(section, window)
    qtbot.waitUntil(lambda: model.settings is not None)
    section.floor.setFocus()
    QTest.keyClick(section.floor, Qt.Key.Key_Tab)
    section.profile.choose("")
    section.profile.activated.emit(section.profile.currentIndex())
    assert section.profile.chosen == "default"
    assert not undo.can_undo


def test_ranking_of_a_closed_store_says_so(host: EngineHost, notices: Notices, theme: Theme, window: QWidget) -> None:
    model = RankingSettings(host, UndoController(host, notices, host), notices, host)
    section = RankingSection(model, theme)
    placed(section, window)
    assert section.failed.text.text() == "No store is open."
    assert not section.floor.isEnabled()


# --- blocked values ------------------------------------------------------------------------------------------------


@pytest.fixture
def blocked(
    open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, window: QWidget, qtbot: QtBot
) -> BlockedSection:
    model = BlockedSettings(open_host, undo, notices, open_host)
    tester = QAbstractItemModelTester(model.lines, QAbstractItemModelTester.FailureReportingMode.Fatal)
    tester.setParent(open_host)
    section = BlockedSection(model, theme)
    placed(section, window)
    section.look(True)
    qtbot.waitUntil(section.is_settled)
    return section


def dialog_of(window: QWidget, kind: type[T]) -> T:
    found = window.findChildren(kind)
    assert found
    return found[-1]


def test_a_value_is_blocked_edited_allowed_again_and_each_step_undone(
    blocked: BlockedSection, open_host: EngineHost, undo: UndoController, window: QWidget, asked: Asked, qtbot: QtBot
) -> None:
    model = blocked._viewmodel
    assert isinstance(model.state, Empty)
    assert blocked.list.note.isVisible()

    def texts() -> object:
        return asked(open_host, lambda memory: [(each.text, each.agent_id) for each in memory.blocked.list()])

    blocked.add.click()
    dialog = dialog_of(window, BlockDialog)
    assert not dialog.save.isEnabled()
    dialog.text.setPlainText("The vault code is 1234")
    dialog.save.click()
    qtbot.waitUntil(lambda: isinstance(model.state, Full))
    assert texts() == [("The vault code is 1234", None)]
    blocked.list.choose(0)
    blocked.edit.click()
    dialog = dialog_of(window, BlockDialog)
    assert dialog.text.toPlainText() == "The vault code is 1234"
    dialog.text.setPlainText("The vault code is 4321")
    dialog.save.click()
    qtbot.waitUntil(lambda: texts() == [("The vault code is 4321", None)])
    qtbot.waitUntil(lambda: undo.undo_text.startswith("Blocked The vault code is 4321"))
    undo.undo()
    qtbot.waitUntil(lambda: texts() == [("The vault code is 1234", None)] and undo.can_redo)
    qtbot.waitUntil(lambda: model.lines.lines[0].text == "The vault code is 1234")
    blocked.list.choose(0)
    blocked.remove.click()
    qtbot.waitUntil(lambda: isinstance(model.state, Empty) and undo.undo_text.startswith("Allowed"))
    undo.undo()
    qtbot.waitUntil(lambda: isinstance(model.state, Full))


def test_attempts_are_counted_by_client_and_a_purged_text_is_known_by_its_hash(
    blocked: BlockedSection, open_host: EngineHost, qtbot: QtBot
) -> None:
    def job(memory: Memory) -> None:
        memory.remember("ops", "Gone for good")
        memory.purge("Gone for good", block=True)
        memory.blocked.add("Never this", "ops")
        for _ in range(2):
            with pytest.raises(BlockedValue):
                memory.remember("ops", "Never  this")

    done: list[None] = []
    open_host.write(job, done.append)
    qtbot.waitUntil(lambda: bool(done))
    blocked.look(True)
    qtbot.waitUntil(lambda: [line.mark for line in blocked._viewmodel.lines.lines] == ["2 attempts", ""])
    first, second = blocked._viewmodel.lines.lines
    assert first.text == "Never this"
    assert "ops" in first.note
    assert second.text.startswith("Known by its hash only: ")
    assert "every agent" in second.note


def test_a_very_long_blocked_value_stays_one_short_line(
    blocked: BlockedSection, open_host: EngineHost, qtbot: QtBot
) -> None:
    open_host.write(lambda memory: memory.blocked.add("long " * 20_000), lambda _: None)
    qtbot.waitUntil(lambda: bool(blocked._viewmodel.lines.lines))
    assert len(blocked._viewmodel.lines.lines[0].text) < 300


def test_a_list_that_cannot_be_read_says_so_and_can_be_tried_again(
    blocked: BlockedSection, open_host: EngineHost, qtbot: QtBot
) -> None:
    model = blocked._viewmodel
    model._on_failed(BlockedValue("The disk went away."))
    assert isinstance(model.state, Failed)
    assert blocked.list.retry.isVisible()
    blocked.list.retry.click()
    qtbot.waitUntil(lambda: isinstance(model.state, Empty))
    open_host.close_store()
    assert isinstance(model.state, Loading)
    assert not blocked.add.isEnabled()


# --- dictionary ----------------------------------------------------------------------------------------------------


@pytest.fixture
def dictionary(
    open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, window: QWidget, qtbot: QtBot
) -> DictionarySection:
    model = DictionarySettings(open_host, undo, notices, open_host)
    tester = QAbstractItemModelTester(model.lines, QAbstractItemModelTester.FailureReportingMode.Fatal)
    tester.setParent(open_host)
    section = DictionarySection(model, theme)
    placed(section, window)
    section.look(True)
    qtbot.waitUntil(section.is_settled)
    return section


def test_a_name_is_added_renamed_removed_and_each_is_one_step(
    dictionary: DictionarySection,
    open_host: EngineHost,
    undo: UndoController,
    window: QWidget,
    asked: Asked,
    qtbot: QtBot,
) -> None:
    model = dictionary._viewmodel

    def entries() -> object:
        return asked(open_host, lambda memory: memory.graph.dictionary())

    dictionary.add.click()
    dialog = dialog_of(window, EntryDialog)
    dialog.label.setText("PostgreSQL")
    dialog.kind.show_kind("project")
    dialog.names.setPlainText("Postgres\n\n pg ")
    dialog.save.click()
    qtbot.waitUntil(lambda: entries() == (DictionaryEntry("PostgreSQL", "project", ("Postgres", "pg")),))
    qtbot.waitUntil(lambda: bool(model.lines.lines))
    assert model.lines.lines[0].note == "also written Postgres, pg"
    dictionary.list.choose(0)
    dictionary.edit.click()
    dialog = dialog_of(window, EntryDialog)
    assert dialog.names.toPlainText() == "Postgres\npg"
    dialog.label.setText("Postgres DB")
    dialog.ignore.click()
    assert not dialog.kind.isEnabled()
    dialog.save.click()
    qtbot.waitUntil(lambda: [line.text for line in model.lines.lines] == ["Postgres DB"])
    assert model.lines.lines[0].mark == "never an entity"
    qtbot.waitUntil(lambda: undo.undo_text == "Wrote Postgres DB")
    undo.undo()
    qtbot.waitUntil(lambda: [line.text for line in model.lines.lines] == ["PostgreSQL"] and undo.can_redo)
    dictionary.list.choose(0)
    dictionary.remove.click()
    qtbot.waitUntil(lambda: isinstance(model.state, Empty) and undo.undo_text.startswith("Took"))
    undo.undo()
    qtbot.waitUntil(lambda: isinstance(model.state, Full))


def test_a_dictionary_goes_out_to_a_file_and_comes_in_again(
    dictionary: DictionarySection, told: list[Notice], open_host: EngineHost, tmp_path: Path, qtbot: QtBot
) -> None:
    open_host.failed.connect(dictionary._viewmodel._notices.show_failure)
    model = dictionary._viewmodel
    model.put(EntryDraft("Kestrel", "project"), lambda: None)
    qtbot.waitUntil(lambda: isinstance(model.state, Full))
    file = tmp_path / "names.json"
    model.export_file(file)
    qtbot.waitUntil(file.exists)
    qtbot.waitUntil(lambda: told[-1].text == f"Wrote {file}")
    model.remove("Kestrel")
    qtbot.waitUntil(lambda: isinstance(model.state, Empty))
    model.import_file(file)
    qtbot.waitUntil(lambda: isinstance(model.state, Full))
    for name, content, said in (
        ("bad.json", b"{}", "no dictionary"),
        ("odd.json", b"\xff\xfe", "no text in UTF-8"),
        ("none.json", None, "can't be read"),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        model.import_file(path)
        qtbot.waitUntil(partial(_was_told, told, said))
    model.export_file(tmp_path / "missing" / "names.json")
    qtbot.waitUntil(lambda: "can't be written" in told[-1].text)


def _was_told(told: list[Notice], said: str) -> bool:
    return said in told[-1].text


# --- in the window -------------------------------------------------------------------------------------------------


def section_of(app: App, kind: type[S]) -> S:
    return next(each for each in app.settings._page.sections.values() if isinstance(each, kind))


def test_the_page_is_one_key_away_and_its_sections_are_in_the_palette(open_app: App, qtbot: QtBot) -> None:
    QTest.keyClick(open_app.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    assert open_app.window.page_id == "settings"
    page = open_app.settings._page
    qtbot.waitUntil(page.is_settled)
    assert open_app.find_entries("settings blocked")[0].title == "Settings: Blocked values"
    for section_id in page.sections:
        open_app.actions.run(f"settings.{section_id}")
        assert page.section_id == section_id
        assert page.sections[section_id].isVisible()
        qtbot.waitUntil(page.is_settled)
    assert page.save_state() == {"section": "shortcuts"}
    keys = {line.text: line.mark for line in section_of(open_app, ShortcutsSection).lines.lines}
    assert keys["Settings"] == "Ctrl+,"
    open_app.actions.run("settings.appearance")
    section_of(open_app, AppearanceSection).modes["dark"].click()
    assert open_app.theme.is_dark
    assert open_app.preferences.theme == "dark"


def test_another_model_opens_the_store_again_on_the_same_page(open_app: App, qtbot: QtBot) -> None:
    open_app.actions.run("settings.consolidation")
    with qtbot.waitSignals([open_app.host.store_closed, open_app.host.store_opened]):
        open_app.settings.models.use_upkeep(UpkeepChoice(threshold=9))
    assert open_app.window.page_id == "settings"
    assert open_app.preferences.engine.upkeep.threshold == 9
    qtbot.waitUntil(open_app.settings._page.is_settled)


def test_the_ranking_lab_and_the_doctor_are_one_click_away(open_app: App, qtbot: QtBot) -> None:
    open_app.actions.run("settings.recall")
    page = open_app.settings._page
    ranking = section_of(open_app, RankingSection)
    qtbot.waitUntil(ranking.lab.isEnabled)
    ranking.lab.click()
    assert open_app.window.page_id == "search"
    search = open_app.window.pages["search"]
    assert isinstance(search, SearchPage)
    assert search.side.tab == "lab"
    open_app.actions.run("settings.keeping")
    qtbot.waitUntil(page.is_settled)
    section_of(open_app, KeepingSection).examine.click()
    assert open_app.window.page_id == "overview"
    qtbot.waitUntil(open_app.window.pages["overview"].is_settled, timeout=15_000)


def test_the_number_of_blocked_values_opens_their_list(open_app: App, qtbot: QtBot) -> None:
    open_app.show_page("overview")
    page = open_app.window.pages["overview"]
    assert isinstance(page, OverviewPage)
    qtbot.waitUntil(page.is_settled)
    titles = [figure.title for figure in page._viewmodel.figures.figures] if page._viewmodel.figures else []
    page.tiles[titles.index("Blocked values")].click()
    assert open_app.window.page_id == "settings"
    assert section_of(open_app, BlockedSection).isVisible()
    qtbot.waitUntil(open_app.settings._page.is_settled)


@pytest.mark.parametrize(
    ("section_id", "title", "kind"),
    [("blocked", "Block a value…", BlockDialog), ("dictionary", "Add a name…", EntryDialog)],
)
def test_a_list_is_added_to_from_the_palette_while_it_shows(
    open_app: App, qtbot: QtBot, section_id: str, title: str, kind: type[QDialog]
) -> None:
    assert title not in [each.title for each in open_app.find_entries(title)]
    open_app.actions.run(f"settings.{section_id}")
    qtbot.waitUntil(open_app.settings._page.is_settled)
    found = open_app.find_entries(title)[0]
    assert found.title == title
    found.run()
    dialog = open_app.window.findChild(kind)
    assert isinstance(dialog, QDialog)
    assert dialog.isVisible()
    dialog.reject()


def test_kinds_of_names_are_called_in_the_language_that_is_spoken(
    open_host: EngineHost, undo: UndoController, notices: Notices, qapp: QApplication
) -> None:
    model = DictionarySettings(open_host, undo, notices, open_host)
    assert ("person", "Person") in model.kinds
    assert ("place", "Place") in model.kinds
    speak(qapp, "de")
    try:
        assert ("place", "Ort") in model.kinds
    finally:
        speak(qapp, "en")


def test_names_stand_beside_their_chips_as_beside_a_field(open_app: App, qtbot: QtBot) -> None:
    open_app.show_page("settings")
    page = open_app.window.pages["settings"]
    assert isinstance(page, SettingsPage)
    page.open_section("appearance")
    section = page.sections["appearance"]
    assert isinstance(section, AppearanceSection)
    name = next(each for each in section.findChildren(QLabel) if each.text() == "Theme")
    chip = section.modes["light"]
    qtbot.waitUntil(chip.isVisible)
    text = name.contentsRect().center() + name.mapTo(section, QPoint())
    assert abs(text.y() - chip.mapTo(section, chip.rect().center()).y()) <= 1


def test_the_picture_of_an_empty_store_shows_what_such_a_store_has_not(open_app: App) -> None:
    open_app.show_page("settings")
    page = open_app.window.pages["settings"]
    assert isinstance(page, SettingsPage)
    page.open_section("shortcuts")
    page.prepare_empty_screenshot()
    assert page.section_id == "keeping"
