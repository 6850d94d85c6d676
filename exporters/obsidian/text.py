"""Untrusted text inside a note: shown as it is written, never understood as Markdown, links, tags, fields or code.

A text becomes a quotation with backslashes and character references where a character could mean something to
Obsidian, its usual plugins or CommonMark. Reading the quotation back gives exactly the same text. Control characters
have no safe form there; `is_unsafe` texts are shown with pictures in their place and kept exactly in a property.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROL_PICTURES = 0x2400
_SPACES = "\u2028\u2029\ufeff \t"
_ACTIVE = re.compile(
    r"""
      ^\d{1,9}[.)] | ^[-+=>] | ^[ \t] | [ \t]$      # lists, headings, quotations, indented code, hard breaks
    | [\\`*\[\]<#|~^$]
    | (?<![^\W_])_ | _(?![^\W_])                    # an underscore inside a word is only an underscore
    | &(?=[#A-Za-z])
    | %(?=[%>]) | (?<=[%<])%                        # comments and template commands
    | :(?=:|//) | (?<=:):                           # inline fields and bare addresses
    | =(?==) | (?<==)=
    | [\u2028\u2029\ufeff]
    """,
    re.VERBOSE | re.MULTILINE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])|&#(\d{1,7});")
_BLOCK_ID = re.compile(r" \^f-[0-9a-z-]+[ \t]*$")
_NOT_BLOCK_ID = re.compile(r"[^0-9a-z]+")


def is_unsafe(text: str) -> bool:
    """Whether `text` holds characters (CR, NUL, other controls) that a note's body cannot carry unchanged."""
    return _UNSAFE.search(text) is not None


def escape(text: str) -> str:
    """`text` with everything that could be active made plain; line breaks stay line breaks."""
    return _ACTIVE.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    found = match[0]
    return f"&#{ord(found)};" if found in _SPACES else f"{found[:-1]}\\{found[-1]}"


def unescape(text: str) -> str:
    """The inverse of `escape`."""
    return _ESCAPED.sub(_original, text)


def _original(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    code = int(match[2])
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else match[0]


def visible(text: str) -> str:
    """`text` with line breaks made `\\n` and control characters replaced by their pictures."""
    folded = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub(lambda match: chr(_CONTROL_PICTURES + ord(match[0])) if match[0] < " " else "\ufffd", folded)


def inline(text: str, limit: int = 300) -> str:
    """`text` on one line, escaped, at most `limit` characters of it."""
    line = " ".join(visible(text[: 2 * limit]).split())
    return escape(line if len(line) <= limit and len(text) <= 2 * limit else line[:limit].rstrip() + "…")


def block_id(fact_id: str) -> str:
    """The block id of a fact inside its note."""
    return "f-" + (_NOT_BLOCK_ID.sub("-", fact_id.lower()).strip("-") or "0")


def quote(text: str, block: str | None = None) -> str:
    """`text` as a quotation; `block` names it so that it can be linked and embedded."""
    lines = escape(visible(text) if is_unsafe(text) else text).split("\n")
    quoted = [f"> {line}" if line else ">" for line in lines]
    if block is not None:
        quoted[-1] = f"> {lines[-1]} ^{block}"
    return "\n".join(quoted)


def take_quotation(block: str) -> tuple[str | None, str]:
    """The text of the first quotation in `block` (None when there is none) and all other lines. Line ends are `\\n`."""
    lines = block.split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith(">")), None)
    if first is None:
        return None, block
    last = first
    while last < len(lines) and lines[last].startswith(">"):
        last += 1
    quoted = [line[2:] if line.startswith("> ") else line[1:] for line in lines[first:last]]
    quoted[-1] = _BLOCK_ID.sub("", quoted[-1])
    return unescape("\n".join(quoted)), "\n".join((*lines[:first], *lines[last:]))


def unquote(block: str) -> str | None:
    """The text of the first quotation in `block`, or None when there is none. Line ends must be `\\n`."""
    return take_quotation(block)[0]
