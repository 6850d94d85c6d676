"""The doctor: silent about a sound store, exact about a broken one."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from gm_engine import CancelToken, FactQuery, InvalidInput, Memory
from gm_engine.doctor import Verdict, examine, repair
from gm_engine.doctor.secrets import secrets_in
from gm_engine.records import Edge, Origin
from gm_engine.store.database import Ledger
from gm_engine.store.entities import upsert_edges
from gm_engine.store.facts import load_facts, patch_facts
from gm_engine.store.purge import Needle, purge_rows
from gm_engine.terms import text_key
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock()) as memory:
        first = memory.remember("ops", "Rollbacks take ten minutes.")
        second = memory.revise("ops", [first.id], "Rollbacks take five minutes.")
        memory.pin("ops", [second.id])
        memory.undo(memory.last_seq())
        memory.alias("ops", "k8s", ["kubernetes"])
    return data_dir


def verdicts(data_dir: Path) -> dict[str, tuple[Verdict, str]]:
    return {finding.check: (finding.verdict, finding.detail) for finding in examine(data_dir)}


def test_a_sound_store_has_nothing_broken(store: Path) -> None:
    found = verdicts(store)
    assert {name for name, (verdict, _) in found.items() if verdict is not Verdict.SOUND} == {"vectors"}
    assert found["journal"] == (Verdict.SOUND, "the journal replays to 3 facts")


def tamper(data_dir: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(data_dir / "ledger.sqlite")) as raw:
        raw.execute(statement, values)
        raw.commit()


@pytest.mark.parametrize(
    ("statement", "check", "verdict", "words"),
    [
        (
            "UPDATE facts SET text = 'forged' WHERE no = 1",
            "journal",
            Verdict.BROKEN,
            "differs from the journal in text",
        ),
        ("UPDATE facts SET version = 99 WHERE no = 1", "journal", Verdict.BROKEN, "has version 99"),
        ("DELETE FROM facts WHERE no = 1", "journal", Verdict.BROKEN, "of the journal is gone"),
        ("DELETE FROM fact_terms WHERE fact_no = 1", "keyword index", Verdict.BROKEN, "is not indexed"),
        ("UPDATE fact_terms SET data = x'00' WHERE fact_no = 1", "keyword index", Verdict.BROKEN, "cut off"),
        ("UPDATE facts SET superseded_by = 'gone' WHERE no = 2", "lineage", Verdict.NOTICE, "not in the store"),
        ("UPDATE facts SET superseded_by = id WHERE no = 2", "lineage", Verdict.NOTICE, "in a circle"),
        ("UPDATE facts SET text = 'alias: k8s' WHERE no = 3", "aliases", Verdict.NOTICE, "not of the form"),
        (
            "UPDATE journal SET at_ns = at_ns + 9000000000 WHERE seq = 1",
            "journal",
            Verdict.BROKEN,
            "entry 2 is older than the one before it",
        ),
        ("PRAGMA user_version = 1", "schema", Verdict.NOTICE, "the next program that writes brings it to"),
        ("UPDATE facts SET actor_id = 77 WHERE no = 1", "file", Verdict.BROKEN, "names a row of actors"),
        ("UPDATE facts SET text = CAST(x'ff' AS TEXT) WHERE no = 1", "journal", Verdict.BROKEN, "is damaged"),
        ("UPDATE facts SET origin = '{' WHERE no = 1", "journal", Verdict.BROKEN, "is damaged"),
        ("UPDATE changes SET after = '[1]' WHERE seq = 1", "journal", Verdict.BROKEN, "hold what cannot be read"),
    ],
)
def test_what_was_tampered_with_is_named(store: Path, statement: str, check: str, verdict: Verdict, words: str) -> None:
    tamper(store, statement)
    found = verdicts(store)[check]
    assert found[0] is verdict
    assert words in found[1]


def test_the_command_exits_with_an_error_when_something_is_broken(store: Path) -> None:
    sound = run("doctor", "--json", "--data-dir", store)
    assert (sound.code, sound.json["sound"]) == (0, True)
    tamper(store, "DELETE FROM facts WHERE no = 1")
    broken = run("doctor", "--json", "--data-dir", store)
    assert (broken.code, broken.json["sound"]) == (1, False)
    assert "broken" in run("doctor", "--data-dir", store).out


def test_a_damaged_page_is_a_finding_and_no_crash(store: Path) -> None:
    path = store / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'facts'").fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    assert verdicts(store)["file"][0] is Verdict.BROKEN


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("UPDATE facts SET text = 'forged', text_key = x'00' WHERE no = 1", "journal"),
        ("UPDATE facts SET pinned = 1, superseded_by = '' WHERE no = 1", "journal"),
        ("UPDATE facts SET version = 99 WHERE no = 1", "journal"),
        ("DELETE FROM facts WHERE no = 1", "journal"),
        ("DELETE FROM facts WHERE no = (SELECT max(no) FROM facts)", "journal"),
        ("DELETE FROM changes WHERE target = (SELECT id FROM facts WHERE no = 3)", "journal"),
        ("DELETE FROM fact_terms WHERE fact_no = 1", "keyword index"),
        ("UPDATE fact_terms SET data = x'00' WHERE fact_no = 1", "keyword index"),
        ("UPDATE fact_terms SET rules = 0", "keyword index"),
        ("INSERT INTO fact_terms VALUES (77, 1, 1, x'')", "keyword index"),
        ("INSERT INTO fact_refs VALUES ('gone', 'file', 'x')", "references"),
        ("INSERT INTO mentions VALUES ('gone', 'ana', 1)", "references"),
        ("INSERT INTO entity_names VALUES ('ana', 'gone')", "references"),
    ],
)
def test_what_can_be_put_right_is_offered_and_put_right(store: Path, statement: str, check: str) -> None:
    with closing(sqlite3.connect(store / "ledger.sqlite")) as raw:
        before = raw.execute("SELECT id, text, superseded_by, pinned FROM facts ORDER BY id").fetchall()
    tamper(store, statement)
    (offered,) = [finding for finding in examine(store) if finding.check == check]
    assert offered.repair
    after = {finding.check: finding for finding in repair(store, [check], clock=FrozenClock("2027-01-01T00:00:00Z"))}
    assert (after[check].verdict, after[check].repair) == (Verdict.SOUND, "")
    with closing(sqlite3.connect(store / "ledger.sqlite")) as raw:
        assert raw.execute("SELECT id, text, superseded_by, pinned FROM facts ORDER BY id").fetchall() == before
    with Memory.open(store, background=False) as memory:
        assert memory.recall("ops", "rollbacks", preview=True).facts


@pytest.mark.parametrize("change", ["superseded_by = 'nobody'", "agent_id = 'forger'", "version = 99"])
def test_a_process_that_recalled_before_the_repair_recalls_the_fact_after_it(store: Path, change: str) -> None:
    with Memory.open(store, background=False) as memory:
        before = memory.recall("ops", "rollbacks", preview=True).facts
        tamper(store, f"UPDATE facts SET {change} WHERE no = 2")
        repair(store, ["journal"], clock=FrozenClock("2027-01-01T00:00:00Z"))
        assert memory.recall("ops", "rollbacks", preview=True).facts == before


def test_a_circle_of_replacements_is_broken_and_undo_takes_it_back(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        first, second = (fact.id for fact in memory.list_facts(FactQuery(status="all", kind="content")))
        with memory._ledger.write("twist", origin=Origin("library")) as tx:
            for fact_id, by in ((first, second), (second, first)):
                patch_facts(tx, load_facts(tx.connection, [fact_id]).values(), {"superseded_by": by})
    assert "in a circle" in verdicts(store)["lineage"][1]
    assert {f.check: f for f in repair(store)}["lineage"].verdict is Verdict.SOUND
    with Memory.open(store, background=False) as memory:
        assert memory.journal(limit=1)[0].verb == "repair"
        memory.undo(memory.last_seq())
    assert "in a circle" in verdicts(store)["lineage"][1]


def test_a_tombstone_that_points_nowhere_is_no_damage_and_has_no_repair(store: Path) -> None:
    tamper(store, "UPDATE facts SET superseded_by = 'gone' WHERE no = 2")
    (found,) = [finding for finding in examine(store) if finding.check == "lineage"]
    assert (found.verdict, found.repair) == (Verdict.NOTICE, "")


def test_links_that_name_facts_which_are_gone_forget_them(store: Path) -> None:
    with Ledger.open(store, clock=FrozenClock("2027-01-01T00:00:00Z")) as ledger:
        kept = load_all(ledger)[0]
        with ledger.write("link", origin=Origin("library")) as tx:
            upsert_edges(tx, [Edge("ana", "faro", "lives in", 1, 0.5, "person", (kept, "gone"))])
    assert "names a fact that is gone" in verdicts(store)["receipts"][1]
    repair(store, ["receipts"])
    with Memory.open(store, background=False) as memory:
        assert memory.graph.edges()[0].sources == (kept,)
    assert (
        "leads to an entity" in verdicts(store)["receipts"][1] or "lead to an entity" in verdicts(store)["receipts"][1]
    )


def load_all(ledger: Ledger) -> list[str]:
    with ledger.read() as connection:
        return [row[0] for row in connection.exec_driver_sql("SELECT id FROM facts ORDER BY no")]


def test_missing_vectors_are_computed(store: Path) -> None:
    tamper(store, "INSERT INTO models VALUES (9, 'other', 4, 'old')")
    tamper(store, "INSERT INTO vectors(model_id, text_key, data) VALUES (9, zeroblob(16), x'00')")
    found = {finding.check: finding for finding in repair(store, ["vectors"])}
    assert found["vectors"].verdict is Verdict.SOUND
    with closing(sqlite3.connect(store / "ledger.sqlite")) as raw:
        assert raw.execute("SELECT count(*) FROM vectors WHERE length(data) = 1").fetchone() == (0,)


def test_an_interrupted_purge_is_finished(store: Path) -> None:
    secret = "Rollbacks take ten minutes."
    with Memory.open(store, background=False) as memory:
        memory.backup()
        with memory._ledger.write("purge", origin=Origin("library")) as tx:
            needle = Needle(frozenset([text_key(secret)]), secret)
            purge_rows(tx, needle, language="english", block=False, cancel=CancelToken())
    assert verdicts(store)["purges"][0] is Verdict.BROKEN
    assert {f.check: f for f in repair(store, ["purges"])}["purges"].verdict is Verdict.SOUND
    assert secret.encode() not in (store / "ledger.sqlite").read_bytes()
    (backup,) = (store / "backups").iterdir()
    with zipfile.ZipFile(backup) as archive:
        assert secret.encode() not in archive.read("ledger.sqlite")


def test_a_repair_of_nothing_changes_nothing_and_an_unknown_one_is_refused(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        memory.wait_for_embeddings()
        seq = memory.last_seq()
    assert [finding.check for finding in repair(store) if finding.verdict is not Verdict.SOUND] == []
    with pytest.raises(InvalidInput):
        repair(store, ["model"])
    with Memory.open(store, background=False) as memory:
        assert memory.last_seq() == seq


@pytest.mark.parametrize(
    "text",
    [
        "key: AKIAIOSFODNN7EXAMPLE",
        "Deploy with ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "The API key is sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x",
        "password: hunter2-Zx9!kq",
        "The db is at postgres://app:S3cr3t-pw9@db.example/main",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "secret = 'q8Zr2Lx0Vw7Ty4'",
    ],
)
def test_a_text_that_holds_a_key_is_pointed_out_without_quoting_it(tmp_path: Path, text: str) -> None:
    with Memory.open(tmp_path, background=False) as memory:
        memory.remember("ops", text)
    verdict, detail = verdicts(tmp_path)["secrets"]
    assert verdict is Verdict.NOTICE
    assert not any(word in detail for word in text.split() if len(word) > 10)


@pytest.mark.parametrize(
    "text",
    [
        "The password is kept in the vault.",
        "password",
        "Ask Ana for the token.",
        "Use scikit-learn, i.e. sk-learn-contrib-project-examples.",
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke the build.",
        "The secret of good tea: patience, water.",
        "Token limit: 128000 tokens per request",
        "api key: <your-key-here>",
        "The password policy is version 2.14.0-rc1",
        "Secret santa is: 2026-12-24T18:00:00Z",
        "See https://example.com/path/to/page?x=1",
        "x" * 200_000,
    ],
)
def test_a_bare_word_a_hash_or_a_placeholder_is_no_secret(text: str) -> None:
    assert list(secrets_in(text)) == []


def test_a_live_fact_with_a_blocked_value_and_an_unreadable_checkpoint_are_noticed(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        memory.blocked.add("Rollbacks take five minutes.")
        memory.checkpoints.save("ops", state={"step": 1})
    tamper(store, "UPDATE checkpoints SET payload = x'7b'")
    found = verdicts(store)
    assert (found["blocked values"][0], found["checkpoints"][0]) == (Verdict.NOTICE, Verdict.NOTICE)
    assert "is damaged" in found["checkpoints"][1]


def test_a_backup_that_cannot_be_read_is_noticed(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        memory.backup()
        assert verdicts(store)["backups"][1].startswith("1 backups, the newest of")
        (store / "backups" / "broken.zip").write_bytes(b"no zip")
    assert verdicts(store)["backups"][0] is Verdict.NOTICE


def test_the_command_offers_and_does_repairs(store: Path) -> None:
    tamper(store, "DELETE FROM fact_terms WHERE fact_no = 1")
    assert "--repair" in run("doctor", "--data-dir", store).out
    repaired = run("doctor", "--repair", "--json", "--data-dir", store)
    assert (repaired.code, repaired.json["sound"]) == (0, True)
    assert all(check["repair"] == "" for check in repaired.json["checks"])


def test_of_many_problems_the_first_are_shown_and_the_others_counted(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        for number in range(5):
            memory.remember("ops", f"Gate {number} is open.")
    tamper(store, "UPDATE facts SET version = 99")
    verdict, words = verdicts(store)["journal"]
    assert verdict is Verdict.BROKEN
    assert words.endswith("; and 5 more")
