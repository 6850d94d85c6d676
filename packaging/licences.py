"""Lists other people's work in the frozen program, with every licence, and copies the licence texts.

    licences.py SHIPPED TARGET

SHIPPED is a file with one path a line: whatever was frozen. TARGET becomes a folder with THIRD_PARTY.md and the texts.
Every path must belong to an installed distribution, to Python, to a package of the system, or to this project; and
every owner must state a licence and have its text. Where one does not, nothing is made. Runs in the environment from
which the program was frozen.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from itertools import chain, count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "packaging" / "licences"
OURS = "graymatter-desktop"
FREEZER = "pyinstaller"  # its starter is in both programs
TEXT_NAME = re.compile(r"(licen[cs]e|copying|notice|copyright|thirdpartynotices)", re.IGNORECASE)
TEXT_SUFFIXES = {"", ".txt", ".md", ".rst"}
STANDARD_TEXTS = {  # for distributions that state a licence and bring no text
    "LGPL-3.0": (TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt"),
    "Apache": (ROOT / "LICENSE",),
}
GPL_ONLY = re.compile(
    r"Qt6?(Charts|DataVisualization|Graphs|HttpServer|Lottie|NetworkAuth|Quick3D|QuickTimeline|ShaderTools"
    r"|VirtualKeyboard|Wayland(Egl)?Compositor)|qtvirtualkeyboard|lottie|wayland-compositor|^libreadline|^libgdbm"
)
GPL = re.compile(r"(?<!L)A?GPL|GNU (Affero )?General Public", re.IGNORECASE)  # and not the Lesser one
INSTALLED = {"site-packages", "dist-packages"}  # folders in Python's own, with what others made
DEBIAN_LICENCE = re.compile(r"^License: *(\S.*?) *$", re.MULTILINE)
BUNDLED = (  # what this project brings along, which no metadata describes
    ("Inter (typeface)", "OFL-1.1", "fonts/OFL.txt"),
    ("Lucide (icons)", "ISC AND MIT", "icons/LICENSE"),
    ("all-MiniLM-L6-v2 (embedding model)", "Apache-2.0 AND MIT", "models/minilm-l6/NOTICE"),
)
HEAD = """# What GrayMatter is made of

GrayMatter itself is licensed under the Apache License 2.0; the text lies beside the program. This folder lists
everything in it that others made. Each name has a folder here with its licence texts.

Qt and its Python bindings (PySide6, shiboken6) are used under the GNU Lesser General Public License, version 3. They
are unchanged, and lie as shared libraries in `_internal/PySide6` and `_internal/shiboken6`: you may replace them by
your own builds of the same version. Their source is published by the Qt Project, that of every Python package on the
Python Package Index, that of system libraries by Debian, each under the name and version below. What Qt itself took
from others is listed in its documentation under "Third-Party Code Used in Qt". PyInstaller is under the GPL with an
exception: what starts both programs may start a program of any licence.

For a library of Debian the table names every licence that its copyright file names, those of its tools and of its build
included; which one holds for the library is said there.

| part | version | licence |
|---|---|---|
"""


class LicenceMissing(Exception):
    """Something would be shipped whose licence is not known, has no text, or does not fit; the message says what."""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of other people's work and the files with its licence."""

    name: str
    version: str
    licence: str
    texts: tuple[Path, ...]


def licence_of(found: Distribution) -> str:
    """What a distribution's metadata says: the expression, else the short licence field, else the classifiers."""
    fields = {name: "".join(found.metadata.get_all(name) or ()).strip() for name in ("License-Expression", "License")}
    stated = [fields["License-Expression"], *fields["License"].splitlines()[:1]]
    classified = [
        each.rsplit(" :: ", 1)[1]
        for each in found.metadata.get_all("Classifier") or ()
        if each.startswith("License :: OSI Approved ::")
    ]
    for said in (*stated, " OR ".join(classified)):
        if said and said.upper() != "UNKNOWN" and len(said) < 120:
            return said
    raise LicenceMissing(f"{found.name} {found.version} states no licence")


def texts_of(found: Distribution) -> tuple[Path, ...]:
    """The licence texts that a distribution brings, else the standard text of its licence."""
    own = [
        Path(str(found.locate_file(each)))
        for each in found.files or ()
        if TEXT_NAME.search(each.name) and each.suffix.casefold() in TEXT_SUFFIXES
    ]
    texts = tuple(path for path in own if path.is_file())
    return texts or standard_texts(found.name, licence_of(found))


def standard_texts(name: str, licence: str) -> tuple[Path, ...]:
    """The text of a licence that is named so. Raises `LicenceMissing` where there is none here."""
    for word, texts in STANDARD_TEXTS.items():
        if word in licence:
            return texts
    raise LicenceMissing(f"{name} ({licence}) brings no licence text, and there is no standard one")


def part_of(found: Distribution) -> Part:
    """A distribution as a part. Raises `LicenceMissing` for one that is under the GPL only."""
    licence = licence_of(found)
    if is_gpl_only(licence) and found.name.casefold() != FREEZER:
        raise LicenceMissing(f"{found.name} ({licence}) is under the GPL only and must be left out")
    return Part(found.name, found.version, licence, texts_of(found))


