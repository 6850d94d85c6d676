"""Reading a published note back: the exact text of its fact."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporters.obsidian.frontmatter import FrontmatterError, parse
from exporters.obsidian.note_file import NoteUnreadable, take_apart
from exporters.obsidian.notes import FACT_KINDS, unsafe_value
from exporters.obsidian.text import unquote
from gm_engine import InvalidInput, NotFound


@dataclass(frozen=True, slots=True)
class ReadNote:
    """What a fact's note says now. `text` is exact, character for character."""

    path: str
    fact_id: str
    agent_id: str
    kind: str
    text: str


def read_note(path: Path) -> ReadNote:
    """Reads the fact's note at `path`.

    Raises `NotFound` when there is no such file and `InvalidInput` when it is no note of a fact that was published.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFound(f"There is no note {path}.", path=str(path)) from error
    try:
        note = take_apart(data)
        properties = parse(note.frontmatter)
    except (NoteUnreadable, FrontmatterError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", path=str(path)) from error
    kind = str(properties.get("mem_kind", ""))
    if "mem_id" not in properties or kind not in FACT_KINDS:
        raise InvalidInput(f"{path} is no note of a fact.", path=str(path))
    kept = properties.get("mem_text")
    text = str(kept) if kept is not None else unquote(note.block or "")
    if text is None:
        raise InvalidInput(f"{path} has lost its text.", path=str(path))
    return ReadNote(
        path=str(path),
        fact_id=str(properties["mem_id"]).removeprefix("fact:"),
        agent_id=unsafe_value(str(properties.get("mem_agent", ""))),
        kind=kind,
        text=text,
    )
