"""Names by their capitals: groups of capitalised words, what the lexicon says of them, and the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gm_engine.graph.lexicon import Lexicon
from gm_engine.graph.name_trie import CJK, Token
from gm_engine.graph.spans import Found, Rank

_LETTER = rf"[^\W{CJK}]"  # scripts without spaces have no capitals, and stand beside Latin words without a gap
_WORD = re.compile(rf"(?:[A-ZÀ-Þ]['’](?=[A-ZÀ-Þ]))?{_LETTER}+(?:[-.]{_LETTER}+)*|&")
_TITLES = {
    "mr",
    "mrs",
    "ms",
    "miss",
    "dr",
    "prof",
    "professor",
    "sir",
    "madam",
    "frau",
    "herr",
    "mme",
    "señor",
    "señora",
}
_PARTICLES = {
    "de",
    "da",
    "do",
    "dos",
    "del",
    "della",
    "di",
    "du",
    "la",
    "le",
    "van",
    "von",
    "der",
    "den",
    "ten",
    "ter",
    "el",
    "al",
    "bin",
    "ibn",
    "zu",
    "of",
    "the",
}
_PLACE_WORDS = {"in", "near", "around", "across", "outside", "throughout", "from", "to", "at"}
_EMPLOYERS = (
    "works at",
    "works for",
    "worked at",
    "worked for",
    "employed by",
    "employed at",
    "joined",
    "hired by",
    "contract with",
    "customer",
    "client",
    "supplier",
    "vendor",
    "partner",
    "audit by",
    "subsidiary of",
    "office of",
    "invoice from",
    "acquired by",
    "company",
)
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|für|wird|werden|eine?[rnms]?|mit|auf|von|im|zum|zur|sind|bei)\b")
_SENTENCE_END = re.compile(r"[.!?:;…\n]|[-*•]\s|\d[.)]\s")
_MAX_GROUP = 7
_LONG_WORDS = re.compile(r"[^\W\d_]{2,}")
_AFTER_PROJECT = re.compile(r"\b[Pp]roject $")
_CALENDAR = {
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
}
_NEVER_FIRST = {"the", "a", "an", "i", "and", "if", "when", "we", "they", "he", "she", "it", "this", "that"} | _CALENDAR
_NEVER_LAST = {"i", "we", "it"} | _CALENDAR
_MAYBE_PERSON = {"by", "ask", "tell", "called", "thank", "told", "asked", "cc"}
_MAYBE_ORGANIZATION = {"with", "from", "for", "at", "to", "of"}


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    text: str

    @property
    def key(self) -> str:
        return self.text.lower()

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def is_acronym(self) -> bool:
        return 2 <= len(self.text) <= 6 and self.text.isupper() and self.text.isalnum() and not self.text.isdigit()

    @property
    def is_mixed(self) -> bool:
        """A capital inside a word, or a digit: NightOwl, iOS, UTF-8."""
        capitals, rest = (any(test(char) for char in self.text[1:]) for test in (str.isupper, str.isdigit))
        return (capitals and not self.text.isupper()) or (rest and self.text[:2].isupper())


@dataclass(frozen=True, slots=True)
class _Group:
    """Capitalised words side by side, with what stands before and after them in their sentence."""

    words: tuple[_Word, ...]
    before: str
    after: str
    opens: bool


def capitalised(text: str, marks: list[Token], lexicon: Lexicon, *, by_capitals: bool) -> Iterator[Found]:
    """Names that the lexicon knows, and, where capitals mean something in this text, those that look like names."""
    named: list[tuple[int, int]] = []
    for match in lexicon.known.matches(text, marks):
        kind, _, written = match.owners[0].partition(":")
        shown = text[match.start : match.end]
        if _is_written_like(written, shown) and not _is_ordinary_here(text, match.start, shown, lexicon):
            named.append((match.start, match.end))
            if _is_part_of_person(text, match.start, lexicon):
                continue
            yield Found(
                match.start, match.end, shown, _settled(kind, written, text, match.start, lexicon), Rank.LEXICON
            )
    means_something = by_capitals and not _is_flat(text)
    for group in _groups(text, lexicon.ordinary):
        yield from _read(group, lexicon, means_something=means_something)


def _is_written_like(written: str, shown: str) -> bool:
    """A name with a capital is meant only where the text writes one; one in capitals only where it is in capitals."""
    if written.isupper() and len(written) > 1:
        return shown == written
    return written[0].islower() or shown[0].isupper()


def _is_ordinary_here(text: str, start: int, shown: str, lexicon: Lexicon) -> bool:
    """Whether a name that is a common word as well (Spring, Excel) only has its capital because a sentence opens."""
    if shown.lower() not in lexicon.ordinary:
        return False
    before = text[:start].rstrip(" \"'“‘([")
    return not before or before[-1] in ".!?:;\n-*•"


def _settled(kind: str, written: str, text: str, start: int, lexicon: Lexicon) -> str:
    """A name that is a given name as well (Sofia, Jordan) is a place only after a word that leads to places."""
    if kind == "place" and written.lower() in lexicon.given_names:
        before = text[:start].split()
        return "place" if before and before[-1].lower() in _PLACE_WORDS else "person"
    return kind


def _is_part_of_person(text: str, start: int, lexicon: Lexicon) -> bool:
    """Whether a place or product is only a part of a person's name: Jack London, Paris Hilton."""
    before = re.search(r"([^\W\d_]+)\s$", text[:start])
    return before is not None and before[1][0].isupper() and before[1].lower() in lexicon.given_names


