"""The inspector of the Graph page: shows what is chosen, and passes on what the person wants done to it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gm_desktop.i18n import tr
from gm_desktop.models.graph_picture import KINDS, OTHER
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.graph import GraphViewModel
from gm_desktop.viewmodels.graph_data import kind_title
from gm_desktop.viewmodels.graph_details import EntityDetails, LinkDetails, ShapeDetails, WayDetails
from gm_desktop.views.graph_dialogs import AddEntityDialog, ChooseEntityDialog, SplitDialog
from gm_desktop.views.graph_panels import EntityPanel, LinkPanel, ShapePanel, WayPanel
from gm_desktop.widgets.basics import EmptyState


class GraphInspector(QWidget):
    """One panel for each kind of thing that can be chosen."""

    fact_wanted = Signal(str)

    def __init__(self, viewmodel: GraphViewModel, theme: Theme) -> None:
        super().__init__()
        self._viewmodel, self._theme = viewmodel, theme
        self.setProperty("kind", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumWidth(300)
        self.entity = EntityPanel(theme, kind_choices())
        self.link, self.way, self.shape = LinkPanel(theme), WayPanel(theme), ShapePanel(theme)
        self._empty = EmptyState(
            theme, "graph", tr("Nothing chosen"), tr("Choose an entity to see what it is linked to."), text_width=220
        )
        self._stack = QStackedWidget()
        for panel in (self._empty, self.entity, self.link, self.way, self.shape):
            self._stack.addWidget(panel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self._wire()
        self._show()

    def _wire(self) -> None:
        model, entity = self._viewmodel, self.entity
        model.details_changed.connect(self._show)
        entity.renamed.connect(lambda label: model.verbs.rename(model.selected_id, label))
        entity.retyped.connect(self._on_retyped)
        entity.near_wanted.connect(lambda: model.show_near(model.selected_id))
        entity.merge_wanted.connect(self.merge)
        entity.link_wanted.connect(self.link_to)
        entity.way_wanted.connect(self.find_way)
        entity.split_wanted.connect(self.split)
        entity.delete_wanted.connect(self.delete)
        entity.link_chosen.connect(lambda other: model.select_link(model.selected_id, other))
        self.link.entity_wanted.connect(model.select)
        self.link.unlink_wanted.connect(model.verbs.unlink)
        self.way.entity_wanted.connect(model.select)
        self.way.closed.connect(model.show_whole)
        self.shape.entity_wanted.connect(model.show_near)
        self.shape.link_wanted.connect(model.select_link)
        self.shape.orphans_wanted.connect(lambda: model.set_order("orphans"))
        for panel in (self.entity, self.link):
            panel.fact_wanted.connect(self.fact_wanted)

    def _show(self) -> None:
        details, data, can_write = self._viewmodel.details, self._viewmodel.data, self._viewmodel.verbs.can_write

        def kind(entity_id: str) -> str:
            at = None if data is None else data.number.get(entity_id)
            return OTHER if data is None or at is None else data.nodes[at].kind

        match details:
            case EntityDetails():
                self.entity.show_entity(details, can_write=can_write)
                self._stack.setCurrentWidget(self.entity)
            case LinkDetails():
                self.link.show_link(details, (kind(details.from_id), kind(details.to_id)), can_write=can_write)
                self._stack.setCurrentWidget(self.link)
            case WayDetails():
                self.way.show_way(details, [kind(each) for each in details.ids])
                self._stack.setCurrentWidget(self.way)
            case ShapeDetails():
                degrees = {} if data is None else {node.id: node.degree for node in data.nodes}
                self.shape.show_shape(details, degrees)
                self._stack.setCurrentWidget(self.shape)
            case _:
                self._stack.setCurrentWidget(self._empty)

    def _on_retyped(self, kind: str) -> None:
        details = self._viewmodel.details
        if isinstance(details, EntityDetails) and kind != details.type:
            self._viewmodel.verbs.retype([details.id], kind)

    # deeds, from buttons and from the action table

    def add(self) -> None:
        """Asks for a new entity."""
        dialog = AddEntityDialog(kind_choices(), self.window())
        dialog.entity_named.connect(self._viewmodel.verbs.add)
        dialog.open()

    def rename(self) -> None:
        """Puts the cursor into the name."""
        if isinstance(self._viewmodel.details, EntityDetails):
            self.entity.name.setFocus()
            self.entity.name.selectAll()

    def merge(self) -> None:
        """Asks which entity this one is."""
        chosen = self._viewmodel.selected_id
        dialog = self._chooser(
            tr("Merge into another entity"), tr("Merge"), tr("The other one keeps its name and takes over all links.")
        )
        dialog.entity_chosen.connect(lambda other, _relation: self._viewmodel.verbs.merge([chosen], other))
        dialog.open()

    def link_to(self) -> None:
        """Asks what to link to, and how."""
        chosen = self._viewmodel.selected_id
        dialog = self._chooser(tr("Link to an entity"), tr("Link"), tr("The link starts here."), with_relation=True)
        dialog.entity_chosen.connect(lambda other, relation: self._viewmodel.verbs.link(chosen, other, relation))
        dialog.open()

    def find_way(self) -> None:
        """Asks where to, then draws the shortest way."""
        chosen = self._viewmodel.selected_id
        dialog = self._chooser(tr("Find the way"), tr("Find"), tr("The shortest way over links that are not stale."))
        dialog.entity_chosen.connect(lambda other, _relation: self._viewmodel.find_way(chosen, other))
        dialog.open()

    def split(self) -> None:
        """Asks which facts are about somebody else."""
        details = self._viewmodel.details
        if isinstance(details, EntityDetails) and details.facts:
            facts = [(fact.id, fact.text) for fact in details.facts]
            dialog = SplitDialog(details.title, facts, self.window())
            dialog.split_wanted.connect(lambda label, ids: self._viewmodel.verbs.split(details.id, label, ids))
            dialog.open()

    def delete(self) -> None:
        """Takes the chosen entity away; undo brings it back."""
        if self._viewmodel.selected_id:
            self._viewmodel.verbs.delete([self._viewmodel.selected_id])

    def unlink(self) -> None:
        """Takes the chosen link away."""
        link = self._viewmodel.selected_link
        if link is not None:
            self._viewmodel.verbs.unlink(*link, None)

    def _chooser(self, title: str, button: str, hint: str, *, with_relation: bool = False) -> ChooseEntityDialog:
        chosen, model = self._viewmodel.selected_id, self._viewmodel
        return ChooseEntityDialog(
            title,
            button,
            hint,
            find=lambda query: [node for node in model.found(query) if node.id != chosen],
            theme=self._theme,
            parent=self.window(),
            with_relation=with_relation,
        )


def kind_choices() -> list[tuple[str, str]]:
    """The known types as (type, title)."""
    return [(kind, kind_title(kind)) for kind in KINDS]
