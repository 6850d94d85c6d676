"""Law: what a publish leaves alone after a few changes is what a look at everything would leave."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.obsidian import plan
from exporters.obsidian.publish import preview, publish
from gm_engine import FactQuery, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

LABELS = ("Zeta Works", "Omega Yard", "Delta Hall")
DEEDS = ("remember", "remember", "pin", "label", "retire", "restore", "revise", "move", "shorten", "link", "save")
TURNS = st.lists(st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 9)), min_size=1, max_size=4), max_size=6)


def do(memory: Memory, deed: str, number: int) -> None:
    label = LABELS[number % len(LABELS)]
    facts = memory.facts(memory.fact_ids(FactQuery(status="all")))
    fact = facts[number % len(facts)]
    if deed == "remember":
        memory.remember("ab"[number % 2], f"{label} has {number} gates.")
    elif deed == "link":
        first, second, *_ = sorted(entity.id for entity in memory.graph.entities())
        memory.graph.link(first, second, "near", sources=[fact.id])
    elif deed == "save":
        memory.checkpoints.save("a", state={"step": number})
    elif deed == "restore":
        if fact.is_superseded:
            memory.restore(fact.agent_id, [fact.id])
    elif fact.is_superseded:
        return
    elif deed == "pin":
        (memory.unpin if fact.pinned else memory.pin)(fact.agent_id, [fact.id])
    elif deed == "label":
        memory.label(fact.agent_id, [fact.id], "verified")
    elif deed == "retire":
        memory.retire(fact.agent_id, [fact.id])
    elif deed == "move":
        memory.move(fact.agent_id, [fact.id], "b" if fact.agent_id == "a" else "a")
    else:
        longer, shorter = f"{fact.text} Again.", f"{label} again."
        memory.revise(fact.agent_id, [fact.id], shorter if deed == "shorten" and fact.text != shorter else longer)


@settings(max_examples=settings().max_examples // 2)  # 500 where the profile is thorough
@given(TURNS)
def test_a_quick_publish_leaves_what_a_thorough_one_would(turns: list[list[tuple[str, int]]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        with Memory.open(place / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
            for label in LABELS:
                memory.graph.add(label)
                memory.remember("a", f"{label} opens at nine.")
            memory.remember("b", "Nothing in particular.")
            publish(memory, place / "vault")
            for turn in turns:
                for deed, number in turn:
                    do(memory, deed, number)
                report = publish(memory, place / "vault", remove_orphans=True)
                assert report.broken_links == ()
                with (
                    mock.patch.object(plan, "changed_since", return_value=None),
                    mock.patch.object(plan, "RENDERING", 0),
                ):
                    counts = preview(memory, place / "vault").counts()
                assert {status for status, count in counts.items() if count} == {"unchanged"}
