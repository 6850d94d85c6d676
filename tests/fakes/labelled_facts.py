"""The hand-labelled facts of tests/fixtures/extraction, and how well rules do on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gm_engine.graph.extraction import Extractor, KnownNames
from gm_engine.store.entities import name_key

FILE = Path(__file__).resolve().parent.parent / "fixtures" / "extraction" / "facts.txt"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A fact, and by canonical name what it names."""

    text: str
    entities: dict[str, str]


@dataclass(frozen=True, slots=True)
class Score:
    """Counts over all facts: names found and labelled, names found only or labelled only, and types that agree."""

    hits: int
    extra: int
    missed: int
    right_type: int

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.extra)

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed)

    @property
    def typed_precision(self) -> float:
        return self.right_type / (self.hits + self.extra)

    @property
    def typed_recall(self) -> float:
        return self.right_type / (self.hits + self.missed)


def labelled_facts() -> Iterator[Labelled]:
    """Every fact of the file, in order."""
    for block in _blocks(FILE.read_text(encoding="utf-8").splitlines()):
        pairs = [line.strip().partition(": ") for line in block[1:]]
        yield Labelled(block[0], {name_key(label): kind for kind, _, label in pairs})


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in lines:
        if line and not line.startswith(" ") and block:
            yield block
            block = []
        if line:
            block.append(line)
    yield block


def score() -> Score:
    """Reads every fact by the rules alone, each as the first one of an empty store."""
    extractor = Extractor()
    hits = extra = missed = right = 0
    for fact in labelled_facts():
        found = {name_key(each.label): each.type for each in extractor.read(fact.text, KnownNames()).mentions}
        both = found.keys() & fact.entities.keys()
        hits += len(both)
        extra += len(found.keys() - both)
        missed += len(fact.entities.keys() - both)
        right += sum(found[name] == fact.entities[name] for name in both)
    return Score(hits, extra, missed, right)
