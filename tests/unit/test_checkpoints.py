"""Checkpoints: saved exactly, listed newest first, absent and damaged told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from gm_engine.errors import CheckpointDamaged, InvalidInput, NotFound, ReadOnlyStore
from gm_engine.records import CheckpointSummary, JsonValue, Message, Origin
from gm_engine.store.checkpoints import Checkpoints
from gm_engine.store.database import Ledger
from gm_engine.store.journal import entries
from tests.fakes.clock import FrozenClock

ORIGIN = Origin("library")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock=FrozenClock()) as opened:
        yield opened


@pytest.fixture
def checkpoints(ledger: Ledger) -> Checkpoints:
    return Checkpoints(ledger, ORIGIN)


def nested(depth: int) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


def overwrite(ledger: Ledger, checkpoint_id: str, payload: bytes) -> None:
    with ledger.bookkeep() as connection:
        connection.exec_driver_sql("UPDATE checkpoints SET payload = ? WHERE id = ?", (payload, checkpoint_id))


def test_a_checkpoint_reads_back_exactly_as_saved(checkpoints: Checkpoints) -> None:
    state: dict[str, JsonValue] = {
        "big": 12345678901234567890123,
        "ratio": 0.1,
        "none": None,
        "flags": [True, False],
        "text": "\0 \u202e 😀 </script> [[x]]",
        "": {"z": 1, "a": 2},
    }
    saved = checkpoints.save(
        " agent ",
        state=state,
        messages=[Message("user", "**hi**\r\n"), Message("", "")],
        metadata={"branch": "main"},
    )
    found = checkpoints.load(saved.id)
    assert found == saved
    assert (found.agent_id, found.state, found.metadata) == (" agent ", state, {"branch": "main"})
    assert list(found.state) == list(state)
    assert type(found.state["big"]) is int
    assert found.messages == (Message("user", "**hi**\r\n"), Message("", ""))


def test_lists_are_newest_first_by_agent_or_for_all(checkpoints: Checkpoints) -> None:
    first, second, third = (checkpoints.save(agent, state={}).id for agent in ("a", "b", "a"))
    assert [summary.id for summary in checkpoints.list()] == [third, second, first]
    assert [summary.id for summary in checkpoints.list("a")] == [third, first]
    assert checkpoints.list("A") == ()
    assert checkpoints.latest("a").id == third
    assert checkpoints.agents() == ("a", "b")


def test_a_summary_counts_messages_and_bytes(checkpoints: Checkpoints, ledger: Ledger) -> None:
    saved = checkpoints.save("a", state={}, messages=[Message("user", "é")])
    with ledger.read() as connection:
        payload = connection.exec_driver_sql("SELECT payload FROM checkpoints").scalar_one()
    assert checkpoints.list() == (CheckpointSummary(saved.id, "a", saved.created_ns, 1, len(payload), version=1),)


def test_absent_and_damaged_are_different_errors(checkpoints: Checkpoints, ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        checkpoints.load("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(NotFound):
        checkpoints.latest("nobody")
    saved = checkpoints.save("a", state={})
    overwrite(ledger, saved.id, b'{"id": "x", "state": {"half":')
    with pytest.raises(CheckpointDamaged, match=f"Checkpoint {saved.id} is damaged: invalid JSON") as caught:
        checkpoints.latest("a")
    assert caught.value.code == "checkpoint_damaged"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (b"[]", "the record is not a JSON object"),
        (b"\xff", "invalid UTF-8 at byte 0"),
        (b"[" * 200_000, "values are nested too deeply"),
        (b'{"id": "\\ud800"}', "a text holds a lone surrogate"),
        (b'{"state": NaN}', "invalid JSON: NaN is no JSON number"),
        (b'{"state": 1e999}', "invalid JSON: the number 1e999 is too large"),
        (b'{"id": 1}', "id is not a text"),
        (b'{"id": "a", "agent_id": ""}', "agent_id is missing"),
        (b'{"id": "a", "agent_id": "b", "created_at": "now"}', "created_at is not an RFC 3339 time: 'now'"),
        (b'{"id": "a", "agent_id": "b", "created_at": "0001-01-01T00:00:00Z"}', "created_at is absent"),
        (b'{"id": "a", "agent_id": "b", "created_at": "9000-01-01T00:00:00Z"}', "created_at is absent or outside"),
        (b'{"id": "a", "agent_id": "b", "created_at": "2026-01-01T00:00:00Z", "messages": {}}', "messages is not"),
        (b'{"id": "a", "agent_id": "b", "created_at": "2026-01-01T00:00:00Z", "messages": [1]}', "a message is not"),
        (b'{"id": "a", "agent_id": "b", "created_at": "2026-01-01T00:00:00Z", "metadata": {"n": 1}}', "metadata 'n'"),
    ],
)
def test_what_is_wrong_with_a_damaged_record_is_said(
    checkpoints: Checkpoints, ledger: Ledger, change: bytes, reason: str
) -> None:
    saved = checkpoints.save("a", state={})
    overwrite(ledger, saved.id, change)
    with pytest.raises(CheckpointDamaged) as caught:
        checkpoints.load(saved.id)
    assert str(caught.value.fields["reason"]).startswith(reason)


@pytest.mark.parametrize(
    "state",
    [
        {"x": math.nan},
        {"x": [math.inf]},
        {"x": "\ud800"},
        {"\udfff": 1},
        {1: "x"},
        {"x": (1, 2)},
        {"x": object()},
        {"x": b"bytes"},
        nested(201),
    ],
)
def test_what_json_cannot_hold_is_refused_before_anything_is_written(
    checkpoints: Checkpoints, ledger: Ledger, state: Mapping[str, JsonValue]
) -> None:
    with pytest.raises(InvalidInput):
        checkpoints.save("a", state=state)
    assert (ledger.last_seq(), checkpoints.list()) == (0, ())


def test_deep_states_are_kept_up_to_the_limit(checkpoints: Checkpoints) -> None:
    assert checkpoints.save("a", state=nested(199)).state == nested(199)


@pytest.mark.parametrize("agent_id", ["", " ", "\ud800"])
def test_a_blank_agent_is_refused(checkpoints: Checkpoints, agent_id: str) -> None:
    with pytest.raises(InvalidInput):
        checkpoints.save(agent_id, state={})


def test_metadata_and_messages_are_texts(checkpoints: Checkpoints) -> None:
    numbers = cast("dict[str, str]", {"n": 1})
    with pytest.raises(InvalidInput):
        checkpoints.save("a", state={}, metadata=numbers)
    with pytest.raises(InvalidInput):
        checkpoints.save("a", state={}, messages=[Message("user", "\ud800")])


def test_the_journal_names_the_checkpoint_without_its_payload(checkpoints: Checkpoints, ledger: Ledger) -> None:
    saved = checkpoints.save("a", state={"secret": 1}, metadata={"restored_from": "01X"})
    with ledger.read() as connection:
        (entry,) = entries(connection)
    (change,) = entry.changes
    assert (entry.verb, entry.agent_id, change.kind, change.target) == ("checkpoint", "a", "checkpoint", saved.id)
    assert change.after == {
        "agent_id": "a",
        "created_ns": saved.created_ns,
        "message_count": 0,
        "restored_from": "01X",
    }


def test_a_read_only_store_saves_nothing(checkpoints: Checkpoints, tmp_path: Path) -> None:
    checkpoints.save("a", state={"n": 1})
    with Ledger.open(tmp_path, clock=FrozenClock(), read_only=True) as ledger:
        reading = Checkpoints(ledger, ORIGIN)
        assert reading.latest("a").state == {"n": 1}
        with pytest.raises(ReadOnlyStore):
            reading.save("a", state={})
