"""The facts of a store that answer a search, over all served namespaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gm_engine.errors import NotFound
from gm_engine.ranking.fusion import RRF_K
from gm_engine.recall_protocol.found_records import Found
from gm_engine.recall_protocol.lexical_span import QueryWords, count_words, cut
from gm_engine.recall_protocol.locators import RecordName
from gm_engine.recall_protocol.payloads import MatchSignal
from gm_engine.recall_protocol.served_store import Check, Reader, ServedStore
from gm_engine.records import Confidence, Fact, FactQuery, FactScope, JsonValue, Receipt, SignalWeights
from gm_engine.terms import text_key

_TITLE = 120
_MAX_ID = 64


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """What is asked of the facts: where, how many, and within which limits."""

    query: str
    words: QueryWords
    namespaces: tuple[str, ...]
    scope: FactScope | None
    limit: int
    pinned_seq: int | None


@dataclass(slots=True)
class VectorCoverage:
    """How many facts were searched, how many have a vector, and for how many of them the vectors did not answer."""

    eligible: int = 0
    with_vector: int = 0
    without_answer: int = 0


@dataclass(frozen=True, slots=True)
class FactAnswer:
    """Facts in order; `total` is how many there were to list, for a listing."""

    found: list[Found]
    coverage: VectorCoverage
    total: int


def search_facts(served: ServedStore, reader: Reader, question: FactQuestion, *, check: Check) -> FactAnswer:
    """The best facts of the served namespaces. A fact that only its age speaks for is no hit."""
    settings, coverage = served.settings, VectorCoverage()
    answers: list[list[Receipt]] = []
    for agent_id in question.namespaces:
        check()
        answer = reader.recall_explain(
            agent_id,
            question.query,
            top_k=question.limit,
            preview=True,
            min_confidence=settings.min_confidence,
            confidence_weight=settings.confidence_weight,
            scope=question.scope,
        )
        coverage.eligible += answer.coverage.eligible
        coverage.with_vector += answer.coverage.with_vector
        if answer.coverage.vector_path == "none":
            coverage.without_answer += answer.coverage.eligible
        answers.append([each for each in answer.receipts if each.ranks.vector_rank or each.ranks.keyword_rank])
    receipts = answers[0] if len(answers) == 1 else _merged(answers, served.store_settings.signal_weights)
    exact = _exact(served, reader, question)
    found = [_found(each.fact, question, each) for each in receipts if exact is None or each.fact.id != exact.id]
    if exact is not None:
        found.insert(0, _found(exact, question, None))
    return FactAnswer(found[: question.limit], coverage, len(found))


def list_facts(served: ServedStore, reader: Reader, question: FactQuestion, *, check: Check) -> FactAnswer:
    """The newest facts: the answer to a query that asks nothing."""
    ids: list[tuple[str, list[str]]] = []
    for agent_id in question.namespaces:
        check()
        ids.append((agent_id, _ids(reader, agent_id, question.scope, served.settings.min_confidence)))
    facts = reader.facts([fact_id for _, several in ids for fact_id in several[: question.limit]])
    facts.sort(key=lambda fact: (-fact.created_ns, fact.id))
    total = sum(len(several) for _, several in ids)
    found = [_found(fact, question, None) for fact in facts[: question.limit]]
    return FactAnswer(found, VectorCoverage(total, total), total)


def _ids(reader: Reader, agent_id: str, scope: FactScope | None, min_confidence: str | None) -> list[str]:
    least = 0 if min_confidence is None else Confidence(min_confidence).level
    within = scope or FactScope()
    query = FactQuery(
        agent_id=agent_id,
        kind="content",
        confidence=frozenset(each for each in Confidence if each.level >= least) if least else frozenset(),
        created_from_ns=within.created_from_ns,
        created_until_ns=within.created_until_ns,
    )
    return [fact_id for fact_id in reader.fact_ids(query) if within.ids is None or fact_id in within.ids]


def _exact(served: ServedStore, reader: Reader, question: FactQuestion) -> Fact | None:
    """The live fact whose id is the whole query."""
    wanted = question.query.strip()
    if not wanted or len(wanted) > _MAX_ID or any(char.isspace() for char in wanted):
        return None
    try:
        fact = reader.get(wanted)
    except NotFound:
        return None
    scope, least = question.scope or FactScope(), served.settings.min_confidence
    is_in = (
        fact.agent_id in question.namespaces
        and not fact.is_superseded
        and fact.kind != "alias"
        and (least is None or fact.effective_confidence.level >= Confidence(least).level)
        and (scope.created_from_ns is None or fact.created_ns >= scope.created_from_ns)
        and (scope.created_until_ns is None or fact.created_ns < scope.created_until_ns)
        and (scope.ids is None or fact.id in scope.ids)
    )
    return fact if is_in else None


def _merged(answers: Sequence[Sequence[Receipt]], weights: SignalWeights) -> list[Receipt]:
    """Answers of several namespaces as one, ranked again by each signal over all of them; equal texts count once.

    Similarity and time mean the same everywhere, and so, nearly, does the score of the words; the places of two
    namespaces do not.
    """
    receipts = [receipt for answer in answers for receipt in answer]
    scores: dict[str, float] = {receipt.fact.id: 0.0 for receipt in receipts}
    signals: tuple[tuple[float, Callable[[Receipt], float | None]], ...] = (
        (weights.vector, lambda receipt: receipt.similarity if receipt.ranks.vector_rank else None),
        (weights.keyword, lambda receipt: receipt.keyword_score if receipt.ranks.keyword_rank else None),
        (weights.recency, lambda receipt: receipt.fact.created_ns),
    )
    for weight, value in signals:
        ranked = [(found, receipt.fact.id) for receipt in receipts if (found := value(receipt)) is not None]
        for place, (_, fact_id) in enumerate(sorted(ranked, key=lambda each: (-each[0], each[1])), 1):
            scores[fact_id] += weight / (RRF_K + place)
    receipts.sort(key=lambda receipt: (-scores[receipt.fact.id] * _factor(receipt), receipt.fact.id))
    return _distinct(receipts)


def _factor(receipt: Receipt) -> float:
    return 1.0 if receipt.ranking is None else receipt.ranking.factor


def _distinct(receipts: Iterable[Receipt]) -> list[Receipt]:
    first: dict[bytes, Receipt] = {}
    for receipt in receipts:
        first.setdefault(text_key(receipt.fact.text), receipt)
    return list(first.values())


def _found(fact: Fact, question: FactQuestion, receipt: Receipt | None) -> Found:
    words = question.words
    counts = count_words(fact.text, words.language)
    span = words.span(counts)
    excerpt, is_matched = words.excerpt(fact.text)
    by_alias = receipt is not None and not span.matched and receipt.ranks.keyword_rank > 0
    is_exact = receipt is None and bool(question.query.strip())
    signals: list[MatchSignal] = []
    if is_exact:
        signals.append("exact_identifier")
    if span.matched:
        signals.append("lexical")
    if receipt is not None and receipt.ranks.vector_rank:
        signals.append("semantic")
    if by_alias:
        signals.append("alias")
    relevance: float | None = span.relevance
    if is_exact:
        relevance = words.span(count_words(fact.id, words.language)).relevance
    elif by_alias or not words.terms:
        relevance = None  # the words that matched are not the query's own
    return Found(
        name=RecordName("fact", fact.id, seq=question.pinned_seq),
        title=cut(fact.text, length=_TITLE),
        content=fact.text,
        excerpt=excerpt,
        is_matched=is_matched,
        signals=tuple(signals),
        relevance=relevance,
        created_ns=fact.created_ns,
        revision=str(fact.version),
        metadata=fact_metadata(fact),
        derived_from=tuple(source.ref for source in fact.origin.sources if source.kind == "locator"),
    )


def fact_metadata(fact: Fact) -> dict[str, JsonValue]:
    """What is worth knowing of a fact beside its text: whose it is, how sure, who wrote it."""
    return {
        "agent_id": fact.agent_id,
        "confidence": fact.effective_confidence.value,
        "pinned": fact.pinned,
        "channel": fact.origin.channel,
    }
