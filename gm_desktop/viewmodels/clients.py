"""The programs that write and read over MCP: who is connected, what each may do. Without widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import age, number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import sentence_for
from gm_desktop.plain_text import row_text
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.states import Empty, Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.records import ACCESSES, DEFAULT_ACCESS, Access, Changes, Client

if TYPE_CHECKING:
    from gm_engine import BulkDecision, Memory

LOOK_EVERY_MS = 1_000
FOLLOW_MS = 150
_TONES = {"write": "text_muted", "review": "warning", "read": "accent", "none": "danger"}


@dataclass(frozen=True, slots=True)
class Rule:
    """What a client may do in one namespace."""

    agent_id: str
    title: str
    access: Access


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A program: connected now, or known by its rights, by what waits from it, or by what it wrote."""

    name: str
    connections: tuple[str, ...]
    reads: int
    writes: int
    access: Access
    rules: tuple[Rule, ...]
    waiting: int
    last: str

    @property
    def title(self) -> str:
        """Its name on one line."""
        return row_text(self.name, 80)


@dataclass(frozen=True, slots=True)
class _Looked:
    clients: tuple[KnownClient, ...] = ()
    namespaces: tuple[str, ...] = field(default=())


def access_title(access: Access) -> str:
    """What a right is called."""
    titles = {
        "write": tr("Reads and writes"),
        "review": tr("Writes wait for review"),
        "read": tr("Only reads"),
        "none": tr("Nothing"),
    }
    return titles[access]


