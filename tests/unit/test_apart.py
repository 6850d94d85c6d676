"""Long work in a process of its own: answers, failures, death and cancelling come through as if it ran here."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from exporters.obsidian import apart
from exporters.obsidian.apart import ChildCrashed, ChildEnded, run_apart, run_job
from exporters.obsidian.checking import check_links
from exporters.obsidian.folder import locked, open_folder
from exporters.obsidian.jobs import CheckingLinks, Comparing, Job, Publishing, ReadingEdits
from exporters.obsidian.publish import publish
from exporters.profiles import PublishOptions
from gm_engine import CancelToken, DiskFull, Memory, PublishRefused, child, no_progress
from gm_engine.errors import Cancelled, StoreUnavailable
from tests.fakes.jobs import Counting, Crashing, Dying, Refusing, Waiting
from tests.fakes.vault_notes import GATE, change, note, scouts_store

NOT_HERE = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with scouts_store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started."""
    found: list[subprocess.Popen[bytes]] = []
    start = apart._start

    def remembered(*places: Path) -> subprocess.Popen[bytes]:
        found.append(start(*places))
        return found[-1]

    monkeypatch.setattr(apart, "_start", remembered)
    return found


class Cancelling(CancelToken):
    """Cancels at the first progress that comes."""

    def progress(self, done: int, total: int | None, what: str) -> None:
        """See `Progress`."""
        self.cancel()


def test_an_answer_comes_whole_with_progress_now_and_then(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[int, int | None, str]] = []
    count = 3 * apart.PIECE + 7
    with caplog.at_level(logging.WARNING):
        found = run_apart(
            Counting(count), memory.data_dir, progress=lambda *told: heard.append(told), cancel=CancelToken()
        )
    assert found.numbers == tuple(range(count))
    assert found.names == ("scout",)
    assert found.pid != os.getpid()
    assert (heard[0], heard[-1]) == ((0, count, "Counting"), (count, count, "Counted"))
    assert len(heard) < count / 10
    assert "a library talks" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="priorities are others there")
def test_the_process_steps_back_for_others(memory: Memory) -> None:
    found = run_apart(Counting(1), memory.data_dir, progress=no_progress, cancel=CancelToken())
    assert found.niceness == min(19, os.nice(0) + 10)


def test_an_expected_failure_is_the_same_failure_here(memory: Memory) -> None:
    with pytest.raises(PublishRefused) as caught:
        run_apart(Refusing(), memory.data_dir, progress=no_progress, cancel=CancelToken())
    assert caught.value.message == "The folder is a river."
    assert caught.value.fields == {"folder": "Memory", "ids": ("a", "b")}


def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        run_apart(Refusing(), tmp_path / "nowhere", progress=no_progress, cancel=CancelToken())


