"""How much memory a process holds for itself, and whether that stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.soak.clients import median

WARM_UP = 0.2
TOLERATED = 0.1
FACT_BYTES = 8_192


def resident_bytes(pid: int) -> int:
    """What a process holds in memory and shares with nobody; 0 when it is gone.

    Pages of the ledger that it has mapped are left out: they are the system's cache, come and go by tens of megabytes,
    and are the same for all processes.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), 0)


def growth(samples: Sequence[int], *, facts: int) -> tuple[float, float]:
    """By how many bytes the memory of a process grew, and how many are allowed.

    The first fifth of the samples, taken at even distances, is its warm-up and left out. What remains is cut into
    thirds, and the median of the first is compared with that of the last, so that neither one publish nor one
    collection of garbage decides. A tenth of the first is allowed, and 8 kB for each of the `facts` that came
    meanwhile: its text and words, its row of the table, its vector of 1.5 kB in the scan and again in the index.
    """
    steady = samples[int(len(samples) * WARM_UP) :]
    third = len(steady) // 3
    first, last = median(steady[:third]), median(steady[len(steady) - third :])
    return last - first, TOLERATED * first + FACT_BYTES * facts
