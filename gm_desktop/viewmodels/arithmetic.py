"""The arithmetic of one receipt, in digits that a person can add up by hand.

Source of the formula: base = Σ weight / (60 + rank) over the signals that ranked the fact, final = base × factor with
factor = 1 + confidence weight × (+1 verified, 0 inferred, −1 unverified).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from gm_desktop.i18n import decimal
from gm_engine.records import Receipt

FEWEST_DECIMALS = 5
MOST_DECIMALS = 10
SIGNALS = ("vector", "keyword", "recency")


@dataclass(frozen=True, slots=True)
class SignalLine:
    """One signal's part of the score. `rank` 0 = it did not rank the fact; `share` is its part of the base."""

    signal: str
    rank: int
    weight: str
    divisor: int
    value: str
    share: float


@dataclass(frozen=True, slots=True)
class FactorLine:
    """How the confidence label scaled the base score."""

    confidence: str
    weight: str
    sign: int
    factor: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A receipt's sum. The lines' `value`s add up to `base` digit for digit, and `base` times the factor is `final`.

    `reproduces` is False when the receipt's own scores differ from this arithmetic by more than 1e-12.
    """

    lines: tuple[SignalLine, ...]
    base: str
    factor: FactorLine | None
    final: str
    reproduces: bool


def arithmetic(receipt: Receipt) -> Arithmetic:
    """Spells a receipt out, with as few decimals as let the shown figures add up and multiply exactly."""
    ranks = receipt.ranks
    weights = (ranks.weights.vector, ranks.weights.keyword, ranks.weights.recency)
    places = (ranks.vector_rank, ranks.keyword_rank, ranks.recency_rank)
    parts = [weight / (ranks.k + rank) if rank else 0.0 for weight, rank in zip(weights, places, strict=True)]
    base = parts[0] + parts[1] + parts[2]
    factor = receipt.ranking.factor if receipt.ranking else 1.0
    decimals = _decimals(parts, base, factor)
    shown = [_rounded(part, decimals) for part in parts]
    total = sum(shown, Decimal())
    lines = tuple(
        SignalLine(
            signal=signal,
            rank=rank,
            weight=decimal(short_number(weight)),
            divisor=ranks.k + rank,
            value=decimal(f"{value:f}"),
            share=part / base if base else 0.0,
        )
        for signal, rank, weight, part, value in zip(SIGNALS, places, weights, parts, shown, strict=True)
    )
    return Arithmetic(
        lines=lines,
        base=decimal(f"{total:f}"),
        factor=_factor_line(receipt),
        final=decimal(f"{_step(total * Decimal(short_number(factor)), decimals):f}"),
        reproduces=abs(base - ranks.fused_score) <= 1e-12 and abs(base * factor - receipt.final_score) <= 1e-12,
    )


def short_number(value: float) -> str:
    """A weight without trailing zeros: `1`, `0.5`, `0.125`."""
    return f"{value:.6g}"


def _factor_line(receipt: Receipt) -> FactorLine | None:
    ranking = receipt.ranking
    if ranking is None:
        return None
    sign = {"verified": 1, "inferred": 0, "unverified": -1}[ranking.effective_confidence.value]
    weight = short_number(ranking.confidence_weight)
    return FactorLine(ranking.effective_confidence.value, decimal(weight), sign, decimal(short_number(ranking.factor)))


def _decimals(parts: Sequence[float], base: float, factor: float) -> int:
    """The fewest decimals with which every shown figure is correctly rounded and yet the figures add up.

    Where none does (equal parts that all round the same way), the fewest: then sum and product are those of the shown
    figures, at most two units of the last place away from the scores.
    """
    for decimals in range(FEWEST_DECIMALS, MOST_DECIMALS + 1):
        total = sum((_rounded(part, decimals) for part in parts), Decimal())
        final = _step(total * Decimal(short_number(factor)), decimals)
        if total == _rounded(base, decimals) and final == _rounded(base * factor, decimals):
            return decimals
    return FEWEST_DECIMALS + 1


def _step(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN)


def _rounded(value: float, decimals: int) -> Decimal:
    return _step(Decimal(value), decimals)
