"""The command line as people and scripts use it: real processes, the real model, the shipped fixture stores."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import ROOT, command, environment, run_process

pytestmark = pytest.mark.end2end
FIXTURES = ROOT / "tests" / "fixtures" / "graymatter"
ZERO = "0001-01-01T00:00:00Z"


def dumped(name: str) -> list[tuple[list[str], str, object]]:
    """Bucket, key and value of every record; a value that is no UTF-8 stands there as an object."""
    lines = (FIXTURES / name).read_text(encoding="utf-8").splitlines()
    records = (json.loads(line) for line in lines)
    return [(record["bucket"], record["key"], record["value"]) for record in records]


def readable_facts(name: str) -> list[dict[str, Any]]:
    """The facts of a dump that can be read, as the Go program wrote them."""
    found = []
    for bucket, key, value in dumped(name):
        if bucket[0] == "facts" and isinstance(value, str):
            try:
                fact = json.loads(value)
            except ValueError:
                continue
            if isinstance(fact, dict) and fact.get("id") == key:
                found.append(fact)
    return found


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`gray.db`, imported by a process that also computed the vectors."""
    data_dir = tmp_path_factory.mktemp("imported") / "store"
    answer = run_process("--data-dir", data_dir, "import", FIXTURES / "gray.db", "--json")
    assert answer.code == 0, answer.err
    counts = Counter(bucket[0] for bucket, _, _ in dumped("gray.dump.jsonl"))
    wanted = {
        "facts": counts["facts"],
        "checkpoints": counts["sessions"],
        "entities": counts["kg_nodes"],
        "edges": counts["kg_edges"],
    }
    assert answer.json["found"] == answer.json["imported"] == wanted
    return data_dir


def test_importing_again_and_importing_the_export_bring_nothing_new(imported: Path) -> None:
    nothing = {"facts": 0, "checkpoints": 0, "entities": 0, "edges": 0}
    for name in ("gray.db", "memories.json"):
        assert run_process("--data-dir", imported, "import", FIXTURES / name, "--json").json["imported"] == nothing


def test_every_agent_has_as_many_facts_as_the_dump(imported: Path) -> None:
    wanted = Counter(bucket[1] for bucket, _, _ in dumped("gray.dump.jsonl") if bucket[0] == "facts")
    status = run_process("--data-dir", imported, "status", "--json").json
    assert {agent["agent_id"]: agent["live"] + agent["retired"] for agent in status["agents"]} == wanted
    assert status["vectors"]["pending"] == 0
    assert status["vectors"]["embedded"] == status["vectors"]["chroma"] > 150


def test_every_field_of_the_contract_store_arrives(tmp_path: Path) -> None:
    answer = run_process("--data-dir", tmp_path / "s", "import", FIXTURES / "contract.db", "--json", "--no-wait")
    listed = run_process("--data-dir", tmp_path / "s", "list", "--all", "--json").json
    skipped = {skip["id"] for skip in answer.json["skipped"] if skip["kind"] == "fact"}
    wanted = [fact for fact in readable_facts("contract.dump.jsonl") if fact["id"] not in skipped]
    assert len(skipped) == answer.json["found"]["facts"] - answer.json["imported"]["facts"] > 0
    assert {fact["id"]: without(fact, "origin") for fact in listed} == {fact["id"]: as_listed(fact) for fact in wanted}


def without(fact: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in fact.items() if name != key}


def as_listed(fact: dict[str, Any]) -> dict[str, Any]:
    """A fact of the dump without what Go writes for nothing, and without the other model's vector."""
    optional = {"superseded_by", "confidence", "kind", "alias_source", "pinned"}
    kept = {key: value for key, value in fact.items() if key != "embedding" and (value or key not in optional)}
    if kept.get("pinned_at") == ZERO:
        del kept["pinned_at"]
    return {"accessed_at": ZERO, "access_count": 0, **kept}


def test_receipts_add_up_and_two_processes_agree_to_the_byte(imported: Path) -> None:
    arguments = ("recall", "sales-closer", "who wants the revised quote", "--explain", "--json", "--preview")
    first, second = (run_process("--data-dir", imported, *arguments) for _ in range(2))
    assert list(first.json) == ["agent_id", "query", "count", "facts", "explained"]
    assert first.json["count"] == len(first.json["facts"]) == len(first.json["explained"]) == 8
    for receipt in first.json["explained"]:
        ranks = receipt["ranks"]
        weights = ranks.get("weights", {"vector": 1.0, "keyword": 1.0, "recency": 0.5})
        signals = [(weights[name], ranks[f"{name}_rank"]) for name in ("vector", "keyword", "recency")]
        fused = sum(weight / (ranks["k"] + rank) for weight, rank in signals if rank)
        assert abs(ranks["fused_score"] - fused) < 1e-12
    assert ageless(first.json) == ageless(second.json)


def ageless(payload: dict[str, Any]) -> str:
    for receipt in payload["explained"]:
        del receipt["age_days"]
    return json.dumps(payload)


def test_publishing_twice_writes_nothing_the_second_time_and_gives_every_text_back(
    imported: Path, tmp_path: Path
) -> None:
    arguments = ("--data-dir", imported, "export", "obsidian", "--vault", tmp_path, "--json")
    first = run_process(*arguments).json
    keys = ["vault", "written", "unchanged", "removed", "broken_links"]
    assert list(first) == [*keys, "files"]  # the table beside the notes
    assert first["written"] > 280
    assert first["broken_links"] == []
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    second = run_process(*arguments).json
    assert list(second) == keys
    assert (second["written"], second["unchanged"], second["removed"]) == (0, first["written"], 0)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
    texts = {fact["id"]: fact["text"] for fact in run_process("--data-dir", imported, "list", "--all", "--json").json}
    note = min((tmp_path / "Memory" / "Facts" / "sales-closer").glob("*.md"))
    read = run_process("vault", "read", note, "--json").json
    assert texts[read["id"]] == read["text"]


def test_a_reader_that_goes_away_is_no_error_message(imported: Path) -> None:
    with subprocess.Popen(
        command("--data-dir", imported, "list", "--all", "--json"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 1)


def test_nothing_but_json_is_printed_with_json(tmp_path: Path) -> None:
    answer = run_process("--data-dir", tmp_path / "s", "import", FIXTURES / "memories.json", "--json", "--no-wait")
    assert answer.err == ""
    assert answer.json["imported"]["facts"] == 200
    told = run_process("--data-dir", tmp_path / "t", "import", FIXTURES / "memories.json", "--no-wait")
    assert "Importing" in told.err
    assert "Importing" not in told.out
