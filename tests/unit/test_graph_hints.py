"""Graph hints: neighbours in the text alone, links in receipts, nothing with a filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Config, Edge, Entity, Memory, Origin
from gm_engine.ranking.receipts import receipt_payload
from gm_engine.store.database import Ledger
from gm_engine.store.entities import upsert_edges, upsert_entities
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(
        tmp_path,
        background=False,
        clock=FrozenClock(),
        embedder=ScriptedEmbedder(),
        config=Config(graph_hints=True),
    ) as memory:
        yield memory


def link(memory: Memory, *edges: tuple[str, str, float], sources: tuple[str, ...] = ()) -> None:
    names = sorted({name for one, other, _ in edges for name in (one, other)})
    with (
        Ledger.open(memory.data_dir, clock=FrozenClock()) as ledger,
        ledger.write("import", origin=Origin("import")) as tx,
    ):
        upsert_entities(tx, [Entity(name.lower(), name, "concept", None, None, 1.0, "import") for name in names])
        upsert_edges(
            tx, [Edge(a.lower(), b.lower(), "related_to", None, weight, "import", sources) for a, b, weight in edges]
        )


def test_at_most_three_neighbours_of_the_best_fact_follow_the_facts(memory: Memory) -> None:
    memory.remember("ops", "The Okafor contract is signed.")
    link(memory, ("Okafor", "Lagos", 0.2), ("Berlin", "Okafor", 0.9), ("Okafor", "Accra", 0.5), ("Okafor", "Oslo", 0.5))
    answer = memory.recall("ops", "okafor contract", preview=True)
    assert answer.hints == ("Berlin", "Accra", "Oslo")
    assert answer.texts == ("The Okafor contract is signed.", "Berlin", "Accra", "Oslo")
    assert [fact.text for fact in answer.facts] == ["The Okafor contract is signed."]
    (batched,) = memory.batch_recall("ops", ["okafor contract"], preview=True)
    assert batched.texts == answer.texts


def test_receipts_name_the_entities_of_their_fact_and_no_hint(memory: Memory) -> None:
    memory.remember("ops", "Okafor's contract is in Lagos.")
    link(memory, ("Okafor", "Lagos", 0.2), ("Okafor", "Berlin", 0.9))
    (receipt,) = memory.recall_explain("ops", "contract", preview=True).receipts
    assert receipt.kg_links == ("lagos", "okafor")
    assert receipt_payload(receipt)["kg_links"] == ["lagos", "okafor"]
    assert "Berlin" not in str(receipt_payload(receipt))


@pytest.mark.parametrize("label", ["verified", "inferred", "unverified"])
def test_a_filter_suppresses_hints_and_says_so(memory: Memory, label: str) -> None:
    memory.remember("ops", "The Okafor contract is signed.", confidence="verified")
    link(memory, ("Okafor", "Lagos", 0.2))
    answer = memory.recall("ops", "okafor", preview=True, min_confidence=label)
    assert answer.hints == ()
    assert answer.retrieval is not None
    assert answer.retrieval.kg == "suppressed_min_confidence"
    weighted = memory.recall("ops", "okafor", preview=True, confidence_weight=0.0)
    assert weighted.hints == ("Lagos",)
    assert weighted.retrieval is not None
    assert weighted.retrieval.kg == "hints_without_confidence_receipts"


def test_no_hint_repeats_the_answer_names_a_retired_text_or_rests_on_a_retired_fact(memory: Memory) -> None:
    source = memory.remember("ops", "Okafor met Ivo.")
    gone = memory.remember("ops", "Dakar")
    memory.retire("ops", [gone.id])
    memory.remember("ops", "Oslo")
    memory.remember("ops", "The Okafor contract")
    link(memory, ("Okafor", "Dakar", 0.9), ("Okafor", "Oslo", 0.8), ("Okafor", "Lagos", 0.1))
    link(memory, ("Okafor", "Ivo", 0.7), sources=(source.id,))
    assert memory.recall("ops", "okafor contract", preview=True, top_k=8).hints == ("Ivo", "Lagos")
    memory.retire("ops", [source.id])
    assert memory.recall("ops", "okafor contract", preview=True).hints == ("Lagos",)


def test_hints_are_never_fused_over_two_namespaces_and_are_off_by_default(memory: Memory, tmp_path: Path) -> None:
    memory.remember("ops", "The Okafor contract")
    link(memory, ("Okafor", "Lagos", 0.1))
    assert memory.recall("ops", "okafor", preview=True).hints == ("Lagos",)
    assert memory.recall_all("ops", "okafor", preview=True).hints == ()
    with Memory.open(tmp_path, background=False, embedder=ScriptedEmbedder(), read_only=True) as plain:
        assert plain.recall("ops", "okafor").hints == ()
        assert plain.recall_explain("ops", "okafor").receipts[0].kg_links == ()
