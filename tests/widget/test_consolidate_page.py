"""The Consolidate page on a real store: deciding by keyboard, editing, undoing, cards that went stale, cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gm_desktop.action_table import ActionTable
from gm_desktop.engine_host import EngineHost
from gm_desktop.main_window import PageFrame
from gm_desktop.models.proposal_cards import Card, CardLine, CardList
from gm_desktop.notices import Notice, Notices
from gm_desktop.theme import Theme
from gm_desktop.undo_controller import UndoController
from gm_desktop.viewmodels import inbox
from gm_desktop.viewmodels.card_words import card_of, cycle_sentence, draft_of
from gm_desktop.viewmodels.cycles import CyclesViewModel
from gm_desktop.viewmodels.inbox import CardUnread, InboxViewModel, NoCard
from gm_desktop.viewmodels.inbox_listing import InboxSubject, Listed, Pile, list_cards
from gm_desktop.viewmodels.inbox_subjects import consolidation
from gm_desktop.viewmodels.states import Empty, Full, Loading
from gm_desktop.views.consolidate import ConsolidatePage
from gm_desktop.widgets.card_delegate import card_note
from gm_engine import (
    CycleReport,
    Fact,
    FactQuery,
    Finding,
    Memory,
    NewProposal,
    Origin,
    Proposal,
    ProposalKind,
)
from gm_engine.records import JsonValue
from tests.fakes.clock import FrozenClock
from tests.widget.writing import write_beside

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
Ask = Callable[[EngineHost, Callable[[Memory], object]], object]
TEXTS = (
    "The gate opens at nine.",
    "The gate opens at nine.",
    "A gate opens at 9",
    "Feature flags are removed after a launch.",
    "Feature flags are not removed after a launch.",
)


@dataclass
class Desk:
    """The page in its frame, and the store behind it."""

    host: EngineHost
    undo: UndoController
    model: InboxViewModel
    cycles: CyclesViewModel
    page: ConsolidatePage
    frame: PageFrame
    qtbot: QtBot
    ask: Ask

    def write(self, job: Callable[[Memory], object]) -> None:
        """Writes beside the page, as another program would."""
        write_beside(self.host, self.qtbot, job)
        self.model.reload()
        self.settle()

    def settle(self) -> None:
        self.qtbot.waitUntil(self.page.is_settled)

    def press(self, key: Qt.Key) -> None:
        """A key in the list, and whatever it sets off."""
        self.page.inbox.list.setFocus()
        QTest.keyClick(self.page.inbox.list, key)
        self.settle()

    def card(self) -> Card:
        assert isinstance(self.model.card, Card)
        return self.model.card

    def choose(self, kind: str) -> Card:
        self.model.select(next(line.id for line in self.model.cards.lines if line.kind == kind))
        self.settle()
        return self.card()

    def kinds(self) -> list[str]:
        return [line.kind for line in self.model.cards.lines]

    def states(self) -> dict[str, int]:
        """How many proposals are in each state."""
        counts = self.ask(self.host, lambda memory: memory.inbox.counts())
        assert isinstance(counts, tuple)
        found: dict[str, int] = {}
        for each in counts:
            found[each.state] = found.get(each.state, 0) + each.count
        return found

    def fact(self, fact_id: str) -> Fact:
        found = self.ask(self.host, lambda memory: memory.get(fact_id))
        assert isinstance(found, Fact)
        return found


@pytest.fixture
def desk(qtbot: QtBot, open_host: EngineHost, undo: UndoController, notices: Notices, theme: Theme, asked: Ask) -> Desk:
    clock = FrozenClock()
    model = InboxViewModel(open_host, undo, notices, clock, subject=consolidation())
    cycles = CyclesViewModel(open_host, undo, notices)
    page = ConsolidatePage(model, cycles, theme)
    frame = PageFrame(page)
    table = ActionTable(theme, frame)
    table.add(frame, page.action_specs())
    for signal in (model.state_changed, model.card_changed, model.draft_changed, cycles.running_changed):
        signal.connect(table.refresh_soon)
    qtbot.addWidget(frame)
    frame.resize(1000, 700)
    frame.show()
    qtbot.waitExposed(frame)
    model.reload()
    cycles.reload()
    made = Desk(open_host, undo, model, cycles, page, frame, qtbot, asked)
    made.settle()
    return made


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A desk with three cards."""

    def fill(memory: Memory) -> None:
        for text in TEXTS:
            memory.remember("ops", text)
        memory.consolidate("ops")

    desk.write(fill)
    assert desk.kinds() == ["exact_duplicate", "near_duplicate", "contradiction"]
    return desk


