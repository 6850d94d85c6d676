"""A cycle while another program writes: what was purged or changed between two of its pieces is not written back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory
from gm_engine.consolidation.consolidator import Consolidator
from gm_engine.language.model import LanguageModel
from gm_engine.progress import Progress
from tests.fakes.clock import FrozenClock

SECRET = "The gate code of the north warehouse is 4711."
TWIN = "The gate code of the north warehouse is 4712."


class _SumsUp:
    """A model that quotes every fact it is shown and consumes the last; before it answers, `meanwhile` happens."""

    name = "scripted"

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def complete(self, system: str, user: str, *, cancel: object = None) -> str:
        facts: list[dict[str, str]] = json.loads(user)
        self._meanwhile()
        return json.dumps({"summary": " ".join(fact["text"] for fact in facts), "consumes": [facts[-1]["id"]]})


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Memory, Memory]]:
    """One store, open twice."""
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, consolidate_threshold=4)
    with (
        Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as memory,
        Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as other,
    ):
        yield memory, other


def at(stage: str, act: Callable[[], object]) -> Progress:
    """A progress that does `act` once, when the cycle is at `stage`."""
    left = [act]

    def progress(done: int, total: int | None, what: str) -> None:
        if what == stage and left:
            left.pop()()

    return progress


def holds(memory: Memory, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in memory.data_dir.glob("ledger.sqlite*"))


@pytest.mark.parametrize("stage", ["fading", "reading texts", "comparing facts", "writing proposals"])
def test_a_text_that_was_purged_meanwhile_is_in_no_proposal(pair: tuple[Memory, Memory], stage: str) -> None:
    memory, other = pair
    for text in (TWIN, SECRET, "Quite another thing.", "Quite another thing."):
        memory.remember("ops", text)
    report = memory.consolidate("ops", progress=at(stage, lambda: other.purge(SECRET)))
    assert report.proposed == {"exact_duplicate": 1}
    assert [card.kind for card in report.proposals] == ["exact_duplicate"]
    assert not holds(memory, "4711")


def test_facts_that_were_changed_meanwhile_are_not_proposed_and_the_report_counts_what_was(
    pair: tuple[Memory, Memory],
) -> None:
    memory, other = pair
    ids = [memory.remember("ops", text).id for text in (TWIN, TWIN)]
    retire = at("writing proposals", lambda: other.retire("ops", ids[1:]))
    report = memory.consolidate("ops", apply=("exact_duplicate",), progress=retire)
    assert (report.proposed, report.applied, report.proposals) == ({}, {}, ())
    assert memory.cycles()[0].proposed == {}
    assert memory.inbox.list("waiting") == ()


def test_a_summary_is_dropped_when_a_fact_was_purged_that_it_may_quote_and_does_not_consume(
    pair: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = pair
    memory.remember("ops", SECRET)
    for name in ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "islet", "jetty", "knoll"):
        memory.remember("ops", f"{name} {name}ly {name}ish")
    model: LanguageModel = _SumsUp(lambda: other.purge(SECRET))
    monkeypatch.setattr(Consolidator, "language_model", lambda _: model)
    assert memory.consolidate("ops").proposed == {}
    assert not holds(memory, "4711")
    model = _SumsUp(lambda: None)
    assert memory.consolidate("ops").proposed == {"summary": 1}
