"""Painting a graph: where things are on the screen, dots, lines, and labels that leave each other room.

Pure functions of a picture, a view and a style: the widget, the PNG and the SVG are painted by the same lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from gm_desktop.models.graph_picture import KINDS, OTHER, GraphPicture
from gm_desktop.theme import Theme

LINES_AT_ONCE = 1_500
DOTS_AT_ONCE = 2_000
_FULL_SCALE = 30.0  # pixels per unit at which dots have their full size
_LABEL_AREA = 9_000.0  # square pixels of picture for each label
_CELL = 48.0
_LABEL_CHARS = 26
_MARGINS = (72.0, 40.0)  # labels are wide


@dataclass(frozen=True, slots=True)
class View:
    """Where the plane lies on the screen: screen = plane × scale + (left, top)."""

    scale: float
    left: float
    top: float

    def points(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Places of the plane in pixels."""
        shown: NDArray[np.float64] = places * self.scale + (self.left, self.top)
        return shown

    def place_of(self, point: QPointF) -> tuple[float, float]:
        """The place of the plane below a pixel."""
        return (point.x() - self.left) / self.scale, (point.y() - self.top) / self.scale

    def moved(self, dx: float, dy: float) -> View:
        """The same view, `dx` and `dy` pixels further."""
        return replace(self, left=self.left + dx, top=self.top + dy)

    def zoomed(self, factor: float, at: QPointF) -> View:
        """A view `factor` times as large in which the plane below `at` stays there."""
        return View(
            self.scale * factor,
            at.x() + (self.left - at.x()) * factor,
            at.y() + (self.top - at.y()) * factor,
        )


@dataclass(frozen=True, slots=True)
class Style:
    """Colours and fonts of one theme."""

    ground: QColor
    text: QColor
    line: QColor
    stale: QColor
    accent: QColor
    kinds: Mapping[str, QColor]
    font: QFont


@dataclass(frozen=True, slots=True)
class Label:
    """A text that has found its place."""

    at: int
    text: str
    rect: QRectF


def style_of(theme: Theme) -> Style:
    """The style of the present theme."""
    return Style(
        ground=theme.color("surface"),
        text=theme.color("text"),
        line=theme.color("graph_line"),
        stale=theme.color("graph_stale"),
        accent=theme.color("accent"),
        kinds={kind: theme.color(f"entity_{kind}") for kind in (*KINDS, OTHER)},
        font=theme.font("small"),
    )


def fitted(picture: GraphPicture, size: QSizeF, *, most: float = 90.0) -> View:
    """The view that shows all of a picture in the middle of `size`."""
    if not picture.nodes:
        return View(_FULL_SCALE, size.width() / 2, size.height() / 2)
    low, high = picture.places.min(0), picture.places.max(0)
    room = np.maximum(np.array([size.width(), size.height()]) - 2 * np.array(_MARGINS), 40.0)
    scale = float(min(most, (room / np.maximum(high - low, 1e-6)).min()))
    left, top = np.array([size.width(), size.height()]) / 2 - (low + high) / 2 * scale
    return View(scale, float(left), float(top))


def radii(picture: GraphPicture, scale: float) -> NDArray[np.float64]:
    """The radius of each dot in pixels: by the number of links, a little smaller from far away."""
    degrees = np.array([node.degree for node in picture.nodes], float)
    size = float(np.clip((scale / _FULL_SCALE) ** 0.6, 0.4, 1.25))
    found: NDArray[np.float64] = (3.6 + 1.9 * np.sqrt(np.minimum(degrees, 60.0))) * size
    return found


def paint_links(
    painter: QPainter, picture: GraphPicture, view: View, style: Style, *, clip: QRectF, hidden: frozenset[str]
) -> Iterator[None]:
    """Draws the lines that cross `clip`, in pieces."""
    if not len(picture.links):
        return
    ends = view.points(picture.places)
    first, second = ends[picture.links[:, 0]], ends[picture.links[:, 1]]
    low, high = np.minimum(first, second), np.maximum(first, second)
    inside = (high[:, 0] >= clip.left()) & (low[:, 0] <= clip.right())
    inside &= (high[:, 1] >= clip.top()) & (low[:, 1] <= clip.bottom())
    if hidden:
        gone = _is_hidden(picture, hidden)
        inside &= ~(gone[picture.links[:, 0]] | gone[picture.links[:, 1]])
    for is_stale, color in ((True, style.stale), (False, style.line)):
        rows = np.concatenate([first, second], 1)[inside & (picture.stale == is_stale)].tolist()
        pen = QPen(color, 1.0)
        if is_stale and len(rows) <= 400:
            pen.setStyle(Qt.PenStyle.DashLine)
        for start in range(0, len(rows), LINES_AT_ONCE):
            painter.setPen(pen)  # each time: whoever draws in pieces may open the painter anew
            painter.drawLines([QLineF(*row) for row in rows[start : start + LINES_AT_ONCE]])
            yield


