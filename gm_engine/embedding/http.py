"""Embedding servers over HTTP: one request is bounded in time, size and tries, and its failure says what to do.

The key goes into a header and nowhere else: not into messages, logs or representations. Redirects are not followed.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gm_engine.errors import EmbeddingFailed
from gm_engine.records import JsonValue

if TYPE_CHECKING:
    import httpx

_CONNECT_S = 5.0
_MAX_ANSWER_BYTES = 256_000_000
_MAX_PAUSE_S = 5.0
_SAID_CHARS = 200
_RETRIED = frozenset({408, 429, *range(500, 600)})
_REFUSED_INPUT = frozenset({400, 413, 422})


class TextsRefused(EmbeddingFailed):
    """The server refuses what was sent; fewer or shorter texts may pass."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is and how it is spoken to. `hint` says what to do when it does not answer."""

    name: str
    url: str
    key_name: str = ""
    key: str = field(default="", repr=False)
    hint: str = ""


class HttpServer:
    """One embedding server. Safe to use from any thread; connections are kept open until `close`."""

    def __init__(
        self,
        address: Address,
        *,
        timeout_s: float,
        retry_pause_s: float = 0.5,
        rest_s: float = 10.0,
        now_s: Callable[[], float] = monotonic,
    ) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._retry_pause_s = retry_pause_s
        self._rest_s = rest_s
        self._now_s = now_s
        self._client: httpx.Client | None = None
        self._lock = Lock()
        self._resting: tuple[float, str] = (0.0, "")

    def post(self, path: str, payload: Mapping[str, JsonValue]) -> JsonValue:
        """The server's JSON answer. One retry after transport errors, 408, 429 and 5xx.

        Raises `EmbeddingFailed`, `TextsRefused` for 400, 413 and 422. After a server could not be reached, calls fail
        at once for a few seconds: a recall must not wait for it each time.
        """
        until, reason = self._resting
        if self._now_s() < until:
            raise self._failure(reason)
        try:
            return self._tried(path, payload)
        except _Unreachable as error:
            self._resting = (self._now_s() + self._rest_s, str(error))
            raise self._failure(str(error)) from error.__cause__

    def get_status(self, path: str, *, timeout_s: float) -> int:
        """The status of a plain request, 0 when the server cannot be reached."""
        import httpx

        try:
            return self._opened().get(path, timeout=timeout_s).status_code
        except (httpx.HTTPError, httpx.InvalidURL):
            return 0

    def close(self) -> None:
        """Closes the connections. A later call opens them again."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _tried(self, path: str, payload: Mapping[str, JsonValue]) -> JsonValue:
        deadline = self._now_s() + 2 * self._timeout_s + _MAX_PAUSE_S
        for is_last in (False, True):
            try:
                status, asked_pause_s, body = self._sent(path, payload)
            except _Unreachable:
                if is_last:
                    raise
                pause_s = self._retry_pause_s
            else:
                if status == 200:
                    return self._parsed(body)
                pause_s = self._retry_pause_s if asked_pause_s is None else asked_pause_s
                if is_last or status not in _RETRIED or pause_s > min(_MAX_PAUSE_S, deadline - self._now_s()):
                    raise self._refusal(status, body, asked_pause_s)
            Event().wait(pause_s)
        raise AssertionError("the last try returns or raises")

    def _sent(self, path: str, payload: Mapping[str, JsonValue]) -> tuple[int, float | None, bytes]:
        """Status, the pause that the server asks for, and the body."""
        import httpx

        end = self._now_s() + self._timeout_s
        body = bytearray()
        try:
            with self._opened().stream("POST", path, json=payload) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > _MAX_ANSWER_BYTES:
                        raise self._failure("answered with far too many bytes")
                    if self._now_s() > end:
                        raise _Unreachable(f"did not answer within {self._timeout_s:g} s")
                return response.status_code, _pause(response.headers.get("retry-after", "")), bytes(body)
        except httpx.TimeoutException as error:
            raise _Unreachable(f"did not answer within {self._timeout_s:g} s") from error
        except httpx.HTTPError as error:
            said = self._without_key(str(error)) or type(error).__name__
            raise _Unreachable(f"cannot be reached ({said})") from error
        except httpx.InvalidURL as error:
            raise self._failure("has no valid address") from error

    def _opened(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                address = self.address
                self._client = httpx.Client(
                    base_url=address.url.rstrip("/") + "/",
                    headers={"authorization": f"Bearer {address.key}"} if address.key else {},
                    timeout=httpx.Timeout(self._timeout_s, connect=min(_CONNECT_S, self._timeout_s)),
                    trust_env=not is_loopback(address.url),  # no proxy stands between us and this machine
                )
            return self._client

    def _parsed(self, body: bytes) -> JsonValue:
        try:
            parsed: JsonValue = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._failure("answered something that is no JSON") from error
        return parsed

    def _refusal(self, status: int, body: bytes, asked_pause_s: float | None) -> EmbeddingFailed:
        address, said = self.address, self._without_key(_said(body))
        detail = f" It says: {said}" if said else ""
        if status in (401, 403):
            where = f"Check {address.key_name}" if address.key_name else "Name the key that it wants"
            return self._failure(f"refused the key ({status}). {where}.{detail}", status=status)
        if status == 404:
            return self._failure(f"does not know the model or the address (404). {address.hint}{detail}", status=status)
        if status == 429:
            wait = f", for {asked_pause_s:g} s" if asked_pause_s else ""
            return self._failure(f"takes no more requests now (429){wait}; it is asked later.{detail}", status=429)
        if status in _REFUSED_INPUT:
            return TextsRefused(self._sentence(f"refused the texts ({status}).{detail}"), status=status)
        what = "failed twice" if status in _RETRIED else "gave an answer that is not expected"
        return self._failure(f"{what} ({status}).{detail}", status=status)

    def _failure(self, what: str, **fields: object) -> EmbeddingFailed:
        return EmbeddingFailed(self._sentence(what), **fields)

    def _sentence(self, what: str) -> str:
        host = urlsplit(self.address.url).netloc.rpartition("@")[2]
        sentence = f"{self.address.name} at {host} {what}".rstrip()
        hint = f" {self.address.hint}" if self.address.hint and "cannot be reached" in what else ""
        return f"{sentence}{'' if sentence.endswith(('.', '!', '?')) else '.'}{hint}"

    def _without_key(self, text: str) -> str:
        return text.replace(self.address.key, "…") if self.address.key else text


class _Unreachable(Exception):
    """No answer came."""


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _pause(retry_after: str) -> float | None:
    """Seconds of a `Retry-After` header; None without one, or when it names a date."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return None
    return max(0.0, seconds) if seconds < 1e6 else 1e6


def _said(body: bytes) -> str:
    """What an error answer says in words, on one line."""
    try:
        parsed = json.loads(body[:65536])
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "detail", "message"):
        value = parsed.get(key) if isinstance(parsed, dict) else None
        text = value.get("message") if isinstance(value, dict) else value
        if isinstance(text, str) and text.strip():
            return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_SAID_CHARS]
    return ""
