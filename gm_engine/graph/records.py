"""What the graph's verbs and questions answer with: frozen values.

Times are integer nanoseconds since 1970 UTC. Positions are in a plane without unit; about 1 lies between neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

from gm_engine.records import Edge, Entity

ENTITY_TYPES = (
    "person",
    "organization",
    "project",
    "decision",
    "preference",
    "place",
    "date",
    "reference",
    "concept",
)


@dataclass(frozen=True, slots=True)
class GraphChange:
    """What a verb on the graph did: the journal entry to undo (None: nothing had to change) and what it wrote."""

    seq: int | None
    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class DictionaryEntry:
    """One line of the user's own dictionary: how to write a name and what it names, or that it names nothing.

    `names` are further spellings. `ignore` keeps extraction from ever making an entity of these names.
    """

    label: str
    type: str = "concept"
    names: tuple[str, ...] = ()
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """What a run of extraction did: how many facts were read, how many entities and edges are new."""

    facts: int
    entities: int
    edges: int


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Some entities and the edges between them. `missing` are ends that edges name without there being an entity."""

    entities: tuple[Entity, ...]
    edges: tuple[Edge, ...]
    missing: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A shortest way from one entity to another: `edges[i]` joins `entities[i]` and `entities[i + 1]`."""

    entities: tuple[Entity, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class GraphOverview:
    """The shape of the whole graph, by entity id.

    `hubs` are the best linked, best first, as (id, degree). Taking one of `cut_points` or `bridges` away parts a
    component. `orphans` have no edge. `components` are counted without orphans, largest first, by size.
    """

    entities: int
    edges: int
    stale: int
    types: tuple[tuple[str, int], ...]
    hubs: tuple[tuple[str, int], ...]
    cut_points: tuple[str, ...]
    bridges: tuple[tuple[str, str], ...]
    orphans: tuple[str, ...]
    components: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """Where the entities are drawn: (id, x, y), in the order of their ids."""

    positions: tuple[tuple[str, float, float], ...]
