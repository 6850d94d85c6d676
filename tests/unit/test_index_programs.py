"""The two programs that run beside the engine (one fills an index, one probes it), and a Chroma that fails."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

from gm_engine import Memory, child
from gm_engine.vectors import bulk_child, probe
from gm_engine.vectors.chroma import EF_SEARCH, ChromaIndex
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.places import folder_of, lock_of
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

GENERATION, TOKEN, DIMS = 7, "token", 32
KEYS = [number.to_bytes(16, "big") for number in range(3)]
CODES = np.eye(3, DIMS, dtype=np.float32) * 32767


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        for number in range(25):
            memory.remember("scout", f"Crate {number} stands on shelf {number % 7}.")
        assert memory.wait_for_embeddings(timeout_s=60)
    (tmp_path / "vectors").mkdir(exist_ok=True)
    return tmp_path


@pytest.fixture
def starter(store: Path) -> Iterator[None]:
    """Somebody who asked for the build and waits for it."""
    with filelock.FileLock(lock_of(store, GENERATION, TOKEN)):
        yield


def build(store: Path, capsys: pytest.CaptureFixture[str], *, model: str = "scripted") -> tuple[int, dict[str, Any]]:
    """How a build ended: its exit code and its last line."""
    code = bulk_child.main([str(store), str(GENERATION), TOKEN, model, "1000", str(EF_SEARCH)])
    last: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return code, last


@pytest.mark.usefixtures("starter")
def test_a_builder_fills_the_folder_and_what_it_built_answers(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_child, "BATCH", 10)
    folder = folder_of(store, GENERATION)
    folder.mkdir()
    assert build(store, capsys) == (0, {"built": 25})
    assert child.run([child.FLAG, child.PROBE, str(folder), "scripted", str(DIMS)]) == 0


@pytest.mark.usefixtures("starter")
@pytest.mark.parametrize(("model", "why"), [("scripted", "is gone"), ("another", "no vectors of another")])
def test_a_builder_that_cannot_build_says_why(
    store: Path, capsys: pytest.CaptureFixture[str], model: str, why: str
) -> None:
    code, told = build(store, capsys, model=model)
    assert code == 1
    assert why in told["failed"]


def test_a_probe_of_what_is_no_index_says_no(tmp_path: Path) -> None:
    (tmp_path / "7").write_text("a file where a folder should be")
    assert probe.main([str(tmp_path / "7"), "scripted", str(DIMS)]) == 1


class _Broken:
    """A collection whose disk is gone."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("disk I/O error")


def test_a_chroma_that_fails_is_unavailable_whatever_it_is_asked(tmp_path: Path) -> None:
    index = ChromaIndex.open(tmp_path / "7", model="scripted", dims=DIMS)
    index.add(KEYS, CODES)
    assert (index.count(), index.recount()) == (3, 3)
    working, index._collection = index._collection, _Broken()
    for ask in (
        lambda: index.add(KEYS, CODES),
        lambda: index.upsert(KEYS, CODES),
        index.recount,
        lambda: index.nearest(CODES[0].astype(np.int16), 1),
    ):
        with pytest.raises(IndexUnavailable, match="disk I/O error"):
            ask()
    index._collection = working
    assert index.nearest(CODES[1].astype(np.int16), 1) == [KEYS[1]]
    index.close()
    index.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        index.nearest(CODES[0].astype(np.int16), 1)


def test_an_index_that_is_being_written_is_not_waited_for(tmp_path: Path) -> None:
    index = ChromaIndex.open(tmp_path / "7", model="scripted", dims=DIMS)
    with index._lock, pytest.raises(IndexUnavailable, match="being written"):
        index.nearest(CODES[0].astype(np.int16), 1)
    index.close()


def test_a_program_that_does_not_know_its_interpreter_starts_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(OSError, match="interpreter"):
        child.command(child.PROBE)


def test_a_child_takes_no_code_from_the_folder_in_which_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server is started in somebody's repository, which may hold packages that are called as ours."""
    for name in ("gm_engine", "numpy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    monkeypatch.chdir(tmp_path)
    command = child.command(child.PROBE, str(tmp_path / "7"), "scripted", str(DIMS))
    done = subprocess.run(command, env=child.environment(), capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "7" / "chroma.sqlite3").exists()