def _is_flat(text: str) -> bool:
    """Whether capitals mean nothing here: German, or a text in capitals."""
    words = _LONG_WORDS.findall(text[:2000])
    shouted = sum(word.isupper() for word in words)
    return (shouted >= 3 and shouted > 0.6 * len(words)) or len(_GERMAN.findall(text[:2000])) >= 2


def _groups(text: str, ordinary: frozenset[str]) -> Iterator[_Group]:
    """Every group of capitalised words that is more than one ordinary word."""
    words = [_Word(match.start(), match.end(), match.group()) for match in _WORD.finditer(text)]
    at = 0
    while at < len(words):
        if not words[at].is_capital:
            at += 1
            continue
        end = _group_end(text, words, at)
        if end == at + 1 and words[at].key in ordinary:
            at = end
            continue
        before = words[at - 1] if at else None
        opens = before is None or bool(_SENTENCE_END.search(text[before.end : words[at].start]))
        left = text[max(0, words[at].start - 40) : words[at].start]
        after = (
            words[end].text
            if end < len(words) and text[words[end - 1].end : words[end].start].strip() in ("", "'", "’")
            else ""
        )
        yield _Group(tuple(words[at:end]), left, after, opens)
        at = end


def _group_end(text: str, words: Sequence[_Word], at: int) -> int:
    """The end of the run of capitalised words, particles inside it included."""
    end = at + 1
    while end < len(words) and end - at < _MAX_GROUP and text[words[end - 1].end : words[end].start] in (" ", ". "):
        gap = text[words[end - 1].end : words[end].start]
        if gap == ". " and words[end - 1].key not in _TITLES and len(words[end - 1].text) > 1:
            break
        if words[end].is_capital:
            end += 1
            continue
        ahead = end
        while ahead < len(words) and (words[ahead].key in _PARTICLES or words[ahead].text == "&") and ahead - end < 3:
            ahead += 1
        joined = text[words[end - 1].end : words[ahead].start] if ahead < len(words) else "\n"
        if ahead == end or ahead >= len(words) or not words[ahead].is_capital or re.search(r"[^\w\s&]", joined):
            break
        if words[end].key in ("of", "the") and not _takes_of(words[end - 1]):
            break
        end = ahead + 1
    return end


def _takes_of(word: _Word) -> bool:
    return word.key in {
        "university",
        "bank",
        "ministry",
        "department",
        "institute",
        "museum",
        "college",
        "school",
        "city",
        "house",
        "court",
        "council",
        "academy",
        "republic",
        "church",
        "order",
        "association",
        "federation",
        "union",
        "society",
    }


def _read(group: _Group, lexicon: Lexicon, *, means_something: bool) -> Iterator[Found]:
    words, is_titled = list(group.words), False
    while words and words[0].key in _TITLES and words[0].is_capital:
        words, is_titled = words[1:], True
    opens = group.opens and not is_titled and len(words) == len(group.words)
    if not is_titled:
        words, opens = _without_ordinary(words, opens, lexicon)
    if not words:
        return
    before = re.search(r"(\w+)[.]?\s*$", group.before)
    is_titled = is_titled or (before is not None and before[1].lower() in _TITLES and words == list(group.words))
    kind = _kind(words, group, lexicon, opens=opens, is_titled=is_titled, means_something=means_something)
    if kind is None:
        return
    if kind == "project" and words[0].key in lexicon.project_begins and len(words) > 1:
        words = words[1:]
    rank = Rank.LEXICON if len(words) > 1 and kind in ("person", "organization", "project") else Rank.CAPITALS
    yield Found(words[0].start, words[-1].end, _label(words), kind, rank)


