"""*Why not that?*: picked by words, by id or by dropping; a reason in words; a change that is tried in the lab."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gm_desktop.viewmodels.why_not import NothingAsked, NothingPicked, Unexplained
from gm_desktop.viewmodels.why_not_words import WhyNotReport, why_not_report
from gm_engine import Memory, MissingReport, Remedy
from tests.widget.search_desk import Desk, drop_facts

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MISSING = "A crane is booked for the roof"


def write_many(memory: Memory) -> None:
    """The missing fact, then more facts than an answer holds."""
    memory.remember("sales", MISSING)
    for number in NUMBERS:
        memory.remember("sales", f"Invoice {number} is paid by the customer")
    memory.wait_for_embeddings()


def report(desk: Desk) -> WhyNotReport:
    desk.settle()
    state = desk.models.why_not.state
    assert isinstance(state, WhyNotReport), state
    return state


def test_a_fact_is_found_by_its_words_with_the_keyboard(desk: Desk) -> None:
    desk.write(write_many)
    desk.ask("invoice paid by the customer")
    panel = desk.page.side.why_not
    desk.page.open_tab("why_not")
    assert isinstance(desk.models.why_not.state, NothingPicked)
    QTest.keyClicks(panel.field, "crane")
    desk.settle()
    assert desk.models.why_not.choices.lines[0].text == MISSING
    QTest.keyClick(panel.field, Qt.Key.Key_Down)
    assert panel.choices.currentIndex().row() == 0
    panel.choices.activated.emit(panel.choices.currentIndex())
    assert report(desk).reason == "outranked"
    assert panel.field.text() == ""


def test_more_hits_are_proposed_first_and_every_change_brings_it_in_when_tried(desk: Desk) -> None:
    desk.write(write_many)
    desk.ask("invoice paid by the customer")
    desk.page.follow(desk.id_of(MISSING))
    said = report(desk)
    assert said.verdict.startswith("Place ")
    assert float(said.score) < float(said.cutoff)
    assert [each.value == "–" for each in said.signals] == [each.place == "not ranked" for each in said.signals]
    cards = desk.page.side.why_not.cards
    assert len(cards) == len(said.remedies) > 0
    assert said.remedies[0].sentence.startswith("Ask for ")
    assert [remedy.is_simplest for remedy in said.remedies] == [True] + [False] * (len(cards) - 1)
    for remedy in said.remedies:
        assert isinstance(remedy.value, float)
        assert remedy.value == round(remedy.value, 3)
        assert f"{remedy.value:g}" in remedy.sentence.split()
        desk.model.reset_trial()
        desk.model.set_top_k(8)
        desk.settle()
        assert desk.model.hits.row_of(said.fact_id) is None
        desk.models.why_not.try_remedy(remedy)
        desk.settle()
        assert desk.model.selected_id == said.fact_id, remedy.sentence
        assert report(desk).reason == "returned"


def test_nothing_is_proposed_that_the_lab_would_hardly_reach(desk: Desk) -> None:
    desk.write(write_many)
    desk.ask("invoice paid by the customer")
    asked, fact_id = desk.model.question, desk.id_of(MISSING)
    found = desk.read(lambda memory: memory.explain_missing("sales", asked.query, fact_id, preview=True, top_k=8))
    assert isinstance(found, MissingReport)
    remedies = (
        Remedy("top_k", 8.0, 21.0),
        Remedy("top_k", 8.0, 900.0),
        Remedy("recency", 0.5, 13.3),
        Remedy("vector", 1.0, 1.4),
        Remedy("keyword", 5.0, 4.0),  # it is off the slider already, and comes nearer
    )
    said = why_not_report(asked, replace(found, remedies=remedies))
    assert [(each.knob, each.value) for each in said.remedies] == [("top_k", 21.0), ("vector", 1.4), ("keyword", 4.0)]


def test_a_proposed_figure_is_rounded_to_the_side_that_works(desk: Desk) -> None:
    desk.write(write_many)
    desk.ask("invoice paid by the customer")
    asked, fact_id = desk.model.question, desk.id_of(MISSING)
    found = desk.read(lambda memory: memory.explain_missing("sales", asked.query, fact_id, preview=True, top_k=8))
    assert isinstance(found, MissingReport)
    remedies = (Remedy("keyword", 0.5, 0.130814), Remedy("recency", 0.5, 0.813002), Remedy("vector", 1.0, 1.4))
    said = why_not_report(asked, replace(found, remedies=remedies))
    assert [each.value for each in said.remedies] == [0.13, 0.814, 1.4]
    assert said.remedies[0].sentence == "Lower the weight of Words from 0.5 to 0.13"


def test_a_click_on_a_proposal_opens_the_lab(desk: Desk) -> None:
    desk.write(write_many)
    desk.ask("invoice paid by the customer")
    desk.page.follow(desk.id_of(MISSING))
    report(desk)
    desk.page.side.why_not.cards[0].button.click()
    desk.settle()
    assert desk.page.side.tab == "lab"
    assert MISSING in desk.texts()


def test_facts_and_hits_are_dropped_on_the_panel(desk: Desk) -> None:
    desk.ask("quote")
    chosen = desk.model.hits.hits[0].id
    assert drop_facts(desk.page.side.why_not, chosen)
    assert report(desk).reason == "returned"
    assert report(desk).verdict == "It is hit 1."
    assert not drop_facts(desk.page.side.why_not, chosen, "another")  # which of the two would be meant?
    desk.page.side.why_not.show_hit.click()
    assert desk.page.side.tab == "why"
    assert desk.model.selected_id == chosen


def test_an_id_that_is_pasted_is_picked_at_once(desk: Desk) -> None:
    desk.ask("quote")
    wanted = desk.id_of("The office closes at six")
    desk.page.side.why_not.field.setText(wanted)
    desk.page.side.why_not.field.textEdited.emit(wanted)
    desk.settle()
    assert report(desk).fact_id == wanted


def test_each_reason_is_said_with_what_one_can_do_about_it(desk: Desk) -> None:
    desk.ask("quote")
    shared = str(desk.read(lambda memory: memory.resolve("__shared__", "Holidays are announced in March")[0]))
    desk.models.why_not.pick(shared)
    assert report(desk).verdict == "It belongs to Shared."
    desk.page.side.why_not.ask_agent.click()
    desk.settle()
    assert desk.model.question.scope == "shared"
    assert desk.model.selected_id == shared
    desk.model.set_scope("agent")
    office = desk.id_of("The office closes at six")
    desk.write(lambda memory: memory.retire("sales", [office]))
    desk.models.why_not.pick(office)
    assert report(desk).reason == "retired"
    desk.write(lambda memory: memory.restore("sales", [office]))
    desk.model.set_knob("min_confidence", "verified")
    assert report(desk).reason == "filtered"
    assert report(desk).remedies[0].sentence == "Loosen the confidence filter to unverified"
    desk.models.why_not.try_remedy(report(desk).remedies[0])
    assert report(desk).reason == "returned"


def test_the_same_text_twice_points_to_the_hit_that_stands_for_it(desk: Desk) -> None:
    desk.write(lambda memory: memory.remember("sales", "Quotes are kept for two years"))
    desk.ask("quotes years")
    ids = desk.read(lambda memory: memory.resolve("sales", "Quotes are kept for two years"))
    assert isinstance(ids, tuple)
    hit = next(each.id for each in desk.model.hits.hits if each.id in ids)
    desk.models.why_not.pick(next(each for each in ids if each != hit))
    assert report(desk).reason == "duplicate"
    desk.page.side.why_not.show_hit.click()
    assert desk.model.selected_id == hit


def test_a_fact_that_did_not_exist_then(desk: Desk) -> None:
    before = desk.read(lambda memory: memory.entry(memory.last_seq()).at_ns)
    assert isinstance(before, int)
    desk.write(lambda memory: memory.remember("sales", "A late quote"))
    desk.ask("quote")
    desk.models.why_not.pick(desk.id_of("A late quote"))
    assert report(desk).reason == "returned"
    desk.model.set_as_of(before)
    assert report(desk).reason == "absent"


def test_without_a_question_and_with_a_wrong_id(desk: Desk) -> None:
    desk.models.why_not.pick(desk.id_of("The office closes at six"))
    assert isinstance(desk.models.why_not.state, NothingAsked)
    desk.ask("quote")
    assert report(desk).reason == "returned"
    desk.models.why_not.pick("no such fact")
    desk.settle()
    assert isinstance(desk.models.why_not.state, Unexplained)
    assert "no fact with this id" in desk.models.why_not.state.message
    desk.page.side.why_not.forget.click()
    assert isinstance(desk.models.why_not.state, NothingPicked)


def test_in_a_merged_answer_the_merge_itself_can_leave_a_fact_out(desk: Desk) -> None:
    def write(memory: Memory) -> None:
        for number in NUMBERS[:4]:
            memory.remember_shared(f"Shared invoice {number} is paid")
            memory.remember("sales", f"Own invoice {number} is paid")
        memory.wait_for_embeddings()

    desk.write(write)
    desk.model.set_scope("all")
    desk.model.set_top_k(3)
    desk.ask("invoice is paid")
    shown = {hit.id for hit in desk.model.hits.hits}
    own = desk.read(lambda memory: memory.recall("sales", "invoice is paid", preview=True, top_k=3).facts)
    assert isinstance(own, tuple)
    desk.models.why_not.pick(next(fact.id for fact in own if fact.id not in shown))
    assert report(desk).reason == "merged_out"
    desk.models.why_not.try_remedy(report(desk).remedies[0])
    desk.settle()
    assert desk.model.selected_id == desk.models.why_not.fact_id


def test_hostile_words_find_what_they_find(desk: Desk) -> None:
    desk.ask("quote")
    panel = desk.page.side.why_not
    for text in ("%_'\"\\", "a\x00b", "[[x]] <b>", "🙂" * 40, "ا" * 200):
        desk.models.why_not.seek(text)
        desk.settle()
        assert panel.choices.isVisible() or panel.empty.isVisible() or not panel.isVisible()
    desk.models.why_not.seek("")
    assert desk.models.why_not.choices.lines == ()
