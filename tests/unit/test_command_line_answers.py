"""What single commands answer a reader beside their usual lines: cards, why-not, imports, figures, refusals."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gm_engine import Memory
from gm_engine.cli import transfer
from gm_engine.embedding.minilm import MiniLM
from gm_engine.records import Message
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import Answer, run
from tests.fakes.embedder import ScriptedEmbedder
from tests.fakes.model_server import model_server, openai


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = ScriptedEmbedder(dims=MiniLM.dims)
    monkeypatch.setattr(MiniLM, "embed", lambda _, texts: scripted.embed(texts))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    data_dir = tmp_path / "store"
    with Memory.open(data_dir, background=False, clock=FrozenClock()) as memory:
        memory.remember("ops", "Rollbacks take five minutes.")
        memory.remember("ops", "Rollbacks are said to be rare.", confidence="unverified")
    return data_dir


def test_the_module_is_the_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["graymatter", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("gm_engine.cli", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == run("--version").out


# Bringing in and publishing -------------------------------------------------------------------------------------------


def test_an_import_computes_its_vectors_unless_told_not_to(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"text": "The quay is closed."}\n{"text": "The crane is new."}\n')
    for options, pending in (([], 0), (["--no-wait"], 2)):
        data_dir = tmp_path / f"store{pending}"
        answer = run("import", notes, "--as", "ops", *options, "--data-dir", data_dir)
        assert answer.out.startswith("imported 2 facts, 0 checkpoints, 0 entities, 0 links\n")
        assert "for ops" in answer.out
        assert run("status", "--json", "--data-dir", data_dir).json["vectors"]["pending"] == pending


def test_a_reader_is_shown_the_first_refusals_of_an_import_and_how_many_more_there_are(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"text": "The quay is closed."}\n' * 25)
    said = run("import", notes, "--as", "ops", "--data-dir", tmp_path / "store").out
    assert said.count("the same text stands before") == 20
    assert said.endswith("  … and 4 more (--json lists all)\n")


def test_an_export_asks_where_to(store: Path) -> None:
    answer = run("export", "markdown", "--data-dir", store)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("graymatter: Say where to: --out DIR or --profile NAME.")


@dataclass(frozen=True, slots=True)
class _Report:
    written: dict[str, object]
    where: Path
    left_out: int = 0


class _Foreign:
    """An exporter of another package; it says what it was told to say."""

    name = "foreign"
    report: object = None

    def export(self, *_: object, **__: object) -> object:
        return self.report


def test_the_report_of_another_packages_exporter_is_shown(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("foreign", f"{__name__}:_Foreign", transfer.EXPORTERS)
    monkeypatch.setattr(transfer, "entry_points", lambda group: (entry,) if group == transfer.EXPORTERS else ())
    monkeypatch.setattr(_Foreign, "report", _Report({"pages": 3, "links": None}, Path("out")))
    answer = run("export", "foreign", "--out", "out", "--json", "--data-dir", store)
    assert answer.json == {"written": {"pages": 3, "links": None}, "where": "out"}
    monkeypatch.setattr(_Foreign, "report", "done")
    with pytest.raises(TypeError, match="'foreign' gave no report"):
        run("export", "foreign", "--out", "out", "--data-dir", store)


# Cards ----------------------------------------------------------------------------------------------------------------


def remember(data_dir: Path, *texts: str) -> None:
    with Memory.open(data_dir, background=False, clock=FrozenClock()) as memory:
        for text in texts:
            memory.remember("ops", text)


def test_a_cycle_says_what_waits_already_and_what_it_left_alone(tmp_path: Path) -> None:
    series = (f"The nightly build took {n} minutes." for n in range(10, 16))
    remember(tmp_path, "The gate opens at nine.", "The gate opens at nine.", *series)
    assert "wait already" not in run("consolidate", "ops", "--data-dir", tmp_path).out
    again = run("consolidate", "ops", "--data-dir", tmp_path).out
    assert ", 1 wait already, " in again
    assert "1 series left alone" in again


def test_a_card_of_many_facts_shows_the_first_and_how_many_more(tmp_path: Path) -> None:
    remember(tmp_path, *["The gate opens at nine."] * 9)
    said = run("consolidate", "ops", "--dry-run", "--data-dir", tmp_path).out
    assert said.count("The gate opens at nine.") == 6
    assert "keep  " in said
    assert said.endswith("          … and 3 more\n")


def test_a_summary_is_shown_with_what_it_lost_and_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(tmp_path, *(f"Note {chr(65 + n)}{n} about {chr(75 + n)}." for n in range(24)))
    notes = run("list", "ops", "--json", "--data-dir", tmp_path).json
    summed_up = [note["id"] for note in notes if "A0" in note["text"]]
    answer = {"summary": "A note about K in 1999.", "consumes": summed_up, "contradictions": []}
    with model_server(openai(json.dumps(answer))) as server:
        monkeypatch.setenv("GRAYMATTER_LLM_URL", server.url)
        monkeypatch.setenv("GRAYMATTER_LLM_MODEL", "small")
        said = run("consolidate", "ops", "--data-dir", tmp_path).out
    assert "    new   A note about K in 1999." in said
    assert "    made up: 1999" in said
    assert "    lost name: A0" in said


# Searching ------------------------------------------------------------------------------------------------------------


def why_not(store: Path, text: str, *options: object) -> str:
    return run("why-not", "ops", "rollbacks people", text, *options, "--data-dir", store).out


def test_why_not_says_so_of_a_fact_that_took_no_part(store: Path) -> None:
    run("forget", "ops", "Rollbacks take five minutes.", "--data-dir", store)
    lines = why_not(store, "Rollbacks take five minutes.").splitlines()
    assert lines == ["Rollbacks take five minutes.", "    It is retired; restore it to find it again."]


def test_why_not_names_the_filter_that_would_let_a_fact_in(store: Path) -> None:
    said = why_not(store, "Rollbacks are said to be rare.", "--min-confidence", "inferred")
    assert "would come in with the confidence filter at unverified instead of inferred" in said


def test_a_batch_answers_what_it_can_and_names_the_rest(store: Path) -> None:
    said = run("recall", "ops", "--query", "rollbacks", "--query", "\udcff", "--preview", "--data-dir", store)
    assert said.code == 0
    assert "Rollbacks take five minutes." in said.out
    assert "    failed: " in said.out


# Figures of a store ---------------------------------------------------------------------------------------------------


def test_the_status_of_a_store_names_the_model_that_answers_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = ScriptedEmbedder(model="old")
    with Memory.open(tmp_path, background=False, clock=FrozenClock(), embedder=old) as memory:
        memory.remember("ops", "The quay is closed.")
        memory.embed_pending("ops")
    said = run("status", "--data-dir", tmp_path).out
    assert "until every text is embedded" not in said
    assert "consolidations" not in said
    monkeypatch.setattr("gm_engine.embedding.providers.find_embedder", lambda name, *_: old if name == "old" else None)
    said = run("status", "--data-dir", tmp_path).out
    assert f"vectors ({MiniLM.model}): 0 texts embedded, 1 pending" in said
    assert "until every text is embedded, old answers" in said


def test_the_demo_without_waiting_has_its_vectors_to_come(tmp_path: Path) -> None:
    vectors = run("demo", "--no-wait", "--json", "--data-dir", tmp_path / "demo").json["vectors"]
    assert vectors["embedded"] == 0
    assert vectors["pending"] > 100


def test_entities_are_found_by_a_part_of_their_name_best_first(store: Path) -> None:
    run("kg", "add", "Orbit Labs", "--type", "organization", "--data-dir", store)
    run("kg", "add", "Lisbon", "--type", "place", "--data-dir", store)
    assert [found["label"] for found in run("kg", "list", "--text", "orb", "--json", "--data-dir", store).json] == [
        "Orbit Labs"
    ]


def test_a_purge_says_how_many_checkpoints_went_and_what_it_could_not_reach(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        memory.checkpoints.save("ops", state={"note": "Rollbacks take five minutes. Call them."})
    said = run("purge", "Rollbacks take five minutes.", "--checkpoints", "--yes", "--data-dir", store).out
    assert "removed 1 checkpoints that held it" in said
    assert "incomplete" not in said
    with Memory.open(store, background=False) as memory:
        broken = Path(memory.backup().path)
    broken.write_bytes(broken.read_bytes()[:-200])
    said = run("purge", "Rollbacks are said to be rare.", "--yes", "--data-dir", store).out
    assert "incomplete: " in said
    assert broken.name in said


def test_a_checkpoint_of_messages_alone_names_nothing_else(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        saved = memory.checkpoints.save("ops", state={}, messages=(Message("user", "Go on."),))
    shown = run("checkpoint", "show", saved.id, "--json", "--data-dir", store).json
    assert sorted(shown) == ["agent_id", "created_at", "id", "messages"]


def refused(answer: Answer) -> tuple[int, str]:
    return answer.code, answer.error["message"]


def test_serving_on_standard_output_has_no_token_to_leave_out(store: Path) -> None:
    answer = run("mcp", "serve", "--no-token", "--json", "--data-dir", store)
    assert refused(answer) == (2, "--no-token belongs to --http.")
    assert json.loads(answer.err)["error"]["code"] == "invalid_input"


def test_a_batch_of_which_nothing_can_be_asked_is_an_error(store: Path) -> None:
    answer = run("recall", "ops", "--query", "\udcff", "--query", "\udcfe", "--preview", "--json", "--data-dir", store)
    assert (answer.code, answer.out, answer.error["code"]) == (2, "", "invalid_input")


def test_a_backup_that_cannot_be_read_stands_in_the_list_with_its_problem(store: Path) -> None:
    with Memory.open(store, background=False) as memory:
        broken = Path(memory.backup().path)
    broken.write_bytes(b"no archive")
    said = run("backup", "--list", "--data-dir", store).out
    assert said.startswith(str(broken))
    assert "is no backup that can be read" in said
