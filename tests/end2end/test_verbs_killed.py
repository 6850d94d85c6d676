"""Whatever verb is killed wherever: the store is as before it or as after it, and sound."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end2end.killed_verbs import VERBS
from tests.fakes.command_line import ROOT, environment

pytestmark = [
    pytest.mark.end2end,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
]
HALF = """
import sys
from pathlib import Path
from tests.end2end.killed_verbs import build, check_verb, facts_of

def two_steps(memory):
    memory.pin("scout", facts_of(memory)[:1])
    memory.label("scout", facts_of(memory)[:1], "verified")

folder = Path(sys.argv[1])
build(folder / "template")
(folder / "work").mkdir()
print(check_verb("two steps", two_steps, folder / "template", folder / "work")[1])
"""


def python(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout or done.stderr


def test_no_verb_is_ever_found_half_done(tmp_path: Path) -> None:
    answer = json.loads(python("-m", "tests.end2end.killed_verbs", tmp_path))
    assert answer["wrong"] == []
    assert answer["kills"] > 8 * len(VERBS)


def test_a_verb_of_two_transactions_would_be_noticed(tmp_path: Path) -> None:
    assert "half done" in python("-c", HALF, tmp_path)
