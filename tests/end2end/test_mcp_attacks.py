"""Frames, requests and clients that are not as they should be, against real servers."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from gm_engine import FactQuery, Memory
from tests.fakes.command_line import ROOT, command, run
from tests.fakes.mcp_peer import ANSWER_S, http_server, raw_server

pytestmark = pytest.mark.end2end
FACT = {"agent_id": "ops", "text": "The gate opens at nine."}


def frame(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def test_lines_that_are_no_message_are_answered_and_the_next_one_is_served(tmp_path: Path) -> None:
    big = b'{"jsonrpc":"2.0","id":99,"method":"ping","params":{"x":"' + b"x" * 50_000_000 + b'"}}\n'
    bad = [
        (b"no json\n", -32700),
        (b'{"jsonrpc":"2.0","id":5,"meth\n', -32700),
        (b'{"jsonrpc":"2.0","id":5,"method":"\xff\xfe"}\n', -32700),
        (b"[1, 2]\n", -32600),
        (b'{"hello": "world"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}\n', -32600),
        (big, -32700),
        (b"[" * 100_000 + b"\n", -32700),
    ]
    with raw_server(tmp_path) as server:
        for raw, code in bad:
            server.write(b"\n  \n" + raw)
            error = server.read()
            assert (error["id"], error["error"]["code"]) == (None, code), raw[:60]
        server.initialize()
        for nonsense in ([1], {"a": 1}, None, 1.5):
            server.write(frame(method="notifications/cancelled", params={"requestId": nonsense}))
        assert server.call("memory_add", **FACT)["structuredContent"] == {"agent_id": "ops", "stored": True}
        assert server.call("memory_add", agent_id="ops", text="x" * 1_000_000)["isError"]
        assert server.call("memory_search_batch", agent_id="ops", queries=["gate"] * 10_000)["isError"]
        found = server.call("memory_search", agent_id="ops", query="gate", top_k=10**30)
        assert found["structuredContent"]["count"] == 1
        assert server.answer(server.send("tools/call", {"name": "memory_add", "arguments": [1]}))["error"]
        assert server.answer(server.send("tools/call", {"name": "../purge", "arguments": {}}))["error"]
        assert server.answer(server.send("no/such/method"))["error"]
        server.write(b'{"jsonrpc":"2.0","id":7,"method":"tools/ca')  # half a frame, and gone
        assert server.close() == 0
    with Memory.open(tmp_path, background=False) as memory:
        assert [fact.text for fact in memory.list_facts(FactQuery())] == [FACT["text"]]
        assert memory.clients.list() == ()


def test_what_was_asked_before_the_client_hung_up_is_still_answered(tmp_path: Path) -> None:
    with raw_server(tmp_path) as server:
        server.initialize()
        sent = server.send("tools/call", {"name": "memory_add", "arguments": FACT})
        server.stdin.close()
        assert server.answer(sent)["result"]["isError"] is False
        assert server.process.wait(ANSWER_S) == 0


def test_nothing_but_frames_comes_out_whatever_a_library_prints(tmp_path: Path) -> None:
    noisy = (
        "import os, sys, subprocess\n"
        "import gm_engine.mcp.service as service\n"
        "from gm_engine.cli.main import main\n"
        "quiet = service.run_tool\n"
        "def loud(name, call):\n"
        "    print('noise'); sys.stdout.flush(); os.write(1, b'noise'); sys.__stdout__.write('noise')\n"
        "    subprocess.run([sys.executable, '-c', 'print(\"noise\"); input' + '()'], stderr=subprocess.DEVNULL)\n"
        "    return quiet(name, call)\n"
        "service.run_tool = loud\n"
        "sys.exit(main())"
    )
    arguments = command("--data-dir", tmp_path, "mcp", "serve")
    arguments[arguments.index("-c") + 1] = noisy
    with raw_server(tmp_path, arguments=arguments) as server:
        server.initialize()
        assert server.call("memory_add", **FACT)["isError"] is False
        assert server.call("memory_search", agent_id="ops", query="gate")["structuredContent"]["count"] == 1
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.process.wait(ANSWER_S) == 0


def test_a_client_that_never_reads_is_not_listened_to_for_ever_and_misses_nothing(tmp_path: Path) -> None:
    requests = 400
    with raw_server(tmp_path) as server:
        server.initialize()

        def flood() -> None:
            for number in range(1, requests + 1):
                server.write(frame(id=1_000 + number, method="tools/list", params={"_meta": {"padding": "x" * 4_000}}))

        flooding = threading.Thread(target=flood, daemon=True)
        flooding.start()
        flooding.join(3)
        assert flooding.is_alive()  # the pipe is full, because the server stopped reading
        answered = {server.read()["id"] for _ in range(requests)}
        assert answered == {1_000 + number for number in range(1, requests + 1)}
        flooding.join(ANSWER_S)


@pytest.mark.parametrize("how", ["closes its pipes", "is killed"])
def test_a_client_that_dies_in_the_middle_of_calls_takes_its_server_along(tmp_path: Path, how: str) -> None:
    with raw_server(tmp_path) as server:
        server.initialize("mortal")
        assert server.call("memory_add", **FACT)["isError"] is False
        for number in range(40):
            server.send("tools/call", {"name": "memory_add", "arguments": {**FACT, "text": f"Fact {number}."}})
        server.stdout.close()
        if how == "is killed":
            server.process.kill()
        else:
            server.stdin.close()
        server.process.wait(ANSWER_S)
    with Memory.open(tmp_path, background=False) as memory:
        texts = [fact.text for fact in memory.list_facts(FactQuery())]
        assert FACT["text"] in texts
        assert len(texts) == len(set(texts))
        assert memory.clients.list() == ()
    assert run("--data-dir", tmp_path, "doctor").code == 0


def test_a_server_ends_when_its_connection_breaks(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()  # some clients use sockets as pipes, and these can be reset
    with ours, theirs:
        arguments = command("--data-dir", tmp_path, "mcp", "serve")
        server = subprocess.Popen(
            arguments, cwd=ROOT, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
        )
        try:
            theirs.close()
            ours.sendall(INITIALIZE + frame(method="notifications/initialized"))
            assert select.select([ours], [], [], ANSWER_S)[0]  # its answer is there and will never be read
            ours.close()
            assert server.wait(ANSWER_S) == 0
        finally:
            server.kill()
            server.wait()
    with Memory.open(tmp_path, background=False) as memory:
        assert memory.clients.list() == ()


# --- HTTP -------------------------------------------------------------------------------------------------------------

INITIALIZE = frame(
    id=1,
    method="initialize",
    params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
)


def status(url: str, *headers: str, method: str = "POST", path: str = "/mcp", body: bytes = INITIALIZE) -> int:
    """The status of one request written by hand; `headers` replace those of the same name."""
    host, port = url.split("/")[2].split(":")
    given = {
        "host": f"Host: {host}:{port}",
        "content-type": "Content-Type: application/json",
        "accept": "Accept: application/json, text/event-stream",
        "content-length": f"Content-Length: {len(body)}",
    }
    named = [line.partition(":")[0].lower() for line in headers]
    lines = [line for name, line in given.items() if name not in named] + [line for line in headers if ":" in line]
    request = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Connection: close", "", ""]).encode("latin-1") + body
    with socket.create_connection((host, int(port)), timeout=ANSWER_S) as connection:
        connection.sendall(request)
        answer = connection.recv(65_536)
    return int(answer.split(b" ", 2)[1])


def test_nobody_is_served_without_the_token_or_under_another_name(tmp_path: Path) -> None:
    with http_server(tmp_path) as (url, token):
        right = f"Authorization: Bearer {token}"
        assert status(url, right) == 200
        assert status(url, method="GET", path="/health", body=b"") == 200
        wrong = (
            "",
            "Bearer",
            "Bearer ",
            "Bearer x",
            f"Bearer {token}x",
            f"Bearer {token[:-1]}",
            f"Basic {token}",
            token,
        )
        for value in wrong:
            assert status(url, f"Authorization: {value}") == 401, value
        assert status(url) == 401
        assert status(url, right, right) == 401
        for path in ("/", "/health/", "/mcp/", "/health/../mcp", "//health", "/HEALTH"):
            assert status(url, path=path) == 401, path
        for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost@evil.example"):
            assert status(url, right, f"Host: {host}") == 421, host
            assert status(url, f"Host: {host}", method="GET", path="/health", body=b"") == 421, host
        assert status(url, right, "Host: localhost:1") == 200
        for origin in ("http://evil.example", "null", "https://127.0.0.1.evil.example", "file://", "http://10.0.0.1"):
            assert status(url, right, f"Origin: {origin}") == 403, origin
        assert status(url, right, "Origin: http://localhost:5173") == 200
        assert status(url, right, "Content-Length: 9000000") == 413
        assert status(url, right, body=b"no json") == 400
        assert status(url, right, f"Mcp-Session-Id: {'0' * 32}") == 404
        assert status(url, right) == 200
    assert (tmp_path / "mcp-token").stat().st_mode & 0o777 == 0o600


def test_on_loopback_a_person_may_do_without_a_token(tmp_path: Path) -> None:
    with http_server(tmp_path, "--no-token") as (url, token):
        assert token == ""
        assert status(url) == 200
        assert status(url, "Origin: http://evil.example") == 403


@pytest.mark.parametrize(
    "arguments",
    [
        ("--http", "0.0.0.0:0", "--no-token"),
        ("--http", "[::]:0", "--no-token"),
        ("--http", "example.org:80", "--no-token"),
        ("--http", "8080"),
        ("--http", "127.0.0.1:99999"),
        ("--http", "http://127.0.0.1:80"),
        ("--no-token",),
    ],
)
def test_an_address_that_makes_no_sense_or_is_open_to_all_is_refused(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    refused = run("--data-dir", tmp_path, "mcp", "serve", *arguments)
    assert refused.code == 2
    assert len(refused.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", ["", " \n", "\x00\x01", "x" * 5_000])
def test_a_token_file_that_holds_no_secret_is_refused(tmp_path: Path, written: str) -> None:
    path = tmp_path / "mcp-token"
    path.write_text(written)
    path.chmod(0o600)
    assert run("--data-dir", tmp_path, "mcp", "token").code == 2
    made = run("--data-dir", tmp_path, "--json", "mcp", "token", "--new")
    assert made.json["token"] == path.read_text().strip() == run("--data-dir", tmp_path, "mcp", "token").out.strip()
    path.chmod(0o644)
    assert "read by others" in run("--data-dir", tmp_path, "mcp", "token").err
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert run("--data-dir", tmp_path, "mcp", "token").code == 2
