"""The adapter's end without a process around it: the same transcripts, and what a session does when all goes wrong."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gm_engine.recall_protocol import serve
from tests.contract.conformance import CASES, cases, verify
from tests.contract.inner_core import InnerCore, InnerStore
from tests.contract.raw_core import FOREVER
from tests.fakes.recall_peers.scripted import Scripted

DEADLINE_EXCEEDED = -32007


@pytest.mark.parametrize("case", [path.name for path in cases()])
def test_the_library_answers_as_the_process_was_recorded(case: str, tmp_path: Path) -> None:
    assert verify(CASES / case, tmp_path, lambda _: InnerStore(tmp_path / "fixture")) == []


@pytest.fixture
def core(tmp_path: Path) -> Iterator[InnerCore]:
    with InnerCore(Scripted(), max_workers=2) as core:
        greet(core, tmp_path)
        yield core


def greet(core: InnerCore, workdir: Path) -> dict[str, Any]:
    return core.ask("recall/initialize", {**VERSIONS, "workdir": str(workdir), "source_id": "s"})


VERSIONS = {"protocol_version_min": 1, "protocol_version_max": 1}


def query(text: str) -> dict[str, Any]:
    return {"query": text, "filters": {}, "limit": 1, "deadline": FOREVER}


def answer(core: InnerCore) -> dict[str, Any]:
    found = core.read()
    assert found is not None, "the session ended"
    return found


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("refuse -32000", -32000),
        ("fail", -32603),
        ("timeout", DEADLINE_EXCEEDED),
        ("wrong", -32603),
        ("strange", -32603),
        ("large", -32603),
    ],
)
def test_whatever_a_handler_does_one_request_fails_and_the_next_is_answered(
    core: InnerCore, said: str, code: int
) -> None:
    error = core.error("recall/search", query=said, filters={}, limit=1)
    assert error["code"] == code
    assert "secret" not in str(error)
    assert core.search("hello")["diagnostics"] == {"query": "hello"}


def test_requests_are_refused_by_name_method_and_order(core: InnerCore, tmp_path: Path) -> None:
    assert core.error("recall/dance")["code"] == -32601
    assert greet(core, tmp_path)["error"]["code"] == -32600
    assert core.ask("recall/shutdown", {"now": True})["error"]["code"] == -32602
    asked: dict[str, Any] = {"query": "x", "filters": {}, "limit": 1}
    assert core.error("recall/search", **asked, deadline="0001-01-01T00:00:00Z")["code"] == -32602
    assert core.error("recall/search", **asked, deadline="2001-01-01T00:00:00Z")["code"] == DEADLINE_EXCEEDED
    assert core.error("recall/expand", locator="s:x", detail="full", budget_bytes=9)["data"] == {"replacement": "x:1"}
    assert core.result("recall/health")["status"] == "healthy"
    assert core.result("recall/refresh", full=True)["status"] == "degraded"


def test_lines_that_are_no_request_are_passed_over(core: InnerCore) -> None:
    core.write(b'hello\n\n{"jsonrpc":"2.0","id":1,"result":{}}\n' + b"x" * 2**21 + b"\n")
    core.write(b'{"jsonrpc":"2.0","method":"recall/unheard"}\n')
    core.write(b'{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":[1]}}\n')
    assert core.search("hello")["outcome"] == "success"


def test_a_cancel_reaches_requests_that_wait_for_a_free_worker(core: InnerCore) -> None:
    names = [f"wait {number}" for number in range(9)]
    for name in names:
        core.send("recall/search", query("wait 600"), name)
    for name in names:
        core.write(b'{"jsonrpc":"2.0","method":"recall/cancel","params":{"id":"%s"}}\n' % name.encode())
    answers = [answer(core) for _ in names]
    assert sorted(each["id"] for each in answers) == names
    assert {each["error"]["code"] for each in answers} == {DEADLINE_EXCEEDED}
    assert core.search("hello")["outcome"] == "success"


def test_the_end_of_the_stream_cancels_what_runs(core: InnerCore) -> None:
    core.send("recall/search", query("wait 600"), "work")
    core.close_stdin()
    assert answer(core)["error"]["code"] == DEADLINE_EXCEEDED
    assert core.read() is None


def test_a_shutdown_lets_what_runs_finish(core: InnerCore) -> None:
    core.send("recall/search", query("linger"), "work")
    core.send("recall/shutdown", None, "end")
    assert [answer(core)["id"] for _ in range(2)] == ["end", "work"]
    assert core.read() is None


class _Gone(io.BytesIO):
    """A pipe whose other end was closed after the handshake."""

    def flush(self) -> None:
        if self.getvalue().count(b"\n") > 1:
            raise BrokenPipeError


def test_a_core_that_is_gone_ends_the_session_with_what_it_asked_for() -> None:
    hello = {"method": "recall/initialize", "params": {**VERSIONS, "workdir": "/", "source_id": "s"}}
    asked = [hello, *({"method": "recall/search", "params": query(text)} for text in ("wait 600", "hello", "hello"))]
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, **each}) for number, each in enumerate(asked)]
    writer = _Gone()
    serve(Scripted(), io.BytesIO("\n".join(lines).encode()), writer)
    assert writer.getvalue().count(b"\n") > 1


class _Stubborn(Scripted):
    """Fails when it is asked to end."""

    def shutdown(self) -> None:
        raise RuntimeError("the secret")


def test_a_shutdown_that_fails_is_told_and_ends_the_session_all_the_same(tmp_path: Path) -> None:
    with InnerCore(_Stubborn()) as core:
        greet(core, tmp_path)
        told = core.ask("recall/shutdown", {})
        assert told["error"]["code"] == -32603
        assert "secret" not in str(told)
        assert core.read() is None
