"""A note as Obsidian would show it: Markdown with wikilinks, as HTML without scripts, images or local files."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

SHOWN_CHARS = 60_000
_FRONTMATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?<=\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_BLOCK_ID = re.compile(r" \^[0-9A-Za-z-]+[ \t]*$", re.MULTILINE)
_PROPERTY = re.compile(r"^(?P<key>[^\s:#-][^:]*):[ \t]*(?P<value>.*)$|^[ \t]*-[ \t]+(?P<item>.*)$", re.MULTILINE)


def preview_html(note: str) -> str:
    """The note's properties as a table and its body; what it says is only ever text, HTML in it too."""
    text = note[:SHOWN_CHARS]
    head = _FRONTMATTER.match(text)
    body = text[head.end() :] if head is not None else text
    body = _BLOCK_ID.sub("", _COMMENT.sub("", body.replace("\r\n", "\n")))
    return f"{_properties(head[1]) if head is not None else ''}{_parser().render(body)}"


def _properties(frontmatter: str) -> str:
    rows: list[tuple[str, list[str]]] = []
    for match in _PROPERTY.finditer(frontmatter):
        if match["key"] is not None:
            rows.append((match["key"].strip("\"' "), [match["value"].strip().strip('"')] if match["value"] else []))
        elif rows:
            rows[-1][1].append(match["item"].strip().strip('"'))
    cells = "".join(
        f"<tr><td><small>{escape(key)}&nbsp;&nbsp;</small></td><td><small>{escape(', '.join(values))}</small></td></tr>"
        for key, values in rows
    )
    return f"<table>{cells}</table><hr>"


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_inline", "html_block"])
    parser.inline.ruler.before("link", "wikilink", _wikilink)
    return parser


def _wikilink(state: StateInline, silent: bool) -> bool:
    """`[[target|shown]]` as a link to a note."""
    start = state.pos
    if not state.src.startswith("[[", start):
        return False
    end = state.src.find("]]", start)
    inside = state.src[start + 2 : end]
    if end < 0 or "\n" in inside or "[" in inside or not inside:
        return False
    if not silent:
        target, _, shown = inside.partition("|")
        token = state.push("link_open", "a", 1)
        token.attrs = {"href": f"note:{target}"}
        state.push("text", "", 0).content = shown or target.rpartition("/")[2]
        state.push("link_close", "a", -1)
    state.pos = end + 2
    return True
