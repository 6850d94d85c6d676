"""The panels of the Graph page's inspector: one entity, one link, a way, the shape of the whole graph."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from gm_desktop.formatting import number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.theme import SPACE, Theme
from gm_desktop.viewmodels.graph_data import kind_title
from gm_desktop.viewmodels.graph_details import EntityDetails, FactLine, LinkDetails, ShapeDetails, WayDetails
from gm_desktop.views.graph_dialogs import TypeBox
from gm_desktop.widgets.basics import icon_button, push_button, row, text_label
from gm_desktop.widgets.entity_rows import EntityRows, RowItem
from gm_desktop.widgets.flow_layout import flowing
from gm_desktop.widgets.name_values import NameValues
from gm_desktop.widgets.scrolled import SCROLL_BAR
from gm_desktop.widgets.timeline import Moment, Timeline

_MARGIN = 20
_INSET = 8  # how far the ground of a list reaches beyond the texts above and below it
_LINE_INSET = 4  # so that facts on their line begin where the names of entities do


class Panel(QScrollArea):
    """A column that scrolls."""

    def __init__(self) -> None:
        super().__init__()
        body = QWidget()
        self.column = QVBoxLayout(body)
        self._keep_right(0, 0)
        self.verticalScrollBar().rangeChanged.connect(self._keep_right)
        self.column.setSpacing(10)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(body)

    def _keep_right(self, _least: int, most: int) -> None:
        """The column is as wide beside a scroll bar as without one."""
        side = _MARGIN - _INSET
        self.column.setContentsMargins(side, 20, side - (SCROLL_BAR if most else 0), 20)

    def add(self, *widgets: QWidget) -> None:
        """Puts widgets below each other; what begins with a dot stands so that the dot is below the texts."""
        for widget in widgets:
            if isinstance(widget, EntityRows):
                self.column.addWidget(widget)
            else:
                left = _LINE_INSET if isinstance(widget, Timeline) else _INSET
                right = 0 if isinstance(widget, Timeline) else _INSET
                self.column.addLayout(row(widget, margins=(left, 0, right, 0)))


def facts_as_moments(facts: Sequence[FactLine]) -> list[Moment]:
    """Facts for a `Timeline`."""
    return [Moment(fact.id, fact.text, fact.note, tr("Open this fact in Memory")) for fact in facts]


class NameEdit(QLineEdit):
    """A heading that can be written over: Enter keeps, Escape brings the old text back."""

    renamed = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._kept = ""
        self.setProperty("kind", "bare")
        self.setFont(theme.font("heading"))
        self.setAccessibleName(tr("Name of the entity"))
        self.setToolTip(tr("Click to rename"))
        self.editingFinished.connect(self._on_finished)

    def show_name(self, name: str) -> None:
        """Shows a name, unless the person is writing one."""
        if name != self._kept or not self.hasFocus():
            self._kept = name
            self.setText(name)
            self.setCursorPosition(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape gives up."""
        if event.key() == Qt.Key.Key_Escape and self.text() != self._kept:
            self.setText(self._kept)
            event.accept()
            return
        super().keyPressEvent(event)

    def _on_finished(self) -> None:
        text = self.text().strip()
        if not text or text == self._kept.strip():
            self.setText(self._kept)
            return
        self._kept = text
        self.renamed.emit(text)


