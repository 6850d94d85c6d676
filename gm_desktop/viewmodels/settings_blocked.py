"""Values that must never be stored again: the list, adding, changing, allowing again. Without widgets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gm_desktop.engine_host import EngineHost
from gm_desktop.formatting import local_date, number
from gm_desktop.i18n import tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.line_list import Line
from gm_desktop.notices import Notices
from gm_desktop.plain_text import row_text
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.journalled import journalled
from gm_desktop.viewmodels.settings_list import StoreList, offer_again
from gm_desktop.viewmodels.states import Empty, Full
from gm_engine.records import AgentSummary, Block, BlockedAttempt

if TYPE_CHECKING:
    from gm_engine import Memory

SHOWN = 2_000
_CLIENTS = 3
_Read = tuple[tuple[Block, ...], tuple[BlockedAttempt, ...], tuple[AgentSummary, ...]]


class BlockedSettings(StoreList):
    """The blocked values of the open store, newest first."""

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(host, kind="blocked", job=_read, on_read=self._on_read, parent=parent)
        self._undo, self._notices = undo, notices
        self.agents: tuple[tuple[str, str], ...] = ()
        self._blocks: dict[str, Block] = {}

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the list, or no longer does."""
        self._is_stale = True  # refused attempts are counted without an entry in the journal
        super().look(is_looked_at)

    def block(self, key: str) -> Block | None:
        """The value behind a line."""
        return self._blocks.get(key)

    def add(self, text: str, agent_id: str | None, again: Callable[[], None]) -> None:
        """Blocks a value for one agent, or for all; `again` shows what was typed once more where that fails."""
        said = tr("Blocked {value}", value=row_text(text, 60))
        self._write(lambda memory: memory.blocked.add(text, agent_id), "block", said, again)

    def change(self, key: str, text: str, agent_id: str | None, again: Callable[[], None]) -> None:
        """Blocks another text, or for another agent, in place of a value; `again` as in `add`."""
        old = self._blocks.get(key)
        if old is None:
            return
        said = tr("Blocked {value}", value=row_text(text, 60))

        def job(memory: Memory) -> Block:
            return memory.blocked.change(old.key, text, agent_id=old.agent_id, to_agent=agent_id)

        self._write(job, "block", said, again)

    def remove(self, key: str) -> None:
        """Allows a value again."""
        old = self._blocks.get(key)
        if old is not None:
            said = tr("Allowed {value} again", value=_title(old, 60))
            self._write(lambda memory: memory.blocked.remove(old.key, old.agent_id), "unblock", said)

    def _write(
        self, job: Callable[[Memory], Block], verb: str, said: str, again: Callable[[], None] | None = None
    ) -> None:
        if not self.can_write:
            return

        def done(seq: int | None) -> None:
            if seq is None:
                self._notices.show(tr("Nothing to change: it already is that way."))
            else:
                self._undo.did(said, seq)

        failed = None if again is None else partial(offer_again, self._notices, again)
        self._host.write(partial(_journalled_as, job, verb), done, failed)

    def _on_read(self, found: _Read) -> None:
        blocks, attempts, agents = found
        self.agents = tuple((each.agent_id, agent_title(each.agent_id)) for each in agents)
        clients: dict[str, list[BlockedAttempt]] = {}
        for attempt in attempts:
            clients.setdefault(attempt.key, []).append(attempt)
        self._blocks = {_key(each): each for each in blocks[:SHOWN]}
        self.lines.set_lines([_line(each, clients.get(each.key, [])) for each in self._blocks.values()])
        hint = tr("Retire a fact with “never store this again”, or add a value here: every write of it is refused.")
        self.state = Full(len(blocks)) if blocks else Empty("none", tr("No value is blocked"), hint)
        self.changed.emit()

    def _on_closed(self) -> None:
        self._blocks = {}
        super()._on_closed()


def _read(memory: Memory) -> _Read:
    return memory.blocked.list(), memory.blocked.attempts(), memory.agents()


def _journalled_as(job: Callable[[Memory], Block], verb: str, memory: Memory) -> int | None:
    return journalled(job, memory, verb)


def _key(block: Block) -> str:
    return f"{block.key} {block.agent_id or ''}"


def _title(block: Block, limit: int = 200) -> str:
    if block.text is None:
        return tr("Known by its hash only: {hash}…", hash=block.key[:12])
    return row_text(block.text, limit)


def _line(block: Block, attempts: list[BlockedAttempt]) -> Line:
    whose = tr("every agent") if block.agent_id is None else agent_title(block.agent_id)
    parts = [whose, tr("since {day}", day=local_date(block.created_ns))]
    parts += [
        tr("{client}: {count}", client=row_text(each.client or tr("unknown program"), 40), count=number(each.count))
        for each in sorted(attempts, key=lambda each: -each.count)[:_CLIENTS]
    ]
    refused = tr_count("{count} attempt", "{count} attempts", block.attempts) if block.attempts else ""
    return Line(_key(block), _title(block), " · ".join(parts), refused, "warning")