def test_an_empty_inbox_says_what_fills_it(desk: Desk) -> None:
    assert isinstance(desk.model.state, Empty)
    assert desk.page.go.isVisible()
    assert not desk.page.inbox.card.isVisible()


def test_a_dry_run_says_what_a_cycle_would_do_and_can_be_carried_out(desk: Desk) -> None:
    desk.write(lambda memory: [memory.remember("ops", text) for text in TEXTS])
    desk.page.dry_run.click()
    desk.settle()
    report = desk.cycles.report
    assert report is not None
    assert report.is_dry
    assert any("The gate opens at nine." in line for line in report.lines)
    assert desk.kinds() == []
    assert desk.page.report.isVisible()
    desk.page.report.go.click()
    desk.qtbot.waitUntil(lambda: bool(desk.kinds()))
    desk.settle()
    assert desk.kinds() == ["exact_duplicate", "near_duplicate", "contradiction"]
    assert desk.undo.undo_text == "Ran a cycle of consolidation"
    desk.page.report.close_button.click()
    assert not desk.page.report.isVisible()


def test_right_accepts_left_rejects_down_puts_off_and_each_is_undone(full: Desk) -> None:
    first = full.card()
    full.press(Qt.Key.Key_Right)
    assert full.fact(first.goes[0].id).is_superseded
    assert full.states() == {"accepted": 1, "open": 2}
    full.press(Qt.Key.Key_Left)
    assert full.states() == {"accepted": 1, "rejected": 1, "open": 1}
    full.press(Qt.Key.Key_Down)
    assert full.states() == {"accepted": 1, "rejected": 1, "later": 1}
    assert isinstance(full.model.card, NoCard)
    for _ in range(3):
        full.undo.undo()
        full.qtbot.waitUntil(lambda: not full.undo.undo_text or full.undo.can_undo)
        full.settle()
    full.model.reload()
    full.settle()
    assert full.states() == {"open": 3}
    assert not full.fact(first.goes[0].id).is_superseded


def test_x_turns_a_card_down_for_good(full: Desk) -> None:
    full.press(Qt.Key.Key_X)
    assert full.states() == {"never": 1, "open": 2}
    assert full.page.inbox.list.hasFocus()


def test_j_and_k_look_at_other_cards_and_decide_nothing(full: Desk) -> None:
    full.press(Qt.Key.Key_J)
    assert full.card().kind == "near_duplicate"
    full.press(Qt.Key.Key_K)
    assert full.card().kind == "exact_duplicate"
    assert full.states() == {"open": 3}


