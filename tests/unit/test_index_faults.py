"""Whatever happens to the index, the model or the disk: writes and recalls go on, and it is said what is missing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gm_engine import Config, DiskFull, GrayMatterError, Memory, child
from gm_engine.embedding.embedder import Embedder
from gm_engine.embedding.minilm import MiniLM
from gm_engine.store.database import LEDGER_NAME
from gm_engine.vectors import feed
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534
Open = Callable[..., Memory]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []
    clock = FrozenClock()

    def open_store(embedder: Embedder | None = None, **config: object) -> Memory:
        memory = Memory.open(
            tmp_path / "store",
            clock=clock,
            embedder=embedder or ScriptedEmbedder(),
            background=False,
            config=Config(**config),  # type: ignore[arg-type]
        )
        opened.append(memory)
        return memory

    yield open_store
    for memory in opened:
        memory.close()


def fill(memory: Memory, count: int = 30, *, start: int = 0) -> None:
    for number in range(start, start + count):
        memory.remember("scout", f"Crate {number} stands on shelf {number % 7}.")


def work(memory: Memory) -> None:
    for _ in range(500):
        if not memory.index_step(0.1):
            return
    pytest.fail("indexing never ends")


def answer(memory: Memory) -> tuple[list[str], str]:
    result = memory.recall("scout", "crate 17 shelf 3", preview=True)
    return [fact.id for fact in result.facts], result.coverage.vector_path


# The folder -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["deleted", "emptied", "truncated"])
def test_a_folder_that_is_damaged_while_it_is_open_never_changes_an_answer(
    store: Open, tmp_path: Path, damage: str
) -> None:
    memory = store()
    fill(memory)
    work(memory)
    before, path = answer(memory)
    assert path == "chroma"
    folder = tmp_path / "store" / "vectors"
    match damage:
        case "deleted":
            shutil.rmtree(folder)
        case "emptied":
            for file in sorted(folder.rglob("*"), reverse=True):
                file.unlink() if file.is_file() else file.rmdir()
        case _:
            for file in folder.rglob("*"):
                if file.is_file():
                    os.truncate(file, 0)
    assert answer(memory)[0] == before
    fill(memory, 40, start=30)
    assert memory.wait_for_embeddings(timeout_s=60)
    expected = answer(memory)[0]
    work(memory)
    assert answer(memory)[0] == expected
    memory.close()
    memory = store()
    work(memory)
    assert answer(memory) == (expected, "chroma")


def test_a_store_that_keeps_no_vectors_is_not_embedded_for_ever(store: Open, tmp_path: Path) -> None:
    fill(store(), 5)
    with closing(sqlite3.connect(tmp_path / "store" / LEDGER_NAME)) as raw:  # an index that has lost its entries
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("DROP INDEX facts_text")
        raw.execute("CREATE INDEX facts_text ON facts(text_key) WHERE no > 100")
        raw.execute(
            "UPDATE sqlite_master SET sql = 'CREATE INDEX facts_text ON facts(text_key)' WHERE name = 'facts_text'"
        )
        raw.commit()
    embedder = ScriptedEmbedder()
    memory = store(embedder)
    work(memory)
    assert sum(map(len, embedder.calls)) == 10


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Rights count for nothing where tests run as root: there, another user does what follows."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such rights there")
@pytest.mark.parametrize("where", ["vectors", "the generation"])
def test_a_folder_that_cannot_be_written_leaves_exact_answers(where: str) -> None:
    import chromadb.api.client  # noqa: F401 - whoever writes below may not be allowed to read it

    data_dir = Path(tempfile.mkdtemp(prefix="graymatter-test-"))  # the tests' own folder lets nobody else in
    clock, locked = FrozenClock(), data_dir / "vectors"
    try:
        with Memory.open(data_dir, clock=clock, embedder=ScriptedEmbedder(), background=False) as memory:
            fill(memory)
            work(memory)
            before = answer(memory)[0]
        if where == "vectors":
            shutil.rmtree(locked)
            locked.mkdir()
        else:
            locked /= "1"
        with as_nobody(data_dir):
            locked.chmod(0o555)
            for file in locked.rglob("*"):
                file.chmod(0o555 if file.is_dir() else 0o444)
            with Memory.open(data_dir, clock=clock, embedder=ScriptedEmbedder(), background=False) as memory:
                fill(memory, 10, start=30)
                work(memory)
                assert memory.vector_status().pending == 0
                found, path = answer(memory)
                assert path == ("exact" if where == "vectors" else path)
                memory._search._loaded_indexer().planner.vector_path = "exact"  # type: ignore[union-attr]
                assert answer(memory) == (found, "exact")
                assert set(before) & set(found)
            locked.chmod(0o755)
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


HOLDER = """
import sys
from gm_engine import Memory
from tests.fakes.embedder import ScriptedEmbedder
with Memory.open(sys.argv[1], embedder=ScriptedEmbedder(), background=False) as memory:
    while memory.index_step(0.1):
        pass
    print(memory.vector_status().path, flush=True)
    sys.stdin.readline()
