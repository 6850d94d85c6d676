"""Language models over HTTP: OpenAI-style chat completions and Anthropic messages.

One request is bounded in time as a whole, in size, and in tries; it can be cancelled at any moment. The key goes into a
header and nowhere else: not into messages, logs or representations. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from gm_engine.config import LanguageModelConfig
from gm_engine.errors import Cancelled, LanguageModelFailed
from gm_engine.progress import CancelToken
from gm_engine.records import JsonValue

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
_MAX_ANSWER_BYTES = 2_000_000
_ANTHROPIC_VERSION = "2023-06-01"
_WATCH_S = 0.05
_LONGEST_PAUSE_S = 20.0
_RETRIED = (429, 500, 502, 503, 504, 529)
_REASONS = {401: "unauthorised", 403: "unauthorised", 429: "rate_limited"}
_SAID = {
    "unauthorised": "refused the key",
    "rate_limited": "has no capacity left for this key",
    "server_error": "reports a failure",
    "refused": "refused the request",
}


class HttpLanguageModel:
    """A `LanguageModel` behind a URL."""

    def __init__(self, config: LanguageModelConfig) -> None:
        self.name = config.model
        self._config = config

    def complete(self, system: str, user: str, *, cancel: CancelToken | None = None) -> str:
        """The model's answer. Raises `LanguageModelFailed` or `Cancelled`; must not be called on an event loop."""
        return asyncio.run(_watched(self._ask(system, user), cancel))

    async def _ask(self, system: str, user: str) -> str:
        import httpx

        url, headers, body = self._request(system, user)
        try:
            async with (
                asyncio.timeout(self._config.timeout_s),
                httpx.AsyncClient(timeout=self._config.timeout_s, trust_env=not _is_loopback(url)) as client,
            ):
                return _answer_text(self._config.kind, await self._tries(client, url, headers, body), self.name)
        except TimeoutError as error:
            raise self._failed(f"did not answer within {self._config.timeout_s:g} seconds", "timeout") from error
        except httpx.HTTPError as error:
            raise self._failed(f"could not be reached ({type(error).__name__})", "unreachable") from error

    async def _tries(
        self, client: httpx.AsyncClient, url: str, headers: dict[str, str], body: dict[str, JsonValue]
    ) -> bytes:
        for left in range(self._config.retries, -1, -1):
            status, retry_after, content = await _post(client, url, headers, body)
            if status == 200:
                if len(content) > _MAX_ANSWER_BYTES:
                    raise self._failed("answered with more than two million bytes", "invalid_answer")
                return content
            if left == 0 or status not in _RETRIED:
                break
            await asyncio.sleep(min(_LONGEST_PAUSE_S, retry_after or self._config.retry_pause_s))
        reason = _REASONS.get(status, "server_error" if status >= 500 else "refused")
        raise self._failed(f"{_SAID[reason]} (HTTP {status})", reason, status=status)

    def _failed(self, what: str, reason: str, **fields: object) -> LanguageModelFailed:
        host = urlsplit(self._config.url).netloc.rpartition("@")[2]
        return LanguageModelFailed(f"{self.name} at {host} {what}.", reason=reason, model=self.name, **fields)

    def _request(self, system: str, user: str) -> tuple[str, dict[str, str], dict[str, JsonValue]]:
        config, base = self._config, self._config.url.rstrip("/")
        asked: JsonValue = {"role": "user", "content": user}
        if config.kind == "anthropic":
            headers = {"anthropic-version": _ANTHROPIC_VERSION}
            if config.api_key:
                headers["x-api-key"] = config.api_key
            body: dict[str, JsonValue] = {
                "model": config.model,
                "max_tokens": config.max_tokens,
                "system": system,
                "messages": [asked],
            }
            return f"{base}/v1/messages", headers, body
        headers = {"authorization": f"Bearer {config.api_key}"} if config.api_key else {}
        messages: list[JsonValue] = [{"role": "system", "content": system}, asked]
        return f"{base}/chat/completions", headers, {"model": config.model, "messages": messages}


async def _post(
    client: httpx.AsyncClient, url: str, headers: dict[str, str], body: dict[str, JsonValue]
) -> tuple[int, float, bytes]:
    """Status, seconds that the server asks to wait (0: it does not say), and at most the allowed bytes and some."""
    async with client.stream("POST", url, headers=headers, json=body) as response:
        content = b""
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > _MAX_ANSWER_BYTES:
                break
        retry_after = response.headers.get("retry-after", "")
        return response.status_code, float(retry_after) if retry_after.isdigit() else 0.0, content


def _answer_text(kind: str, content: bytes, name: str) -> str:
    try:
        found = json.loads(content)
        if kind == "anthropic":
            pieces = [block["text"] for block in found["content"] if block.get("type") == "text"]
        else:
            pieces = [found["choices"][0]["message"]["content"]]
        return "".join(pieces)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise LanguageModelFailed(
            f"{name} answered in a form that is not known.", reason="invalid_answer", model=name
        ) from error


async def _watched(work: Coroutine[None, None, T], cancel: CancelToken | None) -> T:
    """Runs `work`, and gives it up within a moment once `cancel` is."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait((task,), timeout=None if cancel is None else _WATCH_S)
        if cancel is not None and cancel.is_cancelled and not task.done():
            task.cancel()
            await asyncio.wait((task,))
            raise Cancelled("Cancelled; the language model's answer is not waited for.")
    return task.result()


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
