"""One answer ready to be drawn: recalled as a preview, its receipts put into words. Runs in the read lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unicodedata import normalize

from gm_desktop.formatting import number
from gm_desktop.i18n import decimal, tr, tr_count
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.hit_list import Hit
from gm_desktop.plain_text import excerpt
from gm_desktop.viewmodels.arithmetic import arithmetic
from gm_desktop.viewmodels.hits import matched_spans, plain_hit, with_move
from gm_desktop.viewmodels.live_ranking import LiveRanking
from gm_desktop.viewmodels.question import Question, RankSetting, saved_setting
from gm_desktop.viewmodels.why import WhyDetails, signal_title, why_details
from gm_engine.records import SHARED_AGENT_ID, Coverage, Fact, RecallExplainResult, Receipt
from gm_engine.terms import text_terms

if TYPE_CHECKING:
    from gm_engine import Memory

RRF_K = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, why each of them, what could not be looked at, a weak-match notice; `live` re-ranks it without the store.

    `saved` is the store's own setting at the time of the answer.
    """

    question: Question
    hits: tuple[Hit, ...]
    why: tuple[WhyDetails, ...]
    coverage: str
    is_partial: bool
    feedback: str
    eligible: int
    saved: RankSetting
    live: LiveRanking | None = None


def answer_question(question: Question, now_ns: int, memory: Memory, *, with_live: bool = False) -> Answer:
    """Recalls, previewing, and puts the receipts into words. `with_live` also reads what the lab needs.

    Raises what a recall raises, `AsOfUnsupported` among them.
    """
    settings = memory.settings
    saved = saved_setting(settings)
    question = replace(question, trial=question.trial.settled(saved))
    if question.as_of_ns is not None:
        now_ns = question.as_of_ns
    if question.scope == "all":
        return _answer_both(question, now_ns, memory, saved=saved, language=settings.language)
    result = memory.recall_explain(question.namespace, question.query, **question.options(saved))
    older = _older(memory, result.receipts)
    best = max((receipt.final_score for receipt in result.receipts), default=0.0)
    hits, why = [], []
    for position, receipt in enumerate(result.receipts, 1):
        hits.append(_hit(receipt, position=position, best=best, now_ns=now_ns, language=settings.language))
        why.append(_why(receipt, position, older, settings.language))
    live = None
    if with_live:
        live = _live(question, now_ns, memory, saved=saved, result=result, language=settings.language)
        live.standings(question.trial.over(saved))
        hits = [with_move(hit, live.place_before(hit.id)) for hit in hits]
    return Answer(
        question=question,
        hits=tuple(hits),
        why=tuple(why),
        coverage=coverage_sentence(result.coverage),
        is_partial=_is_partial(result.coverage),
        feedback=result.feedback,
        eligible=result.coverage.eligible,
        saved=saved,
        live=live,
    )


def _live(
    question: Question,
    now_ns: int,
    memory: Memory,
    *,
    saved: RankSetting,
    result: RecallExplainResult,
    language: str,
) -> LiveRanking:
    """The cached ranks of the question, and the places under the saved setting."""
    namespace, query = question.namespace, question.query
    table = memory.rank_table(namespace, query, **question.options(saved, with_numbers=False))
    before: tuple[Fact, ...] | None = None
    if question.trial.min_confidence or "coverage_gate" in question.trial.numbers:  # other ranks: not in this table
        plain = replace(question, trial=replace(question.trial.without_numbers(), min_confidence=""))
        before = memory.recall(namespace, query, **plain.options(saved)).facts
    words = {word for receipt in result.receipts for word in receipt.matched_terms}
    keys = frozenset(term.term for word in [query, *sorted(words)] for term in text_terms(word, language))
    return LiveRanking(question, table, before, keys=keys, language=language, now_ns=now_ns)


