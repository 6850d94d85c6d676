"""What an export would do, file by file, before it does anything."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PlanStatus = Literal["new", "changed", "unchanged", "moved", "conflict", "orphaned"]
STATUSES: tuple[PlanStatus, ...] = ("new", "changed", "moved", "conflict", "orphaned", "unchanged")


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One file of an export. Paths are relative to the target.

    `moved` files go from `old_path` to `path` and may change as well. A `conflict` is left alone, and `reason` says
    why. `file` is where the present content lies, `after` what would be written; None where there is none.
    """

    status: PlanStatus
    path: str
    old_path: str = ""
    reason: str = ""
    file: Path | None = None
    after: bytes | None = None

    def diff(self) -> tuple[str, ...]:
        """The change as unified diff lines without line ends; empty when the content stays. Reads the present file."""
        if self.after is None:
            return ()
        before = b"" if self.file is None or not self.file.exists() else self.file.read_bytes()
        old, new = (data.decode("utf-8", "replace").split("\n") for data in (before, self.after))
        lines = difflib.unified_diff(
            old if before else [], new, self.old_path or self.path, self.path, lineterm="", n=2
        )
        return tuple(lines)


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """All files of an export into `target`, by path."""

    target: str
    items: tuple[PlanItem, ...]

    def counts(self) -> Mapping[PlanStatus, int]:
        """How many files of each status, zero included."""
        found = Counter(item.status for item in self.items)
        return {status: found[status] for status in STATUSES}

    def of(self, status: PlanStatus) -> tuple[PlanItem, ...]:
        """The files of one status."""
        return tuple(item for item in self.items if item.status == status)

    def excerpt(self, shown: int) -> PlanExcerpt:
        """The plan without the files that nobody sees where `shown` of each status are listed."""
        return PlanExcerpt(self.counts(), tuple(item for status in STATUSES for item in self.of(status)[:shown]))


@dataclass(frozen=True, slots=True)
class PlanExcerpt:
    """How many files of each status a plan has, zero included, and the first of each by path."""

    counts: Mapping[PlanStatus, int]
    items: tuple[PlanItem, ...]


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan as the command line tells it: paths by status, unchanged ones only counted."""

    target: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    moved: tuple[str, ...]
    conflict: tuple[str, ...]
    orphaned: tuple[str, ...]
    unchanged: int


def summary(plan: ExportPlan) -> PlanSummary:
    """`plan` in a few lists of paths; conflicts come with their reason."""
    return PlanSummary(
        target=plan.target,
        new=tuple(item.path for item in plan.of("new")),
        changed=tuple(item.path for item in plan.of("changed")),
        moved=tuple(f"{item.old_path} → {item.path}" for item in plan.of("moved")),
        conflict=tuple(f"{item.path}: {item.reason}" for item in plan.of("conflict")),
        orphaned=tuple(item.path for item in plan.of("orphaned")),
        unchanged=plan.counts()["unchanged"],
    )
