"""The verbs on entities and links: what each does, what it refuses, and that each is undone whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gm_engine import Config, EmbeddingMode, InvalidInput, Memory, NotFound, UndoConflict
from gm_engine.graph.records import DictionaryEntry, GraphChange
from gm_engine.records import Edge, Origin
from gm_engine.store.entities import upsert_edges
from gm_engine.store.graph_edits import remove_edge
from tests.fakes.clock import FrozenClock
from tests.fakes.graph_state import graph_state


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=FrozenClock(), config=config, background=False) as opened:
        yield opened


def label_of(memory: Memory, entity_id: str) -> str:
    return memory.graph.get(entity_id).label


def edges_of(memory: Memory) -> set[tuple[str, str, str]]:
    return {(edge.from_id, edge.to_id, edge.relation) for edge in memory.graph.edges()}


def sources_of(memory: Memory, *key: str) -> tuple[str, ...]:
    return next(edge.sources for edge in memory.graph.edges() if (edge.from_id, edge.to_id, edge.relation) == key)


def undone(memory: Memory, act: Callable[[], GraphChange]) -> GraphChange:
    """Runs a verb, undoes it, and sees that nothing is left of it; then does it again by a redo."""
    before = graph_state(memory)
    change = act()
    assert change.seq is not None
    after = graph_state(memory)
    assert after != before
    entry = memory.undo(change.seq)
    assert graph_state(memory) == before
    memory.redo(entry.seq)
    assert graph_state(memory) == after
    return change


@pytest.fixture
def team(memory: Memory) -> Memory:
    """Two facts and what they say."""
    memory.remember("ops", "Grace Lin met Tom Becker in Lisbon.")
    memory.remember("ops", "Tom Becker wrote to Acme Corp.")
    memory.graph.extract()
    return memory


def test_an_entity_is_added_with_its_names(memory: Memory) -> None:
    change = undone(memory, lambda: memory.graph.add(" Acme Corp ", "organization", names=["Acme", "ACME Corporation"]))
    (entity,) = change.entities
    assert (entity.id, entity.label, entity.type, entity.made_by) == (
        "acme corp",
        "Acme Corp",
        "organization",
        "person",
    )
    assert memory.graph.names(entity.id) == ("acme", "acme corp", "acme corporation")
    assert memory.graph.resolve("aCME").id == entity.id


@pytest.mark.parametrize("label", ["", "  \n", "x" * 501, "\ud800"])
def test_a_label_that_is_none_is_refused(memory: Memory, label: str) -> None:
    with pytest.raises(InvalidInput):
        memory.graph.add(label)
    assert memory.last_seq() == 0


def test_a_name_belongs_to_one_entity(team: Memory) -> None:
    with pytest.raises(InvalidInput, match="Merge"):
        team.graph.add("grace lin", "person")
    with pytest.raises(InvalidInput, match="Merge"):
        team.graph.rename("grace lin", "TOM BECKER")


@pytest.mark.parametrize("label", ["a\0b", "שלום", "😀", "[[x]]", "---", "<b>bold</b>", "x²"])
def test_hostile_labels_are_kept_as_they_are(memory: Memory, label: str) -> None:
    change = memory.graph.add(label)
    assert change.entities[0].label == label
    assert memory.graph.resolve(label).label == label


def test_a_renamed_entity_is_found_by_both_names_and_by_extraction(team: Memory) -> None:
    undone(team, lambda: team.graph.rename("tom becker", "Thomas Becker"))
    assert team.graph.resolve("Tom Becker").label == "Thomas Becker"
    fact = team.remember("ops", "Tom Becker called.")
    report = team.graph.extract()
    assert report.entities == 0
    assert fact.id in team.graph.mentioned_in("tom becker")


def test_renaming_to_the_same_label_changes_nothing(team: Memory) -> None:
    seq = team.last_seq()
    assert team.graph.rename("tom becker", "Tom Becker").seq is None
    assert team.graph.retype(["tom becker"], "person").seq is None
    assert team.last_seq() == seq


def test_several_entities_are_retyped_in_one_step(team: Memory) -> None:
    undone(team, lambda: team.graph.retype(["tom becker", "lisbon"], "concept"))
    assert {team.graph.get(each).type for each in ("tom becker", "lisbon")} == {"concept"}


def test_merged_entities_share_names_links_and_receipts(team: Memory) -> None:
    extra = team.remember("ops", "Mr Becker met Grace Lin.")
    team.graph.extract()
    first = sources_of(team, "grace lin", "tom becker", "co_mentioned")
    undone(team, lambda: team.graph.merge("becker", "tom becker"))
    assert team.graph.resolve("Becker").id == "tom becker"
    assert sources_of(team, "grace lin", "tom becker", "co_mentioned") == tuple(sorted({*first, extra.id}))
    with pytest.raises(NotFound):
        team.graph.get("becker")


def test_a_link_between_merged_entities_vanishes(team: Memory) -> None:
    team.graph.link("grace lin", "tom becker", "knows")
    undone(team, lambda: team.graph.merge(["grace lin"], "tom becker"))
    assert not [key for key in edges_of(team) if "grace lin" in key or key[0] == key[1]]


def test_merging_needs_two(team: Memory) -> None:
    with pytest.raises(InvalidInput):
        team.graph.merge(["tom becker"], "tom becker")
    with pytest.raises(NotFound):
        team.graph.merge(["nobody"], "tom becker")


def test_extraction_after_a_merge_does_not_stand_in_the_way_of_its_undo(team: Memory) -> None:
    team.remember("ops", "Mr Becker met Grace Lin.")
    team.graph.extract()
    before = graph_state(team)
    seq = team.graph.merge("becker", "tom becker").seq
    assert seq is not None
    late = team.remember("ops", "Tom Becker and Grace Lin travel to Lisbon.")
    team.graph.extract()
    team.undo(seq)
    again = graph_state(team)
    assert again["entities"] == before["entities"]
    assert again["names"] == before["names"]
    team.graph.extract()
    assert late.id in sources_of(team, "grace lin", "tom becker", "co_mentioned")


def test_a_split_takes_receipts_along_and_lasts(team: Memory) -> None:
    other = team.remember("ops", "Tom Becker met Grace Lin in Oslo.")
    team.graph.extract()
    change = undone(team, lambda: team.graph.split("tom becker", "Tom Becker (Oslo)", facts=[other.id]))
    new = change.entities[1].id
    assert sources_of(team, "grace lin", new, "co_mentioned") == (other.id,)
    assert ("oslo", "tom becker", "co_mentioned") not in edges_of(team)
    team.graph.extract(everything=True)
    assert sources_of(team, "grace lin", new, "co_mentioned") == (other.id,)
    assert other.id not in sources_of(team, "grace lin", "tom becker", "co_mentioned")


def test_a_split_needs_facts(team: Memory) -> None:
    with pytest.raises(InvalidInput):
        team.graph.split("tom becker", "T", facts=[])
    with pytest.raises(NotFound):
        team.graph.split("tom becker", "T", facts=["no such fact"])


def test_entities_are_linked_and_unlinked(team: Memory) -> None:
    fact = team.remember("ops", "They know each other.")
    undone(team, lambda: team.graph.link("grace lin", "acme corp", "works at", sources=[fact.id]))
    assert sources_of(team, "grace lin", "acme corp", "works at") == (fact.id,)
    assert team.graph.link("grace lin", "acme corp", "works at").seq is None
    undone(team, lambda: team.graph.unlink("acme corp", "grace lin"))
    assert ("grace lin", "acme corp", "works at") not in edges_of(team)
    with pytest.raises(NotFound):
        team.graph.unlink("acme corp", "grace lin")


@pytest.mark.parametrize(
    ("ends", "error"), [(("grace lin", "grace lin"), InvalidInput), (("grace lin", "nobody"), NotFound)]
)
def test_a_link_joins_two_entities_that_exist(team: Memory, ends: tuple[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        team.graph.link(*ends)


def test_a_severed_link_is_not_extracted_again_until_a_person_makes_it(team: Memory) -> None:
    key = ("grace lin", "tom becker", "co_mentioned")
    undone(team, lambda: team.graph.unlink("grace lin", "tom becker", "co_mentioned"))
    team.remember("ops", "Grace Lin and Tom Becker again.")
    team.graph.extract(everything=True)
    assert key not in edges_of(team)
    team.graph.link("tom becker", "grace lin", "co_mentioned")
    assert key in edges_of(team)


def test_a_deleted_entity_is_not_extracted_again_until_a_person_adds_it(team: Memory) -> None:
    undone(team, lambda: team.graph.delete("tom becker"))
    team.remember("ops", "Tom Becker is here.")
    team.graph.extract(everything=True)
    assert "tom becker" not in {entity.id for entity in team.graph.entities()}
    assert not [key for key in edges_of(team) if "tom becker" in key]
    team.graph.add("Tom Becker", "person")
    team.graph.extract(everything=True)
    assert ("grace lin", "tom becker", "co_mentioned") in edges_of(team)


def test_a_name_that_was_taken_meanwhile_stops_the_undo(team: Memory) -> None:
    seq = team.graph.rename("tom becker", "Thomas").seq
    assert seq is not None
    deleted = team.graph.delete("tom becker").seq
    assert deleted is not None
    team.graph.add("Thomas", "person")
    with pytest.raises(UndoConflict):
        team.undo(deleted)


def test_adding_an_entity_is_not_undone_while_a_later_link_leads_to_it(team: Memory) -> None:
    added = team.graph.add("Acme Holding", "organization").seq
    assert added is not None
    linked = team.graph.link("tom becker", "acme holding", "owns").seq
    assert linked is not None
    before = graph_state(team)
    with pytest.raises(UndoConflict, match="The link tom becker – owns – acme holding was made since") as conflict:
        team.undo(added)
    assert conflict.value.fields == {"kind": "edge", "ids": ['["tom becker","acme holding","owns"]']}
    assert graph_state(team) == before
    team.undo(linked)
    team.undo(added)
    assert "acme holding" not in {entity.id for entity in team.graph.entities()}


def test_adding_an_entity_is_not_undone_while_extraction_has_linked_it(team: Memory) -> None:
    added = team.graph.add("Acme Holding", "organization").seq
    assert added is not None
    team.remember("ops", "Grace Lin left Acme Holding.")
    team.graph.extract()
    with pytest.raises(UndoConflict, match="acme holding"):
        team.undo(added)


def test_a_mention_alone_does_not_stand_in_the_way_of_the_undo(team: Memory) -> None:
    fact = team.remember("ops", "the acme holding is large")
    added = team.graph.add("Acme Holding", "organization").seq
    assert added is not None
    assert team.graph.mentions()[fact.id] == ("acme holding",)
    team.undo(added)
    assert fact.id not in team.graph.mentions()


def test_a_deletion_is_not_redone_over_a_link_made_since_it_was_undone(team: Memory) -> None:
    deleted = team.graph.delete("tom becker").seq
    assert deleted is not None
    undo = team.undo(deleted)
    team.graph.link("tom becker", "lisbon", "lives in")
    with pytest.raises(UndoConflict, match="tom becker – lives in – lisbon"):
        team.redo(undo.seq)


def test_a_link_does_not_come_back_to_an_entity_that_was_removed_since(team: Memory) -> None:
    severed = team.graph.unlink("grace lin", "tom becker").seq
    assert severed is not None
    deleted = team.graph.delete("tom becker").seq
    assert deleted is not None
    with pytest.raises(UndoConflict, match="The entity tom becker, at an end of a link, was removed since") as conflict:
        team.undo(severed)
    assert conflict.value.fields == {"kind": "entity", "ids": ["tom becker"]}
    team.undo(deleted)
    team.undo(severed)
    assert ("grace lin", "tom becker", "co_mentioned") in edges_of(team)


def test_a_link_that_its_own_group_removed_again_does_not_stand_in_the_way_of_the_undo(team: Memory) -> None:
    """Several entries of one action, as an import may write them: the undo restores no link."""
    link = Edge("grace lin", "lisbon", "lives in", 1, 1.0, "person")
    with team._ledger.write("link", origin=Origin("library"), group_id="g") as tx:
        upsert_edges(tx, [link])
        version = tx.seq
    with team._ledger.write("unlink", origin=Origin("library"), group_id="g") as tx:
        remove_edge(tx, link, version)
    team.graph.delete("lisbon")
    before = graph_state(team)
    team.undo("g")
    assert graph_state(team) == before


def test_an_undone_rename_gives_the_name_back(team: Memory) -> None:
    seq = team.graph.rename("tom becker", "Thomas").seq
    assert seq is not None
    team.undo(seq)
    assert team.graph.add("Thomas", "person").seq is not None


def test_the_dictionary_gives_names_a_type_at_once_and_in_facts_written_before(team: Memory) -> None:
    fact = team.remember("ops", "the flux capacitor belongs to the acme group")
    team.graph.extract()
    undone(
        team,
        lambda: team.graph.define(
            [
                DictionaryEntry("Acme", "organization", ("Acme Corp", "acme group")),
                DictionaryEntry("flux capacitor", "concept"),
            ]
        ),
    )
    assert label_of(team, "acme corp") == "Acme"
    team.graph.extract()
    assert fact.id in team.graph.mentioned_in("flux capacitor")
    assert ("flux capacitor", "acme corp", "belongs to") in edges_of(team)


def test_an_ignored_name_is_taken_out_and_stays_out(team: Memory) -> None:
    undone(team, lambda: team.graph.define(DictionaryEntry("Lisbon", ignore=True)))
    team.graph.extract(everything=True)
    assert "lisbon" not in {entity.id for entity in team.graph.entities()}


def test_an_ignored_name_spares_what_a_person_made(team: Memory) -> None:
    team.graph.add("Porto", "place")
    team.graph.define(DictionaryEntry("Porto", ignore=True))
    assert label_of(team, "porto") == "Porto"


def test_entries_of_one_name_merge_what_they_name(team: Memory) -> None:
    undone(team, lambda: team.graph.define(DictionaryEntry("G. Lin", "person", ("Grace Lin", "Tom Becker"))))
    assert label_of(team, "grace lin") == "G. Lin"
    assert team.graph.resolve("Tom Becker").id == "grace lin"


def test_the_dictionary_travels_as_a_file(team: Memory, tmp_path: Path) -> None:
    entries = (DictionaryEntry('Ac"me', "organization", ("ACME\0",)), DictionaryEntry("noise", "concept", ignore=True))
    team.graph.define(entries)
    text = team.graph.export_dictionary()
    team.graph.undefine(['AC"ME', "noise"])
    assert team.graph.dictionary() == ()
    undone(team, lambda: team.graph.import_dictionary(text))
    assert team.graph.dictionary() == entries
    assert team.graph.export_dictionary() == text
    with pytest.raises(NotFound):
        team.graph.undefine("unknown")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "graymatter dictionary 1", "entries": [1]}',
        '{"format": "graymatter dictionary 1", "entries": [{"label": ""}]}',
        '{"format": "graymatter dictionary 1", "entries": [{"label": "x", "names": "y"}]}',
        '{"format": "graymatter dictionary 1", "entries": [{"label": "x", "type": 3}]}',
        '{"format": "graymatter dictionary 1", "entries": [{"label": "\\ud800"}]}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_dictionary_is_refused_whole(memory: Memory, text: str) -> None:
    with pytest.raises(InvalidInput):
        memory.graph.import_dictionary(text)
    assert memory.last_seq() == 0


def test_names_are_searched_by_any_part_the_best_first(team: Memory) -> None:
    assert [entity.id for entity in team.graph.find("be")] == ["tom becker"]
    assert [entity.id for entity in team.graph.find("LI")] == ["lisbon", "grace lin"]
    assert team.graph.find("%") == ()
    with pytest.raises(NotFound):
        team.graph.resolve("nobody")
