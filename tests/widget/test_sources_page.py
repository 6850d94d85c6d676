"""The Sources page: who is asked, how each answered, a hit opened and kept, sources added and removed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_time
from gm_desktop.i18n import use_language
from gm_desktop.notices import Notice, Notices
from gm_desktop.sources_desk import source_places
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.source_settings import fields_of, settings_from
from gm_desktop.viewmodels.source_words import details, verdict
from gm_desktop.viewmodels.sources import Greeting, Places, SourceDraft, SourcesViewModel
from gm_desktop.views.sources import SOURCE, SourcesPage
from gm_desktop.widgets.line_view import LINE_INDENT
from gm_engine import FactQuery, Memory, SourceRef
from gm_engine.clock import format_ns
from gm_engine.errors import NotFound
from gm_engine.recall_protocol.adapter_settings import SETTINGS_SCHEMA
from gm_engine.recall_protocol.joint_answer import SourceAnswer, SourceOutcome, join
from gm_engine.recall_protocol.payloads import Candidate
from gm_engine.recall_protocol.source_config import SourceConfig, SourcesFile
from tests.fakes.command_line import ROOT
from tests.fakes.other_source import MANIFEST
from tests.fakes.recall_peers import misbehaving

OTHER = str(ROOT / "tests" / "fakes" / "other_source.py")


@pytest.fixture
def file(tmp_path: Path) -> SourcesFile:
    return SourcesFile(tmp_path / "config" / "sources.toml")


@pytest.fixture
def viewmodel(
    open_host: EngineHost, undo: UndoController, notices: Notices, file: SourcesFile, tmp_path: Path, qtbot: QtBot
) -> Iterator[SourcesViewModel]:
    remembered: list[object] = []
    open_host.write(lambda memory: memory.remember("ops", "Rollbacks take five minutes."), remembered.append)
    qtbot.waitUntil(lambda: bool(remembered))
    made = SourcesViewModel(open_host, undo, notices, Places(file.path, tmp_path / "state"))
    made._on_opened()
    qtbot.waitUntil(lambda: made.agents == ("ops",))
    yield made
    open_host.close_store()
    made.deleteLater()


@pytest.fixture
def page(viewmodel: SourcesViewModel, theme: Theme, qtbot: QtBot) -> SourcesPage:
    made = SourcesPage(viewmodel, theme)
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def configure(file: SourcesFile, *modes: str, deadline_s: float = 20.0) -> None:
    for number, mode in enumerate(modes):
        file.add(SourceConfig(f"uid-{number}", mode, sys.executable, (OTHER, mode), deadline_s=deadline_s))


def settled(qtbot: QtBot, viewmodel: SourcesViewModel) -> None:
    qtbot.waitUntil(lambda: not viewmodel.is_waiting)


def test_each_source_says_how_it_is(page: SourcesPage, file: SourcesFile, qtbot: QtBot) -> None:
    configure(file, "notes", "partial")
    file.add(SourceConfig("uid-9", "absent", "no-such-program-anywhere"))
    page.activate()
    settled(qtbot, page.viewmodel)
    assert [(line.key, line.mark, line.tone) for line in page.viewmodel.lines.lines] == [
        ("memory", "Degraded", "warning"),  # its fact has no vector yet
        ("notes", "Healthy", "success"),
        ("partial", "Degraded", "warning"),
        ("absent", "Failed", "danger"),
    ]
    assert page.viewmodel.lines.lines[3].note == "Its command cannot be started"
    page._on_chosen("partial")
    rows = {name: value for name, value, _ in page.viewmodel.details}
    assert (rows["Coverage"], rows["Adapter"], rows["Protocol"]) == (
        "Seen in part",
        "Notes for tests (test-notes)",
        "Version 1",
    )
    assert {"Cold start", "Started", "Command", "Ceiling", "Prior", "Waits"} <= set(rows)
    assert page.source.said.toPlainText() == "reading notes in mode partial"
    assert page.tabs.currentIndex() == SOURCE
    assert page.source.remove.isVisible()
    top = page.source.title.geometry().center().y()
    page._on_chosen("memory")
    assert ("Note", "Facts without a vector: 1", "") in page.viewmodel.details
    assert page.viewmodel.lines.lines[0].note == "Seen in part"
    assert not page.source.remove.isVisible()
    qtbot.waitUntil(lambda: page.source.title.geometry().center().y() == top)


def test_what_a_source_keeps_is_said_in_the_language_of_the_window_but_for_words_of_its_own(
    page: SourcesPage, file: SourcesFile, qtbot: QtBot
) -> None:
    configure(file, "notes")
    page.activate()
    settled(qtbot, page.viewmodel)
    known = page.viewmodel._health["notes"]
    assert known.manifest is not None
    strange = replace(known, manifest=replace(known.manifest, record_types=("note", "haiku")))
    use_language("de")
    try:
        page._on_chosen("notes")
        rows = {name: value for name, value, _ in page.viewmodel.details}
        mixed = {name: value for name, value, _ in details(None, strange)}
        page.viewmodel.search("rollback")
        settled(qtbot, page.viewmodel)
    finally:
        use_language("en")
    assert (rows["Einträge"], rows["Suchen"], rows["Vergangenheit"]) == ("Notiz", "Wörter", "Wird nicht aufbewahrt")
    assert (rows["Vertraulichkeit"], rows["Obergrenze"], rows["Abdeckung"]) == ("Intern", "Vertraulich", "Vollständig")
    assert mixed["Einträge"] == "Notiz, haiku"
    assert {line.note.partition("  ·  ")[0] for line in page.viewmodel.hits.lines} == {"Notiz", "Fakt"}


def test_one_question_shows_hits_in_one_order_and_a_chip_for_everybody(
    page: SourcesPage, file: SourcesFile, qtbot: QtBot
) -> None:
    configure(file, "notes", "broken")
    page.search.query.setText("rollback")
    QTest.keyClick(page.search.query, Qt.Key.Key_Return)
    assert page.search.verdict.text() == "Asking…"
    settled(qtbot, page.viewmodel)
    assert [chip.text for chip in page.viewmodel.chips] == ["Memory: 1 hit, in part", "notes: 2 hits", "broken: failed"]
    assert "it ended in the middle" in page.viewmodel.chips[2].sentence
    assert [line.mark for line in page.viewmodel.hits.lines] == ["Memory", "notes", "notes"]
    assert page.search.verdict.text() == "3 hits; no answer from broken; only a part of Memory was seen."
    lefts = [each.mapTo(page, QPoint()).x() for each in (page.search.query, page.search.verdict, page.search.hits)]
    assert lefts == [lefts[0], lefts[0], lefts[0] - LINE_INDENT]  # the texts of hits stand below the field


def test_how_many_hits_were_found_is_said_where_the_list_ends_early() -> None:
    def part(source_id: str, *texts: str) -> SourceAnswer:
        found = tuple(
            Candidate(text, text, f"{source_id}:{at}", "note", text, at, "internal", content_fingerprint=text)
            for at, text in enumerate(texts, 1)
        )
        return SourceAnswer(SourceOutcome(source_id, "answered", found=len(found)), found, 1.0)

    parts = [part("a", "one", "two", "three"), part("b", "one", "four")]
    assert verdict(join("q", parts, limit=2)) == "2 of 4 hits."
    assert verdict(join("q", parts, limit=9)) == "4 hits."  # one was found by both


def test_nothing_found_is_only_said_when_all_have_looked(
    viewmodel: SourcesViewModel, page: SourcesPage, file: SourcesFile, qtbot: QtBot
) -> None:
    configure(file, "nothing", "denied")
    done: list[bool] = []

    def prepare(memory: Memory) -> bool:
        memory.retire("ops", memory.resolve("ops", "Rollbacks take five minutes."))
        return True

    viewmodel._host.write(prepare, done.append)
    qtbot.waitUntil(lambda: bool(done))
    viewmodel.search("zeppelin")
    settled(qtbot, viewmodel)
    assert viewmodel.verdict == "No hits; no answer from denied."
    viewmodel._host.ask(lambda memory: viewmodel._opened_sources(memory).remove("denied"), lambda _: None)
    viewmodel.search("zeppelin")
    settled(qtbot, viewmodel)
    assert viewmodel.verdict == "Nothing found: every source has looked."


def test_a_hit_is_opened_and_kept(
    page: SourcesPage, file: SourcesFile, open_host: EngineHost, told: list[Notice], qtbot: QtBot
) -> None:
    configure(file, "notes")
    page.viewmodel.search("rollback")
    settled(qtbot, page.viewmodel)
    page.viewmodel.select_hit("notes:note/n2")
    settled(qtbot, page.viewmodel)
    assert page.search.content.text == "The lease of the harbour office was signed in 2024."
    assert page.search.keep.isEnabled()
    page.search.keep_hit()
    qtbot.waitUntil(lambda: bool(told))
    assert told[-1].text == "Kept for ops."
    kept: list[tuple[SourceRef, ...]] = []

    def sources_of(memory: Memory) -> tuple[SourceRef, ...]:
        (fact_id,) = memory.resolve("ops", "The lease of the harbour office was signed in 2024.")
        return memory.get(fact_id).origin.sources

    open_host.read(sources_of, kept.append)
    qtbot.waitUntil(lambda: bool(kept))
    assert kept == [(SourceRef("locator", "notes:note/n2"),)]
    memory_hit = next(line.key for line in page.viewmodel.hits.lines if line.key.startswith("memory:"))
    page.viewmodel.select_hit(memory_hit)
    settled(qtbot, page.viewmodel)
    assert page.search.content.text
    assert not page.search.keep.isEnabled()


def test_a_hit_of_memory_says_when_it_was_written_as_every_page_does(
    page: SourcesPage, open_host: EngineHost, qtbot: QtBot
) -> None:
    page.viewmodel.search("rollback")
    settled(qtbot, page.viewmodel)
    (hit,) = page.viewmodel.hits.lines
    page.viewmodel.select_hit(hit.key)
    settled(qtbot, page.viewmodel)
    created: list[int] = []
    open_host.read(lambda memory: memory.facts(memory.fact_ids(FactQuery()))[0].created_ns, created.append)
    qtbot.waitUntil(lambda: bool(created))
    assert f"written {local_time(created[0])} by" in page.search.provenance.text()
    assert page.search.provenance.toolTip() == format_ns(created[0])
    page.viewmodel.select_hit("memory:nothing")
    settled(qtbot, page.viewmodel)
    assert page.search.provenance.toolTip() == ""


def test_what_cannot_be_opened_says_why(page: SourcesPage, file: SourcesFile, qtbot: QtBot) -> None:
    configure(file, "notes")
    page.viewmodel.select_hit("notes:note/n9")
    settled(qtbot, page.viewmodel)
    assert page.viewmodel.provenance == "The source refused: gone."
    assert not page.search.keep.isEnabled()


def test_a_search_is_not_held_up_by_a_look_that_hangs(page: SourcesPage, file: SourcesFile, qtbot: QtBot) -> None:
    configure(file, "slow", deadline_s=0.3)
    page.viewmodel.look()
    page.viewmodel.search("rollback")
    settled(qtbot, page.viewmodel)
    assert [chip.text for chip in page.viewmodel.chips][1] == "slow: failed"
    qtbot.waitUntil(lambda: len(page.viewmodel.lines.lines) == 2)


def test_a_source_is_tried_and_added_with_its_own_settings(page: SourcesPage, file: SourcesFile, qtbot: QtBot) -> None:
    page.open_dialog()
    dialog = page.dialog
    assert dialog is not None
    assert not dialog.save.isEnabled()
    dialog.name.setText("notes")
    dialog.command.setText(sys.executable)
    dialog.arguments.setText(f"'{OTHER}' notes")
    with qtbot.waitSignal(page.viewmodel.greeted):
        dialog.try_out.click()
    assert dialog.said.text() == "Notes for tests answers; protocol 1; it has note."
    assert [*dialog.settings] == ["folder", "depth", "archived", "order", "tags"]
    for name, text in (("folder", "here"), ("depth", "zero"), ("tags", "a, b")):
        field = dialog.settings[name]
        field.setText(text)  # type: ignore[union-attr]
    dialog.save.click()
    assert dialog.said.text() == "Depth is not understood: zero"
    dialog.settings["depth"].setText("2")  # type: ignore[union-attr]
    dialog.save.click()
    qtbot.waitUntil(lambda: page.viewmodel.selected_source == "notes" and not page.viewmodel.is_waiting)
    (made,) = file.load()
    assert made.settings == {"folder": "here", "depth": 2, "tags": ["a", "b"]}
    assert (made.command, made.args) == (sys.executable, (OTHER, "notes"))
    page.viewmodel.remove()
    qtbot.waitUntil(lambda: page.viewmodel.selected_source == "memory")
    assert file.load() == ()
    settled(qtbot, page.viewmodel)


def test_names_stand_beside_their_fields_and_fields_end_above_the_buttons(
    page: SourcesPage, theme: Theme, qtbot: QtBot
) -> None:
    page.open_dialog()
    dialog = page.dialog
    assert dialog is not None
    theme.dress(dialog)
    qtbot.waitUntil(lambda: dialog.name.height() > 28)
    for field in (dialog.name, dialog.waits):
        (label,) = (each for each in dialog.findChildren(QLabel) if each.text() == field.accessibleName())
        middle = label.y() + label.contentsRect().top() + label.fontMetrics().height() // 2
        assert abs(middle - field.geometry().center().y()) <= 1, field.accessibleName()
    rights = [each.mapTo(dialog, each.rect().topRight()).x() for each in (dialog.name, dialog.save)]
    assert rights == [dialog.width() - MARGIN - 1] * 2


def test_a_program_that_is_no_adapter_is_told_in_the_dialog(page: SourcesPage, qtbot: QtBot) -> None:
    page.open_dialog()
    dialog = page.dialog
    assert dialog is not None
    dialog.command.setText("no-such-program-anywhere")
    with qtbot.waitSignal(page.viewmodel.greeted):
        dialog.try_out.click()
    assert "cannot be started" in dialog.said.text()
    assert dialog.settings == {}
    dialog.arguments.setText("'open")
    assert dialog.draft() is None
    dialog.reject()


def test_a_wrong_file_is_said_where_the_list_is(page: SourcesPage, file: SourcesFile, qtbot: QtBot) -> None:
    file.path.parent.mkdir()
    file.path.write_text("[[source]]\n", encoding="utf-8")
    file.path.chmod(0o600)
    page.viewmodel.look()
    settled(qtbot, page.viewmodel)
    assert "has no uid" in page.failure.text()
    assert page.failure.isVisible()


def test_closing_the_store_ends_what_is_asked(
    page: SourcesPage, file: SourcesFile, open_host: EngineHost, qtbot: QtBot
) -> None:
    configure(file, "slow")
    page.viewmodel.search("rollback")
    open_host.close_store()
    assert (page.viewmodel.chips, page.viewmodel.hits.lines, page.viewmodel.is_waiting) == ((), (), False)
    qtbot.waitUntil(lambda: page.viewmodel._sources is None)


def test_closing_the_store_does_not_wait_for_a_hit_that_never_opens(
    page: SourcesPage, file: SourcesFile, open_host: EngineHost, qtbot: QtBot
) -> None:
    program, *arguments = misbehaving("nothing")  # it answers searches only
    file.add(SourceConfig("uid-0", "mute", program, tuple(arguments), deadline_s=60.0))
    page.viewmodel.select_hit("mute:x")

    def is_asked() -> bool:
        sources = page.viewmodel._sources
        return sources is not None and sources._supervisor.status("mute").is_running

    qtbot.waitUntil(is_asked)
    open_host.close_store()
    qtbot.waitUntil(lambda: page.viewmodel._sources is None)
    assert page.viewmodel.content == ""


def test_a_look_given_up_for_a_search_is_begun_again_when_the_search_fails(
    page: SourcesPage, file: SourcesFile, qtbot: QtBot
) -> None:
    configure(file, "slow")
    page.viewmodel.look()
    page.viewmodel.search("rollback")
    page.viewmodel._on_search_failed(NotFound("It failed."))
    assert page.viewmodel.is_looking
    page.viewmodel.stop()
    settled(qtbot, page.viewmodel)
    assert page.look.isEnabled()


def test_an_agent_that_comes_later_can_keep_hits_too(page: SourcesPage, open_host: EngineHost, qtbot: QtBot) -> None:
    open_host.write(lambda memory: memory.remember("desk", "Calls come on Mondays."), lambda _: None)
    qtbot.waitUntil(lambda: page.search.agent.count() == 2)
    assert page.viewmodel.agents == ("desk", "ops")


# Forms ----------------------------------------------------------------------------------------------------------------


def test_a_schema_becomes_fields_and_fields_become_settings() -> None:
    fields = fields_of(MANIFEST["settings_schema"], {"depth": 4, "tags": ["x", "y"]})
    assert [(field.name, field.kind, field.value) for field in fields] == [
        ("folder", "text", ""),
        ("depth", "whole", "4"),
        ("archived", "switch", ""),
        ("order", "choice", ""),
        ("tags", "several", "x, y"),
    ]
    assert fields[1].hint == "From 1 to 9. Without it: 3."
    filled = {"folder": " a ", "depth": "7", "archived": "true", "order": "oldest", "tags": "p, ,q"}
    assert settings_from(fields, filled) == (
        {"folder": "a", "depth": 7, "archived": True, "order": "oldest", "tags": ["p", "q"]},
        "",
    )
    assert fields_of(None) == ()
    assert fields_of({"properties": 3}) == ()


def test_a_form_that_is_refused_stays_filled_in_and_says_why(
    page: SourcesPage, file: SourcesFile, qtbot: QtBot
) -> None:
    page.open_dialog()
    dialog = page.dialog
    assert dialog is not None
    dialog.name.setText("My Notes")
    dialog.command.setText(sys.executable)
    dialog.arguments.setText(f"'{OTHER}' notes")
    dialog.save.click()
    qtbot.waitUntil(dialog.save.isEnabled)
    assert dialog.isVisible()
    assert "small letters" in dialog.said.text()
    assert dialog.arguments.text() == f"'{OTHER}' notes"
    dialog.name.setText("my-notes")
    dialog.save.click()
    qtbot.waitUntil(lambda: page.viewmodel.selected_source == "my-notes" and not page.viewmodel.is_waiting)
    assert [made.id for made in file.load()] == ["my-notes"]


def test_our_own_settings_make_a_form_too() -> None:
    kinds = {field.name: field.kind for field in fields_of(SETTINGS_SCHEMA)}
    assert kinds == {
        "agents": "several",
        "include_shared": "switch",
        "sensitivity": "choice",
        "min_confidence": "choice",
        "confidence_weight": "number",
        "top_k_cap": "whole",
    }


def test_a_needed_setting_and_a_strange_one() -> None:
    fields = fields_of({"properties": {"key": {"type": "string"}, "map": {"type": "object"}}, "required": ["key"]})
    assert settings_from(fields, {"map": "{}"}) == ({}, "Key is needed.")
    assert settings_from(fields, {"key": "k", "map": '{"a": 1}'}) == ({"key": "k", "map": {"a": 1}}, "")
    assert settings_from(fields, {"key": "k", "map": "{"})[1] == "Map is not understood: {"


def test_the_file_stands_beside_the_preferences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAYMATTER_SOURCES", raising=False)
    assert source_places(tmp_path) == Places(tmp_path / "sources.toml", tmp_path / "sources")
    monkeypatch.setenv("GRAYMATTER_SOURCES", str(tmp_path / "other.toml"))
    assert source_places(tmp_path).file == tmp_path / "other.toml"
    assert Greeting("x") == Greeting("x", (), False)
    assert SourceDraft().settings == {}


def test_nothing_of_a_closed_store_is_left_when_another_is_opened(
    page: SourcesPage, file: SourcesFile, open_host: EngineHost, tmp_path: Path, qtbot: QtBot
) -> None:
    configure(file, "notes")
    page.activate()
    page.search.query.setText("rollback")
    page.search.ask()
    settled(qtbot, page.viewmodel)
    page._open_first_hit()
    settled(qtbot, page.viewmodel)
    assert page.viewmodel.hits.lines
    assert page.viewmodel.content
    with qtbot.waitSignal(open_host.store_opened):
        open_host.open_store(tmp_path / "another")
    assert page.search.query.text() == page.search.verdict.text() == page.viewmodel.content == ""
    assert not page.viewmodel.hits.lines
    assert not page.viewmodel.chips
    assert page.search.nothing.isVisible()
    assert not page.search._opened.isVisible()
    page.activate()
    settled(qtbot, page.viewmodel)
    assert [line.key for line in page.viewmodel.lines.lines] == ["memory", "notes"]
