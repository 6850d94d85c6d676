"""The graph as one custom widget: pans by moving a cached picture, zooms by stretching it, is drawn sharp at rest.

While it moves, nothing is drawn but the cached picture; a short while after, the picture is made anew with smooth
lines and labels, in pieces between which the event loop runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gm_desktop.models.graph_picture import GraphPicture, empty_picture
from gm_desktop.plain_text import as_tip
from gm_desktop.theme import Theme
from gm_desktop.widgets.focus_ring import paint_focus_ring
from gm_desktop.widgets.graph_hits import nearest_link, nearest_node, next_node
from gm_desktop.widgets.graph_paint import View, fitted, paint_dots, paint_rings, style_of
from gm_desktop.widgets.graph_sheet import Scene, Sheet, drawn_roughly, drawn_sharply

REST_MS = 120
PIECE_S = 0.012
MOST_MARKED = 50
_STEP = 1.2
_NUDGE_PX = 12
_LEAST, _MOST = 0.6, 260.0


class GraphCanvas(QWidget):
    """Shows a `GraphPicture`. Signals say what the person points at; it changes nothing but the view by itself."""

    node_chosen = Signal(str)  # "" = nothing
    link_chosen = Signal(str, str)
    node_opened = Signal(str)
    node_moved = Signal(str, float, float)  # to a place of the picture's plane
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
        self._style = style_of(theme)
        self._sheet: Sheet | None = None
        self._pressed: QPointF | None = None
        self._is_panning = False
        self._held: int | None = None  # the node that the button went down on
        self._carried: GraphPicture | None = None  # where it is while it is carried
        self._wants_fit = True
        self._work: Iterator[Sheet | None] | None = None
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self.draw_soon)
        self._pieces = QTimer(self, interval=0)
        self._pieces.timeout.connect(self._on_piece)
        theme.changed.connect(self._on_theme)

    # --- what is shown -------------------------------------------------------------------------------------------

    def show_picture(self, picture: GraphPicture) -> None:
        """Shows another picture; one of another key is fitted into the widget."""
        self._wants_fit = self._wants_fit or picture.key != self.picture.key
        self._held = self._carried = None
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
        if self._sheet is None:
            self._sheet = self._draw_roughly()
        self._sheet.draw(painter, self.view)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._carried is not None and self._held is not None:
            self._paint_carried(painter, self._carried, self._held)
        else:
            self._paint_marks(painter)
        if self.hasFocus():
            paint_focus_ring(painter, QRectF(self.rect()), self._theme, radius=4)
        painter.end()

    @property
    def labels_shown(self) -> tuple[QRectF, ...]:
        """Where the labels of the sharp picture stand."""
        return () if self._sheet is None else tuple(label.rect for label in self._sheet.labels)

    def _scene(self) -> Scene:
        ends = [self._number(each) for each in self.selected_link or ()]
        marked = [at for each in sorted(self.selected) if (at := self._number(each)) is not None]
        return Scene(
            self.picture,
            self.view,
            self._style,
            QSizeF(self.size()),
            self.devicePixelRatioF(),
            self.hidden,
            tuple(marked[:MOST_MARKED]),
            tuple(at for at in ends if at is not None),
        )

    def _draw_roughly(self) -> Sheet:
        return drawn_roughly(self._scene())

    def draw_soon(self) -> None:
        """Begins the sharp picture; it replaces the one on the screen when it is ready."""
        self._work = drawn_sharply(self._scene())
        self._pieces.start()

    def _on_piece(self) -> None:
        until = perf_counter() + PIECE_S
        while self._work is not None and perf_counter() < until:
            sheet = next(self._work, None)
            if sheet is not None:
                self._sheet, self._work = sheet, None
                self._pieces.stop()
                self.update()

    def _paint_marks(self, painter: QPainter) -> None:
        """What the cached picture does not show yet: a new selection, and what is under the pointer."""
        scene, sheet = self._scene(), self._sheet
        is_shown = (
            sheet is not None
            and sheet.is_sharp
            and (sheet.scene.marked, sheet.scene.link) == (scene.marked, scene.link)
        )
        hovered = self._number(self.hovered)
        marked = () if is_shown else scene.marked
        if hovered is not None and hovered not in scene.marked:
            marked = (*marked, hovered)
        if not marked and (is_shown or not scene.link):
            return
        scene = replace(scene, marked=marked)
        scene.paint_marked_links(painter, self.view)
        near, clip = scene.talked_about(), QRectF(self.rect())
        for _ in paint_dots(painter, self.picture, self.view, self._style, clip=clip, hidden=self.hidden, only=near):
            pass
        paint_rings(painter, self.picture, self.view, self._style, marked)

    def _paint_carried(self, painter: QPainter, picture: GraphPicture, at: int) -> None:
        """A node on its way, with its links; the cached picture still shows where it came from."""
        scene = replace(self._scene(), picture=picture, marked=(at,), link=())
        scene.paint_marked_links(painter, self.view)
        clip = QRectF(self.rect())
        for _ in paint_dots(painter, picture, self.view, self._style, clip=clip, hidden=self.hidden, only=[at]):
            pass
        paint_rings(painter, picture, self.view, self._style, (at,))

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
        """May become a click, a drag of a node, or of everything."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_panning = event.position(), False
            self._held = self._number(self.node_at(event.position()))
        elif event.button() == Qt.MouseButton.RightButton:
            self._choose(event.position(), keep_empty=True)
            self.menu_wanted.emit(event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Carries a node or pans while the button is down, else marks what is under the pointer."""
        if self._pressed is None:
            self._hover(event.position(), event.globalPosition().toPoint())
            return
        moved = event.position() - self._pressed
        if self._is_panning or moved.manhattanLength() > 4:
            self._is_panning = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            if self._held is not None:
                self._carried = self.picture.with_place(self._held, self.view.place_of(event.position()))
                self.update()
                return
            self._pressed = event.position()
            self.pan(moved.x(), moved.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click that was no drag chooses what it hits."""
        if event.button() == Qt.MouseButton.LeftButton and self._pressed is not None:
            if self._carried is not None and self._held is not None:
                node = self.picture.nodes[self._held]
                self.node_moved.emit(node.id, *self.view.place_of(event.position()))
            elif not self._is_panning:
                self._choose(event.position())
            self._pressed, self._is_panning, self._held, self._carried = None, False, None, None
            self.unsetCursor()
            self.update()

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
        """Arrows walk from node to node (with Ctrl they pan, with Alt the chosen node moves), Enter opens, + and -
        zoom, 0 fits, Esc lets go."""
        key, is_ctrl = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if key in _ARROWS:
            dx, dy = _ARROWS[key]
            if is_ctrl:
                self.pan(-60 * dx, -60 * dy)
            elif event.modifiers() & Qt.KeyboardModifier.AltModifier:
                self._nudge(dx, dy)
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
        elif key == Qt.Key.Key_Escape and self._carried is not None:
            self._held, self._carried = None, None
            self.update()
        elif key == Qt.Key.Key_Escape and (self.selected or self.selected_link):
            self.node_chosen.emit("")
        else:
            super().keyPressEvent(event)

    # --- pointing ------------------------------------------------------------------------------------------------

    def node_at(self, point: QPointF) -> str:
        """The id of the node at a point of the widget; empty where there is none."""
        at = nearest_node(self.picture, self.view, point, hidden=self.hidden)
        return "" if at is None else self.picture.nodes[at].id

    def link_at(self, point: QPointF) -> tuple[str, str] | None:
        """The ids of the ends of the link at a point; None where there is none."""
        at = nearest_link(self.picture, self.view, point)
        if at is None:
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
            QToolTip.showText(on_screen, as_tip(f"{node.title} · {node.kind_title}"), self)
        self.update()

    def _walk(self, dx: int, dy: int) -> None:
        """Chooses the nearest node in a direction from the selected one, or the one nearest to the middle."""
        start = self._number(next(iter(self.selected))) if len(self.selected) == 1 else None
        at = next_node(self.picture, self.view, start, QRectF(self.rect()).center(), (dx, dy))
        if at is not None:
            self.node_chosen.emit(self.picture.nodes[at].id)
            self.reveal(self.picture.nodes[at].id)

    def _nudge(self, dx: int, dy: int) -> None:
        """Moves the one chosen node a little."""
        at = self._number(next(iter(self.selected))) if len(self.selected) == 1 else None
        if at is not None:
            place = self.view.place_of(self._point(at) + QPointF(_NUDGE_PX * dx, _NUDGE_PX * dy))
            self.node_moved.emit(self.picture.nodes[at].id, *place)

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
        if self._sheet is not None and not self._sheet.covers(view):
            self._sheet = None
        if self.isVisible():
            self._rest.start(REST_MS)
        self.update()

    def _redraw(self) -> None:
        """What is shown changed: a rough picture at once, the sharp one soon."""
        self._sheet = None
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
