"""Importing GrayMatter stores through the door: detect, preview, apply, again, cancelled, undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import Memory
from gm_engine.errors import Cancelled, ImportRefused, NotFound
from gm_engine.progress import CancelToken
from gm_engine.records import BALANCED_WEIGHTS, Counts, FactQuery, JsonValue, Skipped, StoreSettings
from tests.fakes.bolt_writer import BoltWriter, Tree
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

Record = dict[str, JsonValue]


def open_memory(data_dir: Path) -> Memory:
    return Memory.open(data_dir, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "store") as opened:
        yield opened


def fact(n: int, **changes: JsonValue) -> Record:
    return {
        "id": f"01KT880Z00NYQ5MEWGJT{n:06d}",
        "agent_id": "agent",
        "text": f"Fact number {n}.",
        "created_at": f"2026-06-04T02:40:00.{n:09d}Z",
        "accessed_at": "2026-06-05T00:00:00Z",
        "access_count": n,
        "weight": 0.5,
        **changes,
    }


def as_json(path: Path, *facts: object) -> Path:
    path.write_text(json.dumps(facts), encoding="utf-8")
    return path


def as_bolt(path: Path, tree: Tree, *, txid: int = 7) -> Path:
    path.write_bytes(BoltWriter(per_page=3).build(tree, txid=txid))
    return path


def stored(*facts: Record, agent: bytes = b"agent") -> Tree:
    return {b"facts": {agent: {str(record["id"]).encode(): json.dumps(record).encode() for record in facts}}}


def test_a_json_export_is_told_from_a_store_by_its_content(memory: Memory, tmp_path: Path) -> None:
    odd = as_json(tmp_path / "facts.bin", fact(1))
    assert memory.import_store(odd).imported == Counts(facts=1)
    store = as_bolt(tmp_path / "store.json", stored(fact(2)))
    assert memory.import_store(store).imported == Counts(facts=1)


def test_a_byte_order_mark_and_white_space_do_not_hide_the_array(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_bytes(b"\xef\xbb\xbf \r\n" + json.dumps([fact(1)], indent=2).encode() + b"\n\n")
    assert memory.import_store(path).imported == Counts(facts=1)


def test_a_directory_stands_for_the_store_inside(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "project" / ".graymatter").mkdir(parents=True)
    path = as_bolt(tmp_path / "project" / ".graymatter" / "gray.db", stored(fact(1)))
    assert memory.import_store(tmp_path / "project").source == str(path)
    assert memory.import_store(path.parent).found == Counts(facts=1)
    with pytest.raises(NotFound, match=r"no gray\.db"):
        memory.import_store(tmp_path)


def test_a_missing_file_is_not_found(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        memory.import_preview(tmp_path / "gray.db")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"hello", "is not a readable bbolt file"),
        (b"SQLite format 3\0" + bytes(8192), "lacks the magic number"),
        (b'{"id": "a"}', "is no array of facts"),
        (b'[{"id": "a"}', "is no complete JSON array"),
        (b'[{"id": "a"} {"id": "b"}]', "no comma at character 13"),
        (b'[{"id": "a"},]', "is no complete JSON array"),
        (b'[{"id": "a]', "is no complete JSON document"),
        (b"[1] x", "goes on after the array, at character 3"),
        (b"[] x", "goes on after the array"),
        (b'["\xff"]', "is not UTF-8: byte 2"),
        (b"[" * 100_000, "nests values too deeply"),
    ],
)
def test_what_is_neither_is_refused_and_nothing_is_written(
    memory: Memory, tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "memories.json"
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=reason):
        memory.import_store(path)
    assert memory.last_seq() == 0


def test_an_empty_array_imports_nothing(memory: Memory, tmp_path: Path) -> None:
    assert memory.import_store(as_json(tmp_path / "m.json")).found == Counts()
    assert memory.last_seq() == 0


def test_elements_that_are_no_facts_are_listed_by_their_place(memory: Memory, tmp_path: Path) -> None:
    path = as_json(tmp_path / "m.json", 1, None, [], fact(1), {"text": "no id"}, fact(2, weight=float("nan")))
    report = memory.import_store(path)
    assert (report.found, report.imported) == (Counts(facts=6), Counts(facts=1))
    assert report.skipped == (
        Skipped("fact", "#1", "the record is not a JSON object"),
        Skipped("fact", "#2", "the record is not a JSON object"),
        Skipped("fact", "#3", "the record is not a JSON object"),
        Skipped("fact", "#5", "id is missing"),
        Skipped("fact", str(fact(2)["id"]), "weight is nan, not between 0 and 1"),
    )


def test_the_same_id_in_two_namespaces_is_listed(memory: Memory, tmp_path: Path) -> None:
    other = fact(1, agent_id="other")
    report = memory.import_store(as_json(tmp_path / "m.json", fact(1), other))
    assert report.imported == Counts(facts=1)
    assert report.skipped == (Skipped("fact", str(other["id"]), "the file holds this id twice, first under 'agent'"),)


def test_a_fact_under_another_namespace_than_it_says_is_listed(memory: Memory, tmp_path: Path) -> None:
    report = memory.import_store(as_bolt(tmp_path / "gray.db", stored(fact(1), agent=b"other")))
    assert report.imported == Counts()
    assert report.skipped == (Skipped("fact", str(fact(1)["id"]), "it is stored under 'other' and says 'agent'"),)


def test_records_outside_their_place_and_unknown_buckets_are_listed(memory: Memory, tmp_path: Path) -> None:
    tree: Tree = {
        b"facts": {b"loose": b"{}", b"\xff": {b"\xfe": b"{}"}},
        b"kg_nodes": {b"deep": {b"k": b'{"id": "k", "label": "k"}'}},
        b"idx_terms": {b"a": b"", b"b": b""},
        b"new_in_v9": {b"a": {b"b": {b"c": b""}}},
    }
    report = memory.import_store(as_bolt(tmp_path / "gray.db", tree))
    assert (report.found, report.imported) == (Counts(facts=2, entities=1), Counts())
    assert report.skipped == (
        Skipped("fact", "loose", "the record is not where the format puts it"),
        Skipped("fact", "\\xfe", "id is missing"),
        Skipped("entity", "k", "the record is not where the format puts it"),
        Skipped("idx_terms", "", "2 records not imported: a lookup index"),
        Skipped("new_in_v9", "", "1 record not imported: an unknown bucket"),
    )


def test_an_edge_whose_key_says_something_else_is_listed(memory: Memory, tmp_path: Path) -> None:
    edge = json.dumps({"from": "a", "to": "b", "relation": "r"}).encode()
    report = memory.import_store(as_bolt(tmp_path / "gray.db", {b"kg_edges": {b"a|b|r": edge, b"a|c|r": edge}}))
    assert report.imported == Counts(edges=1)
    assert report.skipped == (Skipped("edge", "a|c|r", "its key is 'a|c|r', its id 'a|b|r'"),)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": "Something else."}, "the store has this id with another text"),
        ({"created_at": "2026-06-04T02:40:00.1Z"}, "the store has this id with another time of writing"),
        ({"agent_id": "other"}, "the store has this id in another namespace, 'agent'"),
        ({"text": "x", "kind": "alias"}, "the store has this id with another text and kind"),
    ],
)
def test_an_id_with_other_content_is_listed_and_never_overwritten(
    memory: Memory, tmp_path: Path, change: Record, reason: str
) -> None:
    memory.import_store(as_json(tmp_path / "m.json", fact(1)))
    path = as_json(tmp_path / "n.json", {**fact(1), **change}, fact(2))
    preview = memory.import_preview(path)
    report = memory.import_store(path)
    assert report.imported == Counts(facts=1)
    assert report.skipped == (Skipped("fact", str(fact(1)["id"]), reason),)
    assert preview == report
    assert memory.get(str(fact(1)["id"])).text == "Fact number 1."


def test_a_fact_that_changed_since_the_import_is_no_conflict(memory: Memory, tmp_path: Path) -> None:
    path = as_json(tmp_path / "m.json", fact(1), fact(2))
    memory.import_store(path)
    memory.pin("agent", [str(fact(1)["id"])])
    memory.retire("agent", [str(fact(2)["id"])])
    report = memory.import_store(path)
    assert (report.imported, report.skipped) == (Counts(), ())
    assert memory.get(str(fact(1)["id"])).pinned
    assert memory.get(str(fact(2)["id"])).is_superseded


def test_a_preview_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    preview = memory.import_preview(as_bolt(tmp_path / "gray.db", stored(fact(1), fact(2))))
    assert preview.imported == Counts(facts=2)
    assert (memory.last_seq(), memory.agents()) == (0, ())


def test_the_origin_names_the_channel_and_the_file_but_not_its_place(memory: Memory, tmp_path: Path) -> None:
    memory.import_store(as_json(tmp_path / "memories.json", fact(1)))
    origin = memory.get(str(fact(1)["id"])).origin
    assert origin.channel == "import"
    assert [(source.kind, source.ref) for source in origin.sources] == [("file", "memories.json")]


def test_one_import_is_one_group_in_chunks_of_500(memory: Memory, tmp_path: Path) -> None:
    memory.import_store(as_json(tmp_path / "m.json", *(fact(n) for n in range(1201))))
    entries = memory.journal()
    assert [sum(change.kind == "fact" for change in entry.changes) for entry in entries] == [201, 500, 500]
    assert {(entry.verb, entry.actor.channel, entry.detail) for entry in entries} == {("import", "import", "m.json")}
    assert len({entry.group_id for entry in entries}) == 1


def test_an_import_is_undone_and_done_again(memory: Memory, tmp_path: Path) -> None:
    checkpoint = b'{"id":"c","agent_id":"agent","created_at":"2026-01-01T00:00:00Z","state":{"n":1}}'
    tree: Tree = {
        **stored(fact(1, text="Ask Maria.")),
        b"sessions": {b"agent": {b"c": checkpoint}},
        b"kg_nodes": {b"maria": b'{"id": "maria", "label": "Maria"}'},
        b"kg_edges": {b"maria|x|r": b'{"from": "maria", "to": "x", "relation": "r", "sources": ["1"]}'},
    }
    path = as_bolt(tmp_path / "gray.db", tree)
    first = memory.import_store(path)
    seen = (memory.fact_ids(FactQuery()), memory.checkpoints.load("c"), memory.graph.edges(), memory.graph.mentions())
    assert seen[3] == {str(fact(1)["id"]): ("maria",)}
    memory.undo(memory.journal()[0].seq)
    assert (memory.fact_ids(FactQuery()), memory.checkpoints.list(), memory.graph.edges()) == ([], (), ())
    assert memory.graph.mentions() == {}
    assert memory.import_store(path) == first
    again = (memory.fact_ids(FactQuery()), memory.checkpoints.load("c"), memory.graph.edges(), memory.graph.mentions())
    assert again == seen
    assert memory.settings.coverage_gate == 0.0


def test_a_cancelled_import_keeps_its_chunks_and_goes_on_later(memory: Memory, tmp_path: Path) -> None:
    path = as_json(tmp_path / "m.json", *(fact(n) for n in range(1201)))
    cancel = CancelToken()

    def stop_after_the_first_chunk(done: int, total: int | None, what: str) -> None:
        if what.startswith("Importing") and done >= 500:
            cancel.cancel()

    with pytest.raises(Cancelled):
        memory.import_store(path, progress=stop_after_the_first_chunk, cancel=cancel)
    kept = len(memory.fact_ids(FactQuery()))
    assert 500 <= kept < 1201
    assert memory.import_store(path).imported == Counts(facts=1201 - kept)
    assert memory.import_store(path).imported == Counts()


def test_mentions_that_a_kill_left_out_are_found_by_importing_again(memory: Memory, tmp_path: Path) -> None:
    tree: Tree = {
        **stored(fact(1, text="Ask Maria.")),
        b"kg_nodes": {b"maria": b'{"id": "maria", "label": "Maria"}'},
    }
    path = as_bolt(tmp_path / "gray.db", tree)

    def die_before_the_mentions(done: int, total: int | None, what: str) -> None:
        if what == "Finding mentions":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.import_store(path, progress=die_before_the_mentions)
    with memory._ledger.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM mentions").scalar_one() == 0
    assert memory.import_store(path).imported == Counts()
    assert memory.graph.mentions() == {str(fact(1)["id"]): ("maria",)}


def test_progress_is_reported_in_order_up_to_the_end(memory: Memory, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    memory.import_store(
        as_json(tmp_path / "m.json", *(fact(n) for n in range(700))),
        progress=lambda done, total, what: seen.append((done, total)) if what.startswith("Importing") else None,
    )
    assert seen == sorted(seen)
    assert seen[-1] == (700, 700)


def test_a_store_made_by_an_import_has_no_coverage_gate(memory: Memory, tmp_path: Path) -> None:
    memory.import_store(as_json(tmp_path / "m.json", fact(1)))
    assert memory.settings == StoreSettings(coverage_gate=0.0)


def test_importing_into_an_existing_store_leaves_its_settings(memory: Memory, tmp_path: Path) -> None:
    balanced = replace(memory.settings, signal_weights=BALANCED_WEIGHTS)
    memory.set_settings(balanced)
    memory.import_store(as_json(tmp_path / "m.json", fact(1)))
    assert memory.settings == balanced


def test_importing_after_the_first_fact_leaves_the_settings(memory: Memory, tmp_path: Path) -> None:
    memory.remember("agent", "Written here.")
    memory.import_store(as_json(tmp_path / "m.json", fact(1)))
    assert memory.settings == StoreSettings()


def test_an_import_of_nothing_but_damage_leaves_no_trace(memory: Memory, tmp_path: Path) -> None:
    report = memory.import_store(as_json(tmp_path / "m.json", fact(1, text="")))
    assert (report.found, report.imported, len(report.skipped)) == (Counts(facts=1), Counts(), 1)
    assert (memory.last_seq(), memory.settings) == (0, StoreSettings())


def test_hostile_texts_arrive_as_they_are(memory: Memory, tmp_path: Path) -> None:
    texts = ["a\0b", "[[x]]\n---\n<script>", "\u202eRTL", "😀" * 50, "x" * 1_000_000, "  spaces  ", "e\u0301 é \ufb01"]
    facts = [fact(n, text=text, agent_id=f"../{n}") for n, text in enumerate(texts)]
    memory.import_store(as_json(tmp_path / "m.json", *facts))
    assert [found.text for found in memory.facts([str(record["id"]) for record in facts])] == texts


def test_another_payload_under_a_checkpoint_s_id_is_listed(memory: Memory, tmp_path: Path) -> None:
    one = b'{"id":"c","agent_id":"a","created_at":"2026-01-01T00:00:00Z","state":{"n":1}}'
    other = one.replace(b'"n":1', b'"n":2')
    memory.import_store(as_bolt(tmp_path / "gray.db", {b"sessions": {b"a": {b"c": one}}}))
    report = memory.import_store(as_bolt(tmp_path / "other.db", {b"sessions": {b"a": {b"c": other}}}))
    assert report.imported == Counts()
    assert report.skipped == (Skipped("checkpoint", "c", "the store has this id with other content"),)
    assert memory.checkpoints.load("c").state == {"n": 1}


def test_a_second_store_merges_into_entities_and_edges(memory: Memory, tmp_path: Path) -> None:
    def tree(weight: float, seen: str, sources: list[str]) -> Tree:
        node = {"id": "m", "label": "Maria", "first_seen": seen, "last_seen": seen, "weight": weight}
        edge = {"from": "m", "to": "x", "relation": "r", "created_at": seen, "weight": weight, "sources": sources}
        return {b"kg_nodes": {b"m": json.dumps(node).encode()}, b"kg_edges": {b"m|x|r": json.dumps(edge).encode()}}

    memory.import_store(as_bolt(tmp_path / "1.db", tree(0.5, "2026-01-02T00:00:00Z", ["f1"])))
    first = memory.graph.entities()[0]
    report = memory.import_store(as_bolt(tmp_path / "2.db", tree(0.7, "2026-01-03T00:00:00Z", ["f2"])))
    assert report.imported == Counts()
    day_ns = 86_400_000_000_000
    assert first.last_seen_ns is not None
    assert memory.graph.entities() == (replace(first, weight=0.7, last_seen_ns=first.last_seen_ns + day_ns),)
    edge = memory.graph.edges()[0]
    assert (edge.weight, edge.sources, edge.created_ns) == (0.7, ("f1", "f2"), first.first_seen_ns)
    memory.undo(memory.journal()[0].seq)
    assert memory.graph.entities() == (first,)
    assert memory.graph.edges()[0].sources == ("f1",)
