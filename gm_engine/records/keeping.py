"""Backups, what was restored from one, and what a purge removed."""

from __future__ import annotations

from dataclasses import dataclass

from gm_engine.records.store import Counts


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup file: when it was made, from which journal entry, and what it holds.

    `problem` says why it cannot be read; the other fields are then what the file's name and size tell.
    """

    path: str
    made_ns: int
    size_bytes: int
    seq: int
    counts: Counts
    scheduled: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BackupSchedule:
    """How often a program that has the store open makes a backup (0 = never), and how many such backups stay.

    They go to `folder`, an absolute path; "" is the store's own `backups/`.
    """

    every_h: int = 0
    kept: int = 7
    folder: str = ""


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What a purge removed, and what it could not.

    `entities` had the text as a name, or only the purged facts spoke of them; `checkpoints` go where that is asked for.
    `removed_bytes` counts the bytes of texts, journal images, vectors and index entries that went. `backups` were
    rewritten without the text. `still_in` names other places of the store that hold the text within something longer;
    `incomplete` says in sentences what has to happen before the last copy is gone; empty when it is.
    """

    facts: int
    journal_images: int
    vectors: int
    proposals: int
    backups: tuple[str, ...]
    removed_bytes: int
    still_in: tuple[str, ...]
    incomplete: tuple[str, ...]
    entities: int = 0
    checkpoints: int = 0
