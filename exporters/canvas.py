"""The graph as JSON Canvas 1.0: integer places, groups before nodes, ids that stay, places that a person chose kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gm_engine import Edge, Entity

WIDTH, HEIGHT = 260, 60
_PADDING = 40
_SPREAD = 420  # linked entities lie about 1 apart
MARK = "gm-"
_COLOURS = ("1", "2", "3", "4", "5", "6")
_PLACE = ("x", "y", "width", "height")


@dataclass(frozen=True, slots=True)
class CanvasGraph:
    """What a canvas shows. `file_of` gives the path of an entity's note (None: a text node); `title_of` its words."""

    entities: Sequence[Entity]
    edges: Sequence[Edge]
    positions: Mapping[str, tuple[float, float]]
    title_of: Callable[[Entity], str]
    file_of: Callable[[Entity], str | None]


def canvas_id(*parts: str) -> str:
    """The id of a node, group or edge of ours: the same as long as `parts` are."""
    return MARK + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def canvas(graph: CanvasGraph, present: bytes | None = None) -> bytes:
    """The canvas as JSON, the same bytes for the same graph.

    `present` is the file that is there: places, sizes and colours in it stay, and so do nodes and edges that a person
    added. One that is no canvas is left out of account.
    """
    theirs = _load(present)
    kept = {str(node.get("id")): node for node in theirs["nodes"]}
    nodes = [_node(graph, entity, kept) for entity in graph.entities]
    known = {entity.id for entity in graph.entities}
    shown = [edge for edge in graph.edges if edge.from_id in known and edge.to_id in known]
    groups = _groups(graph, shown, nodes)
    edges = [_edge(edge) for edge in shown]
    foreign = [node for node in theirs["nodes"] if _is_foreign(node)]
    nodes_now = {*(str(node["id"]) for node in (*nodes, *groups, *foreign))}
    lines = [edge for edge in theirs["edges"] if _is_foreign(edge) and _ends(edge) <= nodes_now]
    document = {"nodes": [*groups, *_tagged(foreign, "group"), *nodes, *_others(foreign)], "edges": [*edges, *lines]}
    return (json.dumps(document, ensure_ascii=False, indent="\t") + "\n").encode("utf-8", "replace")


def _load(present: bytes | None) -> dict[str, list[dict[str, Any]]]:
    try:
        found = json.loads(present) if present else {}
    except (ValueError, RecursionError):
        found = {}
    lists = {key: found.get(key) if isinstance(found, dict) else None for key in ("nodes", "edges")}
    return {
        key: [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        for key, items in lists.items()
    }


def _is_foreign(item: Mapping[str, Any]) -> bool:
    """Whether a person made it; what is ours and not shown any more goes."""
    return not str(item.get("id", MARK)).startswith(MARK)


def _ends(edge: Mapping[str, Any]) -> set[str]:
    return {str(edge.get("fromNode")), str(edge.get("toNode"))}


def _tagged(nodes: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [node for node in nodes if node.get("type") == kind]


def _others(nodes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [node for node in nodes if node.get("type") != "group"]


def _node(graph: CanvasGraph, entity: Entity, kept: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    x, y = graph.positions.get(entity.id, (0.0, 0.0))
    node: dict[str, Any] = {"id": canvas_id("entity", entity.id)}
    file = graph.file_of(entity)
    node |= {"type": "text", "text": graph.title_of(entity)} if file is None else {"type": "file", "file": file}
    node |= {"x": round(x * _SPREAD), "y": round(y * _SPREAD), "width": WIDTH, "height": HEIGHT}
    node["color"] = _COLOURS[int(canvas_id("type", entity.type)[len(MARK) :][:4], 16) % len(_COLOURS)]
    there = kept.get(node["id"], {})
    for key in _PLACE:
        value = there.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            node[key] = round(value)
    if there:
        node.pop("color")
        node |= {"color": there["color"]} if isinstance(there.get("color"), str) else {}
    return node


def _edge(edge: Edge) -> dict[str, Any]:
    return {
        "id": canvas_id("edge", edge.from_id, edge.relation, edge.to_id),
        "fromNode": canvas_id("entity", edge.from_id),
        "toNode": canvas_id("entity", edge.to_id),
        "toEnd": "arrow",
        "label": edge.relation.replace("_", " "),
    }


def _groups(graph: CanvasGraph, edges: Sequence[Edge], nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A frame around everything that hangs together, named after its best connected entity."""
    parent = {entity.id: entity.id for entity in graph.entities}

    def root(entity_id: str) -> str:
        while parent[entity_id] != entity_id:
            parent[entity_id] = parent[parent[entity_id]]
            entity_id = parent[entity_id]
        return entity_id

    degree = Counter(end for edge in edges for end in (edge.from_id, edge.to_id))
    for edge in edges:
        parent[root(edge.from_id)] = root(edge.to_id)
    parts: dict[str, list[tuple[Entity, Mapping[str, Any]]]] = defaultdict(list)
    for entity, node in zip(graph.entities, nodes, strict=True):
        parts[root(entity.id)].append((entity, node))
    groups = []
    for members in parts.values():
        if len(members) < 2:
            continue
        head = min((entity for entity, _ in members), key=lambda each: (-degree[each.id], each.label, each.id))
        left, top = min(node["x"] for _, node in members), min(node["y"] for _, node in members)
        right = max(node["x"] + node["width"] for _, node in members)
        bottom = max(node["y"] + node["height"] for _, node in members)
        groups.append(
            {
                "id": canvas_id("group", min(entity.id for entity, _ in members)),
                "type": "group",
                "x": left - _PADDING,
                "y": top - _PADDING,
                "width": right - left + 2 * _PADDING,
                "height": bottom - top + 2 * _PADDING,
                "label": graph.title_of(head),
            }
        )
    return sorted(groups, key=lambda group: str(group["id"]))
