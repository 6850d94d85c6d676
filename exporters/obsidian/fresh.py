"""Which notes of facts need not be made again: the manifest says they showed all, and nothing that they show changed.

A note of a fact shows the fact, its lineage, and links to entities, its agent and replaced facts. So it stays as it is
while the changes since the last complete publish are changes of a few facts that are not in its lineage, and every
other note lies where it lay.
"""

from __future__ import annotations

from collections.abc import Mapping

from exporters.obsidian.contents import Contents
from exporters.obsidian.finding import Found
from exporters.obsidian.layout import Layout, fact_key
from exporters.obsidian.manifest import Manifest, Stamp
from gm_engine import Memory, NotFound

_FEW = 100
_KINDS = frozenset(("fact", "proposal", "setting"))


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
    """The keys of facts' notes whose titles and folders are those of the last publish."""
    if changed is None:
        return frozenset()
    keys = ((fact_key(fact.id), fact.version) for fact in contents.facts.values())
    return frozenset(k for k, version in keys if k in manifest.notes and manifest.notes[k].seq == version)


def fresh_notes(
    changed: frozenset[str] | None,
    contents: Contents,
    *,
    layout: Layout,
    found: Found,
    manifest: Manifest,
    stamps: Mapping[str, Stamp],
) -> frozenset[str]:
    """The keys of facts' notes that are as they would be written."""
    if changed is None:
        return frozenset()
    touched = {fact_key(fact_id) for fact_id in changed}
    for key, entry in manifest.notes.items():  # a note elsewhere: links to it change
        place = layout.places.get(key)
        if key not in touched and (place is None or place.path != entry.path):
            return frozenset()
    for fact_id in changed:
        touched.update(fact_key(older) for older in contents.replaced.get(fact_id, ()))
    for fact_id, replaced in contents.replaced.items():
        if not changed.isdisjoint(replaced):
            touched.add(fact_key(fact_id))
    fresh = set()
    for fact in contents.facts.values():
        key = fact_key(fact.id)
        note, known = found.notes.get(key), manifest.notes.get(key)
        if key in touched or note is None or known is None or known.base is None or known.seq != fact.version:
            continue
        if note.path == known.path and note.stamp is not None and note.stamp == stamps.get(note.path):
            fresh.add(key)
    return frozenset(fresh)
