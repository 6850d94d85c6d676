"""Everything that is shipped has a licence that is known, with its text; nothing under the GPL alone gets in."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from types import ModuleType

import pytest

from tests.fakes.packaging_modules import load

ROOT = Path(__file__).resolve().parents[2]
OURS = "graymatter-desktop"
REQUIREMENT = re.compile(r"^[A-Za-z0-9._-]+")


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    """`packaging/licences.py`, which is no part of a package."""
    return load("licences")


@pytest.fixture(autouse=True)
def no_freezer_needed(licences: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyInstaller is installed only where something is frozen."""
    monkeypatch.setattr(licences, "FREEZER", "click")


@pytest.fixture
def made_up(tmp_path: Path) -> Callable[..., Distribution]:
    """A distribution with these lines of metadata and these files."""

    def make(*lines: str, files: tuple[str, ...] = ()) -> Distribution:
        folder = tmp_path / "thing-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("\n".join(("Metadata-Version: 2.4", "Name: thing", "Version: 1.0", *lines)))
        for name in files:
            (folder / name).write_text(f"text of {name}")
        (folder / "RECORD").write_text("".join(f"{folder.name}/{name},,\n" for name in files))
        return PathDistribution(folder)

    return make


def shipped() -> list[str]:
    """Every distribution that an installation brings, ourselves left out."""
    found: set[str] = set()
    waiting = [OURS]
    while waiting:
        for line in distribution(waiting.pop()).requires or ():
            match = REQUIREMENT.match(line)
            name = match[0].casefold().replace("_", "-").replace(".", "-") if match is not None else ""
            if "extra ==" not in line and name not in found and is_installed(name):
                found.add(name)
                waiting.append(name)
    return sorted(found)


def is_installed(name: str) -> bool:
    """Whether it is here: what another system or Python needs is not."""
    return any(True for _ in Distribution.discover(name=name))


def test_whatever_an_installation_brings_has_a_known_licence_with_its_text(licences: ModuleType) -> None:
    names = shipped()
    assert {"chromadb", "numpy", "onnxruntime", "pyside6-essentials", "shiboken6", "orjson"} <= set(names)
    for name in names:
        part = licences.part_of(distribution(name))
        assert part.licence.upper() not in {"", "UNKNOWN"}, name
        assert part.texts, name
        assert all(path.read_bytes() for path in part.texts), name


def test_qt_is_under_the_lgpl_and_both_texts_come_along(licences: ModuleType) -> None:
    part = licences.part_of(distribution("PySide6_Essentials"))
    assert "LGPL-3.0" in part.licence
    heads = [path.read_text(encoding="utf-8").lstrip()[:40] for path in part.texts]
    assert [" ".join(head.split()[:3]) for head in heads] == ["GNU LESSER GENERAL", "GNU GENERAL PUBLIC"]


def test_the_program_uses_no_part_of_qt_that_is_under_the_gpl_only(licences: ModuleType) -> None:
    used = {
        module
        for folder in ("gm_desktop", "gm_engine", "exporters")
        for path in (ROOT / folder).rglob("*.py")
        for module in re.findall(r"PySide6\.(Qt\w+)", path.read_text(encoding="utf-8"))
    }
    assert {"QtCore", "QtGui", "QtWidgets", "QtSvg"} <= used
    assert [module for module in sorted(used) if licences.GPL_ONLY.search(module)] == []


@pytest.mark.parametrize(
    ("lines", "licence"),
    [
        (("License-Expression: MIT", "License: something else"), "MIT"),
        (("License: BSD-3-Clause",), "BSD-3-Clause"),
        (("License: UNKNOWN", "Classifier: License :: OSI Approved :: MIT License"), "MIT License"),
        ((f"License: {'every word of it ' * 20}", "Classifier: License :: OSI Approved :: Zlib"), "Zlib"),
    ],
)
def test_the_licence_is_what_the_metadata_says(
    licences: ModuleType, made_up: Callable[..., Distribution], lines: tuple[str, ...], licence: str
) -> None:
    assert licences.licence_of(made_up(*lines)) == licence


