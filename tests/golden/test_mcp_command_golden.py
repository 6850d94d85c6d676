"""The help of `graymatter mcp` and its subcommands, kept as files."""

from __future__ import annotations

import pytest

from tests.fakes.command_line import run
from tests.golden.test_command_line_golden import check


@pytest.mark.parametrize("name", ["serve", "token", "clients", "allow"])
def test_the_help_of_an_mcp_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    check(f"help-mcp-{name}.txt", run("mcp", name, "--help").out)
