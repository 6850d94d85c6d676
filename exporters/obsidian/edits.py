"""What a person changed in the notes of a vault, as values: whoever asked for them decides what to propose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from exporters.obsidian.frontmatter import Properties
from exporters.obsidian.links import link_targets
from exporters.obsidian.manifest import Base, Entry
from exporters.obsidian.names import NOTE_SUFFIX, path_key
from exporters.obsidian.note_file import NoteFile, short_hash
from exporters.obsidian.text import take_quotation
from gm_engine import CONFIDENCE_LABELS, Fact

EditKind = Literal["text", "properties", "deleted", "new", "link"]
_ARROWS = re.compile(r"^[\s>*→←:·,-]+|[\s→←:·,-]+$")
_LINKS = re.compile(r"!?\[\[[^\[\]\n]+\]\]")
_MAX_RELATION = 80


@dataclass(frozen=True, slots=True)
class VaultEdit:
    """One thing that a person did to one note.

    `note` is its path from the vault's root. `fact_id` and `version` name the fact that it is about and the state it
    was compared with (empty and 0 for a new note). `text`, `pinned` and `confidence` are what the note says now; None
    where that was not edited. `link` is (from entity, relation, to entity). `is_conflict` says that the store changed
    as well. `key` is equal for equal edits of the same state; `before` is the store's text.
    """

    kind: EditKind
    note: str
    agent_id: str
    fact_id: str
    version: int
    key: str = ""
    text: str | None = None
    pinned: bool | None = None
    confidence: str | None = None
    link: tuple[str, str, str] | None = None
    is_conflict: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A note that cannot be taken as an edit, and why; it is left alone."""

    note: str
    reason: str


