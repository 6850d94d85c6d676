"""The schema files of the Recall protocol, through the set that both ends ask."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gm_engine.recall_protocol import SchemaSet, SchemaViolation
from gm_engine.resources import resource

DEADLINE = "2026-06-01T10:00:00Z"
CANDIDATE = {
    "candidate_id": "c",
    "source_record_id": "r",
    "locator": "s:l",
    "record_type": "fact",
    "title": "t",
    "local_rank": 1,
    "sensitivity": "public",
}
MANIFEST = {
    "protocol_version": 1,
    "adapter_id": "a",
    "display_name": "A",
    "record_types": ["fact"],
    "query_modes": None,
    "freshness_modes": ["live"],
    "as_of_support": "none",
    "relevance_basis": "lexical_span",
    "capabilities": ["search"],
    "sensitivity": "public",
}
GOOD: dict[str, dict[str, Any]] = {
    "initialize-params": {"protocol_version_min": 1, "protocol_version_max": 1, "workdir": "w", "source_id": "s"},
    "manifest": MANIFEST,
    "search-params": {"query": "", "filters": {}, "limit": 0, "deadline": DEADLINE},
    "search-result": {"candidates": [CANDIDATE], "outcome": "success"},
    "candidate": CANDIDATE,
    "expand-params": {"locator": "s:l", "detail": "full", "budget_bytes": 0, "deadline": DEADLINE},
    "expand-result": {"content": "", "truncated": False},
    "health-params": {"deadline": DEADLINE},
    "refresh-params": {"deadline": DEADLINE},
    "health": {"status": "healthy", "checked_at": DEADLINE, "coverage": "complete"},
    "cancel-params": {"id": 1},
    "shutdown-params": {},
    "shutdown-result": {},
}


def accepts(name: str, payload: object) -> bool:
    try:
        SchemaSet.shared().validate(name, payload)
    except SchemaViolation:
        return False
    return True


def test_every_payload_has_a_schema_file_of_the_right_draft() -> None:
    files = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in resource("schemas", "recall").iterdir()
    }
    assert files.keys() == GOOD.keys()
    for schema in files.values():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", GOOD)
def test_the_least_that_is_required_is_enough(name: str) -> None:
    assert accepts(name, GOOD[name])
    for member in GOOD[name]:
        assert not accepts(name, {key: value for key, value in GOOD[name].items() if key != member}), member


@pytest.mark.parametrize("name", GOOD)
def test_unknown_keys_and_other_shapes_are_refused(name: str) -> None:
    assert not accepts(name, {**GOOD[name], "surprise": 1})
    others: tuple[object, ...] = ([], "", 5, True)
    assert not any(accepts(name, other) for other in others)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("initialize-params", {"settings": None}),
        ("initialize-params", {"settings": {"anything": [1]}}),
        ("search-params", {"filters": {"record_types": None, "since": "2026-06-01T10:00:00.123456789+02:00"}}),
        ("search-params", {"context": None, "as_of": DEADLINE}),
        ("search-result", {"candidates": None}),
        ("search-result", {"candidates": [], "outcome": "skipped", "reason": "not_applicable"}),
        ("candidate", {"source_uid": "", "source_id": "", "relevance": 1, "local_score": -3.5, "metadata": {}}),
        ("cancel-params", {"id": "x"}),
        ("cancel-params", {"id": 1.5}),
        ("refresh-params", {"full": True}),
        ("manifest", {"executable_requirements": [{"name": "git", "command": "git --version"}], "max_concurrency": 0}),
        ("health", {"checkpoint_progress": "unchanged", "cold_start_ns": 0, "failed_count": 3}),
    ],
)
def test_what_the_tables_allow_is_accepted(name: str, change: dict[str, Any]) -> None:
    assert accepts(name, {**GOOD[name], **change})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("initialize-params", {"protocol_version_min": 0}),
        ("initialize-params", {"protocol_version_min": True}),
        ("initialize-params", {"workdir": ""}),
        ("initialize-params", {"source_id": ""}),
        ("search-params", {"limit": -1}),
        ("search-params", {"limit": 1.5}),
        ("search-params", {"deadline": "soon"}),
        ("search-params", {"deadline": "2026-06-01T10:00:00"}),
        ("search-params", {"deadline": "2026-02-30T10:00:00Z"}),
        ("search-params", {"deadline": "2026-06-01 10:00:00Z"}),
        ("search-params", {"deadline": "2026-06-01T10:00:00Z\n"}),
        ("search-params", {"filters": {"agent": "x"}}),
        ("search-params", {"filters": None}),
        ("search-result", {"outcome": "splendid"}),
        ("search-result", {"reason": "not_applicable"}),
        ("search-result", {"outcome": "skipped"}),
        ("candidate", {"locator": "nocolon"}),
        ("candidate", {"locator": ":l"}),
        ("candidate", {"local_rank": 0}),
        ("candidate", {"relevance": 1.01}),
        ("candidate", {"source_uid": "u"}),
        ("candidate", {"match_signals": ["luck"]}),
        ("candidate", {"excerpt_kind": ""}),
        ("expand-params", {"detail": "all"}),
        ("health", {"record_count": -1}),
        ("health", {"checked_at": None}),
        ("cancel-params", {"id": None}),
        ("manifest", {"executable_requirements": [{"name": "git", "command": "git", "url": "x"}]}),
        ("manifest", {"capabilities": ["fly"]}),
    ],
)
def test_what_the_tables_forbid_is_refused(name: str, change: dict[str, Any]) -> None:
    assert not accepts(name, {**GOOD[name], **change})


def test_a_violation_names_places_and_never_values() -> None:
    bad = {"candidates": [CANDIDATE, {**CANDIDATE, "title": 99887766, "local_rank": 0, "x": "hush"}], "outcome": "hush"}
    with pytest.raises(SchemaViolation) as caught:
        SchemaSet.shared().validate_result("recall/search", bad)
    assert caught.value.locations == (
        "/candidates/1 has unknown keys: x",
        "/candidates/1/local_rank breaks minimum",
        "/candidates/1/title breaks type",
        "/outcome breaks enum",
    )
    assert "hush" not in str(caught.value)
    assert "99887766" not in str(caught.value)


def test_every_method_has_its_schemas() -> None:
    schemas = SchemaSet.shared()
    schemas.validate_params("recall/shutdown", None)
    schemas.validate_params("recall/cancel", {"id": "1"})
    schemas.validate_result("recall/refresh", GOOD["health"])
    with pytest.raises(KeyError):
        schemas.validate_result("recall/cancel", {})
    assert SchemaSet.shared() is schemas
