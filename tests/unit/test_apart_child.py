"""The program that does long work apart, seen from its two streams."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from exporters.obsidian.apart import PIECE, Crashed, Done, Failed, Message, Piece, Progressed, Request, read_messages
from exporters.obsidian.apart_child import serve
from exporters.obsidian.jobs import Job
from gm_engine import Memory, PublishRefused
from tests.fakes.jobs import Counting, Crashing, Refusing
from tests.fakes.vault_notes import scouts_store


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with scouts_store(tmp_path / "store") as opened:
        yield opened


def answers(memory: Memory, job: Job[object]) -> list[Message]:
    """What it says to a request; whoever asked hangs up afterwards."""
    source, request = os.pipe()
    before = set(threading.enumerate())
    sink = BytesIO()
    try:
        os.write(request, pickle.dumps(Request(memory.data_dir, job)))
        serve(source, sink)
    finally:
        os.close(request)
        for thread in set(threading.enumerate()) - before:
            thread.join()
        os.close(source)
    sink.seek(0)
    return list(read_messages(sink))


def test_progress_comes_first_then_pieces_then_the_answer_without_them(memory: Memory) -> None:
    said = answers(memory, Counting(2 * PIECE + 1))
    pieces = [each for each in said if isinstance(each, Piece)]
    assert [len(each.items) for each in pieces] == [PIECE, PIECE, 1]
    assert {each.field for each in pieces} == {"numbers"}
    assert isinstance(said[0], Progressed)
    assert isinstance(said[-1], Done)
    assert said[-1].value.numbers == ()


def test_what_is_refused_comes_as_it_was_raised(memory: Memory) -> None:
    (said,) = answers(memory, Refusing())
    assert isinstance(said, Failed)
    assert isinstance(said.error, PublishRefused)
    assert said.error.fields == {"folder": "Memory", "ids": ("a", "b")}


def test_a_bug_comes_as_its_traceback(memory: Memory) -> None:
    (said,) = answers(memory, Crashing())
    assert isinstance(said, Crashed)
    assert said.traceback.rstrip().endswith("ZeroDivisionError: integer division or modulo by zero")
