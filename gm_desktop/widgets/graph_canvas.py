"""The graph as one custom widget: pans by moving a cached picture, zooms by stretching it, is drawn sharp at rest.

While it moves, nothing is drawn but the cached picture; a short while after, the picture is made anew with smooth
lines and labels, in pieces between which the event loop runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gm_desktop.models.graph_picture import GraphPicture, empty_picture
from gm_desktop.theme import Theme
from gm_desktop.widgets.graph_paint import (
    View,
    fitted,
    paint_dots,
    paint_labels,
    paint_links,
    place_labels,
    radii,
    style_of,
)

REST_MS = 120
PIECE_S = 0.012
MARGIN = 0.3  # of the widget's size, drawn beyond each side
_STEP = 1.2
_HIT_PX = 5.0
_LEAST, _MOST = 0.6, 260.0


class GraphCanvas(QWidget):
    """Shows a `GraphPicture`. Signals say what the person points at; it changes nothing but the view by itself."""

    node_chosen = Signal(str)  # "" = nothing
    link_chosen = Signal(str, str)
    node_opened = Signal(str)
    menu_wanted = Signal(QPoint)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(200, 160)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.picture: GraphPicture = empty_picture()
        self.view = View(30.0, 0.0, 0.0)
        self.hidden: frozenset[str] = frozenset()
        self.selected: frozenset[str] = frozenset()
        self.selected_link: tuple[str, str] | None = None
        self.hovered = ""
        self.labels_shown: tuple[QRectF, ...] = ()
        self._style = style_of(theme)
        self._cache: QPixmap | None = None
        self._cache_view = self.view
        self._cache_chosen: tuple[frozenset[str], tuple[str, str] | None] = (frozenset(), None)
        self._pressed: QPointF | None = None
        self._is_panning = False
        self._wants_fit = True
        self._work: Iterator[None] | None = None
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self.draw_soon)
        self._pieces = QTimer(self, interval=0)
        self._pieces.timeout.connect(self._on_piece)
        theme.changed.connect(self._on_theme)

    # --- what is shown -------------------------------------------------------------------------------------------

    def show_picture(self, picture: GraphPicture) -> None:
        """Shows another picture; one of another key is fitted into the widget."""
        self._wants_fit = self._wants_fit or picture.key != self.picture.key
        self.picture = picture
        self.hovered = self.hovered if self.hovered in picture.number else ""
        if self._wants_fit and self.isVisible():
            self.fit()
        else:
            self._redraw()

    def select(self, ids: frozenset[str], link: tuple[str, str] | None = None) -> None:
        """Marks these nodes, and one link."""
        if (ids, link) != (self.selected, self.selected_link):
            self.selected, self.selected_link = ids, link
            titles = [self.picture.nodes[at].title for each in sorted(ids) if (at := self._number(each)) is not None]
            self.setAccessibleDescription(", ".join(titles[:5]))
            if self.isVisible():
                self._rest.start(0)  # labels of what is chosen and of its neighbours come first
            self.update()

    def hide_kinds(self, kinds: frozenset[str]) -> None:
        """Leaves the nodes of some types out."""
        if kinds != self.hidden:
            self.hidden = kinds
            self._redraw()

    def fit(self) -> None:
        """Shows the whole picture."""
        self._wants_fit = False
        self._set_view(fitted(self.picture, QSizeF(self.size())))
        self._redraw()

    def reveal(self, node_id: str) -> None:
        """Moves a node into the middle when it is out of sight."""
        at = self._number(node_id)
        if at is None:
            return
        point = self._point(at)
        if not QRectF(self.rect()).adjusted(30, 30, -30, -30).contains(point):
            middle = QRectF(self.rect()).center()
            self._set_view(self.view.moved(middle.x() - point.x(), middle.y() - point.y()))

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        """Makes everything larger or smaller around a point, the middle by default."""
        wanted = min(max(self.view.scale * factor, _LEAST), _MOST)
        middle = QRectF(self.rect()).center() if at is None else at
        self._set_view(self.view.zoomed(wanted / self.view.scale, middle))

    def pan(self, dx: float, dy: float) -> None:
        """Moves the picture by pixels."""
        self._set_view(self.view.moved(dx, dy))

    @property
    def is_at_rest(self) -> bool:
        """Whether the picture on the screen is the sharp one."""
        return not (self._rest.isActive() or self._pieces.isActive())

    # --- drawing -------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The cached picture, moved and stretched to where it belongs now, and what is pointed at on top."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._style.ground)
        if self._cache is None:
            self._draw_roughly()
        if self._cache is not None:
            grown = self.view.scale / self._cache_view.scale
            dx, dy = self._margin()
            left = self.view.left - (self._cache_view.left - dx) * grown
            top = self.view.top - (self._cache_view.top - dy) * grown
            if grown == 1.0:
                painter.drawPixmap(QPointF(left, top), self._cache)
            else:
                size = self._cache.deviceIndependentSize() * grown
                painter.drawPixmap(QRectF(QPointF(left, top), size), self._cache, QRectF(self._cache.rect()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_marks(painter)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.color("focus"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def _margin(self) -> tuple[float, float]:
        """How far the cached picture reaches beyond the widget, negative: to be added to its own origin."""
        return float(-round(self.width() * MARGIN)), float(-round(self.height() * MARGIN))

    def _canvas(self) -> tuple[QPixmap, View, QRectF]:
        """An empty picture with margins, the view on it, and its bounds."""
        dx, dy = self._margin()
        ratio = self.devicePixelRatioF()
        size = QSizeF(self.width() - 2 * dx, self.height() - 2 * dy)
        pixmap = QPixmap((size * ratio).toSize())
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(self._style.ground)
        return pixmap, self.view.moved(-dx, -dy), QRectF(QPointF(0, 0), size)

    def _draw_roughly(self) -> None:
        """At once and without smooth lines: for the first frame, and for what comes into sight while panning."""
        pixmap, view, clip = self._canvas()
        painter = QPainter(pixmap)
        for part in (paint_links, paint_dots):
            for _ in part(painter, self.picture, view, self._style, clip=clip, hidden=self.hidden):
                pass
        painter.end()
        self._cache, self._cache_view, self._cache_chosen = pixmap, self.view, (frozenset(), None)

    def draw_soon(self) -> None:
        """Begins the sharp picture; it replaces the one on the screen when it is ready."""
        self._work = self._sharp()
        self._pieces.start()

    def _on_piece(self) -> None:
        until = perf_counter() + PIECE_S
        while self._work is not None and perf_counter() < until:
            if next(self._work, True):
                self._work = None
                self._pieces.stop()
                self.update()

    def _sharp(self) -> Iterator[None]:
        pixmap, view, clip = self._canvas()
        at_view, picture, style, hidden = self.view, self.picture, self._style, self.hidden
        chosen = self._chosen()
        painter = QPainter()
        for _ in self._with(painter, pixmap, paint_links(painter, picture, view, style, clip=clip, hidden=hidden)):
            yield
        marked = self._marked()
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_lines(painter, view, marked)
        painter.end()
        painter = QPainter()
        for _ in self._with(painter, pixmap, paint_dots(painter, picture, view, style, clip=clip, hidden=hidden)):
            yield
        dx, dy = self._margin()
        window = QRectF(-dx, -dy, self.width(), self.height())
        labels = place_labels(picture, view, style, clip=clip, hidden=hidden, first=self._talked_about(), window=window)
        yield
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_rings(painter, view, marked)
        paint_labels(painter, labels, style)
        painter.end()
        self._cache_chosen = chosen
        self.labels_shown = tuple(label.rect for label in labels)
        self._cache, self._cache_view = pixmap, at_view

    @staticmethod
    def _with(painter: QPainter, pixmap: QPixmap, pieces: Iterator[None]) -> Iterator[None]:
        """Opens the painter for each piece and closes it again: none stays open while the event loop runs."""
        while True:
            painter.begin(pixmap)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            done = next(pieces, True) is True
            painter.end()
            if done:
                return
            yield

    def _chosen(self) -> tuple[frozenset[str], tuple[str, str] | None]:
        return self.selected, self.selected_link

    def _marked(self) -> list[int]:
        return [at for each in sorted(self.selected) if (at := self._number(each)) is not None][:50]

    def _paint_marks(self, painter: QPainter) -> None:
        """What the cached picture does not show yet: a new selection, and what is under the pointer."""
        marked = [] if self._cache_chosen == self._chosen() else self._marked()
        hovered = self._number(self.hovered)
        if hovered is not None and hovered not in marked:
            marked.append(hovered)
        if not marked and (self.selected_link is None or self._cache_chosen == self._chosen()):
            return
        self._paint_lines(painter, self.view, marked)
        near = {int(end) for at in marked for end in self.picture.links[self.picture.links_of(at)].ravel()}
        again, clip = sorted({*near, *marked}), QRectF(self.rect())
        for _ in paint_dots(painter, self.picture, self.view, self._style, clip=clip, hidden=self.hidden, only=again):
            pass
        self._paint_rings(painter, self.view, marked)

    def _paint_lines(self, painter: QPainter, view: View, marked: list[int]) -> None:
        """The links of what is marked (of several: those between them), and the chosen one, in the accent's colour."""
        points = view.points(self.picture.places)
        is_trail = len(self.selected) > 1
        painter.setPen(QPen(self._style.accent, 2.5 if is_trail else 1.5))
        for at in marked:
            for row in self.picture.links[self.picture.links_of(at)].tolist():
                if is_trail and not (row[0] in marked and row[1] in marked):
                    continue
                painter.drawLine(QPointF(*points[row[0]].tolist()), QPointF(*points[row[1]].tolist()))
        ends = [self._number(each) for each in self.selected_link or ()]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
            painter.setPen(QPen(self._style.accent, 3.0))
            painter.drawLine(QPointF(*points[ends[0]].tolist()), QPointF(*points[ends[1]].tolist()))

    def _paint_rings(self, painter: QPainter, view: View, marked: list[int]) -> None:
        points, sizes = view.points(self.picture.places), radii(self.picture, view.scale)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self._style.accent, 2.5))
        for at in marked:
            painter.drawEllipse(QPointF(*points[at].tolist()), float(sizes[at]) + 3, float(sizes[at]) + 3)

    def _talked_about(self) -> list[int]:
        """What is chosen, then its neighbours: their labels come before all others."""
        marked = [at for each in sorted(self.selected) if (at := self._number(each)) is not None]
        near = [int(end) for at in marked for end in self.picture.links[self.picture.links_of(at)].ravel()]
        return list(dict.fromkeys([*marked, *near]))[:60]

    # --- events --------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keeps the middle in the middle."""
        old, new = event.oldSize(), event.size()
        if old.isValid() and not self._wants_fit:
            self.view = self.view.moved((new.width() - old.width()) / 2, (new.height() - old.height()) / 2)
        elif self.picture.nodes:
            self.view = fitted(self.picture, QSizeF(new))
        self._redraw()

    def showEvent(self, _event: QShowEvent) -> None:
        """Fits a picture that came while nobody looked."""
        if self._wants_fit:
            self.fit()
        self._rest.start(REST_MS)

    def hideEvent(self, _event: QHideEvent) -> None:
        """Draws no further."""
        self._rest.stop()
        self._pieces.stop()
        self._work = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """May become a click or a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_panning = event.position(), False
        elif event.button() == Qt.MouseButton.RightButton:
            self._choose(event.position(), keep_empty=True)
            self.menu_wanted.emit(event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pans while the button is down, else marks what is under the pointer."""
        if self._pressed is None:
            self._hover(event.position(), event.globalPosition().toPoint())
            return
        moved = event.position() - self._pressed
        if self._is_panning or moved.manhattanLength() > 4:
            self._is_panning = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._pressed = event.position()
            self.pan(moved.x(), moved.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click that was no drag chooses what it hits."""
        if event.button() == Qt.MouseButton.LeftButton and self._pressed is not None:
            if not self._is_panning:
                self._choose(event.position())
            self._pressed, self._is_panning = None, False
            self.unsetCursor()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Opens the neighbourhood of a node."""
        node_id = self.node_at(event.position())
        if node_id:
            self.node_opened.emit(node_id)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zooms around the pointer; a touchpad's sideways movement pans."""
        delta = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()):
            self.pan(delta.x() / 2, 0)
        elif delta.y():
            self.zoom(_STEP ** (delta.y() / 120), event.position())
        event.accept()

    def leaveEvent(self, _event: object) -> None:
        """The pointer went."""
        if self.hovered:
            self.hovered = ""
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk from node to node (with Ctrl they pan), Enter opens, + and - zoom, 0 fits."""
        key, is_ctrl = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if key in _ARROWS:
            dx, dy = _ARROWS[key]
            if is_ctrl:
                self.pan(-60 * dx, -60 * dy)
            else:
                self._walk(dx, dy)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(_STEP)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / _STEP)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and len(self.selected) == 1:
            self.node_opened.emit(next(iter(self.selected)))
        elif key == Qt.Key.Key_Escape and (self.selected or self.selected_link):
            self.node_chosen.emit("")
        else:
            super().keyPressEvent(event)

    # --- pointing ------------------------------------------------------------------------------------------------

    def node_at(self, point: QPointF) -> str:
        """The id of the node at a point of the widget; empty where there is none."""
        if not self.picture.nodes:
            return ""
        delta = self.view.points(self.picture.places) - (point.x(), point.y())
        over = np.sqrt((delta**2).sum(1)) - radii(self.picture, self.view.scale)
        if self.hidden:
            over[[node.kind in self.hidden for node in self.picture.nodes]] = np.inf
        at = int(np.argmin(over))
        return self.picture.nodes[at].id if over[at] <= _HIT_PX else ""

    def link_at(self, point: QPointF) -> tuple[str, str] | None:
        """The ids of the ends of the link at a point; None where there is none."""
        if not len(self.picture.links):
            return None
        ends = self.view.points(self.picture.places)
        first, second = ends[self.picture.links[:, 0]], ends[self.picture.links[:, 1]]
        along = second - first
        square = np.maximum((along**2).sum(1), 1e-9)
        share = np.clip((((point.x(), point.y()) - first) * along).sum(1) / square, 0, 1)
        away = np.sqrt(((first + along * share[:, None] - (point.x(), point.y())) ** 2).sum(1))
        at = int(np.argmin(away))
        if away[at] > _HIT_PX:
            return None
        one, other = self.picture.links[at].tolist()
        return self.picture.nodes[one].id, self.picture.nodes[other].id

    def _choose(self, point: QPointF, *, keep_empty: bool = False) -> None:
        node_id = self.node_at(point)
        link = None if node_id else self.link_at(point)
        if link is not None:
            self.link_chosen.emit(*link)
        elif node_id or not keep_empty:
            self.node_chosen.emit(node_id)

    def _hover(self, point: QPointF, on_screen: QPoint) -> None:
        node_id = self.node_at(point)
        if node_id == self.hovered:
            return
        self.hovered = node_id
        self.setCursor(Qt.CursorShape.PointingHandCursor if node_id else Qt.CursorShape.ArrowCursor)
        at = self._number(node_id)
        if at is None:
            QToolTip.hideText()
        else:
            node = self.picture.nodes[at]
            QToolTip.showText(on_screen, f"{node.title} · {node.kind_title}", self)
        self.update()

    def _walk(self, dx: int, dy: int) -> None:
        """Chooses the nearest node in a direction from the selected one, or the one nearest to the middle."""
        if not self.picture.nodes:
            return
        points = self.view.points(self.picture.places)
        start = self._number(next(iter(self.selected))) if len(self.selected) == 1 else None
        if start is None:
            middle = QRectF(self.rect()).center()
            at = int(np.argmin(((points - (middle.x(), middle.y())) ** 2).sum(1)))
        else:
            delta = points - points[start]
            ahead = delta @ np.array([dx, dy], float)
            aside = np.abs(delta @ np.array([dy, dx], float))
            cost = np.where(ahead > 1e-6, ahead + 2.5 * aside, np.inf)
            at = int(np.argmin(cost))
            if not np.isfinite(cost[at]):
                return
        self.node_chosen.emit(self.picture.nodes[at].id)
        self.reveal(self.picture.nodes[at].id)

    def _number(self, node_id: str) -> int | None:
        return self.picture.number.get(node_id) if node_id else None

    def _point(self, at: int) -> QPointF:
        return QPointF(*self.view.points(self.picture.places[at : at + 1])[0].tolist())

    def sizeHint(self) -> QSize:
        """As much as there is."""
        return QSize(640, 480)

    # --- movement ------------------------------------------------------------------------------------------------

    def _set_view(self, view: View) -> None:
        self.view = view
        self._work = None
        self._pieces.stop()
        if self._cache is not None and self._is_out_of_cache():
            self._cache = None
        if self.isVisible():
            self._rest.start(REST_MS)
        self.update()

    def _is_out_of_cache(self) -> bool:
        """Whether the pan has come to parts of the picture that were not drawn."""
        if self.view.scale != self._cache_view.scale:
            return False
        dx, dy = self._margin()
        return abs(self.view.left - self._cache_view.left) > -dx or abs(self.view.top - self._cache_view.top) > -dy

    def _redraw(self) -> None:
        """What is shown changed: a rough picture at once, the sharp one soon."""
        self._cache = None
        self._set_view(self.view)

    def _on_theme(self) -> None:
        self._style = style_of(self._theme)
        self._redraw()


_ARROWS = {
    int(Qt.Key.Key_Left): (-1, 0),
    int(Qt.Key.Key_Right): (1, 0),
    int(Qt.Key.Key_Up): (0, -1),
    int(Qt.Key.Key_Down): (0, 1),
}