@NOT_HERE
def test_no_text_lies_in_a_folder_while_the_work_is_done(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    seen: set[tuple[Path, ...]] = set()

    def progress(done: int, total: int | None, what: str) -> None:
        seen.add(tuple(path for path in scratch.rglob("*") if path.is_file()))

    run_apart(Counting(3), memory.data_dir, progress=progress, cancel=CancelToken())
    assert seen == {()}


def test_a_bug_comes_with_its_traceback(memory: Memory) -> None:
    with pytest.raises(ChildCrashed, match=r"(?s)in run.*ZeroDivisionError"):
        run_apart(Crashing(), memory.data_dir, progress=no_progress, cancel=CancelToken())


def test_a_bug_with_a_long_message_is_a_bug_all_the_same(memory: Memory) -> None:
    with pytest.raises(ChildCrashed, match=r"(?s)in run.*ValueError: x{10000}$"):
        run_apart(Crashing(10_000), memory.data_dir, progress=no_progress, cancel=CancelToken())


@NOT_HERE
def test_a_process_that_is_killed_is_an_expected_failure_with_its_last_words(memory: Memory) -> None:
    with pytest.raises(ChildEnded, match="ended too early") as caught:
        run_apart(Dying(), memory.data_dir, progress=no_progress, cancel=CancelToken())
    assert caught.value.fields == {"exit_code": -9, "said": "the last words"}


def test_where_no_process_can_be_started_that_is_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(ChildEnded, match="could not be started"):
        run_apart(Refusing(), memory.data_dir, progress=no_progress, cancel=CancelToken())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("job", [Counting(3 * apart.PIECE), Refusing()], ids=["an answer", "a failure"])
def test_a_full_disk_below_the_answers_is_told_with_its_folder(
    job: Job[object], memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = apart._start

    def on_a_full_disk(said: Path, errors: Path) -> subprocess.Popen[bytes]:
        said.symlink_to("/dev/full")
        return start(said, errors)

    monkeypatch.setattr(apart, "_start", on_a_full_disk)
    with pytest.raises(DiskFull, match="The disk is full") as caught:
        run_apart(job, memory.data_dir, progress=no_progress, cancel=CancelToken())
    assert caught.value.fields == {"path": tempfile.gettempdir()}


@pytest.mark.parametrize("refused", ["exporters.obsidian.apart._start", "tempfile.mkdtemp"])
def test_a_full_disk_before_the_process_starts_is_told_with_its_folder(
    refused: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(refused, full)
    with pytest.raises(DiskFull) as caught:
        run_apart(Refusing(), memory.data_dir, progress=no_progress, cancel=CancelToken())
    assert caught.value.fields == {"path": tempfile.gettempdir()}


def test_a_temporary_folder_that_is_not_there_is_told(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(PublishRefused, match="gone cannot be written: No such file"):
        run_apart(Refusing(), memory.data_dir, progress=no_progress, cancel=CancelToken())


def test_work_that_is_cancelled_ends_and_leaves_no_process(
    memory: Memory, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    token = Cancelling()
    with pytest.raises(Cancelled):
        run_apart(Waiting(tmp_path), memory.data_dir, progress=token.progress, cancel=token)
    assert (tmp_path / "ended").exists(), "it ended by itself"
    assert started[0].returncode == 0


def test_work_that_does_not_listen_is_ended_by_force(
    memory: Memory, tmp_path: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_PATIENCE_S", 0.1)
    token = Cancelling()
    with pytest.raises(Cancelled):
        run_apart(Waiting(tmp_path, is_deaf=True), memory.data_dir, progress=token.progress, cancel=token)
    assert not (tmp_path / "ended").exists()
    assert started[0].returncode not in (0, None)


def test_work_that_was_cancelled_before_it_began_starts_no_process(
    memory: Memory, started: list[subprocess.Popen[bytes]]
) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        run_apart(Refusing(), memory.data_dir, progress=no_progress, cancel=token)
    assert started == []


def test_reading_what_was_published_stops_between_its_files(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    publish(memory, tmp_path / "vault")
    token = CancelToken()
    token.cancel()
    heard: list[str] = []
    with pytest.raises(Cancelled):
        ReadingEdits(tmp_path / "vault", "Memory").run(memory, lambda *told: heard.append(told[2]), token)
    assert heard == [], "not even the folder was looked at"


@NOT_HERE
def test_a_process_ends_when_whoever_asked_is_gone(memory: Memory, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from exporters.obsidian.apart import run_apart;"
        "from gm_engine import CancelToken, no_progress; from tests.fakes.jobs import Waiting;"
        "run_apart(Waiting(Path(sys.argv[2])), Path(sys.argv[1]), progress=no_progress, cancel=CancelToken())"
    )
    arguments = [sys.executable, "-c", code, str(memory.data_dir), str(tmp_path)]
    with subprocess.Popen(arguments, env=child.environment()) as asking:
        while not (tmp_path / "began").exists() and asking.poll() is None:
            Event().wait(0.01)
        asking.kill()
    assert (tmp_path / "began").exists()
    waited = 0
    while not (tmp_path / "ended").exists() and waited < 6_000:
        waited += 1
        Event().wait(0.01)
    assert (tmp_path / "ended").exists()


def test_only_a_large_store_is_worked_on_apart(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting(1)
    assert run_job(counting, memory, progress=no_progress, cancel=CancelToken()).pid == os.getpid()
    monkeypatch.setattr(apart, "LARGE_BYTES", memory.size_bytes)
    assert run_job(counting, memory, progress=no_progress, cancel=CancelToken()).pid != os.getpid()


@NOT_HERE
def test_a_store_whose_file_was_taken_away_has_no_size(memory: Memory) -> None:
    assert memory.size_bytes > 0
    (memory.data_dir / "ledger.sqlite").rename(memory.data_dir / "elsewhere")
    assert memory.size_bytes == 0


def test_a_vault_is_published_compared_and_read_apart_as_it_is_here(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "apart"):
        (tmp_path / name).mkdir()
    here = publish(memory, tmp_path / "here")
    monkeypatch.setattr(apart, "LARGE_BYTES", 0)
    vault, options = tmp_path / "apart", PublishOptions()
    plan = run_job(Comparing(vault, "Memory", options, 1), memory, progress=no_progress, cancel=CancelToken())
    assert (plan.counts["new"], len(plan.items)) == (here.written + here.files, 1)
    assert plan.items[0].after is not None
    report = run_job(Publishing(vault, "Memory", options), memory, progress=no_progress, cancel=CancelToken())
    assert (report.written, report.files, report.left) == (here.written, here.files, here.left)
    ours = {path.relative_to(vault): path.read_bytes() for path in vault.rglob("*.md")}
    assert ours == {path.relative_to(tmp_path / "here"): path.read_bytes() for path in tmp_path.glob("here/**/*.md")}
    links = run_job(CheckingLinks(vault, "Memory"), memory, progress=no_progress, cancel=CancelToken())
    assert links == check_links(tmp_path / "here")
    change(note(vault, GATE), f"> {GATE}", "> The gate opens at ten.")
    edits = run_job(ReadingEdits(vault, "Memory"), memory, progress=no_progress, cancel=CancelToken())
    assert [edit.text for edit in edits.edits] == ["The gate opens at ten."]


@pytest.mark.skipif(sys.platform == "win32", reason="there, replacing an open file fails by itself")
def test_two_publishes_exclude_each_other_across_processes(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    job = Publishing(tmp_path / "vault", "Memory", PublishOptions())
    with locked(open_folder(tmp_path / "vault", "Memory")), pytest.raises(PublishRefused, match="Another program"):
        run_apart(job, memory.data_dir, progress=no_progress, cancel=CancelToken())


@pytest.mark.parametrize("main", ["gm_engine.cli.main", "gm_desktop.__main__"])
def test_a_frozen_program_runs_the_work_when_it_is_started_as_that(
    main: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = child.command(apart.PROGRAM)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    frozen = child.command(apart.PROGRAM)
    assert (plain[1:], frozen[1:]) == (["-P", "-m", apart.PROGRAM], [child.FLAG, apart.PROGRAM])
    code = f"import sys; from {main} import main; sys.exit(main())"
    monkeypatch.setattr(child, "command", lambda _program: [sys.executable, "-c", code, *frozen[1:]])
    found = run_apart(Counting(1), memory.data_dir, progress=no_progress, cancel=CancelToken())
    assert found.names == ("scout",)
