"""What lies under a point of the drawn graph, and which node comes next in a direction."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF

from gm_desktop.models.graph_picture import GraphPicture
from gm_desktop.widgets.graph_paint import View, radii

REACH_PX = 5.0
_ASIDE = 2.5  # how much worse a pixel beside the direction is than one along it


def nearest_node(picture: GraphPicture, view: View, point: QPointF, *, hidden: frozenset[str]) -> int | None:
    """The number of the node at a point, a few pixels around its dot included."""
    if not picture.nodes:
        return None
    delta = view.points(picture.places) - (point.x(), point.y())
    away = np.sqrt((delta**2).sum(1)) - radii(picture, view.scale)
    if hidden:
        away[[node.kind in hidden for node in picture.nodes]] = np.inf
    at = int(np.argmin(away))
    return at if away[at] <= REACH_PX else None


def nearest_link(picture: GraphPicture, view: View, point: QPointF) -> int | None:
    """The number of the link at a point."""
    if not len(picture.links):
        return None
    spot = np.array([point.x(), point.y()])
    ends = view.points(picture.places)
    first, second = ends[picture.links[:, 0]], ends[picture.links[:, 1]]
    along = second - first
    share = np.clip(((spot - first) * along).sum(1) / np.maximum((along**2).sum(1), 1e-9), 0, 1)
    away = np.sqrt(((first + along * share[:, None] - spot) ** 2).sum(1))
    at = int(np.argmin(away))
    return at if away[at] <= REACH_PX else None


def next_node(
    picture: GraphPicture, view: View, start: int | None, middle: QPointF, direction: tuple[int, int]
) -> int | None:
    """The nearest node in a direction from `start`; without one, the node nearest to `middle`."""
    if not picture.nodes:
        return None
    points = view.points(picture.places)
    if start is None:
        return int(np.argmin(((points - (middle.x(), middle.y())) ** 2).sum(1)))
    delta = points - points[start]
    ahead = delta @ np.array(direction, float)
    aside = np.abs(delta @ np.array(direction[::-1], float))
    cost = np.where(ahead > 1e-6, ahead + _ASIDE * aside, np.inf)
    at = int(np.argmin(cost))
    return at if np.isfinite(cost[at]) else None
