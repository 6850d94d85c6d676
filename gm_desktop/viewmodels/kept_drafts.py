"""What was typed and left: it waits until the same thing is edited again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

MOST = 20

K = TypeVar("K", bound=Hashable)


class KeptDrafts(Generic[K]):
    """Texts by what they are about, the last `MOST` of them."""

    def __init__(self) -> None:
        self._texts: dict[K, str] = {}

    def keep(self, key: K, text: str) -> None:
        """Keeps a text in place of an earlier one; the oldest goes where there are too many."""
        self._texts.pop(key, None)
        self._texts[key] = text
        while len(self._texts) > MOST:
            del self._texts[next(iter(self._texts))]

    def take(self, key: K, otherwise: str) -> str:
        """The kept text, which is with whoever asked from now on; `otherwise` where there is none."""
        return self._texts.pop(key, otherwise)

    def was_written(self, key: K, text: str) -> None:
        """Forgets a text that was saved after it was left; one that was typed since stays."""
        if self._texts.get(key) == text:
            del self._texts[key]

    def forget(self, key: K) -> None:
        """Drops what was kept."""
        self._texts.pop(key, None)

    def clear(self) -> None:
        """Drops everything: another store."""
        self._texts.clear()