def test_a_distribution_without_a_licence_is_refused(
    licences: ModuleType, made_up: Callable[..., Distribution]
) -> None:
    with pytest.raises(licences.LicenceMissing, match=r"thing 1\.0 states no licence"):
        licences.part_of(made_up("License: UNKNOWN"))


def test_a_distribution_without_a_text_gets_the_standard_one_or_is_refused(
    licences: ModuleType, made_up: Callable[..., Distribution]
) -> None:
    assert licences.texts_of(made_up("License: Apache-2.0")) == (ROOT / "LICENSE",)
    with pytest.raises(licences.LicenceMissing, match="no licence text"):
        licences.standard_texts("thing", "MIT")


@pytest.mark.parametrize(
    "name", ["libQt6Charts.so.6", "libqtvirtualkeyboardplugin.so", "libreadline.so.8", "Qt6VirtualKeyboard.dll"]
)
def test_a_file_under_the_gpl_only_stops_the_build(licences: ModuleType, tmp_path: Path, name: str) -> None:
    with pytest.raises(licences.LicenceMissing, match="under the GPL only"):
        licences.parts_of([tmp_path / name])


@pytest.mark.parametrize(
    ("lines", "is_refused"),
    [
        (("License-Expression: GPL-3.0-only",), True),
        (("License-Expression: MIT AND AGPL-3.0-or-later",), True),
        (("License-Expression: GPL-2.0-only OR GPL-3.0-only",), True),
        (("Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",), True),
        (("License: GNU Affero General Public License",), True),
        (("License-Expression: GPL-2.0-only OR MIT",), False),
        (("License-Expression: GPL-2.0-only WITH Classpath-exception-2.0",), False),
        (("License-Expression: LGPL-3.0-only",), False),
        (("Classifier: License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)",), False),
    ],
)
def test_a_distribution_under_the_gpl_only_stops_the_build(
    licences: ModuleType, made_up: Callable[..., Distribution], lines: tuple[str, ...], *, is_refused: bool
) -> None:
    found = made_up(*lines, files=("LICENSE",))
    if is_refused:
        with pytest.raises(licences.LicenceMissing, match=r"thing .* is under the GPL only"):
            licences.part_of(found)
    else:
        assert licences.part_of(found).name == "thing"


def test_the_freezer_may_be_under_the_gpl_as_its_starter_is_excepted(
    licences: ModuleType, made_up: Callable[..., Distribution], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(licences, "FREEZER", "thing")
    assert licences.part_of(made_up("License: GPLv2-or-later", files=("LICENSE",))).licence == "GPLv2-or-later"


@pytest.mark.parametrize(
    "place", ["{library}/site-packages/nobody/x.so", "{library}/dist-packages/nobody/x.so", "{library}-other/x.so"]
)
def test_a_file_beside_the_standard_library_is_not_pythons(
    licences: ModuleType, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(licences, "_said", lambda *command: "")
    path = Path(place.format(library=Path(subprocess.__file__).resolve().parent))
    with pytest.raises(licences.LicenceMissing, match="belongs to no package"):
        licences.parts_of([path])


def test_a_file_of_nobody_stops_the_build(
    licences: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(licences, "_said", lambda *command: "")
    with pytest.raises(licences.LicenceMissing, match="belongs to no package"):
        licences.parts_of([tmp_path / "libmystery.so.1"])


def test_the_list_names_owners_and_keeps_every_text(licences: ModuleType, tmp_path: Path) -> None:
    numpy = distribution("numpy")
    files = [Path(str(numpy.locate_file("numpy/__init__.py"))), Path(subprocess.__file__)]
    parts = licences.parts_of(files)
    assert [part.name for part in parts] == ["click", "numpy", "Python"]
    licences.write_list(parts, tmp_path / "licences")
    text = (tmp_path / "licences" / "THIRD_PARTY.md").read_text(encoding="utf-8")
    assert f"| numpy | {numpy.version} | {licences.licence_of(numpy)} |" in text
    assert "| Inter (typeface) |  | OFL-1.1 |" in text
    assert len(list((tmp_path / "licences" / "numpy").iterdir())) == len(parts[1].texts) > 10
    folders = {path.parent.name for path in (tmp_path / "licences").glob("*/*")}
    assert folders == {"Inter", "Lucide", "all-MiniLM-L6-v2", "Python", "click", "numpy"}
