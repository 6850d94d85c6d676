"""The help: every subject readable, every link and shortcut in it real, the example's numbers those of the demo."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication

from gm_desktop import help_pages
from gm_desktop.app import App
from gm_desktop.help_pages import ORDER, find_help, load_help
from gm_desktop.i18n import LANGUAGES
from gm_desktop.pages import ENTRIES
from gm_desktop.palette import find
from gm_desktop.theme import MARGIN, READING_WIDTH
from gm_desktop.views.help_window import HelpWindow
from gm_engine import FactQuery, Memory
from gm_engine.clock import SystemClock
from gm_engine.demo import build_demo
from gm_engine.resources import resource

PAGES = {page.id: page for page in load_help()}
LINK = re.compile(r"\[\[([^|\]]+)")
CHORD = re.compile(r"(?:Ctrl|Shift)\+[\w+]+|\bF\d{1,2}\b")


def _window(app: App) -> HelpWindow:
    return next(each for each in QApplication.topLevelWidgets() if isinstance(each, HelpWindow) and each.isVisible())


def test_every_file_of_the_help_is_a_subject_and_every_subject_has_a_heading() -> None:
    assert {path.stem for path in resource("help").glob("*.md")} == set(ORDER)
    assert all(page.title and len(page.text) > 200 for page in PAGES.values())
    assert len({page.title for page in PAGES.values()}) == len(PAGES)


@pytest.mark.parametrize("subject", ORDER)
def test_the_links_of_the_help_lead_to_subjects(subject: str) -> None:
    assert set(LINK.findall(PAGES[subject].text)) <= set(ORDER)


@pytest.mark.parametrize("subject", ORDER)
def test_the_shortcuts_that_the_help_names_exist(open_app: App, subject: str) -> None:
    known = {spec.shortcut for spec in open_app.actions.specs()} | {"Ctrl+A", "Ctrl+Enter", "Ctrl+Return"}
    named = {QKeySequence(keys).toString() for keys in CHORD.findall(PAGES[subject].text)}
    assert named <= {QKeySequence(keys).toString() for keys in known}


def test_f1_opens_the_help_of_the_page_in_view(open_app: App) -> None:
    open_app.show_page("graph")
    open_app.actions.run("help.show")
    shown = _window(open_app)
    assert shown.subject_id == "graph"
    assert "Colour is the kind of entity" in shown.text.toPlainText()
    open_app.show_page("vault")
    open_app.actions.run("help.show")
    assert shown.subject_id == "vault"
    shown.close()


def test_a_link_opens_its_subject_even_when_the_search_hides_it(open_app: App) -> None:
    open_app.help.open("search")
    shown = _window(open_app)
    shown.line.setText("ranking lab")
    assert shown.subject_id == "search"
    shown.show_subject("ranking")
    assert shown.subject_id == "ranking"
    shown.line.setText("zebra crossing")
    assert shown.subject_id == ""
    assert shown.nothing.isVisible()
    assert not shown.list.isVisible()
    shown.close()


def test_the_help_is_found_by_its_words() -> None:
    pages = tuple(PAGES.values())
    assert [page.id for page in find_help(pages, "")] == list(ORDER)
    assert find_help(pages, "Vault")[0].id == "vault"
    assert "trouble" in {page.id for page in find_help(pages, "store is busy")}


def test_accents_need_not_be_typed_to_find_a_subject() -> None:
    assert find_help(load_help("es"), "boveda")[0].id == "vault"
    assert find_help(load_help("de"), "prufung")[0].id == "review"
    assert "consolidate" in {page.id for page in find_help(load_help("es"), "contradiccion")}


def test_a_subject_without_a_translation_is_shown_in_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(resource("help"), tmp_path / "help")
    (tmp_path / "help" / "de" / "vault.md").unlink()
    monkeypatch.setattr(help_pages, "resource", tmp_path.joinpath)
    titles = {page.id: page.title for page in load_help("de")}
    assert (titles["vault"], titles["settings"]) == ("Vault", "Einstellungen")
    assert "Publishes the memory" in next(page.text for page in load_help("de") if page.id == "vault")
    assert load_help("en-XA") == tuple(PAGES.values())


def test_the_palette_finds_subjects_and_pages_come_first(open_app: App) -> None:
    entries = {page.title: open_app.find_entries(page.title)[0].group for page in ENTRIES}
    assert set(entries.values()) == {"Go"}
    assert any(each.group == "Help" for each in open_app.find_entries("troubleshooting"))
    assert find("privacy", open_app.help.entries())[0].title == "Help: Privacy"


def test_the_examples_of_help_and_read_me_are_what_the_demo_answers(tmp_path: Path) -> None:
    build_demo(tmp_path / "demo", clock=SystemClock())
    read_me = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    asked = re.search(r'recall (\S+) "([^"]+)"', read_me)
    revised = re.search(r'revise (\S+) "([^"]+)"', read_me)
    assert asked is not None
    assert revised is not None
    texts = {each: next(page.text for page in load_help(each) if page.id == "ranking") for each in LANGUAGES}
    question = re.search(r"ask `([^`]+)`", texts["en"])
    assert question is not None
    with Memory.open(tmp_path / "demo", background=False) as memory:
        memory.wait_for_embeddings()
        plain = memory.recall_explain("support-desk", question[1], preview=True, top_k=2).receipts
        weighted = memory.recall_explain("support-desk", question[1], preview=True, confidence_weight=0.2).receipts
        best = memory.recall_explain(asked[1], asked[2], preview=True, top_k=1).receipts[0]
        assert revised[2] in {fact.text for fact in memory.facts(memory.fact_ids(FactQuery(agent_id=revised[1])))}
        seq = memory.last_seq() + 2  # demo reads the facts for the graph, then comes the revision
    assert f"{best.fact.text}\n      {best.ranks.fused_score:.6f} = " in read_me
    assert f"/(60+{best.ranks.recency_rank}) recency" in read_me
    assert f"undo {seq}\n" in read_me
    assert plain[1].fact.id == weighted[1].fact.id
    scores = [receipt.ranks.fused_score for receipt in plain] + [weighted[1].final_score]
    for language, text in texts.items():
        mark = "." if language == "en" else ","
        assert f"`{question[1]}`" in text
        assert f"> {plain[0].fact.text}" in text
        assert [score for score in scores if f"{score:.6f}".replace(".", mark) not in text] == []


@pytest.mark.parametrize("width", [700, 940, 1900])
def test_the_lines_of_the_help_are_easy_to_follow_in_a_window_of_any_width(open_app: App, width: int) -> None:
    open_app.actions.run("help.show")
    shown = _window(open_app)
    shown.resize(width, 680)
    bar = shown.text.verticalScrollBar()
    assert shown.text.viewport().width() <= READING_WIDTH
    assert shown.text.viewport().geometry().right() + MARGIN <= bar.mapTo(shown.text, bar.rect().topLeft()).x() + 1
    assert bar.mapTo(shown, bar.rect().topRight()).x() >= shown.width() - 4
