"""The graph of a store as the desktop holds it: read in a lane, never changed; and the pictures made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gm_desktop.i18n import tr
from gm_desktop.models.graph_picture import KINDS, OTHER, GraphNode, GraphPicture
from gm_desktop.plain_text import row_text
from gm_engine.graph.layout import layout
from gm_engine.records import Edge, Entity

if TYPE_CHECKING:
    from gm_engine import Memory

MOST_NEAR = 250
TITLE_CHARS = 32
WHOLE = "whole"
LinkKey = tuple[str, str, str]

_TITLES = {
    "person": "Person",
    "organization": "Organization",
    "project": "Project",
    "decision": "Decision",
    "preference": "Preference",
    "place": "Place",
    "date": "Date",
    "reference": "Reference",
    "concept": "Concept",
}


def kind_title(kind: str) -> str:
    """A type for a reader; one that nobody foresaw as it is written."""
    return tr(_TITLES[kind]) if kind in _TITLES else row_text(kind, TITLE_CHARS)


@dataclass(frozen=True, slots=True, eq=False)
class GraphData:
    """Every entity and link. `nodes` holds the missing ends of links, too; `pairs` are linked nodes by number."""

    entities: Mapping[str, Entity]
    edges: tuple[Edge, ...]
    stale: frozenset[LinkKey]
    nodes: tuple[GraphNode, ...]
    places: NDArray[np.float64]
    pairs: NDArray[np.int64]
    stale_pairs: NDArray[np.bool_]
    number: Mapping[str, int]
    near: Mapping[str, tuple[str, ...]]

    def edges_of(self, *ids: str) -> list[Edge]:
        """The links at one entity, or between two."""
        wanted = set(ids)
        if len(wanted) == 1:
            return [edge for edge in self.edges if wanted & {edge.from_id, edge.to_id}]
        return [edge for edge in self.edges if {edge.from_id, edge.to_id} == wanted]

    def title(self, entity_id: str) -> str:
        """An entity's label as one line; the bare id of one that is missing."""
        at = self.number.get(entity_id)
        return row_text(entity_id, TITLE_CHARS) if at is None else self.nodes[at].title


def load_graph(memory: Memory) -> GraphData:
    """Reads everything, and lays out what has no place yet. Runs in the read lane."""
    graph = memory.graph
    entities, edges, stale, kept = graph.entities(), graph.edges(), graph.stale(), graph.positions()
    near: dict[str, set[str]] = {}
    for edge in edges:
        if edge.from_id != edge.to_id:
            near.setdefault(edge.from_id, set()).add(edge.to_id)
            near.setdefault(edge.to_id, set()).add(edge.from_id)
    known = {entity.id: entity for entity in entities}
    missing = sorted(near.keys() - known.keys())
    nodes = [_node(entity, len(near.get(entity.id, ()))) for entity in entities]
    nodes += [
        GraphNode(each, row_text(each, TITLE_CHARS), OTHER, tr("Not among the entities"), len(near[each]), True)
        for each in missing
    ]
    number = {node.id: at for at, node in enumerate(nodes)}
    places = np.array([kept.get(node.id, (np.nan, np.nan)) for node in nodes]).reshape(-1, 2)
    for at, each in enumerate(missing, len(entities)):
        around = [places[number[other]] for other in near[each] if other in known]
        middle = np.mean(around, axis=0) if around else np.zeros(2)
        places[at] = middle + np.array([np.cos(at * 2.4), np.sin(at * 2.4)])
    pairs, stale_pairs = _pairs(edges, number, stale)
    return GraphData(
        entities=known,
        edges=edges,
        stale=stale,
        nodes=tuple(nodes),
        places=places,
        pairs=pairs,
        stale_pairs=stale_pairs,
        number=number,
        near={each: tuple(sorted(others)) for each, others in near.items()},
    )


def _node(entity: Entity, degree: int) -> GraphNode:
    kind = entity.type if entity.type in KINDS else OTHER
    title = row_text(entity.label, TITLE_CHARS) or row_text(entity.id, TITLE_CHARS)
    return GraphNode(entity.id, title, kind, kind_title(entity.type), degree)


def _pairs(
    edges: Iterable[Edge], number: Mapping[str, int], stale: frozenset[LinkKey]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Each pair of linked nodes once; stale where every link between them is."""
    found: dict[tuple[int, int], bool] = {}
    for edge in edges:
        one, other = sorted((number[edge.from_id], number[edge.to_id]))
        if one != other:
            is_stale = (edge.from_id, edge.to_id, edge.relation) in stale
            found[one, other] = found.get((one, other), True) and is_stale
    return np.array(list(found), np.int64).reshape(-1, 2), np.array(list(found.values()), np.bool_)


def whole_picture(data: GraphData) -> GraphPicture:
    """All of it."""
    return GraphPicture(WHOLE, data.nodes, data.places, data.pairs, data.stale_pairs)


def near_picture(data: GraphData, centre: str, depth: int) -> GraphPicture:
    """What lies at most `depth` links away, the nearest and best linked first, laid out around `centre`."""
    chosen = _nearest(data, centre, depth)[:MOST_NEAR]
    return _picture(data, chosen, key=f"near {depth} {centre}")


def path_picture(data: GraphData, ids: Sequence[str]) -> GraphPicture:
    """A way through the graph and what lies beside it."""
    beside = [other for each in ids for other in _best(data, each)[:6]]
    return _picture(data, list(dict.fromkeys([*ids, *beside])), key=f"path {' '.join(ids)}")


def _best(data: GraphData, entity_id: str) -> list[str]:
    others = data.near.get(entity_id, ())
    return sorted(others, key=lambda each: (-data.nodes[data.number[each]].degree, each))


def _nearest(data: GraphData, centre: str, depth: int) -> list[str]:
    found, ring = {centre: 0}, [centre]
    for step in range(1, depth + 1):
        ring = list(dict.fromkeys(each for node in ring for each in data.near.get(node, ()) if each not in found))
        ring.sort(key=lambda each: (-data.nodes[data.number[each]].degree, each))
        found.update((each, step) for each in ring)
    return list(found)


def _picture(data: GraphData, chosen: Sequence[str], *, key: str) -> GraphPicture:
    old = np.array([data.number[each] for each in chosen], np.int64)
    new = np.full(len(data.nodes), -1)
    new[old] = np.arange(len(old))
    inside = (new[data.pairs] >= 0).all(1) if len(data.pairs) else np.zeros(0, np.bool_)
    links = new[data.pairs[inside]]
    places = layout(len(chosen), [(one, other) for one, other in links.tolist()])
    nodes = tuple(data.nodes[at] for at in old.tolist())
    return GraphPicture(key, nodes, places - places[0], links, data.stale_pairs[inside])
