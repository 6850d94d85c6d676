"""Memory and other sources together, with real child processes: outcomes, order, duplicates, ceilings, their file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from gm_engine import Memory, Origin, SourceRef
from gm_engine.clock import SystemClock
from gm_engine.errors import InvalidInput, NotFound
from gm_engine.recall_protocol import AdapterFailed, Candidate, ProtocolError, SearchResult
from gm_engine.recall_protocol.joint_answer import JointAnswer, SourceAnswer, SourceOutcome, answer_of, failed, join
from gm_engine.recall_protocol.process import Patience
from gm_engine.recall_protocol.source_config import SourceConfig, SourcesFile, default_sources_file, resolved_location
from gm_engine.recall_protocol.sources import Sources
from tests.fakes.command_line import ROOT
from tests.fakes.embedder import ScriptedEmbedder

OTHER = str(ROOT / "tests" / "fakes" / "other_source.py")
IMPATIENT = Patience(shutdown_s=0.2, terminate_s=0.2, cancel_grace_s=0.1)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", background=False, embedder=ScriptedEmbedder()) as memory:
        memory.remember("ops", "Rollbacks take five minutes.")
        memory.wait_for_embeddings()
        yield memory


@pytest.fixture
def sources(tmp_path: Path, memory: Memory) -> Iterator[Sources]:
    file = SourcesFile(tmp_path / "config" / "sources.toml")
    with Sources(file, tmp_path / "state", memory=memory, patience=IMPATIENT) as sources:
        yield sources


def other(sources: Sources, mode: str, **rest: Any) -> SourceConfig:
    return sources.add(mode, sys.executable, args=(OTHER, mode), **rest)


def states(answer: JointAnswer) -> dict[str, tuple[str, str]]:
    return {each.source_id: (each.state, each.reason) for each in answer.outcomes}


def test_one_source_that_fails_leaves_the_answer_of_the_others(sources: Sources) -> None:
    other(sources, "notes")
    other(sources, "slow", deadline_s=0.5)
    other(sources, "broken")
    other(sources, "denied")
    other(sources, "partial")
    sources.add("absent", "no-such-program-anywhere")
    began = monotonic()
    answer = sources.search("rollback")
    took_s = monotonic() - began
    assert states(answer) == {
        "memory": ("answered", ""),
        "notes": ("answered", ""),
        "slow": ("failed", "timeout"),
        "broken": ("failed", "closed"),
        "denied": ("failed", "source_denied"),
        "partial": ("degraded", "partial"),
        "absent": ("failed", "not_started"),
    }
    assert not answer.is_complete
    assert {hit.source_id for hit in answer.hits} == {"memory", "notes"}
    slow = next(each for each in answer.outcomes if each.source_id == "slow")
    assert slow.took_s < 0.5 + 0.1 + 2
    assert took_s < 20


def test_equal_content_counts_once_and_names_both_places(sources: Sources) -> None:
    other(sources, "notes")
    other(sources, "partial")
    answer = sources.search("harbour", only=("notes", "partial"))
    assert [(hit.candidate.locator, hit.also_in) for hit in answer.hits] == [
        ("notes:note/n1", ("partial:note/n1",)),
        ("notes:note/n2", ()),
    ]


def test_hits_above_the_ceiling_are_dropped_and_counted(sources: Sources) -> None:
    other(sources, "secret", ceiling="internal")
    answer = sources.search("harbour", only=("secret",))
    assert [hit.candidate.locator for hit in answer.hits] == ["secret:note/n2"]
    assert [(each.found, each.dropped) for each in answer.outcomes] == [(1, 1)]


def test_nothing_was_found_only_when_everyone_looked(sources: Sources) -> None:
    other(sources, "nothing")
    assert sources.search("zeppelin", only=("nothing",)).found_nothing
    past = sources.search("zeppelin", only=("nothing",), as_of_ns=1)
    assert states(past) == {"nothing": ("abstained", "as_of_unsupported")}
    assert (past.found_nothing, past.is_complete) == (False, True)
    other(sources, "broken")
    broken = sources.search("zeppelin", only=("nothing", "broken"))
    assert (broken.found_nothing, broken.is_complete, broken.hits) == (False, False, ())


def test_a_hit_is_expanded_and_kept_with_its_origin(sources: Sources, memory: Memory) -> None:
    other(sources, "notes")
    assert sources.expand("notes:note/n2").content.startswith("The lease")
    fact = sources.keep("notes:note/n2", "ops", origin=Origin("desktop", client="test"), confidence="verified")
    kept = memory.get(fact.id)
    assert kept.text == "The lease of the harbour office was signed in 2024."
    assert kept.origin.sources == (SourceRef("locator", "notes:note/n2"),)
    assert (kept.origin.channel, kept.confidence) == ("desktop", "verified")
    shorter = sources.keep("notes:note/n2", "ops", origin=Origin("desktop"), text="The lease is from 2024.")
    assert memory.get(shorter.id).text == "The lease is from 2024."


@pytest.mark.parametrize(
    ("locator", "name"),
    [
        ("notes:note/n9", "locator_expired"),
        ("nobody:x", "source_not_configured"),
        ("nothing", "locator_unknown"),
        ("memory:fact/", "locator_unknown"),
    ],
)
def test_what_cannot_be_expanded_says_why(sources: Sources, locator: str, name: str) -> None:
    other(sources, "notes")
    with pytest.raises(ProtocolError) as refused:
        sources.expand(locator)
    assert refused.value.name == name


def test_what_is_in_memory_is_not_kept_again(sources: Sources, memory: Memory) -> None:
    (hit,) = sources.search("rollbacks", only=("memory",)).hits
    assert sources.expand(hit.candidate.locator).content == "Rollbacks take five minutes."
    with pytest.raises(InvalidInput, match="already"):
        sources.keep(hit.candidate.locator, "ops", origin=Origin("desktop"))
    assert memory.stats("ops").fact_count == 1


def test_two_sources_over_one_store_are_refused_by_name(sources: Sources, memory: Memory) -> None:
    start = "import sys; from gm_engine.cli.main import main; sys.exit(main())"
    for name in ("twin", "twin-too"):
        sources.add(
            name,
            sys.executable,
            args=("-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {start}", "recall-adapter"),
            location=str(memory.data_dir),
            deadline_s=30.0,
        )
    answer = sources.search("rollbacks")
    assert states(answer) == {
        "memory": ("answered", ""),
        "twin": ("failed", "same_store: memory, twin, twin-too"),
        "twin-too": ("failed", "same_store: memory, twin, twin-too"),
    }
    assert {hit.source_id for hit in answer.hits} == {"memory"}
    assert {each.source_id: each.error for each in sources.health()}["twin"].startswith("same_store")


def test_health_tells_what_each_source_is(sources: Sources) -> None:
    other(sources, "partial")
    sources.add("absent", "no-such-program-anywhere")
    memory, partial, absent = sources.health()
    assert memory.health is not None
    assert (memory.health.status, memory.error) == ("healthy", "")
    assert partial.health is not None
    assert partial.manifest is not None
    assert partial.status is not None
    assert (partial.health.coverage, partial.manifest.display_name) == ("partial", "Notes for tests")
    assert partial.status.cold_start_ns is not None
    status, until = partial.status, monotonic() + 10.0
    while not status.diagnostics.lines and monotonic() < until:
        sleep(0.01)  # what it says is read beside its answers
        status = sources.health(["partial"])[0].status or status
    assert status.diagnostics.lines == ("reading notes in mode partial",)
    assert (absent.health, absent.error) == (None, "not_started")
    with pytest.raises(AdapterFailed):
        sources.probe("no-such-program-anywhere")
    assert sources.probe(sys.executable, (OTHER, "notes")).display_name == "Notes for tests"
    (refreshed,) = sources.health(["partial"], refresh=True)
    assert refreshed.error == ""
    sources.restart("partial")


def test_a_search_asks_only_whom_it_is_told_to(sources: Sources) -> None:
    other(sources, "notes")
    assert [each.source_id for each in sources.search("x", only=("notes",)).outcomes] == ["notes"]
    with pytest.raises(NotFound):
        sources.search("x", only=("nobody",))


def test_a_file_written_by_another_program_is_followed(sources: Sources, tmp_path: Path) -> None:
    file = SourcesFile(tmp_path / "config" / "sources.toml")
    sources.follow_file()
    file.add(SourceConfig("1", "notes", sys.executable, (OTHER, "notes")))
    assert sources.configured() == ()
    sources.follow_file()
    assert [each.id for each in sources.configured()] == ["notes"]
    file.path.write_text("[[source]]\n", encoding="utf-8")
    for _ in range(2):  # it is said as long as it is so
        with pytest.raises(InvalidInput):
            sources.follow_file()
    assert [each.id for each in sources.configured()] == ["notes"]


def test_a_removed_source_is_asked_no_more(sources: Sources) -> None:
    made = other(sources, "notes")
    assert sources.configured() == (made,)
    assert sources.remove("notes") == made
    assert [each.source_id for each in sources.search("rollback").outcomes] == ["memory"]
    with pytest.raises(NotFound):
        sources.remove("notes")


# The order ------------------------------------------------------------------------------------------------------------


def candidate(name: str, rank: int, **rest: Any) -> Candidate:
    return Candidate(name, name, f"s:{name}", "note", name, rank, "internal", **rest)


def part(source_id: str, *candidates: Candidate, prior: float = 1.0) -> SourceAnswer:
    return SourceAnswer(SourceOutcome(source_id, "answered", found=len(candidates)), candidates, prior)


def names(answer: JointAnswer) -> list[str]:
    return [hit.candidate.candidate_id for hit in answer.hits]


def test_places_decide_and_never_the_sources_own_scores() -> None:
    first = part("a", candidate("a1", 1, local_score=0.01), candidate("a2", 2, local_score=0.009))
    second = part("b", candidate("b1", 1, local_score=9000.0), candidate("b2", 2, local_score=8000.0))
    assert names(join("q", [first, second], limit=10)) == ["a1", "b1", "a2", "b2"]
    assert names(join("q", [first, second], limit=3)) == ["a1", "b1", "a2"]


def test_a_prior_and_a_measured_relevance_move_a_hit() -> None:
    first = part("a", candidate("a1", 1), candidate("a2", 2))
    favourite = part("b", candidate("b1", 1), candidate("b2", 2), prior=2.0)
    assert names(join("q", [first, favourite], limit=10)) == ["b1", "b2", "a1", "a2"]
    measured = part("c", candidate("c1", 1, relevance=0.0), candidate("c2", 2, relevance=1.0))
    assert names(join("q", [first, measured], limit=10)) == ["c2", "a1", "a2", "c1"]


def test_agreeing_with_itself_raises_no_score() -> None:
    first = part("a", candidate("a1", 1), candidate("same", 2, content_fingerprint="f"))
    second = part("b", candidate("same too", 2, content_fingerprint="f"))
    answer = join("q", [first, second], limit=10)
    assert names(answer) == ["a1", "same"]
    assert answer.hits[1].also_in == ("s:same too",)
    assert answer.hits[1].score < answer.hits[0].score


def test_what_was_kept_from_a_hit_is_the_same_evidence() -> None:
    first = part("a", candidate("a1", 1, content_fingerprint="f"))
    memory = part("memory", candidate("kept", 1, content_fingerprint="g", derived_from=("s:a1", "x:y")))
    answer = join("q", [memory, first], limit=10)
    assert [(hit.candidate.candidate_id, hit.also_in) for hit in answer.hits] == [("kept", ("s:a1",))]


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("success", "answered"),
        ("partial", "degraded"),
        ("skipped", "abstained"),
        ("unavailable", "failed"),
        ("denied", "failed"),
        ("failed", "failed"),
        ("timeout", "failed"),
    ],
)
def test_every_outcome_of_the_wire_has_its_state(outcome: Any, state: str) -> None:
    answer = answer_of("s", SearchResult((), outcome), ceiling="public", prior=1.0, took_s=0.1)
    assert answer.outcome.state == state


def test_a_timeout_that_brought_something_is_degraded() -> None:
    result = SearchResult((candidate("a", 1),), "timeout")
    assert answer_of("s", result, ceiling="internal", prior=1.0, took_s=0.1).outcome.state == "degraded"
    assert failed("s", "timeout").candidates == ()


# The configuration ----------------------------------------------------------------------------------------------------


def test_what_a_person_wrote_around_the_sources_stays(tmp_path: Path) -> None:
    file = SourcesFile(tmp_path / "sources.toml")
    file.path.write_text('# mine\n[[source]]  # the first\nuid = "1"\nid = "one"\ncommand = "a"\n', encoding="utf-8")
    file.path.chmod(0o600)
    file.add(SourceConfig("2", "two", "b", ("-x",), "there", {"deep": {"list": [1, "two", True]}}, prior=2.5))
    assert [each.id for each in file.load()] == ["one", "two"]
    assert file.load()[1].settings == {"deep": {"list": [1, "two", True]}}
    file.remove("two")
    text = file.path.read_text(encoding="utf-8")
    assert "# mine" in text
    assert "# the first" in text
    assert "two" not in text
    file.remove("one")
    assert file.load() == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[source]]\n", "no uid"),
        ('[[source]]\nuid="1"\nid="a"\n', "no command"),
        ('[[source]]\nuid="1"\nid="A b"\ncommand="x"\n', "name"),
        ('[[source]]\nuid="1"\nid="memory"\ncommand="x"\n', "name"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\ncolour="red"\n', "colour"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\nargs="-x"\n', "args"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\nargs=[1]\n', "arguments"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\nceiling="high"\n', "ceiling"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\nprior=true\n', "prior"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\nprior=11\n', "prior"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\ndeadline_s=0\n', "deadline"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\n[source.settings]\nday=2026-01-01\n', "setting"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\n[[source]]\nuid="1"\nid="b"\ncommand="x"\n', "two sources"),
        ('[[source]]\nuid="1"\nid="a"\ncommand="x"\n[[source]]\nuid="2"\nid="a"\ncommand="x"\n', "two sources"),
        ("source = 1\n", "tables"),
        ("[other]\nx = 1\n", "other"),
        ("not toml at all", "TOML"),
    ],
)
def test_a_wrong_configuration_is_refused_in_words(tmp_path: Path, text: str, message: str) -> None:
    file = SourcesFile(tmp_path / "sources.toml")
    file.path.write_text(text, encoding="utf-8")
    file.path.chmod(0o600)
    with pytest.raises(InvalidInput, match=message):
        file.load()


@pytest.mark.parametrize("value", [None, float("nan"), [1, None], {"a": {"b": float("-inf")}}, {1: "x"}])
def test_a_setting_that_could_not_be_read_again_is_not_written(tmp_path: Path, value: Any) -> None:
    file = SourcesFile(tmp_path / "sources.toml")
    with pytest.raises(InvalidInput, match="setting"):
        file.add(SourceConfig("1", "one", "a", settings={"odd": value}))
    assert file.load() == ()


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    file = SourcesFile(tmp_path / "sources.toml")
    file.add(SourceConfig("1", "one", "a"))
    assert file.path.stat().st_mode & 0o777 == 0o600
    file.path.chmod(0o620)
    with pytest.raises(InvalidInput, match="chmod 600"):
        file.load()


def test_a_name_is_given_once(tmp_path: Path) -> None:
    file = SourcesFile(tmp_path / "sources.toml")
    one = SourceConfig(SystemClock().new_id(1), "one", "a")
    file.add(one)
    with pytest.raises(InvalidInput, match="already"):
        file.add(replace(one, uid="2"))


def test_a_location_is_relative_to_the_file_that_declares_it(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    assert resolved_location("store", tmp_path) == str(tmp_path / "store")
    assert resolved_location("./later", tmp_path) == str(tmp_path / "later")
    assert resolved_location("https://example.org/x", tmp_path) == "https://example.org/x"
    assert resolved_location("dbname=notes", tmp_path) == "dbname=notes"
    assert resolved_location("", tmp_path) == ""
    assert default_sources_file({"GRAYMATTER_SOURCES": str(tmp_path / "x.toml")}).path == tmp_path / "x.toml"
    assert default_sources_file({}).path.name == "sources.toml"


def test_without_a_memory_nothing_can_be_kept(tmp_path: Path) -> None:
    with Sources(SourcesFile(tmp_path / "sources.toml"), tmp_path / "state", patience=IMPATIENT) as alone:
        other(alone, "notes")
        with pytest.raises(InvalidInput, match="no memory"):
            alone.keep("notes:note/n1", "ops", origin=Origin("desktop"))


def test_what_is_too_long_to_be_one_fact_is_kept_in_ones_own_words_only(
    sources: Sources, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other(sources, "notes")
    expand = Sources.expand
    monkeypatch.setattr(Sources, "expand", lambda self, locator: replace(expand(self, locator), truncated=True))
    with pytest.raises(InvalidInput, match="too long"):
        sources.keep("notes:note/n1", "ops", origin=Origin("desktop"))
    kept = sources.keep("notes:note/n1", "ops", origin=Origin("desktop"), text="There was a drill.")
    assert memory.get(kept.id).text == "There was a drill."
