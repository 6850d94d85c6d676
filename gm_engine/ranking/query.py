"""A query as the signals see it: its own terms, what aliases add, and the ids that the ledger knows them by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from gm_engine.errors import InvalidInput
from gm_engine.ranking.aliases import Expansion, expand
from gm_engine.store.rows import fetch
from gm_engine.terms import Term, text_terms

_MAX_TERMS = 1024  # a pasted book is no query; each term costs a look at every fact that holds it
_TERM_IDS = "SELECT term, id FROM terms WHERE term IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Query:
    """`terms` are the query's own, in order of appearance; `ids` has no entry for a term that no fact ever had.

    `text` is what is embedded: the query followed by the words that aliases add.
    """

    text: str
    terms: tuple[Term, ...]
    expansions: tuple[Expansion, ...]
    ids: dict[str, int]

    @property
    def keys(self) -> tuple[str, ...]:
        """Term keys in scoring order: the query's own, then those that aliases add, each once."""
        own = [term.term for term in self.terms]
        return tuple(dict.fromkeys([*own, *(key for added in self.expansions for key in added.terms)]))


def read_query(connection: Connection, text: str, alias_texts: Sequence[str], *, language: str) -> Query:
    """The query with its aliases expanded; of a very long one the first 1024 distinct terms count.

    `InvalidInput` when it holds a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"The query holds a lone surrogate at character {error.start}.", field="query") from error
    terms = text_terms(text, language)[:_MAX_TERMS]
    expansions = expand([term.term for term in terms], alias_texts, language=language)
    extra = list(dict.fromkeys(added.text for added in expansions))
    query = Query(" ".join([text, *extra]) if extra else text, terms, expansions, {})
    if query.keys:
        query.ids.update((row[0], row[1]) for row in fetch(connection, _TERM_IDS, (json.dumps(query.keys),)))
    return query
