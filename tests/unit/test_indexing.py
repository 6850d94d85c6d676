"""Embedding and indexing through the door: bounded steps, one process at a time, every failure survived."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from numpy.typing import NDArray

from gm_engine import Config, Memory
from gm_engine.embedding.queue import EmbeddingQueue
from gm_engine.errors import Cancelled, EmbeddingFailed
from gm_engine.progress import CancelToken
from gm_engine.vectors import chroma
from gm_engine.vectors.index import IndexUnavailable
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

Open = Callable[..., Memory]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []

    def open_store(embedder: ScriptedEmbedder | None = None, *, read_only: bool = False, **config: object) -> Memory:
        memory = Memory.open(
            tmp_path,
            clock=FrozenClock(),
            embedder=embedder or ScriptedEmbedder(),
            background=False,
            read_only=read_only,
            config=Config(**config),  # type: ignore[arg-type]
        )
        opened.append(memory)
        return memory

    yield open_store
    for memory in opened:
        memory.close()


def fill(memory: Memory, count: int, *, start: int = 0) -> None:
    for number in range(start, start + count):
        memory.remember("scout", f"Crate {number} stands on shelf {number % 7}.")


def work(memory: Memory) -> None:
    """Steps until there is nothing more to do."""
    for _ in range(200):
        if not memory.index_step(0.05):
            return
    pytest.fail("indexing never ends")


def figures(memory: Memory) -> tuple[int, int, int, str]:
    vectors = memory.status().vectors
    return vectors.embedded, vectors.pending, vectors.chroma, vectors.path


def rows_in(data_dir: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(data_dir / "ledger.sqlite")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_steps_embed_every_live_text_and_fill_chroma(store: Open) -> None:
    memory = store()
    fill(memory, 70)
    assert figures(memory) == (0, 70, 0, "none")
    work(memory)
    assert figures(memory) == (70, 0, 70, "chroma")
    assert not memory.index_step(0.05)


def test_a_small_index_is_left_alone_until_it_is_calm_and_searches_are_exact_meanwhile(store: Open) -> None:
    memory = store()
    fill(memory, 30)
    while memory.index_step(0.05, is_calm=False):
        pass
    assert figures(memory)[:3] == (30, 0, 0)
    assert len(memory.recall("scout", "crate 7", top_k=3).facts) == 3
    work(memory)
    assert figures(memory) == (30, 0, 30, "chroma")
    fill(memory, 5, start=30)
    while memory.index_step(0.05, is_calm=False):
        pass
    assert figures(memory)[:3] == (35, 0, 30)


@pytest.mark.parametrize("vector_path", ["auto", "exact"])
def test_purged_vectors_leave_the_index_though_it_is_not_calm(store: Open, tmp_path: Path, vector_path: str) -> None:
    memory = store()
    fill(memory, 30)
    work(memory)
    folder = tmp_path / "vectors" / "1"
    assert folder.exists()
    memory.set_settings(replace(memory.settings, vector_path=vector_path))  # type: ignore[arg-type]
    ended = Event()

    def stepping() -> None:
        while not ended.wait(0.02):
            memory.index_step(0.05, is_calm=False)

    thread = Thread(target=stepping)
    thread.start()
    try:
        report = store().purge("Crate 7 stands on shelf 0.")
    finally:
        ended.set()
        thread.join()
    assert (report.vectors, report.incomplete) == (1, ())
    assert not folder.exists()
    assert figures(memory) == (29, 0, 0, "exact")
    assert len(memory.recall("scout", "crate 7", top_k=3).facts) == 3


def test_equal_texts_share_one_vector_in_whatever_form_they_are_written(store: Open, tmp_path: Path) -> None:
    embedder = ScriptedEmbedder()
    memory = store(embedder)
    for agent in ("scout", "guide"):
        memory.remember(agent, "Caf\u00e9 opens at nine.")
        memory.remember(agent, "Cafe\u0301 opens at nine.")
    work(memory)
    assert figures(memory) == (1, 0, 1, "chroma")
    assert embedder.calls == [("Caf\u00e9 opens at nine.",)]


def test_retired_facts_and_aliases_are_not_embedded_until_they_are_restored(store: Open) -> None:
    memory = store()
    fact = memory.remember("scout", "The old gate code is 4711.")
    memory.retire("scout", [fact.id])
    memory.alias("scout", "gate", ["door"])
    work(memory)
    assert figures(memory)[:2] == (0, 0)
    memory.restore("scout", [fact.id])
    work(memory)
    assert figures(memory)[:2] == (1, 0)


def test_retiring_and_restoring_embeds_nothing_again(store: Open) -> None:
    embedder = ScriptedEmbedder()
    memory = store(embedder)
    fact = memory.remember("scout", "The gate opens at nine.")
    work(memory)
    memory.retire("scout", [fact.id])
    memory.restore("scout", [fact.id])
    work(memory)
    assert len(embedder.calls) == 1


def test_hostile_texts_are_embedded(store: Open) -> None:
    memory = store()
    for text in ("a\0b", "\u202eevil", "👩‍🚀", "[[x]]\n---\n<b>", "x" * 1_000_000):
        memory.remember("scout", text)
    work(memory)
    assert figures(memory)[:3] == (5, 0, 5)


def test_a_reopened_store_continues_with_the_index_it_has(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 40)
    work(memory)
    memory.close()
    memory = store()
    assert figures(memory) == (40, 0, 40, "exact")
    fill(memory, 5, start=40)
    work(memory)
    assert figures(memory) == (45, 0, 45, "chroma")
    assert [path.name for path in (tmp_path / "vectors").iterdir() if path.is_dir()] == ["1"]


def test_embed_pending_gives_one_namespace_its_vectors_and_loads_no_chroma(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 10)
    memory.remember("guide", "Somebody else's fact.")
    assert memory.embed_pending("scout", limit=4) == 4
    assert memory.embed_pending("scout") == 6
    assert memory.embed_pending("scout") == 0
    assert figures(memory) == (10, 1, 0, "exact")
    assert not (tmp_path / "vectors").exists()


def test_waiting_embeds_everything_and_reports_progress(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 90)
    seen: list[tuple[int, int | None]] = []
    assert memory.wait_for_embeddings(progress=lambda done, total, what: seen.append((done, total)))
    assert figures(memory)[:2] == (90, 0)
    assert seen[0] == (0, 90)
    assert seen[-1] == (90, 90)
    assert seen == sorted(seen)
    assert not (tmp_path / "vectors").exists()


def test_waiting_can_be_cancelled_and_can_run_out_of_time(store: Open) -> None:
    memory = store()
    fill(memory, 3)
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        memory.wait_for_embeddings(cancel=token)
    assert not memory.wait_for_embeddings(timeout_s=0)
    assert memory.wait_for_embeddings(timeout_s=60)


def test_a_second_process_leaves_the_index_alone_and_takes_over_when_the_first_is_gone(store: Open) -> None:
    first, second = store(), store()
    fill(first, 20)
    work(first)
    fill(second, 3, start=20)
    work(second)  # its facts are read for the graph, which may take several steps; none of them touches the index
    assert figures(second) == (20, 3, 20, "exact")
    first.close()
    work(second)
    assert figures(second) == (23, 0, 23, "chroma")


def test_another_process_that_holds_the_lock_is_waited_for_and_then_helped(
    store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gm_engine.indexing._OTHERS_TURN_S", 0.0)
    first, second = store(), store()
    first.index_step(0.01)
    fill(second, 8)
    assert second.wait_for_embeddings(timeout_s=60)
    assert figures(second) == (8, 0, 0, "exact")


def test_a_read_only_store_embeds_and_indexes_nothing(store: Open) -> None:
    writer = store()
    fill(writer, 3)
    writer.close()
    reader = store(read_only=True)
    assert not reader.index_step(0.05)
    assert reader.embed_pending("scout") == 0
    assert not reader.wait_for_embeddings(timeout_s=0)
    assert figures(reader) == (0, 3, 0, "none")


def test_a_store_that_asks_for_exact_search_never_opens_chroma(store: Open, tmp_path: Path) -> None:
    memory = store(vector_path="exact")
    fill(memory, 10)
    work(memory)
    assert figures(memory) == (10, 0, 0, "exact")
    assert not (tmp_path / "vectors").exists()


@pytest.mark.parametrize("damage", ["deleted", "emptied", "truncated", "replaced by a file"])
def test_a_lost_or_damaged_index_is_built_again(store: Open, tmp_path: Path, damage: str) -> None:
    memory = store()
    fill(memory, 50)
    work(memory)
    memory.close()
    folder = tmp_path / "vectors"
    match damage:
        case "deleted":
            shutil.rmtree(folder)
        case "emptied":
            shutil.rmtree(folder / "1")
            (folder / "1").mkdir()
        case "truncated":
            os.truncate(folder / "1" / "chroma.sqlite3", 5000)
        case _:
            shutil.rmtree(folder / "1")
            (folder / "1").write_bytes(b"not a folder")
    memory = store()
    work(memory)
    assert figures(memory) == (50, 0, 50, "chroma")
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["2"]


def test_a_folder_that_cannot_be_made_leaves_exact_answers(store: Open, tmp_path: Path) -> None:
    (tmp_path / "vectors").write_bytes(b"in the way")
    memory = store()
    fill(memory, 10)
    work(memory)
    assert figures(memory) == (10, 0, 0, "exact")


def test_a_missing_chromadb_leaves_exact_answers(store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb.api.client", None)
    memory = store()
    fill(memory, 10)
    work(memory)
    assert figures(memory) == (10, 0, 0, "exact")


def test_an_index_that_fails_while_it_is_filled_is_begun_anew_once(
    store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = store()
    fill(memory, 40)
    upsert = chroma.ChromaIndex.upsert
    calls: list[int] = []

    def failing(self: chroma.ChromaIndex, keys: Sequence[bytes], codes: NDArray[np.float32]) -> None:
        calls.append(len(keys))
        if len(calls) == 2:
            raise IndexUnavailable("on purpose")
        upsert(self, keys, codes)

    monkeypatch.setattr(chroma.ChromaIndex, "upsert", failing)
    work(memory)
    assert figures(memory) == (40, 0, 40, "chroma")
    assert [path.name for path in (tmp_path / "vectors").iterdir() if path.is_dir()] == ["2"]


def test_after_an_unclean_end_the_index_is_probed_and_kept_when_it_answers(store: Open, tmp_path: Path) -> None:
    memory = store()
    fill(memory, 40)
    work(memory)
    memory.close()
    mark = tmp_path / "vectors" / "1.in-use"
    assert not mark.exists()
    mark.touch()
    memory = store()
    fill(memory, 1, start=40)
    work(memory)
    assert figures(memory) == (41, 0, 41, "chroma")
    assert mark.exists()


def test_after_an_unclean_end_an_index_that_kills_its_reader_is_replaced(
    store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = store()
    fill(memory, 40)
    work(memory)
    memory.close()
    (tmp_path / "vectors" / "1.in-use").touch()
    crashed = subprocess.CompletedProcess[bytes]([], -11)
    monkeypatch.setattr("gm_engine.vectors.folders.subprocess.run", lambda *args, **options: crashed)
    memory = store()
    work(memory)
    assert figures(memory) == (40, 0, 40, "chroma")
    assert not (tmp_path / "vectors" / "1").exists()


def test_chroma_reads_neither_the_environment_nor_a_projects_env_file(
    store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("CHROMA_API_IMPL=nowhere.Nothing\nPERSIST_DIRECTORY=elsewhere\n", encoding="utf-8")
    monkeypatch.chdir(project)
    monkeypatch.setenv("CHROMA_SYSDB_IMPL", "nowhere.Nothing")
    monkeypatch.setenv("MIGRATIONS", "none")
    memory = store()
    fill(memory, 3)
    work(memory)
    assert figures(memory) == (3, 0, 3, "chroma")
    assert [path.name for path in project.iterdir()] == [".env"]


class FailingEmbedder(ScriptedEmbedder):
    """Fails until told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: Exception | None = EmbeddingFailed("The model is on holiday.")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.failure is not None:
            raise self.failure
        return super().embed(texts)


