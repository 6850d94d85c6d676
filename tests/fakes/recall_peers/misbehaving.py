"""An adapter of the standard library alone: it keeps the contract, except for the one thing its argument names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_OUT = sys.stdout.buffer
_FAR_S = 3600.0
HOW = sys.argv[1]


def write(data: bytes) -> None:
    _OUT.write(data)
    _OUT.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def found(identity: object, **more: object) -> dict[str, Any]:
    candidate = {
        "candidate_id": "c1",
        "source_record_id": "r1",
        "locator": "another:r1",
        "record_type": "note",
        "title": "A note",
        "local_rank": 1,
        "sensitivity": "internal",
        "derived_from": ["third:x"],
    }
    return {"id": identity, "result": {"candidates": [candidate], "outcome": "success", **more}}


def late(identity: object, after_s: float) -> None:
    time.sleep(after_s)
    send(found(identity))


def stop_reading(_: object) -> None:
    time.sleep(_FAR_S)


def flood_stderr(identity: object) -> None:
    line = b"x" * 1023 + b"\n"
    for _ in range(100):
        sys.stderr.buffer.write(line * 1024)
    sys.stderr.flush()
    send(found(identity))


def before(*lines: bytes) -> Callable[[object], None]:
    """Writes `lines` first, then answers as it should."""

    def act(identity: object) -> None:
        for line in lines:
            write(line)
        send(found(identity))

    return act


def half_a_frame(identity: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", **found(identity)}).encode()[:60])
    os._exit(0)


def two_on_one_line(identity: object) -> None:
    frame = json.dumps({"jsonrpc": "2.0", **found(identity)}).encode()
    write(frame + frame + b"\n")


def own_requests(identity: object) -> None:
    send({"id": 1, "method": "recall/search", "params": {}})
    send({"method": "recall/cancel", "params": {"id": identity}})
    send(found(identity))


def twice(identity: object) -> None:
    send(found(identity))
    send(found(identity))


ON_SEARCH: dict[str, Callable[[object], None]] = {
    "nothing": lambda identity: send(found(identity)),
    "never-answers": lambda _: None,
    "stops-when-cancelled": lambda _: None,
    "ignores-sigterm": lambda _: None,
    "late-within-grace": lambda identity: late(identity, 0.3),
    "late-after-grace": lambda identity: late(identity, 20.0),
    "stops-reading": stop_reading,
    "floods-stderr": flood_stderr,
    "long-line": before(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * (9 * 2**20) + b'"}\n'),
    "half-frame-and-exit": half_a_frame,
    "half-frame-first": before(b'{"jsonrpc":"2.0","id":1,"resu\n'),
    "two-on-one-line": two_on_one_line,
    "invalid-utf8": before(b'{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}\n'),
    "unknown-id": before(b'{"jsonrpc":"2.0","id":"nobody","result":{}}\n'),
    "answers-twice": twice,
    "own-requests": own_requests,
    "result-and-error": lambda identity: send({**found(identity), "error": {"code": -32000, "message": "x"}}),
    "reformatted-id": lambda identity: send(found(float(str(identity)))),
    "quoted-id": lambda identity: send(found(str(identity))),
    "unknown-keys": lambda identity: send(found(identity, surprise="the secret")),
    "exits": lambda _: os._exit(3),
    "leaves-a-child": lambda _: None,
    "leaves-a-child-and-exits": lambda _: os._exit(3),
    "stray-prints": before(b"loading model...\n" * 50_000),
    "denied": lambda identity: send({"id": identity, "error": {"code": -32001, "message": "no entry", "data": 1}}),
    "old-rpc": lambda identity: send({**found(identity), "error": None, "extra": 1}),
}
_running: list[object] = []


def one_at_a_time(identity: object) -> None:
    """Answers in a thread, and fails when two searches overlap."""

    def act() -> None:
        _running.append(identity)
        time.sleep(0.02)
        overlap = len(_running)
        _running.remove(identity)
        send(found(identity, diagnostics={"overlap": overlap}))

    threading.Thread(target=act).start()


ON_SEARCH["one-at-a-time"] = one_at_a_time


def manifest() -> dict[str, Any]:
    return {
        "protocol_version": 2 if HOW == "other-version" else 1,
        "adapter_id": "misbehaving/1",
        "display_name": "Misbehaving",
        "record_types": ["note"],
        "query_modes": ["lexical"],
        "freshness_modes": ["live"],
        "as_of_support": "none",
        "relevance_basis": "lexical_span",
        "capabilities": ["search"],
        "sensitivity": "internal",
        "max_concurrency": 1 if HOW == "one-at-a-time" else 0,
        **({"unheard_of": True} if HOW == "unknown-manifest-keys" else {}),
    }


def answer(message: dict[str, Any]) -> None:
    identity = message.get("id")
    match message.get("method"):
        case "recall/initialize":
            if HOW == "never-greets":
                time.sleep(_FAR_S)
            if HOW == "exits-at-once":
                print("cannot open the source", file=sys.stderr, flush=True)
                os._exit(1)
            if HOW == "refuses-settings":
                send({"id": identity, "error": {"code": -32602, "message": "unknown setting: colour"}})
            else:
                send({"id": identity, "result": manifest()})
        case "recall/search":
            ON_SEARCH[HOW](identity)
        case "recall/health":
            checked = "2026-06-01T10:00:00.5+02:00"
            known: dict[str, object] = {"environment": sorted(os.environ), "pid": os.getpid()}
            if HOW.startswith("leaves-a-child"):
                known["child"] = subprocess.Popen(
                    [sys.executable, "-S", "-c", f"import time; time.sleep({_FAR_S})"]
                ).pid
            health = {"status": "healthy", "checked_at": checked, "coverage": "complete", "diagnostics": known}
            send({"id": identity, "result": health})
        case "recall/cancel" if HOW == "stops-when-cancelled":
            send({"id": message["params"]["id"], "error": {"code": -32007, "message": "stopped"}})
        case "recall/shutdown":
            if HOW == "stays":
                return
            send({"id": identity, "result": {}})
            sys.exit(0)


def main() -> None:
    if HOW == "ignores-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        answer(json.loads(line))
    if HOW in {"ignores-sigterm", "stays"}:
        time.sleep(_FAR_S)


if __name__ == "__main__":
    main()
