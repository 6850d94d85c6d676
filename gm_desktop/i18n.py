"""Every sentence a person reads passes here: whole sentences, named placeholders."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gm_desktop.paths import resource

LANGUAGES = {"en": "English", "de": "Deutsch", "es": "Español"}
PSEUDO = "en-XA"  # English that is longer, accented and bracketed: shows what is cut, and what is not translated
_ACCENTS = str.maketrans("aceinouyACEINOUY", "áçéíñóúýÁÇÉÍÑÓÚÝ")


class Catalogue:
    """The sentences of one language; English needs none, because the keys are English."""

    def __init__(self, language: str = "en", sentences: Mapping[str, str] | None = None) -> None:
        self.language = language
        self._sentences = dict(sentences or {})

    @classmethod
    def load(cls, language: str) -> Catalogue:
        """The bundled catalogue of `language`; English when there is none."""
        if language == PSEUDO:
            return PseudoCatalogue(PSEUDO)
        if language not in LANGUAGES or language == "en":
            return cls()
        return cls(language, json.loads(resource("i18n", f"{language}.json").read_text(encoding="utf-8")))

    def sentence(self, text: str) -> str:
        """The translation of `text`, or `text` itself."""
        return self._sentences.get(text) or text


class PseudoCatalogue(Catalogue):
    """Translates into something nobody speaks, 40 % longer, with every placeholder in its place."""

    def sentence(self, text: str) -> str:
        """`[Rétíré… ~~~]`"""
        core = text.strip()
        accented = "".join(
            part if part.startswith("{") else part.translate(_ACCENTS) for part in re.split(r"(\{\w*\})", core)
        )
        more = " ".join("~" * min(5, rest) for rest in range(round(0.4 * len(core)), 0, -5))
        lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{lead}[{accented}{' ' if more else ''}{more}]{trail}"


class _Speaker:
    """Holds the one catalogue; the composition root chooses it before any widget exists."""

    def __init__(self) -> None:
        self.catalogue = Catalogue()


_speaker = _Speaker()


def use_language(language: str) -> None:
    """Chooses the language of everything said from now on."""
    use_catalogue(Catalogue.load(language))


def use_catalogue(catalogue: Catalogue) -> None:
    """Says everything from now on with these sentences."""
    _speaker.catalogue = catalogue


def tr(text: str, **values: object) -> str:
    """`text` in the person's language with its `{named}` placeholders filled in."""
    sentence = _speaker.catalogue.sentence(text)
    return sentence.format(**values) if values else sentence


def tr_count(one: str, many: str, count: int, **values: object) -> str:
    """`one` when `count` is 1, else `many`; `{count}` is the number with digits grouped."""
    return tr(one if count == 1 else many, count=digits(count), **values)


def digits(value: int) -> str:
    """Digits in groups of three: by commas in English, elsewhere by a narrow space, which nobody takes for a point."""
    grouped = f"{value:,}"
    return grouped if spoken().startswith("en") else grouped.replace(",", "\u202f")


def decimal(written: str) -> str:
    """A number that was written with a point, with the decimal comma where the language has one."""
    return written if spoken().startswith("en") else written.replace(".", ",")


def spoken() -> str:
    """The language of what is said now."""
    return _speaker.catalogue.language


def in_sentence(title: str) -> str:
    """A title that names a thing, inside a sentence: in lower case, but for German, where nouns keep their capital."""
    return title if spoken() == "de" else title.lower()
