"""Real GrayMatter stores against what an independent reader found in them, record by record."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gm_engine.clock import parse_rfc3339
from gm_engine.importing.graymatter import import_store, preview_store
from gm_engine.progress import CancelToken, no_progress
from gm_engine.records import Counts, ImportReport, Origin, Skipped, SourceRef
from gm_engine.store.checkpoints import Checkpoints
from gm_engine.store.database import Ledger
from gm_engine.store.entities import Graph
from gm_engine.store.facts import load_facts
from tests.fakes.clock import FrozenClock

FIXTURES = Path(__file__).parent.parent / "fixtures" / "graymatter"
KINDS = {"facts": "fact", "sessions": "checkpoint", "kg_nodes": "entity", "kg_edges": "edge"}
DAMAGED = {
    "gray": set(),
    "contract": {
        "01BADTIME000000000000000AA",
        "01BADUTF8000000000000000AA",
        "01DAMAGED0000000000000000A",
        "01WRONGID000000000000000AA",
        "01DAMAGEDCP00000000000000A",
    },
}
ORIGIN = Origin("import", client="test")
Dump = dict[str, dict[str, tuple[str, bytes]]]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "store", clock=FrozenClock()) as opened:
        yield opened


def run(ledger: Ledger, name: str) -> ImportReport:
    return import_store(ledger, FIXTURES / name, origin=ORIGIN, progress=no_progress, cancel=CancelToken())


def dump(name: str) -> Dump:
    """Per kind of record: key → (namespace, value), as the file has them."""
    found: Dump = {kind: {} for kind in KINDS.values()}
    for line in (FIXTURES / f"{name}.dump.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["bucket"][0] in KINDS:
            value = row["value"]
            raw = value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])
            found[KINDS[row["bucket"][0]]][row["key"]] = (row["bucket"][-1], raw)
    return found


def readable(name: str, kind: str) -> dict[str, dict[str, Any]]:
    return {key: json.loads(raw) for key, (_, raw) in dump(name)[kind].items() if key not in DAMAGED[name]}


def at(record: dict[str, Any], name: str) -> int | None:
    return parse_rfc3339(record.get(name, "0001-01-01T00:00:00Z"))


@pytest.mark.parametrize("name", ["gray", "contract"])
def test_the_report_counts_what_the_file_holds(ledger: Ledger, name: str) -> None:
    preview = preview_store(ledger, FIXTURES / f"{name}.db", progress=no_progress, cancel=CancelToken())
    report = run(ledger, f"{name}.db")
    kinds = ("fact", "checkpoint", "entity", "edge")
    assert report.found == Counts(*(len(dump(name)[kind]) for kind in kinds))
    assert report.imported == Counts(*(len(readable(name, kind)) for kind in kinds))
    assert preview == report
    assert {skipped.id for skipped in report.skipped if skipped.kind in kinds} == DAMAGED[name]


def test_damaged_records_and_other_buckets_are_listed_with_the_reason(ledger: Ledger) -> None:
    assert run(ledger, "contract.db").skipped == (
        Skipped("fact", "01BADTIME000000000000000AA", "created_at is not an RFC 3339 time: 'yesterday'"),
        Skipped("fact", "01BADUTF8000000000000000AA", "invalid UTF-8 at byte 43"),
        Skipped(
            "fact",
            "01DAMAGED0000000000000000A",
            "invalid JSON: Unterminated string starting at: line 1 column 69 (char 68)",
        ),
        Skipped(
            "fact",
            "01WRONGID000000000000000AA",
            "its key is '01WRONGID000000000000000AA', its id '01OTHERID000000000000000AA'",
        ),
        Skipped(
            "checkpoint", "01DAMAGEDCP00000000000000A", "invalid JSON: Expecting value: line 1 column 52 (char 51)"
        ),
        Skipped("agents", "", "1 record not imported: the list of agents, which the facts themselves name"),
        Skipped("meta", "", "1 record not imported: the Go program's notes about its own file"),
        Skipped("pending_vector", "", "1501 records not imported: facts that wait for an embedding of another model"),
    )


@pytest.mark.parametrize("name", ["gray", "contract"])
def test_every_column_of_every_fact_is_as_in_the_file(ledger: Ledger, name: str) -> None:
    run(ledger, f"{name}.db")
    wanted = readable(name, "fact")
    with ledger.read() as connection:
        ids = list(connection.exec_driver_sql("SELECT id FROM facts").scalars())
        found = load_facts(connection, ids)
    assert set(found) == set(wanted)
    for fact_id, record in wanted.items():
        fact = found[fact_id]
        assert fact.agent_id == record["agent_id"] == dump(name)["fact"][fact_id][0]
        assert fact.text == record["text"]
        assert (fact.created_ns, fact.accessed_ns) == (at(record, "created_at"), at(record, "accessed_at"))
        assert (fact.access_count, fact.weight) == (record["access_count"], record["weight"])
        assert fact.superseded_by == record.get("superseded_by", "")
        assert fact.confidence == record.get("confidence", "")
        assert (fact.kind, fact.alias_source) == (record.get("kind", ""), record.get("alias_source", ""))
        assert (fact.pinned, fact.pinned_ns) == (record.get("pinned", False), at(record, "pinned_at"))
        assert fact.origin == Origin("import", client="test", sources=(SourceRef("file", f"{name}.db"),))


def test_the_contract_store_shows_every_state_a_fact_can_have(ledger: Ledger) -> None:
    run(ledger, "contract.db")
    with ledger.read() as connection:
        facts = load_facts(connection, list(connection.exec_driver_sql("SELECT id FROM facts").scalars())).values()
    assert {fact.confidence for fact in facts} == {"", "verified", "inferred", "unverified", "gospel"}
    assert {fact.kind for fact in facts} == {"", "alias"}
    assert {fact.pinned_ns for fact in facts} > {None, 1_780_444_800_000_000_001}
    assert any(fact.accessed_ns is None for fact in facts)
    assert {"agent", "01ARZ3NDEKTSV4RRFFQ69G5FAV"} < {fact.superseded_by for fact in facts}
    assert {"CON", "spaced agent", "  spaced agent ", "Ünïcode-代理", "ünïcode-代理"} < {f.agent_id for f in facts}


@pytest.mark.parametrize("name", ["gray", "contract"])
def test_checkpoints_keep_their_bytes_and_read_back(ledger: Ledger, name: str) -> None:
    run(ledger, f"{name}.db")
    wanted = readable(name, "checkpoint")
    checkpoints = Checkpoints(ledger, ORIGIN)
    assert {summary.id for summary in checkpoints.list()} == set(wanted)
    with ledger.read() as connection:
        payloads = {row[0]: row[1] for row in connection.exec_driver_sql("SELECT id, payload FROM checkpoints")}
    for checkpoint_id, record in wanted.items():
        found = checkpoints.load(checkpoint_id)
        assert payloads[checkpoint_id] == dump(name)["checkpoint"][checkpoint_id][1]
        assert found.agent_id == record["agent_id"] == dump(name)["checkpoint"][checkpoint_id][0]
        assert found.created_ns == at(record, "created_at")
        assert found.state == record.get("state", {})
        assert [(m.role, m.content) for m in found.messages] == [
            (m["role"], m["content"]) for m in record.get("messages", [])
        ]
        assert found.metadata == record.get("metadata", {})


@pytest.mark.parametrize("name", ["gray", "contract"])
def test_nodes_and_edges_are_as_in_the_file(ledger: Ledger, name: str) -> None:
    run(ledger, f"{name}.db")
    graph = Graph(ledger)
    assert {
        entity.id: (entity.label, entity.type, entity.first_seen_ns, entity.last_seen_ns, entity.weight)
        for entity in graph.entities()
    } == {
        key: (
            record["label"],
            record["entity_type"],
            at(record, "first_seen"),
            at(record, "last_seen"),
            record["weight"],
        )
        for key, record in readable(name, "entity").items()
    }
    assert {
        f"{edge.from_id}|{edge.to_id}|{edge.relation}": (edge.created_ns, edge.weight, set(edge.sources))
        for edge in graph.edges()
    } == {
        key: (at(record, "created_at"), record["weight"], set(record.get("sources") or ()))
        for key, record in readable(name, "edge").items()
    }


def test_an_edge_to_nobody_and_an_id_with_a_bar_are_kept(ledger: Ledger) -> None:
    run(ledger, "contract.db")
    ends = {(edge.from_id, edge.to_id) for edge in Graph(ledger).edges()}
    assert ("maria rodriguez", "nobody") in ends
    assert ("https://example.org/a|b", "acme corp") in ends
    assert "nobody" not in {entity.id for entity in Graph(ledger).entities()}


def test_the_first_entity_owns_a_canonical_name(ledger: Ledger) -> None:
    run(ledger, "contract.db")
    with ledger.read() as connection:
        names = {row[0]: row[1] for row in connection.exec_driver_sql("SELECT name_key, entity_id FROM entity_names")}
    assert names["acme corp"] == "acme CORP"
    assert names["東京"] == "東京"


def test_facts_mention_the_entities_whose_labels_they_contain(ledger: Ledger) -> None:
    run(ledger, "contract.db")
    mentions = Graph(ledger).mentions()
    assert mentions["01KT2H6QZ0GZ2HCSCS7FWF001A"] == ("東京",)
    assert mentions["01KT3NHF003F6MPPZMP2CW000K"] == ("release 8.2",)


@pytest.mark.parametrize("name", ["gray.db", "contract.db", "memories.json"])
def test_importing_again_adds_nothing_and_leaves_no_entry(ledger: Ledger, name: str) -> None:
    run(ledger, name)
    seq = ledger.last_seq()
    assert run(ledger, name).imported == Counts()
    assert ledger.last_seq() == seq


def test_the_json_export_of_an_imported_store_adds_nothing(ledger: Ledger) -> None:
    run(ledger, "gray.db")
    report = run(ledger, "memories.json")
    assert report.found == Counts(facts=200)
    assert (report.imported, report.skipped) == (Counts(), ())


def test_the_json_export_gives_the_same_facts_as_the_store(tmp_path: Path) -> None:
    found = []
    for name in ("gray.db", "memories.json"):
        with Ledger.open(tmp_path / name, clock=FrozenClock()) as ledger:
            run(ledger, name)
            with ledger.read() as connection:
                rows = connection.exec_driver_sql(
                    "SELECT id, agent_id, text, created_ns, accessed_ns, access_count, weight, confidence FROM facts"
                )
                found.append(sorted(tuple(row) for row in rows))
    assert found[0] == found[1]
    assert len(found[0]) == 200
