"""The Vault page: the plan before a publish, a note rendered without anything active, edits that come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.models.note_preview import preview_html
from gm_desktop.models.plan_tree import NODE_ROLE
from gm_desktop.viewmodels.publish import ProfileDraft
from gm_desktop.viewmodels.states import Full
from gm_desktop.views.publish import PublishPage
from gm_engine import FactQuery, Memory

WAIT_MS = 20_000


@pytest.fixture
def page(open_app: App, tmp_path: Path) -> PublishPage:
    (tmp_path / "vault").mkdir()
    open_app.show_page("vault")
    open_app.publishing.choose(vault=str(tmp_path / "vault"))
    found = open_app.window.pages["vault"]
    assert isinstance(found, PublishPage)
    return found


def publish(app: App, qtbot: QtBot) -> None:
    app.publishing.publish()
    qtbot.waitUntil(lambda: not app.publishing.is_publishing, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: app.vault.watch.is_watching and not app.vault.watch.is_waiting, timeout=WAIT_MS)


def fact_note(vault: Path) -> Path:
    return min((vault / "Memory" / "Facts").rglob("*.md"))


def edit(path: Path) -> str:
    text = path.read_text()
    old = text.split("\n> ", 1)[1].split(" ^f-")[0]
    path.write_text(text.replace(f"> {old}", f"> {old} Edited.", 1))
    return old


def _texts(memory: Memory) -> tuple[str, ...]:
    return tuple(fact.text for fact in memory.facts(memory.fact_ids(FactQuery())))


def test_the_plan_says_what_publishing_would_do_and_shows_a_note(
    open_app: App, page: PublishPage, qtbot: QtBot, tmp_path: Path
) -> None:
    open_app.actions.refresh()
    open_app.actions.run("vault.compare")
    qtbot.waitUntil(lambda: isinstance(open_app.vault.plan.state, Full), timeout=WAIT_MS)
    tree = open_app.vault.plan.tree
    assert tree.index(0, 0).data().startswith("New (")
    rows = [tree.index(row, 0, tree.index(0, 0)) for row in range(tree.rowCount(tree.index(0, 0)))]
    note = next(row for row in rows if "/Facts/" in row.data())
    open_app.vault.plan.select(note.data(NODE_ROLE))
    qtbot.waitUntil(lambda: open_app.vault.plan.note is not None and not open_app.vault.plan.is_waiting)
    qtbot.waitUntil(lambda: page.plan.path.text() == note.data())
    assert "mem_id" in page.plan.raw.raw_text()
    assert "graymatter:begin" not in page.plan.preview.toPlainText()
    assert "+mem_kind: fact" in page.plan.diff.raw_text()
    assert not (tmp_path / "vault" / "Memory").exists()


def test_an_edit_in_the_vault_is_accepted_with_one_key_and_undone(
    open_app: App, page: PublishPage, qtbot: QtBot, tmp_path: Path
) -> None:
    publish(open_app, qtbot)
    old = edit(fact_note(tmp_path / "vault"))
    cards = open_app.vault.cards
    qtbot.waitUntil(lambda: len(cards.cards.lines) == 1 and not cards.is_waiting, timeout=WAIT_MS)
    assert "Inbox (1)" in page.tabs.tabText(2)
    page.tabs.setCurrentWidget(page.inbox)
    page.inbox.cards.list.setFocus()
    qtbot.waitUntil(lambda: cards.can_accept)
    open_app.actions.refresh()
    QTest.keyClick(page.inbox.cards.list, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: not cards.cards.lines and not cards.is_waiting, timeout=WAIT_MS)
    answers: list[tuple[str, ...]] = []

    open_app.host.read(_texts, answers.append)
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert f"{old} Edited." in answers[0]
    open_app.undo.undo()
    qtbot.waitUntil(lambda: len(cards.cards.lines) == 1, timeout=WAIT_MS)


def test_a_profile_is_kept_with_the_store_and_chosen(open_app: App, page: PublishPage, qtbot: QtBot) -> None:
    draft = ProfileDraft("Home", "a, b", "struck", "markdown", "DD.MM.YYYY", {"canvas": False}, ("pin",))
    open_app.publishing.save_draft(draft)
    qtbot.waitUntil(lambda: open_app.publishing.profile_names == ("Home",), timeout=WAIT_MS)
    made = open_app.publishing.profile()
    assert (made.name, made.options.agents, made.options.retired, made.options.canvas) == (
        "Home",
        ("a", "b"),
        "struck",
        False,
    )
    assert (made.options.links, made.options.date_format, made.auto_accept) == ("markdown", "DD.MM.YYYY", ("pin",))
    open_app.publishing.choose_profile("")
    assert open_app.publishing.profile().options.canvas


def test_the_inbox_says_what_fills_it(open_app: App, page: PublishPage, qtbot: QtBot) -> None:
    page.tabs.setCurrentWidget(page.inbox)
    qtbot.waitUntil(lambda: not open_app.vault.cards.is_waiting)
    shown = [label.text() for label in page.inbox.findChildren(QLabel) if label.isVisible()]
    assert any("Obsidian" in text for text in shown)


def test_a_rendered_note_is_never_active() -> None:
    hostile = (
        "---\nmem_id: '<b>'\ntags:\n  - a<script>\n---\n%% graymatter:begin %%\n> Text <script>x</script> ^f-1\n\n"
        "[[Memory/Agents/a|shown & told]] ![x](http://e.org/x.png) <img src=x> [a](javascript:b)\n"
        "%% graymatter:end 0 %%\n"
    )
    html = preview_html(hostile)
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert '<a href="note:Memory/Agents/a">shown &amp; told</a>' in html
    assert "graymatter:" not in html
    assert "^f-1" not in html
