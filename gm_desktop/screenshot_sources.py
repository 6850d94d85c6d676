"""Three sources for the pictures: one that is well, one that sees only a part, one that cannot be started."""

from __future__ import annotations

import sys
from pathlib import Path

_START = "import sys; from gm_engine.cli.main import main; sys.exit(main())"
_HANDBOOK = (
    "The handbook says that a rollback is announced in the channel before it starts.",
    "Rollbacks need two people: one who acts and one who watches the dashboard.",
    "The canteen is closed on the last Friday of the month.",
)
_TICKETS = (
    "Ticket 4711: after the rollback the map stayed empty until the cache was cleared.",
    "Ticket 4802: a customer asks when the next release comes.",
)


def configure_sources(file: Path, scratch: Path) -> None:
    """Writes the user's file of sources, and makes the stores that two of them read. Blocks for a second or two."""
    from gm_engine import Memory
    from gm_engine.clock import SystemClock
    from gm_engine.recall_protocol.source_config import SourcesFile, new_source

    for name, texts in (("handbook", _HANDBOOK), ("tickets", _TICKETS)):
        with Memory.open(scratch / name, background=False) as memory:
            for text in texts:
                memory.remember(name, text)
            if name == "handbook":  # the other one is left without vectors
                memory.wait_for_embeddings()
    sources, clock = SourcesFile(file), SystemClock()
    for name in ("handbook", "tickets"):
        location = str(scratch / name)
        arguments = ("-c", _START, "recall-adapter")
        sources.add(new_source(name, sys.executable, clock=clock, args=arguments, location=location, deadline_s=20.0))
    sources.add(new_source("wiki", "wiki-adapter", clock=clock, args=("--stdio",), location="https://wiki.example"))
