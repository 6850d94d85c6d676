"""A list of the open store in the settings, read while somebody looks. Without widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.models.line_list import LineList
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest, Ticket
from gm_desktop.viewmodels.states import Failed, Loading, PageState
from gm_engine.errors import GrayMatterError
from gm_engine.records import Changes

if TYPE_CHECKING:
    from gm_engine import Memory

T = TypeVar("T")


def offer_again(notices: Notices, again: Callable[[], None], error: GrayMatterError) -> None:
    """Says why something was not written, and offers to show what was typed again."""
    notices.show(sentence_for(error), level="error", action=(tr("Edit it again"), again))


class StoreList(QObject):
    """Reads with `job` and hands the answer to `on_read`, again whenever something of `kind` changed."""

    changed = Signal()

    def __init__(
        self,
        host: EngineHost,
        *,
        kind: str,
        job: Callable[[Memory], T],
        on_read: Callable[[T], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._host, self._kind = host, kind
        self._ask: Callable[[], Ticket] = lambda: host.read(job, on_read, self._on_failed)
        self.state: PageState = Loading()
        self.lines = LineList(self)
        self._is_looked_at = False
        self._is_stale = True
        self._reading = Latest()
        host.store_opened.connect(self._on_changed)
        host.store_closed.connect(self._on_closed)
        host.changed.connect(self._on_changed)

    @property
    def can_write(self) -> bool:
        """Whether the list can be changed now."""
        return self._host.is_open and not self._host.read_only

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._reading.is_awaited

    def look(self, is_looked_at: bool) -> None:
        """Somebody looks at the list, or no longer does."""
        self._is_looked_at = is_looked_at
        if is_looked_at and self._is_stale:
            self.reload()

    def reload(self) -> None:
        """Reads the list again."""
        if self._host.is_open:
            self._is_stale = False
            self._reading.take(self._ask())

    def _on_failed(self, error: GrayMatterError) -> None:
        self._is_stale = True
        self.state = Failed(sentence_for(error))
        self.changed.emit()

    def _on_changed(self, changes: Changes | None = None) -> None:
        if changes is None or self._kind in changes.kinds:
            self._is_stale = True
            if self._is_looked_at:
                self.reload()

    def _on_closed(self) -> None:
        self._reading.cancel()
        self._is_stale, self.state = True, Loading()
        self.lines.set_lines(())
        self.changed.emit()
