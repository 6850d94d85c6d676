"""A store changes from one embedding model to another: one of them answers at any time, and coverage is visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine import Config, Memory
from gm_engine.doctor import Finding, Verdict, examine, repair
from gm_engine.embedding.embedder import Embedder
from gm_engine.errors import EmbeddingFailed
from gm_engine.store.vectors import drop_model, stored_models
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

Open = Callable[..., Memory]
OLD, NEW = "old", "new"


class Scripted(ScriptedEmbedder):
    """Fails while `is_away`."""

    is_away = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_away:
            raise EmbeddingFailed("The model is away.")
        return super().embed(texts)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens one store with a model; `known` are the other models that the process can embed queries with."""
    opened: list[Memory] = []
    clock = FrozenClock()

    def open_store(embedder: Embedder, *known: Embedder, **config: object) -> Memory:
        memory = Memory.open(
            tmp_path,
            clock=clock,
            embedder=embedder,
            background=False,
            config=Config(**config),  # type: ignore[arg-type]
        )
        monkeypatch.setattr(
            "gm_engine.embedding.providers.find_embedder",
            lambda name, *_: next((one for one in known if one.model == name), None),
        )
        memory.vector_status()  # the indexer is made with these models
        opened.append(memory)
        return memory

    yield open_store
    for memory in opened:
        memory.close()


def fill(memory: Memory, count: int = 12, *, start: int = 0) -> None:
    for number in range(start, start + count):
        memory.remember("scout", f"Crate {number} stands on shelf {number % 7}.")


def work(memory: Memory) -> None:
    for _ in range(200):
        if not memory.index_step(0.05):
            return
    pytest.fail("indexing never ends")


def answering(memory: Memory) -> tuple[str, int, int]:
    """Who answers, how many texts have a vector of the wanted model, and how many facts the answer could look at."""
    status = memory.vector_status()
    coverage = memory.recall("scout", "Crate 3 stands on shelf 3.", preview=True).coverage
    return status.answering, status.embedded, coverage.with_vector


def states(memory: Memory) -> dict[str, str]:
    with memory._ledger.read() as connection:
        return {model.name: model.state for model in stored_models(connection)}


def test_the_old_model_answers_until_the_new_one_covers_everything(store: Open) -> None:
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    memory = store(old)
    fill(memory)
    work(memory)
    assert answering(memory) == (OLD, 12, 12)
    memory.close()
    memory = store(new, old)
    assert answering(memory) == (OLD, 0, 12)
    memory.embed_pending("scout", limit=5)
    assert answering(memory) == (OLD, 5, 12)
    assert states(memory) == {OLD: "active", NEW: "filling"}
    queries = [text for call in new.calls for text in call]
    assert "Crate 3 stands on shelf 3." not in queries[5:]
    work(memory)
    assert answering(memory) == (NEW, 12, 12)
    assert states(memory) == {OLD: "old", NEW: "active"}
    assert memory.recall("scout", "Crate 3 stands on shelf 3.", preview=True).coverage.vector_path == "chroma"


def test_another_process_switches_at_the_same_moment(store: Open) -> None:
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    first = store(old)
    fill(first)
    work(first)
    first.close()
    worker, reader = store(new, old), store(new, old)
    assert [answering(memory)[0] for memory in (worker, reader)] == [OLD, OLD]
    work(worker)
    assert [answering(memory)[0] for memory in (worker, reader)] == [NEW, NEW]
    before = [memory.recall("scout", "shelf 4", preview=True).facts for memory in (worker, reader)]
    assert before[0] == before[1]


def test_once_it_answers_the_new_model_stays_though_new_texts_wait(store: Open) -> None:
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    memory = store(old)
    fill(memory)
    work(memory)
    memory.close()
    memory = store(new, old)
    work(memory)
    memory.close()
    memory = store(new, old)
    fill(memory, 3, start=12)
    assert answering(memory) == (NEW, 12, 12)


