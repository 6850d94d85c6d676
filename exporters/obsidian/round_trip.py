"""The way back: what a person did in a published folder since it was written, found without reading unchanged notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporters.obsidian.compare import Present
from exporters.obsidian.edits import Entities, Problem, Said, VaultEdit, VaultEdits, keyed, note_edits, said
from exporters.obsidian.finding import Found, find_notes
from exporters.obsidian.folder import Folder, Scan, is_locked, open_folder
from exporters.obsidian.frontmatter import FrontmatterError, our_values, parse
from exporters.obsidian.layout import fact_key, in_vault
from exporters.obsidian.manifest import FILES, MANIFEST, Entry, Manifest, Stamp, load_files, load_manifest
from exporters.obsidian.names import path_key
from exporters.obsidian.note_file import NoteUnreadable, content_hash, is_damaged, seal_of, split_head, take_apart
from exporters.obsidian.notes import OUR_KEYS, safe_value
from gm_engine import CONFIDENCE_LABELS, CancelToken, Fact, Memory, NotFound, Progress, PublishRefused, no_progress

MAX_NOTE_BYTES = 4_000_000
_LOST_NOTES = 20
_RECORDS = ("agent:", "entity:", "checkpoint:", "map:")


@dataclass(slots=True)
class _Look:
    """One look at a folder."""

    memory: Memory
    folder: Folder
    manifest: Manifest
    stamps: Mapping[str, Stamp]
    scan: Scan
    found: Found
    facts: dict[str, Fact] = field(default_factory=dict)
    edits: list[VaultEdit] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    loaded: Entities | None = None

    def path(self, path: str) -> str:
        """A path as in `Entry` as one from the vault's root."""
        return in_vault(self.folder.name, path)


def read_edits(
    memory: Memory,
    vault: Path,
    *,
    folder: str = "Memory",
    progress: Progress = no_progress,
    cancel: CancelToken | None = None,
) -> VaultEdits:
    """What a person changed in `folder` of `vault` since it was published; writes nothing anywhere.

    Only files that are not as they were written are read. A folder that was never published has no edits. Raises
    `PublishRefused` (while a publish is under way, too: ask again) or `Cancelled`.
    """
    token = cancel or CancelToken()
    place = open_folder(vault, folder, create=False, store=memory.data_dir)
    written = place.stamp(MANIFEST)
    manifest = load_manifest(place.read(MANIFEST))
    if not manifest.notes:
        return VaultEdits(str(vault), folder)
    _refuse_while_publishing(place, written)
    token.check()
    stamps = load_files(place.read(FILES))
    token.check()
    scan = place.scan()
    progress(0, None, "Looking for edits")
    found = find_notes(place, scan, manifest, stamps, cancel=token)
    look = _Look(memory, place, manifest, stamps, scan, found)
    changed = list(_changed(look, token))
    _load_facts(look, [key for key, _, _ in changed])
    for key, present, data in changed:
        token.check()
        _read_note(look, key, present.path, data)
    _read_copies(look)
    _find_deleted(look)
    _read_strangers(look, token)
    moved = tuple(
        (look.path(manifest.notes[key].path), look.path(note.path))
        for key, note in sorted(found.notes.items())
        if key in manifest.notes and manifest.notes[key].path != note.path
    )
    _refuse_while_publishing(place, written)
    return VaultEdits(str(vault), folder, tuple(look.edits), tuple(look.problems), moved)


def _refuse_while_publishing(folder: Folder, written: Stamp | None) -> None:
    """A folder that is being written shows notes as missing that are only on their way."""
    if is_locked(folder) or folder.stamp(MANIFEST) != written:
        raise PublishRefused("Another program is publishing to this folder.", folder=folder.name, is_busy=True)


