"""GrayMatter's JSON records: what is taken over exactly, and why the rest is refused."""

from __future__ import annotations

import json

import pytest

from gm_engine.clock import parse_rfc3339
from gm_engine.importing.records import Record, Unreadable, checkpoint_from, decode, edge_from, entity_from, fact_from
from gm_engine.records import Origin

ORIGIN = Origin("import")
FACT: Record = {
    "id": "01KT880Z00NYQ5MEWGJTG40001",
    "agent_id": " a ",
    "text": "  [[x]] --- <b> \0 \u202eRTL 😀  ",
    "created_at": "2026-06-04T02:40:00.972423195Z",
    "accessed_at": "2026-07-09T23:55:00.8+02:00",
    "access_count": 9,
    "weight": 0.274631,
    "superseded_by": "agent",
    "confidence": "gospel",
    "kind": "alias",
    "alias_source": "usage",
    "pinned": True,
    "pinned_at": "2026-07-02T09:30:00.123456789Z",
    "embedding": [0.1, 0.2],
}


def reason(record: Record) -> str:
    with pytest.raises(Unreadable) as caught:
        fact_from(record, ORIGIN)
    return caught.value.reason


def test_every_field_is_taken_over_exactly() -> None:
    fact = fact_from(FACT, ORIGIN)
    assert (fact.id, fact.agent_id, fact.text) == (FACT["id"], FACT["agent_id"], FACT["text"])
    assert fact.created_ns % 1_000_000_000 == 972_423_195
    assert fact.accessed_ns == parse_rfc3339("2026-07-09T21:55:00.8Z")
    assert (fact.access_count, fact.weight) == (9, 0.274631)
    assert (fact.superseded_by, fact.confidence, fact.kind, fact.alias_source) == ("agent", "gospel", "alias", "usage")
    assert (fact.pinned, fact.pinned_ns) == (True, parse_rfc3339("2026-07-02T09:30:00.123456789Z"))
    assert fact.origin == ORIGIN


def test_keys_that_an_older_store_lacks_are_absent() -> None:
    fact = fact_from({key: FACT[key] for key in ("id", "agent_id", "text", "created_at")}, ORIGIN)
    assert (fact.accessed_ns, fact.access_count, fact.weight, fact.pinned, fact.pinned_ns) == (
        None,
        0,
        1.0,
        False,
        None,
    )
    assert (fact.superseded_by, fact.confidence, fact.kind, fact.alias_source) == ("", "", "", "")


def test_null_reads_as_absent_and_go_s_zero_time_too() -> None:
    fact = fact_from({**FACT, "confidence": None, "accessed_at": "0001-01-01T00:00:00Z", "pinned_at": None}, ORIGIN)
    assert (fact.confidence, fact.accessed_ns, fact.pinned_ns) == ("", None, None)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("id", None, "id is missing"),
        ("id", "", "id is empty"),
        ("id", 7, "id is not a text"),
        ("id", "a\0b", "id holds a NUL character"),
        ("agent_id", None, "agent_id is missing"),
        ("agent_id", " \t", "The agent's name is empty"),
        ("text", None, "text is missing"),
        ("text", "", "The text is empty"),
        ("text", " \n", "The text is empty"),
        ("text", ["a"], "text is not a text"),
        ("text", "x\ud800", "text holds a lone surrogate at character 1"),
        ("agent_id", "\udfff", "agent_id holds a lone surrogate at character 0"),
        ("created_at", None, "created_at is missing"),
        ("created_at", "0001-01-01T00:00:00Z", "created_at is missing"),
        ("created_at", "yesterday", "created_at is not an RFC 3339 time: 'yesterday'"),
        ("created_at", 1780000000, "created_at is not a text"),
        ("created_at", "9999-01-01T00:00:00Z", "created_at is outside the years 1678 to 2261: 9999-01-01T00:00:00Z"),
        ("accessed_at", "", "accessed_at is not an RFC 3339 time: ''"),
        ("accessed_at", "2026-02-30T00:00:00Z", "accessed_at is not an RFC 3339 time"),
        ("access_count", -1, "access_count is negative or too large"),
        ("access_count", 1 << 63, "access_count is negative or too large"),
        ("access_count", True, "access_count is not a whole number"),
        ("access_count", 1.5, "access_count is not a whole number"),
        ("weight", float("nan"), "weight is nan, not between 0 and 1"),
        ("weight", float("inf"), "weight is inf, not between 0 and 1"),
        ("weight", 1.0001, "weight is 1.0001, not between 0 and 1"),
        ("weight", -0.1, "weight is -0.1, not between 0 and 1"),
        ("weight", 10**400, "weight is too large"),
        ("weight", True, "weight is not a number"),
        ("weight", "1", "weight is not a number"),
        ("pinned", 1, "pinned is neither true nor false"),
        ("superseded_by", 0, "superseded_by is not a text"),
        ("confidence", ["verified"], "confidence is not a text"),
        ("pinned_at", "soon", "pinned_at is not an RFC 3339 time: 'soon'"),
    ],
)
def test_a_field_that_breaks_a_rule_is_named(field: str, value: object, why: str) -> None:
    assert reason({**FACT, field: value}).startswith(why)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"id": "a"', "invalid JSON: "),
        (b"", "invalid JSON: "),
        (b'{"id": "\xff"}', "invalid UTF-8 at byte 8"),
        (b"[1]", "the record is not a JSON object"),
        (b"null", "the record is not a JSON object"),
        (b"[" * 200_000, "values are nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "invalid JSON: "),
    ],
)
def test_bytes_that_hold_no_object_are_refused(raw: bytes, why: str) -> None:
    with pytest.raises(Unreadable) as caught:
        decode(raw)
    assert caught.value.reason.startswith(why)


