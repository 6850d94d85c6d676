"""`graymatter-desktop --self-test`: what a fresh build or installation is judged by."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.end2end
ROOT = Path(__file__).parents[2]
TIMEOUT_S = 400.0


def _self_test(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gm_desktop", "--self-test", *arguments],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def test_the_program_does_its_main_job_and_says_so() -> None:
    done = _self_test()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Chroma and the exact scan answer alike" in done.stdout
    assert done.stdout.splitlines()[-1] == "self-test passed"


def test_a_step_that_fails_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "gray.db"
    broken.write_bytes(b"not a store")
    done = _self_test("--import", str(broken))
    assert done.returncode == 1
    assert "gray.db is imported" in done.stderr
