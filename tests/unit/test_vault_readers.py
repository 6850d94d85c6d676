"""A published vault as others read it: two YAML parsers, a link resolver and a canvas library that are not ours."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from ruamel.yaml import YAML

from exporters.obsidian.publish import publish
from exporters.obsidian.reading import read_note
from gm_engine import FactQuery, Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.obsidian_links import ObsidianVault

GRAY = Path(__file__).parent.parent / "fixtures" / "graymatter" / "gray.db"
HOSTILE = (
    "See [[Nowhere]] and ![[Gone]] and [[a|b]] and [x](y.md), #tag, ^block",
    "---\nkey: value\n---\n%% comment %% key:: value <b>bold</b> `[[code]]`",
    "```\n[[in a fence]]\n```\n> quoted\n- [ ] task",
    "Zeta Works\r\nruns \x00 Omega Yard: yes",
    "no",
    "1e10",
    "12:30:45",
    "2026-01-01",
    "👩\u200d👧 \u202egnirts [[לא]]",
)
# the fields of JSON Canvas 1.0: every node, then by type, then every edge; True where a field must be there
NODE = {"id": True, "type": True, "x": True, "y": True, "width": True, "height": True, "color": False}
BY_TYPE: dict[str, dict[str, bool]] = {
    "text": {"text": True},
    "file": {"file": True, "subpath": False},
    "link": {"url": True},
    "group": {"label": False, "background": False, "backgroundStyle": False},
}
EDGE = {
    "id": True,
    "fromNode": True,
    "toNode": True,
    **dict.fromkeys(("fromSide", "fromEnd", "toSide", "toEnd", "color", "label"), False),
}
SIDES, ENDS = {"top", "right", "bottom", "left"}, {"none", "arrow"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    place = tmp_path_factory.mktemp("readers") / "store"
    with Memory.open(place, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        memory.import_store(GRAY)
        first, second = (memory.graph.add(label).entities[0] for label in ("Zeta Works", "Omega Yard"))
        memory.graph.add("[[Odd]] | #entity: 1e3")
        fact = memory.remember("yes", "Zeta Works supplies Omega Yard.")
        memory.graph.link(first.id, second.id, "supplies", sources=[fact.id])
        for text in HOSTILE:
            memory.remember("no/On: [[agent]]", text)
        old = memory.remember("yes", "An old saying.")
        memory.revise("yes", [old.id], "A new saying.")
        yield memory


@pytest.fixture(scope="module")
def vault(store: Memory, tmp_path_factory: pytest.TempPathFactory) -> ObsidianVault:
    root = tmp_path_factory.mktemp("vault")
    (root / "Diary.md").write_text("Mine, with a [[Nowhere|broken link]].\n")
    report = publish(store, root)
    assert (report.broken_links, report.left) == ((), ())
    return ObsidianVault(root)


def ours(vault: ObsidianVault) -> list[str]:
    return [note for note in vault.notes() if note.startswith("Memory/")]


def test_two_yaml_parsers_read_the_same_properties(vault: ObsidianVault) -> None:
    modern = YAML(typ="safe", pure=True)
    for note in ours(vault):
        head = (vault.root / note).read_text(encoding="utf-8").split("---\n")[1]
        old, new = yaml.safe_load(head), modern.load(head)
        assert old == new, note
        assert isinstance(old["mem_id"], str)
        assert isinstance(old.get("mem_agent", ""), str), note
        assert "mem_created" not in old or isinstance(old["mem_created"], datetime), note
        assert all(isinstance(item, str) for key in ("aliases", "tags") for item in old.get(key, ()))


def test_obsidian_would_follow_every_link(vault: ObsidianVault) -> None:
    followed = 0
    for note in ours(vault):
        for inner in vault.links(note):
            assert vault.leads_to(note, inner) is not None, (note, inner)
            followed += 1
    assert followed > 100
    assert vault.leads_to("Diary.md", next(vault.links("Diary.md"))) is None


def test_links_between_facts_and_entities_go_both_ways(vault: ObsidianVault) -> None:
    links = {
        note: {vault.leads_to(note, inner) for inner in vault.links(note)}
        for note in ours(vault)
        if note.startswith(("Memory/Facts/", "Memory/Entities/"))
    }
    between = [(note, target) for note, found in links.items() for target in found if target in links]
    mentions = [(note, target) for note, target in between if note.startswith("Memory/Facts/") and "Entities" in target]
    assert len(mentions) > 10
    for note, target in mentions:
        assert note in links[target], (note, target)


def test_a_fact_can_be_linked_by_its_block(store: Memory, vault: ObsidianVault) -> None:
    fact = store.facts(store.fact_ids(FactQuery()))[0]
    note = next(path for path in ours(vault) if "Facts" in path and read_note(vault.root / path).fact_id == fact.id)
    assert vault.leads_to("Diary.md", f"{note}#^f-{fact.id.lower()}|the fact") == note


def test_the_canvas_is_json_canvas_1_0_to_the_letter(vault: ObsidianVault) -> None:
    document = json.loads((vault.root / "Memory" / "Memory.canvas").read_text(encoding="utf-8"))
    assert set(document) == {"nodes", "edges"}
    for node in document["nodes"]:
        fields = NODE | BY_TYPE[node["type"]]
        assert set(node) <= set(fields)
        assert {field for field, needed in fields.items() if needed} <= set(node)
        assert all(type(node[field]) is int for field in ("x", "y", "width", "height"))
        if node["type"] == "file":
            assert node["file"] in vault.files
    ids = [node["id"] for node in document["nodes"]]
    assert len(set(ids)) == len(ids)
    for edge in document["edges"]:
        assert set(edge) <= set(EDGE)
        assert {edge["fromNode"], edge["toNode"]} <= set(ids)
        assert {edge.get("fromSide", "top"), edge.get("toSide", "top")} <= SIDES
        assert {edge.get("fromEnd", "none"), edge.get("toEnd", "none")} <= ENDS
    assert len(document["edges"]) > 0


def test_a_canvas_library_of_others_reads_it(vault: ObsidianVault) -> None:
    text = (vault.root / "Memory" / "Memory.canvas").read_text(encoding="utf-8")
    read = importlib.import_module("pyjsoncanvas").Canvas.from_json(text)
    read.validate()
    document = json.loads(text)
    assert (len(read.nodes), len(read.edges)) == (len(document["nodes"]), len(document["edges"]))
