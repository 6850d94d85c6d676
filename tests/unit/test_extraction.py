"""What extraction reads out of a text, and how a store is read: incrementally, to the end, without noise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import pytest

from gm_engine import Cancelled, CancelToken, Config, EmbeddingMode, FactQuery, Memory
from gm_engine.graph.extraction import MAX_TEXT, Extractor, KnownName, KnownNames
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.labelled_facts import labelled_facts, score


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    return Extractor()


def read(extractor: Extractor, text: str, known: KnownNames | None = None) -> dict[str, str]:
    return {each.label: each.type for each in extractor.read(text, known or KnownNames()).mentions}


def links(extractor: Extractor, text: str) -> set[tuple[str, str, str]]:
    reading = extractor.read(text, KnownNames())
    labels = [each.label for each in reading.mentions]
    return {(labels[first], labels[second], relation) for first, second, relation in reading.links}


def test_there_are_a_hundred_labelled_facts() -> None:
    facts = list(labelled_facts())
    assert len(facts) == 100
    assert len({fact.text for fact in facts}) == 100


def test_the_rules_are_precise_and_find_most() -> None:
    found = score()
    assert found.precision >= 0.85
    assert found.recall >= 0.6
    assert found.typed_precision >= 0.85
    assert found.typed_recall >= 0.6


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("Maria Sanz works at Orbit Labs.", {"Maria Sanz": "person", "Orbit Labs": "organization"}),
        ("Paris Hilton met Jack London.", {"Paris Hilton": "person", "Jack London": "person"}),
        ("We fly to Sofia; Sofia stays.", {"Sofia": "place"}),
        ("See [[Road map#May|the map]] and #billing", {"Road map": "concept", "billing": "concept"}),
        (
            "due 2026-11-03 or 4th of July 2027, May 2026",
            {"2026-11-03": "date", "4th of July 2027": "date", "May 2026": "date"},
        ),
        ("We may march on.", {}),
        (
            "Mail ops@example.com about /etc/hosts and `make all`",
            {"ops@example.com": "reference", "/etc/hosts": "reference"},
        ),
        ("UTF-8, SHA-256 and error E07", {"UTF-8": "concept", "SHA-256": "concept", "E07": "reference"}),
        ("DO NOT DEPLOY ON FRIDAYS", {}),
        ("Der Vertrag mit der Stadtwerke Jena GmbH ist gekündigt.", {"Stadtwerke Jena GmbH": "organization"}),
        ("项目由Katja保管。", {"Katja": "person"}),
        ("The 200 Mbit line is slow.", {}),
        ("Ada prefers tea over coffee.", {"Ada": "person", "tea": "preference"}),
        ("The board decided to sell the barn because of the roof.", {"sell the barn": "decision"}),
        ("O'Brien's dog and Anne-Marie Smith", {"O'Brien": "concept", "Anne-Marie Smith": "concept"}),
    ],
)
def test_a_text_names(extractor: Extractor, text: str, entities: dict[str, str]) -> None:
    assert read(extractor, text) == entities


def test_words_between_two_names_make_the_link(extractor: Extractor) -> None:
    assert links(extractor, "Ada Byron works at Orbit Labs in Oslo.") == {
        ("Ada Byron", "Orbit Labs", "works at"),
        ("Ada Byron", "Oslo", "co_mentioned"),
        ("Orbit Labs", "Oslo", "co_mentioned"),
    }
    assert ("Ada", "tea", "prefers") in links(extractor, "Ada prefers tea.")
    assert ("Ada", "leave", "decided") in links(extractor, "Ada decided to leave.")


def test_known_names_overrule_the_rules(extractor: Extractor) -> None:
    known = KnownNames()
    known.add("the big db", KnownName("db1", "Orders database", "concept"))
    known.add("Oslo", KnownName(None, "Oslo", "place", ignore=True))
    known.add("Will", KnownName("will", "Will", "person", exact_case=True))
    reading = extractor.read("THE BIG  DB in Oslo will move, says Will.", known)
    assert [(each.label, each.owner) for each in reading.mentions] == [("Orders database", "db1"), ("Will", "will")]


@pytest.mark.parametrize(
    "text",
    [
        "\0" * 50,
        "a" * 1_000_000,
        "a." * 500_000,
        "Ab " * 400_000,
        "[[" * 300_000,
        "x@" * 400_000,
        "A-1_" * 250_000,
        "/a" * 500_000,
        "we decided to " * 70_000,
        "שלום " * 200_000,
        "<b>[[x]]</b> --- 😀 " * 40_000,
    ],
)
def test_any_text_of_any_length_is_read_quickly(extractor: Extractor, text: str) -> None:
    start = process_time()
    reading = extractor.read(text, KnownNames())
    assert process_time() - start < 5  # a guard against runaway patterns, not a measurement
    assert all(len(each.label) <= MAX_TEXT for each in reading.mentions)


def test_a_store_is_read_once(memory: Memory) -> None:
    fact = memory.remember("ops", "Grace Lin met Tom Becker in Lisbon.")
    report = memory.graph.extract()
    assert (report.facts, report.entities, report.edges) == (1, 3, 3)
    assert {entity.id: entity.type for entity in memory.graph.entities()} == {
        "grace lin": "person",
        "tom becker": "person",
        "lisbon": "place",
    }
    assert all(edge.sources == (fact.id,) and edge.made_by == "extraction" for edge in memory.graph.edges())
    assert memory.journal(limit=1)[0].verb == "extract"
    seq = memory.last_seq()
    assert memory.graph.extract().facts == 0
    assert memory.last_seq() == seq


def test_further_facts_add_receipts_without_a_word_in_the_journal(memory: Memory) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    memory.graph.extract()
    second = memory.remember("ops", "Grace Lin called Tom Becker.")
    seq = memory.last_seq()
    assert memory.graph.extract().facts == 1
    assert memory.last_seq() == seq
    (edge,) = memory.graph.edges()
    assert second.id in edge.sources
    assert edge.weight == pytest.approx(0.8)
    assert memory.graph.get("grace lin").last_seen_ns == second.created_ns


def test_retired_facts_and_aliases_feed_nothing_and_leave_stale_links(memory: Memory) -> None:
    fact = memory.remember("ops", "Grace Lin met Tom Becker.")
    gone = memory.remember("ops", "Ana met Bo.")
    memory.alias("ops", "Lisbon", ["Lisboa"])
    memory.retire("ops", [gone.id])
    memory.graph.extract()
    assert {entity.id for entity in memory.graph.entities()} == {"grace lin", "tom becker"}
    assert memory.graph.stale() == frozenset()
    memory.retire("ops", [fact.id])
    assert memory.graph.stale() == {("grace lin", "tom becker", "co_mentioned")}
    memory.restore("ops", [fact.id])
    assert memory.graph.stale() == frozenset()


def test_steps_are_bounded_and_go_on_where_they_stopped(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gm_engine.graph.feeding.CHUNK", 2)
    for number in range(7):
        memory.remember("ops", f"Grace Lin has ticket OPS-{100 + number}.")
    steps = 0
    while memory.graph.extract_step(0.0):
        steps += 1
    assert steps == 4
    assert len(memory.graph.entities()) == 8
    assert not memory.graph.extract_step(0.0)


def test_what_was_read_before_a_cancel_stays(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gm_engine.graph.feeding.CHUNK", 2)
    for number in range(5):
        memory.remember("ops", f"Ticket OPS-{100 + number} is open.")
    token = CancelToken()
    with pytest.raises(Cancelled):
        memory.graph.extract(progress=lambda done, total, what: token.cancel(), cancel=token)
    assert len(memory.graph.entities()) == 2
    assert memory.graph.extract().facts == 3


def test_another_process_reads_what_this_one_did_not(memory: Memory) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(memory.data_dir, clock=FrozenClock(), config=config, background=False) as other:
        assert other.graph.extract().entities == 2
        memory.remember("ops", "Tom Becker met Ana Sousa.")
    assert memory.graph.extract().entities == 1
    assert memory.graph.extract().facts == 0


def test_new_rules_read_everything_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    memory.graph.extract()
    monkeypatch.setattr("gm_engine.graph.feeding.EXTRACTION_RULES", 99)
    memory.remember("ops", "nothing")
    assert memory.graph.extract().facts == 2


def test_a_read_only_store_is_left_alone(memory: Memory) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    with Memory.open(memory.data_dir, read_only=True, background=False) as reader:
        assert not reader.graph.extract_step()
        assert reader.graph.entities() == ()


def test_an_undone_reading_is_not_read_again(memory: Memory) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    memory.graph.extract()
    memory.undo(memory.last_seq())
    assert memory.graph.entities() == ()
    assert memory.graph.extract().facts == 0
    assert memory.graph.extract(everything=True).entities == 2


def test_what_fades_is_what_nobody_mentions(memory: Memory, tmp_path: Path) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    memory.graph.extract()
    memory.graph.add("By hand", "concept")
    clock = memory._ledger.clock
    assert isinstance(clock, FrozenClock)
    clock.advance(30 * 86_400)
    seq = memory.last_seq()
    assert memory.graph.fade() == 3
    assert memory.graph.get("grace lin").weight == pytest.approx(0.5, abs=0.01)
    assert memory.graph.get("by hand").weight == 1.0
    assert memory.last_seq() == seq
    memory.remember("ops", "Grace Lin is back.")
    memory.graph.extract()
    assert memory.graph.get("grace lin").weight == 1.0
    assert len(memory.fact_ids(FactQuery())) == 2


def test_the_index_lane_feeds_the_graph_unless_told_not_to(tmp_path: Path) -> None:
    for wanted in (True, False):
        config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, extract_entities=wanted)
        with Memory.open(tmp_path / str(wanted), clock=FrozenClock(), config=config, background=False) as memory:
            memory.remember("ops", "Grace Lin met Tom Becker.")
            while memory.index_step():
                pass
            assert len(memory.graph.entities()) == (2 if wanted else 0)


def test_a_link_that_an_import_named_the_other_way_round_is_the_same_link(memory: Memory) -> None:
    memory.graph.add("Tom Becker", "person")
    memory.graph.add("Grace Lin", "person")
    with memory._ledger.bookkeep() as connection:
        connection.exec_driver_sql(
            "INSERT INTO edges VALUES ('tom becker', 'grace lin', 'co_mentioned', 1, 0.5, 'import', 1)"
        )
    fact = memory.remember("ops", "Grace Lin met Tom Becker.")
    assert memory.graph.extract().edges == 0
    memory.graph.link("grace lin", "tom becker", "co_mentioned")
    (edge,) = memory.graph.edges()
    assert (edge.from_id, edge.sources) == ("tom becker", (fact.id,))


def test_a_cycle_of_consolidation_feeds_the_graph_but_a_dry_one_does_not(memory: Memory) -> None:
    memory.remember("ops", "Grace Lin met Tom Becker.")
    memory.consolidate("ops", dry_run=True)
    assert memory.graph.entities() == ()
    memory.consolidate("ops")
    assert {entity.id for entity in memory.graph.entities()} == {"grace lin", "tom becker"}


def test_imported_facts_keep_their_own_graph_until_somebody_asks_for_more(tmp_path: Path) -> None:
    with Memory.open(tmp_path, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        memory.import_store(Path(__file__).parent.parent / "fixtures" / "graymatter" / "gray.db")
        while memory.index_step(1.0):
            pass
        assert (memory.status().entities, memory.status().edges) == (83, 76)
        memory.remember("scout", "Petra Novak moved to Lisbon.")
        while memory.index_step(1.0):
            pass
        assert "Petra Novak" in {entity.label for entity in memory.graph.entities()}
        assert memory.status().entities < 90
        memory.graph.extract()
        assert memory.status().entities > 90


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        ("See [[ ]] and [[Harbour plan]].", "Harbour plan", ""),
        ("The room b12 and the room B14 are free.", "B14", "b12"),
        ("Ask Ana Sousa Monday.", "Ana Sousa", "Ana Sousa Monday"),
    ],
)
def test_what_only_looks_like_a_name_is_none(extractor: Extractor, text: str, found: str, not_found: str) -> None:
    labels = read(extractor, text)
    assert found in labels
    assert not_found not in labels
