"""The stdio server in this process: frames over pipes, and clients that hang up, stall or say nonsense."""

from __future__ import annotations

import errno
import gc
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from gm_engine import Config, EmbeddingMode, FactQuery, InvalidInput, Memory
from gm_engine.mcp import server as protocol
from gm_engine.mcp import stdio
from gm_engine.mcp.answers import ToolAnswer
from gm_engine.mcp.service import Service
from tests.fakes.mcp_peer import ANSWER_S, RawServer

CONFIG = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
FACT = {"agent_id": "ops", "text": "The gate opens at nine."}


class InnerServer(RawServer):
    """`serve_stdio` in a thread of this process; whoever holds it speaks JSON lines."""

    def __init__(self, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked, answered = os.pipe(), os.pipe()
        self._asking, self._hearing = os.fdopen(asked[1], "wb", buffering=0), os.fdopen(answered[0], "rb")
        self.frames_in, self.frames_out = os.fdopen(asked[0], "rb"), os.fdopen(answered[1], "wb", buffering=0)
        monkeypatch.setattr(stdio, "_take_streams", lambda: (self.frames_in, self.frames_out))
        self._last_id = 0
        self.thread = threading.Thread(target=self._serve, args=(data_dir,))
        self.thread.start()

    def _serve(self, data_dir: Path) -> None:
        with self.frames_out:  # as the end of a process closes it
            stdio.serve_stdio(data_dir, config=CONFIG)

    @property
    def stdin(self) -> IO[bytes]:
        return self._asking

    @property
    def stdout(self) -> IO[bytes]:
        return self._hearing

    def close(self) -> int:
        """Hangs up; 0 once the server has ended."""
        self.stdin.close()
        self.thread.join(ANSWER_S)
        for stream in (self._hearing, self.frames_in):  # whoever still reads is waited for
            stream.close()
        return int(self.thread.is_alive())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InnerServer]:
    server = InnerServer(tmp_path, monkeypatch)
    yield server
    assert server.close() == 0
    gc.unfreeze()  # the server froze what this whole test run had made


