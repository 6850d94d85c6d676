"""An adapter on our own `serve`; the query of a search says what it does."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from threading import Event
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from gm_engine.recall_protocol import (
    ErrorCode,
    ExpandParams,
    ExpandResult,
    Health,
    InitializeParams,
    Manifest,
    ProtocolError,
    RefreshParams,
    RequestContext,
    SearchParams,
    SearchResult,
    negotiate_version,
    serve,
    standard_streams,
)


class Scripted:
    """Does what it is asked for, right or wrong."""

    def __init__(self) -> None:
        self._ending = Event()

    def initialize(self, params: InitializeParams, context: RequestContext) -> Manifest:
        print("a library says hello")
        return Manifest(
            protocol_version=negotiate_version(params.protocol_version_min, params.protocol_version_max),
            adapter_id="scripted/1",
            display_name="Scripted",
            record_types=("note",),
            query_modes=("lexical",),
            freshness_modes=("live",),
            as_of_support="none",
            relevance_basis="lexical_span",
            capabilities=("search", "expand"),
            sensitivity="public",
        )

    def search(self, params: SearchParams, context: RequestContext) -> SearchResult:
        what, _, rest = params.query.partition(" ")
        match what:
            case "wait":
                context.wait(float(rest))
                context.check()
            case "linger":
                self._ending.wait()
                time.sleep(0.3)
            case "deaf":
                time.sleep(float(rest))
            case "fail":
                raise RuntimeError("the secret")
            case "refuse":
                raise ProtocolError(int(rest), "because", data={"more": 1})
            case "timeout":
                raise TimeoutError("the secret")
            case "wrong":
                return SearchResult((), cast("Any", "splendid"))
            case "strange":
                return SearchResult((), "success", diagnostics={"value": float("nan")})
            case "large":
                return SearchResult((), "success", diagnostics={"value": "x" * 2**23})
            case "surrogate":
                return SearchResult((), "success", diagnostics={"value": "\ud800é"})
        return SearchResult((), "success", diagnostics={"query": params.query})

    def expand(self, params: ExpandParams, context: RequestContext) -> ExpandResult:
        raise ProtocolError(ErrorCode.LOCATOR_EXPIRED, "gone", data={"replacement": "x:1"})

    def health(self, context: RequestContext) -> Health:
        return Health("healthy", 0, "complete")

    def refresh(self, params: RefreshParams, context: RequestContext) -> Health:
        return Health("degraded", None, "partial", diagnostics={"refresh": "failed"})

    def shutdown(self) -> None:
        print("asked to end", file=sys.stderr, flush=True)
        self._ending.set()


if __name__ == "__main__":
    serve(Scripted(), *standard_streams(), max_workers=8)
