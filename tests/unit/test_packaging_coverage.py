"""The figure by which the checks judge branches: of one package, without its lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.packaging_modules import load

BRANCHED = """
def sign(number):
    one, two, three = 1, 2, 3
    if number < 0:
        return "-"
    return "+"


sign(1)
"""


def test_branches_are_counted_without_lines_and_by_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = load("dev")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "tool", lambda name: Path(sys.executable).with_name(name))
    for package, more in (("taken", "sign(-1)\n"), ("half", "")):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(BRANCHED + more)
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    run = [sys.executable, "-m", "coverage", "run", "--branch", "--source=taken,half", "-m", "taken"]
    (tmp_path / "taken" / "__main__.py").write_text("import half\n")
    subprocess.run(run, cwd=tmp_path, env=env, check=True)
    assert dev.branch_coverage("taken", env=env) == 100.0
    assert dev.branch_coverage("half", env=env) == 50.0
    assert dev.branch_coverage("absent", env=env) == 0.0
