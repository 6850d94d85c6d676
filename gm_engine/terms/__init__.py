"""How a text becomes search terms, and the key that texts are compared by."""

from gm_engine.terms.words import (
    TERMS_RULES,
    Term,
    check_language,
    languages,
    match_spans,
    term_counts,
    text_key,
    text_terms,
)

__all__ = [
    "TERMS_RULES",
    "Term",
    "check_language",
    "languages",
    "match_spans",
    "term_counts",
    "text_key",
    "text_terms",
]
