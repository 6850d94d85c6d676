"""Several queries at once: each exactly as alone, over one state of the store, and their merged view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gm_engine.errors import GrayMatterError
from gm_engine.ranking.recall import Ranker, RecallRequest
from gm_engine.records import Coverage, Fact, Retrieval


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The answer to one query of a batch: its facts, or the error that befell it alone.

    `retrieval` is the one policy of the whole batch; `coverage` is None for a failed query.
    """

    query: str
    facts: tuple[Fact, ...]
    feedback: str = ""
    error: GrayMatterError | None = None
    retrieval: Retrieval | None = None
    coverage: Coverage | None = None
    hints: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The facts' texts, followed by graph hints where they are on."""
        return tuple(fact.text for fact in self.facts) + self.hints


def batch_recall(
    ranker: Ranker, requests: Sequence[RecallRequest], *, watch: Callable[[int], None] | None = None
) -> tuple[BatchResult, ...]:
    """One result per request, in order; `watch` as for `Ranker.recall_each`."""
    results = []
    for request, answer in zip(requests, ranker.recall_each(requests, watch=watch), strict=True):
        if isinstance(answer, GrayMatterError):
            results.append(BatchResult(request.query, (), error=answer, retrieval=request.retrieval))
        else:
            results.append(
                BatchResult(
                    request.query,
                    answer.facts(),
                    answer.feedback,
                    retrieval=answer.retrieval,
                    coverage=answer.coverage,
                    hints=answer.hints,
                )
            )
    return tuple(results)


def merged_facts(results: Sequence[BatchResult]) -> tuple[Fact, ...]:
    """The distinct facts of a batch: by best place in any answer, then by how many hold it, then first appearance.

    Facts with the same text are one, as they are within an answer.
    """
    facts: dict[str, Fact] = {}
    best: dict[str, int] = {}
    count: dict[str, int] = {}
    for result in results:
        for place, fact in enumerate(result.facts, 1):
            facts.setdefault(fact.text, fact)
            best[fact.text] = min(place, best.get(fact.text, place))
            count[fact.text] = count.get(fact.text, 0) + 1
    return tuple(facts[key] for key in sorted(facts, key=lambda key: (best[key], -count[key])))
