"""Which facts mention which entities, and the graph as it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gm_engine import FactQuery, Memory
from gm_engine.errors import Cancelled
from gm_engine.progress import CancelToken
from gm_engine.records import Edge, Entity, Origin
from gm_engine.store import mentions
from gm_engine.store.database import Ledger
from gm_engine.store.entities import Graph, name_key, upsert_edges, upsert_entities
from gm_engine.store.facts import NewFact, insert_facts, load_facts, patch_facts
from gm_engine.store.mentions import LabelMatcher, refresh_mentions
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

ORIGIN = Origin("library")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock=FrozenClock()) as opened:
        yield opened


def entity(entity_id: str, label: str | None = None) -> Entity:
    return Entity(entity_id, label or entity_id, "concept", None, None, 1.0, "import")


def write(ledger: Ledger, *, facts: dict[str, str] | None = None, entities: tuple[Entity, ...] = ()) -> None:
    with ledger.write("import", origin=ORIGIN) as tx:
        new = [NewFact(key, "agent", text, 0, ORIGIN) for key, text in (facts or {}).items()]
        if new:
            insert_facts(tx, new, language="english")
        upsert_entities(tx, entities)


@pytest.mark.parametrize(
    ("label", "text", "mentioned"),
    [
        ("Acme Corp", "We met ACME corp today.", True),
        ("Acme Corp", "Acme Corporation", False),
        ("Acme Corp", "Acme  Corp", False),
        ("Acme Corp", "TheAcme Corp", False),
        ("Acme Corp", "Acme Corp's invoice, Acme Corp.", True),
        ("Maria", "Maria’s office", True),
        ("Maria", "Mariachi", False),
        ("O'Brien", "Ask o'brien!", True),
        ("release 8.2", "Release 8.2.", True),
        ("release 8.2", "Release 8.2.1", False),
        ("8.2", "18.2", False),
        ("2026-11-03", "until 2026-11-03, then", True),
        ("2026-11-03", "12026-11-03", False),
        ("@ops", "ping @ops now", True),
        ("https://git.example.com/x/issues/10.", "See https://git.example.com/x/issues/10.", True),
        ("東京", "東京の会議は毎週", True),
        ("Straße", "die STRASSE", True),
        ("ﬁ", "a fi b", True),
        ("Café", "the cafe\u0301 closed", True),
        ("a\0b", "x a\0b y", True),
        ("   ", "blank   labels match nothing", False),
        ("😀", "so 😀 it is", True),
    ],
)
def test_a_label_is_mentioned_where_its_whole_words_stand(label: str, text: str, mentioned: bool) -> None:
    assert LabelMatcher({"e": label}).entities_in(text) == ({"e"} if mentioned else set())


def test_labels_inside_each_other_and_equal_ones_are_all_found() -> None:
    matcher = LabelMatcher({"1": "Acme", "2": "Acme Corp", "3": "ACME CORP", "4": "Corp", "5": "Acme Corp Berlin"})
    assert matcher.entities_in("The Acme Corp office") == {"1", "2", "3", "4"}


def test_many_labels_with_the_same_beginning_stay_apart() -> None:
    matcher = LabelMatcher({str(n): f"project x {n}" for n in range(3000)})
    assert matcher.entities_in("project x 17 and project x 2999") == {"17", "2999"}


def test_retired_facts_and_aliases_mention_nothing(ledger: Ledger) -> None:
    write(ledger, facts={"f1": "Ask Maria.", "f2": "Maria again."}, entities=(entity("maria"),))
    with ledger.write("alias", origin=ORIGIN) as tx:
        insert_facts(tx, [NewFact("f3", "agent", "alias: maria = mm", 0, ORIGIN, kind="alias")], language="english")
    refresh_mentions(ledger)
    assert Graph(ledger).mentions() == {"f1": ("maria",), "f2": ("maria",)}
    with ledger.write("retire", origin=ORIGIN) as tx:
        patch_facts(tx, load_facts(tx.connection, ["f2"]).values(), {"superseded_by": "agent"})
    assert Graph(ledger).mentions() == {"f1": ("maria",)}
    with ledger.write("restore", origin=ORIGIN) as tx:
        patch_facts(tx, load_facts(tx.connection, ["f2"]).values(), {"superseded_by": ""})
    assert Graph(ledger).mentions() == {"f1": ("maria",), "f2": ("maria",)}


def test_a_refresh_adds_what_is_new_and_drops_what_is_gone(ledger: Ledger) -> None:
    write(ledger, facts={"f1": "Ask Maria."}, entities=(entity("maria"),))
    refresh_mentions(ledger)
    write(ledger, facts={"f2": "Berlin and Maria."}, entities=(entity("b", "Berlin"),))
    with ledger.bookkeep() as connection:
        connection.exec_driver_sql("INSERT INTO mentions VALUES ('f1', 'b', 2), ('f2', 'maria', 0), ('gone', 'b', 2)")
    refresh_mentions(ledger)
    assert Graph(ledger).mentions() == {"f1": ("maria",), "f2": ("b", "maria")}
    with ledger.read() as connection:
        rows = connection.exec_driver_sql("SELECT fact_id, entity_id, rules FROM mentions ORDER BY 1, 2").all()
    assert [tuple(row) for row in rows] == [("f1", "maria", 2), ("f2", "b", 2), ("f2", "maria", 2)]


def test_after_one_more_name_only_the_texts_that_contain_it_are_read_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ledger, facts={f"f{n}": f"Ask Maria, not Berlin {n}." for n in range(20)}, entities=(entity("maria"),))
    refresh_mentions(ledger)
    read: list[str] = []
    look = LabelMatcher.entities_in

    def looked(matcher: LabelMatcher, text: str) -> set[str]:
        read.append(text)
        return look(matcher, text)

    monkeypatch.setattr(LabelMatcher, "entities_in", looked)
    write(ledger, entities=(entity("b", "Berlin 7"),))
    refresh_mentions(ledger)
    assert read == ["Ask Maria, not Berlin 7."]
    assert [fact_id for fact_id, ids in Graph(ledger).mentions().items() if "b" in ids] == ["f7"]


@pytest.mark.parametrize("most_sought", [0, 60])
def test_what_follows_the_changes_is_what_is_made_from_nothing(
    most_sought: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "_MOST_SOUGHT", most_sought)
    with Memory.open(tmp_path, background=False, clock=FrozenClock(), embedder=ScriptedEmbedder()) as memory:
        graph = memory.graph
        for text in ("Ask Maria Rossi in Essen.", "Maria went to Graz.", "Essen, then Graz.", "Nobody is named."):
            memory.remember("agent", text)
        first = memory.fact_ids(FactQuery())[0]
        steps: tuple[Callable[[], object], ...] = (
            lambda: graph.add("Maria", "person", names=["Maria Rossi"]),
            lambda: graph.add("Essen", "place"),
            lambda: graph.add("Graz", "place"),
            lambda: memory.remember("agent", "MARIA has left Graz."),
            lambda: graph.rename("essen", "Nobody"),
            lambda: graph.link("maria", "graz", "lives in"),
            lambda: graph.merge(["graz"], "essen"),
            lambda: memory.revise("agent", [first], "Essen is named no more, Graz is."),
            lambda: graph.split("essen", "Graz again", facts=memory.fact_ids(FactQuery())[:1]),
            lambda: graph.delete(["maria"]),
            lambda: memory.undo(memory._ledger.last_seq()),
            lambda: memory.purge("MARIA has left Graz."),
        )
        seen = []
        for step in steps:
            step()
            followed = graph.mentions()
            with memory._ledger.bookkeep() as connection:
                connection.exec_driver_sql("DELETE FROM mentions")
                connection.exec_driver_sql("DELETE FROM meta WHERE key = 'mentions'")
            assert graph.mentions() == followed
            seen.append(followed)
    assert len({str(each) for each in seen}) > 6


def test_a_refresh_leaves_no_journal_entry_and_can_be_cancelled(ledger: Ledger) -> None:
    write(ledger, facts={"f1": "Ask Maria."}, entities=(entity("maria"),))
    seq = ledger.last_seq()
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        refresh_mentions(ledger, cancel=cancel)
    with ledger.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM mentions").scalar_one() == 0
    assert Graph(ledger).mentions() == {"f1": ("maria",)}
    assert ledger.last_seq() == seq


def test_a_canonical_name_is_folded_and_trimmed() -> None:
    assert name_key("  ACME ﬁnance Straße\n") == "acme finance strasse"
    assert name_key(name_key("ΐ İ ŉ")) == name_key("ΐ İ ŉ")


def test_a_known_entity_keeps_label_type_and_first_sight(ledger: Ledger) -> None:
    old = Entity("m", "Maria", "person", 5, 10, 0.5, "import")
    write(ledger, entities=(old,))
    write(ledger, entities=(Entity("m", "Other", "place", 1, 7, 0.4, "import"),))
    assert Graph(ledger).entities() == (old,)
    assert ledger.last_seq() == 1
    write(ledger, entities=(Entity("m", "Other", "place", 1, 20, 0.9, "import"),))
    assert Graph(ledger).entities() == (Entity("m", "Maria", "person", 5, 20, 0.9, "import"),)


def test_edges_unite_their_sources(ledger: Ledger) -> None:
    with ledger.write("import", origin=ORIGIN) as tx:
        assert upsert_edges(tx, (Edge("a", "b|c", "r", 1, 0.5, "import", ("f2", "f1", "f2")),)) == 1
    with ledger.write("import", origin=ORIGIN) as tx:
        assert upsert_edges(tx, (Edge("a", "b|c", "r", 9, 0.4, "import", ("f3",)),)) == 0
    assert Graph(ledger).edges() == (Edge("a", "b|c", "r", 1, 0.5, "import", ("f1", "f2", "f3")),)


def test_what_was_remembered_revised_or_undone_later_is_found_when_asked(tmp_path: Path) -> None:
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        memory.import_store(Path(__file__).parent.parent / "fixtures" / "graymatter" / "gray.db")
        fact = memory.remember("scout", "Grace Lin met Tom Becker.")
        assert memory.graph.mentions()[fact.id] == ("grace lin", "tom becker")
        revised = memory.revise("scout", [fact.id], "Grace Lin met nobody.")
        assert memory.graph.mentions()[revised.id] == ("grace lin",)
        assert fact.id not in memory.graph.mentions()
        undone = memory.undo(revised.version)
        assert memory.graph.mentions()[fact.id] == ("grace lin", "tom becker")
        memory.undo(undone.seq)
        assert memory.graph.mentions()[revised.id] == ("grace lin",)
