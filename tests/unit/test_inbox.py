"""The inbox: deciding on proposals, undoing decisions, and facts that change while a card is on screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gm_engine import (
    BlockedValue,
    FactChanged,
    FactQuery,
    InvalidInput,
    Memory,
    NewProposal,
    NotFound,
    Proposal,
    ProposalDecided,
    ReadOnlyStore,
    StoreBusy,
    UndoConflict,
)
from gm_engine.proposals import InboxCount
from gm_engine.records import Fact, Origin, SourceRef
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.replay import replay


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def duplicates(memory: Memory) -> tuple[Fact, Fact, Proposal]:
    """Two facts with one text, and the card about them."""
    ids = [memory.remember("ops", "The gate opens at nine.").id for _ in range(2)]
    memory.consolidate("ops")
    (proposal,) = memory.inbox.list()
    return memory.get(ids[0]), memory.get(ids[1]), proposal


def merge(memory: Memory, facts: list[Fact]) -> Proposal:
    """A near duplicate that somebody proposed by hand."""
    new = NewProposal(
        kind="near_duplicate",
        source="consolidation",
        agent_id=facts[0].agent_id,
        facts=tuple(fact.id for fact in facts),
        same_key="by hand",
        keep=facts[0].id,
        base={fact.id: fact.version for fact in facts},
    )
    return memory.inbox.add([new])[0]


def test_accepting_a_duplicate_keeps_one_fact_and_retires_the_other_toward_it(memory: Memory) -> None:
    first, second, proposal = duplicates(memory)
    accepted = memory.inbox.accept(proposal.id)
    assert (accepted.state, accepted.seq) == ("accepted", memory.last_seq())
    assert memory.get(first.id) == first
    assert memory.get(second.id).superseded_by == first.id
    assert memory.inbox.list() == ()
    assert memory.entry(accepted.seq).verb == "accept"


def test_undoing_an_acceptance_restores_the_facts_and_reopens_the_card(memory: Memory) -> None:
    _, second, proposal = duplicates(memory)
    accepted = memory.inbox.accept(proposal.id)
    undone = memory.undo(accepted.seq)
    assert memory.get(second.id) == second
    assert memory.inbox.get(proposal.id) == proposal
    memory.redo(undone.seq)
    assert memory.inbox.get(proposal.id) == accepted
    assert memory.get(second.id).is_superseded


def test_undoing_a_cycle_takes_its_cards_back(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    undone = memory.undo(proposal.seq)
    assert memory.inbox.get(proposal.id).state == "withdrawn"
    memory.redo(undone.seq)
    assert memory.inbox.get(proposal.id) == proposal


def test_a_cycle_whose_card_was_decided_is_undone_only_after_the_decision(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.inbox.reject(proposal.id)
    with pytest.raises(UndoConflict):
        memory.undo(proposal.seq)


def test_the_journal_of_cards_replays(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.inbox.later(proposal.id)
    memory.inbox.reopen(proposal.id)
    memory.undo(memory.inbox.accept(proposal.id).seq)
    states = replay(reversed(memory.journal(limit=100)), kind="proposal")
    now = memory.inbox.get(proposal.id)
    assert states[proposal.id][0] == now.seq
    assert states[proposal.id][1]["state"] == now.state == "open"


def test_a_fact_that_was_revised_meanwhile_makes_its_card_stale(memory: Memory) -> None:
    first, second, proposal = duplicates(memory)
    memory.revise("ops", [second.id], "The gate opens at ten.")
    assert [card.stale for card in memory.inbox.list()] == [True]
    seq = memory.last_seq()
    with pytest.raises(FactChanged) as refused:
        memory.inbox.accept(proposal.id)
    assert refused.value.fields["ids"] == [second.id]
    assert memory.last_seq() == seq
    assert memory.inbox.get(proposal.id).state == "open"
    assert memory.get(first.id) == first


@pytest.mark.parametrize("change", ["pin", "label", "move", "retire"])
def test_any_change_of_a_fact_makes_a_card_stale(memory: Memory, change: str) -> None:
    _, second, proposal = duplicates(memory)
    match change:
        case "pin":
            memory.pin("ops", [second.id])
        case "label":
            memory.label("ops", [second.id], "verified")
        case "move":
            memory.move("ops", [second.id], "sales")
        case _:
            memory.retire("ops", [second.id])
    with pytest.raises(FactChanged):
        memory.inbox.accept(proposal.id)


def test_being_recalled_does_not_make_a_card_stale(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.recall("ops", "gate")
    assert memory.inbox.accept(proposal.id).state == "accepted"


def test_the_next_cycle_replaces_a_stale_card(memory: Memory) -> None:
    first, second, proposal = duplicates(memory)
    memory.label("ops", [second.id], "verified")
    memory.consolidate("ops")
    assert memory.inbox.get(proposal.id).state == "withdrawn"
    (fresh,) = memory.inbox.list()
    assert (fresh.keep, fresh.facts) == (second.id, (second.id, first.id))


def test_another_fact_can_be_kept(memory: Memory) -> None:
    first, second, proposal = duplicates(memory)
    memory.inbox.accept(proposal.id, keep=second.id)
    assert memory.get(first.id).superseded_by == second.id
    assert not memory.get(second.id).is_superseded


def test_an_edited_result_is_a_new_fact_with_a_cautious_label_and_no_pin(memory: Memory) -> None:
    one = memory.remember("ops", "The gate opens at nine.", confidence="verified", origin=_note("a"))
    other = memory.remember("ops", "A gate opens at 9", confidence="unverified", origin=_note("b"))
    proposal = merge(memory, [one, other])
    accepted = memory.inbox.accept(proposal.id, edited="The north gate opens at nine.")
    (new_id,) = {memory.get(fact.id).superseded_by for fact in (one, other)}
    new = memory.get(new_id)
    assert (new.text, new.confidence, new.pinned) == ("The north gate opens at nine.", "unverified", False)
    assert {source.ref for source in new.origin.sources} == {"a", "b"}
    assert new.version == accepted.seq


def _note(ref: str) -> Origin:
    return Origin("vault", sources=(SourceRef("note", ref),))


def test_the_kept_fact_takes_over_the_sources_of_the_others(memory: Memory) -> None:
    one = memory.remember("ops", "The gate opens.", origin=_note("a"))
    other = memory.remember("ops", "The gate opens", origin=_note("b"))
    proposal = merge(memory, [one, other])
    accepted = memory.inbox.accept(proposal.id)
    assert [source.ref for source in memory.get(one.id).origin.sources] == ["a", "b"]
    memory.undo(accepted.seq)
    assert memory.get(one.id) == one
    assert replay(reversed(memory.journal(limit=100)), kind="fact")[one.id][0] == one.version


def test_a_pinned_fact_is_never_consumed(memory: Memory) -> None:
    one, other = memory.remember("ops", "The gate opens."), memory.remember("ops", "The gate opens")
    (pinned,) = memory.pin("ops", [other.id])
    proposal = merge(memory, [one, pinned])
    for choice in ({}, {"edited": "The gates open."}):
        with pytest.raises(InvalidInput, match="pinned"):
            memory.inbox.accept(proposal.id, **choice)
    assert not memory.get(pinned.id).is_superseded
    memory.inbox.accept(proposal.id, keep=pinned.id)
    assert memory.get(one.id).superseded_by == pinned.id


@pytest.mark.parametrize("edited", ["", "  ", "\ud800"])
def test_an_edited_text_that_says_nothing_is_refused(memory: Memory, edited: str) -> None:
    _, _, proposal = duplicates(memory)
    with pytest.raises(InvalidInput):
        memory.inbox.accept(proposal.id, edited=edited)
    assert memory.inbox.get(proposal.id).state == "open"


def test_an_edited_text_that_is_blocked_is_refused(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.blocked.add("The gate never opens.")
    with pytest.raises(BlockedValue):
        memory.inbox.accept(proposal.id, edited="The gate never  opens.")
    assert memory.inbox.get(proposal.id).state == "open"


def test_a_stranger_cannot_be_kept(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    stranger = memory.remember("ops", "Something else.")
    with pytest.raises(InvalidInput, match="none of the proposal"):
        memory.inbox.accept(proposal.id, keep=stranger.id)


def test_a_decided_card_is_not_decided_again(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.inbox.reject(proposal.id)
    with pytest.raises(ProposalDecided):
        memory.inbox.accept(proposal.id)
    assert memory.inbox.never_again(proposal.id)[0].state == "never"
    with pytest.raises(ProposalDecided):
        memory.inbox.later(proposal.id)
    assert memory.inbox.reopen([proposal.id])[0].state == "open"


def test_an_unknown_card_is_not_found(memory: Memory) -> None:
    for verb in (memory.inbox.accept, memory.inbox.reject, memory.inbox.get, memory.inbox.reopen):
        with pytest.raises(NotFound):
            verb("nobody")
    with pytest.raises(NotFound):
        memory.inbox.accept_many(["nobody"])


def test_a_rejected_card_does_not_come_back_while_its_facts_stay(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.inbox.reject(proposal.id)
    assert memory.consolidate("ops").proposed == {}
    memory.remember("ops", "The gate opens at nine.")
    assert memory.consolidate("ops").proposed == {"exact_duplicate": 1}


def test_never_again_covers_every_fact_with_these_texts(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.inbox.never_again(proposal.id)
    memory.remember("ops", "The gate opens at nine.")
    assert memory.consolidate("ops").proposed == {}


def test_a_card_that_was_put_off_comes_back_with_the_next_asked_for_cycle(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    memory.inbox.later(proposal.id)
    assert memory.inbox.list() == ()
    assert [card.id for card in memory.inbox.list("waiting")] == [proposal.id]
    memory.consolidate("ops")
    assert [card.id for card in memory.inbox.list()] == [proposal.id]


def test_counts_are_by_source_kind_and_state(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    assert memory.inbox.counts() == (InboxCount("consolidation", "exact_duplicate", "open", 1),)
    memory.inbox.reject(proposal.id)
    assert memory.inbox.counts() == (InboxCount("consolidation", "exact_duplicate", "rejected", 1),)


def test_many_cards_are_accepted_as_one_action_and_undone_as_one(memory: Memory) -> None:
    for n in range(5):
        memory.remember("ops", f"Text {chr(65 + n)}.")
        memory.remember("ops", f"Text {chr(65 + n)}.")
    memory.consolidate("ops")
    cards = memory.inbox.list(kind="exact_duplicate")
    memory.pin("ops", [cards[0].facts[1]])
    decision = memory.inbox.accept_many([card.id for card in cards])
    assert len(decision.accepted) == 4
    assert [left.id for left in decision.left] == [cards[0].id]
    assert decision.seq is not None
    memory.undo(decision.seq)
    assert [card.id for card in memory.inbox.list(kind="exact_duplicate")] == [card.id for card in cards]
    assert not any(memory.get(fact_id).is_superseded for card in cards for fact_id in card.facts)


def test_a_write_under_review_keeps_the_id_that_it_was_promised(memory: Memory) -> None:
    new = NewProposal(
        kind="write",
        source="review",
        agent_id="ops",
        facts=(),
        same_key="w",
        text="Ana is on call.",
        details={
            "fact_id": "01RESERVED",
            "confidence": "unverified",
            "origin": {"channel": "mcp", "client": "assistant"},
        },
    )
    (proposal,) = memory.inbox.add([new])
    accepted = memory.inbox.accept(proposal.id)
    fact = memory.get("01RESERVED")
    assert (fact.text, fact.confidence, fact.origin.client) == ("Ana is on call.", "unverified", "assistant")
    memory.undo(accepted.seq)
    with pytest.raises(NotFound):
        memory.get("01RESERVED")


def test_a_revision_and_a_retirement_can_wait_for_review(memory: Memory) -> None:
    one, other = memory.remember("ops", "The gate opens at nine."), memory.remember("ops", "The wall is high.")
    base = {one.id: one.version, other.id: other.version}
    new = NewProposal("revise", "vault", "ops", (one.id,), "r", text="The gate opens at ten.", base=base)
    gone = NewProposal("retire", "vault", "ops", (other.id,), "t", base=base)
    revision, retirement = memory.inbox.add([new, gone])
    memory.inbox.accept(revision.id)
    memory.inbox.accept(retirement.id)
    assert memory.get(memory.get(one.id).superseded_by).text == "The gate opens at ten."
    assert memory.get(other.id).superseded_by == "agent"
    third = memory.remember("ops", "The moat is deep.")
    (again,) = memory.inbox.add([replace(gone, facts=(third.id,), base={third.id: third.version})])
    for choice in ({"keep": third.id}, {"edited": "The moat is dry."}):
        with pytest.raises(InvalidInput):
            memory.inbox.accept(again.id, **choice)


def test_texts_and_agents_that_the_ledger_cannot_hold_stay_out_of_the_inbox(memory: Memory) -> None:
    good = NewProposal("write", "review", "ops", (), "w", text="x")
    for bad in (replace(good, text="\ud800"), replace(good, agent_id=" ")):
        with pytest.raises(InvalidInput):
            memory.inbox.add([bad])
    assert memory.inbox.list() == ()


@pytest.mark.parametrize(
    "text", ["NUL \0 inside", "[[x]] --- <b>bold</b>", "\u202eleft", "👩\u200d👧 家族", "x" * 1_000_000]
)
def test_any_text_can_be_a_duplicate(memory: Memory, text: str) -> None:
    first, second = memory.remember("ops", text), memory.remember("ops", text)
    memory.consolidate("ops")
    memory.inbox.accept(memory.inbox.list()[0].id)
    assert memory.get(second.id).superseded_by == first.id


def test_an_acceptance_that_fails_half_way_leaves_nothing_behind(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, proposal = duplicates(memory)
    before = (memory.facts(memory.fact_ids(FactQuery(status="all"))), memory.last_seq())

    def fail(*_: object) -> None:
        raise StoreBusy("somewhere in the middle")

    monkeypatch.setattr("gm_engine.consolidation.apply.set_state", fail)
    for choice in ({}, {"edited": "The gates open at nine."}):
        with pytest.raises(StoreBusy):
            memory.inbox.accept(proposal.id, **choice)
    assert (memory.facts(memory.fact_ids(FactQuery(status="all"))), memory.last_seq()) == before
    assert memory.inbox.get(proposal.id) == proposal


def test_a_store_open_for_reading_shows_the_inbox_and_decides_nothing(memory: Memory) -> None:
    _, _, proposal = duplicates(memory)
    with Memory.open(memory.data_dir, read_only=True, background=False) as reader:
        assert reader.inbox.list() == (proposal,)
        with pytest.raises(ReadOnlyStore):
            reader.inbox.accept(proposal.id)
