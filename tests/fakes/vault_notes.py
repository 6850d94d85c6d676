"""A person's hand in a published vault, and what comes back of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporters.obsidian.edits import VaultEdit, VaultEdits
from gm_engine import Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

GATE, LIFT, ZETA = "The gate opens at nine.", "The lift is broken.", "Zeta Works grows."


@contextmanager
def scouts_store(folder: Path) -> Iterator[Memory]:
    """A store with two facts of one agent."""
    with Memory.open(folder, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        memory.remember("scout", GATE)
        memory.remember("scout", LIFT)
        yield memory


@contextmanager
def named_store(folder: Path) -> Iterator[Memory]:
    """The same with three entities and a fact about the first."""
    with scouts_store(folder) as memory:
        memory.graph.add("Zeta Works", type="organisation")
        memory.graph.add("Omega Yard", type="place")
        memory.graph.add("Delta Hall", type="place")
        memory.remember("scout", ZETA)
        yield memory


def fact_id(memory: Memory, text: str) -> str:
    (found,) = memory.resolve("scout", text)
    return found


def note(vault: Path, text: str) -> Path:
    return vault / "Memory" / "Facts" / "scout" / f"{text.rstrip('.')}.md"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def add_line(path: Path, line: str) -> None:
    change(path, "\n%% graymatter:end", f"{line}\n\n%% graymatter:end")


def only(edits: VaultEdits) -> VaultEdit:
    assert edits.problems == ()
    (edit,) = edits.edits
    return edit


def problems(edits: VaultEdits) -> dict[str, str]:
    return {Path(problem.note).stem: problem.reason for problem in edits.problems}
