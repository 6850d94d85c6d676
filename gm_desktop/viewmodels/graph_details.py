"""What the inspector of the Graph page shows: an entity, a link, a way, or the shape of the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_desktop.formatting import age, local_date, utc_time
from gm_desktop.i18n import decimal, digits, tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.graph_data import GraphData, kind_title
from gm_engine.graph.records import GraphOverview, GraphPath
from gm_engine.records import Edge, Fact

if TYPE_CHECKING:
    from gm_engine import Memory

MOST_FACTS = 60
MOST_LINKS = 200
FACT_CHARS = 240


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact behind an entity or a link."""

    id: str
    text: str
    note: str
    hover: str
    is_live: bool


@dataclass(frozen=True, slots=True)
class LinkLine:
    """A link at an entity: the other end, what the link says, how many receipts it has.

    `is_plain`: it says no more than that both stand in the same facts.
    """

    other_id: str
    title: str
    kind: str
    relation: str
    receipts: int
    is_stale: bool
    is_plain: bool


@dataclass(frozen=True, slots=True)
class EntityDetails:
    """One entity."""

    id: str
    label: str
    title: str
    kind: str
    type: str
    kind_title: str
    names: tuple[str, ...]
    links: tuple[LinkLine, ...]
    more_links: int
    facts: tuple[FactLine, ...]
    more_facts: int
    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class LinkDetails:
    """The links between two entities and the facts behind them."""

    from_id: str
    to_id: str
    from_title: str
    to_title: str
    relations: tuple[tuple[str, str, bool], ...]  # what is written, what is shown, whether it is stale
    facts: tuple[FactLine, ...]
    more_facts: int
    note: str


