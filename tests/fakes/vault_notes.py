"""A person's hand in a published vault, and what comes back of it."""

from __future__ import annotations

from pathlib import Path

from exporters.obsidian.edits import VaultEdit, VaultEdits


def note(vault: Path, text: str) -> Path:
    return vault / "Memory" / "Facts" / "scout" / f"{text.rstrip('.')}.md"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def add_line(path: Path, line: str) -> None:
    change(path, "\n%% graymatter:end", f"{line}\n\n%% graymatter:end")


def only(edits: VaultEdits) -> VaultEdit:
    assert edits.problems == ()
    (edit,) = edits.edits
    return edit


def problems(edits: VaultEdits) -> dict[str, str]:
    return {Path(problem.note).stem: problem.reason for problem in edits.problems}
