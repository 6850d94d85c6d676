"""Clients and the Review page: who may do what, and what waits, over a real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.models.proposal_cards import Card
from gm_desktop.viewmodels import inbox
from gm_desktop.viewmodels.inbox_listing import InboxSubject, Listed, Pile, list_cards
from gm_desktop.viewmodels.states import Empty, Full
from gm_desktop.views.activity import ActivityPage
from gm_desktop.views.review import ReviewPage
from gm_desktop.widgets.rail import RailButton
from gm_engine import FactQuery, Memory

T = TypeVar("T")
FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


@dataclass
class Desk:
    app: App
    qtbot: QtBot

    @property
    def review(self) -> ReviewPage:
        page = self.app.window.pages["review"]
        assert isinstance(page, ReviewPage)
        return page

    @property
    def activity(self) -> ActivityPage:
        page = self.app.window.pages["activity"]
        assert isinstance(page, ActivityPage)
        return page

    def do(self, job: Callable[[Memory], object]) -> None:
        done: list[object] = []
        self.app.host.write(lambda memory: (job(memory),), done.append)
        self.qtbot.waitUntil(lambda: bool(done))

    def ask(self, job: Callable[[Memory], T]) -> T:
        found: list[T] = []
        self.app.host.read(job, found.append)
        self.qtbot.waitUntil(lambda: bool(found))
        return found[0]

    def texts(self, agent: str) -> set[str]:
        return {fact.text for fact in self.ask(lambda memory: memory.list_facts(_all(agent))) if not fact.superseded_by}

    def wait_for(self, count: int) -> None:
        self.app.show_page("review")
        self.qtbot.waitUntil(lambda: self.app.glance.review.open_count == count)
        self.qtbot.waitUntil(self.review.is_settled)

    def press(self, key: Qt.Key) -> None:
        self.qtbot.waitUntil(lambda: self.app.glance.review.can_accept)
        self.app.actions.refresh()
        QTest.keyClick(self.review.inbox.list, key)


def _connect(memory: Memory, name: str) -> Memory:
    return memory.acting_as(memory.clients.connect(name, "1.2", "stdio"))


@pytest.fixture
def desk(open_app: App, qtbot: QtBot) -> Iterator[Desk]:
    desk = Desk(open_app, qtbot)
    for model in (open_app.glance.clients.lines, open_app.glance.review.cards, open_app.glance.review.groups):
        QAbstractItemModelTester(model, FATAL, model)
    yield desk
    open_app.glance.clients.watch(False)


def test_nobody_connected_and_nothing_waits_says_what_fills_the_pages(desk: Desk) -> None:
    desk.app.show_page("activity")
    desk.activity.show_clients()
    desk.qtbot.waitUntil(lambda: isinstance(desk.app.glance.clients.state, Empty))
    assert desk.activity.clients.note.isVisible()
    desk.wait_for(0)
    assert isinstance(desk.app.glance.review.state, Empty)
    desk.review.choose.click()
    assert desk.app.window.page_id == "activity"
    assert desk.activity.tabs.currentWidget() is desk.activity.clients


def test_a_program_is_put_under_review_and_its_write_waits(desk: Desk) -> None:
    desk.do(lambda memory: _connect(memory, "scout").remember("depot", "The gate opens at six"))
    desk.app.show_page("activity")
    desk.activity.show_clients()
    clients = desk.app.glance.clients
    desk.qtbot.waitUntil(lambda: clients.client is not None and clients.client.name == "scout")
    box = desk.activity.clients.everywhere
    box.setCurrentIndex(box.findData("review"))
    box.activated.emit(box.currentIndex())
    desk.qtbot.waitUntil(lambda: desk.ask(lambda memory: memory.clients.access("scout")) == "review")
    desk.qtbot.waitUntil(lambda: clients.client is not None and clients.client.access == "review")
    desk.app.actions.run("step.undo")
    desk.qtbot.waitUntil(lambda: desk.ask(lambda memory: memory.clients.access("scout")) == "write")


def test_a_rule_for_a_namespace_is_added_changed_and_removed(desk: Desk) -> None:
    desk.do(lambda memory: _connect(memory, "scout").remember("depot", "The gate opens at six"))
    desk.app.show_page("activity")
    desk.activity.show_clients()
    clients, panel = desk.app.glance.clients, desk.activity.clients
    desk.qtbot.waitUntil(lambda: panel.add.findData("depot") >= 0)
    panel.add.setCurrentIndex(panel.add.findData("depot"))
    panel.add.activated.emit(panel.add.currentIndex())
    desk.qtbot.waitUntil(lambda: clients.client is not None and len(clients.client.rules) == 1)
    clients.set_access("depot", "none")
    desk.qtbot.waitUntil(lambda: desk.ask(lambda memory: memory.clients.access("scout", "depot")) == "none")
    clients.set_access("depot", None)
    desk.qtbot.waitUntil(lambda: clients.client is not None and clients.client.rules == ())
    assert desk.ask(lambda memory: memory.clients.access("scout", "depot")) == "write"


def _hold(memory: Memory, *texts: str) -> None:
    memory.clients.set_access("scout", None, "review")
    client = _connect(memory, "scout")
    for text in texts:
        client.requests.remember("depot", text)


def test_a_write_is_accepted_edited_and_rejected_by_one_key_each(desk: Desk) -> None:
    desk.do(lambda memory: memory.remember("depot", "The gate opens at seven"))
    desk.do(lambda memory: _hold(memory, "The gate opens at six", "The key lies under the mat", "Nobody knows"))
    desk.wait_for(3)
    review = desk.app.glance.review
    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card) and review.card.result == "The gate opens at six")
    card = review.card
    assert isinstance(card, Card)
    assert card.reason == "scout wants to write this"
    assert (card.goes_title, [fact.text for fact in card.goes]) == (
        "Nearest in the store",
        ["The gate opens at seven"],
    )
    assert [card.result[start:end] for start, end in card.added] == ["six"]
    assert desk.texts("depot") == {"The gate opens at seven"}

    desk.press(Qt.Key.Key_Right)
    desk.wait_for(2)
    assert desk.texts("depot") == {"The gate opens at seven", "The gate opens at six"}
    (fact,) = [each for each in desk.ask(lambda m: m.list_facts(_all("depot"))) if each.text == "The gate opens at six"]
    assert fact.origin is not None
    assert (fact.origin.channel, fact.origin.client) == ("mcp", "scout")

    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card) and review.card.result == "The key lies under the mat")
    review.edit()
    review.set_draft("The key lies under the stone")
    desk.review.inbox.accept()
    desk.wait_for(1)
    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card) and review.card.result == "Nobody knows")
    desk.press(Qt.Key.Key_Left)
    desk.wait_for(0)
    assert desk.texts("depot") == {
        "The gate opens at seven",
        "The gate opens at six",
        "The key lies under the stone",
    }


def test_the_rail_counts_what_waits_and_always_accept_empties_it_in_one_step(desk: Desk) -> None:
    desk.do(lambda memory: _hold(memory, "One", "Two", "Three"))
    desk.wait_for(3)
    (button,) = [each for each in desk.app.window.rail.findChildren(RailButton) if each.text() == "Review"]
    assert button.accessibleName() == "Review, 3 wait"
    desk.qtbot.waitUntil(lambda: desk.app.glance.review.card_group == "scout")
    desk.app.actions.run("review.always")
    desk.wait_for(0)
    assert desk.texts("depot") == {"One", "Two", "Three"}
    assert desk.ask(lambda memory: memory.clients.access("scout")) == "write"
    assert button.accessibleName() == "Review"
    desk.app.actions.run("step.undo")
    desk.wait_for(3)
    assert desk.texts("depot") == set()
    assert desk.ask(lambda memory: memory.clients.access("scout")) == "review"


def test_what_is_said_after_a_decision_covers_no_button_of_the_next_card(desk: Desk) -> None:
    desk.do(lambda memory: _hold(memory, "One", "Two"))
    desk.wait_for(2)
    desk.press(Qt.Key.Key_Right)
    desk.wait_for(1)
    toasts, card = desk.app.window.toasts, desk.review.inbox.card
    desk.app.window.toasts.show_toast("long enough to be broken into lines " * 4, level="info")
    assert toasts.isVisible()
    for button in (card.accept, card.edit, card.reject, card.later, card.never):
        assert button.isVisible()
        at = QRect(button.mapTo(desk.app.window, QPoint()), button.size())
        assert not at.intersects(QRect(toasts.mapTo(desk.app.window, QPoint()), toasts.size())), button.text()


def test_the_rail_counts_nothing_once_the_store_is_closed(desk: Desk) -> None:
    desk.do(lambda memory: _hold(memory, "One"))
    desk.wait_for(1)
    (button,) = [each for each in desk.app.window.rail.findChildren(RailButton) if each.text() == "Review"]
    assert button.accessibleName() == "Review, 1 waits"
    desk.app.flow.close()
    desk.qtbot.waitUntil(lambda: not desk.app.host.is_open)
    assert button.accessibleName() == "Review"


def test_the_rail_says_what_waits_while_nobody_looks_and_no_card_is_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, ...] | None] = []

    def noted(subject: InboxSubject, group: str | None, pile: Pile, memory: Memory) -> Listed:
        read.append(subject.sources)
        return list_cards(subject, group, pile, memory)

    desk.app.show_page("memory")
    monkeypatch.setattr(inbox, "list_cards", noted)
    (button,) = [each for each in desk.app.window.rail.findChildren(RailButton) if each.text() == "Review"]
    desk.do(lambda memory: _hold(memory, "One", "Two", "Three"))
    desk.qtbot.waitUntil(lambda: button.accessibleName() == "Review, 3 wait")
    desk.do(lambda memory: memory.inbox.later(memory.inbox.list()[0].id))
    desk.qtbot.waitUntil(lambda: button.accessibleName() == "Review, 2 wait")
    assert read == []
    desk.wait_for(2)
    assert {*read} == {("review",)}
    assert len(desk.app.glance.review.cards.lines) == 2


def test_a_key_before_the_next_card_is_read_decides_nothing(desk: Desk) -> None:
    desk.do(lambda memory: _hold(memory, "One", "Two", "Three"))
    desk.wait_for(3)
    review = desk.app.glance.review
    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card) and review.card.result == "One")
    review.step(1)
    review.accept()  # the card of the first is still shown
    desk.qtbot.waitUntil(desk.review.is_settled)
    assert desk.texts("depot") == set()
    review.accept()
    review.reject()  # the second is decided on, and nothing else yet
    desk.wait_for(2)
    assert desk.texts("depot") == {"Two"}
    desk.qtbot.waitUntil(lambda: review.can_accept)
    assert review.selected_id is not None
    assert desk.review.inbox.list.selectionModel().isRowSelected(review.cards.row_of(review.selected_id) or 0)


def test_a_right_is_given_from_the_palette_while_the_clients_show(desk: Desk) -> None:
    desk.do(lambda memory: _connect(memory, "scout").remember("depot", "The gate opens at six"))
    actions = desk.app.actions
    assert not actions.spec("client.review").when()
    desk.app.show_page("activity")
    actions.run("activity.clients")
    clients = desk.app.glance.clients
    desk.qtbot.waitUntil(actions.spec("client.review").when)
    assert actions.spec("client.review").title == "Client everywhere: Writes wait for review"
    assert not actions.spec("client.waiting").when()
    actions.run("client.review")
    desk.qtbot.waitUntil(lambda: clients.client is not None and clients.client.access == "review")
    assert desk.ask(lambda memory: memory.clients.access("scout")) == "review"
    assert clients.lines.lines[0].mark == "● Review"

    desk.do(lambda memory: _hold(memory, "Two"))
    desk.qtbot.waitUntil(actions.spec("client.waiting").when)
    actions.run("client.waiting")
    assert desk.app.glance.review.group == "scout"


def test_a_card_says_what_a_text_hides_and_how_sure_its_program_is(desk: Desk) -> None:
    def ask(memory: Memory) -> None:
        memory.clients.set_access("scout", None, "review")
        requests = _connect(memory, "scout").requests
        requests.remember("depot", "The gate opens at \u202exis", confidence="verified")
        requests.remember("depot", "The gate " * 1_000)

    desk.do(ask)
    desk.wait_for(2)
    card = desk.review.inbox.card
    desk.qtbot.waitUntil(lambda: card.reason.text() == "scout wants to write this as verified")
    cautions = card.cautions
    assert list(cautions.texts) == ["It has characters that are not seen or turn the reading direction: U+202E"]
    assert not card.rest.isVisible()
    desk.app.glance.review.step(1)
    desk.qtbot.waitUntil(card.rest.isVisible)
    assert card.rest.text() == "… and 5,001 more characters; E shows all"
    assert cautions.isHidden()


def test_words_are_compared_only_with_a_fact_that_is_much_the_same(desk: Desk) -> None:
    desk.do(lambda memory: memory.remember("depot", "The gate opens at seven"))
    desk.do(lambda memory: memory.remember("depot", "Nobody has seen where Ana keeps the gate's spare key"))
    desk.do(lambda memory: _hold(memory, "The gate opens at six"))
    desk.wait_for(1)
    review = desk.app.glance.review
    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card))
    assert isinstance(review.card, Card)
    assert {fact.text: bool(fact.removed) for fact in review.card.goes} == {
        "The gate opens at seven": True,
        "Nobody has seen where Ana keeps the gate's spare key": False,
    }
    assert [review.card.result[start:end] for start, end in review.card.added] == ["six"]


def test_a_nearest_fact_that_is_retired_meanwhile_leaves_the_open_card(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "UNTOUCHED_MS", 10_000_000)
    desk.do(lambda memory: memory.remember("depot", "The gate opens at seven"))
    desk.do(lambda memory: _hold(memory, "The gate opens at six"))
    desk.wait_for(1)
    review = desk.app.glance.review
    desk.do(lambda memory: memory.remember("depot", "The lift is blue"))  # the agent is known from here on
    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card) and bool(review.card.goes) and desk.review.is_settled())
    near = next(fact.id for fact in desk.ask(lambda memory: memory.list_facts(_all("depot"))) if "seven" in fact.text)
    desk.do(lambda memory: memory.retire("depot", [near]))
    desk.qtbot.waitUntil(lambda: isinstance(review.card, Card) and near not in {fact.id for fact in review.card.goes})


def test_what_waits_is_opened_from_the_client_and_what_it_wrote_from_there_too(desk: Desk) -> None:
    desk.do(lambda memory: _connect(memory, "scout").remember("depot", "The gate opens at six"))
    desk.do(lambda memory: _hold(memory, "Two"))
    desk.app.show_page("activity")
    desk.activity.show_clients()
    panel = desk.activity.clients
    desk.qtbot.waitUntil(panel.review.isVisible)
    assert panel.waiting.text() == "1 write waits for you"
    panel.review.click()
    assert desk.app.window.page_id == "review"
    assert desk.app.glance.review.group == "scout"
    desk.app.show_page("activity")
    panel.journal.click()
    assert desk.app.glance.activity.filter.writer.endswith("scout")
    desk.qtbot.waitUntil(lambda: isinstance(desk.app.glance.activity.state, Full))


def _all(agent: str) -> FactQuery:
    return FactQuery(agent_id=agent)
