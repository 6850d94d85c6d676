"""What a publish will do, decided before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from exporters.obsidian.adopting import adopt
from exporters.obsidian.colours import Colours, colours
from exporters.obsidian.compare import Decisions, Step, compare
from exporters.obsidian.contents import Contents, read_contents, selected, state_of
from exporters.obsidian.edits import Entities
from exporters.obsidian.extras import Extra, extras
from exporters.obsidian.finding import Found, find_notes
from exporters.obsidian.folder import Folder, Scan, uses_markdown_links
from exporters.obsidian.fresh import changed_since, fresh_notes, steady_notes
from exporters.obsidian.layout import Layout, entity_key, fact_key, in_vault, lay_out
from exporters.obsidian.manifest import FILES, MANIFEST, Manifest, Stamp, load_files, load_manifest
from exporters.obsidian.maps import render_all
from exporters.obsidian.names import NOTE_SUFFIX, path_key
from exporters.obsidian.notes import RENDERING, Note, Renderer
from exporters.obsidian.round_trip import deleted_keys, deletion, fact_id_of
from exporters.profiles import PublishOptions
from gm_engine import CancelToken, Memory, Progress, ProposalState
from gm_engine.garbage import without_collecting

_EVERY = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """One step a note, in the order of writing.

    `untouched` counts notes that are known to be up to date; there are no steps for them, and `fresh` are their keys
    where there are steps for others.
    `orphans` maps ids of notes whose fact is retired or whose record is gone to their paths (as in `Entry`). `seq` is
    the store's last journal seq when it was read, `state` names that state, the rendering and the folder. `manifest`
    and `stamps` are as they were found. `deleted` maps live facts whose note a person deleted to its path:
    that waits for a decision.
    """

    folder: Folder
    scan: Scan
    layout: Layout
    found: Found
    manifest: Manifest
    stamps: dict[str, Stamp]
    steps: tuple[Step, ...]
    orphans: dict[str, str]
    seq: int
    state: str
    untouched: int
    deleted: Mapping[str, str] = field(default_factory=dict)
    extras: tuple[Extra, ...] = ()
    fresh: frozenset[str] = frozenset()
    colours: Colours | None = None

    def vault_path(self, path: str) -> str:
        """A path as in `Entry` as a path from the vault's root."""
        return in_vault(self.folder.name, path)


