"""Every link that we wrote into a vault, against the files that are there now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporters.obsidian.folder import notes_elsewhere, open_folder, unreadable
from exporters.obsidian.links import BrokenLink, VaultIndex, link_targets
from exporters.obsidian.names import NOTE_SUFFIX, path_key
from exporters.obsidian.note_file import NoteUnreadable, take_apart
from gm_engine import CancelToken, Progress, no_progress

_EVERY = 32


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """What a check of links found: managed blocks that were read, links in them, and those that lead nowhere."""

    notes: int
    links: int
    broken: tuple[BrokenLink, ...]


def check_links(
    vault: Path, *, folder: str = "Memory", progress: Progress = no_progress, cancel: CancelToken | None = None
) -> LinkCheck:
    """Reads every published note of `folder` as it is now; writes nothing. What a person wrote below is not looked at.

    Raises `PublishRefused` or `Cancelled`.
    """
    token = cancel or CancelToken()
    try:
        if not (vault / folder).is_dir():
            return LinkCheck(0, 0, ())
    except OSError as error:
        raise unreadable(str(vault), error) from error
    place = open_folder(vault, folder, create=False)
    paths = [path for path in place.scan().files if path_key(path).endswith(NOTE_SUFFIX)]
    index = VaultIndex([*(f"{place.name}/{path}" for path in paths), *(path for path, _ in notes_elsewhere(place))])
    notes = links = 0
    broken: list[BrokenLink] = []
    for number, path in enumerate(paths):
        if number % _EVERY == 0:
            token.check()
            progress(number, len(paths), "Checking links")
        try:
            block = take_apart(place.read(path) or b"").block
        except NoteUnreadable:
            continue
        if block is not None:
            notes += 1
            links += sum(1 for _ in link_targets(block))
            broken += index.broken(f"{place.name}/{path}", block)
    return LinkCheck(notes, links, tuple(broken))
