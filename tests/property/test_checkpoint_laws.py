"""Laws of checkpoints: undo brings every state back, time travel shows every state, one line per action."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gm_engine import Config, EmbeddingMode, InvalidInput, Memory, UndoConflict
from gm_engine.records import VERDICTS, CheckpointSummary
from tests.fakes.clock import FrozenClock

VERBS = ("save", "review", "unreview", "make_current", "edit", "delete", "undo")
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 20), st.integers(0, 20)), max_size=20)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    Memory.open(path, background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)).close()
    return path


@contextmanager
def store(template: Path) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(shutil.copytree(template, Path(folder) / "store"))
        config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
        with Memory.open(data_dir, background=False, clock=FrozenClock(), config=config) as memory:
            yield memory


def act(memory: Memory, verb: str, which: int, how: int) -> None:
    """One step; what does not apply is left out, what is refused changes nothing."""
    known = memory.checkpoints.list()
    chosen = known[which % len(known)].id if known else ""
    if verb == "save":
        memory.checkpoints.save(("ops", "sales")[which % 2], state={"n": how}, metadata={"by": str(which)})
    elif verb == "undo" and memory.last_seq():
        seq = memory.last_seq()
        try:
            memory.undo(1 + which % seq)
        except UndoConflict:
            assert memory.last_seq() == seq
    elif verb == "undo" or not known:
        return
    elif verb == "review":
        memory.checkpoints.review(chosen, VERDICTS[how % 3], note=f"note {how % 4}")
    elif verb == "unreview":
        memory.checkpoints.review(chosen, None)
    elif verb == "make_current":
        memory.checkpoints.make_current(chosen)
    elif verb == "edit":
        try:
            memory.checkpoints.edit(chosen, state={"n": how})
        except InvalidInput:
            assert memory.checkpoints.load(chosen).state == {"n": how}
    elif verb == "delete":
        memory.checkpoints.delete(chosen)


State = tuple[CheckpointSummary, ...]


@given(STEPS)
def test_undoing_every_entry_backwards_walks_back_through_every_state(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with store(template) as memory:
        states: dict[int, State] = {0: ()}
        for step in steps:
            act(memory, *step)
            states[memory.last_seq()] = memory.checkpoints.list()
        for seq in sorted(states, reverse=True)[:-1]:
            assert memory.checkpoints.list() == states[seq]
            memory.undo(seq)
        assert memory.checkpoints.list() == ()


@given(STEPS)
def test_every_state_is_seen_again_in_the_past(template: Path, steps: list[tuple[str, int, int]]) -> None:
    with store(template) as memory:
        states: dict[int, State] = {}
        for step in steps:
            act(memory, *step)
            states[memory.last_seq()] = memory.checkpoints.list()
        for seq, state in states.items():
            with memory.at(before_seq=seq + 1) as view:
                assert view.checkpoints.list() == state


@given(STEPS)
def test_the_journal_tells_each_action_once_and_what_is_undone_matches_undoing(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with store(template) as memory:
        for step in steps:
            act(memory, *step)
        entries = memory.activity.list(limit=1000)
        assert [each.seq for each in entries] == list(range(memory.last_seq(), 0, -1))
        assert all(each.changes == 1 for each in entries)
        in_effect = {each.group_id: True for each in reversed(entries)}
        for each in entries:  # newest first: an undo that is itself undone takes nothing back
            if each.undoes is not None and in_effect[each.group_id]:
                latest = next(other for other in entries if other.undoes == each.undoes)
                if latest.group_id == each.group_id:
                    in_effect[each.undoes] = False
        assert {each.group_id: not each.is_undone for each in entries} == in_effect


def test_a_verdict_does_not_show_before_its_time_on_a_checkpoint_that_came_back(template: Path) -> None:
    with store(template) as memory:
        saved = memory.checkpoints.save("ops", state={})
        memory.undo(1)
        memory.redo(2)
        memory.checkpoints.review(saved.id, "approved", note="later")
        with memory.at(before_seq=2) as view:
            assert [(each.verdict, each.note, each.reviewed_ns) for each in view.checkpoints.list()] == [("", "", None)]


def test_versions_come_back_with_the_state(template: Path) -> None:
    with store(template) as memory:
        saved = memory.checkpoints.save("ops", state={})
        before = memory.checkpoints.summary(saved.id)
        memory.undo(memory.checkpoints.review(saved.id, "approved").version)
        assert memory.checkpoints.summary(saved.id) == before
        memory.redo(memory.last_seq())
        assert memory.checkpoints.summary(saved.id) == replace(
            before,
            verdict="approved",
            version=before.version + 1,
            reviewed_ns=memory.checkpoints.summary(saved.id).reviewed_ns,
        )