def _changed(look: _Look, cancel: CancelToken) -> Iterator[tuple[str, Present, bytes]]:
    """The notes whose bytes are not those that were written, with their content."""
    for key, present in look.found.notes.items():
        entry = look.manifest.notes.get(key)
        if present.path.startswith("/") or (
            present.stamp is not None and present.stamp == look.stamps.get(present.path)
        ):
            continue
        cancel.check()
        data = look.folder.read(present.path) or b""
        if data and (entry is None or content_hash(data) != entry.content):
            yield key, present, data


def is_fact_key(key: str) -> bool:
    """Whether a `mem_id` is that of a fact's note."""
    return not key.startswith(_RECORDS)


def fact_id_of(key: str) -> str:
    """The fact whose note has this `mem_id`."""
    return key.removeprefix("fact:")


def _load_facts(look: _Look, keys: Iterable[str]) -> None:
    """Loads the facts of these notes, and what stands in their place now."""
    wanted = [fact_id_of(key) for key in keys if is_fact_key(key)]
    while wanted:
        look.facts.update((fact.id, fact) for fact in look.memory.facts(wanted))
        ends = (look.facts[fact_id].superseded_by for fact_id in wanted if fact_id in look.facts)
        wanted = [fact_id for fact_id in dict.fromkeys(ends) if fact_id and fact_id not in look.facts]
        wanted = [fact.id for fact in look.memory.facts(wanted)]


def _read_note(look: _Look, key: str, path: str, data: bytes) -> None:
    note, entry = look.path(path), look.manifest.notes.get(key)
    try:
        file = take_apart(data)
        mapping = parse(file.frontmatter)
    except (NoteUnreadable, FrontmatterError) as error:
        look.problems.append(Problem(note, f"it cannot be read: {error}"))
        return
    if file.block is not None and seal_of(our_values(mapping, OUR_KEYS), file.block) == file.seal:
        return  # the part we manage is as some publish wrote it
    if not is_fact_key(key):
        look.problems.append(Problem(note, "only notes of facts can be edited; write below the managed block"))
        return
    fact = look.facts.get(fact_id_of(key))
    if fact is None:
        return  # the record is gone: publishing tells of it
    now = said(file, mapping)
    _take(look, now, fact, note=note, entry=entry)


def _take(look: _Look, now: Said, fact: Fact, *, note: str, entry: Entry | None) -> None:
    wants_entities = any("[[" in line for line in now.lines)
    edits, problems = note_edits(
        now,
        fact,
        note=note,
        entry=entry,
        facts=look.facts,
        shown_confidence=safe_value(fact.confidence),
        entities=_entities(look) if wants_entities else Entities(),
    )
    look.edits += edits
    look.problems += problems


def _entities(look: _Look) -> Entities:
    if look.loaded is None:
        paths = {
            path_key(look.path(note.path)): key.removeprefix("entity:")
            for key, note in look.found.notes.items()
            if key.startswith("entity:")
        }
        by_path = {**paths, **{path.removesuffix(".md"): entity for path, entity in paths.items()}}
        linked = frozenset((edge.from_id, edge.relation, edge.to_id) for edge in look.memory.graph.edges())
        look.loaded = Entities(by_path, look.memory.graph.mentions(), linked)
    return look.loaded


def _read_copies(look: _Look) -> None:
    """Two files with one id are a conflict, not two facts: the copy's text is proposed where it is another one."""
    _load_facts(look, [key for _, key in look.found.doubles])
    for path, key in look.found.doubles:
        note, fact = look.path(path), look.facts.get(fact_id_of(key))
        original = look.path(look.found.notes[key].path)
        problem = Problem(note, f"it is a copy of {original}: keep one of the two")
        if fact is None or not is_fact_key(key):
            look.problems.append(problem)
            continue
        try:
            file = take_apart(look.folder.read(path) or b"")
            now = said(file, parse(file.frontmatter))
        except (NoteUnreadable, FrontmatterError) as error:
            look.problems.append(Problem(note, f"it cannot be read: {error}"))
            continue
        before = len(look.edits)
        _take(look, Said(now.text, None, safe_value(fact.confidence), ()), fact, note=note, entry=None)
        if len(look.edits) == before:
            look.problems.append(problem)


