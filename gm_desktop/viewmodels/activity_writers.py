"""Who wrote into the store, and which programs have it open now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gm_desktop.formatting import age, number
from gm_desktop.i18n import tr
from gm_desktop.models.line_list import Line
from gm_desktop.plain_text import row_text
from gm_desktop.viewmodels.activity_filter import SEPARATOR
from gm_desktop.viewmodels.fact_words import channel_title

if TYPE_CHECKING:
    from gm_engine import Memory

EVERYBODY = ""


def writer_lines(memory: Memory, *, now_ns: int) -> tuple[Line, ...]:
    """Everybody, then the connected programs, then those that wrote once; each with the number of its entries."""
    connected: dict[str, list[int]] = {}
    for process in memory.processes():
        connected.setdefault(f"{process.program}{SEPARATOR}{process.client}", []).append(process.pid)
    written = {f"{each.channel}{SEPARATOR}{each.client}": each for each in memory.activity.writers()}
    total = sum(each.entries for each in written.values())
    lines = [Line(EVERYBODY, tr("Everybody"), "", number(total))]
    last = {key: each.last_ns for key, each in written.items()}
    for key in sorted({*connected, *written}, key=lambda each: (each not in connected, -last.get(each, 0), each)):
        writer = written.get(key)
        pids = connected.get(key, ())
        if pids:
            note = tr("Connected, process {pid}", pid=", ".join(str(pid) for pid in sorted(pids)[:3]))
        else:
            note = _wrote(age(writer.last_ns if writer else None, now_ns))
        channel, _, client = key.partition(SEPARATOR)
        title = channel_title(channel)
        if client:
            title, note = row_text(client, 60), f"{title}  ·  {note}"
        mark = number(writer.entries) if writer else ""
        mark = f"● {mark}".strip() if pids else mark
        lines.append(Line(key, title, note, mark, "success" if pids else "text_muted"))
    return tuple(lines)


def _wrote(how_long: str) -> str:
    return tr("Wrote just now") if how_long == tr("now") else tr("Wrote {age} ago", age=how_long)
