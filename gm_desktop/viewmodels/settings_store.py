"""How the open store ranks by default, with undo. Without widgets; trying numbers out is the ranking lab's work."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from gm_desktop.engine_host import EngineHost
from gm_desktop.i18n import tr
from gm_desktop.notices import Notices, sentence_for
from gm_desktop.tickets import Latest
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels.journalled import journalled
from gm_desktop.viewmodels.states import Failed, Full, Loading, PageState
from gm_engine.errors import GrayMatterError
from gm_engine.records import BALANCED_WEIGHTS, Changes, SignalWeights, StoreSettings

PROFILES = {"default": SignalWeights(), "balanced": BALANCED_WEIGHTS}


class RankingSettings(QObject):
    """The store's own numbers."""

    changed = Signal()

    def __init__(self, host: EngineHost, undo: UndoController, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._host, self._undo, self._notices = host, undo, notices
        self.state: PageState = Loading()
        self.settings: StoreSettings | None = None
        self._reading = Latest()
        host.store_opened.connect(self.reload)
        host.store_closed.connect(self._on_closed)
        host.changed.connect(self._on_changed)

    @property
    def can_write(self) -> bool:
        """Whether the numbers can be changed now."""
        return self._host.is_open and not self._host.read_only and self.settings is not None

    @property
    def problem(self) -> str:
        """Why nothing can be changed here; empty when it can."""
        if isinstance(self.state, Failed):
            return self.state.message
        if not self._host.is_open:
            return tr("No store is open.")
        return tr("This store is open for reading only.") if self._host.read_only else ""

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._reading.is_awaited

    @property
    def profile(self) -> str:
        """The name of the weights: `default`, `balanced`, or empty for others."""
        weights = None if self.settings is None else self.settings.signal_weights
        return next((name for name, each in PROFILES.items() if each == weights), "")

    def reload(self) -> None:
        """Reads the numbers again."""
        self._reading.take(self._host.read(lambda memory: memory.settings, self._on_read, self._on_failed))

    def use_profile(self, name: str) -> None:
        """Takes the weights of a profile that comes with the program."""
        if self.settings is not None:
            self._save(replace(self.settings, signal_weights=PROFILES[name]))

    def set_coverage_gate(self, value: float) -> None:
        """The share of texts with a vector below which vectors do not take part."""
        if self.settings is not None:
            self._save(replace(self.settings, coverage_gate=value))

    def set_min_relevance(self, value: float) -> None:
        """The share of the best score below which a hit is left out."""
        if self.settings is not None:
            self._save(replace(self.settings, min_relevance=value))

    def set_confidence_weight(self, value: float) -> None:
        """How much the label counts in a score."""
        if self.settings is not None:
            self._save(replace(self.settings, confidence_weight=value))

    def set_exact(self, is_exact: bool) -> None:
        """Whether vectors are always compared one by one, never through the index."""
        if self.settings is not None:
            self._save(replace(self.settings, vector_path="exact" if is_exact else "auto"))

    def _save(self, wanted: StoreSettings) -> None:
        if not self.can_write or wanted == self.settings:
            return
        self.settings = wanted  # what the person sees is what they chose; a refusal reads it back

        def done(seq: int | None) -> None:
            if seq is not None:
                self._undo.did(tr("Changed how the store ranks"), seq)

        def failed(error: GrayMatterError) -> None:
            self._notices.show_failure(error)
            self.reload()

        self._host.write(partial(journalled, lambda memory: memory.set_settings(wanted)), done, failed)

    def _on_read(self, settings: StoreSettings) -> None:
        self.settings = settings
        self.state = Full(1)
        self.changed.emit()

    def _on_failed(self, error: GrayMatterError) -> None:
        self.state = Failed(sentence_for(error))
        self.changed.emit()

    def _on_changed(self, changes: Changes) -> None:
        if "setting" in changes.kinds:
            self.reload()

    def _on_closed(self) -> None:
        self._reading.cancel()
        self.settings = None
        self.state = Loading()
        self.changed.emit()
