"""Speeds of the Recall protocol: frames, and round trips through pipes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gm_engine.clock import SystemClock
from gm_engine.recall_protocol import (
    Candidate,
    Decoder,
    InitializeParams,
    RawId,
    SchemaSet,
    SearchFilters,
    SearchParams,
    SearchResult,
)
from gm_engine.recall_protocol.client import Client
from gm_engine.recall_protocol.messages import Answer, encode_message
from tests.benchmarks.table import Row, best

_TRIPS = 10_000
_FRAMES = 1_000
_ECHO = """
import sys
reader, writer = open(0, "rb", 1 << 16, closefd=False), open(1, "wb", 1 << 16, closefd=False)
while line := reader.readline():
    writer.write(line)
    writer.flush()
"""


def frames(folder: Path) -> Iterator[Row]:
    """Frames as search results make them: twenty candidates with excerpts."""
    line = encode_message(Answer(RawId("1"), _result().to_wire()))
    data = line * _FRAMES

    def decode() -> None:
        decoder = Decoder(io.BufferedReader(io.BytesIO(data), 1 << 16))
        while decoder.read() is not None:
            pass

    def plain() -> None:
        for each in io.BytesIO(data):
            json.loads(each)

    size = len(data)
    yield Row(
        f"decoding frames of {len(line):,} bytes, per second",
        size / best(decode, times=5),
        50e6,
        "MB",
        "json.loads of each line",
        size / best(plain, times=5),
        at_least=True,
    )
    schemas, wire = SchemaSet.shared(), _result().to_wire()
    validator = schemas._schemas["search-result"].validator
    quick = best(lambda: schemas.validate_result("recall/search", wire), times=50)
    slow = best(lambda: validator.is_valid(wire), times=10)
    yield Row("validating a result of 20 candidates", quick, None, "ms", "jsonschema alone", slow)


def round_trips(folder: Path) -> Iterator[Row]:
    """Null searches, one after the other, to a child process and back; every deadline is another."""
    from tests.fakes.recall_peers import scripted

    clock = SystemClock()
    with subprocess.Popen(scripted(), stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, bufsize=1 << 16) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        client = Client(child.stdout, child.stdin)
        client.initialize(InitializeParams(1, 1, str(folder), "bench"), timeout_s=30.0)

        def search() -> None:
            for _ in range(_TRIPS):
                client.search(SearchParams("", SearchFilters(), 10, clock.now_ns() + 10_000_000_000))

        measured = _TRIPS / best(search, times=5)
        client.shutdown(timeout_s=5.0)
        client.close()
    yield Row("null searches through a pipe, per second", measured, 5_000, "count", *_echo(), at_least=True)


def _echo() -> tuple[str, float]:
    line = b"x" * 160 + b"\n"
    with subprocess.Popen([sys.executable, "-c", _ECHO], stdin=-1, stdout=-1, bufsize=1 << 16) as child:
        writer, reader = child.stdin, child.stdout
        assert writer is not None
        assert reader is not None

        def echo() -> None:
            for _ in range(_TRIPS):
                writer.write(line)
                writer.flush()
                reader.readline()

        measured = _TRIPS / best(echo)
        writer.close()
    return "lines echoed by a bare child", measured


def _result() -> SearchResult:
    candidates = tuple(
        Candidate(
            candidate_id=f"fact-{rank}",
            source_record_id=f"01J{rank:023}",
            locator=f"memory:fact/01J{rank:023}",
            record_type="fact",
            title="Who confirmed the revised quote for the harbour project",
            local_rank=rank,
            sensitivity="internal",
            excerpt="Ana confirmed the revised quote on Tuesday; the harbour project starts in June. " * 4,
            excerpt_kind="matched",
            local_score=1 / rank,
            relevance=0.5,
            match_signals=("lexical", "semantic"),
            observed_at_ns=1_780_000_000_123_456_789 + rank,
            metadata={"agent": "alpha", "confidence": 0.9},
            content_fingerprint="5f" * 32,
        )
        for rank in range(1, 21)
    )
    return SearchResult(candidates, "success", diagnostics={"coverage": "complete"}, source_watermark="30000")
