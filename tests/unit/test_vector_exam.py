"""The doctor compares the vector index with exact answers, and builds a wrong one anew or gives it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine import Cancelled, CancelToken, Memory, StoreBusy, VectorExam
from gm_engine.doctor import Verdict
from gm_engine.doctor.vector_paths import examine_vector_paths
from gm_engine.vectors.chroma import EF_SEARCH, ChromaIndex
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder

Open = Callable[[], Memory]
COUNT = 120


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []
    clock = FrozenClock()

    def open_store() -> Memory:
        opened.append(Memory.open(tmp_path, clock=clock, embedder=ScriptedEmbedder(), background=False))
        return opened[-1]

    yield open_store
    for memory in opened:
        memory.close()


def fill(memory: Memory, count: int = COUNT) -> None:
    for number in range(count):
        memory.remember("scout", f"Crate {number} stands on shelf {number % 7}.")
    assert memory.wait_for_embeddings(timeout_s=60)


def lie(monkeypatch: pytest.MonkeyPatch, *, indexes: int) -> None:
    """The first so many indexes that are asked leave out the true nearest from now on."""
    wrong: list[ChromaIndex] = []
    nearest = ChromaIndex.nearest

    def lying(index: ChromaIndex, query: NDArray[np.int16], count: int) -> list[bytes]:
        if len(wrong) < indexes and index not in wrong:
            wrong.append(index)
        found = nearest(index, query, min(count + 1, index.count()))
        return found[1:] if index in wrong else found[:count]

    monkeypatch.setattr(ChromaIndex, "nearest", lying)


def test_a_right_index_is_said_to_be_right(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory)
    seen: list[str] = []
    exam = memory.examine_vectors(progress=lambda done, total, what: seen.append(what))
    assert exam == VectorExam(COUNT, 200, 16, 0, 0, 1.0, EF_SEARCH)
    assert {"indexing", "comparing both ways to search"} <= set(seen)
    assert memory.examine_vectors() == exam
    memory.close()
    finding = examine_vector_paths(tmp_path, embedder=ScriptedEmbedder())
    assert finding.verdict is Verdict.SOUND
    assert "200 searches over 120 vectors, 0 with another order" in finding.detail


def test_a_wrong_index_is_built_anew_and_searches_wider(
    store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, indexes=1)
    memory = store()
    fill(memory)
    exam = memory.examine_vectors()
    assert (exam.rebuilt, exam.is_exact_now, exam.different, exam.ef_search) == (True, False, 0, 2 * EF_SEARCH)
    assert memory.settings.vector_path == "auto"
    assert memory.vector_status().path == "chroma"
    assert [path.name for path in (tmp_path / "vectors").iterdir() if path.is_dir()] == ["2"]
    memory.close()
    memory = store()
    assert not memory.index_step(0.1)
    exam = memory.examine_vectors()
    assert (exam.rebuilt, exam.ef_search) == (False, 2 * EF_SEARCH)


def test_an_index_that_stays_wrong_is_given_up_for_exact_answers(
    store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, indexes=9)
    memory = store()
    fill(memory)
    memory.close()
    finding = examine_vector_paths(tmp_path, embedder=ScriptedEmbedder(), clock=FrozenClock("2027-01-01T00:00:00Z"))
    assert finding.verdict is Verdict.NOTICE
    assert "the store asks for exact searches from now on" in finding.detail
    memory = store()
    assert memory.settings.vector_path == "exact"
    assert memory.vector_status().path == "exact"
    assert memory.examine_vectors().reason == "the store asks for exact searches"
    assert memory.recall("scout", "Crate 7", preview=True).coverage.reason == "the store asks for exact search"


def test_an_empty_store_has_nothing_to_compare(store: Open) -> None:
    memory = store()
    assert memory.examine_vectors().reason == "no text has a vector yet"


def test_an_index_that_somebody_else_has_open_is_left_alone(store: Open, tmp_path: Path) -> None:
    owner, other = store(), store()
    fill(owner, 5)
    owner.index_step(0.1)
    with pytest.raises(StoreBusy, match="Another process owns the vector index"):
        other.examine_vectors()
    finding = examine_vector_paths(tmp_path, embedder=ScriptedEmbedder())
    assert finding.verdict is Verdict.NOTICE
    assert "not compared" in finding.detail


def test_an_exam_can_be_cancelled(store: Open) -> None:
    memory = store()
    fill(memory)
    token = CancelToken()
    with pytest.raises(Cancelled):
        memory.examine_vectors(progress=lambda *_: token.cancel(), cancel=token)
    assert memory.examine_vectors().different == 0


def test_the_command_says_what_was_compared(tmp_path: Path) -> None:
    assert run("--data-dir", tmp_path, "init").code == 0
    answer = run("--data-dir", tmp_path, "doctor", "--vectors", "--json")
    assert answer.code == 0
    (check,) = (check for check in answer.json["checks"] if check["name"] == "vector paths")
    assert check["detail"] == "not compared: no text has a vector yet"
