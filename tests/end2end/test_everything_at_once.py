"""The long soak over everything, for three seconds: nothing is lost, and vault and recall are what the store says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.soak import everything

MEASURED = ("longest stall of the window", "the window's memory", "the first server's memory")


@pytest.mark.end2end
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_window_three_servers_and_a_vault_agree_in_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    checks = everything.run(tmp_path, 0.05, facts=300)
    wrong = {check.what: check.complaints for check in checks if not check.holds and check.what not in MEASURED}
    assert wrong == {}
    found = {check.what: check.found for check in checks}
    assert int(found["acknowledged facts"]) >= 3
    assert "first publish: 302 notes" in capfd.readouterr().out
