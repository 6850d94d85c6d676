"""The Graph page without widgets: who and what the facts are about, which part of it is drawn, what is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import digits, tr, tr_count
from gm_desktop.models.entity_list import EntityList
from gm_desktop.models.graph_picture import KINDS, OTHER, GraphNode, GraphPicture, empty_picture
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.viewmodels.graph_data import (
    WHOLE,
    GraphData,
    load_graph,
    near_picture,
    path_picture,
    whole_picture,
)
from gm_desktop.viewmodels.graph_details import (
    Details,
    WayDetails,
    entity_details,
    link_details,
    shape_details,
    way_details,
)
from gm_desktop.viewmodels.graph_verbs import GraphVerbs
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.graph.records import GraphPath
from gm_engine.records import Changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from gm_engine import Memory
    from gm_engine.progress import CancelToken, Progress

FOLLOW_MS = 300
SHAPE_MS = 400
DEPTHS = (1, 2, 3)
Order = Literal["links", "recent", "name", "orphans", "stale"]
_FOLLOWED = frozenset({"entity", "edge", "fact"})


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part is drawn: the whole graph, what is near one entity, or a way between two."""

    focus: str = ""
    depth: int = 1
    way: tuple[str, ...] = ()


class GraphViewModel(QObject):
    """Reads the graph when somebody looks, follows the store while somebody does."""

    state_changed = Signal()
    picture_changed = Signal()
    list_changed = Signal()
    selection_changed = Signal()
    details_changed = Signal()

    def __init__(
        self, host: EngineHost, verbs: GraphVerbs, notices: Notices, clock: Clock, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._host = host
        self._notices = notices
        self._clock = clock
        self.verbs = verbs
        self.entities = EntityList(self)
        self.state: PageState = Loading()
        self.data: GraphData | None = None
        self.picture: GraphPicture = empty_picture()
        self.scope = Scope()
        self.query = ""
        self.order: Order = "links"
        self.hidden: frozenset[str] = frozenset()
        self.selected_id = ""
        self.selected_link: tuple[str, str] | None = None
        self.details: Details | None = None
        self._way: WayDetails | None = None
        self._is_watched = False
        self._is_dirty = True
        self._wanted_id = ""
        self._reading, self._drawing, self._detailing = Latest(), Latest(), Latest()
        self._pending: set[str] = set()
        self._moved: dict[tuple[str, str], tuple[float, float]] = {}  # by picture and entity
        self._reload_soon = QTimer(self, singleShot=True)
        self._reload_soon.timeout.connect(self.reload)
        self._shape_soon = QTimer(self, singleShot=True)
        self._shape_soon.timeout.connect(self._read_shape)
        verbs.changed.connect(self._on_verb)
        host.changed.connect(self._on_changed)
        host.store_opened.connect(self._on_opened)
        host.store_closed.connect(self._on_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._is_watched and (bool(self._pending) or self._reload_soon.isActive() or self._shape_soon.isActive())

    @property
    def kinds(self) -> tuple[tuple[str, str, int], ...]:
        """The types in the picture with their titles and how many of each, always in the same order."""
        counts: dict[str, int] = {}
        for node in self.picture.nodes:
            counts[node.kind] = counts.get(node.kind, 0) + 1
        titles = {node.kind: node.kind_title for node in self.picture.nodes}
        titles[OTHER] = tr("Other")
        return tuple((kind, titles[kind], counts[kind]) for kind in (*KINDS, OTHER) if kind in counts)

    @property
    def caption(self) -> str:
        """What is drawn, in words."""
        if self.data is None:
            return ""
        shown, total = sum(not node.is_missing for node in self.picture.nodes), len(self.data.entities)
        if self.scope.way:
            ends = (self.data.title(self.scope.way[0]), self.data.title(self.scope.way[-1]))
            steps = tr_count("{count} link", "{count} links", len(self.scope.way) - 1)
            return tr("From {start} to {goal}: {steps}", start=ends[0], goal=ends[1], steps=steps)
        if self.scope.focus:
            name = self.data.title(self.scope.focus)
            return tr("Around {name}: {shown} of {total} entities", name=name, shown=digits(shown), total=digits(total))
        return tr_count("{count} entity", "All {count} entities", total)

    # --- watching ------------------------------------------------------------------------------------------------

    def watch(self, *, is_watched: bool) -> None:
        """Somebody looks at the page, or no longer does; what changed meanwhile is read then."""
        self._is_watched = is_watched
        if is_watched and self._is_dirty:
            self.reload()

    def reload(self) -> None:
        """Reads the graph again."""
        self._reload_soon.stop()
        self._is_dirty = False
        self._ask(self._reading, "graph", load_graph, self._on_loaded, self._on_failed)

    def _ask(
        self,
        latest: Latest,
        name: str,
        job: Callable[[Memory], object],
        done: Callable[..., None],
        failed: Callable[[GrayMatterError], None] | None = None,
    ) -> None:
        """Asks in the read lane and keeps count of what is still to come."""
        self._pending.add(name)

        def answered(value: object) -> None:
            self._pending.discard(name)
            done(value)

        def refused(error: GrayMatterError) -> None:
            self._pending.discard(name)
            (failed or self._notices.show_failure)(error)

        latest.take(self._host.read(job, answered, refused))

    def _on_loaded(self, data: GraphData) -> None:
        self.data = data
        if self.selected_id and self.selected_id not in data.number:
            self.selected_id = ""
        if self.scope.focus not in data.number and self.scope.focus:
            self.scope = Scope()
        if any(each not in data.number for each in self.scope.way):
            self.scope = Scope()
        wanted, self._wanted_id = self._wanted_id, ""
        if wanted in data.number:
            self.selected_id, self.selected_link = wanted, None
        self._fill_list()
        self._set_state(Full(len(data.entities)) if data.nodes else self._empty())
        self._draw()
        self.selection_changed.emit()
        self._read_details()

    def _on_failed(self, error: GrayMatterError) -> None:
        self._set_state(Failed(sentence_for(error)))

    def _on_changed(self, changes: Changes) -> None:
        if changes.kinds & _FOLLOWED:
            self._is_dirty = True
            if self._is_watched and not self._reload_soon.isActive():
                self._reload_soon.start(FOLLOW_MS)

    def _on_verb(self, entity_id: str) -> None:
        self._wanted_id = entity_id

    def _on_opened(self) -> None:
        self._is_dirty = True
        if self._is_watched:
            self.reload()

    def _on_closed(self) -> None:
        for latest in (self._reading, self._drawing, self._detailing):
            latest.cancel()
        self._pending.clear()
        self._moved.clear()
        self._reload_soon.stop()
        self._shape_soon.stop()
        self._is_dirty = True
        self.data, self.details, self._way, self.scope = None, None, None, Scope()
        self.picture, self.hidden = empty_picture(), frozenset()
        self.selected_id, self.selected_link = "", None
        self.entities.set_nodes(())
        self._set_state(Loading())
        self.picture_changed.emit()
        self.selection_changed.emit()
        self.details_changed.emit()

    def _set_state(self, state: PageState) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit()

    @staticmethod
    def _empty() -> Empty:
        return Empty(
            "graph",
            tr("No entities yet"),
            tr("People, places, projects and what else the facts name appear here once facts were read."),
        )

    # --- the list ------------------------------------------------------------------------------------------------

    def set_query(self, query: str) -> None:
        """Narrows the list to names that contain a text."""
        if query != self.query:
            self.query = query
            self._fill_list()

    def set_order(self, order: Order) -> None:
        """Another order, or only the entities that nothing is linked to, or with stale links."""
        if order != self.order:
            self.order = order
            self._fill_list()

    def _fill_list(self) -> None:
        self.entities.set_nodes(self.found(self.query, order=self.order))
        self.list_changed.emit()

    def found(self, query: str, *, order: Order = "links") -> list[GraphNode]:
        """Entities whose name contains a text, those that begin with it first."""
        data = self.data
        if data is None:
            return []
        wanted = query.strip().casefold()
        nodes = [node for node in data.nodes if not node.is_missing and wanted in _name(data, node)]
        if order == "orphans":
            nodes = [node for node in nodes if node.degree == 0]
        elif order == "stale":
            ends = {end for from_id, to_id, _ in data.stale for end in (from_id, to_id)}
            nodes = [node for node in nodes if node.id in ends]
        if order == "recent":
            nodes.sort(key=lambda node: (-(_last_seen(data, node)), node.title.casefold()))
        elif order == "name":
            nodes.sort(key=lambda node: (node.title.casefold(), node.id))
        else:
            nodes.sort(key=lambda node: (-node.degree, node.title.casefold(), node.id))
        if wanted:
            nodes.sort(key=lambda node: not _name(data, node).startswith(wanted))
        return nodes

    # --- what is drawn -------------------------------------------------------------------------------------------

    def show_near(self, entity_id: str, depth: int | None = None) -> None:
        """Draws what is around an entity, and chooses it."""
        if self.data is not None and entity_id in self.data.number:
            self.scope = Scope(focus=entity_id, depth=self.scope.depth if depth is None else depth)
            self._draw()
            self.select(entity_id)

    def set_depth(self, depth: int) -> None:
        """Draws more or less of what is around."""
        self.scope = Scope(self.scope.focus, depth, ())
        if self.scope.focus:
            self._draw()

    def show_whole(self) -> None:
        """Draws everything."""
        self.scope = Scope(depth=self.scope.depth)
        self._draw()

    def toggle_kind(self, kind: str) -> None:
        """Leaves the entities of a type out of the picture, or brings them back."""
        self.hidden = self.hidden ^ {kind}
        self.picture_changed.emit()

    def _draw(self) -> None:
        data, scope = self.data, self.scope
        if data is None:
            return

        def job(_: Memory) -> GraphPicture:
            if scope.way:
                return path_picture(data, scope.way)
            return near_picture(data, scope.focus, scope.depth) if scope.focus else whole_picture(data)

        self._ask(self._drawing, "picture", job, self._on_picture)

    def _on_picture(self, picture: GraphPicture) -> None:
        for (key, node_id), place in self._moved.items():
            if key == picture.key and node_id in picture.number:
                picture = picture.with_place(picture.number[node_id], place)
        self.picture = picture
        self.picture_changed.emit()

    def move_node(self, entity_id: str, x: float, y: float) -> None:
        """The person put a node elsewhere. In the whole graph the store keeps that, else this program does."""
        at = self.picture.number.get(entity_id)
        if at is None or self.data is None:
            return
        self._moved[self.picture.key, entity_id] = (x, y)
        if self.picture.key == WHOLE and not self._host.read_only and entity_id in self.data.entities:
            self._host.write(lambda memory: memory.graph.place(entity_id, x, y), lambda _: None)
        self.picture = self.picture.with_place(at, (x, y))
        self.picture_changed.emit()

    def reset_layout(self) -> None:
        """Lays out anew what is drawn; in the whole graph, what the store kept goes."""
        self._moved = {each: place for each, place in self._moved.items() if each[0] != self.picture.key}
        if self.picture.key != WHOLE or self._host.read_only:
            self._draw()
            return

        def job(memory: Memory, _progress: Progress, _cancel: CancelToken) -> int:
            return len(memory.graph.positions(again=True))

        self._host.run_task(tr("Laying the graph out"), job, lambda _: self.reload())

    # --- what is chosen ------------------------------------------------------------------------------------------

    def select(self, entity_id: str) -> None:
        """The person chose an entity; empty: nothing."""
        if (entity_id, None) != (self.selected_id, self.selected_link):
            self.selected_id, self.selected_link = entity_id, None
            self.selection_changed.emit()
            self._read_details()

    def select_link(self, from_id: str, to_id: str) -> None:
        """The person chose a link."""
        if self.selected_link != (from_id, to_id):
            self.selected_id, self.selected_link = "", (from_id, to_id)
            self.selection_changed.emit()
            self._read_details()

    def find_way(self, from_id: str, to_id: str) -> None:
        """Looks for the shortest way between two entities and draws it."""

        def done(way: GraphPath | None) -> None:
            if way is None or self.data is None:
                self._notices.show(tr("No links lead from one to the other."))
                return
            self.scope = Scope(depth=self.scope.depth, way=tuple(entity.id for entity in way.entities))
            self.selected_id, self.selected_link = "", None
            self._draw()
            self.selection_changed.emit()
            self._way = way_details(self.data, way)
            self._on_details(self._way)

        self._ask(self._detailing, "details", lambda memory: memory.graph.path(from_id, to_id), done)

    def _read_details(self) -> None:
        data, chosen, link, now_ns = self.data, self.selected_id, self.selected_link, self._clock.now_ns()
        if data is None or not data.nodes:
            self._on_details(None)
        elif link is not None:
            self._ask(self._detailing, "details", partial(_link_job, data, link, now_ns), self._on_details)
        elif chosen:
            self._ask(self._detailing, "details", partial(_entity_job, data, chosen, now_ns), self._on_details)
        else:  # an answer about what was chosen before says nothing any more
            self._detailing.cancel()
            self._pending.discard("details")
            if self.scope.way:
                self._on_details(self._way)
            else:
                self._shape_soon.start(SHAPE_MS)

    def _read_shape(self) -> None:
        """The shape of the graph is counted once the picture stands: it takes as long as drawing it."""
        data = self.data
        if data is not None and not self.selected_id and self.selected_link is None and not self.scope.way:
            self._ask(
                self._detailing,
                "details",
                lambda memory: shape_details(data, memory.graph.overview()),
                self._on_details,
            )

    def _on_details(self, details: Details | None) -> None:
        self.details = details
        self.details_changed.emit()

    # --- files ---------------------------------------------------------------------------------------------------

    def save_picture(self, write: Callable[[Path], None], path: Path) -> None:
        """Lets `write` make a file, away from the window."""

        def job(_: Memory) -> str:
            try:
                write(path)
            except OSError as error:
                return error.strerror or str(error)
            return ""

        def done(problem: str) -> None:
            if problem:
                self._notices.show(tr("Not saved: {problem}.", problem=problem), level="error")
            else:
                self._notices.show(tr("Saved {file}", file=path.name), level="success")

        self._host.read(job, done)


def _name(data: GraphData, node: GraphNode) -> str:
    entity = data.entities.get(node.id)
    return (node.id if entity is None else entity.label).casefold()


def _last_seen(data: GraphData, node: GraphNode) -> int:
    entity = data.entities.get(node.id)
    return 0 if entity is None else entity.last_seen_ns or 0


def _link_job(data: GraphData, link: tuple[str, str], now_ns: int, memory: Memory) -> Details | None:
    return link_details(memory, data, link, now_ns)


def _entity_job(data: GraphData, entity_id: str, now_ns: int, memory: Memory) -> Details | None:
    return entity_details(memory, data, entity_id, now_ns)
