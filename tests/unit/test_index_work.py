"""What the window's index lane tells of its work."""

from __future__ import annotations

from pathlib import Path

from gm_desktop.index_work import index_all
from gm_engine import Memory
from gm_engine.records import VectorStatus
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


def told_of(memory: Memory, *, is_calm: bool, tell: bool, may_go_on: bool = True) -> list[int]:
    """How many vectors the index had, each time it was told."""
    told: list[VectorStatus] = []
    was_calm = index_all(
        memory,
        may_go_on=lambda: may_go_on,
        is_busy=lambda: False,
        is_calm=lambda: is_calm,
        pause=lambda _: None,
        told=told.append,
        tell=tell,
    )
    assert was_calm == (is_calm and may_go_on)
    return [status.chroma for status in told]


def test_what_is_indexed_by_one_single_step_in_calm_is_told_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        memory.remember("ops", "Crate 0.")
        while memory.index_step(0.05):
            pass
        memory.remember("ops", "Crate 1.")
        assert told_of(memory, is_calm=False, tell=True) == [1]
        assert told_of(memory, is_calm=True, tell=False, may_go_on=False) == []
        assert told_of(memory, is_calm=True, tell=False)[-1:] == [2]
        assert told_of(memory, is_calm=True, tell=False) == []
