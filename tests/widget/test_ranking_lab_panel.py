"""The ranking lab: numbers move and hits follow in the same breath; what is saved can be undone; judged questions."""

from __future__ import annotations

from typing import Unpack

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from gm_desktop.notices import Notice
from gm_desktop.viewmodels.question import Trial
from gm_desktop.views.name_dialog import NameDialog
from gm_engine import RecallOptions, SignalWeights
from gm_engine.records import StoreSettings
from tests.widget.search_desk import Desk


@pytest.fixture
def lab(desk: Desk) -> Desk:
    """The desk with a question and the lab open."""
    desk.page.open_tab("lab")
    desk.ask("quote office")
    return desk


def recalled(desk: Desk, **options: Unpack[RecallOptions]) -> object:
    """The ids of a preview recall with these options."""
    asked: RecallOptions = {**options, "preview": True}
    return desk.read(lambda memory: [fact.id for fact in memory.recall("sales", "quote office", **asked).facts])


def shown(desk: Desk) -> list[str]:
    return [hit.id for hit in desk.model.hits.hits]


def test_a_key_on_a_slider_reranks_at_once_as_a_recall_would(lab: Desk) -> None:
    knobs = lab.page.side.lab.knobs
    before = shown(lab)
    orders: list[list[str]] = []
    lab.model.state_changed.connect(lambda: orders.append(shown(lab)))
    for name in ("vector", "keyword"):
        QTest.keyClick(knobs[name].slider, Qt.Key.Key_Home)
        assert lab.model.question.trial.numbers[name] == 0.0
    assert orders[-1] == shown(lab)  # without waiting for the store
    assert shown(lab) != before
    assert shown(lab) == recalled(lab, signal_weights=SignalWeights(0.0, 0.0, 0.5))
    lab.settle()
    assert shown(lab) == orders[-1]


def test_every_hit_says_how_far_it_moved_and_the_panel_who_left(lab: Desk) -> None:
    lab.model.set_top_k(2)
    lab.settle()
    saved = shown(lab)
    assert {hit.moved for hit in lab.model.hits.hits} == {""}
    assert lab.models.lab.comparison == "The answer is the same as with the saved ranking."
    for name in ("vector", "keyword"):
        lab.models.lab.set_knob(name, 0.0)
    lab.settle()
    for place, hit in enumerate(lab.model.hits.hits, 1):
        was = saved.index(hit.id) + 1 if hit.id in saved else None
        if was is None:
            assert hit.moved
        else:
            assert hit.moved == ("" if was == place else f"{'▲' if was > place else '▼'} {abs(was - place)}")
    gone = [each for each in saved if each not in shown(lab)]
    assert [line.key for line in lab.models.lab.left_lines.lines] == gone
    assert lab.models.lab.comparison.startswith("Against the saved ranking")


def test_a_fact_that_left_is_followed_into_why_not(lab: Desk) -> None:
    lab.write(lambda memory: memory.remember("sales", "Something else entirely"))
    lab.model.set_top_k(1)
    lab.settle()
    for name in ("vector", "keyword"):
        lab.models.lab.set_knob(name, 0.0)
    lab.settle()
    assert lab.texts() == ["Something else entirely"]
    gone = lab.models.lab.left_lines.lines[0].key
    lab.page.side.lab.left.chosen.emit(gone)
    lab.settle()
    assert lab.page.side.tab == "why_not"
    assert lab.models.why_not.fact_id == gone


def test_filter_gate_and_length_are_asked_of_the_store(lab: Desk) -> None:
    lab.page.side.lab.knobs["top_k"].moved.emit(1.0)
    lab.settle()
    assert shown(lab) == recalled(lab, top_k=1)
    lab.page.side.lab.knobs["top_k"].moved.emit(8.0)
    lab.page.side.lab.knobs["coverage_gate"].moved.emit(1.0)
    lab.settle()
    assert shown(lab) == recalled(lab, coverage_gate=1.0)
    lab.page.side.lab.filter.setCurrentIndex(2)
    lab.page.side.lab.filter.activated.emit(2)
    lab.settle()
    assert shown(lab) == recalled(lab, coverage_gate=1.0, min_confidence="verified")
    assert lab.page.options.confidence.text().startswith("Verified only")


def test_a_typed_figure_is_taken_and_nonsense_is_put_back(lab: Desk) -> None:
    field = lab.page.side.lab.knobs["keyword"].field
    field.setText("2,5")
    field.editingFinished.emit()
    assert lab.model.question.trial.numbers == {"keyword": 2.5}
    field.setText("much")
    field.editingFinished.emit()
    assert field.text() == "2.5"
    field.setText("-4")
    field.editingFinished.emit()
    assert lab.model.question.trial.numbers == {"keyword": 0.0}
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert lab.model.question.trial.numbers == {"keyword": 0.05}


def test_an_exact_number_is_not_lost_by_looking_at_it(lab: Desk) -> None:
    lab.models.lab.set_knob("coverage_gate", 0.13081234567)
    field = lab.page.side.lab.knobs["coverage_gate"].field
    assert field.text() == "0.131"
    field.editingFinished.emit()
    assert lab.model.question.trial.numbers == {"coverage_gate": 0.13081234567}


