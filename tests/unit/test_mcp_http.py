"""The HTTP server's own checks: addresses, names, tokens, and clients that take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gm_engine import Config
from gm_engine.errors import InvalidInput
from gm_engine.mcp import http
from gm_engine.mcp.address import Address, parse_address
from gm_engine.mcp.service import Service
from gm_engine.mcp.token import is_right, own_token


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        (":0", "127.0.0.1", 0, True),
        ("localhost:80", "localhost", 80, True),
        ("[::1]:80", "::1", 80, True),
        ("127.9.9.9:80", "127.9.9.9", 80, True),
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("[::]:80", "::", 80, False),
        ("memory.example.org:65535", "memory.example.org", 65535, False),
    ],
)
def test_an_address_is_read_and_known_as_loopback_or_not(text: str, host: str, port: int, loopback: bool) -> None:
    address = parse_address(text)
    assert (address.host, address.port, address.is_loopback) == (host, port, loopback)


@pytest.mark.parametrize("text", ["", "80", "a:b", "::1:80", "127.0.0.1:", "127.0.0.1:65536", "x y:1", "u@h:1", "٣:٣"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_address(text)


@pytest.mark.parametrize(
    ("bound", "host", "answered"),
    [
        ("127.0.0.1", "127.0.0.1:8080", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("127.0.0.1", "[::1]:8080", True),
        ("127.0.0.1", "192.168.1.5", False),
        ("127.0.0.1", "rebound.example", False),
        ("0.0.0.0", "192.168.1.5:80", True),
        ("0.0.0.0", "rebound.example", False),
        ("memory.example.org", "Memory.Example.org:443", True),
        ("memory.example.org", "memory.example.org.evil.example", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "localhost/@evil", False),
    ],
)
def test_a_server_answers_to_no_name_that_could_be_pointed_at_it(bound: str, host: str, answered: bool) -> None:
    assert Address(bound, 8080).answers_to(host) is answered
    assert Address(bound, 8080).allows_origin(f"http://{host}") is answered


@pytest.mark.parametrize("origin", ["", "null", "file:///x", "chrome-extension://abc", "http://", "http://[::1"])
def test_an_origin_that_is_no_page_of_ours_may_not_call(origin: str) -> None:
    assert not Address("127.0.0.1", 8080).allows_origin(origin)


@pytest.mark.parametrize(
    ("header", "right"),
    [
        ("Bearer s3cret", True),
        ("bearer   s3cret ", True),
        ("Bearer s3cre", False),
        ("Bearer s3cret2", False),
        ("Bearer ", False),
        ("s3cret", False),
        ("Basic s3cret", False),
        ("Bearer s3crét", False),
        (None, False),
    ],
)
def test_only_the_token_opens(header: str | None, right: bool) -> None:
    assert is_right(header, "s3cret") is right
    assert not is_right(header, "")


def test_a_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = own_token(tmp_path / "new")
    assert len(made) > 40
    assert own_token(tmp_path / "new") == made
    assert (tmp_path / "new" / "mcp-token").stat().st_mode & 0o777 == 0o600


def test_an_address_open_to_all_needs_a_token_even_without_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        http.serve_http(tmp_path, Address("0.0.0.0", 0), config=Config(), needs_token=False, say=print)


def serve_and(tmp_path: Path, act: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]) -> bytes:
    """What a client gets that does `act` on a connection of its own."""

    async def run() -> bytes:
        listening = http._listen(Address("127.0.0.1", 0))
        service = Service(tmp_path, "http")
        app = http.guarded(service, Address("127.0.0.1", 0), "s3cret")
        serving = asyncio.create_task(http._serve(service, app, listening))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        try:
            return await asyncio.wait_for(act(reader, writer), 30)
        finally:
            writer.close()
            await writer.wait_closed()
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving
            listening.close()

    return asyncio.run(run())


REQUEST = (
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cret\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nContent-Length: 5000\r\n"
)


@pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\nHost: loc", REQUEST])
def test_headers_that_never_end_are_not_waited_for(
    tmp_path: Path, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "HEADERS_S", 0.2)

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(said)
        return await reader.read()

    assert serve_and(tmp_path, slowly) == b""


def test_a_body_that_never_ends_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_S", 0.2)

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(REQUEST + b"\r\n{")
        return await reader.read()

    assert serve_and(tmp_path, slowly).startswith(b"HTTP/1.1 408 ")


def test_whoever_is_quick_enough_is_served(tmp_path: Path) -> None:
    async def quickly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for part in (b"GET /hea", b"lth HTTP/1.1\r\nHost: loc", b"alhost\r\nConnection: close\r\n\r\n"):
            writer.write(part)
            await writer.drain()
        return await reader.read()

    assert serve_and(tmp_path, quickly).startswith(b"HTTP/1.1 200 OK")
