"""Arguments that break the contract, stores that are closed, folders that are none, disks that are full."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gm_engine import Config, EmbeddingMode, InvalidInput, Memory, NotFound
from gm_engine.clock import parse_rfc3339
from gm_engine.embedding import trial
from gm_engine.embedding.trial import try_embedding
from gm_engine.errors import DiskFull, EmbeddingFailed, StoreUnavailable
from gm_engine.records import FactQuery, SignalWeights
from gm_engine.store.database import Ledger
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

TEXT = "The door code is 4711."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"decay_half_life_h": 0.0}, "decay_half_life_h"),
        ({"decay_half_life_h": float("nan")}, "decay_half_life_h"),
        ({"coverage_gate": 1.5}, "coverage_gate"),
        ({"min_relevance": -0.1}, "min_relevance"),
        ({"min_relevance": True}, "min_relevance"),
        ({"confidence_weight": 0.6}, "confidence_weight"),
        ({"signal_weights": SignalWeights(vector=-1.0)}, "vector"),
        ({"signal_weights": SignalWeights(recency=float("inf"))}, "recency"),
        ({"auto_apply": ("secret",)}, "apply"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_its_name(options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Config(**options)  # type: ignore[arg-type]
    assert caught.value.fields["field"] == field


def test_settings_at_their_bounds_are_taken() -> None:
    config = Config(coverage_gate=0.0, min_relevance=1.0, confidence_weight=0.5, signal_weights=SignalWeights())
    assert (config.coverage_gate, config.min_relevance, config.confidence_weight) == (0.0, 1.0, 0.5)


def test_a_time_or_number_that_the_ledger_cannot_hold_is_refused_in_words(memory: Memory) -> None:
    memory.remember("scout", TEXT)
    with pytest.raises(InvalidInput, match="2262"):
        memory.recall("scout", "code", as_of_ns=parse_rfc3339("9999-12-31T00:00:00Z"))
    with pytest.raises(InvalidInput, match="2262"):
        memory.at(1 << 63)
    with pytest.raises(InvalidInput, match="64 bits"):
        memory.undo(1 << 64)
    assert len(memory.recall("scout", "code", as_of_ns=(1 << 63) - 1).facts) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory, text: memory.resolve("scout", text),
        lambda memory, text: memory.undo(text),
        lambda memory, text: memory.get(text),
        lambda memory, text: memory.checkpoints.latest(text),
        lambda memory, text: memory.fact_ids(FactQuery(text=text)),
        lambda memory, text: memory.store_value("vault", text, 1),
    ],
)
def test_a_name_with_half_a_character_is_refused_in_words(memory: Memory, ask: Callable[[Memory, str], object]) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        ask(memory, "a\ud800")


def test_a_value_kept_for_another_package_needs_a_name_and_is_undone(memory: Memory) -> None:
    for name in ("", " ", "x" * 10_000):
        with pytest.raises(InvalidInput):
            memory.store_value("vault", name, 1)
    with pytest.raises(NotFound):
        memory.remove_value("vault", "colours")
    memory.store_value("vault", "colours", {"ops": "red"})
    seq = memory.last_seq()
    memory.store_value("vault", "colours", {"ops": "red"})
    assert memory.last_seq() == seq
    memory.remove_value("vault", "colours")
    assert memory.stored_values("vault") == {}
    memory.undo(memory.last_seq())
    assert memory.stored_values("vault") == {"colours": {"ops": "red"}}


def test_a_block_of_one_agent_is_changed_found_by_its_key_and_removed(memory: Memory) -> None:
    made = memory.blocked.add(TEXT, "ops")
    same = memory.blocked.change(TEXT, TEXT, agent_id="ops", to_agent="ops")
    assert same == made
    moved = memory.blocked.change(made.key, "Another code.", agent_id="ops", to_agent="sales")
    assert (moved.text, moved.agent_id) == ("Another code.", "sales")
    with pytest.raises(NotFound, match="for 'ops'"):
        memory.blocked.remove(made.key, "ops")
    with pytest.raises(NotFound):
        memory.blocked.remove("z" * len(made.key))
    assert memory.blocked.remove(moved.key, "sales") == moved
    assert memory.blocked.list() == ()


def test_a_store_that_was_closed_says_so_whatever_it_is_asked(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, clock=FrozenClock())
    ledger.close()
    ledger.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        ledger.last_seq()
    with pytest.raises(StoreUnavailable, match="closed"), ledger.read():
        pass
    with pytest.raises(StoreUnavailable, match="closed"), ledger.bookkeep():
        pass
    with pytest.raises(StoreUnavailable, match="closed"):
        ledger.scratch()


def test_a_store_cannot_be_made_where_a_file_stands(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="data directory"):
        Memory.open(tmp_path / "file" / "store", background=False)


def test_a_checkpoint_is_written_to_a_new_file_or_not_at_all(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = memory.checkpoints.save("ops", state={"step": 3})
    with pytest.raises(InvalidInput, match="folder"):
        memory.checkpoints.export(kept.id, tmp_path)
    path = tmp_path / "kept.json"
    assert memory.checkpoints.export(kept.id, path) == path.stat().st_size
    with pytest.raises(InvalidInput, match="exists already"):
        memory.checkpoints.export(kept.id, path)
    with pytest.raises(InvalidInput, match="cannot be written"):
        memory.checkpoints.export(kept.id, tmp_path / "nowhere" / "kept.json")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull):
        memory.checkpoints.export(kept.id, tmp_path / "other.json")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept.json", "store"]


# Trying a model -------------------------------------------------------------------------------------------------------


def test_words_alone_need_no_trial() -> None:
    tried = try_embedding(Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY), {})
    assert (tried.model, tried.dims) == ("", 0)


def test_a_model_is_tried_with_two_sentences_that_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "make_embedder", lambda *_: ScriptedEmbedder(dims=16))
    tried = try_embedding(Config(), {})
    assert (tried.model, tried.dims) == ("scripted", 16)
    assert -1 <= tried.similarity <= 1


def test_a_model_that_gives_no_numbers_fails_its_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ScriptedEmbedder(dims=16)
    monkeypatch.setattr(broken, "embed", lambda texts: np.full((len(texts), 16), np.nan, np.float32))
    monkeypatch.setattr(trial, "make_embedder", lambda *_: broken)
    with pytest.raises(EmbeddingFailed, match="not finite"):
        try_embedding(Config(), {})
