"""The table of facts keeps its place while others write, and begins another list where a person expects it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_desktop.models.paged_table import ID_ROLE
from gm_desktop.notices import Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels import memory as memory_viewmodel
from gm_desktop.viewmodels.fact_verbs import FactVerbs
from gm_desktop.viewmodels.memory import MemoryViewModel
from gm_desktop.views.fact_table import TEXT, FactTable
from gm_engine import Changes, FactQuery, Memory
from gm_engine.records import FactListing
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside


@dataclass
class Desk:
    """The table, its view-model, and the store behind them."""

    host: EngineHost
    model: MemoryViewModel
    table: FactTable
    qtbot: QtBot

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes beside the table, as another program would, and waits until it shows."""
        write_beside(self.host, self.qtbot, job)
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.model.is_waiting)

    def press(self, key: Qt.Key) -> None:
        QTest.keyClick(self.table, key)

    def is_in_sight(self, row: int) -> bool:
        return self.table.viewport().rect().contains(self.table.visualRect(self.index(row)).center())

    def index(self, row: int) -> QModelIndex:
        return self.model.table.index(row, TEXT)

    def top(self) -> str:
        """The fact in the first row in sight."""
        return self.model.table.id_at(self.table.rowAt(0))

    def choose_agent(self, agent_id: str) -> None:
        self.model.set_filter(replace(self.model.filter, agent_id=agent_id))
        self.settle()


@pytest.fixture
def desk(open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, qtbot: QtBot) -> Desk:
    model = MemoryViewModel(open_host, FactVerbs(open_host, undo, notices, open_host), FrozenClock(tick_s=0), open_host)
    table = FactTable(model, theme)
    qtbot.addWidget(table)
    table.resize(800, 400)
    table.show()
    model.reload()
    made = Desk(open_host, model, table, qtbot)
    made.settle()
    return made


def numbered(count: int, agent_id: str = "sales") -> Callable[[Memory], object]:
    return lambda memory: [memory.remember(agent_id, f"Fact {n:03}") for n in range(count)]


def test_what_comes_in_many_places_moves_no_view_to_the_selected_fact(desk: Desk) -> None:
    desk.write(numbered(150))
    desk.model.set_sort("text", False)
    desk.settle()
    desk.table.selectRow(3)
    desk.table.scrollTo(desk.index(120), FactTable.ScrollHint.PositionAtTop)
    top = desk.top()
    assert not desk.is_in_sight(3)
    ids = list(desk.model.table.ids)
    with desk.qtbot.waitSignal(desk.model.table.modelReset):
        desk.model.table.set_ids([each for n, known in enumerate(ids) for each in (f"new {n}", known)])
    assert desk.top() == top
    assert desk.table.currentIndex().data(ID_ROLE) == ids[3]


def test_where_a_filter_takes_the_selected_fact_out_the_first_arrow_selects_the_first_fact(desk: Desk) -> None:
    desk.write(numbered(40, "ops"))
    desk.write(numbered(40, "sales"))
    desk.table.selectRow(79)
    desk.choose_agent("sales")
    assert desk.model.selected == frozenset()
    assert not desk.table.currentIndex().isValid()
    desk.press(Qt.Key.Key_Down)
    assert desk.model.selected == {desk.model.table.id_at(0)}
    assert desk.is_in_sight(0)


def test_a_filter_that_changes_nothing_shows_the_selected_fact_at_once(desk: Desk) -> None:
    desk.write(numbered(100))
    desk.table.selectRow(70)
    desk.choose_agent("sales")
    assert desk.is_in_sight(70)


def test_the_first_arrow_shows_what_it_selects(desk: Desk) -> None:
    desk.write(numbered(100))
    desk.table.selectRow(70)
    desk.model.select(())
    desk.table.scrollToTop()
    assert not desk.is_in_sight(70)
    desk.press(Qt.Key.Key_Down)
    assert desk.model.selected == {desk.model.table.id_at(70)}
    assert desk.is_in_sight(70)


@dataclass
class SlowListing:
    """Every listing waits for `go`; `begun` counts them, `shown` says which had begun when the table changed."""

    go: threading.Event
    begun: list[FactQuery]
    shown: list[tuple[int, tuple[str, ...]]]


@pytest.fixture
def slow(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> SlowListing:
    desk.write(numbered(3))
    made = SlowListing(threading.Event(), [], [])
    load = memory_viewmodel._load

    def slowly(
        query: FactQuery, known: FactListing | None, written: Collection[str], memory: Memory
    ) -> memory_viewmodel._Listing:
        made.begun.append(query)
        made.go.wait(60)
        return load(query, known, written, memory)

    monkeypatch.setattr(memory_viewmodel, "_load", slowly)
    monkeypatch.setattr(memory_viewmodel, "FOLLOW_MS", 0)
    desk.model.table.changed.connect(lambda: made.shown.append((len(made.begun), tuple(desk.model.table.ids))))
    desk.model.reload()
    desk.qtbot.waitUntil(lambda: len(made.begun) == 1)
    return made


def test_a_slow_list_is_shown_though_somebody_writes_meanwhile(desk: Desk, slow: SlowListing) -> None:
    with desk.qtbot.waitSignal(desk.model._reload_soon.timeout):
        desk.host.changed.emit(Changes(1, kinds=frozenset(("fact",))))
    slow.go.set()
    desk.settle()
    assert [begun for begun, _ in slow.shown] == [1, 2]


def test_a_list_in_the_order_before_is_not_shown_any_more(desk: Desk, slow: SlowListing) -> None:
    ids = tuple(desk.model.table.ids)
    desk.model.set_sort("created", False)
    slow.go.set()
    desk.settle()
    assert [shown for _, shown in slow.shown] == [ids[::-1]]