"""


def test_while_another_process_has_the_index_open_answers_are_the_same_and_then_it_is_taken_over(
    store: Open, tmp_path: Path
) -> None:
    memory = store()
    fill(memory)
    work(memory)
    before = answer(memory)
    memory.close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "store")],
        cwd=ROOT,
        env=child.environment() | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"chroma\n"
        memory = store()
        assert not memory.index_step(0.1)
        assert answer(memory) == (before[0], "exact")
        holder.kill()
    work(memory)
    assert answer(memory) == (before[0], "chroma")


# The libraries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["chromadb.api.client", "chromadb.config", "chromadb"])
def test_without_chromadb_answers_are_exact_and_the_reason_is_said(
    store: Open, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "chromadb"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    told: list[GrayMatterError] = []
    memory = store(on_index_error=told.append)
    fill(memory)
    work(memory)
    assert answer(memory)[1] == "exact"
    assert "ChromaDB cannot be used" in memory.vector_status().error
    assert "ChromaDB cannot be used" in memory.recall("scout", "crate", preview=True).coverage.reason
    assert {error.code for error in told} == {"vector_index_failed"}


def test_without_onnxruntime_words_find_facts_and_the_reason_is_said(
    store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told: list[GrayMatterError] = []
    memory = store(MiniLM(), on_index_error=told.append)
    fill(memory)
    work(memory)
    assert {error.code for error in told} == {"embedding_failed"}
    assert "onnxruntime" in memory.vector_status().error
    found = memory.recall("scout", "crate 17", preview=True)
    assert found.facts[0].text.startswith("Crate 17 ")
    assert (found.coverage.vector_path, found.coverage.with_vector) == ("none", 0)
    assert "onnxruntime" in found.coverage.reason


# The disk -------------------------------------------------------------------------------------------------------------


def limit_pages(memory: Memory, spare: int | None) -> None:
    """Lets the ledger grow by so many pages and no more; None: without limit."""
    with memory._ledger.bookkeep() as connection:
        pages = int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())
        connection.exec_driver_sql(f"PRAGMA max_page_count = {2**30 if spare is None else pages + spare}")


def test_a_disk_that_is_full_while_texts_are_embedded_costs_nothing_but_time(
    store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gm_engine.embedding.queue.monotonic", lambda: 0.0)  # else a slow machine tries smaller batches
    told: list[GrayMatterError] = []
    memory = store(ScriptedEmbedder(dims=512), on_index_error=told.append)
    fill(memory, 60)
    limit_pages(memory, 12)
    with pytest.raises(DiskFull, match="disk is full"):
        memory.wait_for_embeddings()
    embedded = memory.vector_status().embedded
    assert 0 < embedded < 60
    work(memory)
    assert memory.vector_status().embedded == embedded
    assert "disk is full" in memory.vector_status().error
    assert [error.code for error in told] == ["disk_full"]
    found = memory.recall("scout", "crate 17", preview=True)
    assert (found.coverage.vector_path, found.coverage.with_vector) == ("exact", embedded)
    assert not memory.index_step(0.1)
    limit_pages(memory, None)
    assert memory.wait_for_embeddings(timeout_s=60)
    assert memory.vector_status().embedded == 60


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
from gm_engine.vectors import bulk_child
sys.exit(bulk_child.main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files cannot be limited there")
def test_a_disk_that_is_full_while_the_index_is_built_leaves_exact_answers(
    store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BULK_ROWS", 10)
    told: list[str] = []
    memory = store(ScriptedEmbedder(dims=512), on_index_error=lambda error: told.append(error.message))
    fill(memory, 300)
    assert memory.wait_for_embeddings(timeout_s=60)
    before = answer(memory)[0]
    monkeypatch.setattr(child, "command", lambda _, *arguments: [sys.executable, "-c", FULL, *arguments])
    work(memory)
    assert answer(memory) == (before, "exact")
    assert "the vector index was not built" in memory.vector_status().error
    assert told
    monkeypatch.undo()
    memory.close()
    memory = store(ScriptedEmbedder(dims=512))
    work(memory)
    assert answer(memory) == (before, "chroma")
    assert len([path for path in (tmp_path / "store" / "vectors").iterdir() if path.is_dir()]) == 1
