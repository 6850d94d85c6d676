"""A language model's server on this machine: answers from a script, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; `hangs` keeps the client waiting until the server is closed, `drips` sends a byte now and then."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    drips: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    headers: Mapping[str, str]
    body: Any


class ModelServer:
    """`url` is its address, `asked` what it heard. The last reply of the script is repeated."""

    def __init__(self, *replies: Reply) -> None:
        self.asked: list[Asked] = []
        self.get_status = 404
        """What a plain GET is answered with."""
        self.heard = Event()
        self._script = list(replies)
        self._closing = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, *replies: Reply) -> None:
        """From now on, these replies."""
        self._script[:] = replies

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self) -> Reply:
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.asked.append(Asked(self.path, headers, json.loads(body)))
                reply = server._next()
                server.heard.set()
                if reply.hangs:
                    server._closing.wait()
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                with suppress(OSError):  # the client has gone
                    self._write(reply)

            def do_GET(self) -> None:
                self.send_response(server.get_status)
                self.send_header("content-length", "0")
                self.end_headers()

            def _write(self, reply: Reply) -> None:
                if not reply.drips:
                    self.wfile.write(reply.body)
                    return
                for n in range(len(reply.body)):
                    self.wfile.write(reply.body[n : n + 1])
                    self.wfile.flush()
                    if server._closing.wait(0.05):
                        return

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Nothing: a test's output is its result."""

        return Handler


@contextmanager
def model_server(*replies: Reply) -> Iterator[ModelServer]:
    server = ModelServer(*replies)
    try:
        yield server
    finally:
        server.close()


def openai(content: str) -> Reply:
    """What an OpenAI-style server answers."""
    return Reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())


def anthropic(content: str) -> Reply:
    """What Anthropic's server answers."""
    return Reply(json.dumps({"content": [{"type": "text", "text": content}], "role": "assistant"}).encode())
