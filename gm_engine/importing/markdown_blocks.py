"""Markdown taken apart into what may be a fact: list items and paragraphs, with the headings that they stand under."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["item", "paragraph", "left"]
_LEFT = {"fence": "code", "code_block": "code", "html_block": "HTML", "table_open": "a table"}
_EMBED = re.compile(r"!\[\[[^\[\]\n]{0,400}\]\]")
_WIKI = re.compile(r"\[\[([^\[\]\n|]{1,400})(?:\|([^\[\]\n]{0,400}))?\]\]")  # bounded: a long line costs no more
_TASK = re.compile(r"\[[ xX/-]\]\s+")


@dataclass(frozen=True, slots=True)
class Block:
    """A list item's own words, a paragraph, or (`left`) the name of something that is neither.

    `heading` is the nearest one above, `introduced` the items that end with a colon and hold this one.
    """

    kind: Kind
    text: str
    line: int
    heading: str = ""
    introduced: tuple[str, ...] = ()


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text in order."""
    heading, items, in_table = "", list[str](), False
    for number, token in enumerate(tokens := _tokens(text)):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "list_item_open":
            items.append("")
        elif token.type == "list_item_close":
            items.pop()
        elif token.type in _LEFT:
            in_table = token.type == "table_open"
            yield Block("left", _LEFT[token.type], line)
        elif token.type == "table_close":
            in_table = False
        elif token.type == "inline" and not in_table:
            words = " ".join(token.content.split())
            if tokens[number - 1].type == "heading_open":
                heading = plain_links(words)
            elif items:
                yield Block("item", words, line, heading, _introduced(items))
                items[-1] = items[-1] or words
            else:
                yield Block("paragraph", words, line, heading)


def _tokens(text: str) -> list[Token]:
    """The blocks of a text. What stands inside a line is not taken apart: it is not needed, and can take for ever."""
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.core.ruler.enableOnly(["normalize", "block"])
    return markdown.parse(text)


def _introduced(items: list[str]) -> tuple[str, ...]:
    return tuple(item.rstrip(":").strip() for item in items[:-1] if item.endswith(":"))


def plain_links(text: str) -> str:
    """`text` with wiki links as the words that a reader sees, without embedded files and check boxes."""
    text = _EMBED.sub("", text)
    text = _WIKI.sub(lambda link: (link[2] or link[1].rpartition("#")[2] or link[1]).strip(), text)
    return _TASK.sub("", text, count=1).strip() if _TASK.match(text) else text.strip()
