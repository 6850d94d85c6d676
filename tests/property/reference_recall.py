"""Recall as plain loops over plain records: slow, obvious, and what the engine is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from unicodedata import normalize

from gm_engine.ranking.aliases import parse_alias
from gm_engine.ranking.recall import RecallRequest
from gm_engine.records import Fact
from gm_engine.terms import text_terms


@dataclass(frozen=True)
class Expected:
    fact: Fact
    vector_rank: int
    keyword_rank: int
    recency_rank: int
    base_score: float
    final_score: float


def words(text: str, language: str) -> list[str]:
    return [term.term for term in text_terms(text, language)]


def counted(text: str, language: str) -> dict[str, int]:
    return {term.term: term.count for term in text_terms(text, language)}


def expansions(query: Sequence[str], facts: Sequence[Fact], language: str) -> list[tuple[str, list[str], list[str]]]:
    """(words as written, their terms, the query's terms they stand for), oldest alias first."""
    found: list[tuple[str, list[str], list[str]]] = []
    aliases = [f for f in facts if f.kind == "alias" and f.superseded_by == ""]
    for fact in sorted(aliases, key=lambda f: (f.created_ns, f.id)):
        alias = parse_alias(fact.text)
        if alias is None:
            continue
        pairs = []
        for equivalent in alias.equivalents:
            pairs.append((alias.term, equivalent))
            if " " not in alias.term and " " not in equivalent:
                pairs.append((equivalent, alias.term))
        for source, target in pairs:
            covers, terms = words(source, language), words(target, language)
            if not covers or any(word not in query for word in covers):
                continue
            if not terms or all(word in query for word in terms):
                continue
            if all((target, covers) != (t, c) for t, _, c in found):
                found.append((target, terms, covers))
    return found


def recall(
    facts: Sequence[Fact],
    request: RecallRequest,
    vectors: Mapping[str, Sequence[int]],
    embed: Callable[[str], Sequence[int]],
) -> list[Expected]:
    """The answer to `request` over the facts of its namespace; `vectors` by NFC text, `embed` for the query."""
    language = request.language
    minimum = 0 if request.min_confidence is None else request.min_confidence.level
    eligible = [
        fact
        for fact in facts
        if fact.superseded_by == "" and fact.kind != "alias" and fact.effective_confidence.level >= minimum
    ]
    own = words(request.query, language)
    added = expansions(own, facts, language)
    text = " ".join([request.query, *dict.fromkeys(target for target, _, _ in added)])
    weights = request.signal_weights
    keyword = keyword_ranks(eligible, own, added, request) if weights.keyword > 0 else {}
    vector = vector_ranks(eligible, text, request, vectors, embed) if weights.vector > 0 else {}
    newest = sorted(eligible, key=lambda f: (-f.created_ns, f.id))
    recency = {fact.id: rank for rank, fact in enumerate(newest, 1)} if weights.recency > 0 else {}

    ranked: list[Expected] = []
    for fact in eligible:
        base = 0.0
        for weight, ranks in ((weights.vector, vector), (weights.keyword, keyword), (weights.recency, recency)):
            if fact.id in ranks:
                base += weight / (60 + ranks[fact.id])
        sign = fact.effective_confidence.level - 1
        final = base * (1 + request.confidence_weight * sign)
        ranked.append(
            Expected(fact, vector.get(fact.id, 0), keyword.get(fact.id, 0), recency.get(fact.id, 0), base, final)
        )
    ranked.sort(key=lambda e: (-e.final_score, e.fact.created_ns, e.fact.id))
    answer: list[Expected] = []
    wanted = request.top_k if request.top_k > 0 else 8
    for entry in ranked:
        if len(answer) == wanted or entry.final_score < request.min_relevance * ranked[0].final_score:
            break
        if all(normalize("NFC", entry.fact.text) != normalize("NFC", other.fact.text) for other in answer):
            answer.append(entry)
    return answer


def vector_ranks(
    eligible: Sequence[Fact],
    text: str,
    request: RecallRequest,
    vectors: Mapping[str, Sequence[int]],
    embed: Callable[[str], Sequence[int]],
) -> dict[str, int]:
    if not text.strip():
        return {}
    query = embed(text)
    near = []
    for fact in eligible:
        codes = vectors.get(normalize("NFC", fact.text))
        if codes is not None:
            near.append((-sum(a * b for a, b in zip(codes, query, strict=True)), fact.id))
    count = 2 * (request.top_k if request.top_k > 0 else 8)
    return {fact_id: rank for rank, (_, fact_id) in enumerate(sorted(near)[:count], 1)}


def keyword_ranks(
    eligible: Sequence[Fact],
    own: Sequence[str],
    added: Sequence[tuple[str, list[str], list[str]]],
    request: RecallRequest,
) -> dict[str, int]:
    """BM25 with k1 = 1.2 and b = 0.75 over the eligible facts, and the coverage gate."""
    if not eligible:
        return {}
    bags = {fact.id: counted(fact.text, request.language) for fact in eligible}
    length = {fact_id: sum(bag.values()) for fact_id, bag in bags.items()}
    average = sum(length.values()) / len(eligible)

    @cache
    def idf(term: str) -> float:
        df = sum(1 for bag in bags.values() if term in bag)
        return round(math.log(1 + (len(eligible) - df + 0.5) / (df + 0.5)), 12)

    terms = list(dict.fromkeys([*own, *(term for _, terms, _ in added for term in terms)]))
    total = 0.0
    for term in own:
        total += idf(term)
    scored = []
    for fact in eligible:
        bag = bags[fact.id]
        if not any(term in bag for term in terms):
            continue
        score = 0.0
        for term in terms:
            if term in bag:
                tf = bag[term]
                score += idf(term) * (tf * (1.2 + 1)) / (tf + 1.2 * (1 - 0.75 + 0.75 * (length[fact.id] / average)))
        mass = 0.0
        for term in own:
            stands_in = any(term in covers and all(t in bag for t in other) for _, other, covers in added)
            if term in bag or stands_in:
                mass += idf(term)
        if request.coverage_gate <= 0 or mass >= request.coverage_gate * total:
            scored.append((-score, fact.created_ns, fact.id))
    return {fact_id: rank for rank, (_, _, fact_id) in enumerate(sorted(scored), 1)}