def paint_dots(
    painter: QPainter,
    picture: GraphPicture,
    view: View,
    style: Style,
    *,
    clip: QRectF,
    hidden: frozenset[str],
    only: Sequence[int] | None = None,
) -> Iterator[None]:
    """Draws the dots inside `clip`, or `only` some, the small ones first, in pieces."""
    points, sizes = view.points(picture.places), radii(picture, view.scale)
    chosen = np.arange(len(picture.nodes)) if only is None else np.array(only, np.int64)
    if hidden:
        chosen = chosen[~_is_hidden(picture, hidden)[chosen]]
    chosen = chosen[_inside(points[chosen], clip.adjusted(-20, -20, 20, 20))]
    chosen = chosen[np.argsort(sizes[chosen], kind="stable")]
    rim = QPen(style.ground, 1.2)
    shown = zip(chosen.tolist(), points[chosen].tolist(), sizes[chosen].tolist(), strict=True)
    for count, (at, (x, y), size) in enumerate(shown, 1):
        node = picture.nodes[at]
        painter.setPen(rim if size > 2.5 else Qt.PenStyle.NoPen)
        painter.setBrush(style.kinds[node.kind])
        if node.is_missing:
            painter.setPen(QPen(style.kinds[node.kind], 1.4))
            painter.setBrush(style.ground)
        painter.drawEllipse(QPointF(x, y), size, size)
        if count % DOTS_AT_ONCE == 0:
            yield
    yield


def paint_marked_links(
    painter: QPainter,
    picture: GraphPicture,
    view: View,
    style: Style,
    *,
    marked: Sequence[int],
    is_trail: bool,
) -> None:
    """The links of some nodes in the accent's colour; of a trail, those between its nodes only."""
    points, chosen = view.points(picture.places).tolist(), set(marked)
    painter.setPen(QPen(style.accent, 2.5 if is_trail else 1.5))
    for at in marked:
        for one, other in picture.links[picture.links_of(at)].tolist():
            if not is_trail or (one in chosen and other in chosen):
                painter.drawLine(QPointF(*points[one]), QPointF(*points[other]))


def paint_trail(painter: QPainter, picture: GraphPicture, view: View, style: Style, ends: Sequence[int]) -> None:
    """One chosen link, between its two ends."""
    if len(ends) == 2:
        points = view.points(picture.places)
        painter.setPen(QPen(style.accent, 3.0))
        painter.drawLine(QPointF(*points[ends[0]].tolist()), QPointF(*points[ends[1]].tolist()))


def paint_rings(painter: QPainter, picture: GraphPicture, view: View, style: Style, marked: Sequence[int]) -> None:
    """A ring around each of some nodes."""
    points, sizes = view.points(picture.places), radii(picture, view.scale)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(style.accent, 2.5))
    for at in marked:
        painter.drawEllipse(QPointF(*points[at].tolist()), float(sizes[at]) + 3, float(sizes[at]) + 3)


def place_labels(
    picture: GraphPicture,
    view: View,
    style: Style,
    *,
    clip: QRectF,
    hidden: frozenset[str],
    first: Sequence[int] = (),
    must: Sequence[int] = (),
    window: QRectF | None = None,
) -> list[Label]:
    """Labels for the most linked nodes inside `clip`, none over another one; those of `first` before all others, and
    those of `must` over dots if need be.

    `window` is what can be seen of it: labels of what is inside stay inside, the others outside.
    """
    points, sizes = view.points(picture.places), radii(picture, view.scale)
    metrics = QFontMetricsF(style.font)
    chosen = np.flatnonzero(_inside(points, clip))
    if hidden:
        chosen = chosen[~_is_hidden(picture, hidden)[chosen]]
    order = chosen[np.argsort(-sizes[chosen], kind="stable")].tolist()
    most = max(12, int(clip.width() * clip.height() / _LABEL_AREA))
    wanted = list(dict.fromkeys([*(at for at in first if at in set(order)), *order[: most * 3]]))
    taken = _Taken()
    for at in wanted:
        taken.dot(QPointF(*points[at].tolist()), float(sizes[at]))
    found: list[Label] = []
    for at in wanted:
        text = picture.nodes[at].title
        text = text if len(text) <= _LABEL_CHARS else f"{text[: _LABEL_CHARS - 1].rstrip()}…"
        size = QSizeF(metrics.horizontalAdvance(text) + 4, metrics.height())
        middle = QPointF(*points[at].tolist())
        rect = taken.place(middle, float(sizes[at]), size, must=at in must, window=window)
        if rect is not None:
            found.append(Label(at, text, rect))
            if len(found) >= most:
                break
    return found


