"""The help that is shipped: one Markdown file per subject in resources/help, and in a folder per translation."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from gm_engine.resources import resource

ORDER = (
    "start",
    "memory",
    "search",
    "ranking",
    "consolidate",
    "graph",
    "checkpoints",
    "vault",
    "sources",
    "activity",
    "past",
    "overview",
    "review",
    "settings",
    "import",
    "mcp",
    "backup",
    "privacy",
    "licences",
    "trouble",
    "commands",
)
"""Every subject, in reading order. A page of the window has the subject of its own id."""
_LEAST_LIKENESS = 80.0


@dataclass(frozen=True, slots=True)
class HelpPage:
    """One subject: its id (the file's stem), its heading, and the Markdown below the heading."""

    id: str
    title: str
    text: str

    @property
    def sections(self) -> str:
        """The headings inside, in one line."""
        return " ".join(line.removeprefix("## ") for line in self.text.splitlines() if line.startswith("## "))


def load_help(language: str = "en") -> tuple[HelpPage, ...]:
    """Every subject in reading order, in English where `language` lacks it. Raises `OSError` for a missing file."""
    return tuple(_load(subject, language) for subject in ORDER)


def subject_of(page_id: str | None) -> str:
    """The subject for a page of the window; the first one for the start page and pages without help."""
    return page_id if page_id in ORDER else ORDER[0]


def find_help(pages: Sequence[HelpPage], query: str) -> tuple[HelpPage, ...]:
    """The subjects that speak of `query`, titles first; all of them for a blank query."""
    wanted = _folded(query.strip())
    if not wanted:
        return tuple(pages)
    scored = [(_likeness(page, wanted), page) for page in pages]
    found = sorted((each for each in scored if each[0] >= _LEAST_LIKENESS), key=lambda each: -each[0])
    return tuple(page for _, page in found)


def _load(subject: str, language: str) -> HelpPage:
    translated = resource("help", language, f"{subject}.md")
    path = translated if translated.is_file() else resource("help", f"{subject}.md")
    text = path.read_text(encoding="utf-8")
    heading, _, body = text.partition("\n")
    return HelpPage(subject, heading.removeprefix("# ").strip(), body.strip())


def _likeness(page: HelpPage, wanted: str) -> float:
    """How well a page fits, 0 to 200; a hit in the title counts twice, a word that stands in the text is a hit."""
    title = fuzz.partial_ratio(wanted, _folded(page.title))
    if title >= _LEAST_LIKENESS:
        return title + 100
    words = wanted.split()
    text = _folded(page.text)
    return 100.0 * sum(word in text for word in words) / len(words)


def _folded(text: str) -> str:
    """`text` as it is compared: without case and accents, which many people do not type."""
    return "".join(sign for sign in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(sign))
