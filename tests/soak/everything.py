"""All at once for half an hour: the desktop on 100,000 facts, three MCP servers, a publish every minute, random kills.

    python -m tests.soak.everything [MINUTES]

The window runs offscreen and shows the table of facts. Three clients write a fact and search every other second, each
through a server of its own; two of the servers are killed at random moments and replaced, the first lives from
beginning to end, so that its memory can be watched as well. At the beginning of a minute the window publishes into a
vault, as the Vault page does; in every third minute a publish from the command line is killed before that, and the
window has to mend what it left. One line for each minute, then a table of what must hold; exit code 1 when something
does not: an acknowledged fact is lost or there twice, a call or a publish failed, memory grew (`vitals.growth` says
what that means), the window was held up for more than 100 ms once the first publish was done, vault and store disagree
after the last publish, the doctor finds something, or recall is not what the reference gives.

"Machine" is how late a process that does nothing was woken at worst: what the load of the machine alone explains.
"""

from __future__ import annotations

import math
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from gm_engine import FactQuery, Memory
from tests.benchmarks.generator import build_store
from tests.soak.course import Course
from tests.soak.verdict import Check, checks_of, show

MINUTES, FACTS = 30.0, 100_000


def main(arguments: list[str]) -> int:
    """Runs the soak."""
    minutes = float(arguments[0]) if arguments else MINUTES
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    with tempfile.TemporaryDirectory(prefix="graymatter-soak-") as folder:
        checks = run(Path(folder), minutes, facts=FACTS)
    print(show(checks), flush=True)
    for check in checks:
        for complaint in check.complaints:
            print(f"{check.what}: {complaint}", file=sys.stderr)
    return 0 if all(check.holds for check in checks) else 1


def run(folder: Path, minutes: float, *, facts: int) -> list[Check]:
    """What must hold, and whether it did, after so many minutes on a store of so many facts."""
    store, vault, seed = folder / "store", folder / "vault", random.randrange(1 << 30)
    start = time.monotonic()
    _prepare(store, facts)
    print(f"a store of {facts:,} facts is there after {time.monotonic() - start:.0f} s; seed {seed}", flush=True)
    count = max(1, math.ceil(minutes))
    with _course(store, vault, random.Random(seed)) as course:
        course.begin()
        for number in range(1, count + 1):
            course.run_minute(number, 60 * minutes / count)
        course.finish()
    print("\nlooking at what is left: the store, the vault, recall (some minutes)", flush=True)
    return checks_of(course)


@contextmanager
def _course(store: Path, vault: Path, rng: random.Random) -> Iterator[Course]:
    course = Course(store, vault, rng)
    try:
        yield course
    finally:
        course.close()


def _prepare(store: Path, facts: int) -> None:
    build_store(store, facts)
    (store / "memories.json").unlink()
    with Memory.open(store, background=False) as memory:
        while memory.index_step(0.5):
            pass
        assert len(memory.fact_ids(FactQuery())) == facts


def _leave(number: int, _frame: FrameType | None) -> None:
    """Ends the program so that its processes and files go as well; nothing may interrupt that."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
