"""The shape of the graph: hubs, what holds it together, orphans, ways between entities. networkx does the counting.

Links that are stale (no live fact is left behind them) and links to missing entities hold nothing together: they are
left out here. Several links between two entities count as one.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gm_engine.graph.records import GraphOverview, GraphPart, GraphPath
from gm_engine.records import Edge, Entity

if TYPE_CHECKING:
    import networkx as nx

HUBS = 20
MOST_LISTED = 1_000


def network(entities: Sequence[Entity], edges: Iterable[Edge], stale: frozenset[tuple[str, str, str]]) -> nx.Graph[str]:
    """The undirected graph of live links between entities that exist."""
    import networkx as nx  # 0.2 s, for questions about the shape only

    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(entity.id for entity in entities)
    known = set(graph)
    graph.add_edges_from(
        (edge.from_id, edge.to_id)
        for edge in edges
        if edge.from_id in known
        and edge.to_id in known
        and edge.from_id != edge.to_id
        and (edge.from_id, edge.to_id, edge.relation) not in stale
    )
    return graph


def overview(
    entities: Sequence[Entity], edges: Sequence[Edge], stale: frozenset[tuple[str, str, str]]
) -> GraphOverview:
    """Counts and special entities of the whole graph."""
    import networkx as nx

    graph = network(entities, edges, stale)
    degrees: list[tuple[str, int]] = [(entity_id, degree) for entity_id, degree in graph.degree() if degree]
    orphans = sorted(entity_id for entity_id, degree in graph.degree() if not degree)
    graph.remove_nodes_from(orphans)
    types = Counter(entity.type for entity in entities)
    return GraphOverview(
        entities=len(entities),
        edges=len(edges),
        stale=len(stale),
        types=tuple(sorted(types.items(), key=lambda each: (-each[1], each[0]))),
        hubs=tuple(heapq.nsmallest(HUBS, degrees, key=lambda each: (-each[1], each[0]))),
        cut_points=tuple(sorted(nx.articulation_points(graph))[:MOST_LISTED]),
        bridges=tuple(sorted((min(pair), max(pair)) for pair in nx.bridges(graph))[:MOST_LISTED]),
        orphans=tuple(orphans[:MOST_LISTED]),
        components=tuple(sorted((len(part) for part in nx.connected_components(graph)), reverse=True)),
    )


def shortest_path(
    entities: Sequence[Entity],
    edges: Sequence[Edge],
    stale: frozenset[tuple[str, str, str]],
    *,
    ends: tuple[str, str],
) -> GraphPath | None:
    """A shortest way between two entities; of several, the first by ids. None where nothing joins them."""
    import networkx as nx

    graph = network(entities, edges, stale)
    start, goal = ends
    try:
        steps = min(nx.all_shortest_paths(graph, start, goal)) if start != goal else [start]
    except nx.NetworkXNoPath:
        return None
    by_id = {entity.id: entity for entity in entities}
    joined: dict[frozenset[str], Edge] = {}
    for edge in edges:
        key = (edge.from_id, edge.to_id, edge.relation)
        if key not in stale:
            pair = frozenset((edge.from_id, edge.to_id))
            if pair not in joined or (edge.weight, joined[pair].relation) > (joined[pair].weight, edge.relation):
                joined[pair] = edge
    ways = tuple(joined[frozenset(pair)] for pair in pairwise(steps))
    return GraphPath(tuple(by_id[step] for step in steps), ways)


def neighbourhood(
    entities: Sequence[Entity], edges: Sequence[Edge], *, centre: str, depth: int, limit: int
) -> GraphPart:
    """What lies at most `depth` links away from one entity, stale links included; the nearest and best linked first.

    At most `limit` entities; `left_out` counts the others.
    """
    by_id = {entity.id: entity for entity in entities}
    neighbours: dict[str, set[str]] = {}
    for edge in edges:
        neighbours.setdefault(edge.from_id, set()).add(edge.to_id)
        neighbours.setdefault(edge.to_id, set()).add(edge.from_id)
    distance, ring = {centre: 0}, [centre]
    for step in range(1, depth + 1):
        ring = [each for node in ring for each in sorted(neighbours.get(node, ())) if each not in distance]
        distance.update((each, step) for each in ring)
        ring = list(dict.fromkeys(ring))
    order = sorted(distance, key=lambda node: (distance[node], -len(neighbours.get(node, ())), node))
    kept = set(order[:limit])
    inside = tuple(edge for edge in edges if edge.from_id in kept and edge.to_id in kept)
    return GraphPart(
        entities=tuple(by_id[node] for node in order[:limit] if node in by_id),
        edges=inside,
        missing=tuple(node for node in order[:limit] if node not in by_id),
        left_out=max(0, len(order) - limit),
    )
