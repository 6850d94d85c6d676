"""Large indexes are built by a child process while recalls go on; nothing half-built ever counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gm_engine import Memory, child
from gm_engine.store.vectors import Model, drop_vectors
from gm_engine.vectors import bulk_child, feed
from gm_engine.vectors.bulk_build import BuildTarget, BulkBuild
from gm_engine.vectors.chroma import EF_SEARCH
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.places import lock_of, report_of
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

Open = Callable[[], Memory]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a store for which ten vectors are many."""
    monkeypatch.setattr(feed, "BULK_ROWS", 10)
    monkeypatch.setattr(feed, "SMALL_ROWS", 20)
    opened: list[Memory] = []

    def open_store() -> Memory:
        memory = Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False)
        opened.append(memory)
        return memory

    yield open_store
    for memory in opened:
        memory.close()


def fill(memory: Memory, count: int, *, start: int = 0) -> None:
    for number in range(start, start + count):
        memory.remember("scout", f"Crate {number} stands on shelf {number % 7}.")
    assert memory.wait_for_embeddings(timeout_s=60)


def work(memory: Memory) -> None:
    for _ in range(2000):
        if not memory.index_step(0.1):
            return
    pytest.fail("indexing never ends")


def figures(memory: Memory) -> tuple[int, int, int, str]:
    vectors = memory.status().vectors
    return vectors.embedded, vectors.pending, vectors.chroma, vectors.path


def entries(data_dir: Path) -> list[str]:
    return sorted(path.name for path in (data_dir / "vectors").iterdir())


def answers(memory: Memory) -> tuple[list[str], str]:
    result = memory.recall("scout", "crate 17 shelf 3", preview=True)
    return [fact.id for fact in result.facts], result.coverage.vector_path


def test_many_vectors_are_built_by_a_child_process_while_recalls_answer_alike(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 60)
    assert memory.index_step(0.0)
    assert (tmp_path / "vectors" / "1.build").exists()
    before, path = answers(memory)
    assert path == "exact"
    work(memory)
    assert figures(memory) == (60, 0, 60, "chroma")
    assert answers(memory) == (before, "chroma")
    assert entries(tmp_path) == ["1", "1.in-use"]
    memory.close()
    assert entries(tmp_path) == ["1"]


def test_what_comes_later_is_scanned_beside_a_large_index_until_it_is_too_much(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 40)
    work(memory)
    fill(memory, 8, start=40)
    work(memory)
    assert figures(memory) == (48, 0, 40, "chroma")
    found = memory.recall("scout", "Crate 45 stands on shelf 3.", preview=True, top_k=1)
    assert (found.facts[0].text, found.coverage.vector_path) == ("Crate 45 stands on shelf 3.", "chroma")
    fill(memory, 8, start=48)
    work(memory)
    assert figures(memory) == (56, 0, 56, "chroma")
    assert entries(tmp_path) == ["2", "2.in-use"]


def test_a_store_that_closes_ends_the_build_and_the_next_one_starts_it_again(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 40)
    memory.index_step(0.0)
    indexer = memory._search._indexer
    assert indexer is not None
    assert indexer._feed is not None
    build = indexer._feed._build
    assert build is not None
    process = build._process
    assert process is not None
    assert process.poll() is None
    memory.close()
    assert process.poll() is not None
    memory = store()
    assert figures(memory) == (40, 0, 0, "exact")
    work(memory)
    assert figures(memory) == (40, 0, 40, "chroma")


def test_a_build_that_dies_is_tried_once_more_and_then_answers_are_exact(
    store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def dying(program: str, *arguments: str) -> list[str]:
        started.append(arguments[1])
        return [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]

    monkeypatch.setattr(child, "command", dying)
    memory = store()
    fill(memory, 40)
    work(memory)
    assert len(started) == 2
    assert figures(memory) == (40, 0, 0, "exact")
    assert answers(memory)[1] == "exact"


def test_without_child_processes_the_index_is_filled_here(store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    memory = store()
    fill(memory, 40)
    work(memory)
    assert figures(memory) == (40, 0, 40, "chroma")


def test_a_builder_whose_starter_is_gone_stops(store: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = store()
    fill(memory, 30)
    (tmp_path / "vectors").mkdir()
    arguments = [str(tmp_path), "7", "token", "scripted", "1000", str(EF_SEARCH)]
    assert bulk_child.main(arguments) == 1
    assert "whoever asked for the build is gone" in capsys.readouterr().out


def test_a_builder_says_what_is_wrong(tmp_path: Path) -> None:
    target = BuildTarget(Model(1, "nobody", 8), generation=3, token="T", through=9, ef_search=100)
    build = BulkBuild(tmp_path / "nowhere", target)
    while not build.wait(60):
        pytest.fail("the builder never ends")
    with pytest.raises(IndexUnavailable, match="no store"):
        build.built()
    build.stop()
    build.stop()
    assert not report_of(tmp_path / "nowhere", 3).exists()
    assert not lock_of(tmp_path / "nowhere", 3, "T").exists()


def test_a_frozen_program_starts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "graymatter")
    command = child.command(child.PROBE, "folder", "model", "8")
    assert command == ["graymatter", "--graymatter-child", "gm_engine.vectors.probe", "folder", "model", "8"]
    assert child.is_child(command[1:])
    assert not child.is_child(["--graymatter-child", "os", "folder"])
    assert not child.is_child(["recall", "--graymatter-child"])


def test_the_command_line_runs_a_child_program_when_it_is_started_as_one(tmp_path: Path) -> None:
    code = "import sys; from gm_engine.cli.main import main; sys.exit(main())"
    arguments = [child.FLAG, child.PROBE, str(tmp_path / "index"), "scripted", "8"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=child.environment(), check=False)
    assert done.returncode == 0
    assert (tmp_path / "index" / "chroma.sqlite3").exists()


def test_a_dropped_vector_is_forgotten_by_tables_and_by_the_index(store: Open, tmp_path: Path) -> None:
    memory, other = store(), store()
    fill(memory, 30)
    work(memory)
    fact = memory.remember("scout", "the secret of the crates")
    assert memory.wait_for_embeddings(timeout_s=60)
    query = "the secret of the crates"
    assert [m.recall("scout", query, preview=True, top_k=1).facts[0].id for m in (memory, other)] == [fact.id] * 2
    tables = [m._search._loaded_indexer().planner.table for m in (memory, other)]  # type: ignore[union-attr]
    with memory._ledger.bookkeep() as connection:
        key = connection.exec_driver_sql("SELECT text_key FROM facts WHERE id = ?", (fact.id,)).scalar_one()
        assert drop_vectors(connection, [key]) == 1
        assert drop_vectors(connection, [key]) == 0
    for m, table in zip((memory, other), tables, strict=True):
        row = int(table.rows([key])[0])
        coverage = m.recall("scout", query, preview=True).coverage
        assert (coverage.eligible, coverage.with_vector) == (31, 30)
        assert table.rows([key]).tolist() == [-1]
        assert not np.any(table.codes(np.array([row], dtype=np.int32)))
    assert memory.wait_for_embeddings(timeout_s=60)
    work(memory)
    assert entries(tmp_path) == ["2", "2.in-use"]
    assert figures(memory) == (31, 0, 31, "chroma")
    for m in (memory, other):
        assert m.recall("scout", query, preview=True, top_k=1).facts[0].id == fact.id
