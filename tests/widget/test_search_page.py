"""The Search page on a real store: ranked hits, the reasons in digits that add up, nothing counted as use."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog

from gm_desktop.engine_host import EngineHost
from gm_desktop.theme import MARGIN
from gm_desktop.viewmodels.answers import coverage_sentence
from gm_desktop.viewmodels.states import Empty, Full
from gm_desktop.views.search_options import MomentDialog
from gm_engine import Memory
from gm_engine.records import Coverage, StoreSettings
from tests.fakes.clock import instant
from tests.widget.search_desk import Desk

ASK = Callable[[EngineHost, Callable[[Memory], object]], object]


def test_before_a_question_the_page_says_what_to_do(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "ask"


def test_hits_come_ranked_with_the_best_one_explained(desk: Desk) -> None:
    desk.ask("who gets the revised quote")
    assert desk.texts()[0] == "The revised quote goes to Ms Ito on Monday"
    assert desk.model.state == Full(3)
    assert desk.why().position == 1
    assert {"revised", "quote"} <= {word.strip("\u2068\u2069") for word in desk.why().matched}


def test_the_panel_shows_digits_that_add_up(desk: Desk) -> None:
    desk.ask("revised quote")
    shown = desk.page.panel.sum
    values = [Decimal(label.text()) for label in shown.values]
    assert sum(values) == Decimal(shown.base.text())
    assert shown.final.text() == shown.base.text()
    vector = desk.why().signals[0]
    assert vector.division == f"1 ÷ (60 + {vector.rank})"


def test_a_confidence_factor_is_spelled_out(desk: Desk) -> None:
    desk.write(lambda memory: memory.set_settings(StoreSettings(confidence_weight=0.2)))
    desk.ask("revised quote")
    assert desk.why().factor_note == "Verified: 1 + 0.2 = 1.2"
    base, factor, final = (Decimal(each) for each in (desk.why().base, desk.why().factor, desk.why().final))
    assert (base * factor).quantize(final) == final
    desk.model.select(desk.model.hits.hits[-1].id)
    assert desk.why().factor_note == "Unverified: 1 − 0.2 = 0.8"


def test_matched_words_are_marked_in_every_form_they_take(desk: Desk) -> None:
    desk.ask("quote")
    hit = next(each for each in desk.model.hits.hits if each.text.startswith("Quotes"))
    assert [hit.text[start:end] for start, end in hit.spans] == ["Quotes"]
    desk.model.select(hit.id)
    assert desk.page.panel.text.pane.tinted_texts() == ("Quotes",)


def test_looking_never_counts_as_use(desk: Desk, asked: ASK) -> None:
    desk.ask("revised quote")
    fact_id = desk.model.hits.hits[0].id
    assert asked(desk.host, lambda memory: memory.get(fact_id).access_count) == 0


def test_of_two_questions_only_the_newer_one_is_answered(desk: Desk) -> None:
    answers: list[str] = []
    desk.model.state_changed.connect(
        lambda: answers.append(desk.model.answer.question.query) if desk.model.answer else None
    )
    desk.model.set_query("office")
    desk.model.ask()
    desk.model.set_query("years")
    desk.model.ask()
    desk.qtbot.waitUntil(lambda: answers == ["years"])


def test_a_fact_written_elsewhere_joins_the_answer_and_the_selected_hit_stays(desk: Desk) -> None:
    desk.ask("quote")
    chosen = desk.model.hits.hits[1].id
    desk.model.select(chosen)
    desk.write(lambda memory: memory.remember("sales", "A quote needs two signatures"))
    desk.qtbot.waitUntil(lambda: "A quote needs two signatures" in desk.texts())
    assert desk.model.selected_id == chosen
    assert desk.page.hits.currentIndex().row() == desk.model.hits.row_of(chosen)


def test_a_weak_match_is_said(desk: Desk) -> None:
    desk.ask("quantum zebra")
    assert desk.page.answer.feedback.isVisible()
    assert "zebra" in desk.page.answer.feedback_text.text()
    desk.ask("quote")
    assert not desk.page.answer.feedback.isVisible()


def test_other_agents_and_fewer_hits_can_be_asked(desk: Desk) -> None:
    desk.ask("quote")
    desk.model.set_top_k(1)
    desk.qtbot.waitUntil(lambda: len(desk.model.hits.hits) == 1)
    desk.model.set_agent("__shared__")
    desk.qtbot.waitUntil(lambda: desk.texts() == ["Holidays are announced in March"])
    assert desk.page.options.scopes["shared"].isChecked()


def test_replaced_texts_are_listed_and_can_be_opened(desk: Desk) -> None:
    desk.ask("office closes")
    old = desk.model.hits.hits[0].id
    desk.write(lambda memory: memory.revise("sales", [old], "The office closes at seven"))
    desk.qtbot.waitUntil(lambda: desk.texts()[0] == "The office closes at seven")
    desk.model.select(desk.model.hits.hits[0].id)
    assert [each.text for each in desk.why().replaced] == ["The office closes at six"]
    with desk.qtbot.waitSignal(desk.page.fact_wanted) as wanted:
        desk.page.panel.replaced.chosen.emit(old)
    assert wanted.args == [old]


def test_a_question_comes_back_with_the_next_start(desk: Desk) -> None:
    desk.ask("office")
    desk.model.set_scope("all")
    desk.model.set_knob("min_confidence", "inferred")
    desk.models.batch.set_text("one\ntwo")
    state = desk.page.save_state()
    desk.ask("")
    desk.model.set_scope("agent")
    desk.model.set_knob("min_confidence", "")
    desk.models.batch.set_text("")
    desk.page.restore_state(state)
    desk.qtbot.waitUntil(lambda: bool(desk.texts()))
    assert desk.page.query.text() == "office"
    assert desk.model.question.scope == "all"
    assert desk.model.question.trial.min_confidence == "inferred"
    assert desk.page.batch.questions.toPlainText() == "one\ntwo"


def test_the_keyboard_walks_through_the_hits(desk: Desk) -> None:
    desk.ask("quote")
    desk.page.hits.setFocus()
    QTest.keyClick(desk.page.hits, Qt.Key.Key_Down)
    assert desk.why().position == 2


def test_enter_on_a_hit_asks_to_revise_it_and_its_replacement_is_selected(desk: Desk) -> None:
    desk.ask("quote")
    desk.page.hits.setFocus()
    chosen = desk.model.hits.hits[0].id
    with desk.qtbot.waitSignal(desk.page.revise_wanted) as wanted:
        QTest.keyClick(desk.page.hits, Qt.Key.Key_Return)
    assert wanted.args == [chosen]
    new: list[str] = []

    def revise(memory: Memory) -> None:
        new.append(memory.revise("sales", [chosen], "Nothing but a few words on a quote").id)

    desk.host.write(revise, lambda _: desk.model.prefer(new[0]))
    desk.qtbot.waitUntil(lambda: bool(new) and desk.model.selected_id == new[0])


def test_a_hit_is_pinned_and_retired_where_it_is_met(desk: Desk) -> None:
    desk.ask("quote")
    chosen = desk.model.hits.hits[0].id
    desk.model.toggle_pin()
    desk.qtbot.waitUntil(lambda: desk.model.hits.hits[0].is_pinned)
    desk.model.retire()
    desk.qtbot.waitUntil(lambda: desk.model.hits.row_of(chosen) is None)


def test_own_shared_and_both_are_asked_by_a_click(desk: Desk) -> None:
    desk.ask("quote")
    desk.page.options.scopes["shared"].click()
    desk.settle()
    assert desk.texts() == ["Holidays are announced in March"]
    desk.page.options.scopes["all"].click()
    desk.settle()
    asked = desk.read(lambda memory: [fact.text for fact in memory.recall_all("sales", "quote", preview=True).facts])
    assert desk.texts() == asked
    assert "Holidays are announced in March" in desk.texts()
    assert "merged list" in desk.why().merge_note
    assert desk.page.panel.merge_note.isVisibleTo(desk.page.panel)
    desk.page.options.scopes["agent"].click()
    desk.settle()
    assert "Holidays are announced in March" not in desk.texts()


def test_the_merged_bar_and_score_follow_the_places(desk: Desk) -> None:
    desk.ask("quote")
    desk.model.set_scope("all")
    desk.settle()
    hits = desk.model.hits.hits
    assert [hit.score for hit in hits[:2]] == [f"{1 / 61:.5f}", f"{1 / 61:.5f}"]  # the best of each list
    assert sum(hits[0].shares) == pytest.approx(1.0)


def test_a_confidence_filter_leaves_facts_out_and_says_so_when_none_passes(desk: Desk) -> None:
    desk.ask("quote")
    desk.model.set_knob("min_confidence", "verified")
    desk.settle()
    assert desk.texts() == ["The revised quote goes to Ms Ito on Monday"]
    assert desk.page.options.confidence.text().startswith("Verified only")
    desk.model.set_scope("shared")
    desk.settle()
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "filter"
    desk.page.loosen.click()
    desk.settle()
    assert desk.texts() == ["Holidays are announced in March"]


def test_a_confidence_weight_is_a_part_of_the_question(desk: Desk) -> None:
    desk.ask("revised quote")
    desk.model.set_knob("confidence_weight", 0.5)
    desk.settle()
    desk.model.select(desk.id_of("The revised quote goes to Ms Ito on Monday"))
    assert desk.why().factor_note == "Verified: 1 + 0.5 = 1.5"
    assert desk.page.options.weight.text().startswith("Weight 0.5")
    desk.write(lambda memory: memory.set_settings(StoreSettings(confidence_weight=0.5)))
    desk.settle()
    assert not desk.page.options.weight.isChecked()  # it is the store's own now


def test_the_past_is_asked_and_a_moment_too_early_is_explained(desk: Desk) -> None:
    desk.ask("office")
    old = desk.model.hits.hits[0].id
    before = desk.read(lambda memory: memory.entry(memory.last_seq()).at_ns)
    assert isinstance(before, int)
    desk.write(lambda memory: memory.revise("sales", [old], "The office closes at seven"))
    desk.settle()
    assert desk.texts()[0] == "The office closes at seven"
    desk.model.set_as_of(before)
    desk.settle()
    assert desk.texts()[0] == "The office closes at six"
    desk.model.set_as_of(instant("2020-01-01T00:00:00Z"))
    desk.settle()
    assert isinstance(desk.model.state, Empty)
    assert desk.model.state.reason == "as_of"
    assert "begins on 30 Nov 2026" in desk.model.state.hint
    assert desk.page.note.isVisibleTo(desk.page)
    desk.page.ask_first.click()
    desk.settle()
    assert desk.texts() != []
    desk.page.options.now.trigger()
    desk.settle()
    assert desk.texts()[0] == "The office closes at seven"


def test_a_moment_is_chosen_in_a_dialog(desk: Desk) -> None:
    desk.page.options.open_moment()
    dialog = next(each for each in desk.page.options.findChildren(MomentDialog) if each.isVisible())
    dialog.save.click()
    assert desk.model.question.as_of_ns == dialog.field.dateTime().toMSecsSinceEpoch() * 1_000_000
    desk.page.options.open_moment()
    again = next(each for each in desk.page.options.findChildren(QDialog) if each.isVisible())
    again.reject()


def test_more_vectors_bring_a_better_answer_by_themselves(desk: Desk) -> None:
    desk.write(lambda memory: memory.remember("sales", "Estimates are signed twice"))
    desk.ask("estimates")
    assert "have no vector yet" in desk.page.answer.coverage.text()
    desk.read(lambda memory: memory.wait_for_embeddings())
    status = desk.read(lambda memory: memory.status().vectors)
    desk.host.indexed.emit(status)
    desk.qtbot.waitUntil(lambda: "no vector yet" not in desk.page.answer.coverage.text())


@pytest.mark.parametrize(
    ("coverage", "sentence"),
    [
        (Coverage(100, 100, "exact"), "100 facts searched; meaning compared by an exact scan."),
        (
            Coverage(1000, 880, "chroma"),
            "1,000 facts searched; 12 % of facts have no vector yet. Meaning compared by the vector index.",
        ),
        (
            Coverage(10_000, 9_999, "exact"),
            "10,000 facts searched; under 1 % of facts have no vector yet. Meaning compared by an exact scan.",
        ),
        (Coverage(3, 0, "none", "No vectors yet."), "3 facts searched by words and date only. No vectors yet."),
        (Coverage(0, 0, "none", "x"), "There was nothing to search."),
    ],
)
def test_coverage_is_said_in_words(coverage: Coverage, sentence: str) -> None:
    assert coverage_sentence(coverage) == sentence


def test_in_a_narrow_window_the_question_has_a_row_of_its_own(desk: Desk) -> None:
    page = desk.page
    page.show()
    page.resize(900, 700)
    desk.qtbot.waitUntil(
        lambda: (
            page.query.mapTo(page, page.query.rect().topRight()).x()
            < page.agent.mapTo(page, page.agent.rect().topLeft()).x()
        )
    )
    page.resize(420, 700)
    desk.qtbot.waitUntil(lambda: page.query.width() == page.width() - 2 * MARGIN)
    assert (
        page.agent.mapTo(page, page.agent.rect().topLeft()).y()
        > page.query.mapTo(page, page.query.rect().bottomLeft()).y()
    )
