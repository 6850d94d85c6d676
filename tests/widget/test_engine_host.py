"""The engine host: jobs in lanes, answers on the GUI thread, late answers dropped, changes told once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gm_desktop import engine_host
from gm_desktop.engine_host import EngineHost, JobCrashed
from gm_desktop.i18n import use_language
from gm_desktop.tasks import TaskState
from gm_desktop.tickets import Latest
from gm_engine import CancelToken, Changes, Memory, Origin, Progress
from gm_engine.errors import GrayMatterError, NotFound, StoreUnavailable
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.widget.conftest import open_scripted


def test_answers_come_on_the_gui_thread_from_another_one(open_host: EngineHost, qtbot: QtBot) -> None:
    seen: list[tuple[str, int]] = []
    open_host.read(
        lambda memory: threading.get_ident(),
        lambda worker: seen.extend([("worker", worker), ("gui", threading.get_ident())]),
    )
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen[1] == ("gui", threading.get_ident())
    assert seen[0][1] != threading.get_ident()


def test_a_job_asked_before_the_store_is_open_runs_once_it_is(host: EngineHost, qtbot: QtBot, tmp_path: Path) -> None:
    answers: list[int] = []
    host.open_store(tmp_path / "store")
    host.read(lambda memory: len(memory.agents()), answers.append)
    qtbot.waitUntil(lambda: answers == [0])
    assert host.is_open


def test_a_job_without_a_store_fails_with_a_sentence(host: EngineHost, qtbot: QtBot) -> None:
    errors: list[GrayMatterError] = []
    host.read(lambda memory: memory.agents(), lambda _: None, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert isinstance(errors[0], StoreUnavailable)


def test_the_answer_of_a_cancelled_ticket_never_arrives(open_host: EngineHost, qtbot: QtBot) -> None:
    gate = threading.Event()
    answers: list[str] = []
    latest = Latest()
    latest.take(open_host.read(lambda memory: (gate.wait(10) and "old") or "old", answers.append))
    latest.take(open_host.read(lambda memory: "new", answers.append))
    gate.set()
    qtbot.waitUntil(lambda: bool(answers))
    open_host.read(lambda memory: "last", answers.append)
    qtbot.waitUntil(lambda: answers[-1] == "last")
    assert answers == ["new", "last"]


def test_a_job_cancelled_before_its_turn_does_not_run(open_host: EngineHost, qtbot: QtBot) -> None:
    gate, ran, answers = threading.Event(), threading.Event(), list[object]()
    open_host.read(lambda memory: gate.wait(10), answers.append)
    open_host.read(lambda memory: ran.set(), answers.append).cancel()
    gate.set()
    open_host.read(lambda memory: "end", answers.append)
    qtbot.waitUntil(lambda: "end" in answers)
    assert not ran.is_set()


def test_answers_of_one_lane_keep_their_order(open_host: EngineHost, qtbot: QtBot) -> None:
    answers: list[int] = []
    for number in range(50):
        open_host.read(partial(lambda number, memory: number, number), answers.append)
    qtbot.waitUntil(lambda: len(answers) == 50)
    assert answers == list(range(50))


def test_reading_goes_on_while_a_write_takes_long(open_host: EngineHost, qtbot: QtBot) -> None:
    gate, answers = threading.Event(), list[str]()
    open_host.write(lambda memory: gate.wait(10), lambda _: answers.append("written"))
    open_host.read(lambda memory: "read", answers.append)
    qtbot.waitUntil(lambda: answers == ["read"])
    gate.set()
    qtbot.waitUntil(lambda: answers == ["read", "written"])


def test_an_own_write_is_told_once(open_host: EngineHost, qtbot: QtBot) -> None:
    told: list[Changes] = []
    open_host.changed.connect(told.append)
    open_host.write(lambda memory: memory.remember("sales", "Ann prefers email"), lambda _: None)
    qtbot.waitUntil(lambda: bool(told))
    polled: list[object] = []
    for _ in range(3):
        open_host.read(lambda memory: memory.last_seq(), polled.append)
    qtbot.waitUntil(lambda: len(polled) == 3)
    assert len(told) == 1
    assert told[0].agent_ids == {"sales"}


def test_a_write_by_another_program_is_told(open_host: EngineHost, qtbot: QtBot) -> None:
    assert open_host.data_dir is not None
    with qtbot.waitSignal(open_host.changed) as heard:
        other = Memory.open(
            open_host.data_dir,
            background=False,
            clock=FrozenClock("2026-12-01T00:00:00Z"),
            embedder=ScriptedEmbedder(),
            origin=Origin("cli"),
        )
        with other:
            other.remember("ops", "The night shift starts at ten")
    assert heard.args is not None
    assert heard.args[0].agent_ids == {"ops"}


def test_an_expected_failure_nobody_claims_goes_to_failed(open_host: EngineHost, qtbot: QtBot) -> None:
    with qtbot.waitSignal(open_host.failed) as heard:
        open_host.read(lambda memory: memory.get("01ARZ3NDEKTSV4RRFFQ69G5FAV"), lambda _: None)
    assert heard.args is not None
    assert isinstance(heard.args[0], NotFound)


def test_a_bug_in_a_job_is_reported_and_the_lane_lives_on(open_host: EngineHost, qtbot: QtBot) -> None:
    crashes: list[BaseException] = []
    failures: list[GrayMatterError] = []
    open_host.crashed.connect(crashes.append)
    open_host.read(lambda memory: 1 // 0, lambda _: None, failures.append)
    qtbot.waitUntil(lambda: bool(failures))
    assert isinstance(crashes[0], ZeroDivisionError)
    assert isinstance(failures[0], JobCrashed)
    answers: list[int] = []
    open_host.read(lambda memory: 7, answers.append)
    qtbot.waitUntil(lambda: answers == [7])


def test_opening_a_directory_that_is_a_file_fails_and_leaves_no_store(
    host: EngineHost, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "store").write_text("not a directory")
    with qtbot.waitSignal(host.open_failed) as heard:
        host.open_store(tmp_path / "store")
    assert heard.args is not None
    assert isinstance(heard.args[0], GrayMatterError)
    assert not host.is_open
    assert host.data_dir is None


def test_the_index_lane_embeds_what_is_pending(open_host: EngineHost, qtbot: QtBot) -> None:
    with qtbot.waitSignal(open_host.changed):
        open_host.write(lambda memory: memory.remember("sales", "Ann prefers email"), lambda _: None)
    with qtbot.waitSignal(open_host.indexed, timeout=60_000) as heard:  # the first step may load Chroma
        open_host.start_indexing()
    assert heard.args is not None
    assert heard.args[0].pending == 0
    assert heard.args[0].embedded == 1


def test_the_vector_index_is_written_and_the_model_loaded_ahead_once_nobody_has_written_facts_for_a_while(
    open_host: EngineHost, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Memory] = []

    def load_model(memory: Memory) -> None:
        loaded.append(memory)

    monkeypatch.setattr(Memory, "load_model", load_model)
    monkeypatch.setattr(engine_host, "CALM_S", 3_600.0)
    with qtbot.waitSignal(open_host.changed):
        open_host.write(lambda memory: memory.remember("sales", "Ann prefers email"), lambda _: None)
    with qtbot.waitSignal(open_host.indexed, timeout=60_000) as heard:
        open_host.start_indexing()
    assert heard.args is not None
    assert (heard.args[0].embedded, heard.args[0].chroma) == (1, 0)
    assert not loaded
    monkeypatch.setattr(engine_host, "CALM_S", 0.0)
    with qtbot.waitSignal(open_host.indexed, timeout=60_000, check_params_cb=lambda status: status.chroma == 2):
        open_host.write(lambda memory: memory.remember("sales", "Ben prefers letters"), lambda _: None)
    qtbot.waitUntil(lambda: bool(loaded))


def test_closing_the_store_lets_go_of_it(
    open_host: EngineHost, qtbot: QtBot, asked: Callable[[EngineHost, Callable[[Memory], object]], object]
) -> None:
    kept: list[Memory] = []
    open_host.read(lambda memory: memory, kept.append)
    qtbot.waitUntil(lambda: bool(kept))
    data_dir = open_host.data_dir
    assert data_dir is not None
    open_host.close_store()
    assert open_host.data_dir is None
    with qtbot.waitSignal(open_host.store_opened):
        open_host.open_store(data_dir)
    assert asked(open_host, lambda memory: memory is not kept[0]) is True


def test_a_task_reports_progress_and_ends(open_host: EngineHost, qtbot: QtBot) -> None:
    results: list[str] = []

    def job(memory: Memory, progress: Progress, cancel: CancelToken) -> str:
        progress(1, 2, "Counting")
        progress(2, 2, "Counting")
        return "done"

    task = open_host.run_task("Count", job, results.append)
    reported: list[tuple[int, int | None, float | None]] = []
    task.progressed.connect(lambda: reported.append((task.done, task.total, task.fraction)))
    with qtbot.waitSignal(task.ended):
        pass
    assert results == ["done"]
    assert reported[-1] == (2, 2, 1.0)
    assert open_host.tasks.running == ()


def test_a_cancelled_task_stops_at_its_next_check(open_host: EngineHost, qtbot: QtBot) -> None:
    begun = threading.Event()

    def job(memory: Memory, progress: Progress, cancel: CancelToken) -> None:
        begun.set()
        while True:
            cancel.check()

    task = open_host.run_task("Spin", job, lambda _: None)
    states: list[TaskState] = []
    task.ended.connect(lambda: states.append(task.state))
    begun.wait(10)
    task.cancel()
    assert task.state is TaskState.CANCELLING
    qtbot.waitUntil(lambda: bool(states))
    assert states == [TaskState.CANCELLED]


def test_closing_the_host_stops_a_running_task(host: EngineHost, qtbot: QtBot, tmp_path: Path) -> None:
    with qtbot.waitSignal(host.store_opened):
        host.open_store(tmp_path / "store")
    begun = threading.Event()

    def job(memory: Memory, progress: Progress, cancel: CancelToken) -> None:
        begun.set()
        while True:
            cancel.check()

    host.run_task("Spin", job, lambda _: None)
    begun.wait(10)
    host.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gm-")]


class _Door:
    """Opens real stores, and can be held shut."""

    def __init__(self) -> None:
        self.entered, self.gate = threading.Event(), threading.Event()

    def __call__(self, data_dir: Path, *, read_only: bool) -> Memory:
        self.entered.set()
        self.gate.wait(10)
        return open_scripted(data_dir, read_only=read_only)


def test_opening_another_store_meanwhile_lets_go_of_the_first(qtbot: QtBot, tmp_path: Path) -> None:
    door = _Door()
    host = EngineHost(opener=door)
    host.open_store(tmp_path / "one")
    door.entered.wait(10)
    host.open_store(tmp_path / "two")
    door.gate.set()
    with qtbot.waitSignal(host.store_opened):
        pass
    assert host.data_dir == tmp_path / "two"
    dirs: list[Path] = []
    host.read(lambda memory: memory.data_dir, dirs.append)
    qtbot.waitUntil(lambda: dirs == [tmp_path / "two"])
    host.close()
    host.deleteLater()
    assert [_registered(tmp_path / name) for name in ("one", "two")] == [0, 0]


def test_closing_the_host_while_it_opens_lets_go_of_the_store(qtbot: QtBot, tmp_path: Path) -> None:
    door = _Door()
    host = EngineHost(opener=door)
    host.open_store(tmp_path / "one")
    door.entered.wait(10)
    door.gate.set()
    host.close()
    host.deleteLater()
    assert _registered(tmp_path / "one") == 0


def _registered(data_dir: Path) -> int:
    """How many programs say they have the store open; a closed one took itself off the list."""
    with Memory.open(data_dir, read_only=True, background=False, embedder=ScriptedEmbedder()) as memory:
        return len(memory.processes())


def test_that_no_store_is_open_is_said_in_the_language_of_the_window(host: EngineHost, qtbot: QtBot) -> None:
    failed: list[GrayMatterError] = []
    use_language("de")
    try:
        host.read(lambda memory: memory.status(), lambda _: None, failed.append)
    finally:
        use_language("en")
    qtbot.waitUntil(lambda: bool(failed))
    assert failed[0].message == "Kein Speicher ist geöffnet."
