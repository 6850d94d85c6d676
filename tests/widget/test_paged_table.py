"""The paged table: every id at once, bodies by page, nothing asked twice, views keep their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from gm_desktop.models import paged_table
from gm_desktop.models.fact_row import FactRow
from gm_desktop.models.paged_table import CACHED_ROWS, MUTED_ROLE, PAGE_ROWS, Cell, Column, PagedTable

Make = Callable[[int], PagedTable]


def row(fact_id: str, text: str = "") -> FactRow:
    return FactRow(fact_id, "a", text or fact_id, "inferred", "", False, 1.0, 0, None, 0, "cli", "", "live", False, 1)


def make_table() -> PagedTable:
    table = PagedTable((Column("Fact", "text", lambda each: Cell(each.text)),))
    QAbstractItemModelTester(table, QAbstractItemModelTester.FailureReportingMode.Fatal, table)
    return table


@pytest.fixture
def table(qtbot: QtBot) -> PagedTable:
    return make_table()


def answer(table: PagedTable, asked: list[tuple[str, ...]]) -> None:
    """Answers every request as it comes and keeps it."""

    def give(ids: tuple[str, ...]) -> None:
        asked.append(ids)
        table.deliver(ids, [row(each) for each in ids])

    table.rows_wanted.connect(give)


def text_at(table: PagedTable, at: int) -> object:
    return table.data(table.index(at, 0))


def test_a_hundred_thousand_ids_are_rows_at_once_and_only_the_page_looked_at_is_read(
    table: PagedTable, qtbot: QtBot
) -> None:
    asked: list[tuple[str, ...]] = []
    answer(table, asked)
    table.set_ids([f"{n:06}" for n in range(100_000)])
    assert table.rowCount() == 100_000
    assert text_at(table, 99_990) is None
    qtbot.waitUntil(lambda: text_at(table, 99_990) == "099990")
    assert all(len(ids) <= PAGE_ROWS for ids in asked)
    assert {each[:3] for ids in asked for each in ids} <= {"000", "099"}


def test_dragging_through_the_table_reads_the_last_pages_seen_only(table: PagedTable, qtbot: QtBot) -> None:
    asked: list[tuple[str, ...]] = []
    table.set_ids([f"{n:06}" for n in range(50_000)])
    answer(table, asked)
    for at in range(0, 50_000, PAGE_ROWS):
        text_at(table, at)
    qtbot.waitUntil(lambda: text_at(table, 49_999) is not None)
    assert len(asked) <= 4


def test_bodies_are_forgotten_when_too_many_were_read(table: PagedTable) -> None:
    ids = [f"{n:06}" for n in range(CACHED_ROWS + 500)]
    table.set_ids(ids)
    table.deliver(ids, [row(each) for each in ids])
    assert table.body(ids[0]) is None
    assert table.body(ids[-1]) is not None


def test_a_changed_body_stays_on_screen_until_the_new_one_is_there(table: PagedTable, qtbot: QtBot) -> None:
    table.set_ids(["1", "2"])
    table.deliver(("1", "2"), [row("1", "old"), row("2")])
    table.forget({"1"})
    with qtbot.waitSignal(table.rows_wanted) as wanted:
        assert text_at(table, 0) == "old"
    assert wanted.args == [("1",)]
    table.deliver(("1",), [row("1", "new")])
    assert text_at(table, 0) == "new"


def test_a_fact_that_is_gone_shows_as_an_empty_muted_row(table: PagedTable) -> None:
    table.set_ids(["1"])
    table.deliver(("1",), [])
    assert text_at(table, 0) is None
    assert table.data(table.index(0, 0), MUTED_ROLE) is True


def test_after_a_failed_read_the_rows_are_asked_for_again(table: PagedTable, qtbot: QtBot) -> None:
    table.set_ids(["1"])
    with qtbot.waitSignal(table.rows_wanted):
        text_at(table, 0)
    table.give_up()
    with qtbot.waitSignal(table.rows_wanted):
        text_at(table, 0)


def test_sorting_is_announced_and_not_done(table: PagedTable, qtbot: QtBot) -> None:
    table.set_ids(["2", "1"])
    with qtbot.waitSignal(table.sort_wanted) as wanted:
        table.sort(0, Qt.SortOrder.DescendingOrder)
    assert wanted.args == ["text", True]
    assert list(table.ids) == ["2", "1"]


IDS = st.lists(st.integers(0, 12), unique=True)


@pytest.mark.usefixtures("qapp")
@given(IDS, IDS)
def test_whatever_the_change_the_model_keeps_qts_promises(old: Sequence[int], new: Sequence[int]) -> None:
    assert not _change(old, new) or not set(old) & set(new)


@pytest.mark.usefixtures("qapp")
@given(IDS, IDS)
def test_so_it_does_where_a_change_is_too_large_for_edits(old: Sequence[int], new: Sequence[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paged_table, "_FARTHEST", 2)
        patch.setattr(paged_table, "_MOST_EDITS", 2)
        _change(old, new)


def _change(old: Sequence[int], new: Sequence[int]) -> int:
    """Makes one list of the other, looks at what views rely on, and says how often they had to begin anew."""
    table = make_table()
    table.set_ids([str(each) for each in old])
    kept = [QPersistentModelIndex(table.index(at, 0)) for at in range(len(old))]
    resets: list[None] = []
    table.modelReset.connect(lambda: resets.append(None))
    table.set_ids([str(each) for each in new])
    for index, fact_id in zip(kept, old, strict=True):
        assert not index.isValid() or table.id_at(index.row()) == str(fact_id)
    assert list(table.ids) == [str(each) for each in new]
    assert table.rowCount(QModelIndex()) == len(new)
    assert all(table.row_of(str(each)) == at for at, each in enumerate(new))
    return len(resets)


def test_a_fact_on_top_is_an_insertion_so_that_the_view_stays_put(table: PagedTable, qtbot: QtBot) -> None:
    table.set_ids(["2", "1"])
    with qtbot.waitSignal(table.rowsInserted) as inserted:
        table.set_ids(["3", "2", "1"])
    assert inserted.args is not None
    assert inserted.args[1:] == [0, 0]


def changes_of(table: PagedTable) -> list[str]:
    """Writes down what views are told of rows."""
    told: list[str] = []
    table.rowsInserted.connect(lambda _parent, first, last: told.append(f"+{first}-{last}"))
    table.rowsRemoved.connect(lambda _parent, first, last: told.append(f"-{first}-{last}"))
    table.modelReset.connect(lambda: told.append("reset"))
    return told


def test_a_fact_that_is_replaced_far_down_is_two_small_changes_and_no_new_list(table: PagedTable) -> None:
    ids = [f"{n:06}" for n in range(1_000)]
    table.set_ids(ids)
    told = changes_of(table)
    table.set_ids(["new", *ids[:700], *ids[701:]])
    assert told == ["-700-700", "+0-0"]


def test_a_long_run_of_facts_that_comes_or_goes_is_one_change(table: PagedTable) -> None:
    ids = [f"{n:06}" for n in range(1_000)]
    table.set_ids(ids)
    told = changes_of(table)
    table.set_ids(ids[:100] + ids[900:])
    table.set_ids(ids)
    assert told == ["-100-899", "+100-899"]


def test_another_order_is_another_list(table: PagedTable) -> None:
    ids = [f"{n:06}" for n in range(1_000)]
    table.set_ids(ids)
    told = changes_of(table)
    table.set_ids(ids[::-1])
    assert told == ["reset"]


def test_a_row_whose_body_is_known_before_it_comes_is_not_asked_for(table: PagedTable, qtbot: QtBot) -> None:
    table.set_ids(["1"])
    table.deliver(("1",), [row("1")])
    with qtbot.assertNotEmitted(table.rows_wanted, wait=20):
        table.learn([row("2", "known")])
        table.set_ids(["2", "1"])
        assert text_at(table, 0) == "known"


def test_a_body_that_is_learned_anew_is_drawn_anew(table: PagedTable, qtbot: QtBot) -> None:
    table.set_ids(["1"])
    table.deliver(("1",), [row("1", "old")])
    with qtbot.waitSignal(table.dataChanged):
        table.learn([row("1", "new")])
    assert text_at(table, 0) == "new"
