"""Two thousand random calls, valid and invalid, against a plain-Python model of the wire contract."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from gm_engine import FactQuery, Memory
from gm_engine.mcp.tools import READS, Call, Caller, run_tool
from gm_engine.records import Access
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.mcp_calls import Calls, check_answer
from tests.fakes.mcp_model import BLOCKED, Model


@pytest.mark.parametrize(
    ("access", "calls"), [("write", 1_400), ("review", 400), ("read", 150), ("none", 100)], ids=str
)
def test_every_call_comes_to_what_the_contract_says(tmp_path: Path, access: Access, calls: int) -> None:
    model = Model(access=access)
    with Memory.open(tmp_path, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
        memory.blocked.add(BLOCKED)
        origin = memory.clients.connect("tester", "1", "stdio")
        caller = Caller(memory.acting_as(origin), origin)
        memory.clients.set_access("tester", None, access)
        done = {True: 0, False: 0}
        for tool, arguments in islice(Calls(seed=len(access)), calls):
            before = memory.last_seq()
            answer = run_tool(tool, Call(caller, arguments))
            succeeded = check_answer(model, tool, arguments, answer.payload, answer.text)
            done[succeeded] += 1
            assert memory.last_seq() == before or (succeeded and tool not in READS)
        assert done[False] > calls // 10
        assert (done[True] > calls // 3) == (access in ("write", "review"))
        _check_end(memory, model)


def _check_end(memory: Memory, model: Model) -> None:
    """Facts, tombstones, pins and labels are those of the model, and so is what waits."""
    facts = sorted(
        (f.agent_id, f.text, f.confidence, f.kind, not f.is_superseded, f.pinned)
        for f in memory.list_facts(FactQuery(status="all"), limit=10_000)
    )
    expected = sorted(
        (agent_id, f.text, f.label, f.kind, f.is_live, f.is_pinned)
        for agent_id, facts in model.facts.items()
        for f in facts
    )
    assert facts == expected
    assert len(memory.inbox.list(source="review")) == len(model.held)
