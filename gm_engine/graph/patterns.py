"""What gives itself away by its form: wiki links, references, dates, handles, and statements in fixed words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gm_engine.graph.spans import Found, Rank

MAX_STATEMENT = 100
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan\.?|Feb\.?|Mar\.?|Apr\.?|Jun\.?|Jul\.?|Aug\.?|Sept?\.?|Oct\.?|Nov\.?|Dec\.?)"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_DATES = re.compile(
    rf"\b(?:{_YEAR}-(?:0\d|1[0-2])(?:-[0-3]\d)?(?![\w-])"
    rf"|{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR})?\b"
    rf"|{_MONTH} {_DAY}(?:st|nd|rd|th)?(?:, {_YEAR}|(?![\d:.]))"
    rf"|{_MONTH} {_YEAR}\b"
    rf"|Q[1-4] {_YEAR}\b)"
)
_ENDINGS = (
    "bat|bib|c|cfg|conf|cpp|cs|css|csv|db|doc|docx|env|epub|go|h|html|ini|ipynb|java|jpg|js|json|jsonl|kt|lock|log|lua|"
    "md|odt|onnx|parquet|pdf|php|png|ppt|pptx|proto|ps1|py|rb|rs|rst|sh|sql|sqlite|svg|swift|tex|tf|toml|ts|tsv|tsx|"
    "txt|vue|xls|xlsx|xml|yaml|yml|zip"
)
_FILE = rf"(?:[\w.@-]*/)*[\w@-][\w.@-]*\.(?:{_ENDINGS})"
_REFERENCES = re.compile(
    r"https?://[^\s<>\"'`\])}]+[^\s<>\"'`\])}.,;:!?]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\bdoi:\s?10\.\d{4,9}/\S+[^\s.,;:!?)\]]|\b10\.\d{4,9}/\S+[^\s.,;:!?)\]]"
    r"|\bRFC \d{2,5}\b|\bISO(?:/IEC)? \d{3,5}(?:-\d+)?\b|\bCVE-\d{4}-\d{4,7}\b|\bISBN[ -]?[\dX-]{10,17}\b"
    r"|\b(?:PR|MR|GH) ?#\d+\b|(?<![\w&#])#\d+\b"
    r"|\b(?!(?:RSA|UTF|SHA|AES|ISO|GPT|HTTP|TLS|DIN|EN|COVID|MP|DDR|USB|IP)-)(?:[A-Z][A-Z0-9]{0,9}-\d{2,7}|[A-Z]{2,9}-\d)\b(?![-\w])"
    r"|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"
    r"|\bv\d+(?:\.\d+)+(?:-[\w.]+)?\b"
    rf"|(?<![\w/.@-]){_FILE}(?![\w/-])"
    r"|(?<![\w/.<])(?:~|\.{1,2})?/(?:[\w.@-]+/)*[\w.@-]*\w",
)
_CODED = re.compile(
    r"\b(?:error|code|lot|type|part|model|form|room|gate|order|invoice|case|batch|serial|flight|line|exception)s? "
    r"((?=[A-Z0-9-]*\d)[A-Z][A-Z0-9-]{1,11})\b",
    re.IGNORECASE,
)
_CODE_SPAN = re.compile(r"`([^`\s]{2,60})`")
_WIKILINKS = re.compile(r"\[\[([^\[\]|#\n]{1,120})(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_HANDLES = re.compile(r"(?<![\w.@/])@([A-Za-z][\w-]{1,38})(?![\w@.]*\w@)")
_HASHTAGS = re.compile(r"(?<![\w&#/])#([A-Za-z][\w-]{2,40})")
_STOP = (
    r"(?=$|[.:!?](?:\s|$)|[;\n]|, (?:because|since|so|but|and|never|not|as|which|who)\b|"
    r",? because\b|,? since\b|,? so that\b|,? as long as\b)"
)
_DECISIONS = (
    re.compile(rf"(?:^|(?<=\n))\s*(?:[-*] )?Decision:\s*([^\n]+?){_STOP}", re.IGNORECASE),
    re.compile(rf"\b(?:we|they|team|board|it was|have|has|[A-Z][\w'’-]+) decided (?:to|that|on|against) (.+?){_STOP}"),
)
_PREFERENCES = re.compile(
    r"\b(?:prefers|likes|loves|favou?rs|insists on|(?:I|[Ww]e|they|[Uu]sers?|[Cc]ustomers?) prefer) (?!to\b)(.+?)"
    r"(?=$|[.:!?](?:\s|$)|[;,\n]| (?:over|instead of|rather than|because|since|but|when|if|while|to)\b"
    r"| and \w+s (?:a|an|the|to|no|not|only|her|his|their)\b"
    r"| and (?:hates|dislikes|avoids|wants|likes|prefers|loves|never|is|has|does|will|doesn't)\b)"
)


_DEGREE = re.compile(r" (?:the )?(?:most|best|more|a lot|very much)$")


def wikilinks(text: str) -> Iterator[Found]:
    """`[[Notes]]`, without heading and alias."""
    for match in _WIKILINKS.finditer(text):
        label = match[1].strip()
        if label:
            yield Found(match.start(), match.end(), label, "concept", Rank.MARKED)


def references(text: str) -> Iterator[Found]:
    """What can be looked up by itself: links, addresses, tickets, files, variables, versions, codes."""
    for match in _REFERENCES.finditer(text):
        yield Found(match.start(), match.end(), match[0], "reference", Rank.MARKED)
    for match in _CODED.finditer(text):
        if match[1][0].isupper():
            yield Found(match.start(1), match.end(1), match[1], "reference", Rank.MARKED)
    for match in _CODE_SPAN.finditer(text):
        yield Found(match.start(), match.end(), match[1], "reference", Rank.MARKED)


def dates(text: str) -> Iterator[Found]:
    """Calendar dates down to a month or quarter, as written."""
    for match in _DATES.finditer(text):
        yield Found(match.start(), match.end(), match[0].strip(), "date", Rank.MARKED)


def handles(text: str) -> Iterator[Found]:
    """`@names` of people and `#topics`."""
    for match in _HANDLES.finditer(text):
        yield Found(match.start(), match.end(), match[1], "person", Rank.MARKED)
    for match in _HASHTAGS.finditer(text):
        yield Found(match.start(), match.end(), match[1], "concept", Rank.MARKED)


def statements(text: str) -> Iterator[Found]:
    """Decisions and preferences that the text states in fixed words."""
    for pattern in _DECISIONS:
        for match in pattern.finditer(text):
            yield from _statement(match, "decision")
    for match in _PREFERENCES.finditer(text):
        yield from _statement(match, "preference")


def _statement(match: re.Match[str], kind: str) -> Iterator[Found]:
    label = _DEGREE.sub("", match[1].strip(" ,\"'`"))
    if 3 <= len(label) <= MAX_STATEMENT:
        yield Found(match.start(1), match.end(1), label, kind, Rank.STATEMENT)
