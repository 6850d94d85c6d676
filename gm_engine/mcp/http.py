"""The server for clients that connect: streamable HTTP at `/mcp`, with a bearer token, for nobody but our own clients.

Checked before anything else of a request is looked at: its Host and Origin (a web page must not reach us through
somebody's DNS), then its token. Headers and bodies must arrive in time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from gm_engine.config import Config
from gm_engine.errors import InvalidInput
from gm_engine.mcp.address import Address
from gm_engine.mcp.server import MAX_FRAME_BYTES, SESSION_HEADER, build_server, keep_ticking
from gm_engine.mcp.service import Service
from gm_engine.mcp.token import is_right, own_token, token_path

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/mcp"
HEALTH = "/health"
HEADERS_S = 10.0
BODY_S = 30.0
_IDLE_S = 30
_MOST_CONNECTIONS = 256
_MOST_SESSIONS = 1_000


def serve_http(
    data_dir: Path, address: Address, *, config: Config, needs_token: bool, say: Callable[[str], None]
) -> None:
    """Serves until it is told to stop. `say` hears where, once connections are accepted.

    Raises `InvalidInput` where nobody can listen, where the token is no secret, or for an address that other machines
    can reach without one.
    """
    if not needs_token and not address.is_loopback:
        raise InvalidInput(f"{address} can be reached from other machines: it needs a token.", field="no_token")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    token = own_token(data_dir) if needs_token else None
    listening = _listen(address)
    service = Service(data_dir, "http", config)
    try:
        port = int(listening.getsockname()[1])
        say(f"listening on http://{Address(address.host, port)}{PATH}")
        if token is not None:
            say(f"the token is in {token_path(data_dir)}")
        asyncio.run(_serve(service, guarded(service, address, token), listening))
    finally:
        listening.close()
        service.close()


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise InvalidInput(f"Nobody can listen on {address}: {error}", field="address") from error


async def _serve(service: Service, app: ASGIApp, listening: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        http=_Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=3,
        limit_concurrency=_MOST_CONNECTIONS,
    )
    ticking = asyncio.create_task(keep_ticking(service))
    try:
        await _Server(config).serve(sockets=[listening])
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking


class _Server(uvicorn.Server):
    """Ends in order when it is told to, so that the store is closed and its connections leave the list."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Patient(H11Protocol):
    """A connection that is closed when the headers of a request take too long to arrive."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEADERS_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADERS_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()


def guarded(service: Service, address: Address, token: str | None) -> ASGIApp:
    """The whole application: the checks, the health check, and the protocol behind them."""
    app = build_server(service).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_FRAME_BYTES,
        max_sessions=_MOST_SESSIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # checked here, for all
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        refusal = _refusal(scope, address, token)
        if refusal is not None:
            await _say(send, *refusal)
        elif scope["path"] == HEALTH:
            await _say(send, 200, {"status": "ok"})
        elif (body := await _body(receive)) is None:
            await _say(send, 408, {"error": "The request took too long."})
        else:
            await app(scope, body, send)
            session = _header(scope, SESSION_HEADER)
            if scope["method"] == "DELETE" and session:
                await asyncio.to_thread(service.forget_session, session)

    return answer


def _refusal(scope: Scope, address: Address, token: str | None) -> tuple[int, dict[str, str]] | None:
    """Why a request is not served: status and reason; None where it is."""
    hosts = _headers(scope, "host")
    if len(hosts) != 1 or not address.answers_to(hosts[0]):
        return 421, {"error": "This Host is not served here."}
    if not all(address.allows_origin(origin) for origin in _headers(scope, "origin")):
        return 403, {"error": "This Origin may not call."}
    if scope["path"] == HEALTH:
        return None if scope["method"] in ("GET", "HEAD") else (405, {"error": "Use GET."})
    if token is not None and not is_right(_header(scope, "authorization"), token):
        return 401, {"error": "Send `Authorization: Bearer TOKEN`; `graymatter mcp token` prints it."}
    length = _header(scope, "content-length") or "0"
    if not length.isdecimal() or int(length) > MAX_FRAME_BYTES:
        return 413, {"error": f"A request has at most {MAX_FRAME_BYTES:,} bytes."}
    return None


def _headers(scope: Scope, name: str) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name.encode()]


def _header(scope: Scope, name: str) -> str | None:
    """A header that must not be there twice."""
    found = _headers(scope, name)
    return found[0] if len(found) == 1 else None


async def _say(send: Send, status: int, payload: dict[str, Any]) -> None:
    body = json.dumps(payload).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 408:
        headers.append((b"connection", b"close"))
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="graymatter"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Receive) -> Receive | None:
    """The same messages, once the body has arrived (or is longer than what is served).

    None when it took too long, or when its client left before it was whole.
    """
    arrived: deque[Message] = deque()
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            while size <= MAX_FRAME_BYTES and (not arrived or arrived[-1].get("more_body", False)):
                arrived.append(await receive())
                size += len(arrived[-1].get("body", b""))
    except TimeoutError:
        return None
    if arrived[-1]["type"] == "http.disconnect":
        return None

    async def again() -> Message:
        return arrived.popleft() if arrived else await receive()

    return again
