"""Laws of editing the graph, on random sequences of verbs beside facts that come and go."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gm_engine import Config, EmbeddingMode, FactQuery, InvalidInput, Memory, NotFound, UndoConflict
from gm_engine.graph.records import DictionaryEntry
from gm_engine.store.transaction import canonical_json
from tests.fakes.clock import FrozenClock
from tests.fakes.graph_state import graph_state
from tests.fakes.replay import replay

LABELS = ("Ana", "Bergen", "Acme Corp", "ana", "X-17", "Ops \0", "שלום", "Ana Lima")
TEXTS = ("Ana met Bo in Bergen.", "Acme Corp hired Ana Lima.", "Bo prefers tea.", "See X-17, says Ana.", "nothing")
VERBS = (
    "remember",
    "retire",
    "restore",
    "extract",
    "add",
    "rename",
    "retype",
    "merge",
    "split",
    "link",
    "unlink",
    "delete",
    "define",
    "undefine",
    "fade",
    "undo",
)
SILENT = frozenset({"weight", "last_seen_ns", "sources"})  # what later facts add to them is no entry of the journal
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 30), st.integers(0, 30)), max_size=18)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    Memory.open(path, background=False, config=Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)).close()
    return path


@contextmanager
def store(template: Path) -> Iterator[Memory]:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        shutil.copytree(template, path)
        with Memory.open(path, clock=FrozenClock(), config=config, background=False) as memory:
            for text in TEXTS[:2]:
                memory.remember("ops", text)
            yield memory


def do(memory: Memory, verb: str, a: int, b: int) -> None:
    """One verb on whatever there is; refusals are part of the game."""
    graph, label = memory.graph, LABELS[b % len(LABELS)]
    ids = [entity.id for entity in graph.entities()] or ["none"]
    one, other = ids[a % len(ids)], ids[b % len(ids)]
    facts = memory.fact_ids(FactQuery(agent_id="ops", status="all"))
    fact = facts[a % len(facts)] if facts else "none"
    try:
        match verb:
            case "remember":
                memory.remember("ops", TEXTS[a % len(TEXTS)])
            case "retire" | "restore":
                getattr(memory, verb)("ops", [fact])
            case "extract":
                graph.extract(everything=a % 3 == 0)
            case "add":
                graph.add(label, ("person", "place")[a % 2], names=[LABELS[a % len(LABELS)]] if a % 4 == 0 else [])
            case "rename":
                graph.rename(one, label)
            case "retype":
                graph.retype([one, other], ("person", "place")[b % 2])
            case "merge":
                graph.merge([one], other)
            case "split":
                graph.split(one, label, facts=[fact])
            case "link":
                graph.link(one, other, ("co_mentioned", "knows")[a % 2], sources=[fact] if b % 2 else [])
            case "unlink":
                edges = graph.edges()
                if edges:
                    edge = edges[a % len(edges)]
                    graph.unlink(edge.from_id, edge.to_id, edge.relation if b % 2 else None)
            case "delete":
                graph.delete([one])
            case "define":
                graph.define(DictionaryEntry(label, "concept", (LABELS[a % len(LABELS)],), ignore=b % 5 == 0))
            case "undefine":
                graph.undefine([label])
            case "fade":
                graph.fade()
            case _:
                memory.undo(1 + (a * 31 + b) % max(1, memory.last_seq()))
    except (InvalidInput, NotFound, UndoConflict):
        pass


@settings(max_examples=max(60, settings().max_examples), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_undoing_everything_gives_the_graph_of_the_start(template: Path, steps: list[tuple[str, int, int]]) -> None:
    with store(template) as memory:
        start, first = graph_state(memory), memory.last_seq()
        for verb, a, b in steps:
            do(memory, verb, a, b)
        for seq in range(memory.last_seq(), first, -1):
            memory.undo(seq)
        assert graph_state(memory) == start


@settings(max_examples=max(60, settings().max_examples), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_no_undo_out_of_order_leaves_a_link_that_leads_nowhere(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with store(template) as memory:
        first = memory.last_seq()
        for verb, a, b in steps:
            do(memory, verb, a, b)
        for seq in range(first + 1, memory.last_seq() + 1):
            with suppress(UndoConflict):
                memory.undo(seq)
            ends = {end for edge in memory.graph.edges() for end in (edge.from_id, edge.to_id)}
            assert ends <= {entity.id for entity in memory.graph.entities()}


@settings(max_examples=max(60, settings().max_examples), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_replaying_the_journal_gives_entities_names_and_links(
    template: Path, steps: list[tuple[str, int, int]]
) -> None:
    with store(template) as memory:
        for verb, a, b in steps:
            do(memory, verb, a, b)
        entries = memory.journal(limit=10_000)[::-1]
        state = graph_state(memory)
        entities = replay(entries, kind="entity", bookkeeping=SILENT)
        assert {row[0]: row[5] for row in state["entities"]} == {key: found[0] for key, found in entities.items()}
        labels = {row[0]: (row[1], row[2], row[4]) for row in state["entities"]}
        for key, (_, image) in entities.items():
            assert labels[key] == (image["label"], image["type"], image["made_by"])
        names = {(name, key) for key, (_, image) in entities.items() for name in _list(image["names"])}
        assert names == {(str(row[0]), str(row[1])) for row in state["names"]}
        edges = replay(entries, kind="edge", bookkeeping=SILENT)
        assert {canonical_json(list(row[:3])): row[5] for row in state["edges"]} == {
            key: found[0] for key, found in edges.items()
        }


def _list(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(each) for each in value]


@settings(max_examples=max(40, settings().max_examples), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_extraction_settles_and_finds_the_same_in_one_go(template: Path, steps: list[tuple[str, int, int]]) -> None:
    with store(template) as memory:
        for verb, a, b in steps:
            do(memory, verb, a, b)
        memory.graph.extract()
        settled = graph_state(memory)
        seq = memory.last_seq()
        assert memory.graph.extract().facts == 0
        assert not memory.graph.extract_step()
        assert memory.last_seq() == seq
        assert graph_state(memory) == settled
