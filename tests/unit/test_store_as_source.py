"""A store answered from in this process: coverage, filters, narrowed views, identities, and nothing written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gm_engine import FactQuery, Memory, Message, Origin, SourceRef
from gm_engine.clock import NS_PER_S
from gm_engine.errors import InvalidInput
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol import InitializeParams, ProtocolError, SchemaSet, SearchFilters, SearchParams
from gm_engine.recall_protocol.adapter import StoreAdapter
from gm_engine.recall_protocol.adapter_expand import within_budget
from gm_engine.recall_protocol.handler import RequestContext
from gm_engine.recall_protocol.lexical_span import WordCounts, count_words, cut, query_words
from gm_engine.recall_protocol.locators import RecordName, parse_local
from gm_engine.recall_protocol.payloads import Detail, ExpandParams, SearchResult
from tests.fakes.clock import FrozenClock
from tests.fakes.embedder import ScriptedEmbedder

FAR_NS = 4_000_000_000 * NS_PER_S


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock("2026-11-01T09:00:00Z")


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    path = tmp_path / "store"
    with Memory.open(path, background=False, clock=clock, embedder=ScriptedEmbedder()) as memory:
        memory.graph.add("Okafor", "organization")
        memory.remember("ops", "Rollbacks take five minutes.", confidence="verified")
        memory.remember("ops", "The Okafor contract ends in June.")
        memory.remember("desk", "Okafor calls about the rollback on Mondays.", confidence="unverified")
        memory.remember_shared("Rollbacks are announced.")
        memory.alias("ops", "revert", ["rollback"])
        memory.checkpoints.save("desk", state={"task": "rollback drill"}, messages=[Message("user", "When?")])
        memory.wait_for_embeddings()
        memory.graph.mentions()
        yield memory


def adapter_on(memory: Memory, clock: FrozenClock, **settings: Any) -> StoreAdapter:
    adapter = StoreAdapter(memory.data_dir, clock=clock, embedder=ScriptedEmbedder())
    adapter.initialize(InitializeParams(1, 1, "work", "mem", settings=settings), RequestContext())
    return adapter


def search(
    adapter: StoreAdapter, query: str, *, limit: int = 10, as_of_ns: int | None = None, **filters: Any
) -> SearchResult:
    params = SearchParams(query, SearchFilters(**filters), limit, FAR_NS, as_of_ns=as_of_ns)
    result = adapter.search(params, RequestContext())
    SchemaSet.shared().validate_result("recall/search", result.to_wire())
    return result


def texts(result: SearchResult) -> set[str]:
    return {candidate.title for candidate in result.candidates}


def test_a_fact_without_vector_makes_search_and_health_partial_alike(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    assert search(adapter, "rollback").outcome == "success"
    assert adapter.health(RequestContext()).coverage == "complete"
    memory.remember("ops", "The spare router is on shelf 4.")
    result, health = search(adapter, "router"), adapter.health(RequestContext())
    assert (result.outcome, result.diagnostics) == ("partial", {"facts_without_vector": 1})
    assert (health.status, health.coverage) == ("degraded", "partial")
    assert health.diagnostics is not None
    assert health.diagnostics["facts_without_vector"] == 1
    assert health.record_count is not None
    assert health.indexed_count == health.record_count - 1
    assert texts(result) >= {"The spare router is on shelf 4."}
    adapter.close()


def test_an_answer_that_fills_the_cap_may_not_be_all(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock, agents=["ops"], include_shared=False, top_k_cap=1)
    asked = search(adapter, "okafor rollbacks", limit=5, record_types=("fact",))
    assert (len(asked.candidates), asked.outcome, asked.diagnostics) == (1, "partial", {"capped_at": 1})
    assert search(adapter, "okafor rollbacks", limit=1, record_types=("fact",)).outcome == "success"
    adapter.close()


@pytest.mark.parametrize("query", ["rollback", ""])
def test_the_wires_first_and_last_years_are_instants_too(memory: Memory, clock: FrozenClock, query: str) -> None:
    first_ns, last_ns = -62_135_596_800 * NS_PER_S, 253_402_300_799 * NS_PER_S
    adapter = adapter_on(memory, clock)
    everything = texts(search(adapter, query))
    assert texts(search(adapter, query, since_ns=first_ns, until_ns=last_ns)) >= everything - {"Okafor"}
    assert texts(search(adapter, query, as_of_ns=last_ns)) == everything
    assert search(adapter, query, since_ns=last_ns).candidates == ()
    assert search(adapter, query, until_ns=first_ns).candidates == ()
    with pytest.raises(ProtocolError) as refused:
        search(adapter, query, as_of_ns=first_ns)
    assert refused.value.name == "as_of_unsupported"
    adapter.close()


def test_a_search_counts_nothing_and_learns_nothing(memory: Memory, clock: FrozenClock) -> None:
    before, seq = memory.facts(memory.fact_ids(FactQuery(status="all"))), memory.last_seq()
    adapter = adapter_on(memory, clock)
    search(adapter, "rollback")
    search(adapter, "revert")
    adapter.close()
    assert memory.facts(memory.fact_ids(FactQuery(status="all"))) == before
    assert memory.last_seq() == seq


def test_the_watermark_follows_the_journal(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    assert search(adapter, "rollback").source_watermark == str(memory.last_seq())
    memory.remember("ops", "One more.")
    assert search(adapter, "rollback").source_watermark == str(memory.last_seq())
    adapter.close()


def test_an_alias_finds_and_claims_no_measure(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    (hit,) = [each for each in search(adapter, "revert", project="ops").candidates if "alias" in each.match_signals]
    assert hit.title == "Rollbacks take five minutes."
    assert hit.relevance is None
    adapter.close()


def test_a_filter_by_time_is_half_open(memory: Memory, clock: FrozenClock) -> None:
    facts = {fact.text: fact for fact in memory.facts(memory.fact_ids(FactQuery(kind="content")))}
    since = facts["The Okafor contract ends in June."].created_ns
    until = facts["Rollbacks are announced."].created_ns
    adapter = adapter_on(memory, clock)
    found = search(adapter, "rollback okafor", since_ns=since, until_ns=until, record_types=("fact",))
    assert texts(found) == {"The Okafor contract ends in June.", "Okafor calls about the rollback on Mondays."}
    listed = search(adapter, "", since_ns=since, until_ns=until, record_types=("fact",))
    assert texts(listed) == texts(found)
    adapter.close()


def test_a_filter_by_entity_goes_through_the_graph(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    found = search(adapter, "rollback", entities=("okafor", "nobody"))
    assert texts(found) == {"The Okafor contract ends in June.", "Okafor calls about the rollback on Mondays."}
    assert found.diagnostics == {"entities_unknown": 1}
    adapter.close()


def test_a_narrowed_view_shows_its_part_and_claims_no_store(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock, agents=["ops"], include_shared=False, min_confidence="verified")
    assert texts(search(adapter, "rollback")) == {"Rollbacks take five minutes."}
    assert search(adapter, "rollback", project="desk").reason == "not_applicable"
    assert texts(search(adapter, "okafor", record_types=("entity",))) == {"Okafor"}
    assert "store_identity" not in (adapter.health(RequestContext()).diagnostics or {})
    adapter.close()
    lonely = adapter_on(memory, clock, agents=["nobody"], include_shared=False)
    assert search(lonely, "okafor", record_types=("entity",)).candidates == ()
    assert search(lonely, "okafor", entities=("Okafor",)).reason == "not_applicable"
    lonely.close()


def test_a_store_has_one_identity_whatever_leads_to_it(memory: Memory, clock: FrozenClock, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(memory.data_dir)
    seen = set()
    for place in (memory.data_dir, link, memory.data_dir / ".." / memory.data_dir.name):
        adapter = StoreAdapter(place, clock=clock, embedder=ScriptedEmbedder())
        adapter.initialize(InitializeParams(1, 1, "work", "mem"), RequestContext())
        seen.add((adapter.health(RequestContext()).diagnostics or {})["store_identity"])
        adapter.close()
    assert len(seen) == 1


def test_a_fingerprint_knows_record_and_content_alone(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    now = {each.source_record_id: each.content_fingerprint for each in search(adapter, "rollback").candidates}
    other = {each.source_record_id: each.content_fingerprint for each in search(adapter, "minutes take").candidates}
    then = search(adapter, "rollback", as_of_ns=clock.now_ns())
    assert len(set(now.values())) == len(now)
    assert all(now[record] == print_ for record, print_ in other.items() if record in now)
    assert {each.source_record_id: each.content_fingerprint for each in then.candidates} == now
    adapter.close()


def test_what_was_kept_from_elsewhere_says_so(memory: Memory, clock: FrozenClock) -> None:
    origin = Origin("library", sources=(SourceRef("locator", "notes:note/7"), SourceRef("file", "a.txt")))
    memory.remember("ops", "The lease was signed in 2024.", origin=origin)
    memory.wait_for_embeddings()
    adapter = adapter_on(memory, clock)
    assert search(adapter, "lease").candidates[0].derived_from == ("notes:note/7",)
    adapter.close()


def test_a_locator_of_the_past_is_that_of_its_moment(memory: Memory, clock: FrozenClock) -> None:
    then = clock.now_ns()
    memory.revise("ops", "The Okafor contract ends in June.", "The Okafor contract ends in July.")
    memory.wait_for_embeddings()
    adapter = adapter_on(memory, clock)
    (hit,) = search(adapter, "contract", as_of_ns=then, record_types=("fact",), project="ops", limit=1).candidates
    assert hit.title.endswith("June.")
    params = ExpandParams(hit.locator, "full", 1000, FAR_NS)
    assert adapter.expand(params, RequestContext()).content.endswith("June.")
    with pytest.raises(ProtocolError) as refused:
        adapter.expand(replace(params, locator=hit.locator.partition("@")[0]), RequestContext())
    assert refused.value.name == "locator_expired"
    assert isinstance(refused.value.data, dict)
    assert "replacement" in refused.value.data
    adapter.close()


def test_an_abandoned_search_stops(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    context = RequestContext()
    context.cancel()
    with pytest.raises(Exception, match="abandoned"):
        adapter.search(SearchParams("rollback", SearchFilters(), 5, FAR_NS), context)
    adapter.close()
    assert isinstance(context, CancelToken)


def test_a_ledger_that_may_not_be_read_is_denied_without_a_word(
    memory: Memory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    adapter = adapter_on(memory, clock)
    with pytest.raises(ProtocolError) as refused:
        search(adapter, "rollback")
    assert (refused.value.name, refused.value.data) == ("source_denied", None)
    health = adapter.health(RequestContext())
    assert (health.status, health.coverage, health.diagnostics) == ("denied", "unknown", None)


def test_a_file_that_is_no_ledger_is_unavailable_and_no_path_is_told(tmp_path: Path, clock: FrozenClock) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"this is no database, whatever its name says" * 100)
    adapter = StoreAdapter(tmp_path, clock=clock, embedder=ScriptedEmbedder())
    adapter.initialize(InitializeParams(1, 1, "work", "mem"), RequestContext())
    with pytest.raises(ProtocolError) as refused:
        search(adapter, "rollback")
    assert refused.value.name == "source_unavailable"
    assert str(tmp_path) not in refused.value.message
    assert adapter.health(RequestContext()).status == "unavailable"


@pytest.mark.parametrize(
    "name",
    [
        RecordName("fact", "01KJW170B0000000000000000M"),
        RecordName("checkpoint", "c/1", "an agent: with / everything @ 5"),
        RecordName("entity", "zürich 🙂", seq=12),
        RecordName("entity", "a\ud800b"),
        RecordName("entity", "@9"),
    ],
)
def test_a_locator_reads_back_as_it_was_written(name: RecordName) -> None:
    if "\ud800" in name.id:
        with pytest.raises(InvalidInput):
            parse_local(name.local)
    else:
        assert parse_local(name.local) == name


def test_the_span_of_a_text_follows_the_formula() -> None:
    words = query_words("the harbour lease", "english")
    assert words.span(count_words("harbour harbour office", "english")).relevance == pytest.approx(
        1 / 2 * (2 / 3) / (2 / 3 + 0.02)
    )
    assert words.span(WordCounts({}, 0)).relevance == 0
    assert not query_words("the of and", "english").terms


def test_a_cut_is_whole_characters_and_at_most_the_budget() -> None:
    text = "a–🙂é" * 3
    for budget in range(1, len(text.encode()) + 2):
        found = within_budget(text, budget, "", "")
        assert len(found.content.encode()) <= budget
        assert text.startswith(found.content)
        assert found.truncated == (found.content != text)
    assert cut("one two three", 4, length=3) == "…two…"
    assert math.isclose(len(cut("word " * 100, length=50)), 50, abs_tol=1)


def expanded(adapter: StoreAdapter, locator: str, detail: Detail = "full") -> str:
    return adapter.expand(ExpandParams(locator, detail, 4000, FAR_NS), RequestContext()).content


def locators(adapter: StoreAdapter, query: str, record_type: str) -> dict[str, str]:
    found = search(adapter, query, record_types=(record_type,)).candidates
    return {candidate.title: candidate.locator for candidate in found}


def test_a_checkpoint_is_shown_with_the_others_of_its_agent(memory: Memory, clock: FrozenClock) -> None:
    memory.checkpoints.save("desk", state={"task": "lease"})
    memory.checkpoints.save("ops", state={"task": "wiki"})
    adapter = adapter_on(memory, clock)
    shown = next(iter(locators(adapter, "rollback", "checkpoint").values()))
    assert "Other checkpoints" not in expanded(adapter, shown)
    context = expanded(adapter, shown, "context")
    assert "rollback drill" in context
    assert context.count("Other checkpoints") == 1
    adapter.close()


def test_a_locator_that_names_another_agents_checkpoint_names_nothing(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    (locator,) = locators(adapter, "rollback", "checkpoint").values()
    with pytest.raises(ProtocolError) as refused:
        expanded(adapter, locator.replace("desk", "ops"))
    assert refused.value.name == "locator_expired"
    adapter.close()


def test_a_fact_that_was_retired_without_a_successor_names_none(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    locator = locators(adapter, "contract", "fact")["The Okafor contract ends in June."]
    (fact_id,) = memory.resolve("ops", "The Okafor contract ends in June.")
    memory.retire("ops", [fact_id])
    with pytest.raises(ProtocolError) as refused:
        expanded(adapter, locator)
    assert (refused.value.name, refused.value.data) == ("locator_expired", None)
    adapter.close()


def test_an_entity_that_a_narrowed_view_does_not_show_is_not_told_of(memory: Memory, clock: FrozenClock) -> None:
    memory.graph.add("Secret Project", "project")
    whole = adapter_on(memory, clock)
    locator = locators(whole, "secret", "entity")["Secret Project"]
    assert "Secret Project" in expanded(whole, locator)
    whole.close()
    narrowed = adapter_on(memory, clock, agents=["ops"])
    with pytest.raises(ProtocolError) as refused:
        expanded(narrowed, locator)
    assert refused.value.name == "locator_expired"
    narrowed.close()


def test_checkpoints_asked_for_by_an_entity_are_said_to_be_left_out(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    found = search(adapter, "rollback", entities=("Okafor",), record_types=("fact", "checkpoint"))
    assert found.diagnostics is not None
    assert found.diagnostics["record_types_left_out"] == ["checkpoint"]
    assert texts(found) == {"Okafor calls about the rollback on Mondays.", "The Okafor contract ends in June."}
    adapter.close()


def test_a_search_during_which_somebody_writes_is_made_again(memory: Memory, clock: FrozenClock) -> None:
    adapter = adapter_on(memory, clock)
    context = RequestContext()
    check, left = context.check, ["Rollbacks are rehearsed."]

    def checks() -> None:
        check()
        if left:
            memory.remember("ops", left.pop())

    context.check = checks  # type: ignore[method-assign]
    result = adapter.search(SearchParams("rollbacks", SearchFilters(), 10, FAR_NS), context)
    assert "Rollbacks are rehearsed." in texts(result)
    assert result.source_watermark == str(memory.last_seq())
    adapter.close()


def test_a_search_by_entity_says_when_mentions_are_behind(memory: Memory, clock: FrozenClock) -> None:
    memory.remember("ops", "The Okafor office moves.")
    adapter = adapter_on(memory, clock)
    result = search(adapter, "office", entities=("Okafor",))
    assert result.outcome == "partial"
    assert result.diagnostics is not None
    assert result.diagnostics["mentions_behind_by_entries"] > 0
    adapter.close()


def test_more_checkpoints_than_are_kept_in_memory_are_found_all_the_same(
    memory: Memory, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gm_engine.recall_protocol.served_store.MAX_CHECKPOINTS", 1)
    for number in range(4):
        memory.checkpoints.save("desk", state={"task": f"lease {number}"})
    adapter = adapter_on(memory, clock)
    for _ in range(2):
        assert len(search(adapter, "lease", record_types=("checkpoint",)).candidates) == 4
    adapter.close()
