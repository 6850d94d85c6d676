"""Real MCP servers as processes: over pipes with raw frames, over HTTP, and the SDK's own client for both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import httpx2
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from tests.fakes.command_line import ROOT, command

ANSWER_S = 60


class RawServer:
    """`graymatter mcp serve` on pipes; whoever holds it speaks JSON lines."""

    def __init__(self, data_dir: Path, *, arguments: Sequence[str] | None = None) -> None:
        self.process = subprocess.Popen(
            arguments or command("--data-dir", data_dir, "mcp", "serve"),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._last_id = 0

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def write(self, raw: bytes) -> None:
        self.stdin.write(raw)
        self.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None, *, is_request: bool = True) -> int:
        """Sends a request and returns its id; a notification has none."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if is_request:
            self._last_id += 1
            message["id"] = self._last_id
        self.write(json.dumps(message).encode() + b"\n")
        return self._last_id

    def read(self) -> dict[str, Any]:
        """The next frame, which must be one JSON object."""
        line = self.stdout.readline()
        assert line.endswith(b"\n"), line
        message: dict[str, Any] = json.loads(line)
        return message

    def answer(self, request_id: int) -> dict[str, Any]:
        """The answer to a request, whatever comes before it."""
        while (message := self.read()).get("id") != request_id:
            pass
        return message

    def initialize(self, name: str = "raw", version: str = "1") -> None:
        info = {"name": name, "version": version}
        wish = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        assert "result" in self.answer(self.send("initialize", wish))
        self.send("notifications/initialized", is_request=False)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        answer = self.answer(self.send("tools/call", {"name": tool, "arguments": arguments}))
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> int:
        """Hangs up and returns the exit code."""
        self.stdin.close()
        self.stdout.read()
        self.stdout.close()
        return self.process.wait(ANSWER_S)

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.stdin, self.stdout):
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def raw_server(data_dir: Path, *, arguments: Sequence[str] | None = None) -> Iterator[RawServer]:
    """A server that is gone afterwards."""
    server = RawServer(data_dir, arguments=arguments)
    try:
        yield server
    finally:
        server.kill()


@asynccontextmanager
async def stdio_session(data_dir: Path, name: str = "sdk") -> AsyncIterator[ClientSession]:
    """The SDK's client on a server of its own."""
    program, *arguments = command("--data-dir", data_dir, "mcp", "serve")
    parameters = StdioServerParameters(command=program, args=arguments, cwd=ROOT)
    with Path("/dev/null").open("w") as nowhere:
        async with (
            stdio_client(parameters, errlog=nowhere) as (incoming, outgoing),
            ClientSession(incoming, outgoing, client_info=Implementation(name=name, version="2")) as session,
        ):
            await session.initialize()
            yield session


@contextmanager
def http_server(data_dir: Path, *options: str) -> Iterator[tuple[str, str]]:
    """A server on a free port of this machine: its address, and the token."""
    arguments = command("--data-dir", data_dir, "mcp", "serve", "--http", "127.0.0.1:0", *options)
    server = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        assert line.startswith("listening on "), line
        token = data_dir / "mcp-token"
        yield line.split()[-1], token.read_text().strip() if token.exists() else ""
        server.terminate()
        assert server.wait(ANSWER_S) == 0
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


@asynccontextmanager
async def http_session(url: str, token: str, name: str = "sdk") -> AsyncIterator[ClientSession]:
    """The SDK's client on a server that is there already."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=ANSWER_S) as client,
        streamable_http_client(url, http_client=client) as (incoming, outgoing),
        ClientSession(incoming, outgoing, client_info=Implementation(name=name, version="2")) as session,
    ):
        await session.initialize()
        yield session
