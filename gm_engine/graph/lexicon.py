"""What extraction knows before it reads, from `resources/extraction/lexicon.toml`."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from functools import lru_cache

from gm_engine.graph.name_trie import NameTrie
from gm_engine.resources import resource


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Names that give a type away, and words that are no names. All single words are in lower case."""

    given_names: frozenset[str]
    places: frozenset[str]
    ordinary: frozenset[str]
    person_verbs: frozenset[str]
    organization_begins: frozenset[str]
    organization_ends: frozenset[str]
    place_ends: frozenset[str]
    project_begins: frozenset[str]
    project_ends: frozenset[str]
    known: NameTrie
    """Places, organizations and concepts; the owner of a name is `type:name as written`."""


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The bundled lexicon."""
    data = tomllib.loads(resource("extraction", "lexicon.toml").read_text(encoding="utf-8"))
    known = NameTrie()
    for kind, part in (("place", "places"), ("organization", "organizations"), ("concept", "concepts")):
        for name in _names(data[part]):
            known.add(name, f"{kind}:{name}")

    def words(part: str) -> frozenset[str]:
        return frozenset(name.lower() for name in _names(data[part]))

    return Lexicon(
        given_names=words("given_names"),
        places=words("places"),
        ordinary=words("ordinary"),
        person_verbs=words("person_verbs"),
        organization_begins=words("organization_begins"),
        organization_ends=words("organization_ends"),
        place_ends=words("place_ends"),
        project_begins=words("project_begins"),
        project_ends=words("project_ends"),
        known=known,
    )


def _names(block: str) -> list[str]:
    return shlex.split(block) if '"' in block else block.split()
