"""Kills a process at random moments of its writing and indexing, again and again, on one store.

    python -m tests.soak.kills [COUNT [SEED]]

After every kill nothing acknowledged may be missing; every tenth time, and at the end, recall must be what the
reference gives and the doctor must find nothing. Prints a table; exit code 1 when something was lost.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.soak.checks import Acknowledged, differences, lost, start, unsound
from tests.soak.worker import embedder

JOBS = {"write": 1.0, "index": 1.5, "build": 5.0}
"""What is killed, and after how many seconds at the latest: a build needs some to begin."""

_COMPARED_EVERY = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What so many kills did."""

    kills: int
    acknowledged: int
    lost: tuple[str, ...]
    different: tuple[str, ...]
    unsound: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost and nothing differs."""
        return not (self.lost or self.different or self.unsound)


def run(folder: Path, count: int, seed: int) -> Outcome:
    """`count` kills on one store in `folder`; the same seed waits the same times."""
    rng = random.Random(seed)
    store, errors = folder / "store", folder / "errors.txt"
    said = Acknowledged()
    missing: list[str] = []
    different: list[str] = []
    for number in range(count):
        job, longest_s = [*JOBS.items()][number % len(JOBS)]
        worker = start(store, job, rng.randrange(1 << 30), errors=errors)
        time.sleep(rng.uniform(0.0, longest_s))
        worker.kill()
        assert worker.stdout is not None
        assert worker.stdin is not None
        said.hear(worker.stdout.readlines())
        worker.wait()
        worker.stdout.close()
        worker.stdin.close()
        missing += lost(store, said)
        if number % _COMPARED_EVERY == _COMPARED_EVERY - 1 or number == count - 1:
            different += differences(store)
    complaints = errors.read_text(errors="replace")
    found = [*unsound(store, embedder()), *([complaints] if complaints.strip() else [])]
    return Outcome(count, len(said.retired), tuple(missing), tuple(different), tuple(found))


def main(arguments: list[str]) -> int:
    """Prints what happened."""
    count = int(arguments[0]) if arguments else 50
    seed = int(arguments[1]) if len(arguments) > 1 else random.randrange(1 << 30)
    print(f"{count} kills, seed {seed}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="graymatter-kills-") as folder:
        outcome = run(Path(folder), count, seed)
    print("| kills | acknowledged writes | lost | recalls unlike the reference | complaints |")
    print("|---:|---:|---:|---:|---:|")
    print(
        f"| {outcome.kills} | {outcome.acknowledged:,} | {len(outcome.lost)} | {len(outcome.different)}"
        f" | {len(outcome.unsound)} |"
    )
    for line in (*outcome.lost, *outcome.different, *outcome.unsound):
        print(line, file=sys.stderr)
    return 0 if outcome.is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
