"""What a merged text lost or made up: numbers, names and negations of its sources, compared as tokens."""

from __future__ import annotations

from collections.abc import Mapping

from gm_engine.consolidation.wording import Kind, Token, tokens
from gm_engine.proposals import Finding, FindingKind

_WATCHED: dict[Kind, FindingKind] = {
    Kind.NUMBER: "number",
    Kind.NAME: "name",
    Kind.NEGATION: "negation",
}


def lost_and_invented(sources: Mapping[str, str], result: str) -> tuple[Finding, ...]:
    """Numbers, names and negations of the sources (texts by fact id) that `result` lacks, and those it adds.

    A word that begins a sentence with a capital is taken for a name only when another text has it as one.
    """
    read = {fact_id: _watched(tokens(text)) for fact_id, text in sources.items()}
    written = tokens(result)
    kept = {(kind, key) for kind, key, _ in _watched(written)}
    spelled = {token.surface for token in written} | {token.key for token in written}
    findings: dict[tuple[FindingKind, str], Finding] = {}
    for fact_id, found in read.items():
        for kind, key, surface in found:
            if (kind, key) not in kept and surface not in spelled:
                findings.setdefault((kind, key), Finding(kind, surface, fact_id))
    if any(finding.kind == "negation" for finding in findings.values()) and any(kind == "negation" for kind, _ in kept):
        findings = {key: finding for key, finding in findings.items() if finding.kind != "negation"}
    known = {(kind, key) for found in read.values() for kind, key, _ in found}
    source_words = {word for text in sources.values() for token in tokens(text) for word in (token.surface, token.key)}
    invented = {
        (kind, key): surface
        for kind, key, surface in _watched(written)
        if (kind, key) not in known and surface not in source_words
    }
    return (*findings.values(), *(Finding("invented", surface) for surface in invented.values()))


def _watched(found: tuple[Token, ...]) -> list[tuple[FindingKind, str, str]]:
    return [(_WATCHED[token.kind], token.key, token.surface) for token in found if token.kind in _WATCHED]
