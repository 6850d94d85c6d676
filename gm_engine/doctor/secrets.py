"""Texts that look as if they held a password or a key: by the shape of known keys, or by what stands before them.

A bare word is none: `password` says nothing, and a long number or a commit's hash is not secret by itself.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY-----")),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{50,})")),
    ("a GitLab token", re.compile(r"\bglpat-[0-9A-Za-z_-]{20,}")),
    ("a Slack token", re.compile(r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}")),
    ("a Stripe key", re.compile(r"\b[rs]k_(?:live|test)_[0-9A-Za-z]{16,}")),
    ("an API key", re.compile(r"\bsk-(?:[a-z]{2,6}[0-9]*-)?[0-9A-Za-z_-]{20,}")),
    ("a signed token", re.compile(r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{16,}")),
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:([^\s/@]{6,200})@", re.IGNORECASE)
_CONTEXT = re.compile(
    r"\b(?:pass(?:word|wd|phrase|code)|secret|token|credential|(?:api|access|private|secret|auth)[ _-]?key)s?\b"
    r"[^\n.]{0,24}?(?:[:=]|\bis\b)[ \t]*[\"'`«“]?([^\s\"'`»”,;]{8,200})",
    re.IGNORECASE,
)
_HINTS = (
    "pass",
    "secret",
    "token",
    "credential",
    "key",
    "://",
    "akia",
    "asia",
    "aiza",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "sk-",
    "k_live_",
    "k_test_",
    "eyj",
)
_LEAST_BITS = 2.75  # per character: below it, it is a word or a pattern
_SCANNED = 100_000


def secrets_in(text: str) -> Iterator[str]:
    """What kinds of secrets a text seems to hold; never the secret itself."""
    text = text[:_SCANNED]
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return
    for kind, shape in _SHAPES:
        if any(kind == "a private key" or _is_mixed(found[0]) for found in shape.finditer(text)):
            yield kind
    if any(_is_random(found[1]) for found in _ADDRESS.finditer(text)):
        yield "a password in an address"
    if any(_is_random(found[1].rstrip(".!?)")) for found in _CONTEXT.finditer(text)):
        yield "a password or key beside its name"


def _is_mixed(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _is_random(text: str) -> bool:
    """Letters and something else, and no two-thirds of it alike: not a word, a date, a path or a placeholder."""
    if len(text) < 8 or "/" in text.strip("/") or text[:1] in "<{[$%" or not _is_mixed(text):
        return False
    counts = Counter(text)
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
    return bits >= _LEAST_BITS and not re.fullmatch(r"[vV]?\d+(?:[.:-]\d+)+[A-Za-z]{0,3}|\d{4}-\d\d-\d\dT.*", text)
