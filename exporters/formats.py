"""The formats that are a few files: Markdown, lossless JSON, JSON Canvas, DOT and one HTML page of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from exporters.canvas import CanvasGraph, canvas
from exporters.exporting import Request
from exporters.files import Content, FilesExporter
from exporters.graph_page import graph_page
from exporters.obsidian.contents import Contents, read_contents, selected
from exporters.obsidian.names import file_name, free_name
from exporters.obsidian.text import escape, inline, visible
from exporters.profiles import PublishOptions
from gm_engine import Edge, Entity, Memory, no_progress
from gm_engine.clock import format_ns

_DOT_ESCAPED = re.compile(r'["\\\n]')
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class JsonExporter(FilesExporter):
    """`json`: everything but vectors, history included; `graymatter import` fills an empty store with it."""

    name = "json"

    def files(self, request: Request) -> Mapping[str, Content]:
        """One file, streamed row by row. The options do not apply: it is the whole store."""

        def lines() -> Iterator[bytes]:
            for line in request.memory.dump():
                request.cancel.check()
                yield line.encode()

        return {"graymatter.json": lines}


class MarkdownExporter(FilesExporter):
    """`markdown`: one plain file for each agent."""

    name = "markdown"

    def files(self, request: Request) -> Mapping[str, Content]:
        """The agents' files, named after them."""
        options = request.options
        contents = selected(read_contents(request.memory, progress=no_progress, cancel=request.cancel), options)
        files: dict[str, Content] = {}
        names: list[str] = []
        for agent in contents.agents:
            name = free_name(file_name(agent.agent_id), names, separator=" ")
            names.append(name)
            files[f"{name}.md"] = _whole(_agent_page(contents, agent.agent_id, options).encode())
        return files


def _agent_page(contents: Contents, agent_id: str, options: PublishOptions) -> str:
    facts = [contents.facts[fact_id] for fact_id in contents.live_of.get(agent_id, ())]
    lines = [f"# {inline(agent_id, 300)}", ""]
    for fact in facts:
        marks = [fact.effective_confidence.value, *(["pinned"] if fact.pinned else []), fact.kind or "fact"]
        text = "\n  ".join(escape(visible(fact.text)).split("\n"))
        lines += [f"- {text}", f"  <small>{format_ns(fact.created_ns)[:10]} · {' · '.join(marks)}</small>"]
    if options.retired != "none":
        gone = [fact for fact in contents.facts.values() if fact.is_superseded and fact.agent_id == agent_id]
        lines += ["", "## Retired", ""] if gone else []
        lines += [f"- ~~{inline(fact.text)}~~" for fact in gone]
    return "\n".join(lines) + "\n"


class CanvasExporter(FilesExporter):
    """`canvas`: the graph as JSON Canvas 1.0, with text nodes."""

    name = "canvas"

    def files(self, request: Request) -> Mapping[str, Content]:
        """One file."""
        entities, edges = graph_of(request.memory)
        graph = CanvasGraph(
            entities,
            edges,
            request.memory.graph.positions(),
            title_of=lambda entity: inline(entity.label, 200) or entity.id,
            file_of=lambda _: None,
        )
        return {"graph.canvas": _whole(canvas(graph))}


class DotExporter(FilesExporter):
    """`dot`: the graph for Graphviz."""

    name = "dot"

    def files(self, request: Request) -> Mapping[str, Content]:
        """One file."""
        return {"graph.dot": _whole(dot(*graph_of(request.memory)).encode())}


class HtmlExporter(FilesExporter):
    """`html`: one page with the graph that opens offline."""

    name = "html"

    def files(self, request: Request) -> Mapping[str, Content]:
        """One file."""
        entities, edges = graph_of(request.memory)
        page = graph_page(entities, edges, request.memory.graph.positions())
        return {"graph.html": _whole(page.encode())}


def graph_of(memory: Memory) -> tuple[tuple[Entity, ...], tuple[Edge, ...]]:
    """Entities by id; the edges between them in a fixed order."""
    entities = tuple(sorted(memory.graph.entities(), key=lambda entity: entity.id))
    known = {entity.id for entity in entities}
    edges = (edge for edge in memory.graph.edges() if edge.from_id in known and edge.to_id in known)
    return entities, tuple(sorted(edges, key=lambda edge: (edge.from_id, edge.relation, edge.to_id)))


def dot(entities: Iterable[Entity], edges: Iterable[Edge]) -> str:
    """The graph in Graphviz' language."""
    lines = ["digraph memory {", "  node [shape=box, style=rounded];"]
    lines += [
        f"  {_dot(entity.id)} [label={_dot(entity.label or entity.id)}, tooltip={_dot(entity.type)}];"
        for entity in entities
    ]
    lines += [f"  {_dot(edge.from_id)} -> {_dot(edge.to_id)} [label={_dot(edge.relation)}];" for edge in edges]
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    """A quoted name. A backslash is doubled, so that none is an escape of Graphviz'."""
    escaped = _DOT_ESCAPED.sub(lambda match: "\\n" if match[0] == "\n" else f"\\{match[0]}", text)
    return f'"{_CONTROL.sub(" ", escaped)}"'


def _whole(data: bytes) -> Content:
    return lambda: (data,)
