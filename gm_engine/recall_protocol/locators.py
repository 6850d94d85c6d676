"""Names of a store's records on the wire: `<source_id>:<local>`, the local part being one of

`fact/<id>`, `checkpoint/<agent>/<id>`, `entity/<id>`, each segment percent-encoded. A record found in the past ends in
`@<seq>`, the journal entry after which it is meant: what became of it later is another revision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import quote, unquote

from gm_engine.errors import InvalidInput

RecordType = Literal["fact", "checkpoint", "entity"]
RECORD_TYPES: tuple[RecordType, ...] = ("fact", "checkpoint", "entity")

_SEGMENT = r"(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2})+"
_LOCAL = re.compile(
    rf"(?:(?P<kind>fact|entity)/(?P<id>{_SEGMENT})|checkpoint/(?P<agent>{_SEGMENT})/(?P<checkpoint>{_SEGMENT}))"
    r"(?:@(?P<seq>0|[1-9][0-9]{0,17}))?"
)


@dataclass(frozen=True, slots=True)
class RecordName:
    """One record of a store, as it is now or, with `seq`, as it was after that journal entry."""

    kind: RecordType
    id: str
    agent_id: str = ""
    seq: int | None = None

    @property
    def record(self) -> str:
        """The record itself, whatever the moment: equal for all hits in it."""
        return replace(self, seq=None).local

    @property
    def local(self) -> str:
        """The local part of the locator."""
        parts = [self.kind, self.agent_id, self.id] if self.kind == "checkpoint" else [self.kind, self.id]
        moment = "" if self.seq is None else f"@{self.seq}"
        return "/".join(_quoted(part) for part in parts) + moment


def _quoted(part: str) -> str:
    return quote(part.encode("utf-8", "surrogatepass"), safe="")


def parse_local(local: str) -> RecordName:
    """The record that a local part names; `InvalidInput` when it is not written as this program writes it."""
    match = _LOCAL.fullmatch(local)
    if match is None:
        raise InvalidInput("The local part of the locator cannot be read.", field="locator")
    seq = None if match["seq"] is None else int(match["seq"])
    try:
        if match["kind"] is None:
            agent, own = (unquote(match[name], errors="strict") for name in ("agent", "checkpoint"))
            found = RecordName("checkpoint", own, agent, seq)
        else:
            kind: RecordType = "fact" if match["kind"] == "fact" else "entity"
            found = RecordName(kind, unquote(match["id"], errors="strict"), seq=seq)
    except UnicodeDecodeError as error:
        raise InvalidInput("The local part of the locator is no UTF-8.", field="locator") from error
    if found.local != local:
        raise InvalidInput("The local part of the locator is written in another way.", field="locator")
    return found


def split_locator(locator: str, source_id: str) -> str | None:
    """The local part of a locator of this source; None when it names another source."""
    head = f"{source_id}:"
    return locator[len(head) :] if locator.startswith(head) else None
