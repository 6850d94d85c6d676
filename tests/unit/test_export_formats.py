"""Formats that are a few files: lossless JSON, canvas, DOT, HTML, Markdown; and the options of a publish."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from exporters.canvas import MARK, canvas_id
from exporters.formats import CanvasExporter, DotExporter, HtmlExporter, JsonExporter, MarkdownExporter
from exporters.obsidian.links import link_targets
from exporters.obsidian.publish import publish
from exporters.profiles import GROUP, PublishOptions, PublishProfile, profile, profiles, save_profile
from gm_engine import (
    Cancelled,
    CancelToken,
    DiskFull,
    FactQuery,
    ImportRefused,
    InvalidInput,
    Memory,
    NotFound,
    PublishRefused,
)
from gm_engine.records import JsonValue, Message
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

HOSTILE = '</script><img src=x onerror="a()"> \\" ]] --> \u202eRTL \n\0'
EVERYTHING = FactQuery(status="all")
STRUCK = PublishOptions(retired="struck")
GRAY = Path(__file__).parent.parent / "fixtures" / "graymatter" / "gray.db"
NODE_KEYS = {"id", "type", "x", "y", "width", "height", "color", "text", "file", "subpath", "url", "label"}
EDGE_KEYS = {"id", "fromNode", "fromSide", "fromEnd", "toNode", "toSide", "toEnd", "color", "label"}


def open_store(place: Path) -> Memory:
    return Memory.open(place, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_store(tmp_path / "store") as opened:
        opened.remember("scout", f"Acme met Bob. {HOSTILE}")
        opened.remember("scout", "Old words.")
        opened.revise("scout", "Old words.", "New words.")
        acme = opened.graph.add("Acme", type="organisation").entities[0].id
        bob = opened.graph.add(f"Bob {HOSTILE[:30]}", type="person").entities[0].id
        opened.graph.link(acme, bob, "employs")
        opened.checkpoints.save("scout", state={"a": [1, None]}, messages=(Message("user", "hi\0"),))
        yield opened


def test_a_lossless_file_fills_an_empty_store_that_gives_the_same_file(memory: Memory, tmp_path: Path) -> None:
    memory.import_store(GRAY)
    JsonExporter().export(memory, tmp_path / "one")
    data = (tmp_path / "one" / "graymatter.json").read_bytes()
    with open_store(tmp_path / "copy") as copy:
        copy.import_store(tmp_path / "one" / "graymatter.json")
        JsonExporter().export(copy, tmp_path / "two")
        assert copy.facts(copy.fact_ids(EVERYTHING)) == memory.facts(memory.fact_ids(EVERYTHING))
        assert copy.recall("scout", "words").facts
    assert (tmp_path / "two" / "graymatter.json").read_bytes() == data


def test_a_lossless_file_is_refused_by_a_store_that_holds_something_and_when_it_is_damaged(
    memory: Memory, tmp_path: Path
) -> None:
    JsonExporter().export(memory, tmp_path / "one")
    path = tmp_path / "one" / "graymatter.json"
    before = memory.last_seq()
    with pytest.raises(ImportRefused, match="new store"):
        memory.import_store(path)
    assert memory.last_seq() == before
    path.write_bytes(path.read_bytes()[:-40])
    with open_store(tmp_path / "copy") as copy, pytest.raises(ImportRefused, match="damaged"):
        copy.import_store(path)


def test_a_canvas_has_only_the_fields_of_the_format_and_keeps_what_a_person_did(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    publish(memory, vault)
    path = vault / "Memory" / "Memory.canvas"
    document = json.loads(path.read_text())
    kinds = [node["type"] for node in document["nodes"]]
    assert kinds == sorted(kinds, key=lambda kind: kind != "group")
    for node in document["nodes"]:
        assert set(node) <= NODE_KEYS
        assert all(type(node[key]) is int for key in ("x", "y", "width", "height"))
        if node["type"] == "file":
            assert (vault / node["file"]).exists()
    ids = {node["id"] for node in document["nodes"]}
    for edge in document["edges"]:
        assert set(edge) <= EDGE_KEYS
        assert {edge["fromNode"], edge["toNode"]} <= ids
    moved = next(node for node in document["nodes"] if node["type"] == "file")
    moved |= {"x": 4321.4, "color": "#ff0000"}
    document["nodes"].append({"id": "mine", "type": "text", "text": "x", "x": 1, "y": 2, "width": 3, "height": 4})
    path.write_text(json.dumps(document))
    memory.graph.add("Third", type="thing")
    publish(memory, vault)
    after = {node["id"]: node for node in json.loads(path.read_text())["nodes"]}
    assert (after[moved["id"]]["x"], after[moved["id"]]["color"], "mine" in after) == (4321, "#ff0000", True)
    assert len(after) == len(document["nodes"]) + 1
    rest = path.stat()
    publish(memory, vault)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (rest.st_mtime_ns, rest.st_ino)


def test_lines_that_a_person_drew_stay_while_both_ends_are_there(memory: Memory, tmp_path: Path) -> None:
    publish(memory, tmp_path)
    path = tmp_path / "Memory" / "Memory.canvas"
    document = json.loads(path.read_text())
    place = {"x": 1, "y": 2, "width": 3, "height": 4}
    ours = next(node["id"] for node in document["nodes"] if node["type"] == "file")
    document["nodes"] += [
        {"id": "mine", "type": "text", "text": "x", **place},
        {"id": "frame", "type": "group", **place},
    ]
    document["edges"] += [
        {"id": "kept", "fromNode": "mine", "toNode": ours},
        {"id": "loose", "fromNode": "mine", "toNode": "gone"},
    ]
    path.write_text(json.dumps(document))
    memory.graph.add("Third", type="thing")
    publish(memory, tmp_path)
    after = json.loads(path.read_text())
    assert {edge["id"] for edge in after["edges"] if not edge["id"].startswith(MARK)} == {"kept"}
    kinds = [node["type"] for node in after["nodes"]]
    assert "frame" in [node["id"] for node in after["nodes"]][: kinds.count("group")]


def test_ids_of_a_canvas_do_not_depend_on_the_rest_of_the_graph() -> None:
    assert canvas_id("entity", "a") == canvas_id("entity", "a")
    assert canvas_id("entity", "a") != canvas_id("entitya")
    assert canvas_id("entity", "a").startswith(MARK)


def test_tables_are_yaml_with_five_views_and_stay_as_a_person_changed_them(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    publish(memory, vault)
    path = vault / "Memory" / "Memory.base"
    views = [view["name"] for view in yaml.safe_load(path.read_text())["views"]]
    assert views == ["Live facts", "Retired", "Low confidence", "Changed this week", "Entities"]
    path.write_text("views: []\n")
    memory.remember("scout", "More.")
    publish(memory, vault)
    assert path.read_text() == "views: []\n"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_of_the_graph_opens_offline_and_shows_texts_as_text(memory: Memory, tmp_path: Path) -> None:
    HtmlExporter().export(memory, tmp_path)
    page = _Page()
    page.feed((tmp_path / "graph.html").read_text())
    tags = [tag for tag, _ in page.tags]
    assert (tags.count("script"), "img" in tags, "link" in tags) == (2, False, False)
    assert not any(name in attrs for _, attrs in page.tags for name in ("src", "href", "onerror"))


def test_dot_quotes_every_text(memory: Memory, tmp_path: Path) -> None:
    DotExporter().export(memory, tmp_path)
    lines = (tmp_path / "graph.dot").read_text().split("\n")
    assert (lines[0], lines[-2], len(lines)) == ("digraph memory {", "}", 7)


def test_markdown_has_one_file_for_each_agent(memory: Memory, tmp_path: Path) -> None:
    memory.remember("SCOUT", "Other.")
    report = MarkdownExporter().export(memory, tmp_path)
    assert set(report.written) == {"scout.md", "SCOUT 1.md"} or set(report.written) == {"SCOUT.md", "scout 1.md"}


def test_a_canvas_without_a_vault_has_text_nodes(memory: Memory, tmp_path: Path) -> None:
    CanvasExporter().export(memory, tmp_path)
    nodes = json.loads((tmp_path / "graph.canvas").read_text())["nodes"]
    assert {node["type"] for node in nodes} == {"group", "text"}


@pytest.mark.parametrize(("retired", "path"), [("folder", "Retired/scout"), ("struck", "Facts/scout")])
def test_retired_facts_have_notes_where_a_profile_says_so(
    memory: Memory, tmp_path: Path, retired: str, path: str
) -> None:
    wanted = PublishProfile("p", str(tmp_path / "vault"), options=PublishOptions(retired="folder"))
    save_profile(memory, wanted if retired == "folder" else PublishProfile("p", wanted.vault, "Memory", STRUCK))
    used = profile(memory, "p")
    report = publish(memory, Path(used.vault), options=used.options)
    assert (report.broken_links, report.orphaned) == ((), ())
    assert (tmp_path / "vault" / "Memory" / path / "Old words.md").exists()
    agent = (tmp_path / "vault" / "Memory" / "Agents" / "scout.md").read_text()
    assert ("~~" in agent) is (retired == "struck")
    assert publish(memory, Path(used.vault), options=used.options).written == 0


def test_a_profile_chooses_agents_entities_and_checkpoints(memory: Memory, tmp_path: Path) -> None:
    memory.remember("other", "Not shown.")
    memory.remember_shared("Shared.")
    options = PublishOptions(
        agents=("scout",), shared=False, entities=False, checkpoints=False, canvas=False, base=False
    )
    report = publish(memory, tmp_path, options=options)
    names = {path.relative_to(tmp_path / "Memory").parts[0] for path in (tmp_path / "Memory").rglob("*.*")}
    assert names - {".graymatter"} == {"Agents", "Facts", "Memory.md"}
    assert (report.broken_links, [p.name for p in (tmp_path / "Memory" / "Agents").iterdir()]) == ((), ["scout.md"])


def test_links_follow_the_vaults_own_setting_and_days_the_profile(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "app.json").write_text('{"useMarkdownLinks": true}')
    report = publish(memory, tmp_path, options=PublishOptions(date_format="DD.MM.YYYY"))
    text = (tmp_path / "Memory" / "Agents" / "scout.md").read_text()
    assert "[[" not in text
    assert "Memory/Facts/scout/New words.md" in list(link_targets(text))
    assert "- 30.11.2026 [New words.](Memory/Facts/scout/New%20words.md)" in text
    assert report.broken_links == ()


def test_profiles_are_kept_with_the_store_and_can_be_undone(memory: Memory, tmp_path: Path) -> None:
    one = PublishProfile("one", str(tmp_path), auto_accept=("pin",))
    save_profile(memory, one)
    save_profile(memory, PublishProfile("two", str(tmp_path), "Other", PublishOptions(agents=("a",))))
    assert (profiles(memory)[0], len(profiles(memory))) == (one, 2)
    memory.undo(memory.last_seq())
    assert profiles(memory) == (one,)
    with pytest.raises(NotFound):
        profile(memory, "two")
    with pytest.raises(InvalidInput):
        save_profile(memory, PublishProfile("bad", ""))
    with pytest.raises(InvalidInput, match="none of the choices"):
        save_profile(memory, PublishProfile("bad", str(tmp_path), options=PublishOptions(links="braille")))  # type: ignore[arg-type]


def test_profiles_that_a_newer_program_wrote_are_left_out_or_read_as_far_as_they_are_known(memory: Memory) -> None:
    stored: dict[str, JsonValue] = {
        "text": "somewhere",
        "no vault": {"folder": "Memory"},
        "no options": {"vault": "v", "options": 5},
        "agents": {"vault": "v", "options": {"agents": 5}},
        "accepts": {"vault": "v", "auto_accept": ["everything"]},
        "known": {"vault": "v", "options": {"agents": ["a"], "smell": "fresh"}},
    }
    for name, value in stored.items():
        memory.store_value(GROUP, name, value)
    assert profiles(memory) == (PublishProfile("known", "v", "Memory", PublishOptions(agents=("a",))),)


# --- files that are there already, and disks that are full -----------------------------------------------------------


def test_a_preview_says_what_is_new_changed_and_right_already(memory: Memory, tmp_path: Path) -> None:
    exporter = MarkdownExporter()
    assert exporter.preview(memory, tmp_path / "out").new == ("scout.md",)
    exporter.export(memory, tmp_path / "out")
    assert exporter.plan(memory, tmp_path / "out").counts()["unchanged"] == 1
    memory.remember("scout", "More.")
    (item,) = exporter.plan(memory, tmp_path / "out").of("changed")
    assert "+- More." in item.diff()
    assert exporter.export(memory, tmp_path / "out").written == ("scout.md",)
    assert "- More." in (tmp_path / "out" / "scout.md").read_text()


def test_a_change_that_keeps_the_size_of_a_file_is_written(memory: Memory, tmp_path: Path) -> None:
    DotExporter().export(memory, tmp_path)
    path = tmp_path / "graph.dot"
    right = path.read_bytes()
    path.write_bytes(right.replace(b"employs", b"EMPLOYS"))
    assert DotExporter().export(memory, tmp_path).written == ("graph.dot",)
    assert path.read_bytes() == right


def test_a_folder_in_the_place_of_a_file_is_refused_in_words(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "graph.dot").mkdir()
    with pytest.raises(PublishRefused, match="cannot be read: Is a directory"):
        DotExporter().plan(memory, tmp_path)
    with pytest.raises(PublishRefused, match="cannot be written: Is a directory"):
        DotExporter().export(memory, tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_target_that_is_a_file_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    assert DotExporter().preview(memory, tmp_path / "out").new == ("graph.dot",)
    with pytest.raises(PublishRefused, match="cannot be written"):
        DotExporter().export(memory, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_full_disk_keeps_the_old_file_and_leaves_nothing_half(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DotExporter().export(memory, tmp_path / "out")
    before = (tmp_path / "out" / "graph.dot").read_bytes()
    memory.graph.add("Third", type="thing")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match="disk is full"):
        DotExporter().export(memory, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {"graph.dot": before}


def test_a_cancelled_export_keeps_the_old_file_and_leaves_nothing_half(memory: Memory, tmp_path: Path) -> None:
    JsonExporter().export(memory, tmp_path / "out")
    before = (tmp_path / "out" / "graymatter.json").read_bytes()
    memory.remember("scout", "More.")
    token = CancelToken()
    with pytest.raises(Cancelled):
        JsonExporter().export(memory, tmp_path / "out", cancel=token, progress=lambda *_: token.cancel())
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {"graymatter.json": before}


def test_an_export_without_a_target_is_asked_for_one(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="where to export to"):
        DotExporter().export(memory, None)


def test_an_export_with_a_profile_goes_where_and_shows_what_it_says(memory: Memory, tmp_path: Path) -> None:
    memory.remember("other", "Not shown.")
    options = PublishOptions(agents=("scout",), retired="struck")
    save_profile(memory, PublishProfile("home", str(tmp_path / "out"), options=options))
    assert MarkdownExporter().export(memory, None, profile="home").written == ("scout.md",)
    text = (tmp_path / "out" / "scout.md").read_text()
    assert text.endswith("\n## Retired\n\n- ~~Old words.~~\n")
    assert MarkdownExporter().export(memory, tmp_path / "mine", profile="home").target == str(tmp_path / "mine")
