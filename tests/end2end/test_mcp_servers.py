"""The SDK's own client against real servers: schemas, results, who is connected, what each may do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession

from gm_engine import FactQuery, Memory
from gm_engine.mcp.schemas import definitions
from tests.fakes.mcp_calls import Calls, check_answer
from tests.fakes.mcp_model import BLOCKED, Model
from tests.fakes.mcp_peer import http_server, http_session, raw_server, stdio_session

pytestmark = pytest.mark.end2end


@asynccontextmanager
async def session_over(transport: str, data_dir: Path) -> AsyncIterator[ClientSession]:
    if transport == "stdio":
        async with stdio_session(data_dir) as session:
            yield session
        return
    with http_server(data_dir) as (url, token):
        async with http_session(url, token) as session:
            yield session


async def call(session: ClientSession, tool: str, arguments: dict[str, Any]) -> tuple[Any, str]:
    """Payload (None for an error, which must be text only) and text."""
    result = await session.call_tool(tool, arguments)
    (block,) = result.content
    assert block.type == "text"
    assert (result.structured_content is None) == result.is_error
    return result.structured_content, block.text


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("transport", "calls"), [("stdio", 120), ("http", 60)])
def test_the_sdks_own_client_gets_what_the_contract_says(tmp_path: Path, transport: str, calls: int) -> None:
    with Memory.open(tmp_path, background=False) as memory:
        memory.blocked.add(BLOCKED)

    async def talk() -> None:
        model = Model()
        async with session_over(transport, tmp_path) as session:
            listed = (await session.list_tools()).tools
            assert [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed] == list(definitions())
            for tool, made in islice(Calls(seed=calls), calls):
                arguments = {name: value for name, value in made.items() if value == value}  # the SDK sends no NaN
                check_answer(model, tool, arguments, *(await call(session, tool, arguments)))

    asyncio.run(talk())
    with Memory.open(tmp_path, background=False) as memory:
        origins = {fact.origin for fact in memory.list_facts(FactQuery(status="all"))}
        assert {(o.channel, o.client, o.client_version, o.session.split()[0]) for o in origins} == {
            ("mcp", "sdk", "2", transport)
        }


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_person_sees_the_client_and_what_it_may_do_changes_at_once(tmp_path: Path, transport: str) -> None:
    async def talk(memory: Memory) -> None:
        fact = {"agent_id": "ops", "text": "The gate opens at nine."}
        search = {"agent_id": "ops", "query": "gate"}
        async with session_over(transport, tmp_path) as session:
            assert (await call(session, "memory_add", fact))[0] == {"agent_id": "ops", "stored": True}
            memory.clients.set_access("sdk", None, "review")
            held, text = await call(session, "memory_add", {**fact, "text": "The quay is closed."})
            (proposal,) = memory.inbox.list(source="review")
            assert held == {"agent_id": "ops", "stored": False}
            assert proposal.id in text
            assert (await call(session, "memory_search", search))[0]["count"] == 1
            memory.inbox.accept(proposal.id)
            assert (await call(session, "memory_search", search))[0]["count"] == 2
            memory.clients.set_access("sdk", "ops", "read")
            payload, text = await call(session, "memory_add", fact)
            assert payload is None
            assert "sdk" in text
            memory.clients.set_access("sdk", "ops", "none")
            assert (await call(session, "memory_search", search))[0] is None
            assert (await call(session, "checkpoint_resume", {"agent_id": "ops", "on_missing": "empty"}))[0] is None
            until(lambda: [(c.name, c.reads, c.writes) for c in memory.clients.list()] == [("sdk", 4, 3)])
            (client,) = memory.clients.list()
            assert (client.version, client.transport) == ("2", transport)
        until(lambda: not memory.clients.list())

    with Memory.open(tmp_path, background=False) as memory:
        asyncio.run(talk(memory))


def test_twenty_clients_at_once(tmp_path: Path) -> None:
    async def one(url: str, token: str, number: int) -> None:
        async with http_session(url, token, f"client {number}") as session:
            adds = [
                call(session, "memory_add", {"agent_id": "ops", "text": f"Crane {number} has part {part}."})
                for part in range(4)
            ]
            assert [payload for payload, _ in await asyncio.gather(*adds)] == [{"agent_id": "ops", "stored": True}] * 4
            found, _ = await call(session, "memory_search", {"agent_id": "ops", "query": f"crane {number} part"})
            assert found["count"] == 8

    async def all_at_once(url: str, token: str) -> None:
        await asyncio.gather(*(one(url, token, number) for number in range(20)))

    with http_server(tmp_path) as (url, token):
        asyncio.run(all_at_once(url, token))
    with Memory.open(tmp_path, background=False) as memory:
        texts = [fact.text for fact in memory.list_facts(FactQuery(), limit=1_000)]
    assert len(texts) == len(set(texts)) == 80


def test_a_long_call_tells_its_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    with Memory.open(tmp_path, background=False) as memory:
        for number in range(50):
            memory.remember("ops", f"Crane {number} is at quay {number}.")
    queries = {"agent_id": "ops", "queries": [f"crane {number}" for number in range(1_000)]}
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def talk() -> None:
        async with stdio_session(tmp_path) as session:
            long = asyncio.create_task(session.call_tool("memory_search_batch", queries, progress_callback=hear))
            while not heard:
                await asyncio.sleep(0.01)
            long.cancel()
            with pytest.raises(asyncio.CancelledError):
                await long
            assert (await call(session, "memory_search", {"agent_id": "ops", "query": "crane 7"}))[0]["count"] == 8

    asyncio.run(talk())
    assert heard
    assert max(heard) < 1_000


def test_a_client_of_the_newer_protocol_needs_no_handshake(tmp_path: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "9"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    fact = {"agent_id": "ops", "text": "The gate opens at nine."}
    with raw_server(tmp_path) as server:
        listed = server.answer(server.send("tools/list", {"_meta": meta}))
        assert listed["result"]["tools"] == list(definitions())
        added = server.answer(server.send("tools/call", {"name": "memory_add", "arguments": fact, "_meta": meta}))
        assert added["result"]["structuredContent"] == {"agent_id": "ops", "stored": True}
        with Memory.open(tmp_path, background=False) as memory:
            (written,) = memory.list_facts(FactQuery())
            assert (written.origin.client, written.origin.client_version) == ("newer", "9")
            assert [client.name for client in memory.clients.list()] == ["newer"]
