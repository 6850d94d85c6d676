"""The demo store: three months in the memory of an invented company, made through the same verbs as any other store.

The content is `resources/demo/memory.toml`. Given the same clock, two demo stores have the same ids, times and journal.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from gm_engine.clock import Clock, encode_ulid
from gm_engine.config import Config, EmbeddingMode
from gm_engine.errors import InvalidInput
from gm_engine.memory import Memory
from gm_engine.progress import Progress, no_progress
from gm_engine.records import BALANCED_WEIGHTS, ClientOrigin, Edge, Entity, Message, Origin, SourceRef
from gm_engine.resources import resource
from gm_engine.store.database import Ledger
from gm_engine.store.entities import name_key, upsert_edges, upsert_entities
from gm_engine.store.mentions import refresh_mentions

_DAY_NS = 86_400_000_000_000
_HOUR_NS = 3_600_000_000_000
_HALF_LIFE_H = 720.0
_BEFORE_ALL_DAYS = 90.0
_LAST_CYCLE_DAYS = 0.35
_PERSON = Origin("desktop", client="graymatter-desktop")
_AGENT_CLIENTS = {"release-pilot": "ci-runner", "support-desk": "desk-assistant"}


class DemoClock:
    """Stands where the story is; ids follow from time and number alone."""

    def __init__(self, today_ns: int) -> None:
        self.today_ns = today_ns
        self.at_ns = today_ns
        self._count = 0

    def days_ago(self, days: float) -> None:
        """Moves to `days` before today, at a second that looks lived in."""
        at_ns = self.today_ns - round(days * _DAY_NS)
        self.at_ns = at_ns - int(hashlib.sha256(str(days).encode()).hexdigest()[:9], 16) % (20 * 60 * 1_000_000_000)

    def now_ns(self) -> int:
        """The moment of the story."""
        return self.at_ns

    def new_id(self, at_ns: int) -> str:
        """A ULID whose random part is a hash of its number."""
        self._count += 1
        digest = hashlib.sha256(f"demo {self._count}".encode()).digest()
        return encode_ulid(max(0, at_ns) // 1_000_000, int.from_bytes(digest[:10], "big"))


def build_demo(data_dir: Path, *, clock: Clock, progress: Progress = no_progress) -> None:
    """Makes the demo store in `data_dir`, which must not hold a store yet; its vectors are left to be computed.

    The story ends at the clock's present. Raises `InvalidInput` when there is a store already.
    """
    if (data_dir / "ledger.sqlite").exists():
        raise InvalidInput(f"There is a store already in {data_dir}; the demo needs a directory of its own.")
    content = tomllib.loads(resource("demo", "memory.toml").read_text(encoding="utf-8"))
    demo_clock = DemoClock(clock.now_ns())
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, extract_entities=False)
    with Memory.open(data_dir, config=config, background=False, clock=demo_clock, origin=_PERSON) as memory:
        story = _Story(memory, content)
        events = sorted(story.events(), key=lambda event: -event[0])
        for done, (days, act) in enumerate(events):
            progress(done, len(events), "Making the demo")
            demo_clock.days_ago(days)
            act()
        progress(len(events), len(events), "Making the demo")
        demo_clock.days_ago(_LAST_CYCLE_DAYS)
        for agent in memory.agents():
            memory.consolidate(agent.agent_id, prune=False)
    demo_clock.days_ago(0.3)
    with Ledger.open(data_dir, clock=demo_clock) as ledger:
        _link(ledger, content["graph"])
        _fade(ledger, demo_clock.today_ns)


_Event = tuple[float, Callable[[], object]]


class _Story:
    """Turns the lines of the content into verbs, and remembers which fact a key stands for."""

    def __init__(self, memory: Memory, content: Mapping[str, Any]) -> None:
        self._memory = memory
        self._content = content
        self._agents: dict[str, str] = {}
        self._facts: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._previous: dict[str, str] = {}
        self._sources = {key: SourceRef(kind, ref) for key, kind, ref in _lines(content["sources"]["lines"], 3)}

    def events(self) -> Iterator[_Event]:
        """Every event with the days between it and today."""
        memory, content = self._memory, self._content
        balanced = replace(memory.settings, signal_weights=BALANCED_WEIGHTS)
        yield _BEFORE_ALL_DAYS, lambda: memory.set_settings(balanced)
        for agent in content["agents"]:
            for days, confidence, key, text in _lines(agent["facts"], 4):
                yield float(days), self._remember(agent["name"], key, text, confidence)
        for days, verb, key, value in _lines(content["changes"]["lines"], 4):
            yield float(days), self._change(verb, key, value)
        for days, agent_id, term, equivalents in _lines(content["aliases"]["lines"], 4):
            yield float(days), self._alias(agent_id, term, [part.strip() for part in equivalents.split(",")])
        for days, agent_id, query in _lines(content["recalls"]["lines"], 3):
            yield float(days), self._recall(agent_id, query)
        for saved in content["checkpoints"]:
            yield float(saved["days"]), self._save(saved)
        review = content["review"]
        yield float(review["days"]), lambda: memory.clients.set_access(review["client"], None, "review")
        for days, agent_id, text in _lines(review["lines"], 3):
            yield float(days), self._ask(review["client"], agent_id, text)

    def _remember(self, agent_id: str, key: str, text: str, confidence: str) -> Callable[[], object]:
        def act() -> None:
            sources = (self._sources[key],) if key in self._sources else ()
            client = _AGENT_CLIENTS.get(agent_id, "team-assistant")
            origin = Origin("mcp", client=client, client_version="1.4.2", sources=sources)
            fact = self._memory.remember(agent_id, text, confidence=confidence or None, origin=origin)
            if key:
                self._agents[key], self._facts[key] = agent_id, fact.id

        return act

    def _ask(self, client: str, agent_id: str, text: str) -> Callable[[], object]:
        writer = ClientOrigin("mcp", client=client, client_version="0.9.1", session="stdio demo")
        return lambda: self._memory.acting_as(writer).requests.remember(agent_id, text)

    def _change(self, verb: str, key: str, value: str) -> Callable[[], object]:
        def act() -> None:
            memory, agent_id, ids = self._memory, self._agents[key], [self._facts[key]]
            match verb:
                case "revise":
                    fact = memory.revise(agent_id, ids, value)
                    self._previous[key], self._facts[key], self._last[key] = ids[0], fact.id, fact.version
                case "undo":
                    memory.undo(self._last[key])
                    self._facts[key] = self._previous[key]
                case "label":
                    memory.label(agent_id, ids, value)
                case "copy":
                    memory.copy(agent_id, ids, value)
                case "retire":
                    memory.retire(agent_id, ids)
                case "restore":
                    memory.restore(agent_id, ids)
                case "pin":
                    memory.pin(agent_id, ids)
                case "unpin":
                    memory.unpin(agent_id, ids)
                case _:
                    raise InvalidInput(f"the demo's content names an unknown verb: {verb}")

        return act

    def _alias(self, agent_id: str, term: str, equivalents: list[str]) -> Callable[[], object]:
        return lambda: self._memory.alias(agent_id, term, equivalents)

    def _recall(self, agent_id: str, query: str) -> Callable[[], object]:
        return lambda: self._memory.recall(agent_id, query, top_k=4)

    def _save(self, saved: Mapping[str, Any]) -> Callable[[], object]:
        messages = tuple(Message(role, content) for role, content in saved["messages"])
        return lambda: self._memory.checkpoints.save(
            saved["agent"], state=saved["state"], messages=messages, metadata=saved["metadata"]
        )


def _lines(block: str, columns: int) -> Iterator[list[str]]:
    """The cells of each line of a block; the last cell may hold further bars."""
    for line in block.splitlines():
        if line.strip():
            cells = [cell.strip() for cell in line.split("|", columns - 1)]
            yield cells + [""] * (columns - len(cells))


def _link(ledger: Ledger, graph: Mapping[str, str]) -> None:
    """Writes the entities, finds who mentions them, and links what one fact mentions together."""
    with ledger.read() as connection:
        created = {
            row[0]: row[1] for row in connection.exec_driver_sql("SELECT id, created_ns FROM facts WHERE kind = ''")
        }
    entities = [
        Entity(name_key(label), label, kind, None, None, 1.0, "person") for label, kind in _lines(graph["entities"], 2)
    ]
    with ledger.write("link", origin=_PERSON, detail="demo") as tx:
        upsert_entities(tx, entities)
    refresh_mentions(ledger)
    with ledger.read() as connection:
        mentions: dict[str, list[str]] = defaultdict(list)
        for fact_id, entity_id in connection.exec_driver_sql("SELECT fact_id, entity_id FROM mentions ORDER BY 1, 2"):
            mentions[fact_id].append(entity_id)
    with ledger.write("link", origin=_PERSON, detail="demo") as tx:
        upsert_entities(tx, [_seen(entity, mentions, created) for entity in entities])
        upsert_edges(tx, list(_edges(graph, mentions, created)))


def _seen(entity: Entity, mentions: Mapping[str, list[str]], created: Mapping[str, int]) -> Entity:
    times = [created[fact_id] for fact_id, found in mentions.items() if entity.id in found]
    return replace(entity, first_seen_ns=min(times, default=None), last_seen_ns=max(times, default=None))


def _edges(graph: Mapping[str, str], mentions: Mapping[str, list[str]], created: Mapping[str, int]) -> Iterator[Edge]:
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for fact_id, found in mentions.items():
        for pair in combinations(sorted(found), 2):
            together[pair].append(fact_id)
    named = set()
    for start, relation, end in _lines(graph["relations"], 3):
        pair = (name_key(start), name_key(end))
        sources = tuple(together.get((min(pair), max(pair)), ()))
        named.add((min(pair), max(pair)))
        yield Edge(*pair, relation, _first(sources, created), 1.0, "person", sources)
    for pair, fact_ids in sorted(together.items()):
        if pair not in named:
            weight = min(1.0, 0.4 + 0.2 * len(fact_ids))
            yield Edge(*pair, "co_mentioned", _first(fact_ids, created), weight, "extraction", tuple(fact_ids))


def _first(fact_ids: tuple[str, ...] | list[str], created: Mapping[str, int]) -> int | None:
    return min((created[fact_id] for fact_id in fact_ids), default=None)


def _fade(ledger: Ledger, now_ns: int) -> None:
    """Gives unpinned facts the weight that decay would have left them: half after 30 days without use."""
    with ledger.bookkeep() as connection:
        rows = connection.exec_driver_sql("SELECT no, coalesce(accessed_ns, created_ns) FROM facts WHERE pinned = 0")
        weights = [
            (round(math.exp(-math.log(2) / _HALF_LIFE_H * (now_ns - used_ns) / _HOUR_NS), 6), no)
            for no, used_ns in rows
        ]
        connection.exec_driver_sql("UPDATE facts SET weight = ? WHERE no = ?", weights)
