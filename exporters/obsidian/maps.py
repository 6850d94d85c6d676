"""Notes that lead to other notes: agents, the map of the whole memory; and checkpoints."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator

from exporters.obsidian.frontmatter import Moment, Value
from exporters.obsidian.layout import MAP_ID, agent_key, checkpoint_key, entity_key, fact_key
from exporters.obsidian.notes import Note, Renderer, safe_value, section
from exporters.obsidian.text import inline, quote
from gm_engine import AgentSummary, Checkpoint, CheckpointSummary, Fact
from gm_engine.clock import format_ns

_RECENT = 25
_LATEST = 20
_TOP_ENTITIES = 50
_IN_JSON = re.compile(r"\[(?=\[)|(?<=\[)\[|[<>`%#^]|:(?=:)|(?<=:):|[\u2028\u2029\x7f-\x9f]")


def render_all(renderer: Renderer, *, but: Collection[str] = ()) -> Iterator[Note]:
    """Every note of the layout `but` those with these keys, in a fixed order."""
    contents = renderer.contents
    for fact in contents.facts.values():
        key = fact_key(fact.id)
        if key in renderer.layout.places and key not in but:
            yield renderer.fact(fact)
    for entity in contents.entities.values():
        if entity_key(entity.id) not in but:
            yield renderer.entity(entity)
    for checkpoint in contents.saved.values():
        if checkpoint_key(checkpoint.id) not in but:
            yield _checkpoint(renderer, checkpoint)
    for agent in contents.agents:
        if agent_key(agent.agent_id) not in but:
            yield _agent(renderer, agent)
    yield _map(renderer)


def _agent(renderer: Renderer, agent: AgentSummary) -> Note:
    """An agent's live facts: pinned ones, recent ones, all others by weight; its vocabulary and its checkpoints."""
    contents = renderer.contents
    live = [contents.facts[fact_id] for fact_id in contents.live_of.get(agent.agent_id, ())]
    content = [fact for fact in live if fact.kind != "alias"]
    recent = [fact for fact in content if not fact.pinned]
    others = sorted(recent[_RECENT:], key=lambda fact: (-round(fact.weight, 1), -fact.created_ns, fact.id))
    values: dict[str, Value] = {
        "mem_id": agent_key(agent.agent_id),
        "mem_agent": safe_value(agent.agent_id),
        "mem_kind": "agent",
    }
    parts = [f"**{inline(agent.agent_id, 300)}** · {_counts(agent)}"]
    parts += section("Pinned", (_dated(renderer, fact) for fact in content if fact.pinned))
    parts += section("Recent", (_dated(renderer, fact) for fact in recent[:_RECENT]))
    parts += section("By weight", (_dated(renderer, fact) for fact in others))
    if renderer.options.retired == "struck":
        gone = (fact for fact in contents.facts.values() if fact.is_superseded and fact.agent_id == agent.agent_id)
        parts += section("Retired", (f"~~{_dated(renderer, fact)}~~" for fact in gone))
    parts += section("Vocabulary", (renderer.fact_link(fact.id) for fact in live if fact.kind == "alias"))
    saved = [summary for summary in contents.checkpoints if summary.agent_id == agent.agent_id]
    parts += section("Checkpoints", (_checkpoint_line(renderer, summary) for summary in saved))
    return renderer.note(agent_key(agent.agent_id), 0, values, parts, agent_id=agent.agent_id)


def _counts(agent: AgentSummary) -> str:
    counts = f"{agent.live} live, {agent.pinned} pinned, {agent.retired} retired"
    if not agent.aliases:
        return counts
    return f"{counts}, {agent.aliases} {'alias' if agent.aliases == 1 else 'aliases'}"


def _dated(renderer: Renderer, fact: Fact) -> str:
    return f"{renderer.day(fact.created_ns)} {renderer.fact_link(fact.id)}"


def _checkpoint_line(renderer: Renderer, summary: CheckpointSummary) -> str:
    link = renderer.link(checkpoint_key(summary.id))
    if link is not None:
        return link
    return f"{renderer.day(summary.created_ns)} {inline(summary.id, 40)} (damaged, cannot be read)"


def _map(renderer: Renderer) -> Note:
    """The map of content: agents with their counts, the latest facts, the entities that most facts mention."""
    contents = renderer.contents
    agents = (f"{renderer.agent_link(agent.agent_id)} · {_counts(agent)}" for agent in contents.agents)
    latest = (contents.facts[fact_id] for fact_id in contents.live[:_LATEST])
    mentioned = Counter({key: len(facts) for key, facts in contents.mentioned_by.items()})
    top = sorted(contents.entities.values(), key=lambda entity: (-mentioned[entity.id], entity.label, entity.id))
    total = f"{len(contents.live)} live facts of {len(contents.agents)} agents"
    parts = [f"{total}, {len(contents.entities)} entities, {len(contents.checkpoints)} checkpoints"]
    parts += section("Agents", agents)
    parts += section("Latest", (f"{_dated(renderer, fact)} · {renderer.agent_link(fact.agent_id)}" for fact in latest))
    parts += section(
        "Entities",
        (f"{renderer.link(entity_key(entity.id))} · {_facts(mentioned[entity.id])}" for entity in top[:_TOP_ENTITIES]),
    )
    values: dict[str, Value] = {"mem_id": MAP_ID, "mem_kind": "map"}
    return renderer.note(MAP_ID, 0, values, parts)


def _facts(count: int) -> str:
    return "1 fact" if count == 1 else f"{count} facts"


def _checkpoint(renderer: Renderer, checkpoint: Checkpoint) -> Note:
    """A checkpoint: its state as JSON, its metadata, its messages as a conversation."""
    created = format_ns(checkpoint.created_ns)
    values: dict[str, Value] = {
        "mem_id": checkpoint_key(checkpoint.id),
        "mem_agent": safe_value(checkpoint.agent_id),
        "mem_kind": "checkpoint",
        "mem_created": Moment(created),
        "mem_created_utc": created,
    }
    parts = [
        f"Agent {renderer.agent_link(checkpoint.agent_id)}",
        "**State**",
        f"```json\n{_json(checkpoint.state)}\n```",
    ]
    parts += section(
        "Metadata", (f"{inline(key, 120)} = {inline(value)}" for key, value in sorted(checkpoint.metadata.items()))
    )
    if checkpoint.messages:
        parts.append("**Messages**")
    for message in checkpoint.messages:
        parts += [f"*{inline(message.role, 60) or 'no role'}*", quote(message.content)]
    return renderer.note(checkpoint_key(checkpoint.id), 0, values, parts, agent_id=checkpoint.agent_id)


def _json(state: object) -> str:
    """`state` as JSON that stays inside its fence and in which nothing looks like a link, tag, field or command.

    Indented JSON has no two brackets in a row outside of strings, where an escape means the same character.
    """
    text = json.dumps(state, ensure_ascii=False, indent=2)
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