@without_collecting()
def make_plan(
    memory: Memory,
    folder: Folder,
    *,
    options: PublishOptions,
    progress: Progress,
    cancel: CancelToken,
    remove_orphans: bool = False,
) -> Plan:
    """Reads the store and the folder and decides every step; writes nothing.

    With `remove_orphans` retired facts keep no note. Raises `PublishRefused` or `Cancelled`.
    """
    manifest = load_manifest(folder.read(MANIFEST))
    cancel.check()
    stamps = load_files(folder.read(FILES))
    cancel.check()
    scan = folder.scan()
    found = find_notes(folder, scan, manifest, stamps, cancel=cancel)
    store = state_of(memory)
    markdown = options.links == "markdown" or (options.links == "vault" and uses_markdown_links(folder.vault))
    state = store and f"{store}-{RENDERING}-{folder.name}-{options.mark()}{'-m' if markdown else ''}"
    if _is_up_to_date(manifest, stamps, found, state, scan):
        seq, notes = memory.last_seq(), len(manifest.notes)
        return Plan(folder, scan, Layout(folder.name), found, manifest, stamps, (), {}, seq, state, notes)
    contents = selected(read_contents(memory, progress=progress, cancel=cancel), options)
    rejected = rejected_edits(memory)
    found, manifest = adopt(contents, found, manifest, folder=folder, scan=scan, stamps=stamps, cancel=cancel)
    deleted = dict(_deleted(contents, manifest, found, rejected))
    changed = changed_since(memory, manifest, state)
    layout, orphans = _places(
        contents,
        _Seen(folder, scan, found, manifest, deleted),
        options=options,
        markdown=markdown,
        remove_orphans=remove_orphans,
        steady=steady_notes(changed, contents, manifest),
    )
    fresh = fresh_notes(changed, contents, layout=layout, found=found, manifest=manifest, stamps=stamps, folder=folder)
    decisions = Decisions(contents.facts, rejected, lambda: _entities(contents, layout))
    rendered = render_all(Renderer(contents, layout, options), but=fresh)
    seen = _Seen(folder, scan, found, manifest, deleted)
    steps = tuple(_steps(rendered, seen, stamps=stamps, decisions=decisions, progress=progress, cancel=cancel))
    plan = Plan(folder, scan, layout, found, manifest, stamps, steps, orphans, contents.seq, state, len(fresh), deleted)
    known = stamps if fresh else {}
    beside = extras(memory, contents, layout, options=options, folder=folder, scan=scan, manifest=manifest, known=known)
    tinted = colours(folder, manifest.files) if options.colours else None
    return replace(plan, fresh=fresh, extras=beside, colours=tinted)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What lies in the folder, and notes that are to stay away."""

    folder: Folder
    scan: Scan
    found: Found
    manifest: Manifest
    deleted: Mapping[str, str]


def _steps(
    notes: Iterator[Note],
    seen: _Seen,
    *,
    stamps: Mapping[str, Stamp],
    decisions: Decisions,
    progress: Progress,
    cancel: CancelToken,
) -> Iterator[Step]:
    """What to do with each note. Raises `Cancelled`."""
    for number, note in enumerate(notes):
        if number % _EVERY == 0:
            cancel.check()
            progress(number, None, "Comparing notes")
        there, entry = seen.found.notes.get(note.key), seen.manifest.notes.get(note.key)
        known = stamps.get(there.path) if there is not None else None
        yield compare(note, seen.folder, there, known=known, entry=entry, decisions=decisions)


def _places(
    contents: Contents,
    seen: _Seen,
    *,
    options: PublishOptions,
    markdown: bool,
    remove_orphans: bool,
    steady: frozenset[str],
) -> tuple[Layout, dict[str, str]]:
    """Where every note lies, and the notes that have no place any more."""
    present = {key: note.path for key, note in seen.found.notes.items()}
    gone = (fact for fact in contents.facts.values() if fact.is_superseded and options.retired == "none")
    retired = [key for fact in gone if (key := fact_key(fact.id)) in present]
    orphans = {key: present[key] for key in retired}
    if remove_orphans:
        for key in retired:
            del present[key]
    taken = (*seen.scan.files, *seen.scan.occupied)
    layout = lay_out(
        contents,
        seen.manifest,
        folder=seen.folder.name,
        present=present,
        taken=taken,
        without=seen.deleted,
        retired=options.retired,
        markdown_links=markdown,
        steady=steady,
    )
    orphans.update((key, note.path) for key, note in seen.found.notes.items() if key not in layout.places)
    return layout, orphans


def rejected_edits(memory: Memory) -> frozenset[str]:
    """The keys of vault edits that a person turned down: the store's side holds."""
    states: tuple[ProposalState, ...] = ("rejected", "never")
    return frozenset(proposal.same_key for state in states for proposal in memory.inbox.list(state, source="vault"))


def _deleted(
    contents: Contents, manifest: Manifest, found: Found, rejected: frozenset[str]
) -> Iterator[tuple[str, str]]:
    for key in deleted_keys(manifest, found):
        fact = contents.facts.get(fact_id_of(key))
        entry = manifest.notes[key]
        if fact is not None and not fact.is_superseded and deletion(fact, "", entry).key not in rejected:
            yield key, entry.path


def _entities(contents: Contents, layout: Layout) -> Entities:
    paths = {path_key(layout.vault_path(entity_key(entity))): entity for entity in contents.entities}
    by_path = {**paths, **{path.removesuffix(NOTE_SUFFIX): entity for path, entity in paths.items()}}
    edges = {edge for found in contents.edges_of.values() for edge in found}
    return Entities(by_path, contents.mentions, frozenset((e.from_id, e.relation, e.to_id) for e in edges))


def _is_up_to_date(manifest: Manifest, stamps: dict[str, Stamp], found: Found, state: str, scan: Scan) -> bool:
    """Whether every note is as it was written from this very state of the store, and none came or went."""
    if not state or manifest.complete != state or found.doubles or found.notes.keys() != manifest.notes.keys():
        return False
    ours = (path for path in manifest.files if not path.startswith("/"))  # settings are the person's
    if any(scan.files.get(path) is None or scan.files[path] != stamps.get(path) for path in ours):
        return False
    return all(
        there.path == manifest.notes[key].path and there.stamp == stamps.get(there.path)
        for key, there in found.notes.items()
    )