def test_reset_goes_back_to_the_stores_ranking(lab: Desk) -> None:
    lab.models.lab.set_knob("recency", 1.7)
    assert lab.page.options.trial.isVisibleTo(lab.page)
    lab.page.side.lab.reset.click()
    lab.settle()
    assert lab.model.question.trial == Trial()
    assert not lab.page.options.trial.isVisibleTo(lab.page)


def test_the_tried_ranking_becomes_the_stores_own_and_undo_takes_it_back(lab: Desk, told: list[Notice]) -> None:
    lab.models.lab.set_knob("recency", 1.7)
    lab.models.lab.set_knob("confidence_weight", 0.2)
    lab.settle()
    with lab.qtbot.waitSignal(lab.model.saved_changed):
        lab.page.side.lab.make_default.click()
    assert lab.undo.undo_text == "Made this ranking the store's own"
    assert lab.model.question.trial.numbers == {}
    saved = lab.read(lambda memory: memory.settings)
    assert isinstance(saved, StoreSettings)
    assert (saved.signal_weights.recency, saved.confidence_weight) == (1.7, 0.2)
    assert not lab.page.side.lab.make_default.isEnabled()
    with lab.qtbot.waitSignal(lab.model.saved_changed):
        lab.undo.undo()
    assert lab.read(lambda memory: memory.settings) == StoreSettings()


def test_a_profile_is_saved_used_replaced_and_deleted(lab: Desk) -> None:
    panel = lab.page.side.lab
    lab.models.lab.set_knob("keyword", 2.0)
    panel.save_profile()
    dialog = next(each for each in panel.findChildren(NameDialog) if each.isVisible())
    assert not dialog.save.isEnabled()
    dialog.field.setText("words first")
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        dialog.save.click()
    assert list(lab.models.lab.profiles) == ["words first"]
    assert lab.models.lab.profile_in_use() == "words first"
    lab.models.lab.reset()
    assert lab.models.lab.profile_in_use() == ""
    panel.profile.setCurrentIndex(1)
    panel.profile.activated.emit(1)
    assert lab.model.question.trial.numbers == {"keyword": 2.0}
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        lab.models.lab.delete_profile("words first")
    assert list(lab.models.lab.profiles) == []
    lab.qtbot.waitUntil(lambda: lab.undo.undo_text == "Deleted the profile words first")
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        lab.undo.undo()
    assert list(lab.models.lab.profiles) == ["words first"]


def test_a_name_that_is_taken_is_said_before_it_is_replaced(lab: Desk) -> None:
    lab.models.lab.set_knob("keyword", 2.0)
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        lab.models.lab.save_profile("words first")
    lab.page.side.lab.save_profile()
    dialog = next(each for each in lab.page.side.lab.findChildren(NameDialog) if each.isVisible())
    assert dialog.field.text() == "words first"
    assert "replaces" in dialog.note.text()
    dialog.reject()


def test_judged_questions_are_collected_run_and_opened(lab: Desk) -> None:
    panel = lab.page.side.lab
    last = lab.model.hits.hits[-1].id
    lab.model.select(last)
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        panel.expect_hit.click()
    assert list(lab.models.lab.query_sets) == ["sales"]
    assert panel.set_note.text() == "1 question to sales"
    for name in ("vector", "keyword"):
        lab.models.lab.set_knob(name, 0.0)
    lab.settle()
    after = shown(lab).index(last) + 1
    panel.run.click()
    lab.qtbot.waitUntil(lambda: lab.models.lab.report is not None and not lab.models.lab.is_running)
    assert lab.models.lab.outcomes.lines[0].mark == (f"3 → {after}" if after != 3 else "3")
    figures = [[label.text() for label in labels[:3]] for labels in panel.metrics.rows]
    assert figures[2] == ["MRR", "0.333", f"{1 / after:.3f}"]
    lab.ask("something else")
    panel.outcomes.chosen.emit("0")
    lab.settle()
    assert lab.model.question.query == "quote office"
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        lab.models.lab.delete_set()
    assert list(lab.models.lab.query_sets) == []
    assert lab.models.lab.report is None


def test_a_question_may_expect_several_facts(lab: Desk) -> None:
    for hit in lab.model.hits.hits[:2]:
        with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
            lab.models.lab.expect(hit.id)
    sets = lab.read(lambda memory: memory.lab.query_sets())
    assert isinstance(sets, tuple)
    assert [set(judged.expected) for judged in sets[0].queries] == [set(shown(lab)[:2])]


def test_a_merged_answer_has_no_ranks_to_move(lab: Desk) -> None:
    lab.model.set_scope("all")
    lab.settle()
    assert not lab.page.side.lab.knobs["vector"].isEnabled()
    assert "merged by place" in lab.page.side.lab.comparison.text()
    lab.model.set_scope("shared")
    lab.settle()
    assert lab.page.side.lab.knobs["vector"].isEnabled()


def test_the_panel_fits_its_width(lab: Desk) -> None:
    with lab.qtbot.waitSignal(lab.models.lab.kept_changed):
        lab.models.lab.save_profile("a profile with a name that is much too long for any box of this width")
    lab.models.lab.set_knob("keyword", 0.2)
    lab.settle()
    panel = lab.page.side.lab
    lab.qtbot.waitUntil(lambda: panel.width() > 0)
    wide = [each.text() for each in panel.findChildren(QLabel) if each.isVisible() and each.width() > panel.width()]
    assert wide == []
    assert panel.minimumSizeHint().width() <= 320
