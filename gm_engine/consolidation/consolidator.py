"""Consolidation of one open store: cycles, and the configured language model."""

from __future__ import annotations

from collections.abc import Callable

from gm_engine.config import Config, check_kinds
from gm_engine.consolidation.cycle import Cycle
from gm_engine.consolidation.plan import Plan, Summarise
from gm_engine.consolidation.steps import Steps, run
from gm_engine.errors import LanguageModelFailed
from gm_engine.hooks import tell
from gm_engine.language.model import LanguageModel, extract, summarise
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.proposals import CycleReport, ProposalKind, SummaryDraft
from gm_engine.records import Origin
from gm_engine.store import consolidation as rows
from gm_engine.store.database import Ledger
from gm_engine.store.facts import check_agent_id
from gm_engine.vectors.table import VectorTable


class Consolidator:
    """See the verbs of `Memory`. Holds nothing open."""

    def __init__(
        self, ledger: Ledger, *, config: Config, origin: Origin, vectors: Callable[[], VectorTable | None]
    ) -> None:
        self._ledger = ledger
        self._config = config
        self._origin = origin
        self._vectors = vectors
        self._stop = CancelToken()
        self._model: LanguageModel | None = None

    def consolidate(
        self,
        agent_id: str,
        *,
        dry_run: bool,
        apply: tuple[ProposalKind, ...],
        prune: bool,
        group_id: str | None,
        progress: Progress,
        cancel: CancelToken | None,
    ) -> CycleReport:
        """See `Memory.consolidate`."""
        plan = Plan(
            agent_id=check_agent_id(agent_id),
            threshold=self._config.consolidate_threshold,
            half_life_h=self._config.decay_half_life_h,
            dry_run=dry_run,
            apply=check_kinds(apply),
            prune=prune,
            summarise=self._summarise(cancel),
            group_id=group_id,
        )
        return run(self._cycle(plan), progress=progress, cancel=cancel)

    def maybe_consolidate(self, agent_id: str) -> CycleReport | None:
        """See `Memory.maybe_consolidate`."""
        steps = self.begin(check_agent_id(agent_id))
        return None if steps is None else run(steps, progress=no_progress, cancel=self._stop)

    def close(self) -> None:
        """Gives up waiting for a language model. Safe to call twice."""
        self._stop.cancel()

    def extract(self, text: str, *, cancel: CancelToken | None) -> tuple[str, ...]:
        """See `Memory.extract_facts`."""
        model = self.language_model()
        if model is None:
            raise LanguageModelFailed("No language model is configured.", reason="not_configured")
        return extract(model, text, cancel=cancel)

    def language_model(self) -> LanguageModel | None:
        """The configured model, made when it is first needed; None where there is none."""
        if self._model is None and self._config.language_model is not None:
            from gm_engine.language.http import HttpLanguageModel

            self._model = HttpLanguageModel(self._config.language_model)
        return self._model

    def begin(self, agent_id: str) -> Steps[CycleReport] | None:
        """An automatic cycle's work, None where the namespace is too small."""
        threshold = self._config.consolidate_threshold
        with self._ledger.read() as connection:
            if rows.live_count(connection, agent_id, at_most=threshold) < threshold:
                return None
        return self._cycle(
            Plan(
                agent_id=agent_id,
                threshold=threshold,
                half_life_h=self._config.decay_half_life_h,
                automatic=True,
                apply=self._config.auto_apply,
                prune=self._config.auto_prune,
                summarise=self._summarise(self._stop),
            )
        )

    def _cycle(self, plan: Plan) -> Steps[CycleReport]:
        return Cycle(self._ledger, plan, origin=self._origin, vectors=self._vectors()).steps()

    def _summarise(self, cancel: CancelToken | None) -> Summarise | None:
        model = self.language_model()
        if model is None:
            return None

        def ask(facts: dict[str, str]) -> SummaryDraft:
            try:
                return summarise(model, facts, cancel=cancel)
            except LanguageModelFailed as error:
                tell(self._config.on_consolidate_error, error)
                raise

        return ask