def test_an_own_text_replaces_both_facts_and_names_what_it_loses(full: Desk) -> None:
    card = full.choose("contradiction")
    full.press(Qt.Key.Key_E)
    assert full.page.inbox.card.editor.isVisible()
    assert full.page.inbox.card.editor.hasFocus()
    full.page.inbox.card.editor.setPlainText("Feature flags of Orion are removed.")
    full.qtbot.waitUntil(lambda: "In none of the facts: Orion" in full.page.inbox.card.cautions.texts)
    assert "A negation is lost: not" in full.page.inbox.card.cautions.texts
    QTest.keyClick(full.page.inbox.card.editor, Qt.Key.Key_Right)
    full.settle()
    assert full.states() == {"open": 3}, "arrow keys in the editor move its cursor"
    QTest.keyClick(full.page.inbox.card.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    full.settle()
    replacement = full.fact(card.goes[0].id).superseded_by
    assert full.fact(replacement).text == "Feature flags of Orion are removed."
    assert full.page.inbox.list.hasFocus()


def test_escape_leaves_the_own_text_and_decides_nothing(full: Desk) -> None:
    full.press(Qt.Key.Key_E)
    full.page.inbox.card.editor.setPlainText("Something else")
    QTest.keyClick(full.page.inbox.card.editor, Qt.Key.Key_Escape)
    full.settle()
    assert not full.page.inbox.card.editor.isVisible()
    assert full.states() == {"open": 3}
    full.press(Qt.Key.Key_E)
    assert full.page.inbox.card.editor.raw_text() == full.card().result


def test_another_fact_can_be_kept(full: Desk) -> None:
    card = full.choose("contradiction")
    kept, gone = card.goes[0], card.stays
    assert gone is not None
    full.page.inbox.card.keep_wanted.emit(kept.id)
    full.settle()
    assert full.fact(gone.id).superseded_by == kept.id


def test_all_exact_duplicates_are_merged_at_once(full: Desk) -> None:
    def more(memory: Memory) -> None:
        memory.remember("ops", "The wall is high.")
        memory.remember("ops", "The wall is high.")
        memory.consolidate("ops")

    full.write(more)
    assert full.page.inbox.bulk.isVisible()
    full.page.inbox.bulk.click()
    full.settle()
    assert "exact_duplicate" not in full.kinds()
    assert full.undo.undo_text == "Merged 2 exact duplicates"


def test_the_cards_are_read_again_at_once_only_for_facts_that_they_are_about(
    full: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[int] = []

    def counted(subject: InboxSubject, group: str | None, pile: Pile, memory: Memory) -> Listed:
        listed.append(memory.last_seq())
        return list_cards(subject, group, pile, memory)

    monkeypatch.setattr(inbox, "list_cards", counted)
    monkeypatch.setattr(inbox, "FOLLOW_MS", 0)
    with full.qtbot.waitSignal(full.host.changed):
        full.host.write(lambda memory: memory.remember("ops", "The lamp is green."), lambda _: None)
    assert full.model._reload_soon.remainingTime() > 1_000
    assert listed == []
    named = full.card().goes[0].id
    full.host.write(lambda memory: memory.pin("ops", [named]), lambda _: None)
    full.qtbot.waitUntil(lambda: bool(listed))
    full.model._reload_soon.stop()


def test_a_fact_that_changes_on_screen_makes_the_card_stale(full: Desk, told: list[Notice]) -> None:
    card = full.card()
    full.write(lambda memory: memory.pin("ops", [card.goes[0].id]))
    assert full.card().stale
    assert full.page.inbox.card.stale.isVisible()
    assert not full.page.inbox.card.accept.isEnabled()
    full.press(Qt.Key.Key_Right)
    assert full.states() == {"open": 3}
    assert [notice for notice in told if notice.level == "error"] == []
    full.press(Qt.Key.Key_Left)
    assert full.states() == {"open": 2, "rejected": 1}


def test_a_fact_that_changed_a_moment_before_is_not_merged(full: Desk, told: list[Notice]) -> None:
    card = full.card()
    done: list[object] = []
    full.host.write(lambda memory: memory.label("ops", [card.goes[0].id], "verified"), done.append)
    full.model.accept()
    full.settle()
    assert done
    assert full.states() == {"open": 3}
    assert [notice.level for notice in told] == ["warning"]
    assert full.card().stale


def test_cards_that_were_put_off_wait_in_their_pile(full: Desk) -> None:
    full.press(Qt.Key.Key_Down)
    assert full.page.inbox.put_off.isVisible()
    full.page.inbox.put_off.click()
    full.settle()
    assert full.kinds() == ["exact_duplicate"]
    assert full.page.inbox.card.later.text() == "Bring back"
    full.press(Qt.Key.Key_Down)
    assert isinstance(full.model.state, Empty)
    full.page.inbox.put_off.click()
    full.settle()
    assert len(full.kinds()) == 3


def test_the_cards_of_one_agent(full: Desk) -> None:
    def more(memory: Memory) -> None:
        for _ in range(2):
            memory.remember("sales", "Ana wants the quote.")
        memory.consolidate("sales")

    full.write(more)
    assert len(full.kinds()) == 4
    full.page.open_agent("sales")
    full.settle()
    assert full.kinds() == ["exact_duplicate"]
    assert full.page.save_state()["agent"] == "sales"


def test_past_cycles_are_listed_and_taken_back(full: Desk) -> None:
    full.page.tabs.setCurrentIndex(1)
    (line,) = full.cycles.history
    assert "ops" in line.text
    full.page.history.timeline.chosen.emit(str(line.seq))
    full.page.history.undo.click()
    full.qtbot.waitUntil(lambda: full.undo.undo_text == "Took a cycle back")
    full.model.reload()
    full.settle()
    assert full.kinds() == []
    assert full.states() == {"withdrawn": 3}
    (line,) = full.cycles.history
    assert line.note.endswith("taken back")
    assert not full.page.history.undo.isEnabled()


def test_the_report_of_a_cycle_that_was_taken_back_goes(desk: Desk) -> None:
    desk.write(lambda memory: [memory.remember("ops", text) for text in TEXTS])
    desk.page.run_cycle.click()
    desk.qtbot.waitUntil(lambda: bool(desk.kinds()) and desk.page.report.isVisible())
    desk.undo.undo()
    desk.qtbot.waitUntil(lambda: not desk.page.report.isVisible())
    desk.qtbot.waitUntil(lambda: desk.kinds() == [])
    desk.undo.redo()
    desk.qtbot.waitUntil(lambda: len(desk.kinds()) == 3)


def test_keys_in_the_box_of_agents_stay_there(full: Desk) -> None:
    full.page.inbox.group.setFocus()
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier)
    event.ignore()
    QApplication.sendEvent(full.page.inbox.group, event)
    assert event.isAccepted()
    QTest.keyClick(full.page.inbox.group, Qt.Key.Key_Right)
    full.settle()
    assert full.states() == {"open": 3}


def test_a_closed_store_leaves_nothing_on_the_page(full: Desk) -> None:
    full.host.close_store()
    assert isinstance(full.model.state, Loading)
    assert full.kinds() == []
    assert full.cycles.history == ()


def test_cycles_can_be_run_once_a_store_is_open(full: Desk, tmp_path: Path) -> None:
    full.host.close_store()
    assert not full.page.run_cycle.isEnabled()
    full.host.open_store(tmp_path / "other")
    full.qtbot.waitUntil(lambda: full.host.is_open)
    full.settle()
    assert full.page.run_cycle.isEnabled()
    assert isinstance(full.model.state, Empty)


def test_a_card_that_is_gone_is_said_to_be_gone(full: Desk) -> None:
    full.model.select("nobody")
    full.settle()
    assert isinstance(full.model.card, CardUnread)
    assert full.page.inbox.trouble.isVisible()


@pytest.mark.parametrize(
    "text", ["<b>bold</b> [[x]] ---", "NUL \0 inside", "\u202eleft", "👩\u200d👧 家族", "word " * 50_000]
)
def test_hostile_texts_are_shown_as_they_are(desk: Desk, text: str) -> None:
    def fill(memory: Memory) -> None:
        memory.remember("ops", text)
        memory.remember("ops", text)
        memory.consolidate("ops")

    desk.write(fill)
    assert isinstance(desk.model.state, Full)
    shown = desk.page.inbox.card.kept.pane.raw_text()
    assert shown.startswith(text[:3])
    desk.press(Qt.Key.Key_Right)
    assert desk.states() == {"accepted": 1}


def test_the_list_is_a_sound_model(qtbot: QtBot) -> None:
    cards = CardList()
    QAbstractItemModelTester(cards, FATAL)
    lines = [CardLine(str(n), "prune", "Faded", "retired", f"text {n}", "ops", "", is_stale=False) for n in range(5)]
    for shown in (lines, lines[:2] + lines[3:], lines[3:], [], lines[::-1], lines):
        cards.set_lines(list(shown))
        assert [line.id for line in cards.lines] == [line.id for line in shown]
    assert cards.row_of("3") == 3
    assert cards.row_of(None) is None


def fact(fact_id: str, text: str, *, pinned: bool = False) -> Fact:
    return Fact(fact_id, "ops", text, 1, None, 0, 1.0, "", "", "", "", pinned, None, Origin("cli"), 1)


def proposal(
    kind: ProposalKind,
    facts: tuple[str, ...],
    *,
    text: str = "",
    findings: tuple[Finding, ...] = (),
    details: dict[str, JsonValue] | None = None,
) -> Proposal:
    return Proposal(
        id="p",
        kind=kind,
        source="consolidation",
        agent_id="ops",
        created_ns=1,
        facts=facts,
        keep="",
        text=text,
        reason="why",
        base=dict.fromkeys(facts, 1),
        findings=findings,
        score=1.0,
        details=details or {},
        same_key="k",
        state="open",
        seq=1,
    )


def test_a_summary_names_what_it_lost_and_what_the_model_saw() -> None:
    facts = {"a": fact("a", "Orion runs at 02:00."), "b": fact("b", "Greta rests.")}
    findings = (Finding("number", "02:00", "a"), Finding("invented", "Ivo"))
    card = card_of(
        proposal(
            "summary", ("a", "b"), text="Orion runs.", findings=findings, details={"contradictions": ["Both run."]}
        ),
        facts,
        2,
    )
    assert [caution.text for caution in card.cautions] == [
        "A number is lost: 02:00",
        "In none of the facts: Ivo",
        "The model sees a contradiction: Both run.",
    ]
    assert card.stays is None
    assert card.result == "Orion runs."
    assert card.goes[0].removed


def test_what_is_new_in_a_result_is_what_no_source_has() -> None:
    facts = {"a": fact("a", "red green"), "b": fact("b", "green blue")}
    card = card_of(proposal("summary", ("a", "b"), text="red blue white"), facts, 2)
    assert [card.result[start:end].strip() for start, end in card.added] == ["white"]
    draft = draft_of(card, "green")
    assert draft.added == ()


def test_faded_facts_are_counted_even_where_not_all_are_shown() -> None:
    facts = {str(n): fact(str(n), f"text {n}") for n in range(41)}
    card = card_of(proposal("prune", tuple(str(n) for n in range(60))), facts, 2)
    assert len(card.goes) + card.more == 60
    assert not card.can_edit


def test_a_cycle_in_words() -> None:
    report = CycleReport("ops", 1, 12, proposed={"contradiction": 1, "exact_duplicate": 2}, consumed=3, pruned=4)
    assert cycle_sentence(report) == (
        "looked at 12 facts, 2 × exact duplicate, 1 × contradiction, 3 merged at once, 4 faded facts left"
    )


def test_writes_under_review_use_the_same_card(desk: Desk) -> None:
    new = NewProposal("write", "review", "ops", (), "w", text="Ana is on call.", reason="by assistant")
    desk.write(lambda memory: memory.inbox.add([new]))
    card = desk.card()
    assert (card.kind_title, card.result, card.goes) == ("New fact", "Ana is on call.", ())
    desk.press(Qt.Key.Key_Right)
    facts = desk.ask(desk.host, lambda memory: memory.facts(memory.fact_ids(FactQuery(agent_id="ops"))))
    assert isinstance(facts, list)
    assert "Ana is on call." in [each.text for each in facts]


def test_on_a_card_of_the_list_the_name_gives_way_and_the_count_stays(theme: Theme) -> None:
    card = CardLine("1", "exact", "Genaues Duplikat", "success", "text", "workshop-planner", "2 Fakten", is_stale=False)
    metrics = QFontMetricsF(theme.font("small"))
    assert card_note(card, metrics, 400) == "workshop-planner  ·  2 Fakten"
    short = card_note(card, metrics, 120)
    assert short.startswith("work")
    assert short.endswith("…  ·  2 Fakten")
    assert metrics.horizontalAdvance(short) <= 120
