"""The notes of facts and entities, and what all notes share. Nothing here depends on the present moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exporters.obsidian.contents import Contents
from exporters.obsidian.edits import base_of
from exporters.obsidian.frontmatter import Moment, Properties, Value, write
from exporters.obsidian.layout import ENTITY_TAG, Layout, Place, agent_key, entity_key, entity_title, fact_key
from exporters.obsidian.manifest import Base
from exporters.obsidian.names import tag_part, title_of
from exporters.obsidian.note_file import BEGIN, end_marker, seal_of, short_hash
from exporters.obsidian.text import block_id, inline, is_unsafe, quote, visible
from exporters.profiles import PublishOptions
from gm_engine import Edge, Entity, Fact
from gm_engine.clock import format_ns

RENDERING = 1  # goes up with every change of what a note looks like: published notes are then compared anew
TAG = "memory"
_DAY_NS = 86_400 * 10**9
FACT_KINDS = ("fact", "alias")
OUR_KEYS = (
    "mem_id",
    "mem_agent",
    "mem_kind",
    "mem_type",
    "mem_confidence",
    "mem_pinned",
    "mem_created",
    "mem_created_utc",
    "mem_status",
    "mem_origin",
    "mem_text",
)


@dataclass(frozen=True, slots=True)
class Note:
    """One note as we would write it.

    `seq` is the journal seq of what it shows, 0 where that is many records; `seal` is the hash of the managed part.
    """

    key: str
    place: Place
    seq: int
    properties: Properties
    block: str
    seal: str
    fact: Fact | None = None

    def base(self) -> Base | None:
        """What a later comparison needs to know of it; None where it is no fact's note."""
        return None if self.fact is None else base_of(self.fact, self.block, self.properties)

    @property
    def shown(self) -> str:
        """The hash of all that we put into the note."""
        return short_hash("\n".join((self.seal, *self.properties.aliases, "", *self.properties.tags)))

    def to_text(self) -> str:
        """The note without anything of its owner."""
        return f"---\n{write(self.properties)}---\n{BEGIN}\n{self.block}{end_marker(self.seal)}\n"