def _label(words: Sequence[_Word]) -> str:
    parts = [words[0].text]
    for last, word in pairwise(words):
        parts.append(". " if word.start - last.end > 1 else " ")
        parts.append(word.text)
    return "".join(parts)


def _without_ordinary(words: list[_Word], opens: bool, lexicon: Lexicon) -> tuple[list[_Word], bool]:
    """Takes words that are no names off both ends; a name that is left after one no longer opens the sentence."""
    while words and words[0].key in lexicon.ordinary:
        begins = words[0].key in lexicon.organization_begins or words[0].key in lexicon.project_begins
        if len(words) > 1 and (begins or not (opens or words[0].key in _NEVER_FIRST or _is_name(words[1], lexicon))):
            break  # inside a sentence, the capital says that it belongs: Green Energy
        words, opens = words[1:], False
    while words and words[-1].key in _NEVER_LAST:
        words = words[:-1]
    if opens and len(words) > 1 and not _is_name(words[0], lexicon) and _is_name(words[1], lexicon):
        return words[1:], False
    while words and (words[0].text == "&" or words[0].key in _PARTICLES - {"el", "al", "la", "le", "van", "von"}):
        words = words[1:]
    return words, opens


def _is_name(word: _Word, lexicon: Lexicon) -> bool:
    return word.key in lexicon.given_names or word.key in lexicon.places


def _kind(
    words: Sequence[_Word],
    group: _Group,
    lexicon: Lexicon,
    *,
    opens: bool,
    is_titled: bool,
    means_something: bool,
) -> str | None:
    first = words[0]
    if is_titled:
        return "person"
    if (kind := _kind_by_form(words, group, lexicon, means_something=means_something)) is not None:
        return kind
    if not means_something:
        return None
    if len(words) == 1:
        return _kind_of_one(first, group, lexicon, opens=opens)
    if all(word.text.isupper() for word in words):
        return "concept" if len(words) == 2 and not opens else None
    return _kind_of_unknown(group, lexicon, fallback="concept", several=True)


def _kind_by_form(words: Sequence[_Word], group: _Group, lexicon: Lexicon, *, means_something: bool) -> str | None:
    """What a group says of itself, or the word *project* beside it."""
    if len(words) > 1 and (kind := _kind_of_ends(words, lexicon)) is not None:
        return kind
    is_followed = group.after.lower() in lexicon.project_ends and words[-1] is group.words[-1]
    if (is_followed and means_something) or _AFTER_PROJECT.search(group.before):
        return "project"
    return "person" if words[0].key in lexicon.given_names and not words[0].text.isupper() else None


def _kind_of_ends(words: Sequence[_Word], lexicon: Lexicon) -> str | None:
    """What the first or the last word of a group gives away."""
    first, last = words[0], words[-1]
    if first.key in lexicon.project_begins:
        return "project"
    if (
        last.key in lexicon.organization_ends
        or first.key in lexicon.organization_begins
        or any(word.text == "&" for word in words)
        or (len(words) == 2 and first.is_acronym and last.key in lexicon.places)  # ETH Zurich, TU Berlin
    ):
        return "organization"
    return "place" if last.key in lexicon.place_ends else None


def _kind_of_one(word: _Word, group: _Group, lexicon: Lexicon, *, opens: bool) -> str | None:
    """One capitalised word of which the lexicon knows nothing."""
    if len(word.text) < 2 or word.text.isdigit() or group.before.rstrip()[-1:].isdigit():
        return None  # a unit: 200 Mbit
    if word.is_acronym or word.is_mixed:
        return _kind_of_unknown(group, lexicon, fallback="concept", several=False)
    if group.after.lower() in lexicon.person_verbs and word is group.words[-1]:
        return "person"
    return None if opens else _kind_of_unknown(group, lexicon, fallback="concept", several=False)


def _kind_of_unknown(group: _Group, lexicon: Lexicon, *, fallback: str, several: bool) -> str:
    """What the words around say of a name."""
    before = group.before.rstrip().lower()
    if before.endswith(_EMPLOYERS):
        return "organization"
    last = re.search(r"(\w+)$", before)
    word = last[1] if last else ""
    if group.after.lower() in lexicon.person_verbs or word in _MAYBE_PERSON or before.endswith("reports to"):
        return "person"
    if several and word in _MAYBE_ORGANIZATION:
        return "organization"
    return "place" if word in {"near", "outside"} else fallback
