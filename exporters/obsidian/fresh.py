"""Which notes need not be made again: the manifest says they showed all, and nothing that they show changed.

A note shows its own record and links to others. So after changes of a few facts the notes to make again are those of
the facts, those that they link to now and those that they linked to when they were written: links go both ways. All
other notes stay as they are, while every one of them lies where it lay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exporters.obsidian.contents import Contents
from exporters.obsidian.finding import Found
from exporters.obsidian.folder import Folder
from exporters.obsidian.layout import MAP_ID, Layout, agent_key, entity_key, fact_key, in_vault
from exporters.obsidian.links import link_targets
from exporters.obsidian.manifest import Manifest, Stamp
from exporters.obsidian.names import NOTE_SUFFIX
from gm_engine import Memory, NotFound

_FEW = 100
_KINDS = frozenset(("fact", "proposal", "setting"))
_RECORDS = ("agent:", "entity:", "checkpoint:")


def changed_since(memory: Memory, manifest: Manifest, state: str) -> frozenset[str] | None:
    """The facts that changed since the last complete publish; None when more than a few facts did, or it is unknown."""
    parts = manifest.complete.split("-")
    if not state or len(parts) < 4 or not parts[0].isdigit() or state.split("-")[3:] != parts[3:]:
        return None
    try:
        entry = memory.entry(int(parts[0]))
    except NotFound:
        return None
    if [str(entry.seq), entry.group_id, str(entry.at_ns)] != parts[:3]:
        return None
    changes = memory.changes_since(entry.seq)
    if not changes.kinds <= _KINDS or len(changes.fact_ids) > _FEW:
        return None
    return changes.fact_ids


def steady_notes(changed: frozenset[str] | None, contents: Contents, manifest: Manifest) -> frozenset[str]:
    """The keys of notes whose titles and folders are those of the last publish: facts that stayed, and all records."""
    if changed is None:
        return frozenset()
    keys = ((fact_key(fact.id), fact.version) for fact in contents.facts.values())
    facts = {k for k, version in keys if k in manifest.notes and manifest.notes[k].seq == version}
    return frozenset(facts.union(key for key in manifest.notes if key.startswith(_RECORDS)))


def fresh_notes(
    changed: frozenset[str] | None,
    contents: Contents,
    *,
    layout: Layout,
    found: Found,
    manifest: Manifest,
    stamps: Mapping[str, Stamp],
    folder: Folder,
) -> frozenset[str]:
    """The keys of notes that are as they would be written; none when that is not certain."""
    if changed is None:
        return frozenset()
    own = {fact_key(fact_id) for fact_id in changed}
    for key, entry in manifest.notes.items():  # a note elsewhere: links to it change
        place = layout.places.get(key)
        if key not in own and (place is None or place.path != entry.path):
            return frozenset()
    before = _linked_before(changed, contents, found, manifest, folder)
    if before is None:
        return frozenset()
    touched = {MAP_ID, *own, *before, *_linked_now(changed, contents)}
    versions = {fact_key(fact.id): fact.version for fact in contents.facts.values()}
    fresh = set()
    for key, known in manifest.notes.items():
        note = found.notes.get(key)
        if key in touched or note is None or note.stamp is None or note.path != known.path:
            continue
        if versions.get(key, known.seq) == known.seq and note.stamp == stamps.get(note.path):
            fresh.add(key)
    return frozenset(fresh)


def _linked_before(
    changed: Iterable[str], contents: Contents, found: Found, manifest: Manifest, folder: Folder
) -> set[str] | None:
    """What the notes of these facts link to, as they lie there.

    None where that is unknown: a note can't be read, or an older fact had none and others told of it all the same.
    """
    of_path = {in_vault(folder.name, entry.path): key for key, entry in manifest.notes.items()}
    published_ns = int(manifest.complete.split("-")[2])
    linked: set[str] = set()
    for fact_id in changed:
        key, fact = fact_key(fact_id), contents.facts.get(fact_id)
        if key not in manifest.notes:
            if fact is None or fact.created_ns <= published_ns:
                return None
            continue  # a new fact: nothing showed it
        note = found.notes.get(key)
        data = None if note is None or note.path.startswith("/") else folder.read(note.path)
        if data is None:
            return None
        targets = link_targets(data.decode("utf-8", "replace"))
        linked.update(of_path[path] for target in targets if (path := _with_suffix(target)) in of_path)
    return linked


def _with_suffix(target: str) -> str:
    return target if target.endswith(NOTE_SUFFIX) else f"{target}{NOTE_SUFFIX}"


def _linked_now(changed: frozenset[str], contents: Contents) -> set[str]:
    """The notes that show one of these facts now."""
    linked: set[str] = set()
    for fact_id in changed:
        fact = contents.facts.get(fact_id)
        if fact is None:
            continue
        linked.add(agent_key(fact.agent_id))
        linked.update(fact_key(older) for older in contents.replaced.get(fact_id, ()))
        linked.update(map(entity_key, contents.mentions.get(fact_id, ())))
        for edge in contents.edges_from_fact.get(fact_id, ()):
            linked.update((entity_key(edge.from_id), entity_key(edge.to_id)))
    for fact_id, replaced in contents.replaced.items():
        if not changed.isdisjoint(replaced):
            linked.add(fact_key(fact_id))
    return linked
