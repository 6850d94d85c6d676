"""Speeds of whole processes, and of publishing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

from gm_engine import Memory
from tests.benchmarks.engine_rows import FACTS
from tests.benchmarks.generator import build_store
from tests.benchmarks.table import Row, best, process, seconds

_CLI = "import sys; from gm_engine.cli.main import main; sys.exit(main())"


def recall_process(folder: Path) -> Iterator[Row]:
    """`graymatter recall` from start to end, with the query's embedding and by words alone."""
    store = build_store(folder / "10k", FACTS)
    command = ("-c", _CLI, "--data-dir", store, "recall", "alpha", "who confirmed the revised quote", "--json")
    measured = best(lambda: process(*command))
    imports = best(lambda: process("-c", "import numpy, sqlalchemy, onnxruntime, tokenizers"))
    yield Row("`graymatter recall`, whole process", measured, 1.5, "s", "importing its libraries", imports)
    by_words = best(lambda: process(*command, env={"GRAYMATTER_EMBEDDING_MODE": "keyword-only"}))
    imports = best(lambda: process("-c", "import numpy, sqlalchemy"))
    yield Row("`graymatter recall` by words alone", by_words, 1.0, "s", "importing its libraries", imports)


def help_process(folder: Path) -> Iterator[Row]:
    """`graymatter --help` from start to end."""
    measured = best(lambda: process("-c", _CLI, "--help"))
    bare = best(lambda: process("-c", "pass"))
    yield Row("`graymatter --help`, whole process", measured, 0.25, "s", "python -c pass", bare)


def publishing(folder: Path) -> Iterator[Row]:
    """10,000 facts into an Obsidian vault, twice."""
    from exporters.obsidian.publish import publish

    store = build_store(folder / "10k", FACTS)
    vault = folder / f"vault-{time.monotonic_ns()}"
    vault.mkdir()
    with Memory.open(store, background=False, read_only=True) as memory:
        first = seconds(lambda: publish(memory, vault))
        before = _state(vault)
        second = seconds(lambda: publish(memory, vault))
        after = _state(vault)
    contents = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    plain = seconds(lambda: _write_plainly(contents, vault, folder / f"{vault.name}-plain"))
    reading = seconds(lambda: [hashlib.sha256(path.read_bytes()).digest() for path in contents])
    written = sum(size for path, (_, size) in after.items() if before.get(path) != after[path])
    yield Row("publish 10,000 facts", first, 15.0, "s", "writing the same files plainly", plain)
    yield Row("publish again, nothing changed", second, 3.0, "s", "reading and hashing the same files", reading)
    yield Row("bytes written by the second run", float(written), 0.0, "bytes", "size of the vault", _size(after))


def _state(vault: Path) -> dict[Path, tuple[int, int]]:
    found = {}
    for path in vault.rglob("*"):
        if path.is_file():
            stat = path.stat()
            found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def _size(state: dict[Path, tuple[int, int]]) -> float:
    return float(sum(size for _, size in state.values()))


def _write_plainly(contents: dict[Path, bytes], vault: Path, target: Path) -> None:
    for path, data in contents.items():
        copy = target / path.relative_to(vault)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
