"""The view-models of the Search page, together."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import SignalInstance

from gm_desktop.viewmodels.agent_eye import AgentEyeViewModel
from gm_desktop.viewmodels.batch import BatchViewModel
from gm_desktop.viewmodels.lab import LabViewModel
from gm_desktop.viewmodels.search import SearchViewModel
from gm_desktop.viewmodels.why_not import WhyNotViewModel


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The view-models of the page; `app.py` makes them."""

    search: SearchViewModel
    batch: BatchViewModel
    eye: AgentEyeViewModel
    why_not: WhyNotViewModel
    lab: LabViewModel

    def signals(self) -> tuple[SignalInstance, ...]:
        """What may change which actions are possible."""
        search = self.search
        asked = (search.selection_changed, search.state_changed, search.question_changed)
        looked = (self.batch.selection_changed, self.eye.changed, self.lab.kept_changed, self.lab.report_changed)
        return (*asked, *looked)
