"""Every sentence a person reads passes here: whole sentences, named placeholders."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gm_desktop.paths import resource


class Catalogue:
    """The sentences of one language; English needs none, because the keys are English."""

    def __init__(self, language: str = "en", sentences: Mapping[str, str] | None = None) -> None:
        self.language = language
        self._sentences = dict(sentences or {})

    @classmethod
    def load(cls, language: str) -> Catalogue:
        """The bundled catalogue of `language`; English when there is none."""
        try:
            text = resource("i18n", f"{language}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        return cls(language, json.loads(text))

    def use(self, other: Catalogue) -> None:
        """Takes over the sentences of `other`."""
        self.language, self._sentences = other.language, other._sentences

    def sentence(self, text: str) -> str:
        """The translation of `text`, or `text` itself."""
        return self._sentences.get(text) or text


_current = Catalogue()  # chosen once by the composition root, before any widget exists


def use_language(language: str) -> None:
    """Chooses the language of everything said from now on."""
    _current.use(Catalogue.load(language))


def tr(text: str, **values: object) -> str:
    """`text` in the person's language with its `{named}` placeholders filled in."""
    sentence = _current.sentence(text)
    return sentence.format(**values) if values else sentence


def tr_count(one: str, many: str, count: int, **values: object) -> str:
    """`one` when `count` is 1, else `many`; `{count}` is the number with digits grouped."""
    return tr(one if count == 1 else many, count=f"{count:,}", **values)
