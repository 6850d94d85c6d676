"""The help that is shipped: one Markdown file per subject in resources/help."""

from __future__ import annotations

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


def load_help() -> tuple[HelpPage, ...]:
    """Every subject in reading order. Raises `OSError` for a file that is missing."""
    return tuple(_load(subject) for subject in ORDER)


def subject_of(page_id: str | None) -> str:
    """The subject for a page of the window; the first one for the start page and pages without help."""
    return page_id if page_id in ORDER else ORDER[0]


def find_help(pages: Sequence[HelpPage], query: str) -> tuple[HelpPage, ...]:
    """The subjects that speak of `query`, titles first; all of them for a blank query."""
    wanted = query.strip().casefold()
    if not wanted:
        return tuple(pages)
    scored = [(_likeness(page, wanted), page) for page in pages]
    found = sorted((each for each in scored if each[0] >= _LEAST_LIKENESS), key=lambda each: -each[0])
    return tuple(page for _, page in found)


def _load(subject: str) -> HelpPage:
    text = resource("help", f"{subject}.md").read_text(encoding="utf-8")
    heading, _, body = text.partition("\n")
    return HelpPage(subject, heading.removeprefix("# ").strip(), body.strip())


def _likeness(page: HelpPage, wanted: str) -> float:
    """How well a page fits, 0 to 200; a hit in the title counts twice, a word that stands in the text is a hit."""
    title = fuzz.partial_ratio(wanted, page.title.casefold())
    if title >= _LEAST_LIKENESS:
        return title + 100
    words = wanted.split()
    text = page.text.casefold()
    return 100.0 * sum(word in text for word in words) / len(words)
