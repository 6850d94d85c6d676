"""Every recorded transcript is what the adapter says today, and every case that the contract asks for is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contract.conformance import CASES, MASK, cases, masked, verify

REQUIRED = (
    "handshake",
    "version-rejection",
    "ranked-search",
    "partial-listing",
    "unavailable",
    "expand",
    "expand-budget",
    "expired-locator",
    "cancellation",
    "shutdown",
    "skipped",
    "filtered",
    "denied",
    "truncated-by-cap",
)


@pytest.mark.parametrize("case", [path.name for path in cases()])
def test_the_process_answers_as_it_was_recorded(case: str, tmp_path: Path) -> None:
    assert verify(CASES / case, tmp_path) == []


def test_every_required_case_is_there_and_says_what_it_shows() -> None:
    found = {path.name: json.loads((path / "manifest.json").read_text(encoding="utf-8")) for path in cases()}
    assert set(REQUIRED) <= set(found)
    for name, manifest in found.items():
        assert manifest["case"] == name
        assert manifest["description"]
        assert manifest["flow"] == "lockstep"
        assert manifest["responses"] > 0
        assert (CASES / name / "fixture").is_dir()


def test_a_mask_reaches_every_item() -> None:
    frame = {"a": [{"b": 1, "c/d": 2}, {"b": 3}], "x": {"y": 4}}
    assert masked(frame, ["/a/*/b", "/a/0/c~1d", "/x/*", "/absent/b"]) == {
        "a": [{"b": MASK, "c/d": MASK}, {"b": MASK}],
        "x": {"y": MASK},
    }


def test_a_difference_is_told_with_both_lines(tmp_path: Path) -> None:
    case = tmp_path / "changed"
    case.mkdir()
    original = CASES / "version-rejection"
    for name in ("manifest.json", "request.jsonl"):
        (case / name).write_text((original / name).read_text(encoding="utf-8"), encoding="utf-8")
    lines = (original / "response.jsonl").read_text(encoding="utf-8").replace("2 to 3", "4 to 5")
    (case / "response.jsonl").write_text(lines, encoding="utf-8")
    (difference,) = verify(case, tmp_path)
    assert "4 to 5" in difference
    assert "2 to 3" in difference
