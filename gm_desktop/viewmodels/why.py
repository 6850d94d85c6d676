"""*Why this?* in words: the place, the sum, the words that matched, what the fact replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gm_desktop.formatting import isolate, local_time, utc_time
from gm_desktop.i18n import decimal, tr
from gm_desktop.models.fact_row import agent_title
from gm_desktop.plain_text import Excerpt, row_text
from gm_desktop.viewmodels.arithmetic import Arithmetic, SignalLine, arithmetic
from gm_desktop.viewmodels.fact_words import confidence_title
from gm_engine.records import Fact, Receipt

_SIGNALS = {"vector": "Meaning", "keyword": "Words", "recency": "Recency"}


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One signal in the panel: its place, the division and its value; `role` is its theme colour."""

    signal: str
    title: str
    rank: int
    place: str
    division: str
    value: str
    share: float
    note: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text that the hit took the place of."""

    id: str
    text: str
    when: str


@dataclass(frozen=True, slots=True)
class WhyDetails:
    """Everything the panel shows about one hit. The values of `signals` add up to `base`, digit for digit.

    `merge_note` says how the place came to be where two namespaces' answers were merged.
    """

    id: str
    position: int
    agent: str
    text: str
    hidden: int
    spans: tuple[tuple[int, int], ...]
    confidence: str
    confidence_title: str
    written: str
    written_utc: str
    signals: tuple[SignalRow, ...]
    base: str
    factor: str
    factor_note: str
    final: str
    note: str
    matched: tuple[str, ...]
    replaced: tuple[Replaced, ...]
    merge_note: str = ""


def why_details(
    receipt: Receipt, *, position: int, part: Excerpt, spans: tuple[tuple[int, int], ...], replaced: Sequence[Fact]
) -> WhyDetails:
    """Puts one receipt into words."""
    fact = receipt.fact
    summed = arithmetic(receipt)
    return WhyDetails(
        id=fact.id,
        position=position,
        agent=agent_title(fact.agent_id),
        text=part.text,
        hidden=part.hidden,
        spans=spans,
        confidence=fact.effective_confidence.value,
        confidence_title=confidence_title(fact.effective_confidence.value),
        written=local_time(fact.created_ns),
        written_utc=utc_time(fact.created_ns),
        signals=tuple(_signal_row(line, receipt) for line in summed.lines),
        base=summed.base,
        factor=summed.factor.factor if summed.factor else "1",
        factor_note=_factor_note(summed),
        final=summed.final,
        note="" if summed.reproduces else tr("The receipt's own score differs from this sum."),
        matched=tuple(isolate(word) for word in receipt.matched_terms),
        replaced=tuple(Replaced(each.id, row_text(each.text, 240), local_time(each.created_ns)) for each in replaced),
    )


def signal_title(signal: str) -> str:
    """The name a person reads for a signal."""
    return tr(_SIGNALS[signal])


def _signal_row(line: SignalLine, receipt: Receipt) -> SignalRow:
    k = receipt.ranks.k
    return SignalRow(
        signal=line.signal,
        title=signal_title(line.signal),
        rank=line.rank,
        place=tr("rank {rank}", rank=line.rank) if line.rank else tr("not ranked"),
        division=f"{line.weight} ÷ ({k} + {line.rank})" if line.rank else "",
        value=line.value,
        share=line.share,
        note=_signal_note(line, receipt),
    )


def _signal_note(line: SignalLine, receipt: Receipt) -> str:
    if line.signal == "vector":
        if line.rank:
            similarity = receipt.similarity
            return "" if similarity is None else tr("similarity {value}", value=decimal(f"{similarity:.3f}"))
        return tr("not among the nearest, or no vector yet")
    if line.signal == "keyword":
        if line.rank:
            score = receipt.keyword_score
            return "" if score is None else tr("BM25 {value}", value=decimal(f"{score:.2f}"))
        return tr("shares too few of the question's words")
    return tr("{age} days old", age=decimal(f"{receipt.age_days:.1f}")) if line.rank else ""


def _factor_note(summed: Arithmetic) -> str:
    factor = summed.factor
    if factor is None:
        return tr("Confidence does not change the order in this store.")
    label = confidence_title(factor.confidence)
    term = {1: f"1 + {factor.weight}", 0: f"1 + 0 × {factor.weight}", -1: f"1 − {factor.weight}"}[factor.sign]
    return tr("{label}: {term} = {factor}", label=label, term=term, factor=factor.factor)