@dataclass(frozen=True, slots=True)
class VaultEdits:
    """What differs in a published folder: edits to decide on, problems, and notes that were only moved (from, to)."""

    vault: str
    folder: str
    edits: tuple[VaultEdit, ...] = ()
    problems: tuple[Problem, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Entities:
    """Which entity a link leads to (by `path_key` of the note's path from the root), and which a fact mentions."""

    by_path: Mapping[str, str] = field(default_factory=dict)
    mentioned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    linked: frozenset[tuple[str, str, str]] = frozenset()

    def of(self, target: str) -> str | None:
        """The entity whose note `target` is."""
        key = path_key(target.lstrip("/"))
        return self.by_path.get(key) or self.by_path.get(key.removesuffix(NOTE_SUFFIX))


@dataclass(frozen=True, slots=True)
class Said:
    """What a fact's note says: its text (None: it is lost), its properties, the lines of the block outside the text."""

    text: str | None
    pinned: object
    confidence: str
    lines: tuple[str, ...]


def said(file: NoteFile, mapping: Mapping[str, Any]) -> Said:
    """Reads a note that was taken apart. A text that only a property can hold is taken from there."""
    text, rest = take_quotation(file.block or "")
    kept = mapping.get("mem_text")
    if kept is not None:
        text = str(kept)
    label = mapping.get("mem_confidence")
    return Said(text, mapping.get("mem_pinned"), "" if label is None else str(label), lines_of(rest))


def lines_of(rest: str) -> tuple[str, ...]:
    """The lines of a block that say something."""
    return tuple(line.rstrip() for line in rest.split("\n") if line.strip())


def base_of(fact: Fact, block: str, properties: Properties) -> Base:
    """What a note says when it is written: the base of the next comparison."""
    marks = "".join(line_mark(line) for line in lines_of(take_quotation(block)[1]))
    return Base(short_hash(fact.text), str(properties.values.get("mem_confidence", "")), fact.pinned, marks)


def line_mark(line: str) -> str:
    """A short hash of one line."""
    return short_hash(line)[:8]


def foreign_lines(now: Said, base: Base | None, ours: Iterable[str]) -> tuple[str, ...]:
    """The lines of a block that we did not write: neither then nor would we now."""
    written = set() if base is None else {base.lines[at : at + 8] for at in range(0, len(base.lines), 8)}
    mine = {*ours}
    return tuple(line for line in now.lines if line not in mine and line_mark(line) not in written)


def live_end(fact: Fact, facts: Mapping[str, Fact]) -> Fact:
    """The fact that stands in the place of `fact` now: itself while it lives or when nothing replaced it."""
    seen = {fact.id}
    end = fact
    while end.superseded_by in facts and end.superseded_by not in seen:
        end = facts[end.superseded_by]
        seen.add(end.id)
    return end if not end.is_superseded else fact


def note_edits(
    now: Said,
    fact: Fact,
    *,
    note: str,
    entry: Entry | None,
    facts: Mapping[str, Fact],
    shown_confidence: str,
    entities: Entities,
    ours: Sequence[str] | None = None,
) -> tuple[list[VaultEdit], list[Problem]]:
    """What a person did to one fact's note: the store's `fact` and the base of `entry` against what it says `now`.

    `ours` are the lines that the block would hold now, where they are known. `shown_confidence` is the fact's label as
    a property. Nothing that the store says already is an edit.
    """
    base = None if entry is None else entry.base
    end = live_end(fact, facts)
    blank = VaultEdit("text", note, end.agent_id, end.id, end.version)
    edits, problems = [], []
    if now.text is None:
        problems.append(Problem(note, "its text is gone; delete the note to retire the fact"))
    elif now.text not in (fact.text, end.text) and (base is None or short_hash(now.text) != base.text):
        clash = base is None or short_hash(fact.text) != base.text or fact.is_superseded
        edits.append(replace(blank, text=now.text, is_conflict=clash))
    pinned, label, wrong = _properties(now, fact, base, shown_confidence)
    if wrong:
        problems.append(Problem(note, wrong))
    if (pinned is not None or label is not None) and not fact.is_superseded:
        clash = base is None or (label is not None and base.confidence != shown_confidence)
        if edits:
            edits[0] = replace(edits[0], pinned=pinned, confidence=label, is_conflict=edits[0].is_conflict or clash)
        else:
            edits.append(replace(blank, kind="properties", pinned=pinned, confidence=label, is_conflict=clash))
    if base is not None:
        links, reasons = _links(foreign_lines(now, base, ours or ()), fact, entities)
        edits += [replace(blank, kind="link", link=link) for link in links]
        problems += [Problem(note, reason) for reason in reasons]
    return [keyed(edit) for edit in edits], problems


def _properties(now: Said, fact: Fact, base: Base | None, shown_confidence: str) -> tuple[bool | None, str | None, str]:
    """The pin and the label that a person set, None where they did not; and what cannot be understood."""
    pinned: bool | None = None
    label: str | None = None
    if isinstance(now.pinned, bool) and now.pinned != fact.pinned and (base is None or now.pinned != base.pinned):
        pinned = now.pinned
    elif now.pinned is not None and not isinstance(now.pinned, bool):
        return None, None, "mem_pinned is neither true nor false"
    if now.confidence != shown_confidence and (base is None or now.confidence != base.confidence):
        if now.confidence and now.confidence not in CONFIDENCE_LABELS:
            return pinned, None, f"mem_confidence must be one of {', '.join(CONFIDENCE_LABELS)}"
        label = now.confidence or None  # an emptied property says nothing
    return pinned, label, ""


def _links(lines: Iterable[str], fact: Fact, entities: Entities) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The graph links that added lines name: between two entities of a line, or from one that the fact mentions."""
    found: dict[tuple[str, str, str], None] = {}
    reasons: list[str] = []
    for line in lines:
        named = [entity for target in link_targets(line) if (entity := entities.of(target)) is not None]
        if not named:
            continue
        if len(named) >= 2:
            first, second, relation = named[0], named[1], _relation(line)
        else:
            others = [entity for entity in entities.mentioned.get(fact.id, ()) if entity != named[0]]
            if not others:
                reasons.append("a link to an entity was added, but the fact mentions no other one to link it with")
                continue
            first, second, relation = others[0], named[0], "related_to"
        link = (first, relation, second)
        if first != second and not {link, (second, relation, first)} & entities.linked:
            found[link] = None
    return list(found), reasons


def _relation(line: str) -> str:
    parts = _LINKS.split(line)
    words = _ARROWS.sub("", parts[1] if len(parts) > 1 else "").strip()
    return words[:_MAX_RELATION] or "related_to"


def keyed(edit: VaultEdit) -> VaultEdit:
    """`edit` with its key."""
    values = (edit.kind, edit.note if edit.kind == "new" else edit.fact_id, edit.version, edit.text, edit.pinned)
    return replace(edit, key=f"vault:{short_hash(repr((*values, edit.confidence, edit.link)))}")
