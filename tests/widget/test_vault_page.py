"""The Vault page: the plan before a publish, a note rendered without anything active, edits that come back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from exporters.obsidian import apart, watching
from exporters.obsidian.apart import ChildEnded
from exporters.obsidian.jobs import Job, Publishing, ReadingEdits
from gm_desktop.app import App
from gm_desktop.models.note_preview import preview_html
from gm_desktop.models.plan_tree import NODE_ROLE
from gm_desktop.notices import sentence_for
from gm_desktop.viewmodels.publish import ProfileDraft, Published, Ready
from gm_desktop.viewmodels.states import Full
from gm_desktop.viewmodels.vault_links import Checked
from gm_desktop.views.profile_dialog import ProfileDialog
from gm_desktop.views.publish import PublishPage, open_in_obsidian
from gm_engine import CancelToken, FactQuery, Memory, Progress
from tests.fakes.jobs import Waiting

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
    assert open_app.undo.undo_text == f"Revised to “{old} Edited.”"
    answers: list[tuple[str, ...]] = []

    open_app.host.read(_texts, answers.append)
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert f"{old} Edited." in answers[0]
    open_app.undo.undo()
    qtbot.waitUntil(lambda: len(cards.cards.lines) == 1, timeout=WAIT_MS)


def test_enter_in_a_field_takes_the_value_over_and_publishes_nothing(
    open_app: App, page: PublishPage, tmp_path: Path
) -> None:
    vault, folder, button = page._vault, page._folder, page._publish
    vault.setFocus()
    QTest.keyClick(vault, Qt.Key.Key_Return)
    assert page.window().focusWidget() is folder
    QTest.keyClicks(folder, "s")
    QTest.keyClick(folder, Qt.Key.Key_Enter)
    assert open_app.publishing.folder == "Memorys"
    assert page.window().focusWidget() is button
    assert isinstance(open_app.publishing.state, Ready)
    assert list((tmp_path / "vault").iterdir()) == []
    assert button.y() > page._profiles.geometry().bottom(), "the deed stands below what it needs, not in the row of one"


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


def test_links_are_checked_and_those_that_lead_nowhere_are_listed(
    open_app: App, page: PublishPage, qtbot: QtBot, tmp_path: Path
) -> None:
    publish(open_app, qtbot)
    links = open_app.vault.links
    open_app.actions.refresh()
    open_app.actions.run("vault.check_links")
    qtbot.waitUntil(lambda: isinstance(links.state, Checked), timeout=WAIT_MS)
    assert page.links.fine.isVisible()
    gone = fact_note(tmp_path / "vault")
    gone.unlink()
    page.links.check.click()
    qtbot.waitUntil(page.links.list.isVisible, timeout=WAIT_MS)
    assert gone.stem in page.links.list.raw_text()
    open_app.publishing.choose(folder="Other")
    assert not page.links.list.isVisible(), "what was found in one folder is not said of another"
    page.links.check.click()
    qtbot.waitUntil(lambda: not links.is_waiting, timeout=WAIT_MS)
    assert "Nothing was published" in page.links.sentence.text()


def test_notes_of_retired_facts_go_to_the_trash_by_a_button(
    open_app: App, page: PublishPage, qtbot: QtBot, tmp_path: Path
) -> None:
    publish(open_app, qtbot)

    def retire(memory: Memory) -> None:
        fact = memory.facts(memory.fact_ids(FactQuery()))[0]
        memory.retire(fact.agent_id, [fact.id])

    done: list[None] = []
    open_app.host.write(retire, done.append)
    qtbot.waitUntil(lambda: bool(done))
    publish(open_app, qtbot)

    def buttons() -> list[QPushButton]:
        found = page.findChildren(QPushButton)
        return [each for each in found if each.isVisible() and each.text() == "Move to the vault's trash"]

    qtbot.waitUntil(lambda: len(buttons()) == 1)  # what is added to a visible page is shown a moment later
    assert not (tmp_path / "vault" / ".trash").exists()
    buttons()[0].click()
    qtbot.waitUntil(lambda: not open_app.publishing.is_publishing, timeout=WAIT_MS)
    assert len(list((tmp_path / "vault" / ".trash").rglob("*.md"))) == 1
    qtbot.waitUntil(lambda: not open_app.vault.watch.is_waiting, timeout=WAIT_MS)


def test_a_note_opens_in_obsidian_or_else_in_the_file_manager(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url.toString())
        return url.scheme() == "file"

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    open_in_obsidian(tmp_path / "a b.md")
    assert opened[0].startswith("obsidian://open?path=")
    assert opened[1] == QUrl.fromLocalFile(str(tmp_path)).toString()


def test_a_profile_has_every_choice_and_can_be_deleted(open_app: App, page: PublishPage, qtbot: QtBot) -> None:
    draft = replace(open_app.publishing.draft(), name="Home")
    dialog = ProfileDialog(draft, is_kept=True)
    qtbot.addWidget(dialog)
    saved: list[ProfileDraft] = []
    dialog.saved.connect(saved.append)
    dialog.parts["colours"].setChecked(True)
    dialog.edits["pin"].setChecked(True)
    dialog.buttons.button(QDialogButtonBox.StandardButton.Save).click()
    open_app.publishing.save_draft(saved[0])
    qtbot.waitUntil(lambda: open_app.publishing.profile_names == ("Home",), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: open_app.publishing.profile_name == "Home", timeout=WAIT_MS)
    made = open_app.publishing.profile()
    assert (made.options.colours, made.auto_accept) == (True, ("pin",))
    dialog.deleted.connect(open_app.publishing.delete_profile)
    dialog.delete.click()
    qtbot.waitUntil(lambda: open_app.publishing.profile_names == (), timeout=WAIT_MS)
    assert "Home" in open_app.undo.undo_text


def test_all_edits_but_conflicts_are_accepted_in_one_step_that_says_so(
    open_app: App, page: PublishPage, qtbot: QtBot, tmp_path: Path
) -> None:
    publish(open_app, qtbot)
    notes = sorted((tmp_path / "vault" / "Memory" / "Facts").rglob("*.md"))[:2]
    for path in notes:
        edit(path)
    cards = open_app.vault.cards
    qtbot.waitUntil(lambda: len(cards.bulk) == 2 and not cards.is_waiting, timeout=WAIT_MS)
    open_app.actions.run("vault.inbox")
    assert page.inbox.cards.bulk.text() == "Accept all 2 edits"
    page.inbox.cards.bulk.click()
    qtbot.waitUntil(lambda: not cards.cards.lines and not cards.is_waiting, timeout=WAIT_MS)
    assert open_app.undo.undo_text == "Took 2 edits from the vault"


def test_the_inbox_says_what_fills_it(open_app: App, page: PublishPage, qtbot: QtBot) -> None:
    page.tabs.setCurrentWidget(page.inbox)
    qtbot.waitUntil(lambda: not open_app.vault.cards.is_waiting)
    labels = page.inbox.findChildren(QLabel)
    qtbot.waitUntil(lambda: any("Obsidian" in label.text() for label in labels if label.isVisible()))


def test_a_large_store_is_published_in_a_process_of_its_own_with_the_same_report(
    open_app: App, page: PublishPage, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(open_app, qtbot)
    here = open_app.publishing.state
    assert isinstance(here, Published)
    monkeypatch.setattr(apart, "LARGE_BYTES", 0)
    asked: list[type[object]] = []
    run = apart.run_apart

    def noted(job: Job[object], *given: Path, **how: Any) -> object:
        asked.append(type(job))
        return run(job, *given, **how)

    monkeypatch.setattr(apart, "run_apart", noted)
    other = tmp_path / "other"
    other.mkdir()
    open_app.publishing.choose(vault=str(other))
    publish(open_app, qtbot)
    assert open_app.publishing.state == replace(here, vault=other)
    edit(fact_note(other))
    cards = open_app.vault.cards
    qtbot.waitUntil(lambda: len(cards.cards.lines) == 1 and not cards.is_waiting, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not open_app.vault.watch.is_waiting, timeout=WAIT_MS)
    assert {*asked} == {Publishing, ReadingEdits}


def test_the_window_waits_neither_for_the_first_nor_for_the_last_look_of_a_watcher(
    open_app: App, page: PublishPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    class Noted(watching.VaultWatcher):
        def __init__(self, vault: Path, folder: str, on_changed: Callable[[], None]) -> None:
            threads.append(threading.current_thread().name)
            super().__init__(vault, folder, on_changed)

        def close(self) -> None:
            super().close()
            threads.append(threading.current_thread().name)

    monkeypatch.setattr(watching, "VaultWatcher", Noted)
    publish(open_app, qtbot)
    open_app.host.close_store()
    assert not open_app.vault.watch.is_watching
    qtbot.waitUntil(lambda: len(threads) == 2)
    assert threads == ["gm-ask", "gm-ask"]


def test_closing_the_store_ends_the_process_that_publishes(open_app: App, qtbot: QtBot, tmp_path: Path) -> None:
    host = open_app.host

    def job(memory: Memory, progress: Progress, cancel: CancelToken) -> int:
        return apart.run_apart(Waiting(tmp_path), memory.data_dir, progress=progress, cancel=cancel)

    task = host.run_task("Waiting", job, lambda _: None)
    qtbot.waitUntil(lambda: task.what == "Waiting")
    with qtbot.waitSignal(task.ended):
        host.close_store()
    assert (tmp_path / "ended").exists()
    assert sentence_for(ChildEnded("The process ended.")).startswith("The work ended early")


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
