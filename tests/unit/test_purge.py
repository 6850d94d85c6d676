"""Purging: afterwards the text is nowhere in the data directory, and everything else still holds."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gm_engine import (
    BackupSchedule,
    BlockedValue,
    Cancelled,
    CancelToken,
    DiskFull,
    FactQuery,
    InvalidInput,
    Memory,
    NewProposal,
    NotFound,
    UndoConflict,
    verify_backup,
)
from gm_engine.doctor import Verdict, examine
from gm_engine.graph.records import DictionaryEntry
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store.database import LEDGER_NAME, Ledger
from gm_engine.store.entities import upsert_edges, upsert_entities
from gm_engine.store.graph_marks import mark_meaning
from gm_engine.terms import text_key
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.replay import replay

SECRET = 'The vault\'s "code" is Xyzzy-4711 \\ zażółć.'
WORD = "Xyzzyplugh"


def open_store(path: Path) -> Memory:
    return Memory.open(path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_store(tmp_path / "store") as opened:
        opened.remember("scout", "The gate opens at nine.")
        yield opened


def holders(data_dir: Path, *needles: str) -> list[str]:
    """The files that hold one of the needles, packed ledgers included."""
    wanted = [needle.encode() for needle in needles]
    found = []
    for path in sorted(data_dir.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                data += b"".join(archive.read(name) for name in archive.namelist())
        if any(needle in data for needle in wanted):
            found.append(path.name)
    return found


def is_sound(data_dir: Path) -> bool:
    return all(finding.verdict is not Verdict.BROKEN for finding in examine(data_dir) if finding.check != "model")


def live(memory: Memory) -> list[str]:
    return [fact.text for fact in memory.list_facts(FactQuery(descending=False))]


def test_a_purged_text_is_nowhere_in_the_data_directory(memory: Memory) -> None:
    fact = memory.remember("scout", SECRET)
    memory.copy("scout", [fact.id], "miner")
    revised = memory.revise("scout", [fact.id], "The vault has a new lock.")
    memory.label("miner", [memory.fact_ids(FactQuery(agent_id="miner"))[0]], "verified")
    memory.undo(memory.remember("scout", SECRET).version)
    memory.wait_for_embeddings()
    assert LEDGER_NAME + "-wal" in holders(memory.data_dir, "Xyzzy-4711")
    report = memory.purge(SECRET)
    assert (report.facts, report.incomplete, report.still_in) == (2, (), ())
    assert report.removed_bytes > 6 * len(SECRET.encode())
    assert report.vectors == 1
    assert holders(memory.data_dir, SECRET, "Xyzzy-4711", "zażółć") == []
    assert memory.facts([fact.id]) == []
    assert live(memory) == ["The gate opens at nine.", revised.text]
    assert is_sound(memory.data_dir)


def test_a_word_that_only_the_purged_text_had_is_gone_from_the_index(memory: Memory) -> None:
    memory.remember("scout", f"Say {WORD} at the gate.")
    memory.purge(f"Say {WORD} at the gate.")
    assert holders(memory.data_dir, WORD, WORD.lower()[:8]) == []
    assert memory.recall("scout", "gate opens", preview=True).facts[0].text == "The gate opens at nine."


def test_a_single_word_goes_even_where_another_fact_has_the_same_stem(memory: Memory) -> None:
    memory.remember("scout", "Xyzzyplughs")
    memory.remember("scout", "xyzzyplugh is a spell")
    memory.purge("Xyzzyplughs")
    assert holders(memory.data_dir, "Xyzzyplughs") == []


def test_every_composition_of_the_text_goes(memory: Memory) -> None:
    memory.remember("scout", "caf\u00e9 noir secret")
    memory.remember("miner", "cafe\u0301 noir secret")
    assert memory.purge("cafe\u0301 noir secret").facts == 2
    assert holders(memory.data_dir, "noir secret") == []


def test_with_containing_every_fact_that_holds_the_text_goes(memory: Memory) -> None:
    memory.remember("scout", f"The token {WORD} opens the door.")
    memory.remember("miner", f"Ana said: {WORD}.")
    assert memory.purge(WORD, containing=True).facts == 2
    assert holders(memory.data_dir, WORD) == []
    assert live(memory) == ["The gate opens at nine."]


def test_what_holds_the_text_within_something_longer_is_left_and_named(memory: Memory) -> None:
    longer = memory.remember("scout", f"{SECRET} Keep it.")
    memory.remember("scout", SECRET)
    checkpoint = memory.checkpoints.save("scout", state={"note": SECRET})
    report = memory.purge(SECRET)
    assert report.facts == 1
    assert set(report.still_in) == {f"fact {longer.id}", f"checkpoint {checkpoint.id}"}
    assert memory.get(longer.id) == longer


def test_the_journal_still_replays_and_a_purge_is_never_undone(memory: Memory) -> None:
    fact = memory.remember("scout", SECRET)
    memory.pin("scout", [fact.id])
    old = memory.remember("scout", "An older wording.")
    memory.revise("scout", [old.id], "A newer wording.")
    memory.purge(SECRET)
    purge_seq = memory.last_seq()
    entries = memory.journal(limit=1000)
    facts = {target: version for target, (version, _) in replay(reversed(entries), kind="fact").items()}
    assert facts == {f.id: f.version for f in memory.list_facts(FactQuery(status="all"))}
    assert SECRET not in repr(entries)
    for seq in (purge_seq, fact.version, fact.version + 1):
        with pytest.raises(UndoConflict):
            memory.undo(seq)
    memory.undo(memory.revise("scout", [memory.fact_ids(FactQuery())[0]], "Something.").version)


def test_time_travel_to_before_a_purge_shows_everything_but_the_text(memory: Memory) -> None:
    before = memory.last_seq() + 2
    memory.remember("scout", SECRET)
    with memory.at(before_seq=before) as view:
        assert len(view.fact_ids(FactQuery())) == 2
        memory.purge(SECRET)
        assert [fact.text for fact in view.list_facts(FactQuery())] == ["The gate opens at nine."]
        assert [fact.text for fact in view.recall("scout", "vault gate").facts] == ["The gate opens at nine."]


def test_facts_that_a_purged_one_replaced_stay_retired(memory: Memory) -> None:
    old = memory.remember("scout", "An older wording.")
    memory.revise("scout", [old.id], SECRET)
    memory.purge(SECRET)
    assert memory.get(old.id).superseded_by == "agent"
    assert is_sound(memory.data_dir)


def test_links_forget_the_facts_that_were_purged(memory: Memory) -> None:
    fact, other = memory.remember("scout", SECRET), memory.remember("scout", "Ana lives in Faro.")
    with (
        Ledger.open(memory.data_dir, clock=FrozenClock("2027-01-01T00:00:00Z")) as ledger,
        ledger.write("link", origin=Origin("library")) as tx,
    ):
        upsert_entities(tx, [Entity("ana", "Ana", "person", None, None, 0.5, "person")])
        upsert_edges(tx, [Edge("ana", "faro", "lives in", 1, 0.5, "person", (fact.id, other.id))])
    memory.purge(SECRET)
    (edge,) = memory.graph.edges()
    assert edge.sources == (other.id,)


NAME = "Zanzibar Quokka"


def test_a_text_that_is_a_name_too_is_nowhere_in_the_data_directory(memory: Memory) -> None:
    fact = memory.remember("scout", NAME)
    memory.remember("scout", "Ana met Ben in Faro.")
    graph = memory.graph
    graph.add(NAME, "project")
    graph.add("Ana", "person")
    ids = {entity.label: entity.id for entity in graph.entities()}
    graph.link(ids["Ana"], ids[NAME], "related_to")
    graph.unlink(ids["Ana"], ids[NAME], "related_to")
    graph.link(ids["Ana"], ids[NAME], "related_to")
    with memory._ledger.write("split", origin=Origin("library")) as tx:
        mark_meaning(tx, ["01SOMEFACT"], named=ids[NAME], meant=ids["Ana"])
    graph.define(DictionaryEntry(NAME, "project", ("ZQ",)))
    memory.store_value("notes", "saved", {"query": NAME})
    memory.inbox.add([NewProposal("write", "review", "scout", (fact.id,), "same", text=f"About {NAME}.", reason=NAME)])
    memory.wait_for_embeddings()
    memory.backup()
    forms = (NAME, NAME.casefold())
    assert len(holders(memory.data_dir, *forms)) >= 2
    report = memory.purge(NAME)
    assert (report.facts, report.entities, report.incomplete) == (1, 1, ())
    left = [name.casefold() for name in holders(memory.data_dir, *forms)]
    assert left == []
    assert [entity.label for entity in graph.entities()] == ["Ana"]
    assert graph.edges() == ()
    assert is_sound(memory.data_dir)
    entries = memory.journal(limit=1000)
    assert {target for target, _ in replay(reversed(entries), kind="entity").items()} == {ids["Ana"]}
    assert replay(reversed(entries), kind="edge") == {}


def test_names_that_only_the_purged_fact_knew_go_and_others_stay(memory: Memory) -> None:
    memory.remember("scout", "Ana Pereira lives in Faro.")
    memory.remember("scout", "Ana Pereira works with Bartholomew Quux.")
    memory.graph.extract()
    assert {"Ana Pereira", "Bartholomew Quux"} <= {entity.label for entity in memory.graph.entities()}
    report = memory.purge("Ana Pereira works with Bartholomew Quux.")
    assert report.entities == 1
    assert "Ana Pereira" in {entity.label for entity in memory.graph.entities()}
    assert holders(memory.data_dir, "Bartholomew", "bartholomew") == []
    assert is_sound(memory.data_dir)


def test_the_graph_of_the_past_shows_a_marker_instead_of_a_purged_name(memory: Memory) -> None:
    memory.remember("scout", NAME)
    memory.graph.add(NAME, "project")
    before = memory.last_seq() + 1
    memory.purge(NAME)
    with memory.at(before_seq=before) as view:
        assert [entity.label for entity in view.graph.entities()] == ["[purged]"]
    for entry in memory.journal():
        if entry.verb != "purge":
            with pytest.raises((UndoConflict, InvalidInput)):
                memory.undo(entry.seq)
            break


def test_whole_checkpoints_go_only_when_that_is_asked_for(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    held = memory.checkpoints.save("scout", state={"note": SECRET})
    kept = memory.checkpoints.save("scout", state={"note": "nothing"})
    assert memory.purge(SECRET).still_in == (f"checkpoint {held.id}",)
    report = memory.purge(SECRET, checkpoints=True)
    assert (report.checkpoints, report.still_in, report.incomplete) == (1, (), ())
    assert [found.id for found in memory.checkpoints.list()] == [kept.id]
    assert holders(memory.data_dir, "Xyzzy-4711") == []
    assert is_sound(memory.data_dir)


def test_backups_are_rewritten_without_the_text_and_stay_sound(memory: Memory, tmp_path: Path) -> None:
    without = memory.backup()
    memory.remember("scout", SECRET)
    with_it = memory.backup()
    elsewhere = memory.backup(tmp_path / "elsewhere.zip")
    assert holders(memory.data_dir / "backups", "Xyzzy-4711")
    report = memory.purge(SECRET)
    assert report.backups == (with_it.path,)
    assert holders(memory.data_dir, "Xyzzy-4711") == []
    rewritten = verify_backup(Path(with_it.path))
    assert (rewritten.made_ns, rewritten.counts.facts) == (with_it.made_ns, 1)
    assert verify_backup(Path(without.path)) == without
    assert holders(tmp_path, "Xyzzy-4711") == ["elsewhere.zip"]
    assert Path(elsewhere.path).exists()


def test_backups_in_the_folder_of_the_schedule_are_rewritten_too(memory: Memory, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    memory.set_backup_schedule(BackupSchedule(1, 1, str(stick)))
    memory.remember("scout", SECRET)
    made = memory.backup_if_due()
    assert made is not None
    assert holders(stick, "Xyzzy-4711")
    report = memory.purge(SECRET)
    assert (report.backups, report.incomplete) == ((made.path,), ())
    assert holders(tmp_path, "Xyzzy-4711") == []
    assert verify_backup(Path(made.path)).counts.facts == 1


def test_a_folder_of_backups_that_is_away_leaves_the_purge_incomplete(memory: Memory, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    memory.set_backup_schedule(BackupSchedule(1, 1, str(stick)))
    memory.remember("scout", SECRET)
    stick.rmdir()
    assert memory.purge(SECRET).incomplete == (
        f"The backups in {stick} may still hold the text: the folder is not there.",
    )
    stick.mkdir()
    assert memory.purge(SECRET).incomplete == ()


def test_what_a_killed_backup_left_goes_with_the_text(memory: Memory, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    memory.set_backup_schedule(BackupSchedule(1, 1, str(stick)))
    memory.remember("scout", SECRET)
    packed = Path(memory.backup().path)
    half = packed.with_name(".mine.zip.partial")
    half.write_bytes(packed.read_bytes()[:-200])
    there = stick / ".graymatter-20260601T230000Z.zip.partial"
    there.write_bytes(packed.read_bytes()[:-200])
    (stick / ".somebody-elses.partial").write_bytes(b"x")
    assert memory.purge(SECRET).incomplete == ()
    assert [path.name for path in packed.parent.iterdir()] == [packed.name]
    assert [path.name for path in stick.iterdir()] == [".somebody-elses.partial"]


def test_half_a_backup_that_cannot_be_removed_leaves_the_purge_incomplete(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    half = memory.data_dir / "backups" / ".mine.zip.partial"
    half.mkdir(parents=True)
    assert memory.purge(SECRET).incomplete == (f"{half} may still hold the text; it could not be removed.",)


def test_a_copy_from_before_a_new_schema_is_deleted_when_it_holds_the_text(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    folder = memory.data_dir / "backups"
    folder.mkdir()
    for name in ("ledger-schema-1-5.sqlite", "other.sqlite"):
        with (
            closing(sqlite3.connect(memory.data_dir / LEDGER_NAME)) as source,
            closing(sqlite3.connect(folder / name)) as copy,
        ):
            source.backup(copy)
            if name == "other.sqlite":
                copy.executescript("DELETE FROM facts; DELETE FROM changes; DELETE FROM fact_terms; VACUUM")
    report = memory.purge(SECRET)
    assert report.backups == (str(folder / "ledger-schema-1-5.sqlite"),)
    assert [path.name for path in folder.iterdir()] == ["other.sqlite"]


def test_a_backup_that_cannot_be_read_is_named_as_incomplete_until_it_is_gone(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    broken = Path(memory.backup().path)
    broken.write_bytes(broken.read_bytes()[:-200])
    report = memory.purge(SECRET)
    assert [broken.name in sentence for sentence in report.incomplete] == [True]
    broken.unlink()
    again = memory.purge(SECRET)
    assert (again.facts, again.incomplete) == (0, ())
    with pytest.raises(NotFound):
        memory.purge(SECRET)


def test_a_reader_of_an_older_state_makes_the_purge_incomplete(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    with closing(sqlite3.connect(memory.data_dir / LEDGER_NAME, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM facts").fetchone()
        report = memory.purge(SECRET)
        assert any("log is emptied once" in sentence for sentence in report.incomplete)
        other.execute("COMMIT")
    assert memory.purge(SECRET).incomplete == ()
    assert holders(memory.data_dir, "Xyzzy-4711") == []


def test_a_disk_without_room_to_rewrite_the_file_makes_the_purge_incomplete(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Ledger) -> bool:
        raise DiskFull("The ledger cannot grow, because its disk is full; nothing was written.")

    memory.remember("scout", SECRET)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "compact", full)
        report = memory.purge(SECRET)
    assert report.facts == 1
    assert report.incomplete[0] == "The file is rewritten once the disk has room for a copy of it: purge again then."
    assert memory.purge(SECRET).incomplete == ()
    assert holders(memory.data_dir, "Xyzzy-4711") == []


def test_a_blocked_value_stays_blocked_by_its_hash_only(memory: Memory) -> None:
    fact = memory.remember("scout", SECRET)
    memory.retire("scout", [fact.id], block=True)
    memory.purge(SECRET)
    (block,) = memory.blocked.list()
    assert block.text is None
    assert holders(memory.data_dir, "Xyzzy-4711") == []
    with pytest.raises(BlockedValue):
        memory.remember("scout", f" {SECRET}")
    assert memory.blocked.remove(SECRET).key == block.key
    assert memory.remember("scout", SECRET).text == SECRET


def test_a_purge_can_block_what_it_removes(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    memory.purge(SECRET, block=True)
    with pytest.raises(BlockedValue):
        memory.remember("miner", SECRET)
    assert holders(memory.data_dir, "Xyzzy-4711") == []
    assert memory.remember("miner", "Something else.").text == "Something else."


def test_a_text_that_only_a_block_remembers_is_purged_too(memory: Memory) -> None:
    memory.blocked.add(SECRET)
    memory.purge(SECRET)
    assert holders(memory.data_dir, "Xyzzy-4711") == []
    assert memory.blocked.list()[0].text is None


def test_proposals_that_quote_the_text_forget_it(memory: Memory) -> None:
    fact = memory.remember("scout", SECRET)
    quoting = NewProposal("write", "review", "scout", (fact.id,), "same", text=f"{SECRET} And more.", reason=SECRET)
    memory.inbox.add([quoting])
    report = memory.purge(SECRET)
    assert report.proposals == 1
    (proposal,) = memory.inbox.list()
    assert (proposal.text, proposal.reason, proposal.facts) == ("[purged] And more.", "[purged]", (fact.id,))
    assert holders(memory.data_dir, "Xyzzy-4711") == []


def test_a_short_text_breaks_nothing_around_it(memory: Memory) -> None:
    fact = memory.remember("scout", "text")
    memory.inbox.add([NewProposal("write", "review", "scout", (fact.id,), "same", text="text", reason="a text")])
    assert memory.purge("text").facts == 1
    (proposal,) = memory.inbox.list()
    assert (proposal.text, proposal.reason) == ("[purged]", "a text")
    assert is_sound(memory.data_dir)


@pytest.mark.parametrize(
    "text", ["a\0secret\0b", "x" * 300_000 + " secret end", "\u202esecret rtl שלום", "secret😀\n---"]
)
def test_hostile_texts_are_purged(memory: Memory, text: str) -> None:
    memory.remember("scout", text)
    assert memory.purge(text).incomplete == ()
    assert holders(memory.data_dir, text, text[-60:]) == []
    assert live(memory) == ["The gate opens at nine."]


def test_purging_what_was_never_there_changes_nothing(memory: Memory) -> None:
    seq = memory.last_seq()
    with pytest.raises(NotFound):
        memory.purge("never written")
    with pytest.raises(InvalidInput):
        memory.purge("  ")
    assert memory.last_seq() == seq


def test_a_purge_that_is_cancelled_in_time_leaves_everything(memory: Memory) -> None:
    fact = memory.remember("scout", SECRET)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        memory.purge(SECRET, cancel=cancel)
    assert memory.get(fact.id) == fact


def test_the_vector_index_is_made_anew_without_the_text(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    key = text_key(SECRET).hex()
    while memory.index_step():
        pass
    assert holders(memory.data_dir / "vectors", key)
    assert memory.purge(SECRET).incomplete == ()
    assert holders(memory.data_dir / "vectors", key, key.upper()) == []
    while memory.index_step():
        pass
    assert memory.status().vectors.chroma == 1


def test_the_program_that_has_the_index_open_makes_it_anew(memory: Memory) -> None:
    memory.remember("scout", SECRET)
    with open_store(memory.data_dir) as owner:
        while owner.index_step():
            pass
        owner._search.start_indexing()
        assert memory.purge(SECRET).incomplete == ()
        assert not (memory.data_dir / "vectors" / "1").exists()


def test_another_process_forgets_the_purged_fact(memory: Memory) -> None:
    with open_store(memory.data_dir) as other:
        memory.remember("scout", SECRET)
        other.recall("scout", "vault code", preview=True)
        memory.purge(SECRET)
        assert [fact.text for fact in other.recall("scout", "vault code", preview=True).facts] == [
            "The gate opens at nine."
        ]


def test_the_command_line_purges_and_says_how_much_went(tmp_path: Path) -> None:
    store = ("--data-dir", tmp_path / "store")
    kept = run(*store, "--json", "remember", "ops", SECRET).json
    assert run(*store, "purge", SECRET).code == 2
    assert run(*store, "list", "ops").out != ""
    report = run(*store, "--json", "purge", kept["id"], "--yes")
    assert (report.code, report.json["facts"], report.json["incomplete"]) == (0, 1, [])
    assert report.json["removed_bytes"] > len(SECRET)
    assert holders(tmp_path / "store", "Xyzzy-4711") == []
    assert run(*store, "purge", SECRET, "--yes").code == 3