def paint_labels(painter: QPainter, labels: Iterable[Label], style: Style, *, halo: bool = True) -> None:
    """Writes labels with a rim of the ground's colour, so that lines do not run through letters."""
    painter.setFont(style.font)
    metrics = QFontMetricsF(style.font)
    for label in labels:
        if halo:
            path = QPainterPath()
            path.addText(label.rect.left() + 2, label.rect.top() + metrics.ascent(), style.font, label.text)
            painter.strokePath(path, QPen(style.ground, 3.5, Qt.PenStyle.SolidLine, j=Qt.PenJoinStyle.RoundJoin))
        painter.setPen(style.text)
        painter.drawText(QPointF(label.rect.left() + 2, label.rect.top() + metrics.ascent()), label.text)


def paint_all(
    painter: QPainter, picture: GraphPicture, view: View, style: Style, *, size: QSizeF, hidden: frozenset[str]
) -> None:
    """The whole picture at once, for a file."""
    clip = QRectF(QPointF(0, 0), size)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(clip, style.ground)
    for _ in paint_links(painter, picture, view, style, clip=clip, hidden=hidden):
        pass
    for _ in paint_dots(painter, picture, view, style, clip=clip, hidden=hidden):
        pass
    paint_labels(painter, place_labels(picture, view, style, clip=clip, hidden=hidden), style)


def _is_hidden(picture: GraphPicture, hidden: frozenset[str]) -> NDArray[np.bool_]:
    return np.array([node.kind in hidden for node in picture.nodes], np.bool_)


def _inside(points: NDArray[np.float64], clip: QRectF) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (points[:, 0] >= clip.left()) & (points[:, 0] <= clip.right())
    return found & (points[:, 1] >= clip.top()) & (points[:, 1] <= clip.bottom())


def _places(middle: QPointF, radius: float, size: QSizeF) -> tuple[QRectF, ...]:
    """Where a label may stand, best first: below, above, right, left; then below and above, but beginning or ending
    with the dot. All touch it, none stands beside a corner."""
    gap, width, height = radius + 2, size.width(), size.height()
    x, below, above = middle.x(), middle.y() + gap, middle.y() - gap - height
    return (
        QRectF(x - width / 2, below, width, height),
        QRectF(x - width / 2, above, width, height),
        QRectF(x + gap, middle.y() - height / 2, width, height),
        QRectF(x - gap - width, middle.y() - height / 2, width, height),
        QRectF(x - radius, below, width, height),
        QRectF(x + radius - width, below, width, height),
        QRectF(x - radius, above, width, height),
        QRectF(x + radius - width, above, width, height),
    )


class _Taken:
    """Which parts of the picture labels may no longer use; by cells, so that a question costs no search."""

    def __init__(self) -> None:
        self._labels: dict[tuple[int, int], list[QRectF]] = {}
        self._dots: dict[tuple[int, int], list[QRectF]] = {}

    def dot(self, middle: QPointF, radius: float) -> None:
        """A dot to leave alone."""
        self._add(self._dots, QRectF(middle.x() - radius, middle.y() - radius, 2 * radius, 2 * radius))

    def place(
        self, middle: QPointF, radius: float, size: QSizeF, *, must: bool, window: QRectF | None
    ) -> QRectF | None:
        """A free place at a dot; where it `must` have one, if need be over other dots.

        Labels of what is inside `window` stay inside, and those of what is outside stay outside: a name whose dot
        cannot be seen would belong to another one.
        """
        is_inside = window is not None and window.contains(middle)
        fitting = [
            rect
            for rect in _places(middle, radius, size)
            if (window is None or (window.contains(rect) if is_inside else not window.intersects(rect)))
            and not self._hits(self._labels, rect)
        ]
        free = [rect for rect in fitting if not self._hits(self._dots, rect)]
        chosen = free or (fitting if must else [])
        if not chosen:
            return None
        self._add(self._labels, chosen[0])
        return chosen[0]

    @staticmethod
    def _cells(rect: QRectF) -> Iterator[tuple[int, int]]:
        for x in range(int(rect.left() // _CELL), int(rect.right() // _CELL) + 1):
            for y in range(int(rect.top() // _CELL), int(rect.bottom() // _CELL) + 1):
                yield x, y

    def _add(self, where: dict[tuple[int, int], list[QRectF]], rect: QRectF) -> None:
        for cell in self._cells(rect):
            where.setdefault(cell, []).append(rect)

    def _hits(self, where: dict[tuple[int, int], list[QRectF]], rect: QRectF) -> bool:
        return any(rect.intersects(other) for cell in self._cells(rect) for other in where.get(cell, ()))
