"""A small vault that people keep: its bytes are reviewed when they change. `GM_GOLDEN=write` writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from exporters.obsidian.links import link_targets
from exporters.obsidian.publish import publish
from exporters.obsidian.reading import read_note
from gm_engine import FactQuery, Memory
from gm_engine.records import Message
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

GOLDEN = Path(__file__).parent / "obsidian_vault"
FIXTURES = Path(__file__).parent.parent / "fixtures" / "graymatter"


def make_store(place: Path) -> Memory:
    memory = Memory.open(place, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False)
    memory.remember("sales", "Acme Corp asked for a revised quote covering 36 seats.")
    memory.revise("sales", "Acme Corp asked for a revised quote covering 36 seats.", "Acme Corp wants 48 seats.")
    memory.remember("sales", "Hostile: [[x]] #tag %%c%% key:: value\n---\n```\n<b>\n\0nul", confidence="unverified")
    pinned = memory.remember("../Sales", "Same   words?", confidence="verified")
    memory.pin("../Sales", [pinned.id])
    memory.remember("../sales", "same words")
    memory.remember_shared("Answer in the language of the question.")
    memory.alias("sales", "quote", ["offer", "price"])
    memory.checkpoints.save(
        "sales",
        state={"phase": "plan", "note": "[[x]] ``` %% <b> k:: v", "open": [1, None, [[True]]]},
        messages=(Message("user", "Continue.\n- [ ] **all**"), Message("tool", "<img src=x>")),
        metadata={"branch": "main", "a:": ":b"},
    )
    return memory


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "files.json"
    }


def test_the_small_vault_is_as_it_was_reviewed(tmp_path: Path) -> None:
    target = GOLDEN if os.environ.get("GM_GOLDEN") == "write" else tmp_path / "vault"
    with make_store(tmp_path / "store") as memory:
        report = publish(memory, target)
    (GOLDEN / "Memory" / ".graymatter" / "files.json").unlink(missing_ok=True)  # times and inodes are of one disk
    assert report.broken_links == ()
    assert tree(target) == tree(GOLDEN)


@pytest.mark.parametrize("source", ["gray.db", "contract.db", "memories.json"])
def test_an_imported_store_reads_back_from_its_vault_with_independent_parsers(source: str, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        memory.import_store(FIXTURES / source)
        report = publish(memory, vault)
        facts = {fact.id: fact for fact in memory.facts(memory.fact_ids(FactQuery()))}
        again = publish(memory, vault)
    assert (report.broken_links, report.left, again.written) == ((), (), 0)
    notes = {path.relative_to(vault).as_posix().removesuffix(".md").lower(): path for path in vault.rglob("*.md")}
    seen = set()
    for path in notes.values():
        text = path.read_text(encoding="utf-8")
        head = text.split("---\n")[1]
        properties = yaml.safe_load(head)
        assert properties == YAML(typ="safe", pure=True).load(head)
        assert {target.lower() for target in link_targets(text)} <= set(notes)
        if properties["mem_kind"] in ("fact", "alias"):
            fact = facts[properties["mem_id"]]
            seen.add(fact.id)
            assert read_note(path).text == fact.text
            assert properties["mem_agent"] == fact.agent_id
            assert properties.get("mem_text", fact.text) == fact.text
    assert seen == set(facts)


def test_a_checkpoints_state_is_json_that_stays_in_its_fence(tmp_path: Path) -> None:
    with make_store(tmp_path / "store") as memory:
        publish(memory, tmp_path / "vault")
        (checkpoint,) = memory.checkpoints.list()
        saved = memory.checkpoints.load(checkpoint.id)
    (path,) = (tmp_path / "vault" / "Memory" / "Checkpoints" / "sales").iterdir()
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8").split("---\n", 2)[2])
    (fence,) = (token for token in tokens if token.type == "fence")
    assert json.loads(fence.content) == saved.state