def deleted_keys(manifest: Manifest, found: Found) -> list[str]:
    """Notes of facts that a person deleted. When most notes are gone at once the folder was lost, nothing was said."""
    gone = [key for key in manifest.notes if key not in found.notes]
    if len(gone) > _LOST_NOTES and 2 * len(gone) > len(manifest.notes):
        return []
    return [key for key in gone if is_fact_key(key)]


def deletion(fact: Fact, note: str, entry: Entry) -> VaultEdit:
    """The edit that a deleted note is."""
    clash = fact.version != entry.seq
    return keyed(VaultEdit("deleted", note, fact.agent_id, fact.id, fact.version, is_conflict=clash))


def _find_deleted(look: _Look) -> None:
    keys = deleted_keys(look.manifest, look.found)
    _load_facts(look, keys)
    for key in sorted(keys):
        fact = look.facts.get(fact_id_of(key))
        if fact is not None and not fact.is_superseded:
            entry = look.manifest.notes[key]
            look.edits.append(deletion(fact, look.path(entry.path), entry))
    if not keys and len(look.found.notes) < len(look.manifest.notes) / 2:
        look.problems.append(Problem(look.folder.name, "most notes are gone; publishing brings them back"))


@dataclass(frozen=True, slots=True)
class NewNote:
    """A person's note in an agent's folder: the fact it would be."""

    agent_id: str
    text: str
    frontmatter: str
    pinned: bool
    confidence: str


def agent_of(path: str, manifest: Manifest) -> str | None:
    """The agent in whose folder of facts a note lies; a folder that no agent has names a new one."""
    parts = path.split("/")
    if len(parts) < 3 or path_key(parts[0]) != "facts":
        return None
    wanted = path_key(parts[1])
    known = (agent for agent, names in manifest.agents.items() if path_key(names.folder) == wanted)
    return next(known, parts[1])


def new_note(data: bytes, agent_id: str) -> NewNote | None:
    """What a note without `mem_id` says; None while it is empty. Raises `NoteUnreadable` or `FrontmatterError`."""
    if len(data) > MAX_NOTE_BYTES:
        raise NoteUnreadable("it is too long for a fact")
    if is_damaged(data) and (b"\0" in data or b"mem_id" in data):  # else a line of a person's own may look so
        raise NoteUnreadable("it is damaged: it holds NULs or only the start of a note")
    head, body = split_head(data)
    text = body.strip()
    if not text:
        return None
    mapping = parse(head)
    label = mapping.get("mem_confidence")
    return NewNote(agent_id, text, head, mapping.get("mem_pinned") is True, "" if label is None else str(label))


def _read_strangers(look: _Look, cancel: CancelToken) -> None:
    for path in look.found.strangers:
        agent_id = agent_of(path, look.manifest)
        if agent_id is None:
            continue
        cancel.check()
        note = look.path(path)
        try:
            new = new_note(look.folder.read(path) or b"", agent_id)
        except (NoteUnreadable, FrontmatterError) as error:
            look.problems.append(Problem(note, f"it cannot be read: {error}"))
            continue
        if new is None or _is_known(look, new):
            continue
        edit = VaultEdit("new", note, agent_id, "", 0, text=new.text, pinned=new.pinned or None)
        if new.confidence and new.confidence not in CONFIDENCE_LABELS:
            look.problems.append(Problem(note, f"mem_confidence must be one of {', '.join(CONFIDENCE_LABELS)}"))
        else:
            edit = replace(edit, confidence=new.confidence or None)
        look.edits.append(keyed(edit))


def _is_known(look: _Look, new: NewNote) -> bool:
    """Whether the agent has a live fact with just this text, which has no note yet: publishing brings them together."""
    try:
        ids = look.memory.resolve(new.agent_id, new.text)
    except NotFound:
        return False
    return any(fact_key(fact_id) not in look.found.notes for fact_id in ids)
