"""A cached picture of the graph, larger than the widget: moved and stretched with the view, made anew at rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter, QPixmap

from gm_desktop.models.graph_picture import GraphPicture
from gm_desktop.widgets.graph_paint import (
    Label,
    Style,
    View,
    paint_dots,
    paint_labels,
    paint_links,
    paint_marked_links,
    paint_rings,
    paint_trail,
    place_labels,
)

MARGIN = 0.3  # of the widget's size, drawn beyond each side
_MOST_NAMED = 60


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything that the widget's look depends on. `marked` nodes and the `link` between two are told apart."""

    picture: GraphPicture
    view: View
    style: Style
    size: QSizeF
    ratio: float
    hidden: frozenset[str]
    marked: tuple[int, ...]
    link: tuple[int, ...]

    def paint_marked_links(self, painter: QPainter, view: View) -> None:
        """The links of what is marked (of several: those between them), and the chosen one."""
        is_trail = len(self.marked) > 1
        paint_marked_links(painter, self.picture, view, self.style, marked=self.marked, is_trail=is_trail)
        paint_trail(painter, self.picture, view, self.style, self.link)

    def talked_about(self) -> list[int]:
        """What is marked, then its neighbours: their labels come before all others."""
        near = [int(end) for at in self.marked for end in self.picture.links[self.picture.links_of(at)].ravel()]
        return list(dict.fromkeys([*self.marked, *self.link, *near]))[:_MOST_NAMED]


class Sheet:
    """One picture. `labels` stand in pixels of the sheet, the most wanted first; a rough one shows no marks."""

    def __init__(self, scene: Scene, *, is_sharp: bool) -> None:
        self.scene, self.is_sharp = scene, is_sharp
        self.labels: tuple[Label, ...] = ()
        self._beyond = QPointF(round(scene.size.width() * MARGIN), round(scene.size.height() * MARGIN))
        size = QSizeF(scene.size.width() + 2 * self._beyond.x(), scene.size.height() + 2 * self._beyond.y())
        self.bounds = QRectF(QPointF(0, 0), size)
        self.view = scene.view.moved(self._beyond.x(), self._beyond.y())
        self.pixmap = QPixmap((size * scene.ratio).toSize())
        self.pixmap.setDevicePixelRatio(scene.ratio)
        self.pixmap.fill(scene.style.ground)

    @property
    def window(self) -> QRectF:
        """The part of the sheet that the widget shows while the view stays."""
        return QRectF(self._beyond, self.scene.size)

    def covers(self, view: View) -> bool:
        """Whether a view shows nothing beyond the sheet; a stretched sheet always does for the moment."""
        was = self.scene.view
        if view.scale != was.scale:
            return True
        return abs(view.left - was.left) <= self._beyond.x() and abs(view.top - was.top) <= self._beyond.y()

    def draw(self, painter: QPainter, view: View) -> None:
        """Puts the sheet where it belongs under another view."""
        grown = view.scale / self.view.scale
        corner = QPointF(view.left - self.view.left * grown, view.top - self.view.top * grown)
        if grown == 1.0:
            painter.drawPixmap(corner, self.pixmap)
        else:
            painter.drawPixmap(QRectF(corner, self.bounds.size() * grown), self.pixmap, QRectF(self.pixmap.rect()))


def drawn_roughly(scene: Scene) -> Sheet:
    """At once and without smooth lines: for the first frame, and for what comes into sight while panning."""
    sheet = Sheet(scene, is_sharp=False)
    painter = QPainter(sheet.pixmap)
    for part in (paint_links, paint_dots):
        for _ in part(painter, scene.picture, sheet.view, scene.style, clip=sheet.bounds, hidden=scene.hidden):
            pass
    painter.end()
    return sheet


def drawn_sharply(scene: Scene) -> Iterator[Sheet | None]:
    """In pieces: None until the last one, which is the sheet."""
    sheet, picture, style, hidden = Sheet(scene, is_sharp=True), scene.picture, scene.style, scene.hidden
    painter = QPainter()
    links = paint_links(painter, picture, sheet.view, style, clip=sheet.bounds, hidden=hidden)
    yield from _opened_for_each(painter, sheet, links)
    with _Smooth(sheet) as smooth:
        scene.paint_marked_links(smooth, sheet.view)
    dots = paint_dots(painter, picture, sheet.view, style, clip=sheet.bounds, hidden=hidden)
    yield from _opened_for_each(painter, sheet, dots)
    labels = place_labels(
        picture,
        sheet.view,
        style,
        clip=sheet.bounds,
        hidden=hidden,
        first=scene.talked_about(),
        must=(*scene.marked, *scene.link),
        window=sheet.window,
    )
    yield None
    with _Smooth(sheet) as smooth:
        paint_rings(smooth, picture, sheet.view, style, scene.marked)
        paint_labels(smooth, labels, style)
    sheet.labels = tuple(labels)
    yield sheet


class _Smooth:
    """A painter with smooth lines, open for a moment."""

    def __init__(self, sheet: Sheet) -> None:
        self._painter, self._sheet = QPainter(), sheet

    def __enter__(self) -> QPainter:
        self._painter.begin(self._sheet.pixmap)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        return self._painter

    def __exit__(self, *_: object) -> None:
        self._painter.end()


def _opened_for_each(painter: QPainter, sheet: Sheet, pieces: Iterator[None]) -> Iterator[None]:
    """Opens the painter for each piece and closes it again: none stays open while the event loop runs."""
    while True:
        painter.begin(sheet.pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_done = next(pieces, True) is True
        painter.end()
        if is_done:
            return
        yield None
