"""A small adapter for tests, with nothing but the standard library: `python other_source.py MODE`.

Modes: `notes` answers from a few notes, `partial` does too but says that it did not see all, `slow` never answers a
search, `broken` ends in the middle of one, `denied` refuses, `secret` has a restricted note, `nothing` finds nothing.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

NOTES = (
    ("n1", "Rollback notes from the harbour drill: five minutes, two people.", 0.9),
    ("n2", "The lease of the harbour office was signed in 2024.", 0.6),
)
MANIFEST: dict[str, Any] = {
    "protocol_version": 1,
    "adapter_id": "test-notes",
    "display_name": "Notes for tests",
    "record_types": ["note"],
    "query_modes": ["lexical"],
    "freshness_modes": ["live"],
    "as_of_support": "none",
    "relevance_basis": "lexical_span",
    "capabilities": ["search", "expand"],
    "sensitivity": "internal",
    "settings_schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "folder": {"type": "string", "title": "Folder", "description": "Where the notes are."},
            "depth": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "archived": {"type": "boolean", "default": False, "description": "Whether old notes count."},
            "order": {"enum": ["newest", "oldest"], "default": "newest"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    },
}


def search(mode: str, params: dict[str, Any]) -> dict[str, Any]:
    if params.get("as_of"):
        return {"candidates": [], "outcome": "skipped", "reason": "as_of_unsupported"}
    if mode == "nothing":
        return {"candidates": [], "outcome": "success"}
    candidates = [
        {
            "candidate_id": name,
            "source_record_id": name,
            "locator": f"whatever:note/{name}",
            "record_type": "note",
            "title": text,
            "excerpt": text,
            "local_rank": rank,
            "relevance": relevance,
            "sensitivity": "restricted" if mode == "secret" and name == "n1" else "internal",
            "content_fingerprint": f"note {name}",
        }
        for rank, (name, text, relevance) in enumerate(NOTES, 1)
    ]
    if mode == "partial":
        return {"candidates": candidates[:1], "outcome": "partial", "diagnostics": {"folders_unread": 2}}
    return {"candidates": candidates[: params["limit"] or 10], "outcome": "success", "source_watermark": "7"}


def answer(mode: str, frame: dict[str, Any]) -> dict[str, Any]:
    params = frame.get("params") or {}
    match frame["method"]:
        case "recall/initialize":
            return {"result": MANIFEST}
        case "recall/search" if mode == "denied":
            return {"error": {"code": -32001, "message": "permission was refused"}}
        case "recall/search":
            return {"result": search(mode, params)}
        case "recall/expand":
            name = params["locator"].rpartition("/")[2]
            text = next((text for note, text, _ in NOTES if note == name), None)
            if text is None:
                return {"error": {"code": -32003, "message": "gone"}}
            return {"result": {"content": text[: params["budget_bytes"]], "truncated": False}}
        case "recall/health" | "recall/refresh":
            complete = mode != "partial"
            return {
                "result": {
                    "status": "healthy" if complete else "degraded",
                    "checked_at": "2026-11-30T09:00:00Z",
                    "coverage": "complete" if complete else "partial",
                    "record_count": len(NOTES),
                }
            }
        case "recall/shutdown":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "no such method"}}


def main(mode: str) -> None:
    print(f"reading notes in mode {mode}", file=sys.stderr, flush=True)
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" not in frame:
            continue
        if frame["method"] == "recall/search" and mode == "slow":
            print("this takes long", file=sys.stderr, flush=True)
            threading.Event().wait(3600)
        if frame["method"] == "recall/search" and mode == "broken":
            sys.exit(3)
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": frame["id"], **answer(mode, frame)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
