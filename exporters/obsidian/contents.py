"""What one publish shows: everything read from the engine once, with the look-ups that the notes need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from exporters.profiles import PublishOptions
from gm_engine import (
    SHARED_AGENT_ID,
    AgentSummary,
    CancelToken,
    Checkpoint,
    CheckpointDamaged,
    CheckpointSummary,
    Edge,
    Entity,
    Fact,
    FactQuery,
    Memory,
    NotFound,
    Progress,
)

_PAGE = 2_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Contents:
    """The store as published. Sequences are in the order in which notes show them.

    `facts` holds retired facts too (for lineage); `live` are the ids of live ones, newest first. `replaced` maps a fact
    to all that it replaced, nearest first. `checkpoints` lists newest first, damaged ones have no entry in `saved`.
    """

    seq: int
    agents: tuple[AgentSummary, ...]
    facts: Mapping[str, Fact]
    live: tuple[str, ...]
    live_of: Mapping[str, tuple[str, ...]]
    replaced: Mapping[str, tuple[str, ...]]
    entities: Mapping[str, Entity]
    mentions: Mapping[str, tuple[str, ...]]
    mentioned_by: Mapping[str, tuple[str, ...]]
    edges_of: Mapping[str, tuple[Edge, ...]]
    edges_from_fact: Mapping[str, tuple[Edge, ...]]
    checkpoints: tuple[CheckpointSummary, ...]
    saved: Mapping[str, Checkpoint]


def read_contents(memory: Memory, *, progress: Progress, cancel: CancelToken) -> Contents:
    """Reads the whole store through the door. Raises `Cancelled`."""
    seq = memory.last_seq()
    facts: dict[str, Fact] = {}
    ids = memory.fact_ids(FactQuery(status="all"))
    for start in range(0, len(ids), _PAGE):
        cancel.check()
        progress(start, len(ids), "Reading facts")
        facts.update((fact.id, fact) for fact in memory.facts(ids[start : start + _PAGE]))
    ordered = sorted(facts.values(), key=lambda fact: (-fact.created_ns, fact.id))
    live = [fact for fact in ordered if not fact.is_superseded]
    live_of: dict[str, list[str]] = defaultdict(list)
    for fact in live:
        live_of[fact.agent_id].append(fact.id)
    cancel.check()
    entities = {entity.id: entity for entity in sorted(memory.graph.entities(), key=lambda e: (e.label, e.id))}
    edges = sorted(memory.graph.edges(), key=lambda edge: (edge.relation, edge.from_id, edge.to_id))
    mentions = {
        fact_id: tuple(sorted(found, key=lambda e: (entities[e].label, e)))
        for fact_id, mentioned in sorted(memory.graph.mentions().items())
        if fact_id in facts and not facts[fact_id].is_superseded and (found := [e for e in mentioned if e in entities])
    }
    mentioned_by: dict[str, list[str]] = defaultdict(list)
    for fact in live:
        for entity_id in mentions.get(fact.id, ()):
            mentioned_by[entity_id].append(fact.id)
    checkpoints = tuple(sorted(memory.checkpoints.list(), key=lambda saved: (-saved.created_ns, saved.id)))
    return Contents(
        seq=seq,
        agents=_agents(memory, live_of, checkpoints),
        facts=facts,
        live=tuple(fact.id for fact in live),
        live_of=_frozen(live_of),
        replaced=_replaced(facts),
        entities=entities,
        mentions=mentions,
        mentioned_by=_frozen(mentioned_by),
        edges_of=_edges_of(edges),
        edges_from_fact=_edges_from_fact(edges),
        checkpoints=checkpoints,
        saved=_load(memory, checkpoints, progress=progress, cancel=cancel),
    )


def selected(contents: Contents, options: PublishOptions) -> Contents:
    """What of the store these options show."""
    if not options.agents and options.shared and options.entities and options.checkpoints:
        return contents

    def wanted(agent_id: str) -> bool:
        if agent_id == SHARED_AGENT_ID:
            return options.shared
        return not options.agents or agent_id in options.agents

    facts = {fact_id: fact for fact_id, fact in contents.facts.items() if wanted(fact.agent_id)}
    checkpoints = tuple(c for c in contents.checkpoints if options.checkpoints and wanted(c.agent_id))
    shown = {checkpoint.id for checkpoint in checkpoints}
    kept = {fact_id: found for fact_id, found in contents.mentions.items() if options.entities and fact_id in facts}
    by = {
        entity: tuple(fact_id for fact_id in found if fact_id in facts)
        for entity, found in contents.mentioned_by.items()
        if options.entities
    }
    return replace(
        contents,
        agents=tuple(agent for agent in contents.agents if wanted(agent.agent_id)),
        facts=facts,
        live=tuple(fact_id for fact_id in contents.live if fact_id in facts),
        live_of={agent_id: ids for agent_id, ids in contents.live_of.items() if wanted(agent_id)},
        replaced={k: tuple(i for i in ids if i in facts) for k, ids in contents.replaced.items() if k in facts},
        entities=contents.entities if options.entities else {},
        mentions=kept,
        mentioned_by=by,
        edges_of=contents.edges_of if options.entities else {},
        edges_from_fact=contents.edges_from_fact if options.entities else {},
        checkpoints=checkpoints,
        saved={checkpoint_id: each for checkpoint_id, each in contents.saved.items() if checkpoint_id in shown},
    )


def state_of(memory: Memory) -> str:
    """A name for the journalled state of the store that no other state of any store has; empty without a journal."""
    entries = memory.journal(limit=1)
    return f"{entries[0].seq}-{entries[0].group_id}-{entries[0].at_ns}" if entries else ""


def _frozen(lists: Mapping[str, list[_T]]) -> dict[str, tuple[_T, ...]]:
    return {key: tuple(items) for key, items in lists.items()}


def _agents(
    memory: Memory, live_of: Mapping[str, object], checkpoints: Iterable[CheckpointSummary]
) -> tuple[AgentSummary, ...]:
    """Every namespace with facts or checkpoints, by name; one that only saved checkpoints counts no facts."""
    known = {agent.agent_id: agent for agent in memory.agents()}
    for agent_id in {*live_of, *(saved.agent_id for saved in checkpoints)}:
        known.setdefault(agent_id, AgentSummary(agent_id, live=0, retired=0, pinned=0, aliases=0))
    return tuple(known[agent_id] for agent_id in sorted(known))


def _replaced(facts: Mapping[str, Fact]) -> dict[str, tuple[str, ...]]:
    """For every fact all facts that it replaced, nearest first, newest first within one step; safe with cycles."""
    direct: dict[str, list[str]] = defaultdict(list)
    for fact in sorted(facts.values(), key=lambda fact: (-fact.created_ns, fact.id)):
        if fact.superseded_by in facts:
            direct[fact.superseded_by].append(fact.id)
    replaced: dict[str, tuple[str, ...]] = {}
    for fact_id in direct:
        found: dict[str, None] = {}
        step = [fact_id]
        while step:
            step = [older for newer in step for older in direct.get(newer, ()) if older not in found]
            found.update(dict.fromkeys(older for older in step if older != fact_id))
            step = [older for older in dict.fromkeys(step) if older != fact_id]
        replaced[fact_id] = tuple(found)
    return replaced


def _edges_of(edges: Iterable[Edge]) -> dict[str, tuple[Edge, ...]]:
    found: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        for end in dict.fromkeys((edge.from_id, edge.to_id)):
            found[end].append(edge)
    return _frozen(found)


def _edges_from_fact(edges: Iterable[Edge]) -> dict[str, tuple[Edge, ...]]:
    found: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        for source in dict.fromkeys(edge.sources):
            found[source].append(edge)
    return _frozen(found)


def _load(
    memory: Memory, checkpoints: Iterable[CheckpointSummary], *, progress: Progress, cancel: CancelToken
) -> dict[str, Checkpoint]:
    """The checkpoints that can be read; damaged ones and those deleted meanwhile are left out."""
    saved: dict[str, Checkpoint] = {}
    for number, summary in enumerate(checkpoints):
        cancel.check()
        progress(number, None, "Reading checkpoints")
        try:
            saved[summary.id] = memory.checkpoints.load(summary.id)
        except (CheckpointDamaged, NotFound):
            continue
    return saved
