"""A second process never opens the vector index, and gives the same answers, scores and receipts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gm_engine import Memory
from tests.soak.checks import ROOT
from tests.soak.worker import AGENTS, QUERIES, embedder, sentence

FACTS = 300
_CHILD = """
import json, sys
from gm_engine import Memory
from tests.end2end.test_recall_in_two_processes import said
from tests.soak.worker import embedder
with Memory.open(sys.argv[1], background=False, embedder=embedder()) as memory:
    memory.index_step()
    print(json.dumps(said(memory)))
assert "chromadb" not in sys.modules
"""


def said(memory: Memory) -> list[list[object]]:
    """Every fixed query: the path, and place by place what a receipt says."""
    found: list[list[object]] = []
    for agent in AGENTS:
        for query in QUERIES:
            answer = memory.recall_explain(agent, query, preview=True, confidence_weight=0.2)
            found.append([answer.coverage.vector_path, answer.coverage.with_vector])
            for receipt in answer.receipts:
                ranks = receipt.ranks
                found.append(
                    [receipt.fact.id, ranks.vector_rank, ranks.keyword_rank, ranks.recency_rank, receipt.final_score]
                )
    return found


@pytest.mark.end2end
def test_the_process_with_the_index_and_the_one_without_answer_alike(tmp_path: Path) -> None:
    rng = random.Random(5)
    with Memory.open(tmp_path, background=False, embedder=embedder()) as memory:
        for _ in range(FACTS):
            memory.remember(rng.choice(AGENTS), sentence(rng), confidence=rng.choice([None, "verified", "unverified"]))
        while memory.index_step(0.5):
            pass
        ours = said(memory)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    paths = [(one[0], other[0]) for one, other in zip(ours, theirs, strict=True) if len(one) == 2]
    assert ("chroma", "exact") in paths
    assert [one[1:] if len(one) == 2 else one for one in ours] == [
        other[1:] if len(other) == 2 else other for other in theirs
    ]
