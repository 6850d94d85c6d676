"""Importing what other programs remember: every format with a real sample, again, undone, and hostile files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import IMPORT_FORMATS, Memory
from gm_engine.errors import Cancelled, ImportRefused, InvalidInput, NotFound
from gm_engine.importing.found import moment
from gm_engine.progress import CancelToken
from gm_engine.records import Counts, Fact, FactQuery
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

SAMPLES = Path(__file__).resolve().parent.parent / "fixtures" / "importing"
MAPPED = {
    "facts.csv": {"text": "body", "agent": "who", "created": "written"},
    "facts.jsonl": {"text": "message.content"},
}
EVERY_SAMPLE = {
    "memory.jsonl": ("mcp-memory", Counts(8, 0, 4, 3), 0),
    "mem0.json": ("mem0", Counts(3, 0, 2, 1), 3),
    "mcp_memory_service.json": ("mcp-memory-service", Counts(2), 1),
    "claude_mem.json": ("claude-mem", Counts(4), 4),
    "claude_memories.json": ("memory-list", Counts(4), 0),
    "chatgpt_memories.txt": ("memory-list", Counts(5), 0),
    "CLAUDE.md": ("agent-instructions", Counts(5), 3),
    "facts.csv": ("csv", Counts(4), 1),
    "facts.jsonl": ("jsonl", Counts(2), 4),
    "notes": ("markdown", Counts(5, 0, 3, 2), 2),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def facts_of(memory: Memory, agent_id: str | None = None) -> dict[str, Fact]:
    return {fact.text: fact for fact in memory.list_facts(FactQuery(agent_id=agent_id))}


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", EVERY_SAMPLE)
def test_importing_twice_is_importing_once(memory: Memory, name: str) -> None:
    expected, counts, left = EVERY_SAMPLE[name]
    columns = MAPPED.get(name, {})
    looked = memory.import_preview(SAMPLES / name, columns=columns)
    assert memory.last_seq() == 0
    first = memory.import_store(SAMPLES / name, columns=columns)
    assert (first.format, first.imported, len(first.skipped)) == (expected, counts, left)
    assert looked == first
    listed, edges = facts_of(memory), memory.graph.edges()
    second = memory.import_store(SAMPLES / name, columns=columns)
    assert second.imported == Counts()
    assert (second.found, second.skipped) == (first.found, first.skipped)
    assert (facts_of(memory), memory.graph.edges()) == (listed, edges)
    assert memory.import_preview(SAMPLES / name, columns=columns).imported == Counts()


@pytest.mark.parametrize("name", EVERY_SAMPLE)
def test_an_import_is_undone_as_one_step_and_can_come_again(memory: Memory, name: str) -> None:
    columns = MAPPED.get(name, {})
    first = memory.import_store(SAMPLES / name, columns=columns)
    memory.undo(memory.last_seq())
    assert facts_of(memory) == {}
    assert memory.graph.edges() == ()
    assert memory.import_store(SAMPLES / name, columns=columns).imported == first.imported


def test_the_formats_are_listed_with_their_names(memory: Memory) -> None:
    names = [known.name for known in IMPORT_FORMATS]
    assert sorted({expected for expected, _, _ in EVERY_SAMPLE.values()} | {"graymatter"}) == sorted(names)
    with pytest.raises(InvalidInput, match="known: graymatter, mcp-memory"):
        memory.import_store(SAMPLES / "mem0.json", format="mem1")


def test_observations_name_their_entity_and_mention_it(memory: Memory) -> None:
    memory.import_store(SAMPLES / "memory.jsonl")
    fact = facts_of(memory, "mcp-memory")["Freight_Tool: Naïve café test: 当番表 ✓"]
    assert (fact.confidence, fact.origin.channel) == ("", "import")
    assert [(source.kind, source.ref) for source in fact.origin.sources] == [("file", "memory.jsonl")]
    assert memory.graph.mentions()[fact.id] == ("freight_tool",)
    edges = {(edge.from_id, edge.relation, edge.to_id) for edge in memory.graph.edges()}
    assert ("marta_keller", "leads", "porto warehouse") in edges


def test_memories_keep_their_owner_and_time_and_are_unverified(memory: Memory) -> None:
    report = memory.import_store(SAMPLES / "mem0.json")
    assert report.agents == ("marta", "sales")
    fact = facts_of(memory, "marta")["Prefers short answers with the figures first"]
    assert (fact.created_ns, fact.confidence) == (moment("2026-03-02T16:15:30.123456Z"), "unverified")
    reasons = {skip.id: skip.reason for skip in report.skipped}
    assert "twice, with another text" in reasons["memory 4"]
    assert reasons["memory 5"] == "memory is not a text"


def test_old_memories_do_not_fade_before_they_were_ever_used(memory: Memory) -> None:
    memory.import_store(SAMPLES / "mem0.json")
    memory.consolidate("marta")
    assert min(fact.weight for fact in facts_of(memory, "marta").values()) > 0.999


def test_one_agent_can_be_given_everything(memory: Memory) -> None:
    report = memory.import_store(SAMPLES / "mem0.json", agent_id="archive")
    assert report.agents == ("archive",)
    assert len(facts_of(memory, "archive")) == 3
    with pytest.raises(InvalidInput):
        memory.import_store(SAMPLES / "mem0.json", agent_id=" ")


def test_list_items_stand_under_their_heading_and_introduction(memory: Memory) -> None:
    report = memory.import_store(SAMPLES / "CLAUDE.md")
    texts = facts_of(memory)
    assert "Commands: `make demo` needs a database: it listens on port 5433" in texts
    assert "Style: Never log personal data" in texts
    assert {skip.id for skip in report.skipped} == {"a table", "code", "prose"}


def test_notes_become_facts_and_links(memory: Memory) -> None:
    report = memory.import_store(SAMPLES / "notes")
    texts = facts_of(memory)
    rounding = "Freight tool: Weights are rounded up to full kilograms #rules (carriers bill them so)"
    assert texts[rounding].created_ns == moment("2026-02-01")
    assert [source.ref for source in texts[rounding].origin.sources] == ["notes/projects/Freight.md"]
    assert "Night shift: The night shift of the Porto warehouse starts at 22:00." in texts
    assert "Night shift: Ask for a second forklift" in texts
    assert "Night shift: Keys: the spare key hangs in the office" in texts
    assert {(edge.from_id, edge.relation, edge.to_id) for edge in memory.graph.edges()} == {
        ("freight tool", "depends_on", "tariff file"),
        ("freight tool", "maintained_by", "marta"),
    }
    assert {skip.id for skip in report.skipped} == {"Night shift.md", "published.md"}


def test_dates_in_brackets_are_times_not_words(memory: Memory) -> None:
    memory.import_store(SAMPLES / "chatgpt_memories.txt")
    texts = facts_of(memory, "assistant")
    assert texts["Prefers metric units"].created_ns == moment("2026-03-01")
    assert "Has two cats, Ada and Bo" in texts
    assert "Lives near the river" in texts


def test_unknown_labels_of_a_table_are_kept(memory: Memory) -> None:
    memory.import_store(SAMPLES / "facts.csv", columns=MAPPED["facts.csv"])
    texts = facts_of(memory)
    assert texts["The Porto quote expires in May"].confidence == "probably"
    assert texts["Nobody owns this one"].agent_id == "imported"
    assert texts['A text with "quotes"\nand a second line'].created_ns == moment("2026-01-06T10:00:00Z")


def test_a_table_without_a_text_column_asks_for_one(memory: Memory, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "alpha,beta\n1,2\n")
    with pytest.raises(ImportRefused, match=r"--map text=COLUMN; its columns: alpha, beta") as refused:
        memory.import_preview(table)
    assert refused.value.fields["columns"] == ("alpha", "beta")
    with pytest.raises(ImportRefused, match="no column 'gamma'"):
        memory.import_preview(table, columns={"text": "gamma"})
    with pytest.raises(InvalidInput, match="Unknown field 'body'"):
        memory.import_preview(table, columns={"body": "alpha"})
    assert memory.import_store(table, columns={"text": "alpha"}).columns == ("alpha", "beta")


def test_a_table_whose_header_cannot_be_read_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=r"t\.csv has no header that can be read"):
        memory.import_preview(written(tmp_path / "t.csv", b"text," + b"x" * 5_000_000 + b"\none,two\n"))


def test_columns_are_for_tables_only(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="no columns"):
        memory.import_store(SAMPLES / "mem0.json", columns={"text": "memory"})


def test_a_retired_or_revised_import_does_not_come_back(memory: Memory) -> None:
    memory.import_store(SAMPLES / "facts.csv", columns=MAPPED["facts.csv"])
    text = "The Porto quote expires in May"
    memory.revise("sales", text, "The Porto quote expired")
    again = memory.import_store(SAMPLES / "facts.csv", columns=MAPPED["facts.csv"])
    assert again.imported == Counts()
    assert text not in facts_of(memory)


def test_a_text_that_the_agent_knows_or_must_not_know_is_listed(memory: Memory) -> None:
    memory.remember("marta", "Is allergic to peanuts")
    memory.blocked.add("Prefers short answers with the figures first")
    report = memory.import_store(SAMPLES / "mem0.json")
    assert report.imported.facts == 1
    reasons = {skip.id: skip.reason for skip in report.skipped}
    assert "remembers this text already" in reasons["Is allergic to peanuts"]
    assert "blocked" in reasons["Prefers short answers with the figures first"]


def test_the_same_memory_in_two_formats_is_one_fact(memory: Memory, tmp_path: Path) -> None:
    memory.import_store(written(tmp_path / "a.txt", "- Likes tea\n"), agent_id="me")
    report = memory.import_store(written(tmp_path / "b.csv", "text\nLikes tea\n"), agent_id="me")
    assert report.imported == Counts()
    assert len(facts_of(memory)) == 1


# --- hostile files ----------------------------------------------------------------------------------------------------


def test_half_a_document_leaves_no_trace(memory: Memory, tmp_path: Path) -> None:
    whole = json.dumps({"results": [{"memory": f"fact {n}", "user_id": "u"} for n in range(2000)]})
    with pytest.raises(ImportRefused, match="no complete JSON"):
        memory.import_store(written(tmp_path / "mem0.json", whole[:-20]))
    assert memory.last_seq() == 0


@pytest.mark.parametrize("content", ["[" * 100_000, '{"memory": ' * 100_000, '{"memory": "x", "user_id": 1', "[1,]"])
def test_nested_and_broken_documents_are_refused(memory: Memory, tmp_path: Path, content: str) -> None:
    with pytest.raises(ImportRefused):
        memory.import_store(written(tmp_path / "mem0.json", content), format="mem0")
    assert memory.last_seq() == 0


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)
def test_byte_order_marks_are_understood(memory: Memory, tmp_path: Path, encoding: str, mark: bytes) -> None:
    sample = (SAMPLES / "memory.jsonl").read_text(encoding="utf-8").replace("\n", "\r\n")
    report = memory.import_store(written(tmp_path / "memory.jsonl", mark + sample.encode(encoding)))
    assert (report.format, report.imported) == ("mcp-memory", Counts(8, 0, 4, 3))
    assert "Freight_Tool: Naïve café test: 当番表 ✓" in facts_of(memory)


def test_a_line_in_another_encoding_is_the_only_one_left_out(memory: Memory, tmp_path: Path) -> None:
    lines = [b'{"type":"entity","name":"A","entityType":"person","observations":["good"]}']
    lines += ['{"type":"entity","name":"B","entityType":"person","observations":["größer"]}'.encode("latin-1")]
    report = memory.import_store(written(tmp_path / "memory.jsonl", b"\n".join(lines)))
    assert [skip.reason for skip in report.skipped] == ["invalid UTF-8 at byte 69"]
    assert list(facts_of(memory)) == ["A: good"]


def test_a_table_in_another_encoding_is_refused_whole(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=r"no table in UTF-8 \(line 3"):
        memory.import_store(written(tmp_path / "t.csv", b"text\nfine\ngr\xf6\xdfer\n"))
    assert memory.last_seq() == 0


def test_large_texts_nul_and_surrogates(memory: Memory, tmp_path: Path) -> None:
    records: list[dict[str, object]] = [{"memory": "word " * 200_000}, {"memory": "x" * (1 << 20) + "y"}]
    records += [{"memory": "with \0 inside"}, {"memory": "\ud800 alone"}, {"memory": "fine", "created_at": 1e400}]
    path = written(tmp_path / "mem0.json", json.dumps([{**record, "user_id": "u"} for record in records]))
    report = memory.import_store(path)
    assert report.imported.facts == 2
    assert [skip.id for skip in report.skipped] == ["memory 2", "memory 3", "memory 4"]
    assert {len(text) for text in facts_of(memory)} == {4, 1_000_000}


def test_links_out_of_a_folder_are_not_followed(memory: Memory, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    written(secret / "key.md", "A secret\n")
    folder = tmp_path / "notes"
    folder.mkdir()
    written(folder / "own.md", "My own words\n")
    (folder / "link.md").symlink_to(secret / "key.md")
    (folder / "deeper").symlink_to(secret, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    report = memory.import_store(folder)
    assert list(facts_of(memory)) == ["own: My own words"]
    assert {skip.id for skip in report.skipped} == {"link.md", "deeper", "loop"}


@pytest.mark.parametrize("mark", ["[", "[[", "![[", "[[a|", "> ", "- ", "*a ", "`", "|", "<"])
def test_a_note_made_to_be_slow_is_read_in_time(memory: Memory, tmp_path: Path, mark: str) -> None:
    looked = memory.import_preview(written(tmp_path / "note.md", mark * 200_000))
    assert looked.found.facts <= 1


def test_lines_of_utf_16_end_where_lines_end(memory: Memory, tmp_path: Path) -> None:
    text = json.dumps({"text": "one \u2028 two"}, ensure_ascii=False) + '\r\n{"text": "three"}\r\n'
    report = memory.import_store(written(tmp_path / "f.jsonl", b"\xff\xfe" + text.encode("utf-16-le")))
    assert (report.imported.facts, report.skipped) == (2, ())


def test_a_pipe_is_no_file(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "facts.csv")
    with pytest.raises(ImportRefused, match="not a regular file"):
        memory.import_store(tmp_path / "facts.csv")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that opens and cannot be read")
def test_a_disk_that_fails_in_the_middle_is_a_refusal(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").symlink_to("/proc/self/mem")
    with pytest.raises(ImportRefused, match=r"memory\.jsonl cannot be read: Input/output error"):
        memory.import_store(tmp_path / "memory.jsonl")


def test_what_nobody_knows_is_refused_by_name(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=r"cat\.png is of no format"):
        memory.import_store(written(tmp_path / "cat.png", b"\x89PNG\r\n"))
    with pytest.raises(NotFound):
        memory.import_store(tmp_path / "nowhere.csv")


def test_a_long_list_of_refusals_is_cut_by_reason(memory: Memory, tmp_path: Path) -> None:
    path = written(tmp_path / "facts.jsonl", '{"text": "one"}\n' + "nonsense\n" * 3000)
    report = memory.import_store(path)
    assert report.imported.facts == 1
    assert len(report.skipped) < 1010
    assert report.skipped[-1].reason.startswith("2000 more: invalid JSON")


def test_a_large_file_is_imported_in_chunks_and_can_be_cancelled(memory: Memory, tmp_path: Path) -> None:
    path = written(tmp_path / "facts.jsonl", "".join(f'{{"text": "Row {n}."}}\n' for n in range(1200)))
    cancel = CancelToken()

    def stop(done: int, total: int | None, what: str) -> None:
        if what.startswith("Importing") and done >= 1000:
            cancel.cancel()

    with pytest.raises(Cancelled):
        memory.import_store(path, progress=stop, cancel=cancel)
    there = len(memory.fact_ids(FactQuery()))
    assert 0 < there < 1200
    assert memory.import_store(path).imported.facts == 1200 - there


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-01", 1767225600 * 10**9),
        ("2026-01-01T01:00:00+01:00", 1767225600 * 10**9),
        (1767225600, 1767225600 * 10**9),
        (1767225600000, 1767225600 * 10**9),
        ("1767225600.5", 17672256005 * 10**8),
        ("yesterday", None),
        (float("nan"), None),
        (True, None),
        (-5, None),
        (10**18, None),
        ({"seconds": 5}, None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31", None),
    ],
)
def test_times_of_every_kind(value: object, expected: int | None) -> None:
    assert moment(value) == expected