def _answer_both(question: Question, now_ns: int, memory: Memory, *, saved: RankSetting, language: str) -> Answer:
    """The agent's own facts and the shared ones, merged by their places; each hit is explained where it comes from."""
    options = question.options(saved)
    merged = memory.recall_all(question.agent_id, question.query, **options)
    sides = {
        agent_id: memory.recall_explain(agent_id, question.query, **options).receipts
        for agent_id in dict.fromkeys((question.agent_id, SHARED_AGENT_ID))
    }
    placed = {
        receipt.fact.id: (place, receipt)
        for agent_id, receipts in sides.items()
        for place, receipt in enumerate(receipts, 1)
    }
    older = _older(memory, [receipt for receipts in sides.values() for receipt in receipts])
    found = [(fact, *placed[fact.id]) for fact in merged.facts if fact.id in placed]
    scores = [_merged_score(fact, sides) for fact, _, _ in found]
    best = max(scores, default=0.0)
    hits, why = [], []
    for position, ((fact, place, receipt), score) in enumerate(zip(found, scores, strict=True), 1):
        own = _hit(receipt, position=position, best=receipt.final_score, now_ns=now_ns, language=language)
        scale = score / best if best else 0.0
        hits.append(replace(own, shares=tuple(share * scale for share in own.shares), score=decimal(f"{score:.5f}")))
        note = tr(
            "Place {place} of {agent}'s own answer, with this score. The merged list adds 1 ÷ (60 + place) of each"
            " list that holds the text.",
            place=place,
            agent=agent_title(fact.agent_id),
        )
        why.append(replace(_why(receipt, position, older, language), merge_note=note))
    return Answer(
        question=question,
        hits=tuple(hits),
        why=tuple(why),
        coverage=coverage_sentence(merged.coverage),
        is_partial=_is_partial(merged.coverage),
        feedback=merged.feedback,
        eligible=merged.coverage.eligible,
        saved=saved,
    )


def _merged_score(fact: Fact, sides: Mapping[str, Sequence[Receipt]]) -> float:
    """Reciprocal ranks of the text in both lists, summed as the engine does."""
    wanted, places = normalize("NFC", fact.text), []
    for receipts in sides.values():
        texts = [normalize("NFC", receipt.fact.text) for receipt in receipts]
        if wanted in texts:
            places.append(texts.index(wanted) + 1)
    return sum(1.0 / (RRF_K + place) for place in places)


def _older(memory: Memory, receipts: Sequence[Receipt]) -> dict[str, Fact]:
    ids = list(dict.fromkeys(each for receipt in receipts for each in receipt.supersedes))
    return {fact.id: fact for fact in memory.facts(ids)}


def _why(receipt: Receipt, position: int, older: Mapping[str, Fact], language: str) -> WhyDetails:
    part = excerpt(receipt.fact.text)
    replaced = [older[each] for each in receipt.supersedes if each in older]
    return why_details(
        receipt,
        position=position,
        part=part,
        spans=matched_spans(part.text, receipt.matched_terms, language),
        replaced=replaced,
    )


def _hit(receipt: Receipt, *, position: int, best: float, now_ns: int, language: str) -> Hit:
    summed = arithmetic(receipt)
    scale = receipt.final_score / best if best else 0.0
    named = [
        tr("{signal} rank {rank}", signal=signal_title(line.signal), rank=line.rank)
        for line in summed.lines
        if line.rank
    ]
    hit = plain_hit(receipt.fact, position=position, now_ns=now_ns)
    return replace(
        hit,
        spans=matched_spans(hit.text, receipt.matched_terms, language),
        shares=tuple(line.share * scale for line in summed.lines),
        score=decimal(f"{receipt.final_score:.5f}"),
        spoken=tr("Hit {position}: {fact}. {reasons}", position=position, fact=hit.text, reasons=", ".join(named)),
    )


def _is_partial(coverage: Coverage) -> bool:
    return coverage.with_vector < coverage.eligible or coverage.vector_path == "none"


def coverage_sentence(coverage: Coverage) -> str:
    """What the answer could look at, in words."""
    facts = tr_count("{count} fact", "{count} facts", coverage.eligible)
    if coverage.eligible == 0:
        return tr("There was nothing to search.")
    if coverage.vector_path == "none":
        return tr("{facts} searched by words and date only. {reason}", facts=facts, reason=_reason(coverage)).strip()
    path = tr(_PATHS[coverage.vector_path])
    missing = coverage.eligible - coverage.with_vector
    if missing <= 0:
        return tr("{facts} searched; meaning compared by {path}.", facts=facts, path=path)
    if missing * 100 < coverage.eligible:
        return tr(
            "{facts} searched; under 1 % of facts have no vector yet. Meaning compared by {path}.",
            facts=facts,
            path=path,
        )
    return tr(
        "{facts} searched; {percent} % of facts have no vector yet. Meaning compared by {path}.",
        facts=facts,
        percent=number(min(99, round(100 * missing / coverage.eligible))),
        path=path,
    )


def _reason(coverage: Coverage) -> str:
    """The engine's reason as a sentence."""
    reason = coverage.reason.strip()
    if not reason:
        return ""
    return reason[0].upper() + reason[1:] + ("" if reason.endswith((".", "!", "?")) else ".")


_PATHS = {"exact": "an exact scan", "chroma": "the vector index"}
