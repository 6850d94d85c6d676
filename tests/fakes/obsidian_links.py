"""How Obsidian follows a link, from its documentation; shares no code with what writes links.

A link names a file by its path from the vault's root, by a path relative to the note (`./`, `../`), or by its name
alone, which may lie anywhere. Case does not matter, a note's extension may be left out. What follows `#` is a heading
of that file, `#^` a block in it; what follows `|` is shown instead. Nothing is a link in code, in a comment between
`%%`, or behind a backslash.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_LINK = re.compile(r"(?<!\\)\[\[(?P<inner>[^\[\]\n]+?)\]\]")
_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<text>.+?)[ \t]*$", re.MULTILINE)
_BLOCK = re.compile(r"(?:^|[ \t])\^(?P<id>[A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)


class ObsidianVault:
    """The files of a vault as Obsidian knows them: nothing in folders that begin with a dot."""

    def __init__(self, root: Path) -> None:
        self.root = root
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        self.files = [path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)]
        self._by_path = {path.lower(): path for path in self.files}
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self.files, key=len):
            self._by_name.setdefault(posixpath.basename(path).lower(), []).append(path)

    def notes(self) -> list[str]:
        """The paths of all notes."""
        return [path for path in self.files if path.endswith(".md")]

    def links(self, note: str) -> Iterator[str]:
        """What stands between the brackets of every link of a note, its properties included."""
        text = (self.root / note).read_text(encoding="utf-8")
        for match in _LINK.finditer(_COMMENT.sub("", _CODE.sub("", text))):
            yield match["inner"]

    def leads_to(self, note: str, inner: str) -> str | None:
        """The file that a link in `note` opens, None where Obsidian would offer to create one."""
        target = inner.partition("|")[0]
        path, _, place = target.partition("#")
        found = note if not path else self._file(note, path.strip())
        if found is None or (place and not self._has(found, place)):
            return None
        return found

    def _file(self, note: str, path: str) -> str | None:
        wanted = path.lower()
        if wanted.startswith(("./", "../")):
            wanted = posixpath.normpath(posixpath.join(posixpath.dirname(note).lower(), wanted))
        wanted = wanted.lstrip("/")
        for name in (wanted, f"{wanted}.md"):
            if name in self._by_path:
                return self._by_path[name]
            if "/" not in name and name in self._by_name:
                return self._by_name[name][0]
        return None

    def _has(self, file: str, place: str) -> bool:
        text = (self.root / file).read_text(encoding="utf-8")
        if place.startswith("^"):
            return place[1:].lower() in {match["id"].lower() for match in _BLOCK.finditer(text)}
        return place.lower() in {match["text"].lower() for match in _HEADING.finditer(text)}