def test_a_lone_surrogate_hidden_in_an_escape_is_found() -> None:
    raw = json.dumps({**FACT, "text": "a\ud83d"}).encode()
    assert reason(decode(raw)) == "text holds a lone surrogate at character 1"
    pair = decode(json.dumps({**FACT, "text": "😀"}).encode())
    assert fact_from(pair, ORIGIN).text == "😀"


def test_an_edge_may_lack_sources_and_keeps_any_relation() -> None:
    edge = edge_from({"from": "a|b", "to": "nobody", "relation": "owes money to", "weight": 2})
    assert (edge.from_id, edge.to_id, edge.relation, edge.weight) == ("a|b", "nobody", "owes money to", 2.0)
    assert (edge.created_ns, edge.sources) == (None, ())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sources": "01"}, "sources is not a list of fact ids"),
        ({"sources": [1]}, "sources is not a list of fact ids"),
        ({"sources": ["\ud800"]}, "sources holds a lone surrogate at character 0"),
        ({"weight": -1}, "weight is -1.0, not a finite number from 0"),
        ({"relation": ""}, "relation is empty"),
        ({"to": None}, "to is missing"),
    ],
)
def test_a_broken_edge_is_refused(change: Record, why: str) -> None:
    with pytest.raises(Unreadable) as caught:
        edge_from({"from": "a", "to": "b", "relation": "r", **change})
    assert caught.value.reason == why


def test_a_node_keeps_an_unknown_type_and_needs_a_label() -> None:
    entity = entity_from({"id": "weird/type", "label": "Weird/Type", "entity_type": "something new", "weight": 0.5})
    assert (entity.type, entity.first_seen_ns, entity.weight, entity.made_by) == ("something new", None, 0.5, "import")
    with pytest.raises(Unreadable, match="label is missing"):
        entity_from({"id": "a"})


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"id":"a"', "invalid JSON: "),
        (b'{"id":"a\\u0000","agent_id":"x","created_at":"2026-01-01T00:00:00Z"}', "id holds a NUL character"),
        (b'{"id":"a","agent_id":" ","created_at":"2026-01-01T00:00:00Z"}', "agent_id is blank"),
        (b'{"id":"a","agent_id":"x"}', "created_at is missing"),
        (b'{"id":"a","agent_id":"x","created_at":"2026-01-01T00:00:00Z","state":[]}', "state is not an object"),
    ],
)
def test_a_broken_checkpoint_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(Unreadable) as caught:
        checkpoint_from(raw)
    assert caught.value.reason.startswith(why)
