"""The models of the pages that look at the whole store: what happens in it, what it holds, and what it held."""

from __future__ import annotations

from PySide6.QtCore import QObject, SignalInstance

from gm_desktop.engine_host import EngineHost
from gm_desktop.notices import Notices
from gm_desktop.past_desk import PastDesk
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.activity import ActivityViewModel
from gm_desktop.viewmodels.clients import ClientsViewModel
from gm_desktop.viewmodels.inbox import InboxViewModel
from gm_desktop.viewmodels.inbox_subjects import review_writes
from gm_desktop.viewmodels.overview import OverviewViewModel
from gm_engine.clock import Clock


class Glance:
    """Activity, Overview, Review and Past."""

    def __init__(
        self,
        host: EngineHost,
        undo: UndoController,
        notices: Notices,
        *,
        clock: Clock,
        parent: QObject,
    ) -> None:
        self.activity = ActivityViewModel(host, undo, notices, clock, parent)
        self.overview = OverviewViewModel(host, notices, clock, parent)
        self.clients = ClientsViewModel(host, undo, clock, parent)
        self.review = InboxViewModel(host, undo, notices, clock, parent, subject=review_writes())
        self.past = PastDesk(host, clock, parent)

    def signals(self) -> tuple[SignalInstance, ...]:
        """What changes what can be done."""
        overview = (self.overview.state_changed, self.overview.health.changed)
        review = (self.review.state_changed, self.review.card_changed, self.review.draft_changed, self.clients.changed)
        activity = (self.activity.selection_changed, self.activity.details.changed)
        return (*activity, *overview, *review, *self.past.signals())
