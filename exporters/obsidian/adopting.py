"""Notes that follow what a person accepted: an edited note becomes that of the new text, a new note becomes ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from exporters.obsidian.compare import Present
from exporters.obsidian.contents import Contents
from exporters.obsidian.edits import said
from exporters.obsidian.finding import Found
from exporters.obsidian.folder import Folder, Scan
from exporters.obsidian.frontmatter import FrontmatterError, parse
from exporters.obsidian.layout import fact_key
from exporters.obsidian.manifest import Entry, Manifest, Stamp
from exporters.obsidian.note_file import NoteUnreadable, take_apart
from exporters.obsidian.round_trip import agent_of, fact_id_of, is_fact_key, new_note
from gm_engine import CancelToken

_Texts = dict[tuple[str, str], list[str]]


@dataclass(slots=True)
class _Homes:
    """Notes by `mem_id` while facts without a note find theirs."""

    contents: Contents
    notes: dict[str, Present]
    entries: dict[str, Entry]
    homeless: _Texts = field(default_factory=dict)

    def take(self, agent_id: str, text: str) -> str | None:
        """The key of a live fact with this text that has no note; it is not given out again."""
        keys = self.homeless.get((agent_id, text))
        return keys.pop(0) if keys else None


def adopt(
    contents: Contents,
    found: Found,
    manifest: Manifest,
    *,
    folder: Folder,
    scan: Scan,
    stamps: Mapping[str, Stamp],
    cancel: CancelToken,
) -> tuple[Found, Manifest]:
    """Gives live facts without a note the note in which a person wrote just their text. Raises `Cancelled`."""
    homes = _Homes(contents, dict(found.notes), dict(manifest.notes))
    for fact_id in contents.live:
        if fact_key(fact_id) not in found.notes:
            fact = contents.facts[fact_id]
            homes.homeless.setdefault((fact.agent_id, fact.text), []).append(fact_key(fact_id))
    if not homes.homeless:
        return found, manifest
    for key in [key for key in found.notes if _is_retired(contents, key)]:
        cancel.check()
        present = homes.notes[key]
        if not present.path.startswith("/") and present.stamp != stamps.get(present.path):
            new = _claim(homes, key, folder.read(present.path))
            if new is not None:
                homes.notes[new] = homes.notes.pop(key)
                if key in homes.entries:
                    homes.entries[new] = homes.entries.pop(key)
    doubles = tuple(_other_doubles(homes, found, scan, folder))
    strangers = tuple(_other_strangers(homes, found, manifest, scan, folder))
    return replace(found, notes=homes.notes, doubles=doubles, strangers=strangers), replace(
        manifest, notes=homes.entries
    )


def _is_retired(contents: Contents, key: str) -> bool:
    fact = contents.facts.get(fact_id_of(key)) if is_fact_key(key) else None
    return fact is not None and fact.is_superseded


def _claim(homes: _Homes, key: str, data: bytes | None) -> str | None:
    """The fact that the note of `key` belongs to by its text."""
    fact = homes.contents.facts.get(fact_id_of(key))
    if fact is None:
        return None
    try:
        file = take_apart(data or b"")
        text = said(file, parse(file.frontmatter)).text
    except (NoteUnreadable, FrontmatterError):
        return None
    return None if text is None or text == fact.text else homes.take(fact.agent_id, text)


def _other_doubles(homes: _Homes, found: Found, scan: Scan, folder: Folder) -> Iterator[tuple[str, str]]:
    for path, key in found.doubles:
        new = _claim(homes, key, folder.read(path))
        if new is None and key not in homes.notes:
            new = key  # its first note is another fact's now: what was a copy is the note
        if new is None:
            yield path, key
            continue
        homes.notes[new] = Present(path, scan.files[path], path in scan.read_only)
        if key in homes.entries:
            homes.entries[new] = homes.entries[key]._replace(path=path, content="")


def _other_strangers(homes: _Homes, found: Found, manifest: Manifest, scan: Scan, folder: Folder) -> Iterator[str]:
    for path in found.strangers:
        agent_id = agent_of(path, manifest)
        new = None
        if agent_id is not None:
            try:
                note = new_note(folder.read(path) or b"", agent_id)
            except (NoteUnreadable, FrontmatterError):
                note = None
            new = None if note is None else homes.take(agent_id, note.text)
        if new is None:
            yield path
        else:
            homes.notes[new] = Present(path, scan.files[path], path in scan.read_only)