def test_without_the_old_model_the_new_one_answers_with_what_it_has(store: Open) -> None:
    memory = store(Scripted(model=OLD, dims=16))
    fill(memory)
    work(memory)
    memory.close()
    memory = store(Scripted(model=NEW, dims=24))
    coverage = memory.recall("scout", "shelf 3", preview=True).coverage
    assert (coverage.vector_path, coverage.with_vector, coverage.eligible) == ("none", 0, 12)
    memory.embed_pending("scout", limit=5)
    assert answering(memory) == (NEW, 5, 5)


def test_a_new_model_that_fails_leaves_the_old_one_answering(store: Open) -> None:
    told: list[str] = []
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    memory = store(old)
    fill(memory)
    work(memory)
    memory.close()
    new.is_away = True
    memory = store(new, old, on_index_error=lambda error: told.append(error.message))
    assert not memory.index_step(0.05)
    assert answering(memory) == (OLD, 0, 12)
    assert memory.vector_status().error == "The model is away."
    assert told == ["The model is away."]


def test_going_back_to_the_model_from_before_needs_only_what_is_missing(store: Open) -> None:
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    memory = store(old)
    fill(memory)
    work(memory)
    memory.close()
    memory = store(new, old)
    work(memory)
    fill(memory, 2, start=12)
    work(memory)
    memory.close()
    embedded = len(old.calls)
    memory = store(old, new)
    assert answering(memory) == (NEW, 12, 14)
    work(memory)
    assert answering(memory) == (OLD, 14, 14)
    assert [len(call) for call in old.calls[embedded:]] == [2, 1]
    assert states(memory) == {OLD: "active", NEW: "old"}


def test_a_model_that_is_dropped_is_forgotten_by_whoever_has_its_vectors_loaded(store: Open) -> None:
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    memory = store(old)
    fill(memory)
    work(memory)
    memory.close()
    memory = store(new, old)
    assert answering(memory) == (OLD, 0, 12)
    with memory._ledger.bookkeep() as connection:
        assert drop_model(connection, stored_models(connection)[0]) == 12
    assert answering(memory)[1:] == (0, 0)
    work(memory)
    assert answering(memory) == (NEW, 12, 12)


def test_the_doctor_names_vectors_of_older_models_and_drops_them_when_asked(store: Open, tmp_path: Path) -> None:
    old, new = Scripted(model=OLD, dims=16), Scripted(model=NEW, dims=24)
    memory = store(old)
    fill(memory)
    work(memory)
    memory.close()
    memory = store(new, old)
    work(memory)

    def finding() -> Finding:
        return next(found for found in examine(tmp_path) if found.check == "older models")

    assert finding().verdict is Verdict.NOTICE
    assert "12 vectors of old, which was replaced" in finding().detail
    before = answering(memory)
    repair(tmp_path, ["older models"])
    assert (finding().verdict, finding().detail) == (Verdict.SOUND, "every vector is of the model in use")
    assert states(memory) == {NEW: "active"}
    assert answering(memory) == before == (NEW, 12, 12)
    work(memory)
    assert memory.vector_status().path == "chroma"


def test_hooks_hear_of_recalls_and_of_written_facts(store: Open) -> None:
    recalls: list[tuple[str, str, int]] = []
    written: list[str] = []

    def broken(agent_id: str, query: str, facts: tuple[object, ...]) -> None:
        recalls.append((agent_id, query, len(facts)))
        raise RuntimeError("the host's bug")

    memory = store(Scripted(model=OLD), on_recall=broken, on_put=lambda fact: written.append(fact.text))
    first = memory.remember("scout", "One.")
    memory.remember_shared("Two.")
    memory.revise("scout", [first.id], "Three.")
    memory.alias("scout", "gate", ["door"])
    assert written == ["One.", "Two.", "Three.", "alias: gate = door"]
    memory.recall("scout", "three")
    memory.recall("scout", "three", preview=True)
    memory.recall_all("scout", "two")
    memory.batch_recall("scout", ["one", "two"])
    assert recalls == [("scout", "three", 1), ("scout", "two", 2), ("scout", "one", 1), ("scout", "two", 1)]
