"""Screenshots of a store that cannot be opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gm_desktop.screenshots import take_screenshots


def test_a_store_that_is_not_there_ends_with_a_sentence(
    qapp: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "nowhere"
    assert take_screenshots(qapp, tmp_path / "pictures", data_dir=nowhere, size=(1280, 800)) == 1
    assert str(nowhere) in capsys.readouterr().err
    assert not nowhere.exists()
