"""What an agent's tool call may bring and how it ends early: texts and lists without end, a call that is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, Memory, Message
from gm_engine.mcp.arguments import MAX_QUERIES, MAX_TEXT_BYTES
from gm_engine.mcp.service import Service
from gm_engine.mcp.tools import Call, Caller, run_tool
from gm_engine.progress import CancelToken
from gm_engine.records import BALANCED_WEIGHTS, FactQuery
from tests.fakes.clock import FrozenClock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        yield opened


@pytest.fixture
def caller(memory: Memory) -> Caller:
    origin = memory.clients.connect("tester", "1", "stdio")
    return Caller(memory.acting_as(origin), origin)


def test_a_text_or_a_list_without_end_is_refused_by_its_size(memory: Memory, caller: Caller) -> None:
    most = "x" * MAX_TEXT_BYTES
    refused = run_tool("memory_add", Call(caller, {"agent_id": "ops", "text": most + "x"}))
    assert refused.is_error
    assert "text has 262,145 bytes; 262,144 are the most." in refused.text
    many = run_tool("memory_search_batch", Call(caller, {"agent_id": "ops", "queries": ["gate"] * (MAX_QUERIES + 1)}))
    assert many.is_error
    assert "queries has 1,001 items; 1,000 are the most." in many.text
    assert memory.list_facts(FactQuery()) == ()


def test_a_batch_that_is_taken_back_ends_between_two_queries(memory: Memory, caller: Caller) -> None:
    memory.remember("ops", "The gate opens at nine.")
    cancel, told = CancelToken(), []

    def progress(done: int, total: int | None, what: str) -> None:
        told.append((done, total, what))
        cancel.cancel()

    call = Call(caller, {"agent_id": "ops", "queries": ["gate", "nine", "opens"]}, progress, cancel)
    answer = run_tool("memory_search_batch", call)
    assert (answer.is_error, answer.payload) == (True, None)
    assert told == [(0, 3, "searching")]


def test_a_checkpoint_of_the_window_tells_an_agent_how_many_messages_it_holds(memory: Memory, caller: Caller) -> None:
    memory.checkpoints.save("ops", state={}, messages=[Message("user", "When?"), Message("assistant", "At nine.")])
    answer = run_tool("checkpoint_resume", Call(caller, {"agent_id": "ops"}))
    assert answer.payload is not None
    assert answer.payload["message_count"] == 2
    assert ", 2 messages." in answer.text


def test_a_server_leaves_the_settings_of_a_store_that_was_there(tmp_path: Path) -> None:
    weights = {}
    for name in ("new", "old"):
        if name == "old":
            with Memory.open(tmp_path / name, background=False) as memory:
                weights["before"] = memory.settings.signal_weights
        service = Service(tmp_path / name, "stdio", Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY))
        weights[name] = service.memory().settings.signal_weights
        service.close()
    assert weights["new"] == BALANCED_WEIGHTS
    assert weights["old"] == weights["before"] != BALANCED_WEIGHTS
