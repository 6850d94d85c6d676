"""Writing into a store beside the widget under test, as another program would."""

from __future__ import annotations

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from gm_desktop.engine_host import EngineHost
from gm_engine import Memory


def write_beside(host: EngineHost, qtbot: QtBot, job: Callable[[Memory], object]) -> int:
    """Writes, and waits until everybody in the window heard of all of it; returns the newest entry of the journal."""
    heard: list[int] = []
    written: list[int] = []

    def all_of_it(memory: Memory) -> int:
        job(memory)
        return memory.last_seq()

    note = host.changed.connect(lambda changes: heard.append(changes.seq))
    host.write(all_of_it, written.append)
    qtbot.waitUntil(lambda: bool(written) and max(heard, default=0) >= written[0])
    host.changed.disconnect(note)
    return written[0]
