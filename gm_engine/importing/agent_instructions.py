"""CLAUDE.md, AGENTS.md and their like: every list item is a fact, told under its heading.

Prose explains; it is left out and counted, as code and tables are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gm_engine.importing.found import Item, Left, Reader, Request, Start, Text
from gm_engine.importing.markdown_blocks import blocks, plain_links
from gm_engine.importing.text_files import whole_text

NAMES = ("claude.md", "claude.local.md", "agents.md", "gemini.md", "memory.md")
_MAX_BYTES = 4 << 20


def recognises(start: Start) -> bool:
    """Whether the file has one of the names that agents look for."""
    return not start.is_folder and start.path.name.casefold() in NAMES


def read(request: Request) -> Iterator[Item]:
    """List items as `heading: item`."""
    left: Counter[str] = Counter()
    for block in blocks(whole_text(request.path, at_most=_MAX_BYTES)):
        text = plain_links(block.text)
        if block.kind == "item" and text:
            if not text.endswith(":"):  # it only introduces the items below it, which say so themselves
                yield Text(
                    ": ".join(part for part in (block.heading, *block.introduced, text) if part), f"line {block.line}"
                )
        else:
            left["prose" if block.kind == "paragraph" else block.text] += 1
    for what, count in sorted(left.items()):
        yield Left("block", what, f"{count} not imported: only list items are facts")


READER = Reader("agent-instructions", "CLAUDE.md / AGENTS.md", "instructions", recognises, read)
