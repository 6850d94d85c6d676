"""Who is let in over HTTP and who is not, a server that is told to end, and tokens that are none."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import threading
import urllib.error
import urllib.request
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from gm_engine import Config, EmbeddingMode, FactQuery, Memory
from gm_engine.errors import InvalidInput, StoreUnavailable
from gm_engine.mcp import http
from gm_engine.mcp import token as tokens
from gm_engine.mcp.address import Address, parse_address
from gm_engine.mcp.server import MAX_FRAME_BYTES
from gm_engine.mcp.service import Service
from tests.fakes.command_line import run

CONFIG = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
HERE = Address("127.0.0.1", 8080)
SECRET = ("authorization", "Bearer s3cret")


def asked(
    tmp_path: Path, *headers: tuple[str, str], method: str = "POST", path: str = "/mcp", body: tuple[Any, ...] = ()
) -> tuple[int, Any]:
    """The answer of the guard to a request: status and body."""
    sent: list[Any] = []
    arriving = iter(body)

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        for message in arriving:
            return message
        raise AssertionError("a request that is refused is not read")

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    service = Service(tmp_path, "http", CONFIG)
    app = http.guarded(service, HERE, "s3cret")

    async def ask() -> None:
        await app(scope, receive, send)

    asyncio.run(ask())
    service.close()
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((), 421),
        ((("host", "evil.example"), SECRET), 421),
        ((("host", "localhost"), ("host", "localhost"), SECRET), 421),
        ((("host", "localhost"), ("origin", "https://evil.example"), SECRET), 403),
        ((("host", "localhost"),), 401),
        ((("host", "localhost"), SECRET, SECRET), 401),
        ((("host", "localhost"), SECRET, ("content-length", str(MAX_FRAME_BYTES + 1))), 413),
        ((("host", "localhost"), SECRET, ("content-length", "many")), 413),
    ],
)
def test_who_is_not_let_in_learns_why(tmp_path: Path, headers: tuple[tuple[str, str], ...], status: int) -> None:
    code, told = asked(tmp_path, *headers)
    assert code == status
    assert told["error"]
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_client_that_leaves_before_its_request_is_whole_is_no_failure_of_the_server(tmp_path: Path) -> None:
    cut = ({"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"})
    assert asked(tmp_path, ("host", "localhost"), SECRET, body=cut)[0] == 408  # which nobody hears


def test_the_health_check_needs_no_token_and_takes_no_orders(tmp_path: Path) -> None:
    assert asked(tmp_path, ("host", "localhost"), method="GET", path="/health") == (200, {"status": "ok"})
    assert asked(tmp_path, ("host", "localhost"), method="POST", path="/health")[0] == 405


def test_a_server_serves_sessions_and_ends_in_order_when_it_is_told_to(tmp_path: Path) -> None:
    told: list[str] = []
    seen: dict[str, Any] = {}

    def post(url: str, message: dict[str, Any] | None, session: str = "", method: str = "POST") -> tuple[str, str]:
        headers = {
            "Authorization": f"Bearer {tokens.own_token(tmp_path)}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **({"Mcp-Session-Id": session} if session else {}),
        }
        body = None if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        request = urllib.request.Request(url, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode(), answer.headers.get("Mcp-Session-Id", "")

    def converse(url: str) -> None:
        try:
            info = {"name": "walker", "version": "1"}
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
            _, session = post(url, {"id": 1, "method": "initialize", "params": hello})
            post(url, {"method": "notifications/initialized"}, session)
            fact = {"agent_id": "ops", "text": "The gate opens at nine."}
            call = {"name": "memory_add", "arguments": fact}
            seen["answer"], _ = post(url, {"id": 2, "method": "tools/call", "params": call}, session)
            with Memory.open(tmp_path, config=CONFIG, background=False, read_only=True) as memory:
                seen["clients"] = [client.name for client in memory.clients.list()]
                post(url, None, session, method="DELETE")
                pause, end_s = threading.Event(), monotonic() + 60
                while memory.clients.list() and monotonic() < end_s:  # it leaves the list after its answer
                    pause.wait(0.01)
                seen["left"] = memory.clients.list()
        finally:
            signal.raise_signal(signal.SIGTERM)

    client = threading.Thread(target=lambda: converse(told[0].split()[-1]))

    def say(line: str) -> None:
        told.append(line)
        if len(told) == 2:
            client.start()

    before = signal.getsignal(signal.SIGTERM)
    http.serve_http(tmp_path, parse_address("127.0.0.1:0"), config=CONFIG, needs_token=True, say=say)
    client.join()
    assert signal.getsignal(signal.SIGTERM) is before
    assert told[1] == f"the token is in {tokens.token_path(tmp_path)}"
    assert '"stored":true' in seen["answer"].replace(" ", "")
    assert (seen["clients"], seen["left"]) == (["walker"], ())
    with Memory.open(tmp_path, config=CONFIG, background=False) as memory:
        assert [fact.text for fact in memory.list_facts(FactQuery())] == ["The gate opens at nine."]


def test_an_address_that_somebody_else_has_is_refused(tmp_path: Path) -> None:
    with http._listen(Address("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = run("--data-dir", tmp_path, "--json", "mcp", "serve", "--http", f"127.0.0.1:{port}", "--no-token")
    assert (told.code, told.error["code"]) == (2, "invalid_input")
    assert str(port) in told.error["message"]
    odd = run("--data-dir", tmp_path, "--json", "mcp", "serve", "--no-token")
    assert (odd.code, odd.error["code"]) == (2, "invalid_input")


# Tokens ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", [b"", b" \n", b"two\nlines\n", b"s\xc3\xa9cret", b"x" * 5000])
def test_a_file_that_holds_no_token_is_not_taken_for_one(tmp_path: Path, written: bytes) -> None:
    path = tokens.token_path(tmp_path)
    path.write_bytes(written)
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match="--new"):
        tokens.own_token(tmp_path)
    made = run("--data-dir", tmp_path, "--json", "mcp", "token", "--new").json["token"]
    assert tokens.own_token(tmp_path) == made


def test_a_token_that_others_can_read_or_that_is_a_link_is_no_secret(tmp_path: Path) -> None:
    path = tokens.token_path(tmp_path)
    path.write_text("s3cret")
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="read by others"):
        tokens.own_token(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="link"):
        tokens.own_token(tmp_path)


def test_a_token_that_cannot_be_read_or_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "one").mkdir()
    tokens.token_path(tmp_path / "one").mkdir()
    with pytest.raises(StoreUnavailable, match="read"):
        tokens.own_token(tmp_path / "one")
    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        tokens.own_token(tmp_path / "two")


def test_of_two_programs_that_make_a_token_at_once_both_use_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def slower(path: Any, *rest: Any) -> int:
        monkeypatch.setattr(os, "open", opened)
        tokens.own_token(tmp_path)
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", slower)
    assert tokens.own_token(tmp_path) == tokens.token_path(tmp_path).read_text().strip()
