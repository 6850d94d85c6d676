"""One row of the table of speeds, and how it is measured and printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, its limit, and the baseline of the same run that makes the number mean something.

    With `at_least` the limit is a floor.
    """

    what: str
    measured: float
    limit: float | None
    unit: str
    baseline: str
    base: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        if self.limit is None:
            return True
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def seconds(act: Callable[[], object]) -> float:
    """How long one call takes."""
    start = perf_counter()
    act()
    return perf_counter() - start


def best(act: Callable[[], object], *, times: int = 3) -> float:
    """The shortest of several calls: the one that was disturbed least."""
    return min(seconds(act) for _ in range(times))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def process(*arguments: object, env: dict[str, str] | None = None) -> str:
    """Runs Python with `arguments` and returns what it printed; fails loudly."""
    done = subprocess.run(
        [sys.executable, *(str(argument) for argument in arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{arguments} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def show(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | measured | limit | baseline of this run | ratio |", "|---|---:|---:|---|---:|"]
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        limit = (
            "–" if row.limit is None else f"{sign} {amount(row.limit, row.unit)}{'' if row.holds else ' **missed**'}"
        )
        ratio = f"{row.measured / row.base:.2f}" if row.base else "–"
        base = f"{row.baseline}: {amount(row.base, row.unit)}"
        lines.append(f"| {row.what} | {amount(row.measured, row.unit)} | {limit} | {base} | {ratio} |")
    return "\n".join(lines)


def amount(value: float, unit: str) -> str:
    """A number with its unit: seconds, milliseconds, bytes, megabytes, a count, a ratio or a score."""
    match unit:
        case "ms":
            return f"{value * 1000:.2f} ms"
        case "bytes":
            return f"{value:,.0f} bytes"
        case "MB":
            return f"{value / 1e6:,.0f} MB"
        case "count":
            return f"{value:,.0f}"
        case "ratio":
            return f"{value:.2f} ×"
        case "score":
            return f"{value:.3f}"
        case _:
            return f"{value:.2f} s"