class ClientsViewModel(QObject):
    """Lists the programs, opens one, and carries what it may do to the engine."""

    changed = Signal()

    def __init__(self, host: EngineHost, undo: UndoController, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo, self._clock = host, undo, clock
        self.lines = LineList(self)
        self.state: PageState = Loading()
        self.namespaces: tuple[str, ...] = ()
        self.selected = ""
        self._clients: dict[str, KnownClient] = {}
        self._looking = Latest()
        self._watch = QTimer(self, interval=LOOK_EVERY_MS)
        self._watch.timeout.connect(self.look)
        self._look_soon = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._look_soon.timeout.connect(self.look)
        host.changed.connect(self._on_changed)
        host.store_closed.connect(self._on_closed)

    @property
    def client(self) -> KnownClient | None:
        """The one that is open."""
        return self._clients.get(self.selected)

    @property
    def can_write(self) -> bool:
        """Whether rights can be changed now."""
        return self._host.is_open and not self._host.read_only

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._looking.is_awaited

    def watch(self, is_watched: bool) -> None:
        """Somebody looks: connections leave nothing in the journal, so they are asked for every second."""
        if is_watched:
            self._watch.start()
            self.look()
        else:
            self._watch.stop()

    def look(self) -> None:
        """Reads who is connected again."""
        self._look_soon.stop()
        if self._host.is_open and not self._looking.is_awaited:
            now_ns = self._clock.now_ns()
            self._looking.take(self._host.read(partial(_look, now_ns), self._on_looked, self._on_failed))

    def select(self, name: str) -> None:
        """Opens one program."""
        if name != self.selected:
            self.selected = name
            self.changed.emit()

    def set_access(self, agent_id: str | None, access: Access | None) -> None:
        """Says what the open program may do in a namespace, or (None) where nothing else is said; None: no rule."""
        client = self.client
        if client is None or not self.can_write:
            return
        name = client.name

        def done(seq: int | None) -> None:
            if seq is not None:
                self._undo.did(_said(client.title, agent_id, access), seq)
            self.look()

        self._host.write(lambda memory: memory.clients.set_access(name, agent_id, access), done)

    def always_accept(self, name: str, said: Callable[[BulkDecision], None] | None = None) -> None:
        """Lets a program write at once from now on, and accepts what waits from it: one step."""

        def done(decision: BulkDecision) -> None:
            if decision.seq is not None:
                self._undo.did(
                    tr_count(
                        "Let {name} write at once and accepted {count} fact that waited",
                        "Let {name} write at once and accepted {count} facts that waited",
                        len(decision.accepted),
                        name=row_text(name, 60),
                    ),
                    decision.seq,
                )
            if said is not None:
                said(decision)
            self.look()

        if self.can_write:
            self._host.write(lambda memory: memory.clients.always_accept(name), done)

    def _on_looked(self, looked: _Looked) -> None:
        before = (self._clients, self.namespaces, self.state)
        self._clients = {client.name: client for client in looked.clients}
        self.namespaces = looked.namespaces
        self.lines.set_lines(tuple(_line(client) for client in looked.clients))
        if looked.clients:
            self.state = Full(len(looked.clients))
        else:
            self.state = Empty(
                "none",
                tr("No program has connected yet"),
                tr("Programs that speak MCP appear here with what they read and write. Connect one in Settings."),
            )
        if self.selected not in self._clients:
            self.selected = looked.clients[0].name if looked.clients else ""
        if (self._clients, self.namespaces, self.state) != before:
            self.changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self.state = Failed(sentence_for(error))
        self.changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if changes and self._watch.isActive():
            self._look_soon.start()

    def _on_closed(self) -> None:
        self._looking.cancel()
        self._look_soon.stop()
        self._clients, self.selected, self.state = {}, "", Loading()
        self.lines.set_lines(())
        self.changed.emit()


def _look(now_ns: int, memory: Memory) -> _Looked:
    live: dict[str, list[Client]] = {}
    for each in memory.clients.list():
        live.setdefault(each.name, []).append(each)
    rights: dict[str, dict[str | None, Access]] = {}
    for policy in memory.clients.policies():
        rights.setdefault(policy.client, {})[policy.agent_id] = policy.access
    waiting = {each.client: each.count for each in memory.clients.waiting()}
    wrote = {each.client: each.last_ns for each in memory.activity.writers() if each.channel == "mcp" and each.client}
    names = sorted(
        {*live, *rights, *waiting, *wrote},
        key=lambda name: (name not in live, name not in waiting, name.casefold(), name),
    )
    clients = tuple(
        KnownClient(
            name=name,
            connections=tuple(_connection(each, now_ns) for each in live.get(name, ())),
            reads=sum(each.reads for each in live.get(name, ())),
            writes=sum(each.writes for each in live.get(name, ())),
            access=rights.get(name, {}).get(None, DEFAULT_ACCESS),
            rules=tuple(
                Rule(agent, agent_title(agent), access)
                for agent, access in sorted(rights.get(name, {}).items(), key=lambda each: each[0] or "")
                if agent is not None
            ),
            waiting=waiting.get(name, 0),
            last=_wrote(age(wrote[name], now_ns)) if name in wrote else "",
        )
        for name in names
    )
    return _Looked(clients, tuple(agent.agent_id for agent in memory.agents()))


def _connection(client: Client, now_ns: int) -> str:
    version = tr("version {version}", version=row_text(client.version, 40)) if client.version else tr("no version")
    how = {"version": version, "transport": client.transport, "pid": str(client.pid)}
    since = age(client.since_ns, now_ns)
    if since == tr("now"):
        return tr("{version}, {transport}, process {pid}, connected just now", **how)
    return tr("{version}, {transport}, process {pid}, for {age}", age=since, **how)


def _wrote(how_long: str) -> str:
    return tr("wrote just now") if how_long == tr("now") else tr("wrote {age} ago", age=how_long)


def _line(client: KnownClient) -> Line:
    if client.connections:
        note = tr("Connected: {reads} reads, {writes} writes", reads=number(client.reads), writes=number(client.writes))
    elif client.last:
        note = tr("Not connected, {wrote}", wrote=client.last)
    else:
        note = tr("Not connected")
    if client.waiting:
        note = tr_count("{count} write waits", "{count} writes wait", client.waiting)
    dot = "●" if client.connections else ""
    if client.access == DEFAULT_ACCESS:
        return Line(client.name, client.title, note, dot, "success" if dot else "text_muted")
    mark = f"{dot} {access_mark(client.access)}".strip()
    return Line(client.name, client.title, note, mark, _TONES[client.access])


def access_mark(access: Access) -> str:
    """A right in one word."""
    return {"write": tr("Writes"), "review": tr("Review"), "read": tr("Reads"), "none": tr("Nothing")}[access]


def _said(name: str, agent_id: str | None, access: Access | None) -> str:
    where = tr("everywhere") if agent_id is None else agent_title(agent_id)
    if access is None:
        return tr("{name}: no rule of its own for {where}", name=name, where=where)
    return tr("{name}, {where}: {right}", name=name, where=where, right=access_title(access))


def accesses() -> tuple[tuple[Access, str], ...]:
    """Every right and its name, from most to least."""
    order: tuple[Access, ...] = ("write", "review", "read", "none")
    return tuple((access, access_title(access)) for access in order if access in ACCESSES)
