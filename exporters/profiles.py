"""Publish profiles: where to and what to publish, kept with the store, several for each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from gm_engine import InvalidInput, Memory, NotFound, Proposal
from gm_engine.records import JsonValue

GROUP = "publish_profile"
RetiredNotes = Literal["none", "folder", "struck"]
LinkStyle = Literal["vault", "wikilink", "markdown"]
DateFormat = Literal["YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY"]
AutoAccept = Literal["revise", "label", "pin", "retire", "write", "link"]
AUTO_ACCEPT: tuple[AutoAccept, ...] = get_args(AutoAccept)


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """What a publish shows. `agents` empty = all of them; `shared` is the namespace that all agents read.

    `retired` facts get no note of their own (`none`; one that is there is proposed for removal), a note in `Retired/`
    (`folder`), or stay where they are and are listed struck through (`struck`). `links` `vault` = as the vault's own
    settings say. `colours` is the consent to put colour groups into the vault's `graph.json`.
    """

    agents: tuple[str, ...] = ()
    shared: bool = True
    retired: RetiredNotes = "none"
    entities: bool = True
    checkpoints: bool = True
    canvas: bool = True
    base: bool = True
    links: LinkStyle = "vault"
    date_format: DateFormat = "YYYY-MM-DD"
    colours: bool = False

    def mark(self) -> str:
        """A short name of these options that no other options have."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class PublishProfile:
    """A named way to publish a store: the vault's path, the folder in it, what to show, which edits to accept at once.

    Conflicts are never accepted at once.
    """

    name: str
    vault: str
    folder: str = "Memory"
    options: PublishOptions = field(default_factory=PublishOptions)
    auto_accept: tuple[AutoAccept, ...] = ()

    def accepts(self, proposal: Proposal) -> bool:
        """Whether a proposal of this profile's vault needs no person."""
        return proposal.kind in self.auto_accept and not proposal.details.get("conflict")


def profiles(memory: Memory) -> tuple[PublishProfile, ...]:
    """The profiles of a store, by name; those that a newer program wrote in a way unknown here are left out."""
    found = (_profile(name, value) for name, value in memory.stored_values(GROUP).items())
    return tuple(profile for profile in found if profile is not None)


def profile(memory: Memory, name: str) -> PublishProfile:
    """One profile; `NotFound` when there is none of that name."""
    found = next((each for each in profiles(memory) if each.name == name), None)
    if found is None:
        raise NotFound(f"There is no publish profile {name!r}.", name=name[:100])
    return found


def save_profile(memory: Memory, wanted: PublishProfile) -> None:
    """Stores a profile in place of one of the same name; undoable. `InvalidInput` names a bad value."""
    if not wanted.vault.strip() or not wanted.folder.strip():
        raise InvalidInput("A profile needs a vault and a folder in it.", field="vault")
    value: dict[str, Any] = json.loads(json.dumps(asdict(wanted)))
    name = str(value.pop("name"))
    if _profile(name, value) is None:
        raise InvalidInput("A profile holds a value that is none of the choices.", field="options")
    memory.store_value(GROUP, name, value)


def delete_profile(memory: Memory, name: str) -> None:
    """Removes a profile; undoable. `NotFound` when there is none."""
    memory.remove_value(GROUP, name)


def _profile(name: str, value: JsonValue) -> PublishProfile | None:
    """A stored profile, or None when it holds what is not understood."""
    if not isinstance(value, Mapping):
        return None
    stored: Any = dict(value)
    try:
        options = dict(stored.pop("options", {}))
        options["agents"] = tuple(str(agent) for agent in options.get("agents", ()))
        known = {each.name for each in fields(PublishOptions)}
        made = PublishOptions(**{key: item for key, item in options.items() if key in known})
        accepted = tuple(kind for kind in stored.get("auto_accept", ()) if kind in AUTO_ACCEPT)
        if len(accepted) != len(stored.get("auto_accept", ())) or not _is_valid(made):
            return None
        return PublishProfile(name, str(stored["vault"]), str(stored.get("folder", "Memory")), made, accepted)
    except (KeyError, TypeError, ValueError):
        return None


def _is_valid(options: PublishOptions) -> bool:
    return (
        options.retired in get_args(RetiredNotes)
        and options.links in get_args(LinkStyle)
        and options.date_format in get_args(DateFormat)
    )
