"""Processes that are killed while they write and index lose nothing that they acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.soak import kills, processes


@pytest.mark.end2end
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_five_kills_lose_nothing_and_leave_recall_as_the_reference_has_it(tmp_path: Path) -> None:
    outcome = kills.run(tmp_path, 5, seed=7)
    assert (outcome.lost, outcome.different, outcome.unsound) == ((), (), ())
    assert outcome.acknowledged > 5


@pytest.mark.end2end
def test_two_processes_write_and_recall_and_end_with_the_same_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert processes.soak(tmp_path, seconds=2.0, processes=2) == 0, capsys.readouterr()
    assert "lost 0, different answers 1, unlike the reference 0, complaints none" in capsys.readouterr().out
