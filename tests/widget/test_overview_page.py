"""The Overview page on a real store: every number agrees with the list that it opens."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gm_desktop.app import App
from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import number
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.viewmodels import overview
from gm_desktop.viewmodels.fact_filter import FactFilter
from gm_desktop.viewmodels.fact_words import extras_title
from gm_desktop.viewmodels.health import Examined, ExamineFailed, NotExamined
from gm_desktop.viewmodels.overview import OverviewViewModel
from gm_desktop.viewmodels.overview_words import Bar, Figures, Opens, written_chart
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.overview import OverviewPage
from gm_desktop.widgets.bar_chart import BarChart, ChartBar, nice_end
from gm_desktop.widgets.meter_rows import Meter, MeterRows
from gm_engine import Memory, Origin
from gm_engine.errors import StoreDamaged
from gm_engine.records import DayCount, VectorStatus
from tests.benchmarks.generator import Generator, write_export
from tests.fakes.clock import FrozenClock, instant

NOW_NS = instant("2026-11-30T09:00:00Z")


@dataclass
class Desk:
    host: EngineHost
    model: OverviewViewModel
    page: OverviewPage
    qtbot: QtBot
    opened: list[Opens]
    pages: list[str]
    told: list[Notice]

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.model.is_waiting, timeout=15_000)

    def write(self, job: Callable[[Memory], object]) -> None:
        done: list[object] = []
        self.host.write(job, done.append)
        self.qtbot.waitUntil(lambda: bool(done))
        self.model.reload()
        self.settle()

    def figures(self) -> Figures:
        assert self.model.figures is not None
        return self.model.figures

    def listed(self, opens: Opens) -> int:
        """How many facts the list behind a number shows."""
        assert opens.facts is not None
        query = opens.facts.query(NOW_NS, sort="created", descending=True)
        answers: list[int] = []
        self.host.read(lambda memory: len(memory.fact_ids(query)), answers.append)
        self.qtbot.waitUntil(lambda: bool(answers))
        return answers[0]


@pytest.fixture
def desk(open_host: EngineHost, notices: Notices, told: list[Notice], theme: Theme, qtbot: QtBot) -> Iterator[Desk]:
    model = OverviewViewModel(open_host, notices, FrozenClock(tick_s=0), open_host)
    page = OverviewPage(model, theme)
    page.resize(1100, 800)
    qtbot.addWidget(page)
    opened: list[Opens] = []
    pages: list[str] = []
    model.facts_wanted.connect(opened.append)
    model.page_wanted.connect(pages.append)
    page.show()
    made = Desk(open_host, model, page, qtbot, opened, pages, told)
    made.settle()
    yield made
    made.settle()
    model.look(False)


def fill(memory: Memory) -> None:
    first = memory.remember("ops", "Rollbacks take ten minutes", confidence="verified")
    second = memory.remember("ops", "An odd one", origin=Origin("mcp", client="claude"))
    memory.remember("sales", "Nobody asked", confidence="unverified")
    memory.remember_shared("Amounts carry a currency")
    memory.retire("ops", [second.id])
    memory.pin("ops", [first.id])
    memory.alias("ops", "k8s", ["kubernetes"])
    memory.recall("ops", "rollbacks")
    memory.checkpoints.save("ops", state={})


def test_an_empty_store_says_what_will_fill_the_page(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.page.note.isVisible()


def test_the_page_begins_at_its_top_whenever_it_is_opened_and_with_every_store(desk: Desk) -> None:
    desk.write(fill)
    desk.page.resize(1100, 400)
    bar = desk.page._area.verticalScrollBar()
    desk.qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    desk.page.activate()
    assert desk.page.tiles[0].visibleRegion().boundingRect() == desk.page.tiles[0].rect()
    bar.setValue(bar.maximum())
    desk.host.close_store()
    desk.qtbot.waitUntil(lambda: not isinstance(desk.model.state, Full))
    assert bar.value() == 0


def test_every_number_opens_a_list_of_that_many_facts(desk: Desk) -> None:
    desk.write(fill)
    values = {figure.title: figure.value for figure in desk.figures().figures}
    assert values == {
        "Live facts": "3",
        "Retired": "1",
        "Pinned": "1",
        "Never recalled": "2",
        "Aliases": "1",
        "Waiting for you": "0",
        "Checkpoints": "1",
        "Not reviewed": "1",
        "Entities": "0",
        "Links": "0",
        "Blocked values": "0",
        "Journal entries": "8",
    }
    for figure in desk.figures().figures:
        if figure.opens.facts is not None:
            assert desk.listed(figure.opens) == int(figure.value), figure.title
    charts = (desk.figures().written.bars, desk.figures().weights.bars)
    rows = (desk.figures().confidence, desk.figures().agents, desk.figures().channels)
    for bar in (bar for bars in (*charts, *rows) for bar in bars):
        assert desk.listed(bar.opens) == bar.count, bar
    assert sum(bar.count for bar in desk.figures().weights.bars) == 3
    assert sum(bar.count for bar in desk.figures().recalls.bars) == 1


def test_tiles_bars_and_rows_open_what_is_behind_them_by_mouse_and_keyboard(desk: Desk) -> None:
    desk.write(fill)
    desk.page.tiles[0].click()
    QTest.keyClick(desk.page.tiles[3], Qt.Key.Key_Return)
    assert [each.facts for each in desk.opened] == [
        FactFilter(kind="content"),
        FactFilter(kind="content", unused=True),
    ]
    desk.page.tiles[6].click()
    assert desk.pages == ["checkpoints"]
    view = desk.page.weights.view
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_End)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert desk.opened[-1].facts == FactFilter(kind="content", weight=(0.9, None))
    QTest.keyClick(view, Qt.Key.Key_Home)
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.current == 1
    assert view.accessibleDescription() == "Weight 0.1 – 0.2: 0 facts"
    place = QPoint(int(view.plot.right()) - 3, int(view.plot.center().y()))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert desk.opened[-1].facts == FactFilter(kind="content", weight=(0.9, None))
    QTest.keyClick(desk.page.agents.rows[0], Qt.Key.Key_Enter)
    assert desk.opened[-1].facts == FactFilter(agent_id="__shared__", kind="content")
    desk.page.embedded.rows[0].click()
    assert desk.opened[-1].facts == FactFilter(without_vector=True)
    desk.page.recalls.chosen.emit(0)
    assert desk.opened[-1].by_uses


def test_figures_follow_the_store_while_somebody_looks(desk: Desk) -> None:
    desk.write(fill)
    desk.host.write(lambda memory: memory.remember("ops", "one more"), lambda _: None)
    desk.qtbot.waitUntil(lambda: desk.figures().figures[0].value == "4")
    desk.page.hide()
    desk.host.write(lambda memory: memory.remember("ops", "unseen"), lambda _: None)
    with desk.qtbot.waitSignal(desk.host.changed):
        pass
    assert not desk.model._read_soon.isActive()
    assert desk.figures().figures[0].value == "4"
    desk.page.show()
    desk.qtbot.waitUntil(lambda: desk.figures().figures[0].value == "5")


def test_the_doctor_looks_by_itself_and_what_it_finds_is_shown_worst_first(desk: Desk) -> None:
    desk.write(fill)
    assert isinstance(desk.model.health.state, Examined)
    verdicts = [line.verdict for line in desk.model.health.state.lines]
    assert verdicts == sorted(verdicts, key=("broken", "notice", "sound").index)
    assert desk.page.health.sound.isVisible()
    shown = len(desk.page.health._rows)
    desk.page.health.sound.click()
    assert len(desk.page.health._rows) == len(verdicts) > shown


def test_a_finding_is_repaired_with_one_click(desk: Desk) -> None:
    desk.write(fill)
    assert desk.host.data_dir is not None
    with sqlite3.connect(desk.host.data_dir / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE facts SET text = 'tampered with' WHERE agent_id = 'sales'")
    ledger.close()
    desk.model.health.examine()
    desk.settle()
    assert isinstance(desk.model.health.state, Examined)
    assert desk.model.health.state.lines[0].verdict == "broken"
    desk.page.health.repairs["journal"].click()
    desk.settle()
    assert isinstance(desk.model.health.state, Examined)
    assert {line.verdict for line in desk.model.health.state.lines} <= {"sound", "notice"}
    assert desk.told[-1].text == "Repaired: Journal"


def test_a_failure_says_so_and_can_be_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_memory: Memory) -> object:
        raise StoreDamaged("The file is no database.")

    real = desk.host.read
    monkeypatch.setattr(desk.host, "read", lambda _job, done, failed=None: real(broken, done, failed))
    desk.model.reload()
    desk.settle()
    assert isinstance(desk.model.state, Failed)
    monkeypatch.undo()
    desk.write(fill)
    assert isinstance(desk.model.state, Full)


def test_a_doctor_that_cannot_look_says_why(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_named: object) -> object:
        raise StoreDamaged("The file is no database.")

    monkeypatch.setattr("gm_engine.doctor.examine", refuse)
    desk.model.health.examine()
    desk.settle()
    assert isinstance(desk.model.health.state, ExamineFailed)
    assert "no database" in desk.page.health.summary.text()


@pytest.mark.parametrize("span_days", [0, 1, 59, 60, 61, 419, 420, 421, 1_799, 1_801, 30_000])
def test_facts_over_time_are_at_most_about_sixty_bars_that_cover_every_day(span_days: int) -> None:
    today = date(2026, 11, 30)
    first = today - timedelta(days=span_days)
    days = [DayCount(day.isoformat(), 1) for day in sorted({first, first + (today - first) / 2, today})]
    chart = written_chart(days, NOW_NS)
    assert 1 <= len(chart.bars) <= 62
    assert sum(bar.count for bar in chart.bars) == len(days)
    assert chart.last == "today"
    spans = [written for bar in chart.bars if (written := _written(bar)) is not None]
    assert all(before[1] == after[0] for before, after in pairwise(spans))


def _written(bar: Bar) -> tuple[int, int] | None:
    return bar.opens.facts.written if bar.opens.facts is not None else None


def test_facts_from_the_future_have_a_bar() -> None:
    chart = written_chart([DayCount("2027-03-01", 2)], NOW_NS)
    assert sum(bar.count for bar in chart.bars) == 2
    assert chart.last == "1 Mar 2027"


@pytest.mark.parametrize(
    ("highest", "end"), [(0, 2), (1, 2), (3, 4), (5, 6), (9, 10), (11, 20), (99, 100), (101, 200), (45_679, 60_000)]
)
def test_an_axis_ends_on_an_even_round_number(highest: int, end: int) -> None:
    assert nice_end(highest) == end


def test_a_chart_without_bars_says_so(theme: Theme, qtbot: QtBot) -> None:
    chart = BarChart(theme, "Facts")
    qtbot.addWidget(chart)
    chart.show()
    chart.resize(400, 300)
    chart.show_bars((), first="0", last="1")
    assert chart.empty.isVisible()
    assert not chart.first.isVisible()
    assert not chart.last.isVisible()
    chart.show_bars([ChartBar(3, "three")], first="a", last="b")
    assert not chart.empty.isVisible()
    chart.grab()
    assert chart.first.y() == chart.view.geometry().bottom() + 1  # also where the card is higher than the chart
    assert chart.last.isVisible()


def test_rows_without_anything_to_count_say_so(theme: Theme, qtbot: QtBot) -> None:
    rows = MeterRows(theme)
    qtbot.addWidget(rows)
    rows.show()
    assert not rows.empty.isVisible()  # nothing is known yet
    rows.show_meters([])
    assert rows.empty.isVisible()
    rows.show_meters([Meter("ops", 2, 1.0)])
    assert not rows.empty.isVisible()
    assert rows.rows[0].isVisible()


def test_what_came_from_the_overview_is_said_on_a_chip() -> None:
    span = (instant("2026-11-01T00:00:00Z"), instant("2026-11-08T00:00:00Z"))
    assert extras_title(FactFilter(written=span)) == "Written 1 Nov 2026 to 7 Nov 2026"
    assert extras_title(FactFilter(weight=(0.9, None), kind="content")) == "Weight 0.9 to 1.0"
    assert extras_title(FactFilter(kind="content")) == "Without aliases"
    assert extras_title(FactFilter()) == ""
    assert FactFilter(unused=True, agent_id="ops").without_extras() == FactFilter(agent_id="ops")


def test_in_the_window_a_number_leads_to_its_list_and_the_chip_back_to_all(open_app: App, qtbot: QtBot) -> None:
    app = open_app
    app.show_page("overview")
    qtbot.waitUntil(
        lambda: app.glance.overview.figures is not None and not app.glance.overview.is_waiting, timeout=15_000
    )
    page = app.window.pages["overview"]
    assert isinstance(page, OverviewPage)
    page.tiles[3].click()
    assert app.window.page_id == "memory"
    qtbot.waitUntil(lambda: not app.remembering.is_waiting)
    assert len(app.remembering.table.ids) == 4
    filters = app.window.pages["memory"].findChildren(type(page.retry))
    (chip,) = [each for each in filters if each.text() == "Never recalled ✕"]
    chip.click()
    assert app.remembering.filter == FactFilter()


@pytest.mark.parametrize("most", [9, 9_300, 930_000])
def test_a_chart_begins_at_its_numbers_and_its_dates_below_its_bars(theme: Theme, qtbot: QtBot, most: int) -> None:
    chart = BarChart(theme, "Facts")
    qtbot.addWidget(chart)
    chart.resize(500, 200)
    chart.show_bars([ChartBar(most, "now")], first="1 Dec 2025", last="today")
    chart.show()
    qtbot.waitUntil(lambda: chart.first.x() > 0)
    bars = chart.view
    assert bars.mapTo(chart, bars.plot.topLeft().toPoint()).x() == chart.first.x()
    widest = QFontMetricsF(theme.font("small")).horizontalAdvance(number(nice_end(most)))
    assert bars.plot.left() - 8 - widest >= 4  # as far from the edge as the title of the card


def test_while_texts_are_embedded_the_page_follows_without_reading_the_store_anew(desk: Desk) -> None:
    desk.write(fill)
    status = VectorStatus("m", embedded=3, pending=97, chroma=0, path="exact")
    desk.host.indexed.emit(status)
    assert not desk.model.is_waiting
    assert desk.figures().embedded.text == "3 of 100 texts"
    desk.page.embedded.rows[0].click()
    assert desk.opened[-1].facts == FactFilter(without_vector=True)
    desk.host.indexed.emit(replace(status, embedded=100, pending=0))
    assert desk.figures().embedded.text == "100 of 100 texts"
    assert not desk.model.is_waiting


def test_what_is_told_while_figures_are_read_stands_in_them_and_has_nothing_read_again(desk: Desk) -> None:
    desk.write(fill)
    desk.model.reload()
    desk.host.indexed.emit(VectorStatus("m", embedded=3, pending=97, chroma=0, path="exact"))
    assert not desk.model._read_soon.isActive()
    desk.settle()
    assert desk.figures().embedded.text == "3 of 100 texts"
    desk.model.reload()
    desk.settle()
    assert desk.figures().embedded.text != "3 of 100 texts"


@pytest.mark.parametrize("most", [3, 100])
def test_a_store_of_many_facts_is_examined_when_somebody_asks_though_they_came_in_one_import(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int
) -> None:
    monkeypatch.setattr(overview, "EXAMINED_BY_ITSELF", most)
    memories = tmp_path / "memories.json"
    write_export(memories, 5, generator=Generator())
    desk.write(lambda memory: memory.import_store(memories))
    assert desk.figures().figures[0].value == "5"
    assert isinstance(desk.model.health.state, NotExamined if most == 3 else Examined)
