"""Shipped files are found in a checkout and in an installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gm_engine import resources


def test_a_checkout_uses_its_own_folder() -> None:
    assert resources.resource("models", "minilm-l6", "NOTICE").is_file()
    assert resources.resources_root() == Path(resources.__file__).resolve().parent.parent / "resources"


def test_without_a_checkout_the_installed_package_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site" / "gm_resources").mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "site" / "gm_engine" / "resources.py"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    sys.path_importer_cache.clear()
    assert resources.resource("a", "b") == tmp_path / "site" / "gm_resources" / "a" / "b"


def test_a_missing_folder_still_gives_a_path_that_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "gm_engine" / "resources.py"))
    monkeypatch.setattr(sys, "path", [])
    assert resources.resource("x") == tmp_path / "gm_resources" / "x"
