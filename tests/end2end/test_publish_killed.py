"""A publish that is killed in the middle is finished by publishing again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from exporters.obsidian.publish import publish
from gm_engine import Memory
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

FACTS = 120
PROGRAM = """
import os, signal, sys
from pathlib import Path
from exporters.obsidian.publish import publish
from gm_engine import Memory

def die(done, total, what):
    if what == "Writing notes" and done >= 64:
        os.kill(os.getpid(), signal.SIGKILL)

with Memory.open(sys.argv[1], background=False, read_only=True) as memory:
    publish(memory, Path(sys.argv[2]), progress=die)
"""


@pytest.mark.end2end
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_publish_is_finished_by_publishing_again(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        for number in range(FACTS):
            memory.remember("scout", f"Fact {number}.")
        root = Path(__file__).parent.parent.parent
        killed = subprocess.run([sys.executable, "-c", PROGRAM, memory.data_dir, vault], cwd=root, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert not list(vault.rglob("manifest.json"))
        report = publish(memory, vault)
        publish(memory, tmp_path / "clean")
    assert (report.unchanged, report.written, report.left) == (64, FACTS + 2 - 64, ())
    notes, clean = (
        {
            path.relative_to(root): path.read_bytes()
            for path in root.rglob("*")
            if path.name != "files.json" and path.is_file()
        }
        for root in (vault, tmp_path / "clean")
    )
    assert notes == clean
