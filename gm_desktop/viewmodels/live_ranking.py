"""The ranking lab's live answer: cached ranks re-ranked for other numbers, on the GUI thread, in well under a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gm_desktop.i18n import decimal, tr
from gm_desktop.models.hit_list import Hit
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.hits import plain_hit, with_move
from gm_desktop.viewmodels.question import Question, RankSetting
from gm_engine.records import Fact
from gm_engine.terms import match_spans

if TYPE_CHECKING:
    from gm_engine import RankTable, Standing


@dataclass(frozen=True, slots=True)
class Left:
    """A fact of the saved answer that is not among the hits any more, and its place there."""

    id: str
    text: str
    place: int


class LiveRanking:
    """The ranks of one question. It stays valid while words, namespace, moment, filter, gate and length stay the same.

    `saved` are the facts of the answer under the saved setting where that needs other ranks (another filter or gate);
    None: the table knows their places itself.
    """

    def __init__(
        self,
        question: Question,
        table: RankTable,
        saved: Sequence[Fact] | None,
        *,
        keys: frozenset[str],
        language: str,
        now_ns: int,
    ) -> None:
        self.question, self.table = question, table
        self._keys, self._language, self._now_ns = keys, language, now_ns
        self._saved = [each.fact for each in table.rerank()] if saved is None else saved
        self._is_same_ranks = saved is None
        self._places = {fact.id: place for place, fact in enumerate(self._saved, 1)}
        self._rows: dict[str, Hit] = {}

    def answers(self, question: Question) -> bool:
        """Whether this question differs in nothing but weights, confidence weight and floor."""
        return _rank_key(question) == _rank_key(self.question)

    def standings(self, setting: RankSetting) -> tuple[Standing, ...]:
        """The answer under a setting: exactly what a recall with it would return."""
        numbers = setting.numbers
        found = self.table.rerank(setting.weights, numbers["confidence_weight"], numbers["min_relevance"])
        if self._is_same_ranks:  # the table knows places beyond the end of the answer
            self._places.update((each.fact.id, each.place_before) for each in found if each.place_before is not None)
        return found

    def place_before(self, fact_id: str) -> int | None:
        """The place under the saved setting, as far down as it is known; None beyond."""
        return self._places.get(fact_id)

    def hits(self, setting: RankSetting) -> tuple[Hit, ...]:
        """The same as rows, each with how far it moved."""
        standings = self.standings(setting)
        best = max((each.final_score for each in standings), default=0.0)
        return tuple(self._hit(each, best) for each in standings)

    def left(self, hits: Sequence[Hit]) -> tuple[Left, ...]:
        """The facts of the saved answer that are not among `hits`."""
        shown = {hit.id for hit in hits}
        return tuple(
            Left(fact.id, row_text(fact.text, 200), place)
            for place, fact in enumerate(self._saved, 1)
            if fact.id not in shown
        )

    def _hit(self, standing: Standing, best: float) -> Hit:
        known = self._rows.get(standing.fact.id)
        if known is None:
            known = self._rows[standing.fact.id] = self._row(standing.fact)
        part = standing.factor / best if best else 0.0
        hit = replace(
            known,
            position=standing.place,
            shares=(standing.vector * part, standing.keyword * part, standing.recency * part),
            score=decimal(f"{standing.final_score:.5f}"),
            spoken=tr("Hit {position}: {fact}", position=standing.place, fact=known.text),
        )
        return with_move(hit, self.place_before(hit.id))

    def _row(self, fact: Fact) -> Hit:
        row = plain_hit(fact, position=0, now_ns=self._now_ns)
        return replace(row, spans=match_spans(row.text, self._keys, self._language)) if self._keys else row


def _rank_key(question: Question) -> tuple[object, ...]:
    trial = question.trial
    return (
        question.namespace,
        question.scope,
        question.query,
        question.as_of_ns,
        trial.min_confidence,
        trial.top_k,
        trial.numbers.get("coverage_gate"),
    )