def is_gpl_only(licence: str) -> bool:
    """Whether a licence leaves no choice but the GPL or the AGPL, without an exception. In doubt it does."""
    choices = (licence,) if " AND " in licence else licence.split(" OR ")
    return all(GPL.search(choice) and " WITH " not in choice for choice in choices)


# Owners of files ------------------------------------------------------------------------------------------------------


def parts_of(shipped: Iterable[Path]) -> tuple[Part, ...]:
    """Whose the files are, by name. Raises `LicenceMissing` for files of nobody, and for what is under the GPL only."""
    owners = {
        os.path.realpath(str(found.locate_file(each))): found for found in distributions() for each in found.files or ()
    }
    wanted = {FREEZER: distribution(FREEZER)}
    generated = tuple(Path(os.path.realpath(ROOT / "build" / name)) for name in ("scripts", "pyinstaller"))
    system, is_python_in = set[str](), False
    for path in sorted({os.path.realpath(each) for each in shipped}):
        if GPL_ONLY.search(Path(path).name):
            raise LicenceMissing(f"{path} is under the GPL only and must be left out")
        if path in owners:
            wanted[owners[path].name] = owners[path]
        elif is_of_python(Path(path)):
            is_python_in = True
        elif not any(Path(path).is_relative_to(folder) for folder in generated):
            system.add(path)
    parts = [part_of(found) for name, found in wanted.items() if name != OURS]
    if is_python_in:
        parts.append(python_part())
    return tuple(sorted((*parts, *system_parts(system)), key=lambda part: part.name.casefold()))


def is_of_python(path: Path) -> bool:
    """Whether a resolved path is the interpreter's library or one of the standard library."""
    standard_library = Path(os.path.realpath(sysconfig.get_path("stdlib")))
    is_standard = path.is_relative_to(standard_library) and INSTALLED.isdisjoint(path.parts)
    return is_standard or path.name.startswith("libpython")


def python_part() -> Part:
    """The interpreter and its standard library."""
    places = (
        Path(sysconfig.get_path("stdlib"), "LICENSE.txt"),
        Path(sys.base_prefix, "LICENSE.txt"),
        Path("/usr/share/doc", f"python{sys.version_info.major}.{sys.version_info.minor}", "copyright"),
    )
    texts = tuple(path for path in places if path.is_file())[:1]
    if not texts:
        raise LicenceMissing("Python's licence text is not where it is expected")
    return Part("Python", platform.python_version(), "PSF-2.0", texts)


def system_parts(paths: Iterable[str]) -> Iterator[Part]:
    """The packages of the system that files belong to."""
    versions: dict[str, str] = {}
    for path in paths:
        package = _package_of(path)
        versions.setdefault(package, _said("dpkg-query", "-W", "-f", "${Version}", package))
    for package, version in versions.items():
        text = Path("/usr/share/doc", package.partition(":")[0], "copyright")
        if not text.is_file():
            raise LicenceMissing(f"the system's package {package} has no copyright file")
        named = dict.fromkeys(DEBIAN_LICENCE.findall(text.read_text(encoding="utf-8")))
        yield Part(package.partition(":")[0], version, ", ".join(named) or "see its text", (text,))


def _package_of(path: str) -> str:
    for name in (path, path.removeprefix("/usr")):  # the two are one since /lib is a link, but dpkg knows either
        owner = _said("dpkg-query", "-S", name).partition(": ")[0]
        if owner:
            return owner
    raise LicenceMissing(f"{path} is shipped and belongs to no package")


def _said(*command: str) -> str:
    if shutil.which(command[0]) is None:
        raise LicenceMissing(f"{command[0]} is needed to say whose a library of the system is")
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


# The list -------------------------------------------------------------------------------------------------------------


def bundled_parts() -> Iterator[Part]:
    """Typeface, icons and model, which lie in `resources`."""
    for name, licence, text in BUNDLED:
        yield Part(name, "", licence, (ROOT / "resources" / text,))


def write_list(parts: Iterable[Part], target: Path) -> None:
    """Writes THIRD_PARTY.md and the texts into `target`, which is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    rows = []
    for part in (*bundled_parts(), *parts):
        folder = target / part.name.partition(" (")[0]
        folder.mkdir(parents=True)
        for text in part.texts:
            shutil.copyfile(text, folder / _free_name(folder, text))
        rows.append(f"| {part.name} | {part.version} | {part.licence} |")
    (target / "THIRD_PARTY.md").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


def _free_name(folder: Path, text: Path) -> str:
    """The text's name, numbered where others of its part are called the same."""
    numbered = (f"{text.stem}-{n}{text.suffix}" for n in count(2))
    return next(name for name in chain((text.name,), numbered) if not (folder / name).exists())


def main() -> int:
    """Makes the list; 1 when a licence is missing."""
    shipped, target = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        parts = parts_of(map(Path, shipped.read_text(encoding="utf-8").splitlines()))
        write_list(parts, target)
    except LicenceMissing as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(parts)} parts by others, all with a licence and its text", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