class Renderer:
    """Makes notes of one store in one layout; links are made once."""

    def __init__(self, contents: Contents, layout: Layout, options: PublishOptions | None = None) -> None:
        self.contents = contents
        self.layout = layout
        self.options = options or PublishOptions()
        self._links: dict[str, str | None] = {}
        self._days: dict[int, str] = {}

    def day(self, at_ns: int) -> str:
        """A day as the profile writes it."""
        number = at_ns // _DAY_NS
        if number not in self._days:
            self._days[number] = self._day(at_ns)
        return self._days[number]

    def _day(self, at_ns: int) -> str:
        iso = format_ns(at_ns)[:10]
        year, month, day = iso.split("-")
        match self.options.date_format:
            case "DD.MM.YYYY":
                return f"{day}.{month}.{year}"
            case "MM/DD/YYYY":
                return f"{month}/{day}/{year}"
            case _:
                return iso

    def link(self, key: str) -> str | None:
        """A link to the note of `key`, or None when there is none."""
        if key not in self._links:
            self._links[key] = self.layout.link(key)
        return self._links[key]

    def fact_link(self, fact_id: str) -> str:
        """A link to a fact, or its words where it has no note, or its id where it is gone."""
        link = self.link(fact_key(fact_id))
        if link is not None:
            return link
        fact = self.contents.facts.get(fact_id)
        if fact is None:
            return f"fact {inline(fact_id, 40)}"
        return f"“{inline(fact.text)}”{' (retired)' if fact.is_superseded else ''}"

    def entity_link(self, entity_id: str) -> str:
        """A link to an entity, or its id as plain text where the node is missing."""
        return self.link(entity_key(entity_id)) or inline(entity_id, 120)

    def agent_link(self, agent_id: str) -> str:
        """A link to an agent's note."""
        return self.link(agent_key(agent_id)) or inline(agent_id, 120)

    def agent_tag(self, agent_id: str) -> str:
        """The tag of an agent's notes."""
        names = self.layout.agents.get(agent_id)
        return f"{TAG}/{tag_part(agent_id) if names is None else names.tag}"

    # --- facts -----------------------------------------------------------------------------------------------------

    def fact(self, fact: Fact) -> Note:
        """The note of one fact: its text, where it belongs, what it mentions, what it replaced."""
        created = format_ns(fact.created_ns)
        values: dict[str, Value] = {
            "mem_id": fact_key(fact.id),
            "mem_agent": safe_value(fact.agent_id),
            "mem_kind": "alias" if fact.kind == "alias" else "fact",
            "mem_confidence": safe_value(fact.confidence),
            "mem_pinned": fact.pinned,
            "mem_created": Moment(created),
            "mem_created_utc": created,
            "mem_status": "retired" if fact.is_superseded else "live",
            "mem_origin": fact.origin.channel,
        }
        if is_unsafe(fact.text):
            values["mem_text"] = fact.text
        parts = [quote(fact.text, block_id(fact.id)), f"Agent {self.agent_link(fact.agent_id)}"]
        if fact.is_superseded:
            parts.append(self._retired(fact))
        parts += section("Mentions", (self.entity_link(found) for found in self.contents.mentions.get(fact.id, ())))
        parts += section("Relations", map(self._relation, self.contents.edges_from_fact.get(fact.id, ())))
        parts += section("Supersedes", map(self._replaced, self.contents.replaced.get(fact.id, ())))
        key = fact_key(fact.id)
        return self.note(key, fact.version, values, parts, agent_id=fact.agent_id, fact=fact)

    def _retired(self, fact: Fact) -> str:
        if fact.superseded_by in self.contents.facts:
            return f"Superseded by {self.fact_link(fact.superseded_by)}"
        return "Retired, with nothing in its place"

    def _relation(self, edge: Edge) -> str:
        return f"{self.entity_link(edge.from_id)} {inline(edge.relation, 80)} {self.entity_link(edge.to_id)}"

    def _replaced(self, fact_id: str) -> str:
        fact = self.contents.facts[fact_id]
        return f"{self.day(fact.created_ns)} {self.fact_link(fact_id)}"

    # --- entities --------------------------------------------------------------------------------------------------

    def entity(self, entity: Entity) -> Note:
        """The note of one node of the graph: its type, its relations with their receipts, the facts that mention it."""
        values: dict[str, Value] = {
            "mem_id": entity_key(entity.id),
            "mem_kind": "entity",
            "mem_type": safe_value(entity.type),
        }
        if entity.first_seen_ns is not None:
            seen = format_ns(entity.first_seen_ns)
            values |= {"mem_created": Moment(seen), "mem_created_utc": seen}
        parts = [f"**{inline(entity_title(entity), 200)}** · {inline(entity.type, 80) or 'no type'}"]
        edges = self.contents.edges_of.get(entity.id, ())
        parts += section("Relations", (self._seen_from(entity.id, edge) for edge in edges))
        parts += section("Facts", map(self.fact_link, self.contents.mentioned_by.get(entity.id, ())))
        return self.note(entity_key(entity.id), 0, values, parts, tags=(f"{TAG}/{ENTITY_TAG}",))

    def _seen_from(self, entity_id: str, edge: Edge) -> str:
        relation = inline(edge.relation, 80)
        if edge.from_id == entity_id:
            line = f"{relation} → {self.entity_link(edge.to_id)}"
        else:
            line = f"{relation} ← {self.entity_link(edge.from_id)}"
        receipts = ", ".join(self.fact_link(source) for source in edge.sources)
        return f"{line} (from {receipts})" if receipts else line

    # --- shared ----------------------------------------------------------------------------------------------------

    def note(
        self,
        key: str,
        seq: int,
        values: dict[str, Value],
        parts: Iterable[str],
        *,
        agent_id: str | None = None,
        tags: tuple[str, ...] = (),
        fact: Fact | None = None,
    ) -> Note:
        """A note of `values` and `parts` at its place, tagged for its agent where it has one."""
        place = self.layout.places[key]
        if agent_id is not None:
            tags = (self.agent_tag(agent_id), *tags)
        properties = Properties(values, aliases=(alias_of(place.title),), tags=(TAG, *tags))
        block = "\n" + "\n\n".join(parts) + "\n\n"
        return Note(key, place, seq, properties, block, seal_of(properties.plain_values(), block), fact)


def section(title: str, lines: Iterable[str]) -> list[str]:
    """A heading in bold with a list under it; nothing when there are no lines."""
    items = [f"- {line}" for line in lines]
    return [f"**{title}**", "\n".join(items)] if items else []


def safe_value(text: str) -> str:
    """`text` as a property: as it is, but not as a link, which Obsidian would make of `[[x]]`."""
    return text.replace("[[", "\\[\\[") if "[[" in text else text


def unsafe_value(value: str) -> str:
    """The inverse of `safe_value`."""
    return value.replace("\\[\\[", "[[")


def alias_of(title: str) -> str:
    """A title as an alias: one line, no link."""
    line = " ".join(visible(title).split()) or "…"
    return title_of(line.replace("[[", "[ ["), 300)
