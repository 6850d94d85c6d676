"""Where every note lies: paths that stay once given, a person's moves respected, titles and shown names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from exporters.obsidian.contents import Contents
from exporters.obsidian.links import markdown_link, shown, wikilink
from exporters.obsidian.manifest import AgentNames, Entry, Manifest
from exporters.obsidian.names import (
    ELLIPSIS,
    MAX_PATH_CHARS,
    NOTE_SUFFIX,
    PathBook,
    file_name,
    free_name,
    path_key,
    tag_part,
    title_of,
)
from exporters.profiles import RetiredNotes
from gm_engine import Checkpoint, Entity
from gm_engine.clock import format_ns

MAP_ID = "map:memory"
ENTITY_TAG = "entity"
_AGENT_CHARS = 40
_TITLE_KEYS = ("title", "name", "task", "goal", "phase")


def fact_key(fact_id: str) -> str:
    """The `mem_id` of a fact's note: the fact's id itself."""
    return f"fact:{fact_id}" if ":" in fact_id else fact_id


def agent_key(agent_id: str) -> str:
    """The `mem_id` of an agent's note."""
    return f"agent:{agent_id}"


def entity_key(entity_id: str) -> str:
    """The `mem_id` of an entity's note."""
    return f"entity:{entity_id}"


def checkpoint_key(checkpoint_id: str) -> str:
    """The `mem_id` of a checkpoint's note."""
    return f"checkpoint:{checkpoint_id}"


class Place(NamedTuple):
    """Where one note lies and what it is called. `path` and `wanted` are as in `Entry`."""

    path: str
    wanted: str
    title: str


class _Titled(NamedTuple):
    """A note that wants a place: the name to make its file name of, and what it is called."""

    key: str
    directory: str
    name: str
    title: str


@dataclass(slots=True)
class Layout:
    """The places of all notes of one publish, by `mem_id`; `agents` holds the names of the agents' folders and tags."""

    folder: str
    agents: dict[str, AgentNames] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    markdown_links: bool = False

    def vault_path(self, key: str) -> str:
        """The path of a note from the vault's root."""
        return in_vault(self.folder, self.places[key].path)

    def link(self, key: str) -> str | None:
        """A wikilink to a note, or None when it is not published."""
        place = self.places.get(key)
        if place is None:
            return None
        path = in_vault(self.folder, place.path)
        return markdown_link(path, shown(place.title)) if self.markdown_links else wikilink(path, shown(place.title))


def in_vault(folder: str, path: str) -> str:
    """A manifest path as a path from the vault's root."""
    return path[1:] if path.startswith("/") else f"{folder}/{path}"


def lay_out(
    contents: Contents,
    manifest: Manifest,
    *,
    folder: str,
    present: Mapping[str, str],
    taken: Iterable[str],
    without: Collection[str] = (),
    retired: RetiredNotes = "none",
    markdown_links: bool = False,
    steady: Collection[str] = (),
) -> Layout:
    """Gives every note its place.

    `present` maps the ids of notes found in the vault to their paths, `taken` are all files in the folder. A note that
    is where the manifest says follows its title when that changed; one that a person moved stays. Retired facts keep
    a place only where they have a note already, unless `retired` says otherwise. The ids in `without` get none;
    `steady` ones are known to want what they wanted.
    """
    layout = Layout(folder, markdown_links=markdown_links)
    book = PathBook(taken, room=MAX_PATH_CHARS - len(folder) - 1)
    _name_agents(layout, contents, manifest)
    for key, directory, name, title in _titles(contents, layout, present, retired):
        if key in without:
            continue
        path, entry = present.get(key), manifest.notes.get(key)
        if key in steady and entry is not None and path == entry.path:
            layout.places[key] = Place(path, entry.wanted, title)
            continue
        wanted = book.wanted(directory, name)
        if path is None:
            path = book.take(wanted)
        elif _moved_by_a_person(path, wanted, entry):
            wanted = ""
        elif not _fits(path, wanted):
            book.release(path)
            path = book.take(wanted)
        layout.places[key] = Place(path, wanted, title)
    return layout


