"""The house rules that no linter sees: imports inside functions, sizes, words and paths that must not be in texts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("gm_engine", "exporters", "gm_desktop")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 60
FACADE = "gm_engine/memory.py"  # one thin method per verb: long, but one subject
MAX_FACADE_LINES = 700
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".cfg", ".yml", ".yaml", ".json", ".sql", ".sh", ""}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def imported(path: Path) -> set[str]:
    """Every module a file imports, wherever the import stands; `from a import b` counts as `a` and as `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def users(folders: tuple[str, ...], *modules: str) -> list[str]:
    """The files below `folders` that import one of `modules` or something inside it."""
    return [str(path.relative_to(ROOT)) for path in sources(*folders) if using(path, *modules)]


def using(path: Path, *modules: str) -> set[str]:
    return {name for name in imported(path) if any(name == m or name.startswith(f"{m}.") for m in modules)}


def sources(*folders: str) -> list[Path]:
    return [path for path in SOURCES if any(path.is_relative_to(ROOT / folder) for folder in folders)]


def test_the_layers_hold() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_view_models_and_models_know_no_widgets() -> None:
    guilty = [
        path for path in sources("gm_desktop/viewmodels", "gm_desktop/models") if using(path, "PySide6.QtWidgets")
    ]
    assert names(guilty) == []


def test_views_and_widgets_import_no_engine() -> None:
    guilty = [
        path for path in sources("gm_desktop/views", "gm_desktop/widgets") if using(path, "gm_engine", "exporters")
    ]
    assert names(guilty) == []


def test_widgets_know_no_view_model() -> None:
    guilty = [
        path for path in sources("gm_desktop/widgets") if using(path, "gm_desktop.viewmodels", "gm_desktop.views")
    ]
    assert names(guilty) == []


def test_the_engine_and_the_exporters_know_no_qt() -> None:
    assert (
        users(
            (
                "gm_engine",
                "exporters",
            ),
            "PySide6",
            "shiboken6",
        )
        == []
    )


def test_chromadb_is_imported_in_one_place_and_never_at_start() -> None:
    guilty = [path for path in SOURCES if using(path, "chromadb")]
    assert set(names(guilty)) <= {"gm_engine/vectors/chroma.py", "gm_engine/vectors/probe.py"}
    for path in guilty:
        at_start = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.Import)]
        assert not [alias.name for node in at_start for alias in node.names if alias.name.startswith("chromadb")]


def test_only_the_engine_speaks_sql() -> None:
    assert users(("gm_desktop", "exporters"), "sqlite3", "sqlalchemy", "alembic", "gm_engine.store") == []


def calls(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.lineno, node.func.attr


def test_no_event_loop_inside_the_event_loop() -> None:
    starters = {"gm_desktop/__main__.py", "gm_desktop/screenshots.py", "gm_desktop/self_test.py"}
    starters.add("gm_desktop/widgets/fact_drag.py")  # QDrag.exec: Qt offers no other way to drag
    guilty = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sources("gm_desktop")
        for line, name in calls(path)
        if name == "processEvents" or (name in {"exec", "exec_"} and str(path.relative_to(ROOT)) not in starters)
    ]
    assert guilty == []


def test_files_and_functions_stay_readable() -> None:
    too_long = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        name = str(path.relative_to(ROOT))
        if len(text.splitlines()) > (MAX_FACADE_LINES if name == FACADE else MAX_FILE_LINES):
            too_long.append(f"{name} has {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > MAX_FUNCTION_LINES:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {size} lines")
    assert too_long == []


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a path of one machine", r"(?<![\w.])/(?:home|Users|root|work|tmp/\w+)/\w"),
        ("a package registry's host", r"files\.pythonhosted|pypi\.org/simple|registry\.npmjs|deb\.debian\.org"),
        ("unfinished work", r"\b(?:TODO|FIXME|XXX|HACK)\b"),
    ],
)
def test_the_text_of_the_project_does_not_contain(what: str, pattern: str) -> None:
    found = []
    for path in tracked():
        relative = path.relative_to(ROOT)
        if path.suffix not in TEXT_SUFFIXES or relative.parts[0] in {"resources", "LICENSE"} or not path.is_file():
            continue
        if path == Path(__file__) or "fixtures" in relative.parts or "golden" in relative.parts:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [
            f"{relative}:{n}: {line.strip()[:100]}" for n, line in enumerate(lines, 1) if re.search(pattern, line)
        ]
    assert found == [], what


def test_every_action_of_ci_is_the_developers_own_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert script[1:] == ["exec python3 packaging/dev.py test"]


def test_vague_rooms_do_not_exist() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert [str(path.relative_to(ROOT)) for path in SOURCES if path.stem in vague] == []


def test_packaging_is_no_package() -> None:
    assert not (ROOT / "packaging" / "__init__.py").exists()


def test_the_command_lines_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from gm_engine.cli.main import main; main(['--help'])\n"
        "heavy = {'sqlalchemy', 'numpy', 'alembic', 'chromadb', 'onnxruntime', 'regex', 'tokenizers', 'PySide6'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "loaded: []"
