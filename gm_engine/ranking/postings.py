"""The inverted index of one namespace: term id → positions of facts and term frequencies.

Rows of a compressed sparse matrix, plus a small table of what was appended since; facts are only ever appended, so an
older reader passes its own `size` and sees nothing newer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_MERGE_AT = 2048  # appended facts; reading them is a Python list per term, so it must stay small


@dataclass(frozen=True, slots=True)
class TermRows:
    """The terms of facts as three parallel columns: position of the fact, term id, term frequency."""

    facts: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Postings:
    """Which facts hold a term. `appended` counts facts that are only in `late`."""

    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    facts: NDArray[np.int64]
    counts: NDArray[np.uint16]
    late: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    appended: int = 0

    def of(self, term_id: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """Positions (ascending) and frequencies of one term among the first `size` facts."""
        at = int(np.searchsorted(self.terms, term_id))
        if at < len(self.terms) and int(self.terms[at]) == term_id:
            part = slice(int(self.starts[at]), int(self.starts[at + 1]))
            facts, counts = self.facts[part], self.counts[part]
        else:
            facts, counts = self.facts[:0], self.counts[:0]
        late = [pair for pair in self.late.get(term_id, ()) if pair[0] < size]
        if not late:
            return facts, counts
        return (
            np.concatenate([facts, np.array([pair[0] for pair in late], np.int64)]),
            np.concatenate([counts, np.array([pair[1] for pair in late], np.uint16)]),
        )

    def with_rows(self, rows: TermRows, *, added: int) -> Postings:
        """With the terms of `added` more facts, which come after all others."""
        if self.appended + added > _MERGE_AT:
            return build(_joined(self._all_rows(), rows))
        for fact, term, count in zip(rows.facts.tolist(), rows.terms.tolist(), rows.counts.tolist(), strict=True):
            self.late.setdefault(term, []).append((fact, count))
        return Postings(self.terms, self.starts, self.facts, self.counts, self.late, self.appended + added)

    def detached(self, size: int) -> Postings:
        """A copy of the first `size` facts' entries that can be appended to without touching this one."""
        late = {term: [pair for pair in pairs if pair[0] < size] for term, pairs in self.late.items()}
        return Postings(self.terms, self.starts, self.facts, self.counts, late, self.appended)

    def _all_rows(self) -> TermRows:
        base = TermRows(self.facts, np.repeat(self.terms, np.diff(self.starts)), self.counts)
        pairs = [(fact, term, count) for term, facts in self.late.items() for fact, count in facts]
        pairs.sort()
        columns = np.array(pairs, np.int64).reshape(-1, 3)
        late = TermRows(columns[:, 0], columns[:, 1].astype(np.uint32), columns[:, 2].astype(np.uint16))
        return _joined(base, late)


def _joined(left: TermRows, right: TermRows) -> TermRows:
    return TermRows(
        np.concatenate([left.facts, right.facts]),
        np.concatenate([left.terms, right.terms]),
        np.concatenate([left.counts, right.counts]),
    )


def build(rows: TermRows) -> Postings:
    """The index of `rows`; within a term the order of `rows` is kept."""
    order = _stable_order(rows.terms)
    terms = rows.terms[order]
    first = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]])) if len(terms) else np.zeros(0, np.int64)
    starts = np.concatenate([first, [len(terms)]]).astype(np.int64)
    return Postings(terms[first], starts, rows.facts[order], rows.counts[order])


def _stable_order(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """A stable sort in two passes of 16 bits, which numpy sorts by radix in linear time."""
    low: NDArray[np.int64] = np.argsort((values & 0xFFFF).astype(np.uint16), kind="stable")
    high = (values >> 16).astype(np.uint16)
    if not high.any():
        return low
    order: NDArray[np.int64] = low[np.argsort(high[low], kind="stable")]
    return order


def decode(blobs: Sequence[bytes], first: int) -> TermRows:
    """Reads stored terms: each blob is n little-endian u32 ids followed by n u16 frequencies.

    The facts of `blobs` have the positions `first`, `first + 1`, …
    """
    lengths = np.array([len(blob) for blob in blobs], np.int64) // 6
    words = np.frombuffer(b"".join(blobs), dtype="<u2")
    begins = np.cumsum(lengths * 3) - lengths * 3
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    ids_at = np.repeat(begins, lengths) + 2 * within
    counts_at = np.repeat(begins + 2 * lengths, lengths) + within
    halves = words.astype(np.uint32)
    terms: NDArray[np.uint32] = halves[ids_at] | (halves[ids_at + 1] << np.uint32(16))
    facts = np.repeat(np.arange(first, first + len(blobs), dtype=np.int64), lengths)
    return TermRows(facts, terms, words[counts_at].astype(np.uint16))
