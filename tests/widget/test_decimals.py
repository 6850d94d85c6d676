"""Numbers with a fraction: a comma in German and Spanish, a point in English, either one where a person types."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QImage, QPainter, QValidator
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyleOptionViewItem, QTableView
from pytestqt.qtbot import QtBot

from gm_desktop.formatting import number, size
from gm_desktop.i18n import decimal, use_language
from gm_desktop.models.fact_row import FactRow
from gm_desktop.models.paged_table import Column, PagedTable
from gm_desktop.theme import Theme
from gm_desktop.viewmodels.card_words import reason_sentence
from gm_desktop.viewmodels.memory import _weight_cell
from gm_desktop.viewmodels.source_settings import fields_of, settings_from
from gm_desktop.widgets.fact_delegate import _METER_WIDTH, CELL_PADDING, FactDelegate
from gm_desktop.widgets.form_card import DecimalBox, ShareBox
from gm_desktop.widgets.knob import Figure
from gm_engine import Proposal

LANGUAGES = pytest.mark.parametrize(("language", "mark"), [("en", "."), ("de", ","), ("es", ",")])


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    yield
    use_language("en")


@LANGUAGES
def test_a_fraction_has_the_mark_of_the_language(language: str, mark: str) -> None:
    use_language(language)
    assert decimal("0.85") == f"0{mark}85"
    assert decimal("+0.125") == f"+0{mark}125"
    assert decimal("12") == "12"
    assert size(12_345) == f"12{mark}3 kB"
    assert size(1_500_000) == f"1{mark}5 MB"


@pytest.mark.parametrize(("language", "shown"), [("en", "1,234,567"), ("de", "1 234 567"), ("es", "1 234 567")])
def test_thousands_are_parted_by_what_nobody_takes_for_the_mark_of_a_fraction(language: str, shown: str) -> None:
    use_language(language)
    assert number(1_234_567).replace("\u202f", " ") == shown


@LANGUAGES
@pytest.mark.parametrize("typed", ["0.85", "0,85"])
def test_a_box_shows_the_mark_and_takes_either(qtbot: QtBot, language: str, mark: str, typed: str) -> None:
    use_language(language)
    box = ShareBox(2.0)
    qtbot.addWidget(box)
    box.setValue(0.5)
    assert box.text() == f"0{mark}5"
    box.lineEdit().clear()
    QTest.keyClicks(box.lineEdit(), typed)
    box.interpretText()
    assert (box.value(), box.text()) == (0.85, f"0{mark}85")


@LANGUAGES
def test_a_box_with_a_unit_and_fixed_digits_keeps_both(qtbot: QtBot, language: str, mark: str) -> None:
    use_language(language)
    box = DecimalBox()
    qtbot.addWidget(box)
    box.setDecimals(1)
    box.setSuffix(" s")
    box.setValue(2.5)
    assert box.text() == f"2{mark}5 s"
    box.stepUp()
    assert (box.value(), box.text()) == (3.5, f"3{mark}5 s")
    assert box.validate("abc", 3)[0] == QValidator.State.Invalid


@LANGUAGES
@pytest.mark.parametrize("typed", ["0.85", "0,85"])
def test_the_figure_of_a_knob_shows_the_mark_and_takes_either(
    qtbot: QtBot, language: str, mark: str, typed: str
) -> None:
    use_language(language)
    figure = Figure(lowest=0.0, highest=2.0, step=0.05)
    qtbot.addWidget(figure)
    figure.show_value(0.125)
    assert figure.text() == f"0{mark}125"
    figure.clear()
    QTest.keyClicks(figure, typed)
    with qtbot.waitSignal(figure.entered) as entered:
        figure.editingFinished.emit()
    assert (entered.args, figure.text()) == ([0.85], f"0{mark}85")


def _weight_drawn(theme: Theme, qtbot: QtBot, weight: float) -> list[str]:
    """The colours across the bar of a weight, as the table of facts draws it."""
    table = PagedTable((Column("Weight", "weight", _weight_cell),))
    table.learn([FactRow("1", "a", "", "inferred", "", False, weight, 0, None, 0, "cli", "", "live", False, 1)])
    table.set_ids(["1"])
    view = QTableView()
    qtbot.addWidget(view)
    view.setModel(table)
    image = QImage(120, 30, QImage.Format.Format_RGB32)
    image.fill(theme.color("surface"))
    option = QStyleOptionViewItem()
    option.rect = image.rect()
    painter = QPainter(image)
    FactDelegate(theme, view).paint(painter, option, table.index(0, 0))
    painter.end()
    return [image.pixelColor(CELL_PADDING + x, 15).name() for x in range(_METER_WIDTH)]


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_the_bar_beside_a_weight_is_as_long_in_every_language(theme: Theme, qtbot: QtBot, language: str) -> None:
    use_language(language)
    full = theme.color("text_muted").name()
    lengths = [_weight_drawn(theme, qtbot, weight).count(full) for weight in (0.0, 0.5, 1.0, 1.7)]
    assert lengths == [0, _METER_WIDTH // 2, _METER_WIDTH, _METER_WIDTH]


@LANGUAGES
def test_why_facts_would_go_names_the_weight_with_the_mark(language: str, mark: str) -> None:
    use_language(language)
    facts = ("1", "2")
    prune = Proposal(
        id="p",
        kind="prune",
        source="consolidation",
        agent_id="ops",
        created_ns=1,
        facts=facts,
        keep="",
        text="",
        reason="why",
        base=dict.fromkeys(facts, 1),
        findings=(),
        score=1.0,
        details={},
        same_key="k",
        state="open",
        seq=1,
    )
    assert f" 0{mark}01" in reason_sentence(prune)


@LANGUAGES
@pytest.mark.parametrize("typed", ["0.85", "0,85"])
def test_a_figure_among_the_settings_of_a_source_shows_the_mark_and_takes_either(
    language: str, mark: str, typed: str
) -> None:
    use_language(language)
    rule = {"type": "number", "minimum": 0.1, "maximum": 0.9, "default": 0.25}
    fields = fields_of({"properties": {"share": rule}}, {"share": 0.5})
    assert fields[0].value == f"0{mark}5"
    assert [part for part in ("0.1", "0.9", "0.25") if part.replace(".", mark) not in fields[0].hint] == []
    assert settings_from(fields, {"share": typed}) == ({"share": 0.85}, "")
