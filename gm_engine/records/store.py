"""The graph, imports, and the state of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gm_engine.records.facts import AgentSummary


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the knowledge graph."""

    id: str
    label: str
    type: str
    first_seen_ns: int | None
    last_seen_ns: int | None
    weight: float
    made_by: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two entities; `sources` are the fact ids that produced it. An imported end may be missing."""

    from_id: str
    to_id: str
    relation: str
    created_ns: int | None
    weight: float
    made_by: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records of each kind."""

    facts: int = 0
    checkpoints: int = 0
    entities: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that was not imported, and why."""

    kind: str
    id: str
    reason: str


GRAYMATTER_FORMAT = "graymatter"


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """One format that can be imported. `agent_id` is where texts go that name nobody; "" where all of them do."""

    name: str
    title: str
    agent_id: str
    takes_columns: bool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import found, what it wrote, and what it left out. A preview has `imported` as it would be.

    Of another program's file it also says which `format` it is, which `agents` its texts go to (20 at most), the first
    new texts, and the names of a table's columns.
    """

    source: str
    found: Counts
    imported: Counts
    skipped: tuple[Skipped, ...]
    format: str = GRAYMATTER_FORMAT
    agents: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """Embeddings: live texts with a vector, still without, vectors in Chroma, and the path that recalls take now.

    `answering` is the model that recalls use: an older one until `model` has a vector for every live text. Where this
    process embeds, `texts_per_s` says how fast, and `left_s` how many seconds are left; `error` says what hinders it.
    """

    model: str
    embedded: int
    pending: int
    chroma: int
    path: str
    answering: str = ""
    texts_per_s: float = 0.0
    left_s: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class VectorExam:
    """Both ways to search compared: `different` of `queries` searches for `depth` vectors gave another order.

    `unsure` searches were left to the exact scan; `recall` is the share of the true nearest in the index's own first
    `depth`. A difference has the index `rebuilt`, to search wider (`ef_search`); if that does not help,
    `is_exact_now`: the store asks for exact searches from then on. No query was compared when `reason` says why.
    """

    vectors: int
    queries: int
    depth: int
    different: int
    unsure: int
    recall: float
    ef_search: int
    rebuilt: bool = False
    is_exact_now: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """What `index_step` is at in this process: `done` of `total` texts embedded, or vectors in the index."""

    stage: Literal["idle", "embedding", "indexing"]
    done: int
    total: int
    texts_per_s: float = 0.0
    left_s: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The figures of a whole store."""

    data_dir: str
    agents: tuple[AgentSummary, ...]
    checkpoints: int
    entities: int
    edges: int
    vectors: VectorStatus


@dataclass(frozen=True, slots=True)
class Process:
    """A program that has the store open."""

    id: str
    pid: int
    program: str
    version: str
    client: str
    since_ns: int
    seen_ns: int
