"""Folders of Markdown notes: basic-memory, any Obsidian vault, or one note alone.

List items and paragraphs become facts that name their note: `title: words`. basic-memory's observations
(`- [category] words`) are list items, its relations (`- verb [[Note]]`) become links. Hidden folders are passed over,
links are not followed, and notes that this program published are left alone.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gm_engine.errors import ImportRefused
from gm_engine.importing.found import Item, Left, Link, Reader, Request, Start, Text, Thing, moment
from gm_engine.importing.markdown_blocks import Block, blocks, plain_links
from gm_engine.importing.text_files import whole_text

SUFFIXES = (".md", ".markdown")
_MAX_BYTES = 2 << 20
_FRONT = re.compile(r"---[ \t]*\n(.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_FRONT = 64 << 10
_OURS = ("mem_id", "mem_kind")
_RELATION = re.compile(r"(?P<verb>[\w][\w ,/-]{0,60}?)\s+\[\[(?P<target>[^\]\n|#]+)(?:[|#][^\]\n]*)?\]\](?:\s*\(.*\))?")
_CATEGORY = re.compile(r"\[[^\]\[\n]{1,40}\]\s+(?!\()")


def recognises(start: Start) -> bool:
    """Whether it is a folder with notes, or a note."""
    if not start.is_folder:
        return start.path.suffix.casefold() in SUFFIXES
    return any(note is not None for _, note in _notes(start.path))


def read(request: Request) -> Iterator[Item]:
    """The facts and links of every note, by path."""
    if not request.path.is_dir():
        yield from _note(request.path, request.path.name)
        return
    for name, path in _notes(request.path):
        if path is None:
            yield Left("note", name, "it is a link, and links are not followed")
        else:
            yield from _note(path, name)


def _notes(folder: Path) -> Iterator[tuple[str, Path | None]]:
    """The notes of a folder by relative path, in order; None for a link."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(root) / name
            if path.suffix.casefold() in SUFFIXES and not name.startswith("."):
                shown = path.relative_to(folder).as_posix()
                yield shown, None if path.is_symlink() else path
        for name in folders:
            path = Path(root) / name
            if path.is_symlink():
                yield path.relative_to(folder).as_posix(), None


def _note(path: Path, name: str) -> Iterator[Item]:
    try:
        text = whole_text(path, at_most=_MAX_BYTES).replace("\r\n", "\n")
    except ImportRefused as error:
        yield Left("note", name, error.message.removeprefix(f"{path.name} ").rstrip("."))
        return
    front, body = _split(text)
    if any(key in front for key in _OURS):
        yield Left("note", name, "this program published it; its facts are in the store that it came from")
        return
    title = _words(front.get("title")) or path.stem
    kind = _words(front.get("type"))
    created = next((at for key in ("created", "created_at", "date") if (at := moment(_words(front.get(key))))), None)
    if created is None:
        created = path.stat().st_mtime_ns
    yield from _contents(body, title=title, kind="" if kind == "note" else kind, created_ns=created, name=name)


def _contents(body: str, *, title: str, kind: str, created_ns: int, name: str) -> Iterator[Item]:
    left: Counter[str] = Counter()
    is_known = False
    for block in blocks(body):
        place = f"{name}, line {block.line}"
        relation = _RELATION.fullmatch(block.text) if block.kind == "item" else None
        if block.kind == "left":
            left[block.text] += 1
        elif relation is not None:
            if not is_known:
                yield Thing(title, kind, place)
                is_known = True
            target = relation["target"].rpartition("/")[2].strip()
            yield Thing(target, "", place)
            yield Link(title, target, relation["verb"].strip(), place)
        elif words := _fact_words(block):
            yield Text(f"{title}: {words}", place, created_ns=created_ns, file=name)
    for what, count in sorted(left.items()):
        yield Left("block", name, f"{count} not imported: {what} is no sentence")


def _fact_words(block: Block) -> str:
    words = plain_links(block.text)
    if block.kind == "item":
        words = _CATEGORY.sub("", words, count=1) if _CATEGORY.match(words) else words
        words = ": ".join((*block.introduced, words)) if words else ""
    return "" if words.endswith(":") and len(words) < 80 else words


def _split(text: str) -> tuple[dict[object, object], str]:
    """The front matter, empty where it is none that can be read, and the body."""
    found = _FRONT.match(text, 0, _MAX_FRONT)
    if found is None:
        return {}, text
    try:
        values = YAML(typ="safe", pure=True).load(StringIO(found[1]))
    except (YAMLError, ValueError, RecursionError, KeyError, AttributeError):
        values = None
    return (values if isinstance(values, dict) else {}), text[found.end() :]


def _words(value: object) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    return " ".join(str(value).split())


READER = Reader("markdown", "Markdown notes (basic-memory, Obsidian)", "notes", recognises, read)
