"""Every catalogue says exactly what the code says, with the same placeholders, and plurals follow the count."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gm_desktop.formatting import local_date, size
from gm_desktop.i18n import LANGUAGES, PSEUDO, Catalogue, digits, in_sentence, tr, tr_count, use_catalogue, use_language

ROOT = Path(__file__).resolve().parents[2]
TRANSLATED = sorted(set(LANGUAGES) - {"en"})
PLACEHOLDER = re.compile(r"\{\w*\}")
KEYS = re.compile(r"\b(?:Ctrl|Shift|Alt|Esc|Enter)\b|\(\*[^)]*\)|[←→↑↓]")


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    use_language("en")


@pytest.fixture(scope="module")
def words() -> ModuleType:
    """`packaging/words.py`, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("words", ROOT / "packaging" / "words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=TRANSLATED)
def catalogue(request: pytest.FixtureRequest) -> dict[str, str]:
    text = (ROOT / "resources" / "i18n" / f"{request.param}.json").read_text(encoding="utf-8")
    return {str(said): str(translated) for said, translated in json.loads(text).items()}


def test_a_catalogue_has_exactly_the_sentences_of_the_code(catalogue: dict[str, str], words: ModuleType) -> None:
    wanted = words.sentences()
    assert len(wanted) > 1_700
    assert set(catalogue) == set(wanted), "run packaging/dev.py words"


def test_no_translation_is_missing(catalogue: dict[str, str]) -> None:
    assert [said for said, translated in catalogue.items() if not translated.strip()] == []


def test_placeholders_and_keys_are_the_same(catalogue: dict[str, str]) -> None:
    for pattern in (PLACEHOLDER, KEYS):
        assert [
            (said, translated)
            for said, translated in catalogue.items()
            if sorted(pattern.findall(said)) != sorted(pattern.findall(translated))
        ] == []


def test_a_translation_begins_and_ends_as_the_sentence_does(catalogue: dict[str, str]) -> None:
    assert [
        (said, translated)
        for said, translated in catalogue.items()
        if _edges(said) != _edges(translated) or said.endswith("…") != translated.endswith("…")
    ] == []


def _edges(text: str) -> tuple[bool, bool]:
    return text[:1].isspace(), text[-1:].isspace()


def test_sentences_are_found_where_the_code_says_them(words: ModuleType) -> None:
    found = set(words.sentences())
    assert {
        "Memory",
        "Open store…",
        "{count} fact",
        "Merge exact duplicates",
        "The source refused: {message}.",
    } <= found
    assert not {text for text in found if not re.search(r"[A-Za-z]{2}|\{", text)}
    assert not found & {"layout-dashboard", "git-merge", "exact_duplicate"}


def test_what_is_new_in_the_code_is_added_and_what_is_gone_is_dropped(words: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "xx.json"
    path.write_text('{"Gone": "Fort", "Kept": "Da"}', encoding="utf-8")
    assert words.bring_up_to_date(path, ["New", "Kept"]) == ["New"]
    assert json.loads(path.read_text(encoding="utf-8")) == {"New": "", "Kept": "Da"}


def test_one_and_many_are_said_differently() -> None:
    use_language("de")
    assert tr_count("{count} fact", "{count} facts", 1) == "1 Fakt"
    assert tr_count("{count} fact", "{count} facts", 0) == "0 Fakten"
    assert tr_count("{count} fact", "{count} facts", 1_234) == "1\u202f234 Fakten"


def test_a_sentence_without_translation_stays_english() -> None:
    use_catalogue(Catalogue("de", {"Empty": "", "Known": "Bekannt"}))
    assert (tr("Empty"), tr("Unheard of"), tr("Known")) == ("Empty", "Unheard of", "Bekannt")


def test_an_unknown_language_is_english() -> None:
    use_language("../de")
    assert tr("Cancel") == "Cancel"


def test_dates_digits_and_titles_follow_the_language() -> None:
    at_ns = 1_773_320_709_000_000_000
    assert (local_date(at_ns), digits(12_345), in_sentence("Facts")) == ("12 Mar 2026", "12,345", "facts")
    assert size(900) == "900 bytes"
    use_language("de")
    assert (local_date(at_ns), digits(12_345), in_sentence("Fakten")) == ("12. März 2026", "12\u202f345", "Fakten")
    assert (size(900), size(1_500)) == ("900 Byte", "1,5 kB")


@pytest.mark.parametrize("text", ["Undo", " days", "{count} facts of {agent}", "Open store…", "Undo: "])
def test_the_pseudo_locale_is_longer_and_keeps_blanks_and_placeholders(text: str) -> None:
    use_language(PSEUDO)
    said = tr(text)
    assert len(said) >= 1.4 * len(text.strip())
    assert PLACEHOLDER.findall(said) == PLACEHOLDER.findall(text)
    assert _edges(said) == _edges(text)
    assert said.strip().startswith("[")
