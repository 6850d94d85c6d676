"""The Graph page: a search beside the drawn graph, what is chosen in the inspector."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QLineEdit,
    QListView,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gm_desktop.actions import ActionSpec
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.entity_list import ID_ROLE
from gm_desktop.page import Page
from gm_desktop.theme import MARGIN, Theme
from gm_desktop.viewmodels.graph import DEPTHS, GraphViewModel, Order
from gm_desktop.viewmodels.states import Empty, Failed, Full
from gm_desktop.views.graph_inspector import GraphInspector
from gm_desktop.widgets.basics import (
    EmptyState,
    PageHeader,
    YieldingLabel,
    icon_button,
    push_button,
    row,
    rule,
    text_label,
)
from gm_desktop.widgets.entity_delegate import EntityDelegate
from gm_desktop.widgets.graph_files import Drawing
from gm_desktop.widgets.graph_paint import style_of
from gm_desktop.widgets.graph_stage import GraphStage
from gm_desktop.widgets.yielding import CaptionBar, YieldingCombo

LIST_WIDTH = 252
BAR_HEIGHT = 42


class GraphPage(Page):
    """A list on the left, the graph on the right."""

    page_id = "graph"
    fact_wanted = Signal(str)

    def __init__(self, viewmodel: GraphViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self._make_widgets()
        self._lay_out()
        self._wire()
        self._show_state()

    def _make_widgets(self) -> None:
        self.panel = GraphInspector(self._viewmodel, self._theme)
        self.add = push_button(tr("Add entity"), "", self.panel.add)
        self.more = icon_button(self._theme, "ellipsis", tr("More actions"), self._open_menu)
        subtitle = tr("Who and what the facts are about, and how they hang together")
        self.header = PageHeader(tr("Graph"), subtitle, (self.add, self.more))
        self.query = QLineEdit()
        self.query.setPlaceholderText(tr("Search for an entity"))
        self.query.setAccessibleName(tr("Search for an entity"))
        self.query.setClearButtonEnabled(True)
        glyph = QAction(self.query)
        self._theme.bind_icon(glyph, "search")
        self.query.addAction(glyph, QLineEdit.ActionPosition.LeadingPosition)
        self.order = YieldingCombo()
        self.order.setAccessibleName(tr("Order"))
        for order, title in _orders():
            self.order.addItem(title, order)
        self.list = QListView()
        self.list.setModel(self._viewmodel.entities)
        self.list.setItemDelegate(EntityDelegate(self._theme, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(tr("Entities"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.count = text_label("", "small")
        self.stage = GraphStage(self._theme)
        self.stage.canvas.setAccessibleName(tr("The graph"))
        self.stage.canvas.setAccessibleDescription(
            tr("A drawing: arrows go from entity to entity, Enter shows around one, + and - zoom, 0 fits.")
        )
        self.caption = YieldingLabel("", "small")
        self.reach = YieldingCombo()
        self.reach.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.reach.setAccessibleName(tr("How far around"))
        for depth in DEPTHS:
            self.reach.addItem(tr_count("{count} link away", "{count} links away", depth), depth)
        self.whole = push_button(tr("Whole graph"), "", self._viewmodel.show_whole)
        self.retry = push_button(tr("Try again"), "", self._viewmodel.reload)
        self.read = push_button(tr("Read the facts now"), "primary", self._viewmodel.verbs.extract)
        self.note = EmptyState(self._theme, "graph", "", "", (self.retry, self.read))

    def _lay_out(self) -> None:
        side = QWidget()
        side.setMaximumWidth(LIST_WIDTH)
        column = QVBoxLayout(side)
        column.setContentsMargins(MARGIN - 12, 0, 12, 10)
        column.setSpacing(8)
        column.addLayout(row(self.query, margins=(12, 0, 0, 0)))
        column.addLayout(row(self.order, margins=(12, 0, 0, 0)))
        column.addWidget(self.list, 1)
        column.addLayout(row(self.count, 1, margins=(12, 0, 0, 0)))
        drawn = QWidget()
        right = QVBoxLayout(drawn)
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        bar = CaptionBar(self.caption, (self.reach, self.whole), margins=(16, 0, MARGIN, 10), height=BAR_HEIGHT)
        right.addWidget(bar)
        right.addWidget(rule())
        right.addWidget(self.stage, 1)
        both = QWidget()
        line = row(side, rule(vertical=True), drawn, spacing=0)
        line.setStretch(0, 1)  # a small window takes from the list before it cuts the bar
        line.setStretch(2, 1)
        both.setLayout(line)
        self._both = both
        self._stack = QStackedWidget()
        self._stack.addWidget(self.note)
        self._stack.addWidget(both)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(self._stack, 1)
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _wire(self) -> None:
        model, canvas = self._viewmodel, self.stage.canvas
        self.query.textChanged.connect(model.set_query)
        self.query.returnPressed.connect(self._open_first)
        self.order.activated.connect(lambda _at: model.set_order(self.order.currentData()))
        self.reach.activated.connect(lambda _at: model.set_depth(int(self.reach.currentData())))
        self.list.selectionModel().currentChanged.connect(self._on_current)
        self.list.activated.connect(lambda index: model.show_near(str(index.data(ID_ROLE))))
        canvas.node_chosen.connect(model.select)
        canvas.link_chosen.connect(model.select_link)
        canvas.node_opened.connect(model.show_near)
        canvas.node_moved.connect(model.move_node)
        canvas.menu_wanted.connect(self._open_node_menu)
        self.stage.kind_toggled.connect(model.toggle_kind)
        self.panel.fact_wanted.connect(self.fact_wanted)
        model.state_changed.connect(self._show_state)
        model.picture_changed.connect(self._show_picture)
        model.list_changed.connect(self._show_list)
        model.selection_changed.connect(self._show_selection)

    # Page

    def inspector(self) -> QWidget:
        """What is chosen."""
        return self.panel

    def action_specs(self) -> tuple[ActionSpec, ...]:
        """What can be done with entities and links."""
        model, panel, canvas = self._viewmodel, self.panel, self.stage.canvas
        writes, one, is_full = self._can_write, self._can_change, self._is_full
        return (
            ActionSpec("entity.find", tr("Find an entity"), "search", "Ctrl+F", is_full, self.activate),
            ActionSpec("entity.add", tr("Add an entity…"), "plus", "Ctrl+N", writes, panel.add),
            ActionSpec("entity.rename", tr("Rename the entity"), "pencil", "F2", one, panel.rename),
            ActionSpec("entity.link", tr("Link the entity to…"), "link", "L", one, panel.link_to),
            ActionSpec("entity.merge", tr("Merge the entity into…"), "git-merge", "M", one, panel.merge),
            ActionSpec("entity.split", tr("Split the entity…"), "part", "", one, panel.split),
            ActionSpec("entity.delete", tr("Delete the entity"), "trash", "Del", one, panel.delete),
            ActionSpec("entity.way", tr("Find the way to…"), "route", "W", self._has_entity, panel.find_way),
            ActionSpec(
                "entity.around",
                tr("Show what is around the entity"),
                "graph",
                "Ctrl+Return",
                self._has_entity,
                lambda: model.show_near(model.selected_id),
            ),
            ActionSpec("link.remove", tr("Unlink"), "unlink", "Ctrl+Backspace", self._can_unlink, panel.unlink),
            ActionSpec("graph.whole", tr("Show the whole graph"), "graph", "Home", is_full, model.show_whole),
            ActionSpec("graph.fit", tr("Fit the graph into the window"), "fit", "", is_full, canvas.fit),
            ActionSpec("graph.layout", tr("Lay the graph out anew"), "redo", "", is_full, model.reset_layout),
            ActionSpec("graph.extract", tr("Read the facts now"), "sparkles", "", writes, model.verbs.extract),
            ActionSpec("graph.png", tr("Save the graph as PNG…"), "download", "", is_full, partial(self.save, "png")),
            ActionSpec("graph.svg", tr("Save the graph as SVG…"), "download", "", is_full, partial(self.save, "svg")),
        )

    def activate(self) -> None:
        """Work begins with a search."""
        self.query.setFocus()
        self.query.selectAll()

    def save_state(self) -> dict[str, str]:
        """Order and depth."""
        return {"order": self._viewmodel.order, "depth": str(self._viewmodel.scope.depth)}

    def restore_state(self, state: dict[str, str]) -> None:
        """Takes them back."""
        at = self.order.findData(state.get("order", ""))
        if at >= 0:
            self.order.setCurrentIndex(at)
            self._viewmodel.set_order(self.order.itemData(at))
        if state.get("depth") in {str(depth) for depth in DEPTHS}:
            self._viewmodel.set_depth(int(state["depth"]))

    def prepare_screenshot(self) -> None:
        """Draws what is around the best linked entity."""
        nodes = self._viewmodel.found("")
        if nodes:
            self._viewmodel.show_near(nodes[0].id, 2)

    def screenshot_scenes(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """The whole graph, and what a link rests on."""
        return (("whole", self._show_whole_scene), ("link", self._show_link_scene))

    def _show_whole_scene(self) -> None:
        self._viewmodel.show_whole()
        self._viewmodel.select("")

    def _show_link_scene(self) -> None:
        data = self._viewmodel.data
        edge = None if data is None else max(data.edges, key=lambda each: len(each.sources), default=None)
        if edge is not None:
            self._viewmodel.show_near(edge.from_id, 1)
            self._viewmodel.select_link(edge.from_id, edge.to_id)

    def is_settled(self) -> bool:
        """Whether every answer has come and the picture is sharp."""
        return not self._viewmodel.is_waiting and self.stage.canvas.is_at_rest

    def showEvent(self, event: QShowEvent) -> None:
        """Somebody looks."""
        super().showEvent(event)
        self._viewmodel.watch(is_watched=True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody looks any more."""
        super().hideEvent(event)
        self._viewmodel.watch(is_watched=False)

    # state

    def _show_state(self) -> None:
        state = self._viewmodel.state
        self.retry.setVisible(isinstance(state, Failed))
        self.read.setVisible(isinstance(state, Empty) and self._viewmodel.verbs.can_write)
        if isinstance(state, Empty):
            self.note.say("graph", state.title, state.hint)
        elif isinstance(state, Failed):
            self.note.say("circle-alert", tr("The graph can't be read"), state.message)
        elif not isinstance(state, Full):
            self.note.say("clock", tr("Reading the store…"))
        self._stack.setCurrentWidget(self._both if isinstance(state, Full) else self.note)
        self.add.setEnabled(self._viewmodel.verbs.can_write)

    def _show_picture(self) -> None:
        model = self._viewmodel
        self.stage.canvas.show_picture(model.picture)
        self.stage.canvas.hide_kinds(model.hidden)
        self.stage.show_kinds(model.kinds, model.hidden)
        self.caption.setText(model.caption)
        is_part = bool(model.scope.focus or model.scope.way)
        self.whole.setVisible(is_part)
        self.reach.setVisible(bool(model.scope.focus))
        self.reach.setCurrentIndex(self.reach.findData(model.scope.depth))
        self._show_selection()

    def _show_list(self) -> None:
        at = self.order.findData(self._viewmodel.order)
        self.order.setCurrentIndex(at)
        self.count.setText(tr_count("{count} entity", "{count} entities", len(self._viewmodel.entities.nodes)))
        self._show_selection()

    def _show_selection(self) -> None:
        model = self._viewmodel
        chosen = model.scope.way if model.scope.way and not model.selected_id else (model.selected_id,)
        self.stage.canvas.select(frozenset(each for each in chosen if each), model.selected_link)
        at = model.entities.row_of(model.selected_id)
        selection = self.list.selectionModel()
        if at is None:
            selection.clear()
        elif self.list.currentIndex().row() != at:
            index = model.entities.index(at)
            selection.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self.list.scrollTo(index)

    def _on_current(self) -> None:
        index = self.list.currentIndex()
        if index.isValid() and str(index.data(ID_ROLE)) != self._viewmodel.selected_id:
            self._viewmodel.select(str(index.data(ID_ROLE)))
            self.stage.canvas.reveal(self._viewmodel.selected_id)

    def _open_first(self) -> None:
        nodes = self._viewmodel.entities.nodes
        chosen = self._viewmodel.selected_id
        if nodes:
            self._viewmodel.show_near(chosen if self._viewmodel.entities.row_of(chosen) is not None else nodes[0].id)
            self.stage.canvas.setFocus()  # letters are deeds from here on

    # when

    def _is_full(self) -> bool:
        return isinstance(self._viewmodel.state, Full)

    def _can_write(self) -> bool:
        return self._viewmodel.verbs.can_write

    def _has_entity(self) -> bool:
        data = self._viewmodel.data
        return data is not None and self._viewmodel.selected_id in data.entities

    def _can_change(self) -> bool:
        return self._has_entity() and self._can_write()

    def _can_unlink(self) -> bool:
        return self._viewmodel.selected_link is not None and self._can_write()

    # menus and files

    def _open_menu(self) -> None:
        self._menu("graph.").popup(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _open_node_menu(self, at: QPoint) -> None:
        if self._has_entity() or self._viewmodel.selected_link is not None:
            self._menu("entity." if self._has_entity() else "link.").popup(at)

    def _menu(self, prefix: str) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for spec in self.action_specs():
            if spec.id.startswith(prefix) and spec.id != "entity.find":
                action = menu.addAction(self._theme.icon(spec.icon), spec.title)
                action.setEnabled(spec.when())
                action.triggered.connect(lambda _checked=False, run=spec.run: run())
        return menu

    def save(self, ending: str) -> None:
        """Asks where to, then writes what is drawn."""
        dialog = QFileDialog(self, tr("Save the graph"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setNameFilters([tr("{kind} files (*.{ending})", kind=ending.upper(), ending=ending)])
        dialog.setDefaultSuffix(ending)
        dialog.selectFile(f"graph.{ending}")
        dialog.fileSelected.connect(lambda path: self.save_to(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save_to(self, path: Path) -> None:
        """Writes what is drawn, as the ending of the file says."""
        canvas, model = self.stage.canvas, self._viewmodel
        drawing = Drawing(model.picture, canvas.view, style_of(self._theme), canvas.size(), canvas.hidden)
        model.save_picture(drawing.write, path)


def _orders() -> tuple[tuple[Order, str], ...]:
    return (
        ("links", tr("Best linked first")),
        ("recent", tr("Last seen first")),
        ("name", tr("By name")),
        ("orphans", tr("Without links")),
        ("stale", tr("With stale links")),
    )