def frame(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def texts(data_dir: Path) -> list[str]:
    with Memory.open(data_dir, config=CONFIG, background=False) as memory:
        assert memory.clients.list() == ()
        return [fact.text for fact in memory.list_facts(FactQuery())]


@pytest.mark.parametrize(
    ("rest", "asked"),
    [
        (b'"id":5,"method":"ping","params":{"x":"half an emoji \\ud83d"}', 5),
        (b'"id":"five","method":"ping","params":[]', "five"),
        (b'"id":5', 5),
        (b'"id":5,"method":"ping","params":{"x":' + b"[" * 300 + b"]" * 300 + b"}", 5),
        (b'"id":5,"result":[]', None),
        (b'"id":true,"method":"ping"', None),
    ],
)
def test_a_request_that_cannot_be_taken_is_refused_by_its_id_so_that_nobody_waits_for_ever(
    server: InnerServer, rest: bytes, asked: object
) -> None:
    server.write(b'{"jsonrpc":"2.0",' + rest + b"}\n")
    refused = server.read()
    assert (refused["id"], refused["error"]["code"]) == (asked, -32600)


def test_a_conversation_is_kept_and_its_client_leaves_the_list(server: InnerServer, tmp_path: Path) -> None:
    server.initialize()
    tools = server.answer(server.send("tools/list"))["result"]["tools"]
    assert {tool["name"] for tool in tools} >= {"memory_add", "memory_search"}
    assert server.call("memory_add", **FACT)["structuredContent"] == {"agent_id": "ops", "stored": True}
    assert server.call("memory_search", agent_id="ops", query="gate")["structuredContent"]["count"] == 1
    assert "purge" in server.answer(server.send("tools/call", {"name": "purge", "arguments": {}}))["error"]["message"]
    server.stdin.close()
    assert server.stdout.read() == b""
    assert texts(tmp_path) == [FACT["text"]]


@pytest.mark.parametrize(
    ("raw", "code", "word"),
    [
        (b"no json\n", -32700, "JSON"),
        (b'{"jsonrpc":"2.0","id":5,"method":"\xff"}\n', -32700, "UTF-8"),
        (b"[1]\n", -32600, "JSON-RPC"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600, "id"),
        (b"x" * (2 * protocol.MAX_FRAME_BYTES + 5) + b"\n", -32700, "large"),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_served(
    server: InnerServer, raw: bytes, code: int, word: str
) -> None:
    server.write(b" \n" + raw)
    refused = server.read()
    assert (refused["id"], refused["error"]["code"]) == (None, code)
    assert word in refused["error"]["message"]
    server.initialize()
    assert server.answer(server.send("ping"))["result"] == {}


def test_what_was_asked_before_the_client_hung_up_is_still_answered(server: InnerServer, tmp_path: Path) -> None:
    server.initialize()
    sent = server.send("tools/call", {"name": "memory_add", "arguments": FACT})
    server.stdin.close()
    assert server.answer(sent)["result"]["isError"] is False
    server.thread.join(ANSWER_S)
    assert texts(tmp_path) == [FACT["text"]]


@pytest.mark.filterwarnings("ignore:coroutine '_Wire._end' was never awaited")  # its loop is gone: a process ends here
def test_a_client_that_is_gone_ends_its_server(server: InnerServer, tmp_path: Path) -> None:
    server.initialize()
    server.stdout.close()
    server.send("tools/call", {"name": "memory_add", "arguments": FACT})
    server.thread.join(ANSWER_S)
    assert not server.thread.is_alive()
    assert texts(tmp_path) == [FACT["text"]]


def test_a_pipe_that_does_not_wait_loses_no_byte(server: InnerServer) -> None:
    os.set_blocking(server.frames_out.fileno(), False)  # some clients do that to their end, and to ours with it
    server.initialize()
    asked = [server.send("tools/list") for _ in range(40)]
    assert [server.read()["id"] for _ in asked] == asked


def test_a_call_that_was_cancelled_is_not_waited_for(
    server: InnerServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, stopped = threading.Event(), threading.Event()

    def stuck(self: Service, *_: object, cancel: Any, **__: object) -> ToolAnswer:
        started.set()
        while not cancel.is_cancelled:
            stopped.wait(0.01)
        stopped.set()
        return ToolAnswer("too late")

    monkeypatch.setattr(Service, "run", stuck)
    server.initialize()
    sent = server.send("tools/call", {"name": "memory_add", "arguments": FACT})
    assert started.wait(ANSWER_S)
    server.write(frame(method="notifications/cancelled", params={"requestId": [sent]}))  # an id that is none
    server.write(frame(method="notifications/cancelled", params={"requestId": sent}))
    assert stopped.wait(ANSWER_S)
    server.stdin.close()
    server.thread.join(stdio._DRAIN_S / 2)
    assert not server.thread.is_alive()


def test_a_bug_in_a_tool_is_told_without_its_words(
    server: InnerServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> ToolAnswer:
        raise RuntimeError("the secret")

    monkeypatch.setattr(Service, "run", broken)
    server.initialize()
    told = server.call("memory_search", agent_id="ops", query="gate")
    assert told["isError"]
    assert "RuntimeError" in told["content"][0]["text"]
    assert "secret" not in str(told)
    assert "the secret" in caplog.text


def test_a_long_call_tells_how_far_it_is_to_whoever_wants_to_know(
    server: InnerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_PROGRESS_S", 0.0)

    def long(self: Service, *_: object, progress: Any, **__: object) -> ToolAnswer:
        progress(3, 7, "counting")
        return ToolAnswer("done")

    monkeypatch.setattr(Service, "run", long)
    server.initialize()
    arguments = {"agent_id": "ops", "query": "gate"}
    server.call("memory_search", **arguments)  # which asked for none: the next frame is of the next call
    asked = {"name": "memory_search", "arguments": arguments, "_meta": {"progressToken": "mine"}}
    sent = server.send("tools/call", asked)
    told = server.read()
    assert told["method"] == "notifications/progress"
    expected = {"progressToken": "mine", "progress": 3, "total": 7, "message": "counting"}
    assert {key: told["params"][key] for key in expected} == expected
    assert server.answer(sent)["result"]["content"][0]["text"] == "done"


def test_whoever_starts_the_server_without_pipes_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: int) -> int:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    with pytest.raises(InvalidInput, match="--http"):
        stdio._take_streams()
