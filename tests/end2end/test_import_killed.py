"""An import that is killed in the middle is finished by importing again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gm_engine import Memory
from gm_engine.records import Counts
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

FACTS = 1_700
PROGRAM = """
import os, signal, sys
from gm_engine import Memory

def die(done, total, what):
    if what.startswith("Importing") and done >= 1000:
        os.kill(os.getpid(), signal.SIGKILL)

with Memory.open(sys.argv[1], background=False) as memory:
    memory.import_store(sys.argv[2], progress=die)
"""


@pytest.mark.end2end
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_import_is_finished_by_importing_again(tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    records = [
        {"id": f"01KT880Z00NYQ5MEWGJT{n:06d}", "agent_id": "a", "text": f"{n}", "created_at": "2026-06-04T02:40:00Z"}
        for n in range(FACTS)
    ]
    path.write_text(json.dumps(records), "utf-8")
    data_dir = tmp_path / "store"
    root = Path(__file__).parent.parent.parent
    killed = subprocess.run([sys.executable, "-c", PROGRAM, str(data_dir), str(path)], cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    with Memory.open(data_dir, clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as memory:
        assert memory.agents()[0].live == 1000
        assert memory.settings.coverage_gate == 0.0
        assert memory.import_store(path).imported == Counts(facts=FACTS - 1000)
        assert memory.agents()[0].live == FACTS
        assert memory.import_store(path).imported == Counts()
