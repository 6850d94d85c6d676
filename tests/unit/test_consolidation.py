"""Cycles through the door: fading, proposing, applying, pruning, reporting; by hand and by themselves."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from gm_engine import (
    Cancelled,
    CancelToken,
    Config,
    EmbeddingMode,
    FactQuery,
    InvalidInput,
    LanguageModelConfig,
    LanguageModelFailed,
    Memory,
    ReadOnlyStore,
)
from gm_engine.consolidation.decay import decayed
from gm_engine.errors import GrayMatterError
from gm_engine.records import SourceRef
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.model_server import ModelServer, Reply, model_server, openai

DAY_S = 86_400.0
WORDS = (
    *("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven"),
    *("islet", "jetty", "knoll", "ledge", "marsh", "north", "ocean", "pearl"),
)
TWINS = ("The gate opens at nine.", "The gate opens at nine.", "A gate opens at 9", "The gate opens at ten.")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=clock, embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


def fill(memory: Memory, count: int, agent: str = "ops") -> list[str]:
    """Facts that have nothing to do with each other."""
    return [
        memory.remember(agent, f"{WORDS[n % 16]}{n} {WORDS[(n * 7 + 3) % 16]} {WORDS[(n * 5 + 1) % 16]}{n * n}").id
        for n in range(count)
    ]


# --- fading -----------------------------------------------------------------------------------------------------------


def test_a_weight_halves_with_every_half_life_of_silence(memory: Memory, clock: FrozenClock) -> None:
    fact = memory.remember("ops", "The gate opens.")
    clock.tick_s = 0
    clock.at_ns = fact.created_ns
    clock.advance(60 * DAY_S)
    memory.consolidate("ops")
    assert memory.get(fact.id).weight == pytest.approx(0.25)


def test_fading_twice_changes_nothing_and_no_weight_rises(memory: Memory, clock: FrozenClock) -> None:
    fact = memory.remember("ops", "The gate opens.")
    clock.advance(30 * DAY_S)
    memory.consolidate("ops")
    weight = memory.get(fact.id).weight
    memory.recall("ops", "gate")
    memory.consolidate("ops")
    assert memory.get(fact.id).weight == weight
    assert decayed(0.2, 10, 5, half_life_h=720) == 0.2


def test_a_pinned_fact_does_not_fade_and_a_tombstone_does(memory: Memory, clock: FrozenClock) -> None:
    pinned, gone = memory.remember("ops", "Kept."), memory.remember("ops", "Gone.")
    memory.pin("ops", [pinned.id])
    memory.retire("ops", [gone.id])
    clock.advance(30 * DAY_S)
    memory.consolidate("ops")
    assert memory.get(pinned.id).weight == 1.0
    assert memory.get(gone.id).weight < 0.51


def test_the_half_life_is_the_callers_choice(tmp_path: Path, clock: FrozenClock) -> None:
    config = Config(decay_half_life_h=24, embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        fact = memory.remember("ops", "The gate opens.")
        clock.advance(DAY_S)
        memory.consolidate("ops")
        assert memory.get(fact.id).weight == pytest.approx(0.5, abs=0.01)
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidInput):
            Config(decay_half_life_h=bad)


# --- proposing and applying -------------------------------------------------------------------------------------------


def test_a_cycle_proposes_exact_near_and_contradicting_facts(memory: Memory) -> None:
    first, second, third, fourth = (memory.remember("ops", text).id for text in TWINS)
    report = memory.consolidate("ops")
    assert report.proposed == {"exact_duplicate": 1, "near_duplicate": 1, "contradiction": 1}
    cards = {card.kind: card for card in memory.inbox.list()}
    assert cards["exact_duplicate"].facts == (first, second)
    assert set(cards["near_duplicate"].facts) == {first, third}
    assert cards["contradiction"].facts[0] == fourth
    assert "nine → ten" in cards["contradiction"].reason
    assert all(not memory.get(fact_id).is_superseded for fact_id in (first, second, third, fourth))


def test_a_second_cycle_proposes_nothing_new(memory: Memory) -> None:
    for text in TWINS:
        memory.remember("ops", text)
    memory.consolidate("ops")
    report = memory.consolidate("ops")
    assert (report.proposed, report.known) == ({}, 3)


def test_a_dry_run_says_what_would_be_proposed_and_changes_nothing(memory: Memory, clock: FrozenClock) -> None:
    for text in TWINS:
        memory.remember("ops", text)
    clock.advance(10 * DAY_S)
    before = (memory.facts(memory.fact_ids(FactQuery(status="all"))), memory.last_seq())
    report = memory.consolidate("ops", dry_run=True)
    assert report.proposed == {"exact_duplicate": 1, "near_duplicate": 1, "contradiction": 1}
    assert (report.decayed, report.seq) == (4, None)
    assert {card.kind for card in report.proposals} == set(report.proposed)
    assert (memory.facts(memory.fact_ids(FactQuery(status="all"))), memory.last_seq()) == before
    assert memory.inbox.list("waiting") == ()
    assert memory.consolidation_counters().cycles == 0


def test_named_kinds_are_applied_at_once(memory: Memory) -> None:
    ids = [memory.remember("ops", text).id for text in TWINS]
    report = memory.consolidate("ops", apply=("exact_duplicate",))
    assert (report.applied, report.consumed) == ({"exact_duplicate": 1}, 1)
    assert memory.get(ids[1]).superseded_by == ids[0]
    assert not memory.get(ids[3]).is_superseded
    assert {card.kind for card in memory.inbox.list()} == {"near_duplicate", "contradiction"}
    memory.undo(report.seq or 0)
    assert not memory.get(ids[1]).is_superseded


def test_a_kind_that_no_cycle_applies_is_refused_before_any_effect(memory: Memory) -> None:
    memory.remember("ops", "x")
    for kinds in (("prune",), ("write",), ("everything",)):
        with pytest.raises(InvalidInput):
            memory.consolidate("ops", apply=kinds)
    with pytest.raises(InvalidInput):
        memory.consolidate(" ")
    assert memory.last_seq() == 1


def test_a_verified_fact_is_kept_rather_than_an_older_one(memory: Memory) -> None:
    memory.remember("ops", "The gate opens.")
    verified = memory.remember("ops", "The gate opens.", confidence="verified")
    memory.consolidate("ops")
    assert memory.inbox.list()[0].keep == verified.id


def test_two_pinned_twins_are_left_alone(memory: Memory) -> None:
    ids = [memory.remember("ops", "The gate opens.").id for _ in range(2)]
    memory.pin("ops", ids)
    assert memory.consolidate("ops").proposed == {}


def test_twins_of_two_agents_are_no_duplicates(memory: Memory) -> None:
    memory.remember("ops", "The gate opens.")
    memory.remember("sales", "The gate opens.")
    assert memory.consolidate("ops").proposed == {}


def test_aliases_and_tombstones_take_no_part(memory: Memory) -> None:
    memory.alias("ops", "k8s", ["kubernetes"])
    memory.alias("ops", "k8s", ["kubernetes"])
    gone = memory.remember("ops", "The gate opens.")
    memory.retire("ops", [gone.id])
    memory.remember("ops", "The gate opens.")
    assert memory.consolidate("ops").proposed == {}


def test_many_sentences_that_count_up_are_a_series_and_no_contradictions(memory: Memory) -> None:
    for n in range(6):
        memory.remember("ops", f"The nightly build took {n + 10} minutes.")
    report = memory.consolidate("ops")
    assert (report.proposed, report.series) == ({}, 1)


def test_a_paraphrase_is_found_by_its_vector(memory: Memory) -> None:
    sentence = f"Greta owns the {{}} billing service and every report about the partners {' '.join(WORDS)}"
    memory.remember("ops", sentence.format("whole"))
    memory.remember("ops", sentence.format("entire"))
    fill(memory, 30)
    assert memory.consolidate("ops", dry_run=True).proposed == {}
    memory.wait_for_embeddings()
    assert memory.consolidate("ops").proposed == {"near_duplicate": 1}


def test_an_empty_namespace_has_an_empty_report(memory: Memory) -> None:
    report = memory.consolidate("nobody")
    assert (report.facts, report.proposed, report.pruned) == (0, {}, 0)


def test_a_cancelled_cycle_leaves_a_valid_store(memory: Memory) -> None:
    for text in TWINS:
        memory.remember("ops", text)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        memory.consolidate("ops", cancel=cancel)
    assert memory.inbox.list() == ()
    assert memory.consolidate("ops").proposed != {}


def test_two_people_who_consolidate_at_once_get_each_card_once(memory: Memory, clock: FrozenClock) -> None:
    for text in TWINS:
        memory.remember("ops", text)
    with Memory.open(memory.data_dir, clock=clock, embedder=ScriptedEmbedder(), background=False) as other:
        ran: list[int] = []

        def interrupt(done: int, total: int | None, what: str) -> None:
            if what == "writing proposals" and not ran:
                ran.append(1)
                other.consolidate("ops")

        report = memory.consolidate("ops", progress=interrupt)
        assert ran == [1]
        assert len(memory.inbox.list()) == 3
        assert report.proposals == ()


def test_a_store_open_for_reading_can_only_be_looked_at(memory: Memory) -> None:
    for text in TWINS:
        memory.remember("ops", text)
    with Memory.open(memory.data_dir, read_only=True, background=False, embedder=ScriptedEmbedder()) as reader:
        assert reader.consolidate("ops", dry_run=True).proposed
        with pytest.raises(ReadOnlyStore):
            reader.consolidate("ops")


STAGES = (
    *("fading", "reading texts", "comparing wordings", "comparing facts"),
    *("writing proposals", "applying", "pruning"),
)


@pytest.mark.parametrize("stage", STAGES)
def test_a_cycle_that_is_stopped_anywhere_is_completed_by_the_next_one(
    tmp_path: Path, clock: FrozenClock, stage: str
) -> None:
    stopped = False

    def stop(done: int, total: int | None, what: str) -> None:
        nonlocal stopped
        if what == stage:
            stopped = True
            raise Cancelled("stopped")

    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        faded = memory.remember("ops", "Nobody asked for this.")
        clock.advance(300 * DAY_S)
        ids = [memory.remember("ops", text).id for text in TWINS]
        with pytest.raises(Cancelled):
            memory.consolidate("ops", apply=("exact_duplicate",), progress=stop)
        assert stopped
        memory.consolidate("ops", apply=("exact_duplicate",))
        assert memory.get(ids[1]).superseded_by == ids[0]
        assert memory.facts([faded.id]) == []
        assert {card.kind for card in memory.inbox.list()} == {"near_duplicate", "contradiction"}


def test_hundreds_of_cards_are_written_and_carried_out_in_pieces_between_which_a_cycle_can_be_stopped(
    tmp_path: Path, clock: FrozenClock
) -> None:
    seen: list[tuple[str, int]] = []

    def stop(done: int, total: int | None, what: str) -> None:
        seen.append((what, done))
        if seen.count(("applying", 100)) == 2:  # they are read in pieces, then merged in pieces
            raise Cancelled("stopped")

    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        texts = [f"Crane {number} lifts." for number in range(250)]
        ids = [memory.remember("ops", text).id for text in (*texts, *texts)]
        with pytest.raises(Cancelled):
            memory.consolidate("ops", apply=("exact_duplicate",), progress=stop)
        assert [done for what, done in seen if what == "writing proposals"] == [0, 0, 100, 200]
        merged = [fact.id for fact in memory.facts(ids) if fact.superseded_by]
        assert 0 < len(merged) < 250
        assert gc.isenabled()
        report = memory.consolidate("ops", apply=("exact_duplicate",))
        assert report.applied == {"exact_duplicate": 250 - len(merged)}
        assert {fact.superseded_by for fact in memory.facts(ids[250:])} == set(ids[:250])


def test_cycles_of_several_namespaces_can_be_one_action(memory: Memory) -> None:
    for agent in ("ops", "sales"):
        for text in TWINS[:2]:
            memory.remember(agent, text)
    first = memory.consolidate("ops")
    memory.consolidate("sales", group_id=memory.entry(first.seq or 0).group_id)
    assert len(memory.inbox.list()) == 2
    memory.undo(first.seq or 0)
    assert memory.inbox.list() == ()


# --- pruning ----------------------------------------------------------------------------------------------------------


def test_an_explicit_cycle_prunes_what_has_faded_and_undo_brings_it_back(memory: Memory, clock: FrozenClock) -> None:
    faded = memory.remember("ops", "Nobody asked for this.")
    clock.advance(300 * DAY_S)
    fresh = fill(memory, 3)
    report = memory.consolidate("ops")
    assert (report.pruned, report.held_back) == (1, 0)
    assert memory.facts([faded.id]) == []
    assert all(memory.get(fact_id) for fact_id in fresh)
    memory.undo(report.seq or 0)
    assert memory.get(faded.id).text == faded.text


def test_a_dormant_store_loses_nothing_before_its_report_was_accepted(memory: Memory, clock: FrozenClock) -> None:
    ids = fill(memory, 30)
    memory.pin("ops", [ids[0]])
    clock.advance(730 * DAY_S)
    dry = memory.consolidate("ops", dry_run=True)
    assert (dry.pruned, dry.held_back, dry.proposed) == (0, 29, {"prune": 1})
    report = memory.consolidate("ops")
    assert (report.pruned, report.held_back) == (0, 29)
    assert len(memory.facts(ids)) == 30
    (card,) = memory.inbox.list(kind="prune")
    accepted = memory.inbox.accept(card.id)
    assert [fact.id for fact in memory.facts(ids)] == [ids[0]]
    memory.undo(accepted.seq)
    assert len(memory.facts(ids)) == 30


def test_facts_that_a_person_would_not_have_pruned_stay(memory: Memory, clock: FrozenClock) -> None:
    rejected = memory.remember("ops", "Once a year.")
    clock.advance(400 * DAY_S)
    fill(memory, 3)
    memory.consolidate("ops", prune=False)
    (card,) = memory.inbox.list(kind="prune")
    memory.inbox.reject(card.id)
    assert memory.consolidate("ops").pruned == 0
    assert memory.get(rejected.id).text == rejected.text


def test_pinned_facts_and_aliases_are_never_pruned(memory: Memory, clock: FrozenClock) -> None:
    pinned, alias = memory.remember("ops", "Kept."), memory.alias("ops", "k8s", ["kubernetes"])
    memory.pin("ops", [pinned.id])
    clock.advance(1000 * DAY_S)
    fill(memory, 3)
    assert memory.consolidate("ops").pruned == 0
    assert memory.get(alias.id).text == alias.text


# --- reports ----------------------------------------------------------------------------------------------------------


def test_cycles_are_counted_and_their_reports_kept(memory: Memory) -> None:
    for text in TWINS:
        memory.remember("ops", text)
    first = memory.consolidate("ops", apply=("exact_duplicate",))
    memory.remember("sales", "x")
    second = memory.consolidate("sales")
    counters = memory.consolidation_counters()
    assert (counters.cycles, counters.consumed, counters.pruned) == (2, 1, 0)
    assert counters.last is not None
    assert counters.last.agent_id == "sales"
    history = memory.cycles()
    assert [report.seq for report in history] == [second.seq, first.seq]
    assert history[1].applied == {"exact_duplicate": 1}
    assert memory.cycles("ops") == history[1:]
    assert memory.cycles(before_seq=second.seq) == history[1:]
    assert json.loads(memory.entry(first.seq or 0).detail or "")["consumed"] == 1


# --- by themselves ----------------------------------------------------------------------------------------------------


def steps(memory: Memory) -> None:
    while memory.index_step():
        pass


def test_a_write_beyond_the_threshold_starts_a_cycle_that_only_proposes(memory: Memory) -> None:
    fill(memory, 18)
    steps(memory)
    assert memory.consolidation_counters().cycles == 0
    twins = [memory.remember("ops", "The gate opens.").id for _ in range(2)]
    steps(memory)
    assert memory.consolidation_counters().cycles == 1
    (card,) = memory.inbox.list()
    assert card.facts == tuple(twins)
    assert memory.entry(card.seq).actor.channel == "consolidation"
    assert not memory.get(twins[1]).is_superseded


def test_a_cycle_starts_at_the_threshold_and_not_one_fact_earlier(memory: Memory) -> None:
    fill(memory, 19)
    steps(memory)
    assert memory.consolidation_counters().cycles == 0
    memory.remember("ops", "The twentieth fact.")
    steps(memory)
    assert memory.consolidation_counters().cycles == 1


def test_a_revision_starts_a_cycle_too(tmp_path: Path, clock: FrozenClock) -> None:
    quiet = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
    with Memory.open(tmp_path / "store", clock=clock, config=quiet, background=False) as memory:
        ids = fill(memory, 20)
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        for verb in (memory.pin, memory.retire, memory.restore):
            verb("ops", ids[:1])
        steps(memory)
        assert memory.consolidation_counters().cycles == 0
        memory.revise("ops", ids[:1], "Said in other words.")
        steps(memory)
        assert memory.consolidation_counters().cycles == 1


def test_shared_facts_are_consolidated_only_when_written_as_any_agent(memory: Memory) -> None:
    for n in range(21):
        memory.remember_shared(f"Note {chr(65 + n)} is new.")
    steps(memory)
    assert memory.consolidation_counters().cycles == 0
    memory.remember("__shared__", "One more is here.")
    steps(memory)
    assert memory.consolidation_counters().cycles == 1


@pytest.mark.parametrize("allowed", [True, False])
def test_by_itself_a_cycle_applies_and_prunes_only_what_it_may(
    tmp_path: Path, clock: FrozenClock, *, allowed: bool
) -> None:
    config = Config(
        embedding_mode=EmbeddingMode.KEYWORD_ONLY,
        auto_apply=("exact_duplicate",) if allowed else (),
        auto_prune=allowed,
    )
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        faded = memory.remember("ops", "Nobody asked for this.")
        clock.advance(300 * DAY_S)
        fill(memory, 20)
        twins = [memory.remember("ops", "The gate opens.").id for _ in range(2)]
        steps(memory)
        assert memory.get(twins[1]).is_superseded is allowed
        assert (memory.facts([faded.id]) == []) is allowed
        assert {card.kind for card in memory.inbox.list()} == (set() if allowed else {"exact_duplicate", "prune"})


def test_no_cycle_starts_where_the_configuration_forbids_it(tmp_path: Path, clock: FrozenClock) -> None:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY, async_consolidate=False)
    with Memory.open(tmp_path / "store", clock=clock, config=config, background=False) as memory:
        fill(memory, 25)
        steps(memory)
        assert memory.consolidation_counters().cycles == 0
        assert memory.maybe_consolidate("ops") is not None
        assert memory.maybe_consolidate("nobody") is None
        assert memory.consolidation_counters().cycles == 1


def test_a_cycle_that_found_nothing_leaves_no_trace_in_the_journal(memory: Memory) -> None:
    fill(memory, 25)
    seq = memory.last_seq()
    steps(memory)
    assert memory.consolidation_counters().cycles == 1
    assert memory.last_seq() == seq


def test_a_later_cycle_by_itself_compares_what_is_new_with_the_rest(memory: Memory) -> None:
    ids = fill(memory, 25)
    memory.maybe_consolidate("ops")
    text = memory.get(ids[3]).text
    twin = memory.remember("ops", text)
    report = memory.maybe_consolidate("ops")
    assert report is not None
    assert report.proposed == {"exact_duplicate": 1}
    assert memory.inbox.list()[0].facts == (ids[3], twin.id)


def test_at_most_two_namespaces_wait_for_a_cycle(memory: Memory) -> None:
    for agent in ("a", "b", "c"):
        fill(memory, 20, agent)
    steps(memory)
    assert memory.consolidation_counters().cycles == 2


def test_the_background_thread_runs_cycles_without_a_model(tmp_path: Path) -> None:
    config = Config(embedding_mode=EmbeddingMode.KEYWORD_ONLY)
    with Memory.open(tmp_path / "store", config=config) as memory:
        fill(memory, 18)
        for _ in range(2):
            memory.remember("ops", "The gate opens.")
        seen = _until(memory)
    assert seen == {"exact_duplicate"}


def _until(memory: Memory) -> set[str]:
    """The kinds in the inbox, once there are any."""
    cards = memory.inbox.list()
    while not cards:
        memory.index_step(0.01)  # this lane and the background thread do not get in each other's way
        cards = memory.inbox.list()
    return {str(card.kind) for card in cards}


# --- language models --------------------------------------------------------------------------------------------------


def with_model(path: Path, clock: FrozenClock, server: ModelServer, errors: list[GrayMatterError]) -> Memory:
    config = Config(
        embedding_mode=EmbeddingMode.KEYWORD_ONLY,
        language_model=LanguageModelConfig("openai", server.url, "small", retry_pause_s=0.0, timeout_s=20.0),
        on_consolidate_error=errors.append,
    )
    return Memory.open(path / "store", clock=clock, config=config, background=False)


def test_the_weakest_half_is_summed_up_as_a_card_that_names_what_it_lost(tmp_path: Path, clock: FrozenClock) -> None:
    with model_server(Reply()) as server, with_model(tmp_path, clock, server, []) as memory:
        old = [
            memory.remember("ops", text, confidence="verified").id for text in ("Orion runs at 02:00.", "Greta rests.")
        ]
        fill(memory, 20)
        answer = {"summary": "Orion runs.", "consumes": [*old, "nobody"], "contradictions": ["Both run."]}
        server.answer(openai(json.dumps(answer)))
        memory.recall("ops", "amber0")
        report = memory.consolidate("ops")
        assert report.proposed == {"summary": 1}
        (card,) = memory.inbox.list(kind="summary")
        assert set(card.facts) == set(old)
        assert {(finding.kind, finding.text) for finding in card.findings} >= {("number", "02:00")}
        assert card.details["contradictions"] == ["Both run."]
        accepted = memory.inbox.accept(card.id)
        new = memory.get(memory.get(old[0]).superseded_by)
        assert (new.text, new.confidence, new.origin.channel) == ("Orion runs.", "inferred", "consolidation")
        assert SourceRef("fact", old[0]) in new.origin.sources
        memory.undo(accepted.seq)
        assert not memory.get(old[0]).is_superseded
        asked = json.loads(server.asked[0].body["messages"][1]["content"])
        assert len(asked) == 11
        assert memory.consolidate("ops").proposed == {}
        assert len(server.asked) == 1, "a summary that waits is not asked for again"


@pytest.mark.parametrize(
    "reply",
    [
        openai("Sure, here is a summary."),
        openai('{"summary": "", "consumes": []}'),
        openai('{"summary": "x", "consumes": ["nobody"]}'),
        Reply(b"", 401),
        Reply(b"", 500),
        Reply(b"\xff"),
    ],
)
def test_a_failing_model_is_an_error_of_the_report_and_touches_nothing(
    tmp_path: Path, clock: FrozenClock, reply: Reply
) -> None:
    with model_server(reply) as server, with_model(tmp_path, clock, server, []) as memory:
        ids = fill(memory, 25)
        report = memory.consolidate("ops")
        assert len(report.errors) == 1
        assert report.proposed == {}
        assert memory.inbox.list("waiting") == ()
        assert not any(fact.is_superseded for fact in memory.facts(ids))


def test_at_the_threshold_nothing_is_summed_up(tmp_path: Path, clock: FrozenClock) -> None:
    with model_server(Reply()) as server, with_model(tmp_path, clock, server, []) as memory:
        fill(memory, 20)
        assert memory.maybe_consolidate("ops") is not None
        assert server.asked == []
        memory.remember("ops", "One more.")
        memory.consolidate("ops", dry_run=True)
        assert server.asked == [], "a dry run asks nobody"


@pytest.mark.parametrize(("facts", "asked"), [(20, 0), (21, 1)])
def test_a_cycle_by_itself_sums_up_only_above_the_threshold(
    tmp_path: Path, clock: FrozenClock, facts: int, asked: int
) -> None:
    with model_server(Reply()) as server, with_model(tmp_path, clock, server, []) as memory:
        ids = fill(memory, facts)
        server.answer(openai(json.dumps({"summary": "Woods.", "consumes": ids[:2]})))
        memory.maybe_consolidate("ops")
        assert len(server.asked) == asked
        assert len(memory.inbox.list(kind="summary")) == asked
        assert not any(fact.is_superseded for fact in memory.facts(ids))


def test_a_rejected_summary_is_not_asked_for_again(tmp_path: Path, clock: FrozenClock) -> None:
    with model_server(Reply()) as server, with_model(tmp_path, clock, server, []) as memory:
        ids = fill(memory, 25)
        server.answer(openai(json.dumps({"summary": "Woods.", "consumes": ids[:3]})))
        memory.consolidate("ops")
        memory.inbox.reject(memory.inbox.list(kind="summary")[0].id)
        assert memory.consolidate("ops").proposed == {}
        assert len(server.asked) == 1


def test_extracted_facts_are_unverified_and_name_their_source(tmp_path: Path, clock: FrozenClock) -> None:
    reply = openai('{"facts": ["Ana leads.", "Ben writes."]}')
    with model_server(reply) as server, with_model(tmp_path, clock, server, []) as memory:
        facts = memory.remember_extracted("ops", "Ana leads and Ben writes.", source=SourceRef("file", "talk.txt"))
        assert [(fact.text, fact.confidence) for fact in facts] == [
            ("Ana leads.", "unverified"),
            ("Ben writes.", "unverified"),
        ]
        assert facts[0].origin.sources == (SourceRef("file", "talk.txt"),)
        memory.undo(facts[0].version)
        assert memory.fact_ids(FactQuery()) == []


def test_without_a_model_an_extracted_text_is_one_ordinary_fact(memory: Memory) -> None:
    (fact,) = memory.remember_extracted("ops", "Ana leads and Ben writes.")
    assert (fact.text, fact.confidence) == ("Ana leads and Ben writes.", "")
    with pytest.raises(LanguageModelFailed) as refused:
        memory.extract_facts("x")
    assert refused.value.fields["reason"] == "not_configured"


def test_a_model_that_fails_keeps_nothing(tmp_path: Path, clock: FrozenClock) -> None:
    with model_server(Reply(b"", 500)) as server, with_model(tmp_path, clock, server, []) as memory:
        with pytest.raises(LanguageModelFailed):
            memory.remember_extracted("ops", "Ana leads.")
        assert memory.last_seq() == 0


def test_a_host_program_is_told_that_the_model_failed(tmp_path: Path, clock: FrozenClock) -> None:
    errors: list[GrayMatterError] = []
    with model_server(Reply(b"", 401)) as server, with_model(tmp_path, clock, server, errors) as memory:
        fill(memory, 25)
        steps(memory)
        assert [error.fields["reason"] for error in errors] == ["unauthorised"]
        assert memory.consolidation_counters().cycles == 1


def test_closing_a_store_does_not_wait_for_a_model_that_is_silent(tmp_path: Path, clock: FrozenClock) -> None:
    errors: list[GrayMatterError] = []
    with model_server(Reply(hangs=True)) as server:
        config = Config(
            embedding_mode=EmbeddingMode.KEYWORD_ONLY,
            language_model=LanguageModelConfig("openai", server.url, "small", timeout_s=30.0),
            on_consolidate_error=errors.append,
        )
        memory = Memory.open(tmp_path / "store", clock=clock, config=config)
        fill(memory, 25)
        assert server.heard.wait(30)
        memory.close()
    assert errors == [], "a wait to its end would have been a failure"
