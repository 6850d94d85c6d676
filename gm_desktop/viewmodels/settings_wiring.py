"""The programs that can use this memory: which are here, what their configuration says, and changing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.line_list import Line, LineList
from gm_desktop.notices import Notices
from gm_desktop.paths import unnamed_data_dir
from gm_desktop.viewmodels.states import Failed, Full, Loading, PageState
from gm_engine.clock import Clock
from gm_engine.errors import GrayMatterError
from gm_engine.wiring import (
    Connection,
    Places,
    Plan,
    Server,
    Written,
    carry_out,
    client,
    plan_connect,
    plan_disconnect,
    snippet,
    survey,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change to one file in words, not made yet."""

    title: str
    button: str
    path: str
    diff: str
    note: str
    plan: Plan


class WiringSettings(QObject):
    """Clients in the order of the engine's table. Files are read and written beside the window."""

    changed = Signal()
    planned = Signal(object)  # PlannedChange

    def __init__(
        self,
        host: EngineHost,
        notices: Notices,
        *,
        clock: Clock,
        places: Callable[[], Places] = Places.here,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._notices, self._clock, self._places = host, notices, clock, places
        self.state: PageState = Loading()
        self.lines = LineList(self)
        self._found: dict[str, Connection] = {}
        self._waiting = 0
        host.store_opened.connect(self._on_store)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._waiting > 0

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks: the files are read again, as other programs write them, too."""
        if is_looked_at:
            self.reload()

    def reload(self) -> None:
        """Reads every client's configuration."""
        server, places = self._server(), self._places()
        self._run(tr("Looking for programs"), lambda: survey(places, server), self._on_found, self._on_failed)

    def can_connect(self, key: str) -> bool:
        """Whether there is something to write for this client."""
        return key in self._found and self._found[key].state in ("not_connected", "differs")

    def can_disconnect(self, key: str) -> bool:
        """Whether this client's configuration names this memory."""
        return key in self._found and self._found[key].state in ("connected", "differs")

    def plan_connect(self, key: str) -> None:
        """Works out what connecting would write; `planned` follows."""
        server, places = self._server(), self._places()
        self._plan(lambda: plan_connect(client(key), places, server), tr("Connect"))

    def plan_disconnect(self, key: str) -> None:
        """Works out what disconnecting would write; `planned` follows."""
        places = self._places()
        self._plan(lambda: plan_disconnect(client(key), places), tr("Disconnect"))

    def carry_out(self, change: PlannedChange) -> None:
        """Writes it, unless the file changed since it was shown."""
        self._run(change.title, lambda: carry_out(change.plan, clock=self._clock), self._on_written, self._on_refused)

    def configuration(self, key: str) -> str:
        """What a person can paste into the client's configuration by hand; "" without a client."""
        return snippet(client(key), self._server()) if key in self._found else ""

    def _server(self) -> Server:
        data_dir = self._host.data_dir
        is_own = data_dir is not None and data_dir != unnamed_data_dir()
        return Server.here(data_dir=data_dir if is_own else None)

    def _plan(self, make: Callable[[], Plan], button: str) -> None:
        self._run(tr("Reading a configuration"), make, lambda plan: self._on_planned(plan, button), self._on_refused)

    def _run(
        self,
        title: str,
        job: Callable[[], T],
        on_done: Callable[[T], None],
        on_failed: Callable[[GrayMatterError], None],
    ) -> None:
        self._waiting += 1

        def ended() -> None:
            self._waiting -= 1

        task = self._host.run_alone(title, lambda *_: job(), on_done, on_failed)
        task.ended.connect(ended)

    def _on_planned(self, plan: Plan, button: str) -> None:
        title = plan.client.title
        if plan.action == "nothing":
            self._notices.show(tr("{client} needs no change.", client=title))
            return
        note = tr("Nothing else in the file changes. A copy of it as it is now is kept beside it.")
        if plan.before is None:
            note = tr("The file is made anew.")
        heading = tr("Connect {client}", client=title)
        if plan.action == "remove":
            heading = tr("Disconnect {client}", client=title)
        self.planned.emit(PlannedChange(heading, button, str(plan.path), plan.diff, note, plan))

    def _on_written(self, written: Written) -> None:
        title = written.plan.client.title
        if written.plan.action == "remove":
            text = tr("{client} no longer uses this memory. Restart it to take effect.", client=title)
        else:
            text = tr("{client} uses this memory from its next start on.", client=title)
        self._notices.show(text, level="success")
        self.reload()

    def _on_refused(self, error: GrayMatterError) -> None:
        self._notices.show_failure(error)
        self.reload()

    def _on_found(self, found: tuple[Connection, ...]) -> None:
        self._found = {one.client.name: one for one in found}
        self.lines.set_lines([_line(one) for one in sorted(found, key=lambda one: not _is_here(one))])
        self.state = Full(len(found))
        self.changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self.state = Failed(error.message)
        self.changed.emit()

    def _on_store(self) -> None:
        if self._found:
            self.reload()


def _is_here(one: Connection) -> bool:
    return one.is_present or one.state in ("connected", "differs")


def _line(one: Connection) -> Line:
    marks = {
        "connected": (tr("Connected"), "success"),
        "differs": (tr("Connected with another command"), "warning"),
        "not_connected": (tr("Not connected") if one.is_present else tr("Not found here"), "text_muted"),
        "unreadable": (tr("Not readable"), "danger"),
    }
    mark, tone = marks[one.state]
    return Line(one.client.name, one.client.title, one.problem or _short(one.path), mark, tone)


def _short(path: Path) -> str:
    home = str(Path.home())
    text = str(path)
    return f"~{text[len(home) :]}" if text.startswith(home) else text
