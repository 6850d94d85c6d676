"""The help in other languages: the same subjects, alike line by line, in the window's own words, and up to date."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from gm_desktop.help_pages import ORDER
from gm_desktop.i18n import LANGUAGES
from gm_engine.resources import resource

TRANSLATED = sorted(set(LANGUAGES) - {"en"})
TRANSLATED_FROM = Path(__file__).parent / "help_translated_from.json"
KEPT = re.compile(
    r"`[^`]+`|^(?:#+|-|\d+\.|>.*)|(?<=\[\[)[^|\]]+|\||\d+(?:\.\d+)*|(?<=\| )[A-Z](?:, [A-Z])*(?= \|)"
    r"|(?:Ctrl|Shift)\+(?:,|[\w+]+)|\bF\d{1,2}\b|[←→↑↓]|\b(?:Enter|Escape|Delete|Home)\b"
)
"""Code, the marks of headings, lists, citations and tables, targets of links, numbers and keys."""
MARK = re.compile(r"(?<=\d),(?=\d)")
"""What parts a number from its fraction in the other languages."""
NAME = re.compile(r"(?<!\*)\*{1,2}([^*]+)\*|\[\[[^|\]]+\|([^\]]+)\]\]")
"""What stands in italics or bold, and what links say."""
NO_NAMES = {"namespace", "rank", "not", "importing"}
"""What is stressed, linked or a heading, and in the window nothing or something else."""

Words = dict[str, set[str]]


@pytest.fixture(params=TRANSLATED)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def words(language: str) -> Words:
    """What the window says for an English name, both without their endings."""
    said: Words = {}
    for english, translated in json.loads(resource("i18n", f"{language}.json").read_text(encoding="utf-8")).items():
        said.setdefault(_bare(english), set()).add(_bare(translated))
    return said


def test_every_subject_is_there_in_every_language() -> None:
    folders = [path for path in resource("help").iterdir() if path.is_dir()]
    assert sorted(folder.name for folder in folders) == TRANSLATED
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {f"{subject}.md" for subject in ORDER}


@pytest.mark.parametrize("subject", ORDER)
def test_every_line_has_the_code_the_links_the_keys_and_the_numbers_of_the_english_one(
    subject: str, language: str
) -> None:
    for english, translated in zip(_lines(subject), _lines(subject, language), strict=True):
        assert Counter(KEPT.findall(MARK.sub(".", translated))) == Counter(KEPT.findall(english)), translated


@pytest.mark.parametrize("subject", ORDER)
def test_things_and_subjects_are_called_as_the_window_calls_them(subject: str, language: str, words: Words) -> None:
    titles = {_bare(_lines(each)[0]): {_bare(_lines(each, language)[0])} for each in ORDER}
    for english, translated in zip(_lines(subject), _lines(subject, language), strict=True):
        said = _names(translated)
        assert len(said) == len(_names(english)), translated
        for name in set(_names(english)) - NO_NAMES:
            known = words.get(name) or titles.get(name, set())
            assert known & set(said), f"{name} is {known or 'nothing in the window'}, not in: {translated}"


@pytest.mark.parametrize("subject", ORDER)
def test_headings_are_the_words_of_the_window_where_it_has_them(subject: str, language: str, words: Words) -> None:
    for english, translated in zip(_lines(subject), _lines(subject, language), strict=True):
        if english.startswith("#") and _bare(english) in words.keys() - NO_NAMES:
            assert _bare(translated) in words[_bare(english)]


def test_no_english_text_was_changed_without_its_translations() -> None:
    now = {each: hashlib.sha256("\n".join(_lines(each)).encode()).hexdigest()[:16] for each in ORDER}
    if os.environ.get("GRAYMATTER_UPDATE_GOLDEN"):
        TRANSLATED_FROM.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    then = json.loads(TRANSLATED_FROM.read_text(encoding="utf-8"))
    stale = sorted(each for each in now if now[each] != then.get(each))
    assert stale == [], "translate what changed in these, then run this with GRAYMATTER_UPDATE_GOLDEN=1"


def _lines(subject: str, language: str = "") -> list[str]:
    return resource("help", language, f"{subject}.md").read_text(encoding="utf-8").splitlines()


def _names(line: str) -> list[str]:
    found = [stressed or link for stressed, link in NAME.findall(line)]
    return [_bare(part) for each in found for part in each.split(" → ")]


def _bare(text: str) -> str:
    """A title without the mark of a heading, and without what follows its name: an ellipsis or an explanation."""
    return re.split(r"[.:…]", text.lstrip("# "))[0].casefold()
