"""`graymatter kg`: the knowledge graph from the command line. NAME is an entity's id or any of its names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gm_engine.cli.payloads import time_payload
from gm_engine.cli.plain import plain
from gm_engine.cli.session import current, minute, shared_options, short
from gm_engine.errors import InvalidInput, NotFound
from gm_engine.graph.records import ENTITY_TYPES, DictionaryEntry, GraphChange, GraphOverview, GraphPath
from gm_engine.records import Edge, Entity, Fact, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory

_SHOWN = 20
_TYPES = f"One of {', '.join(ENTITY_TYPES)}, or any other word."


@click.group()
@shared_options
def kg() -> None:
    """The knowledge graph: who and what the facts are about, and how they are linked.

    NAME is an entity's id or any of its names. Every change can be undone by its number in `graymatter journal`.
    """


def entity_payload(entity: Entity) -> dict[str, JsonValue]:
    """An entity with the keys that the Go program stores, and who made it."""
    return {
        "id": entity.id,
        "label": entity.label,
        "entity_type": entity.type,
        "first_seen": time_payload(entity.first_seen_ns),
        "last_seen": time_payload(entity.last_seen_ns),
        "weight": entity.weight,
        "made_by": entity.made_by,
    }


def edge_payload(edge: Edge, *, is_stale: bool = False) -> dict[str, JsonValue]:
    """A link with the keys that the Go program stores, its receipts, and whether all of them are retired."""
    return {
        "from": edge.from_id,
        "to": edge.to_id,
        "relation": edge.relation,
        "created_at": time_payload(edge.created_ns),
        "weight": edge.weight,
        "made_by": edge.made_by,
        "sources": [*edge.sources],
        "stale": is_stale,
    }


def _entity_line(entity: Entity) -> str:
    name = "" if entity.id == entity.label else f"  [{plain(entity.id)}]"
    return f"{plain(entity.label)} ({plain(entity.type)}){name}"


def _edge_line(edge: Edge, names: dict[str, str], *, is_stale: bool = False) -> str:
    ends = (plain(names.get(end, end)) for end in (edge.from_id, edge.to_id))
    count = len(edge.sources)
    receipts = f"  {count} {'receipt' if count == 1 else 'receipts'}" if count else ""
    return f"{f' -{plain(edge.relation)}- '.join(ends)}{receipts}{'  stale' if is_stale else ''}"


def _labels(memory: Memory) -> dict[str, str]:
    return {entity.id: entity.label for entity in memory.graph.entities()}


@kg.command("list")
@click.option("--type", "kind", help="Only entities of this type.")
@click.option("--text", default="", help="Only entities one of whose names contains this.")
@click.option("--edges", is_flag=True, help="The links instead of the entities.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@shared_options
def list_(*, kind: str | None, text: str, edges: bool, limit: int | None) -> None:
    """The entities, heaviest first; or the links."""
    with current().reading() as memory:
        graph = memory.graph
        if edges:
            names, stale = _labels(memory), graph.stale()
            found = [(edge, (edge.from_id, edge.to_id, edge.relation) in stale) for edge in graph.edges()][:limit]
            lines = [_edge_line(edge, names, is_stale=is_stale) for edge, is_stale in found]
            payload: list[JsonValue] = [edge_payload(edge, is_stale=is_stale) for edge, is_stale in found]
            current().answer(payload, lines)
            return
        listed = graph.find(text, limit=sys.maxsize) if text else graph.entities()
    entities = [entity for entity in listed if kind in (None, entity.type)]
    if not text:
        entities.sort(key=lambda entity: (-entity.weight, entity.label, entity.id))
    current().answer([entity_payload(entity) for entity in entities[:limit]], map(_entity_line, entities[:limit]))


@kg.command()
@click.argument("name")
@shared_options
def show(name: str) -> None:
    """The entity NAME: its names, links, and the newest facts that mention it."""
    with current().reading() as memory:
        graph = memory.graph
        entity = graph.resolve(name)
        spellings = graph.names(entity.id)
        edges = [edge for edge in graph.edges() if entity.id in (edge.from_id, edge.to_id)]
        stale, names = graph.stale(), _labels(memory)
        facts = memory.facts(graph.mentioned_in(entity.id, limit=_SHOWN))
    marked = [(edge, (edge.from_id, edge.to_id, edge.relation) in stale) for edge in edges]
    payload: dict[str, JsonValue] = {
        **entity_payload(entity),
        "names": [*spellings],
        "edges": [edge_payload(edge, is_stale=is_stale) for edge, is_stale in marked],
        "facts": [{"id": fact.id, "agent_id": fact.agent_id, "text": fact.text} for fact in facts],
    }
    current().answer(payload, _show_lines(entity, spellings, marked, facts, names=names))


def _show_lines(
    entity: Entity,
    spellings: tuple[str, ...],
    edges: list[tuple[Edge, bool]],
    facts: list[Fact],
    *,
    names: dict[str, str],
) -> Iterator[str]:
    yield _entity_line(entity)
    yield f"names: {', '.join(map(plain, spellings)) or 'none'}"
    if entity.last_seen_ns is not None:
        yield f"last seen {minute(entity.last_seen_ns)}, weight {entity.weight:.2f}"
    yield from (f"  {_edge_line(edge, names, is_stale=is_stale)}" for edge, is_stale in edges)
    yield from (f"  {plain(fact.id)}  {plain(fact.agent_id)}  {short(fact.text, width=120)}" for fact in facts)


def _change(verb: Callable[[Memory], GraphChange]) -> None:
    """Applies a verb and answers with what it changed and the number that undoes it."""
    session = current()
    with session.writing() as memory:
        change = verb(memory)
        names = _labels(memory)
    payload: dict[str, JsonValue] = {
        "seq": change.seq,
        "entities": [entity_payload(entity) for entity in change.entities],
        "edges": [edge_payload(edge) for edge in change.edges],
    }
    done = "nothing to change" if change.seq is None else f"done; undo with `graymatter undo {change.seq}`"
    lines = [*map(_entity_line, change.entities), *(_edge_line(edge, names) for edge in change.edges), done]
    session.answer(payload, lines)


@kg.command()
@click.argument("label")
@click.option("--type", "kind", default="concept", show_default=True, help=_TYPES)
@click.option("--name", "names", multiple=True, help="A further spelling; may be given several times.")
@shared_options
def add(label: str, *, kind: str, names: tuple[str, ...]) -> None:
    """Add the entity LABEL."""
    _change(lambda memory: memory.graph.add(label, kind, names=names))


@kg.command()
@click.argument("name")
@click.argument("label")
@shared_options
def rename(name: str, label: str) -> None:
    """Give NAME another LABEL; it is still found by the old one."""
    _change(lambda memory: memory.graph.rename(memory.graph.resolve(name).id, label))


@kg.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.argument("kind", metavar="TYPE")
@shared_options
def retype(names: tuple[str, ...], kind: str) -> None:
    """Give entities another TYPE."""
    _change(lambda memory: memory.graph.retype([memory.graph.resolve(name).id for name in names], kind))


@kg.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.argument("into")
@shared_options
def merge(names: tuple[str, ...], into: str) -> None:
    """Make entities one: INTO takes over the names, links and receipts of the others."""

    def verb(memory: Memory) -> GraphChange:
        graph = memory.graph
        return graph.merge([graph.resolve(name).id for name in names], graph.resolve(into).id)

    _change(verb)


@kg.command()
@click.argument("name")
@click.argument("label")
@click.argument("facts", nargs=-1, required=True, metavar="FACT...")
@click.option("--type", "kind", help="The type of the new entity; that of NAME if left out.")
@shared_options
def split(name: str, label: str, facts: tuple[str, ...], *, kind: str | None) -> None:
    """Part NAME: a new entity LABEL takes over what the facts with the ids FACT say."""
    _change(lambda memory: memory.graph.split(memory.graph.resolve(name).id, label, facts=facts, type=kind))


@kg.command()
@click.argument("first", metavar="FROM")
@click.argument("second", metavar="TO")
@click.option("--relation", default="related_to", show_default=True, help="What FROM is to TO.")
@click.option("--fact", "facts", multiple=True, metavar="ID", help="A fact that says so; may be given several times.")
@shared_options
def link(first: str, second: str, *, relation: str, facts: tuple[str, ...]) -> None:
    """Link two entities."""

    def verb(memory: Memory) -> GraphChange:
        graph = memory.graph
        return graph.link(graph.resolve(first).id, graph.resolve(second).id, relation, sources=facts)

    _change(verb)


@kg.command()
@click.argument("first", metavar="NAME")
@click.argument("second", metavar="OTHER")
@click.option("--relation", help="Only links of this relation.")
@shared_options
def unlink(first: str, second: str, *, relation: str | None) -> None:
    """Take the links between two entities away; extraction does not make them again."""

    def verb(memory: Memory) -> GraphChange:
        graph = memory.graph
        return graph.unlink(graph.resolve(first).id, graph.resolve(second).id, relation)

    _change(verb)


@kg.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@shared_options
def delete(names: tuple[str, ...]) -> None:
    """Take entities away with their links; extraction ignores their names from now on."""
    _change(lambda memory: memory.graph.delete([memory.graph.resolve(name).id for name in names]))


@kg.command()
@click.argument("first", metavar="FROM")
@click.argument("second", metavar="TO")
@shared_options
def path(first: str, second: str) -> None:
    """A shortest way from one entity to another."""
    with current().reading() as memory:
        graph = memory.graph
        start, goal = graph.resolve(first), graph.resolve(second)
        found = graph.path(start.id, goal.id)
    if found is None:
        raise NotFound(f"No links lead from {start.label!r} to {goal.label!r}.", from_id=start.id, to_id=goal.id)
    payload: dict[str, JsonValue] = {
        "entities": [entity_payload(entity) for entity in found.entities],
        "edges": [edge_payload(edge) for edge in found.edges],
    }
    current().answer(payload, _path_lines(found))


def _path_lines(found: GraphPath) -> Iterator[str]:
    yield _entity_line(found.entities[0])
    for edge, entity in zip(found.edges, found.entities[1:], strict=True):
        yield f"  -{plain(edge.relation)}- {_entity_line(entity)}"


@kg.command()
@shared_options
def overview() -> None:
    """The shape of the graph: hubs, bridges, cut points, orphans, components."""
    with current().reading() as memory:
        found = memory.graph.overview()
        names = _labels(memory)
    payload: dict[str, JsonValue] = {
        "entities": found.entities,
        "edges": found.edges,
        "stale_edges": found.stale,
        "types": dict(found.types),
        "hubs": [{"id": entity_id, "degree": degree} for entity_id, degree in found.hubs],
        "cut_points": [*found.cut_points],
        "bridges": [[*pair] for pair in found.bridges],
        "orphans": [*found.orphans],
        "components": [*found.components],
    }
    current().answer(payload, _overview_lines(found, names))


def _overview_lines(found: GraphOverview, names: dict[str, str]) -> Iterator[str]:
    def listed(ids: tuple[str, ...]) -> str:
        more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
        return f"{', '.join(plain(names[each]) for each in ids[:_SHOWN]) or 'none'}{more}"

    yield f"{found.entities:,} entities, {found.edges:,} links, {found.stale:,} of them stale"
    yield f"types: {', '.join(f'{plain(kind)} {count:,}' for kind, count in found.types) or 'none'}"
    yield f"hubs: {', '.join(f'{plain(names[each])} {degree:,}' for each, degree in found.hubs) or 'none'}"
    yield f"cut points: {listed(found.cut_points)}"
    pairs = [f"{plain(names[first])} - {plain(names[second])}" for first, second in found.bridges]
    more = f" and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    yield f"bridges: {', '.join(pairs[:_SHOWN]) or 'none'}{more}"
    yield f"orphans: {listed(found.orphans)}"
    yield f"components: {', '.join(f'{size:,}' for size in found.components[:_SHOWN]) or 'none'}"


@kg.command()
@click.option("--all", "everything", is_flag=True, help="Read every live fact again, not only those that changed.")
@shared_options
def extract(*, everything: bool) -> None:
    """Read facts by rules and dictionary, and feed the graph with what they name."""
    session = current()
    with session.writing() as memory, session.progress() as progress:
        report = memory.graph.extract(everything=everything, progress=progress)
    payload: dict[str, JsonValue] = {"facts": report.facts, "entities": report.entities, "edges": report.edges}
    session.answer(
        payload, [f"read {report.facts:,} facts: {report.entities:,} new entities, {report.edges:,} new links"]
    )


@kg.group()
@shared_options
def dictionary() -> None:
    """Your own names for extraction: how they are written, what they name, what to ignore."""


def _entry_payload(entry: DictionaryEntry) -> dict[str, JsonValue]:
    return {"label": entry.label, "type": entry.type, "names": [*entry.names], "ignore": entry.ignore}


@dictionary.command("list")
@shared_options
def list_dictionary() -> None:
    """Every entry."""
    with current().reading() as memory:
        entries = memory.graph.dictionary()
    current().answer([_entry_payload(entry) for entry in entries], map(_entry_line, entries))


def _entry_line(entry: DictionaryEntry) -> str:
    names = f"  also {', '.join(map(plain, entry.names))}" if entry.names else ""
    return f"{plain(entry.label)} ({'ignored' if entry.ignore else plain(entry.type)}){names}"


@dictionary.command()
@click.argument("label")
@click.option("--type", "kind", default="concept", show_default=True, help=_TYPES)
@click.option("--name", "names", multiple=True, help="A further spelling; may be given several times.")
@click.option("--ignore", is_flag=True, help="Never make an entity of these names.")
@shared_options
def define(label: str, *, kind: str, names: tuple[str, ...], ignore: bool) -> None:
    """Write the entry LABEL, replacing one of that name."""
    _change(lambda memory: memory.graph.define(DictionaryEntry(label, kind, names, ignore)))


@dictionary.command()
@click.argument("labels", nargs=-1, required=True, metavar="LABEL...")
@shared_options
def remove(labels: tuple[str, ...]) -> None:
    """Take entries out; entities stay as they are."""
    _change(lambda memory: memory.graph.undefine(labels))


@dictionary.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@shared_options
def export(file: Path) -> None:
    """Write the dictionary to FILE (`-`: standard output), made to be edited and brought in again."""
    with current().reading() as memory:
        entries, text = memory.graph.dictionary(), memory.graph.export_dictionary()
    if str(file) == "-":
        sys.stdout.write(text)
        return
    file.write_text(text, encoding="utf-8", newline="\n")
    current().answer(
        {"file": str(file), "entries": len(entries)},
        [f"wrote {len(entries):,} {'entry' if len(entries) == 1 else 'entries'}"],
    )


@dictionary.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@shared_options
def import_(file: Path) -> None:
    """Bring in a dictionary from FILE (`-`: standard input); entries of the same name are replaced."""
    try:
        text = (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text ({error.reason} at byte {error.start}).") from error
    _change(lambda memory: memory.graph.import_dictionary(text))
