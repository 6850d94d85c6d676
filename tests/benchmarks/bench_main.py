"""Prints the table of speeds: `python3 packaging/dev.py bench [NAME …]`; every row has a baseline of the same run.

Without a name all are measured; `recall` names all that recall promises.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as both programs do

from tests.benchmarks import (  # noqa: E402 — the project's root comes first
    adapter_rows,
    agent_rows,
    curation_rows,
    engine_rows,
    graph_rows,
    life_rows,
    process_rows,
    protocol_rows,
    recall_rows,
    vault_rows,
    window_rows,
    write_rows,
)
from tests.benchmarks.table import Row, show  # noqa: E402

BENCHMARKS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "help": process_rows.help_process,
    "window": window_rows.first_page,
    "stall": window_rows.stalls,
    "first-recall": engine_rows.first_recall,
    "recall-10k": engine_rows.previewed_recall,
    "recall-quality": recall_rows.found,
    "recall-speed": recall_rows.speed,
    "recall-words": recall_rows.words,
    "recall-filtered": recall_rows.filtered,
    "recall-memory": recall_rows.memory_use,
    "remember": write_rows.remembering,
    "bulk": write_rows.bulk,
    "chroma": write_rows.same_answers,
    "recall-process": process_rows.recall_process,
    "import": engine_rows.importing,
    "embedding": engine_rows.embedding,
    "publish": process_rows.publishing,
    "obsidian": vault_rows.vault,
    "page": engine_rows.last_page,
    "undo": life_rows.undoing,
    "past": life_rows.past,
    "checkpoint": life_rows.checkpoint,
    "keeping": life_rows.keeping,
    "consolidate": curation_rows.consolidating,
    "compare": curation_rows.comparing,
    "graph-quality": graph_rows.quality,
    "graph-extraction": graph_rows.extracting,
    "graph-layout": graph_rows.laying_out,
    "graph-page": graph_rows.page,
    "protocol-frames": protocol_rows.frames,
    "protocol-trips": protocol_rows.round_trips,
    "protocol-adapter": adapter_rows.store_source,
    "agents-hello": agent_rows.hello,
    "agents-search": agent_rows.searches,
}
GROUPS: dict[str, tuple[str, ...]] = {
    "recall": (
        "recall-quality",
        "recall-speed",
        "recall-words",
        "recall-filtered",
        "recall-memory",
        "remember",
        "bulk",
        "stall",
        "chroma",
    ),
    "life": (
        "undo",
        "past",
        "checkpoint",
        "keeping",
        "consolidate",
        "compare",
        "graph-quality",
        "graph-extraction",
        "graph-layout",
        "graph-page",
    ),
    "agents": ("agents-hello", "agents-search"),
    "protocol": ("protocol-frames", "protocol-trips", "protocol-adapter"),
    "graph": ("graph-quality", "graph-extraction", "graph-layout", "graph-page"),
}


def main(names: list[str]) -> int:
    """Runs the named benchmarks and groups, or all; 1 when a row misses its limit."""
    unknown = sorted(set(names) - set(BENCHMARKS) - set(GROUPS))
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join([*BENCHMARKS, *GROUPS])}", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="graymatter-bench-"))
    rows: list[Row] = []
    try:
        wanted = [name for given in names or BENCHMARKS for name in GROUPS.get(given, (given,))]
        for name in dict.fromkeys(wanted):
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            rows.extend(BENCHMARKS[name](folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(show(rows))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