def test_a_model_that_fails_loses_nothing_and_is_tried_again_later(
    store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = FailingEmbedder()
    memory = store(embedder)
    fill(memory, 3)
    work(memory)
    with pytest.raises(EmbeddingFailed, match="holiday"):
        memory.wait_for_embeddings()
    with pytest.raises(EmbeddingFailed, match="holiday"):
        memory.embed_pending("scout")
    embedder.failure = None
    work(memory)
    assert figures(memory)[:2] == (0, 3)
    monkeypatch.setattr("gm_engine.indexing.monotonic", lambda: 1e12)
    monkeypatch.setattr("gm_engine.embedding.queue.monotonic", lambda: 1e12)
    work(memory)
    assert figures(memory)[:2] == (3, 0)


class ScriptedVectors(ScriptedEmbedder):
    """Answers with whatever `change` makes of the right vectors."""

    def __init__(self, change: Callable[[NDArray[np.float32], Sequence[str]], NDArray[np.float32]]) -> None:
        super().__init__()
        self._change = change

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._change(super().embed(texts), texts)


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors, texts: vectors[:-1],
        lambda vectors, texts: vectors[:, :-1],
        lambda vectors, texts: vectors.ravel(),
        lambda vectors, texts: np.vstack([vectors, vectors]),
    ],
    ids=["fewer than texts", "too short", "flat", "more than texts"],
)
def test_vectors_of_the_wrong_shape_are_refused_whole(
    store: Open, change: Callable[[NDArray[np.float32], Sequence[str]], NDArray[np.float32]]
) -> None:
    memory = store(ScriptedVectors(change))
    fill(memory, 3)
    with pytest.raises(EmbeddingFailed, match="shape"):
        memory.embed_pending("scout")
    assert figures(memory)[:2] == (0, 3)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_costs_only_its_own_text(store: Open, poison: float) -> None:
    def poisoned(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        for row, text in enumerate(texts):
            if "poison" in text:
                vectors[row, 3] = poison
        return vectors

    memory = store(ScriptedVectors(poisoned))
    fill(memory, 5)
    memory.remember("scout", "the poison")
    work(memory)
    assert figures(memory)[:2] == (5, 1)
    with pytest.raises(EmbeddingFailed, match="not finite"):
        memory.wait_for_embeddings()


def test_vectors_of_another_length_under_the_same_name_are_refused(store: Open) -> None:
    memory = store(ScriptedEmbedder(dims=8))
    fill(memory, 2)
    work(memory)
    memory.close()
    memory = store(ScriptedEmbedder(dims=16))
    fill(memory, 1, start=2)
    with pytest.raises(EmbeddingFailed, match="dimensions"):
        memory.embed_pending("scout")


def test_vectors_of_two_models_never_mix(store: Open, tmp_path: Path) -> None:
    memory = store(ScriptedEmbedder(model="first"))
    fill(memory, 6)
    work(memory)
    memory.close()
    memory = store(ScriptedEmbedder(model="second", dims=16))
    assert figures(memory) == (0, 6, 0, "none")
    work(memory)
    assert figures(memory) == (6, 0, 6, "chroma")
    assert rows_in(tmp_path, "SELECT count(*) FROM vectors") == [(12,)]


def test_the_background_thread_embeds_and_ends_with_the_store(tmp_path: Path) -> None:
    embedder = ScriptedEmbedder()
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=embedder) as memory:
        fill(memory, 12)
        assert memory.wait_for_embeddings(timeout_s=60)
    embedded = [text for call in embedder.calls for text in call]
    assert len(embedded) == 12
    assert rows_in(tmp_path, "SELECT count(*) FROM vectors") == [(12,)]


def test_the_background_thread_survives_a_bug_in_the_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder = FailingEmbedder()
    embedder.failure = ZeroDivisionError("a bug")
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=embedder) as memory:
        fill(memory, 1)
        with pytest.raises(ZeroDivisionError):
            memory.wait_for_embeddings(timeout_s=60)
        assert figures(memory)[:2] == (0, 1)


def test_batches_follow_the_time_that_texts_take(store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def slow(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        clock[0] += len(texts) / 32
        return vectors

    embedder = ScriptedVectors(slow)
    memory = store(embedder)
    fill(memory, 40)
    monkeypatch.setattr("gm_engine.embedding.queue.monotonic", lambda: clock[0])
    queue = EmbeddingQueue(memory._ledger, embedder)
    assert queue.embed_until(clock[0] + 5 / 32)
    assert [len(call) for call in embedder.calls] == [4, 1]
    assert queue.embed_until(clock[0] + 10 / 32)
    assert [len(call) for call in embedder.calls] == [4, 1, 10]