class EntityPanel(Panel):
    """One entity, edited in place."""

    renamed = Signal(str)
    retyped = Signal(str)
    near_wanted = Signal()
    merge_wanted = Signal()
    link_wanted = Signal()
    way_wanted = Signal()
    split_wanted = Signal()
    delete_wanted = Signal()
    link_chosen = Signal(str)  # the other end
    fact_wanted = Signal(str)

    def __init__(self, theme: Theme, kinds: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._theme = theme
        self.name = NameEdit(theme)
        self.kind = TypeBox(kinds, "")
        self.names = text_label("", "small", wrap=True, selectable=True)
        self.near = push_button(tr("Show around it"), "primary", self.near_wanted.emit)
        self.link = icon_button(theme, "link", tr("Link to…"), self.link_wanted.emit, shortcut="L")
        self.merge = icon_button(theme, "git-merge", tr("Merge into…"), self.merge_wanted.emit, shortcut="M")
        self.split = icon_button(theme, "part", tr("Split…"), self.split_wanted.emit)
        self.way = icon_button(theme, "route", tr("Find the way to…"), self.way_wanted.emit, shortcut="W")
        self.delete = icon_button(theme, "trash", tr("Delete"), self.delete_wanted.emit, shortcut="Del")
        self.rows = NameValues()
        self.links_title = text_label("", "section")
        self.links = EntityRows(theme)
        self.more_links = text_label("", "small")
        self.facts_title = text_label("", "section")
        self.facts = Timeline(theme, opens=True)
        self.more_facts = text_label("", "small")
        self._lay_out()
        self._wire()

    def _lay_out(self) -> None:
        self.name.setTextMargins(-2, 0, -2, 0)  # a field without a frame keeps 2 px to itself
        self.add(self.name, self.kind, self.names)
        deeds = (self.near, self.link, self.merge, self.split, self.way, self.delete)
        self.add(flowing(*deeds, gap=0))
        self.column.addSpacing(SPACE)
        self.add(self.links_title, self.links, self.more_links)
        self.column.addSpacing(SPACE)
        self.add(self.facts_title, self.facts, self.more_facts)
        self.column.addSpacing(SPACE)
        self.add(text_label(tr("Details"), "section"), self.rows)
        self.column.addStretch(1)

    def _wire(self) -> None:
        self.name.renamed.connect(self.renamed)
        self.kind.activated.connect(lambda _at: self._on_kind())
        editor = self.kind.lineEdit()
        if editor is not None:
            editor.returnPressed.connect(self._on_kind)
        self.links.chosen.connect(self.link_chosen)
        self.facts.chosen.connect(self.fact_wanted)

    def _on_kind(self) -> None:
        if self.kind.kind():
            self.retyped.emit(self.kind.kind())

    def show_entity(self, entity: EntityDetails, *, can_write: bool) -> None:
        """Shows an entity."""
        self.name.show_name(entity.label)
        self.name.setReadOnly(not can_write)
        self.kind.show_kind(entity.type)
        self.kind.setEnabled(can_write)
        self.names.setVisible(bool(entity.names))
        self.names.setText(tr("Also: {names}", names=", ".join(entity.names)))
        for button in (self.link, self.merge, self.split, self.delete):
            button.setEnabled(can_write)
        self.split.setEnabled(can_write and bool(entity.facts))
        self.rows.show_rows(entity.rows)
        count = len(entity.links) + entity.more_links
        self.links_title.setText(tr_count("{count} link", "{count} links", count) if count else tr("No links"))
        self.links.show_items(
            [
                RowItem(
                    line.other_id,
                    line.title,
                    line.kind,
                    _link_note("" if line.is_plain else line.relation, line.receipts, is_stale=line.is_stale),
                    tr("Show what this link rests on"),
                    line.is_stale,
                )
                for line in entity.links
            ]
        )
        _show_more(self.more_links, entity.more_links)
        facts = len(entity.facts) + entity.more_facts
        self.facts_title.setText(tr_count("{count} fact", "{count} facts", facts) if facts else tr("No live facts"))
        self.facts.show_moments(facts_as_moments(entity.facts))
        _show_more(self.more_facts, entity.more_facts)


def _show_more(label: QLabel, count: int) -> None:
    """How many are not listed; nothing where all are."""
    label.setVisible(count > 0)
    label.setText(tr("and {count} more", count=number(count)))


def _link_note(relation: str, receipts: int, *, is_stale: bool) -> str:
    facts = tr_count("{count} fact", "{count} facts", receipts) if receipts else ""
    said = " · ".join(part for part in (relation, facts) if part)
    return tr("stale · {said}", said=said) if is_stale else said


class LinkPanel(Panel):
    """The links between two entities, and the facts behind them."""

    entity_wanted = Signal(str)
    unlink_wanted = Signal(str, str, str)
    fact_wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.ends = EntityRows(theme)
        self._relations = QVBoxLayout()
        self._relations.setSpacing(4)
        self._lines: list[QWidget] = []
        self.facts_title = text_label("", "section")
        self.facts = Timeline(theme, opens=True)
        self.more_facts = text_label("", "small")
        self.note = text_label("", "small", wrap=True)
        self.add(text_label(tr("Link"), "heading"), self.ends)
        self._relations.setContentsMargins(_INSET, 0, _INSET, 0)
        self.column.addLayout(self._relations)
        self.column.addSpacing(SPACE)
        self.add(self.facts_title, self.facts, self.more_facts, self.note)
        self.column.addStretch(1)
        self.ends.chosen.connect(self.entity_wanted)
        self.facts.chosen.connect(self.fact_wanted)

    def show_link(self, link: LinkDetails, kinds: tuple[str, str], *, can_write: bool) -> None:
        """Shows a link; `kinds` are the types of its ends."""
        self.ends.show_items(
            [
                RowItem(link.from_id, link.from_title, kinds[0], "", tr("Show this entity")),
                RowItem(link.to_id, link.to_title, kinds[1], "", tr("Show this entity")),
            ]
        )
        for line in self._lines:
            line.hide()
            line.deleteLater()
        self._lines = [self._line(link, relation, can_write=can_write) for relation in link.relations]
        for line in self._lines:
            self._relations.addWidget(line)
        count = len(link.facts) + link.more_facts
        self.facts_title.setText(
            tr_count("{count} fact behind it", "{count} facts behind it", count) if count else tr("No facts behind it")
        )
        self.facts.show_moments(facts_as_moments(link.facts))
        _show_more(self.more_facts, link.more_facts)
        self.note.setText(link.note)
        self.note.setVisible(bool(link.note))

    def _line(self, link: LinkDetails, relation: tuple[str, str, bool], *, can_write: bool) -> QWidget:
        written, shown, is_stale = relation
        line = QWidget()
        name = text_label(tr("{relation} (stale)", relation=shown) if is_stale else shown)
        remove = icon_button(
            self._theme,
            "unlink",
            tr("Unlink"),
            lambda: self.unlink_wanted.emit(link.from_id, link.to_id, written),
        )
        remove.setEnabled(can_write)
        line.setLayout(row(name, 1, remove))
        return line


class WayPanel(Panel):
    """A way from one entity to another."""

    entity_wanted = Signal(str)
    closed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.steps = EntityRows(theme)
        self.close_way = push_button(tr("Back to the whole graph"), "", self.closed.emit)
        self.add(text_label(tr("The way"), "heading"), self.steps, self.close_way)
        self.column.addStretch(1)
        self.steps.chosen.connect(self.entity_wanted)

    def show_way(self, way: WayDetails, kinds: Sequence[str]) -> None:
        """Shows the steps; each note says how one comes there."""
        notes = ("", *way.relations)
        self.steps.show_items(
            [
                RowItem(entity_id, title, kind, note, tr("Show this entity"))
                for entity_id, title, kind, note in zip(way.ids, way.titles, kinds, notes, strict=True)
            ]
        )


class ShapePanel(Panel):
    """The whole graph in figures, and what is worth a look."""

    entity_wanted = Signal(str)
    link_wanted = Signal(str, str)
    orphans_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.rows = NameValues()
        self.hubs, self.holding, self.bridges = EntityRows(theme), EntityRows(theme), EntityRows(theme)
        self.orphans = EntityRows(theme)
        self.more_orphans = push_button(tr("All orphans"), "link", self.orphans_wanted.emit)
        self._titles: dict[str, QLabel] = {}
        self.add(text_label(tr("The whole graph"), "heading"), self.rows)
        self._section("hubs", tr("Best linked"), self.hubs)
        self._section("holding", tr("Holds parts together"), self.holding)
        self._section("bridges", tr("Only link between two parts"), self.bridges)
        self._section("orphans", tr("Without links"), self.orphans)
        self.column.addLayout(row(self.more_orphans, 1, margins=(_INSET, 0, _INSET, 0)))
        self.column.addStretch(1)
        for rows in (self.hubs, self.holding, self.orphans):
            rows.chosen.connect(self.entity_wanted)
        self._bridges: tuple[tuple[str, str, str, str], ...] = ()
        self.bridges.chosen.connect(self._on_bridge)

    def _section(self, name: str, title: str, rows: EntityRows) -> None:
        self._titles[name] = text_label(title, "section")
        self.column.addSpacing(SPACE)
        self.add(self._titles[name], rows)

    def _on_bridge(self, key: str) -> None:
        one, other, _, _ = self._bridges[int(key)]
        self.link_wanted.emit(one, other)

    def show_shape(self, shape: ShapeDetails, degrees: dict[str, int]) -> None:
        """Shows figures and lists; empty lists are left out."""
        self.rows.show_rows(shape.figures)
        for name, rows, items in (
            ("hubs", self.hubs, shape.hubs),
            ("holding", self.holding, shape.holding),
            ("orphans", self.orphans, shape.orphans),
        ):
            self._titles[name].setVisible(bool(items))
            rows.show_items(
                [
                    RowItem(
                        key, title, kind, number(degrees.get(key, 0)) if name != "orphans" else "", kind_title(kind)
                    )
                    for key, title, kind in items
                ]
            )
        self._bridges = shape.bridges
        self._titles["bridges"].setVisible(bool(shape.bridges))
        self.bridges.show_items(
            [
                RowItem(str(at), one, "other", other, tr("Show this link"))
                for at, (_, _, one, other) in enumerate(shape.bridges)
            ]
        )
        self.more_orphans.setVisible(shape.more_orphans > 0)
