"""The files of a published folder that are no notes: tables (`Memory.base`) and the graph (`Memory.canvas`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from exporters.canvas import CanvasGraph, canvas
from exporters.obsidian.contents import Contents
from exporters.obsidian.folder import Folder, Scan
from exporters.obsidian.frontmatter import quoted
from exporters.obsidian.layout import Layout, entity_key, entity_title
from exporters.obsidian.links import shown
from exporters.obsidian.manifest import Manifest, Stamp
from exporters.obsidian.note_file import content_hash
from exporters.profiles import PublishOptions
from gm_engine import Edge, Memory

BASE, CANVAS = "Memory.base", "Memory.canvas"
_FACTS = 'mem_kind == "fact"'
_COLUMNS = ("file.name", "mem_agent", "mem_confidence", "mem_pinned", "mem_created", "mem_origin")
_VIEWS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    ("Live facts", (_FACTS, 'mem_status == "live"'), _COLUMNS, "mem_created"),
    ("Retired", (_FACTS, 'mem_status == "retired"'), _COLUMNS, "mem_created"),
    ("Low confidence", (_FACTS, 'mem_status == "live"', 'mem_confidence == "unverified"'), _COLUMNS, "mem_created"),
    ("Changed this week", (_FACTS, 'file.mtime > now() - "7d"'), (*_COLUMNS, "file.mtime"), "file.mtime"),
    ("Entities", ('mem_kind == "entity"',), ("file.name", "mem_type", "mem_created"), "mem_created"),
)


@dataclass(frozen=True, slots=True)
class Extra:
    """One such file: its path in the folder and what to write; `data` None leaves it, `reason` says why if it is not as
    we would write it. `content` is the hash of the file afterwards."""

    path: str
    data: bytes | None
    content: str
    stamp: Stamp | None
    is_new: bool
    reason: str = ""


def base_file(folder: str) -> bytes:
    """The views of the published notes, for Obsidian's Bases."""
    lines = ["filters:", "  and:", f"    - {quoted(f'file.inFolder({quoted(folder)})')}", "views:"]
    for name, filters, columns, order in _VIEWS:
        lines += ["  - type: table", f"    name: {name}", "    filters:", "      and:"]
        lines += [f"        - {quoted(each)}" for each in filters]
        lines += ["    order:", *(f"      - {column}" for column in columns)]
        lines += ["    sort:", f"      - property: {order}", "        direction: DESC"]
    return ("\n".join(lines) + "\n").encode()


def extras(
    memory: Memory,
    contents: Contents,
    layout: Layout,
    *,
    options: PublishOptions,
    folder: Folder,
    scan: Scan,
    manifest: Manifest,
    known: Mapping[str, Stamp],
) -> tuple[Extra, ...]:
    """What to do with these files. A table that a person changed is theirs; a canvas keeps what a person moved.

    `known` are stamps of files that need no look, where the graph has not changed.
    """
    found = []
    if options.base:
        found.append(_extra(BASE, base_file(folder.name), folder, scan, manifest.files, is_theirs=True))
    is_same = CANVAS in known and scan.files.get(CANVAS) == known[CANVAS] and CANVAS in manifest.files
    if options.canvas and contents.entities and is_same:
        found.append(Extra(CANVAS, None, manifest.files[CANVAS], known[CANVAS], is_new=False))
    elif options.canvas and contents.entities:
        data = canvas(_graph(memory, contents, layout), folder.read(CANVAS))
        found.append(_extra(CANVAS, data, folder, scan, manifest.files, is_theirs=False))
    return tuple(found)


def _extra(path: str, data: bytes, folder: Folder, scan: Scan, files: Mapping[str, str], *, is_theirs: bool) -> Extra:
    present = folder.read(path)
    stamp = scan.files.get(path)
    if present == data:
        return Extra(path, None, content_hash(data), stamp, is_new=False)
    if present is not None and path in scan.read_only:
        return Extra(path, None, content_hash(present), stamp, is_new=False, reason="the file is read-only")
    is_edited = present is not None and (path not in files or content_hash(present) != files[path])
    if is_edited and present is not None and is_theirs:
        return Extra(path, None, files.get(path, ""), stamp, is_new=False)
    return Extra(path, data, content_hash(data), stamp, is_new=present is None)


def _graph(memory: Memory, contents: Contents, layout: Layout) -> CanvasGraph:
    def file_of(entity_id: str) -> str | None:
        key = entity_key(entity_id)
        return layout.vault_path(key) if key in layout.places else None

    return CanvasGraph(
        entities=sorted(contents.entities.values(), key=lambda entity: entity.id),
        edges=list(_edges(contents.edges_of.values())),
        positions=memory.graph.positions(),
        title_of=lambda entity: shown(entity_title(entity)),
        file_of=lambda entity: file_of(entity.id),
    )


def _edges(groups: Iterable[Iterable[Edge]]) -> Iterator[Edge]:
    """Every edge once, in a fixed order."""
    edges = {(edge.from_id, edge.relation, edge.to_id): edge for group in groups for edge in group}
    yield from (edges[key] for key in sorted(edges))
