"""The canvas: what it hits, how it moves, that panning draws nothing anew, that labels leave each other room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gm_desktop.models.graph_picture import KINDS, GraphNode, GraphPicture, empty_picture
from gm_desktop.theme import Theme
from gm_desktop.widgets.graph_canvas import GraphCanvas
from gm_desktop.widgets.graph_files import IMAGE_SCALE, Drawing
from gm_desktop.widgets.graph_paint import fitted, place_labels, radii, style_of
from gm_desktop.widgets.graph_stage import GraphStage


def picture(count: int, links: list[tuple[int, int]], *, key: str = "k", seed: int = 1) -> GraphPicture:
    rng = np.random.default_rng(seed)
    pairs = np.array(links, np.int64).reshape(-1, 2)
    degrees = np.bincount(pairs.ravel(), minlength=count)
    nodes = tuple(
        GraphNode(f"n{at}", f"Node {at}", KINDS[at % len(KINDS)], "Kind", int(degrees[at])) for at in range(count)
    )
    side = max(2.0, count**0.5)
    return GraphPicture(key, nodes, rng.uniform(-side, side, (count, 2)), pairs, np.zeros(len(pairs), np.bool_))


def line_of(*names: str) -> GraphPicture:
    """Nodes 4 units apart on a line, each linked to the next."""
    nodes = tuple(GraphNode(name, name, "person", "Person", 1) for name in names)
    places = np.array([(4.0 * at, 0.0) for at in range(len(names))])
    links = np.array([(at, at + 1) for at in range(len(names) - 1)], np.int64).reshape(-1, 2)
    return GraphPicture("line", nodes, places, links, np.array([False] * (len(names) - 1)))


@pytest.fixture
def canvas(theme: Theme, qtbot: QtBot) -> GraphCanvas:
    made = GraphCanvas(theme)
    qtbot.addWidget(made)
    made.resize(800, 600)
    made.show()
    qtbot.waitExposed(made)
    made.show_picture(line_of("a", "b", "c"))
    qtbot.waitUntil(lambda: made.is_at_rest)
    return made


def spot(canvas: GraphCanvas, node_id: str) -> QPoint:
    at = canvas.picture.number[node_id]
    x, y = canvas.view.points(canvas.picture.places)[at].tolist()
    return QPoint(round(x), round(y))


def test_a_new_picture_is_fitted_and_one_of_the_same_key_stays_where_it_is(canvas: GraphCanvas) -> None:
    inside = QRectF(canvas.rect())
    assert all(inside.contains(QPointF(spot(canvas, each))) for each in "abc")
    canvas.zoom(3.0)
    view = canvas.view
    canvas.show_picture(line_of("a", "b", "c", "d"))
    assert canvas.view == view
    other = line_of("x", "y")
    canvas.show_picture(GraphPicture("other", other.nodes, other.places, other.links, other.stale))
    assert canvas.view != view


def test_a_click_chooses_a_node_a_link_or_nothing(canvas: GraphCanvas, qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.node_chosen) as chosen:
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=spot(canvas, "b"))
    assert chosen.args == ["b"]
    middle = (spot(canvas, "a") + spot(canvas, "b")) / 2
    with qtbot.waitSignal(canvas.link_chosen) as link:
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle)
    assert link.args == ["a", "b"]
    with qtbot.waitSignal(canvas.node_chosen) as nothing:
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert nothing.args == [""]


def test_a_double_click_or_enter_opens_a_node(canvas: GraphCanvas, qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.node_opened) as opened:
        QTest.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=spot(canvas, "c"))
    assert opened.args == ["c"]
    canvas.select(frozenset({"a"}))
    with qtbot.waitSignal(canvas.node_opened) as opened:
        QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert opened.args == ["a"]


def test_arrows_walk_from_node_to_node(canvas: GraphCanvas) -> None:
    canvas.node_chosen.connect(lambda node_id: canvas.select(frozenset({node_id})))
    canvas.select(frozenset({"a"}))
    for _ in range(2):
        QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.selected == {"c"}
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.selected == {"c"}
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert canvas.selected == {"b"}


def test_panning_moves_a_cached_picture_and_draws_nothing_anew(
    canvas: GraphCanvas, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(canvas, "_draw_roughly", lambda: drawn.append("rough"))
    before = spot(canvas, "a")
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(400, 500))
    for step in range(1, 10):
        QTest.mouseMove(canvas, QPoint(400 + 10 * step, 500))
        canvas.grab()
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(490, 500))
    assert spot(canvas, "a").x() - before.x() == 90
    assert drawn == []
    assert not canvas.is_at_rest


def test_what_pans_into_sight_is_drawn_and_the_sharp_picture_follows(canvas: GraphCanvas, qtbot: QtBot) -> None:
    canvas.pan(600, 0)
    assert not canvas.is_at_rest
    shown = canvas.grab().toImage()
    qtbot.waitUntil(lambda: canvas.is_at_rest)
    assert canvas.grab().toImage() != shown


def test_the_cached_picture_lies_exactly_where_the_fresh_one_does(canvas: GraphCanvas, qtbot: QtBot) -> None:
    canvas.pan(37, -21)
    moved = canvas.grab().toImage()
    canvas.draw_soon()
    qtbot.waitUntil(lambda: canvas.is_at_rest)
    assert same_share(moved, canvas.grab().toImage()) > 0.995


def same_share(one: QImage, other: QImage) -> float:
    first, second = (
        np.frombuffer(image.convertToFormat(QImage.Format.Format_RGB32).constBits(), np.uint32)
        for image in (one, other)
    )
    return float((first == second).mean())


def test_the_wheel_zooms_around_the_pointer(canvas: GraphCanvas) -> None:
    at = QPointF(spot(canvas, "b"))
    canvas.zoom(2.0, at)
    assert (QPointF(spot(canvas, "b")) - at).manhattanLength() <= 2
    scale = canvas.view.scale
    for _ in range(50):
        canvas.zoom(2.0)
    assert scale < canvas.view.scale <= 260


def test_hidden_types_are_neither_drawn_nor_hit(canvas: GraphCanvas) -> None:
    point = QPointF(spot(canvas, "b"))
    assert canvas.node_at(point) == "b"
    canvas.hide_kinds(frozenset({"person"}))
    assert canvas.node_at(point) == ""


def test_hovering_names_what_is_there(canvas: GraphCanvas) -> None:
    QTest.mouseMove(canvas, spot(canvas, "b"))
    assert canvas.hovered == "b"
    QTest.mouseMove(canvas, QPoint(3, 3))
    assert canvas.hovered == ""


@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_any_picture_can_be_shown_and_taken_away(theme: Theme, qtbot: QtBot, count: int) -> None:
    canvas = GraphCanvas(theme)
    qtbot.addWidget(canvas)
    canvas.resize(400, 300)
    canvas.show()
    canvas.show_picture(picture(count, [(0, 0)] if count == 1 else []))
    qtbot.waitUntil(lambda: canvas.is_at_rest)
    canvas.select(frozenset({"n0", "gone"}), ("n0", "gone"))
    canvas.grab()
    canvas.show_picture(empty_picture())
    canvas.grab()
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.node_at(QPointF(1, 1)) == ""


def test_labels_at_rest_never_cover_each_other(canvas: GraphCanvas, qtbot: QtBot) -> None:
    rng = np.random.default_rng(4)
    links = [(int(a), int(b)) for a, b in rng.integers(0, 200, (400, 2)) if a != b]
    canvas.show_picture(picture(200, links, key="many"))
    canvas.select(frozenset({"n3", "n4"}))
    qtbot.waitUntil(lambda: canvas.is_at_rest)
    shown = canvas.labels_shown
    assert len(shown) > 20
    assert not [1 for at, one in enumerate(shown) for other in shown[at + 1 :] if one.intersects(other)]


def test_the_chosen_one_gets_its_label_first(theme: Theme, qtbot: QtBot) -> None:
    graph = picture(400, [(0, at) for at in range(1, 200)])
    style, size = style_of(theme), QSizeF(300, 200)
    view = fitted(graph, size)
    clip = QRectF(0, 0, 300, 200)
    labels = place_labels(graph, view, style, clip=clip, hidden=frozenset(), first=[399], must=[399])
    assert labels[0].at == 399
    assert not [1 for at, one in enumerate(labels) for other in labels[at + 1 :] if one.rect.intersects(other.rect)]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_picture_is_saved_as_it_is_shown(
    theme: Theme, canvas: GraphCanvas, mode: str, tmp_path: Path, qtbot: QtBot
) -> None:
    theme.set_mode("light" if mode == "light" else "dark")
    drawing = Drawing(canvas.picture, canvas.view, style_of(theme), QSize(800, 600), frozenset())
    drawing.write(tmp_path / "g.png")
    image = QImage(str(tmp_path / "g.png"))
    assert image.size() == QSize(800, 600) * IMAGE_SCALE
    assert image.pixelColor(2, 2) == theme.color("surface")
    at = spot(canvas, "b") * IMAGE_SCALE
    assert image.pixelColor(at) == theme.color("entity_person")
    drawing.write(tmp_path / "g.svg")
    text = (tmp_path / "g.svg").read_text(encoding="utf-8")
    assert text.count("<circle") == 3
    assert theme.color("entity_person").name() in text


def test_hiding_stops_all_work(canvas: GraphCanvas) -> None:
    canvas.pan(10, 0)
    canvas.hide()
    assert canvas.is_at_rest


def drag(canvas: GraphCanvas, start: QPoint, end: QPoint) -> None:
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(canvas, left, pos=start)
    QTest.mouseMove(canvas, (start + end) / 2)
    QTest.mouseMove(canvas, end)
    QTest.mouseRelease(canvas, left, pos=end)


def test_a_node_is_carried_to_where_it_is_dropped_and_nothing_else_moves(canvas: GraphCanvas, qtbot: QtBot) -> None:
    start, view = spot(canvas, "b"), canvas.view
    end = start + QPoint(40, 90)
    with qtbot.waitSignal(canvas.node_moved) as moved:
        drag(canvas, start, end)
    node_id, x, y = moved.args
    assert node_id == "b"
    assert canvas.view == view
    canvas.show_picture(canvas.picture.with_place(canvas.picture.number["b"], (x, y)))
    assert (spot(canvas, "b") - end).manhattanLength() <= 2


def test_a_click_on_a_node_moves_nothing_and_a_drag_beside_nodes_pans(canvas: GraphCanvas) -> None:
    moved: list[object] = []
    canvas.node_moved.connect(lambda *args: moved.append(args))
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=spot(canvas, "a"))
    before = spot(canvas, "a")
    drag(canvas, QPoint(400, 60), QPoint(430, 90))
    assert (spot(canvas, "a") - before).manhattanLength() > 20
    assert moved == []


def test_escape_lets_go_of_a_carried_node(canvas: GraphCanvas) -> None:
    moved: list[object] = []
    canvas.node_moved.connect(lambda *args: moved.append(args))
    start = spot(canvas, "b")
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(canvas, start + QPoint(30, 30))
    canvas.grab()
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=start + QPoint(30, 30))
    assert moved == []
    assert spot(canvas, "b") == start


def test_the_chosen_node_is_moved_by_keys(canvas: GraphCanvas, qtbot: QtBot) -> None:
    canvas.select(frozenset(["c"]))
    with qtbot.waitSignal(canvas.node_moved) as moved:
        QTest.keyClick(canvas, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert moved.args[0] == "c"
    assert moved.args[2] > 0


def one_dot_among(*others: tuple[float, float]) -> GraphPicture:
    """A node in the middle whose label has no room straight below, above, right or left of it."""
    nodes = tuple(GraphNode(f"n{at}", "A name of some length", "person", "Person", 9) for at in range(len(others) + 1))
    places = np.array([(0.0, 0.0), *others])
    return GraphPicture("dot", nodes, places, np.zeros((0, 2), np.int64), np.zeros(0, np.bool_))


def test_a_label_that_finds_no_room_in_the_middle_begins_or_ends_with_its_dot(theme: Theme) -> None:
    graph = one_dot_among((-0.6, 0.25), (-0.6, -0.25), (0.9, 0.0), (-0.9, 0.0))
    view, clip = fitted(one_dot_among(), QSizeF(600, 400)), QRectF(0, 0, 600, 400)
    labels = place_labels(graph, view, style_of(theme), clip=clip, hidden=frozenset(), first=[0])
    middle, radius = 300.0, float(radii(graph, view.scale)[0])
    rect = labels[0].rect
    assert labels[0].at == 0
    assert rect.left() == pytest.approx(middle - radius)
    assert min(abs(rect.top() - 200.0), abs(rect.bottom() - 200.0)) == pytest.approx(radius + 2)


def test_a_name_whose_dot_is_out_of_sight_does_not_reach_into_the_window(theme: Theme) -> None:
    graph = line_of("a name that is long", "b")
    view = fitted(graph, QSizeF(600, 400))
    x = float(view.points(graph.places)[0][0])
    window, clip = QRectF(x + 10, 0, 600, 400), QRectF(0, 0, 1200, 400)
    labels = place_labels(graph, view, style_of(theme), clip=clip, hidden=frozenset(), first=[0], window=window)
    shown = {label.at: label.rect for label in labels}
    assert set(shown) == {0, 1}
    assert not shown[0].intersects(window)
    assert window.contains(shown[1])


def test_no_label_covers_a_dot_though_it_is_small(theme: Theme) -> None:
    graph = picture(60, [])  # nobody is linked: the smallest dots there are
    view, clip = fitted(graph, QSizeF(500, 500)), QRectF(0, 0, 500, 500)
    labels = place_labels(graph, view, style_of(theme), clip=clip, hidden=frozenset())
    dots = view.points(graph.places).tolist()
    assert len(labels) > 10
    assert not [label.text for label in labels for x, y in dots if label.rect.contains(QPointF(x, y))]


def covered(canvas: GraphCanvas, rect: QRectF) -> list[str]:
    """The nodes whose dots a label of the sharp picture covers."""
    sheet = canvas._sheet
    assert sheet is not None
    points = sheet.view.points(canvas.picture.places).tolist()
    return [f"n{at}" for at, (x, y) in enumerate(points) if rect.contains(QPointF(x, y))]


def test_the_names_of_neighbours_leave_the_dots_of_others_alone(canvas: GraphCanvas, qtbot: QtBot) -> None:
    canvas.show_picture(picture(120, [(0, at) for at in range(1, 120)], key="star"))
    canvas.select(frozenset({"n0"}))
    qtbot.waitUntil(lambda: canvas.is_at_rest)
    _chosen, *others = canvas.labels_shown
    assert len(others) > 10
    assert not [rect for rect in others if covered(canvas, rect)]


def test_both_ends_of_a_chosen_link_are_named(canvas: GraphCanvas, qtbot: QtBot) -> None:
    canvas.show_picture(picture(300, [(0, at) for at in range(1, 250)], key="star"))
    canvas.select(frozenset(), ("n251", "n252"))
    qtbot.waitUntil(lambda: canvas.is_at_rest)
    assert canvas._sheet is not None
    assert [label.at for label in canvas._sheet.labels[:2]] == [251, 252]


def test_a_type_of_the_legend_takes_the_room_that_a_longer_count_asks(theme: Theme, qtbot: QtBot) -> None:
    stage = GraphStage(theme)
    qtbot.addWidget(stage)
    stage.resize(500, 400)
    stage.show_kinds((("reference", "Reference", 3), ("concept", "Concept", 1)), frozenset())
    stage.show()
    qtbot.waitUntil(lambda: stage.kinds[0].width() == stage.kinds[0].sizeHint().width())
    stage.show_kinds((("reference", "Reference", 42_000), ("concept", "Concept", 1)), frozenset())
    qtbot.waitUntil(lambda: stage.kinds[0].width() == stage.kinds[0].sizeHint().width())
