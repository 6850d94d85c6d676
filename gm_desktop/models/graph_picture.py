"""A graph as it is drawn: nodes with places, links by number. Values only; made in a lane, shown by a widget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

KINDS = (
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
OTHER = "other"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One entity. `title` is the label as one line; `kind` one of `KINDS` or `OTHER`; `is_missing`: an end of a link
    that no entity stands for."""

    id: str
    title: str
    kind: str
    kind_title: str
    degree: int
    is_missing: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GraphPicture:
    """Nodes at `places` (n, 2), and the pairs of them that are linked (m, 2); a pair whose links are all stale is.

    Pictures of one `key` show the same thing at different times: the view stays where it is.
    """

    key: str
    nodes: tuple[GraphNode, ...]
    places: NDArray[np.float64]
    links: NDArray[np.int64]
    stale: NDArray[np.bool_]
    number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", {node.id: at for at, node in enumerate(self.nodes)})

    def with_place(self, at: int, place: tuple[float, float]) -> GraphPicture:
        """The same picture with one node elsewhere."""
        places = self.places.copy()
        places[at] = place
        return replace(self, places=places)

    def links_of(self, at: int) -> NDArray[np.int64]:
        """The numbers of the links at one node."""
        found: NDArray[np.int64] = np.flatnonzero((self.links[:, 0] == at) | (self.links[:, 1] == at))
        return found


def empty_picture(key: str = "") -> GraphPicture:
    """Nothing to draw."""
    return GraphPicture(key, (), np.zeros((0, 2)), np.zeros((0, 2), np.int64), np.zeros(0, np.bool_))