def _moved_by_a_person(path: str, wanted: str, entry: Entry | None) -> bool:
    """Whether the note at `path` was put there by somebody else: then it stays, whatever its title becomes."""
    if path.startswith("/"):
        return True
    if entry is None:
        return not _fits(path, wanted)
    return path_key(entry.path) != path_key(path) or not entry.wanted


def _fits(path: str, wanted: str) -> bool:
    """Whether `path` is `wanted` with the extension, numbered or not."""
    stem = path_key(path).removesuffix(NOTE_SUFFIX)
    base = path_key(wanted)
    return stem == base or (stem.startswith(f"{base} ") and stem[len(base) + 1 :].isdigit())


def _titles(contents: Contents, layout: Layout, present: Mapping[str, str], retired: RetiredNotes) -> list[_Titled]:
    """Every note to publish, in the order in which free names are given out."""
    notes = [_Titled(MAP_ID, "", "Memory", "Memory")]
    for agent in contents.agents:
        name = layout.agents[agent.agent_id].folder
        notes.append(_Titled(agent_key(agent.agent_id), "Agents", name, agent.agent_id))
    for fact in sorted(contents.facts.values(), key=lambda fact: (fact.created_ns, fact.id)):
        if not fact.is_superseded or retired != "none" or fact_key(fact.id) in present:
            top = "Retired" if fact.is_superseded and retired == "folder" else "Facts"
            directory = f"{top}/{_folder(layout, fact.agent_id)}"
            title = title_of(fact.text)
            notes.append(_Titled(fact_key(fact.id), directory, title.removesuffix(ELLIPSIS), title))
    for entity in sorted(contents.entities.values(), key=lambda entity: entity.id):
        title = entity_title(entity)
        notes.append(_Titled(entity_key(entity.id), "Entities", title, title))
    for summary in reversed(contents.checkpoints):
        checkpoint = contents.saved.get(summary.id)
        if checkpoint is not None:
            title = checkpoint_title(checkpoint)
            directory = f"Checkpoints/{_folder(layout, summary.agent_id)}"
            notes.append(_Titled(checkpoint_key(summary.id), directory, title, title))
    return notes


def entity_title(entity: Entity) -> str:
    """What an entity is called: its label, or its id where the label is blank."""
    return entity.label if entity.label.strip() else entity.id


def checkpoint_title(checkpoint: Checkpoint) -> str:
    """The moment of a checkpoint, and its title where its metadata or state holds one."""
    moment = format_ns(checkpoint.created_ns)[:16].replace("T", " ").replace(":", ".")
    for source in (checkpoint.metadata, checkpoint.state):
        for key in _TITLE_KEYS:
            value = source.get(key)
            if isinstance(value, str) and value.strip():
                return f"{moment} {title_of(value, 40)}"
    return moment


def _folder(layout: Layout, agent_id: str) -> str:
    return layout.agents[agent_id].folder if agent_id in layout.agents else file_name(agent_id, limit=_AGENT_CHARS)


def _name_agents(layout: Layout, contents: Contents, manifest: Manifest) -> None:
    """Agents keep the folder and tag they were given; new ones get free ones."""
    folders = [names.folder for names in manifest.agents.values()]
    tags = [ENTITY_TAG, *(names.tag for names in manifest.agents.values())]
    layout.agents.update(manifest.agents)
    for agent in contents.agents:
        if agent.agent_id in layout.agents:
            continue
        folder = free_name(file_name(agent.agent_id, limit=_AGENT_CHARS), folders, separator=" ")
        tag = free_name(tag_part(agent.agent_id), tags, separator="-")
        layout.agents[agent.agent_id] = AgentNames(folder, tag)
        folders.append(folder)
        tags.append(tag)