@dataclass(frozen=True, slots=True)
class WayDetails:
    """A way from one entity to another: the entities, and the relation between each two."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShapeDetails:
    """The whole graph: figures, and entities worth a look as (id, title, note)."""

    figures: tuple[tuple[str, str, str], ...]
    hubs: tuple[tuple[str, str, str], ...]
    holding: tuple[tuple[str, str, str], ...]
    bridges: tuple[tuple[str, str, str, str], ...]
    orphans: tuple[tuple[str, str, str], ...]
    more_orphans: int


Details = EntityDetails | LinkDetails | WayDetails | ShapeDetails


def relation_title(relation: str) -> str:
    """A relation for a reader."""
    known = {"co_mentioned": tr("mentioned together"), "related_to": tr("related"), "mentioned_in": tr("mentioned in")}
    return known.get(relation, row_text(relation.replace("_", " "), 40))


def fact_line(fact: Fact, now_ns: int) -> FactLine:
    """A fact as a line."""
    note = tr("{agent} · {age}", agent=agent_title(fact.agent_id), age=age(fact.created_ns, now_ns))
    if fact.is_superseded:
        note = tr("{note} · retired", note=note)
    return FactLine(fact.id, row_text(fact.text, FACT_CHARS), note, utc_time(fact.created_ns), not fact.is_superseded)


def entity_details(memory: Memory, data: GraphData, entity_id: str, now_ns: int) -> EntityDetails | None:
    """Reads what is not in `data`: names and facts. Runs in the read lane; None when the entity is gone."""
    entity = data.entities.get(entity_id)
    if entity is None:
        return None
    mentioned = memory.graph.mentioned_in(entity_id, limit=None)
    facts = memory.facts(mentioned[:MOST_FACTS])
    edges = sorted(data.edges_of(entity_id), key=lambda edge: _link_order(data, entity_id, edge))
    node = data.nodes[data.number[entity_id]]
    makers = {"person": tr("a person"), "import": tr("an import"), "extraction": tr("extraction")}
    return EntityDetails(
        id=entity_id,
        label=entity.label,
        title=row_text(entity.label, 200),
        kind=node.kind,
        type=entity.type,
        kind_title=kind_title(entity.type),
        names=tuple(name for name in memory.graph.names(entity_id) if name != entity.label.strip().casefold()),
        links=tuple(_link_line(data, entity_id, edge) for edge in edges[:MOST_LINKS]),
        more_links=max(0, len(edges) - MOST_LINKS),
        facts=tuple(fact_line(fact, now_ns) for fact in facts),
        more_facts=max(0, len(mentioned) - MOST_FACTS),
        rows=(
            (tr("First seen"), local_date(entity.first_seen_ns), utc_time(entity.first_seen_ns)),
            (tr("Last seen"), local_date(entity.last_seen_ns), utc_time(entity.last_seen_ns)),
            (
                tr("Weight"),
                decimal(f"{entity.weight:.2f}"),
                tr("Halves for every 30 days in which no fact mentions it"),
            ),
            (tr("Made by"), makers.get(entity.made_by, entity.made_by), ""),
        ),
    )


def _link_order(data: GraphData, entity_id: str, edge: Edge) -> tuple[bool, float, str, str]:
    other = edge.to_id if edge.from_id == entity_id else edge.from_id
    is_stale = (edge.from_id, edge.to_id, edge.relation) in data.stale
    return is_stale, -len(edge.sources) - edge.weight, data.title(other).casefold(), edge.relation


def _link_line(data: GraphData, entity_id: str, edge: Edge) -> LinkLine:
    other = edge.to_id if edge.from_id == entity_id else edge.from_id
    return LinkLine(
        other_id=other,
        title=data.title(other),
        kind=data.nodes[data.number[other]].kind,
        relation=relation_title(edge.relation),
        receipts=len(edge.sources),
        is_stale=(edge.from_id, edge.to_id, edge.relation) in data.stale,
        is_plain=edge.relation == "co_mentioned" and bool(edge.sources),
    )


def link_details(memory: Memory, data: GraphData, ends: tuple[str, str], now_ns: int) -> LinkDetails | None:
    """Reads the facts behind the links between two entities. Runs in the read lane; None when there is no link."""
    edges = data.edges_of(*ends)
    if not edges:
        return None
    sources = list(dict.fromkeys(source for edge in edges for source in edge.sources))
    facts = sorted(memory.facts(sources), key=lambda fact: (fact.is_superseded, -fact.created_ns, fact.id))
    gone = len(sources) - len(facts)
    note = ""
    if not sources:
        note = tr("No fact was named when this link was made.")
    elif gone:
        note = tr("{count} of the facts behind it are no longer in the store.", count=digits(gone))
    relations = tuple(
        (edge.relation, relation_title(edge.relation), (edge.from_id, edge.to_id, edge.relation) in data.stale)
        for edge in edges
    )
    first = edges[0]
    return LinkDetails(
        from_id=first.from_id,
        to_id=first.to_id,
        from_title=data.title(first.from_id),
        to_title=data.title(first.to_id),
        relations=relations,
        facts=tuple(fact_line(fact, now_ns) for fact in facts[:MOST_FACTS]),
        more_facts=max(0, len(facts) - MOST_FACTS),
        note=note,
    )


def way_details(data: GraphData, way: GraphPath) -> WayDetails:
    """A way as titles."""
    ids = tuple(entity.id for entity in way.entities)
    return WayDetails(ids, tuple(map(data.title, ids)), tuple(relation_title(edge.relation) for edge in way.edges))


def shape_details(data: GraphData, shape: GraphOverview) -> ShapeDetails:
    """The shape of the graph as lines."""

    def lines(ids: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
        return tuple(
            (each, data.title(each), data.nodes[data.number[each]].kind) for each in ids if each in data.number
        )

    parts = digits(len(shape.components))
    largest = tr("The largest joins {count} entities", count=digits(shape.components[0])) if shape.components else ""
    return ShapeDetails(
        figures=(
            (tr("Entities"), digits(shape.entities), ""),
            (tr("Links"), digits(shape.edges), ""),
            (tr("Stale links"), digits(shape.stale), tr("No live fact stands behind them any more")),
            (tr("Parts"), parts, largest),
            (tr("Orphans"), digits(len(shape.orphans)), tr("Entities without any live link")),
        ),
        hubs=lines([each for each, _ in shape.hubs[:8]]),
        holding=lines(shape.cut_points[:8]),
        bridges=tuple(
            (one, other, data.title(one), data.title(other))
            for one, other in shape.bridges[:6]
            if one in data.number and other in data.number
        ),
        orphans=lines(shape.orphans[:8]),
        more_orphans=max(0, len(shape.orphans) - 8),
    )
