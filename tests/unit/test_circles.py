"""A circle of replacements, as a damaged import may bring it: everything that follows lineage comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, FactQuery, Memory
from gm_engine.records import Origin
from gm_engine.store.facts import load_facts, patch_facts
from tests.fakes.clock import FrozenClock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        yield opened


@pytest.fixture
def circle(memory: Memory) -> list[str]:
    """Three facts, each replaced by the next; and one that replaced the first of them, live."""
    ids = [memory.remember("ops", f"The gate opens at {hour}.").id for hour in ("eight", "nine", "ten", "noon")]
    with memory._ledger.write("twist", origin=Origin("import")) as tx:
        for fact_id, by in zip(ids[:3], (ids[1], ids[2], ids[0]), strict=True):
            patch_facts(tx, load_facts(tx.connection, [fact_id]).values(), {"superseded_by": by})
    return ids


def test_lineage_names_every_fact_of_a_circle_once(memory: Memory, circle: list[str]) -> None:
    for fact_id in circle[:3]:
        lineage = memory.lineage(fact_id)
        others = set(circle[:3]) - {fact_id}
        assert {fact.id for fact in lineage.supersedes} == others
        assert {fact.id for fact in lineage.superseded_by} == others
    with memory.at(before_seq=memory.last_seq() + 1) as view:
        assert len(view.lineage(circle[0]).superseded_by) == 2


def test_recall_explains_a_fact_that_replaced_part_of_a_circle(memory: Memory, circle: list[str]) -> None:
    with memory._ledger.write("twist", origin=Origin("import")) as tx:
        patch_facts(tx, load_facts(tx.connection, circle[2:3]).values(), {"superseded_by": circle[3]})
        patch_facts(tx, load_facts(tx.connection, circle[1:2]).values(), {"superseded_by": circle[0]})
    (receipt,) = memory.recall_explain("ops", "gate opens", preview=True).receipts
    assert receipt.fact.id == circle[3]
    assert receipt.supersedes == (circle[2],)
    assert memory.explain_missing("ops", "gate opens", circle[0]).reason == "retired"


def test_verbs_and_cycles_treat_facts_of_a_circle_as_the_retired_facts_they_are(
    memory: Memory, circle: list[str]
) -> None:
    seq = memory.last_seq()
    assert memory.fact_ids(FactQuery()) == circle[3:]
    assert memory.consolidate("ops").facts == 1
    (restored,) = memory.restore("ops", circle[:1])
    assert not restored.is_superseded
    revised = memory.revise("ops", circle[:1], "The gate opens at one.")
    assert {fact.id for fact in memory.lineage(revised.id).supersedes} == set(circle[:3])
    memory.undo(revised.version)
    memory.undo(restored.version)
    memory.undo(seq)
    assert len(memory.fact_ids(FactQuery())) == 4
