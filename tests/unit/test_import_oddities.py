"""Other programs' files as they are found: half broken, in older shapes, with what is no memory among the memories."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import Memory
from gm_engine.errors import ImportRefused, InvalidInput, NotFound
from gm_engine.records import FactQuery, ImportReport
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def imported(memory: Memory, path: Path, content: str, **options: object) -> tuple[list[str], dict[str, str]]:
    """The texts that came, sorted, and why which record was left."""
    path.write_text(content, encoding="utf-8")
    report: ImportReport = memory.import_store(path, **options)  # type: ignore[arg-type]
    texts = sorted(fact.text for fact in memory.list_facts(FactQuery()))
    return texts, {skip.id: skip.reason for skip in report.skipped}


def test_an_export_of_claude_is_read_in_each_of_its_shapes(memory: Memory, tmp_path: Path) -> None:
    export = [
        {
            "conversations_memory": "**Work**\n\n- Ana leads the team.\n\n```\ncode\n```\n",
            "project_memories": {"p": "The quay is closed."},
        },
        {"project_memories": ["- The crane is new.", 7]},
        {"memory": "Bo likes tea.", "created_at": "2026-03-02T16:15:30Z"},
        {"content": " "},
        "A text alone.",
        7,
    ]
    texts, left = imported(memory, tmp_path / "memories.json", json.dumps(export), format="memory-list")
    assert texts == [
        "A text alone.",
        "Ana leads the team.",
        "Bo likes tea.",
        "The crane is new.",
        "The quay is closed.",
    ]
    assert left["memory 4"] == "it holds no memory"
    assert left["memory 6"] == "it is neither a text nor an object"
    assert any("is no memory" in reason for reason in left.values())


def test_a_list_of_memories_may_hold_headings_fences_and_bytes_that_are_no_text(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.txt"
    lines = [
        b"# Memories",
        b"Saved so far:",
        b"```",
        b"- [2026-03-02] - Ana leads.",
        b"",
        b"\xff\xfe",
        b"* Bo likes tea.",
    ]
    path.write_bytes(b"\n".join([*lines, b"[no date] - The quay is closed.", b"[sic] - not a date"]))
    report = memory.import_store(path)
    texts = sorted(fact.text for fact in memory.list_facts(FactQuery()))
    assert texts == ["Ana leads.", "Bo likes tea.", "The quay is closed.", "[sic] - not a date"]
    assert [skip.id for skip in report.skipped] == ["line 6"]


def test_a_graph_of_the_memory_server_leaves_what_has_no_name_or_end(memory: Memory, tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Ana", "entityType": 7, "observations": ["leads", " ", 7]},
        {"type": "entity", "name": " "},
        {"type": "entity", "name": "Bo", "observations": "likes tea"},
        {"type": "relation", "from": "Ana", "to": "", "relationType": "knows"},
        {"type": "relation", "from": "Ana", "to": "Bo", "relationType": "knows"},
        {"type": "secret"},
    ]
    content = "\n".join(json.dumps(line) for line in lines)
    texts, left = imported(memory, tmp_path / "memory.jsonl", content, format="mcp-memory")
    assert texts == ["Ana: leads"]
    assert {(edge.from_id, edge.relation, edge.to_id) for edge in memory.graph.edges()} == {("ana", "knows", "bo")}
    assert sorted(set(left.values())) == [
        "from, to or relationType is missing",
        "it has no name",
        "its type is neither entity nor relation",
        "observations is not a list",
        "the observation is not a text",
    ]


def test_observations_of_claude_mem_hold_facts_a_title_or_nothing(memory: Memory, tmp_path: Path) -> None:
    export = {
        "observations": [
            {"facts": '["The gate opens at nine.", " "]', "project": "ops"},
            {"facts": "not json", "title": "Quay", "narrative": "It is closed."},
            {"facts": 7, "text": "A text alone."},
            {"facts": []},
            "no object",
        ],
        "summaries": [{"learned": "Cranes are slow."}, {"learned": ""}],
    }
    texts, left = imported(memory, tmp_path / "claude_mem.json", json.dumps(export), format="claude-mem")
    assert texts == ["A text alone.", "Cranes are slow.", "Quay: It is closed.", "The gate opens at nine."]
    assert "the record is not a JSON object" in left.values()
    assert "nothing was learnt" in left.values()
    assert list(left.values()).count("it holds no text") == 2


def test_a_table_with_an_endless_cell_loses_that_row_only(memory: Memory, tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    try:
        path = tmp_path / "facts.tsv"
        endless = "x" * 5_000_000
        texts, left = imported(memory, path, f"text\twho\nShort one.\ta\n{endless}\tb\nShort two.\tc\n", format="csv")
    finally:
        csv.field_size_limit(limit)
    assert texts == ["Short one.", "Short two."]
    assert len(left) == 1


def test_a_table_in_another_encoding_is_refused_with_what_to_do(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_bytes("text\nDer Kühlraum ist zu.\n".encode("latin-1"))
    with pytest.raises(ImportRefused, match="save it as CSV UTF-8"):
        memory.import_store(path)
    (tmp_path / "empty.csv").write_text("\n\n")
    with pytest.raises(ImportRefused, match="no header"):
        memory.import_store(tmp_path / "empty.csv", format="csv")
    assert memory.last_seq() == 0


def test_lines_without_one_object_have_no_columns(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused):
        imported(memory, tmp_path / "facts.jsonl", "[1]\n7\n", columns={"text": "message"})


def test_a_folder_of_notes_is_read_without_its_links_and_with_front_matter_that_is_none(
    memory: Memory, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "one.md").write_text("---\nkey: [unclosed\n---\nThe gate opens at nine.\n")
    (notes / "deep" / "two.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "three.md").write_text("The quay is closed.")
    (notes / "linked").symlink_to(tmp_path / "outside")
    report = memory.import_store(notes, format="markdown")
    assert [fact.text for fact in memory.list_facts(FactQuery())] == ["one: The gate opens at nine."]
    assert {skip.id for skip in report.skipped} == {"linked", "deep/two.md"}


def test_what_is_no_file_is_refused(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gray.db")
    with pytest.raises(ImportRefused, match="regular file"):
        memory.import_store(tmp_path / "gray.db", format="graymatter")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match=r"gray\.db"):
        memory.import_store(tmp_path / "empty", format="graymatter")


# Our own dump ---------------------------------------------------------------------------------------------------------


def dumped(tmp_path: Path) -> list[str]:
    with Memory.open(tmp_path / "source", clock=FrozenClock(), background=False) as source:
        source.remember("ops", "The gate opens at nine.")
        return list(source.dump())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("rows", None), "damaged"),
        (("name", "strangers"), "not understood"),
    ],
)
def test_a_dump_that_somebody_edited_is_refused_whole(
    memory: Memory, tmp_path: Path, change: tuple[str, str | None], why: str
) -> None:
    document = json.loads("\n".join(dumped(tmp_path)))
    what, value = change
    path = tmp_path / "store.json"
    text = json.dumps(document)
    assert '"facts"' in text
    if what == "rows":
        text = text.replace('"The gate opens at nine."', '"The gate opens at nine.", "and more"', 1)
    else:
        text = text.replace('"facts"', f'"{value}"', 1)
    path.write_text(text)
    with pytest.raises(ImportRefused, match=why):
        memory.import_store(path)
    assert memory.list_facts(FactQuery()) == ()


# Records beside the usual ---------------------------------------------------------------------------------------------


def test_a_name_that_no_graph_can_carry_leaves_its_entity_and_its_links_out(memory: Memory, tmp_path: Path) -> None:
    lines = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": []},
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": []},
        {"type": "entity", "name": "x" * 1001, "entityType": "person", "observations": []},
        {"type": "relation", "from": "Ana", "to": "B\0", "relationType": "knows"},
    ]
    content = "\n\n".join(json.dumps(line) for line in lines)
    _, left = imported(memory, tmp_path / "memory.jsonl", content, format="mcp-memory")
    assert [entity.label for entity in memory.graph.entities()] == ["Ana"]
    assert memory.graph.edges() == ()
    assert list(left.values()) == ["a name is blank, holds a NUL character or more than 1,000 characters"] * 2


def test_records_that_are_no_objects_are_left_by_their_place(memory: Memory, tmp_path: Path) -> None:
    service = {"memories": [7, {"content": "The gate opens at nine."}], "version": 1}
    texts, left = imported(memory, tmp_path / "service.json", json.dumps(service), format="mcp-memory-service")
    assert (texts, left["memory 1"]) == (["The gate opens at nine."], "the record is not a JSON object")
    mem0 = {"results": [], "relations": [7, {"source": "Ana", "relationship": "knows", "target": "Bo"}]}
    _, left = imported(memory, tmp_path / "mem0.json", json.dumps(mem0), format="mem0")
    assert left == {"relations": "source, target or relationship is missing"}
    assert len(memory.graph.edges()) == 1
    export = {"account": 7, "memory": "Bo likes tea.", "conversations_memory": 7}
    texts, left = imported(memory, tmp_path / "memories.json", json.dumps(export), format="memory-list")
    assert "it is neither a text nor an object" in left.values()


def test_an_object_whose_member_has_no_name_is_refused_with_its_place(memory: Memory, tmp_path: Path) -> None:
    for content in ('{7: "x"}', '{"memories" "x"}'):
        with pytest.raises(ImportRefused, match="no name at character"):
            imported(memory, tmp_path / "service.json", content, format="mcp-memory-service")


def test_a_line_without_end_is_one_record_that_is_left_out(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gm_engine.importing.text_files.MAX_LINE_BYTES", 1 << 20)
    endless = json.dumps({"text": "x" * (5 << 19)})
    content = f'{{"text": "The gate opens at nine."}}\n{endless}\n\n{{"text": "The quay is closed."}}\n'
    texts, left = imported(memory, tmp_path / "facts.jsonl", content, agent_id="ops")
    assert texts == ["The gate opens at nine.", "The quay is closed."]
    assert left == {"line 2": "longer than 1 MiB"}


def test_a_file_of_instructions_without_end_is_refused_by_its_size(memory: Memory, tmp_path: Path) -> None:
    with (tmp_path / "CLAUDE.md").open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(ImportRefused, match=r"CLAUDE\.md is larger than \d+ MiB"):
        memory.import_store(tmp_path / "CLAUDE.md")


def test_of_very_many_agents_the_first_are_named(memory: Memory, tmp_path: Path) -> None:
    rows = "".join(f"The gate {n} opens.,agent {n:02}\n" for n in range(25))
    (tmp_path / "facts.csv").write_text(f"text,agent\n{rows}")
    report = memory.import_store(tmp_path / "facts.csv")
    assert report.imported.facts == 25
    assert report.agents == tuple(f"agent {n:02}" for n in range(20))


def test_columns_are_not_mapped_for_a_store_of_our_own(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "memories.json").write_text("[]")
    with pytest.raises(InvalidInput, match="no columns"):
        memory.import_store(tmp_path / "memories.json", format="graymatter", columns={"text": "body"})


def test_a_dump_is_previewed_and_comes_whole_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gm_engine.store.dump._BATCH", 2)
    path = tmp_path / "store.json"
    with Memory.open(tmp_path / "source", clock=FrozenClock(), background=False) as source:
        for number in range(5):
            source.remember("ops", f"The gate {number} opens.")
        path.write_text("".join(source.dump()))
    with Memory.open(tmp_path / "copy", clock=FrozenClock(), background=False) as copy:
        assert copy.import_preview(path).found.facts == 5
        assert copy.list_facts(FactQuery()) == ()
        copy.import_store(path)
        assert len(copy.list_facts(FactQuery())) == 5


def test_a_dump_of_another_shape_or_another_version_is_refused(memory: Memory, tmp_path: Path) -> None:
    document = json.loads("".join(dumped(tmp_path)))
    path = tmp_path / "store.json"
    for change, words in (({"tables": None}, "damaged"), ({"schema": 1}, "another version")):
        path.write_text(json.dumps({**document, **change}))
        with pytest.raises(ImportRefused, match=words):
            memory.import_store(path)
    assert memory.list_facts(FactQuery()) == ()


def test_a_quote_that_is_never_closed_is_named_and_brings_no_text_of_the_rows_that_it_takes(
    memory: Memory, tmp_path: Path
) -> None:
    content = 'text,agent\n"It said ""go"", and went.",a\nShort one.,b\n"It is open,c\nShort two.,d\n'
    texts, left = imported(memory, tmp_path / "facts.csv", content)
    assert texts == ['It said "go", and went.', "Short one."]
    assert left == {"line 4": "a quote in it is never closed, so that all that follows belongs to it"}


def test_lines_of_a_table_may_end_as_on_an_old_mac_and_begin_late(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_bytes(b'\r\rtext;agent\rShort, one.;a\r"Two\rlines.";b\r')
    memory.import_store(tmp_path / "facts.csv")
    assert {(fact.agent_id, fact.text) for fact in memory.list_facts(FactQuery())} == {
        ("a", "Short, one."),
        ("b", "Two\rlines."),
    }


def test_a_number_of_thousands_of_digits_is_no_advice_to_programmers(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "memories.json").write_text('[{"id": ' + "9" * 5_000 + "}]")
    with pytest.raises(ImportRefused, match="a number of too many digits") as refused:
        memory.import_store(tmp_path / "memories.json")
    assert "sys" not in refused.value.message
