"""The adapter as a core of another make meets it: a child process, JSON lines, every method and every refusal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.raw_core import RawCore
from tests.fakes.command_line import command, environment
from tests.fakes.store_story import build_story

STORY = Path(__file__).resolve().parent.parent / "fixtures" / "recall" / "conformance" / "expand" / "fixture"
CONTRACT_FACT, ROUTER = "01KJW170B0000000000000000M", "01KJW171A8000000000000000P"
OLD_CONTRACT = "01KJSET4ER000000000000000A"
NEVER = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("outside") / "store"
    build_story(STORY / "story.json", data_dir)
    return data_dir


def adapter() -> RawCore:
    return RawCore(command("recall-adapter"), env=environment({"GRAYMATTER_EMBEDDING_MODE": "keyword-only"}))


@pytest.fixture(scope="module")
def core(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawCore]:
    with adapter() as found:
        found.initialize(store, tmp_path_factory.mktemp("work"))
        yield found


def locators(result: dict[str, Any]) -> list[str]:
    return [candidate["locator"] for candidate in result["candidates"]]


def files(folder: Path) -> dict[str, bytes]:
    kept = {path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".sqlite-wal", ".sqlite-shm")}
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in kept if not path.name.endswith(("-wal", "-shm"))
    }


def test_ranks_count_from_one_and_every_hit_names_its_record(core: RawCore) -> None:
    result = core.search("rollback")
    assert result["outcome"] == "success"
    assert [each["local_rank"] for each in result["candidates"]] == [*range(1, len(result["candidates"]) + 1)]
    assert {each["record_type"] for each in result["candidates"]} == {"fact", "checkpoint"}
    for each in result["candidates"]:
        assert each["locator"] == f"mem:{each['candidate_id']}"
        assert 0 <= each["relevance"] <= 1
        assert not {"source_uid", "source_id"} & set(each)


def test_relevance_is_coverage_times_concentration(core: RawCore) -> None:
    (hit,) = core.search("rollbacks minutes zeppelins", filters={"record_types": ["fact"], "project": "ops"}, limit=1)[
        "candidates"
    ]
    assert hit["title"] == "Rollbacks take five minutes."
    density = 2 / 4  # two of its four terms
    assert hit["relevance"] == pytest.approx(2 / 3 * density / (density + 0.02))


def test_a_fact_is_found_by_its_id_first(core: RawCore) -> None:
    first = core.search(ROUTER)["candidates"][0]
    assert first["locator"] == f"mem:fact/{ROUTER}"
    assert first["match_signals"] == ["exact_identifier"]


def test_all_four_details_grow_and_the_budget_is_bytes(core: RawCore) -> None:
    sizes = []
    for detail in ("summary", "excerpt", "full", "context"):
        found = core.result("recall/expand", locator=f"mem:fact/{CONTRACT_FACT}", detail=detail, budget_bytes=100_000)
        assert found["truncated"] is False
        sizes.append(len(found["content"]))
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    cut = core.result("recall/expand", locator=f"mem:fact/{CONTRACT_FACT}", detail="full", budget_bytes=7)
    assert (cut["content"], cut["truncated"], cut["truncation_boundary"]) == ("The Oka", True, "character")


@pytest.mark.parametrize(
    ("locator", "code"),
    [
        (f"mem:fact/{OLD_CONTRACT}", -32003),
        (f"mem:fact/{NEVER}", -32003),
        (f"mem:checkpoint/ops/{NEVER}", -32003),
        ("mem:entity/atlantis", -32003),
        ("mem:fact/", -32002),
        ("mem:", -32002),
        ("mem:fact/a/b", -32002),
        ("mem:fact/%2e", -32002),
        ("other:fact/x", -32004),
        ("nothing", -32004),
    ],
)
def test_a_locator_that_leads_nowhere_says_why(core: RawCore, locator: str, code: int) -> None:
    error = core.error("recall/expand", locator=locator, detail="full", budget_bytes=1000)
    assert error["code"] == code
    replacement = {"replacement": f"mem:fact/{CONTRACT_FACT}"} if locator.endswith(OLD_CONTRACT) else None
    assert error.get("data") == replacement


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("recall/unknown", {}, -32601),
        ("recall/initialize", {"protocol_version_min": 1}, -32600),
        ("recall/search", {"query": "x"}, -32602),
        ("recall/search", {"query": "x", "filters": {"colour": "red"}, "limit": 1}, -32602),
        ("recall/search", {"query": "x", "filters": {}, "limit": -1}, -32602),
        ("recall/search", {"query": "x", "filters": {"since": "yesterday"}, "limit": 1}, -32602),
        ("recall/search", {"query": "x", "filters": {}, "limit": 1, "deadline": "0001-01-01T00:00:00Z"}, -32602),
        ("recall/search", {"query": "x", "filters": {}, "limit": 1, "deadline": "2000-01-01T00:00:00Z"}, -32007),
        ("recall/search", {"query": "x", "filters": {}, "limit": 1, "as_of": "2000-01-01T00:00:00Z"}, -32005),
        ("recall/expand", {"locator": f"mem:fact/{ROUTER}", "detail": "full", "budget_bytes": 0}, -32006),
        ("recall/expand", {"locator": f"mem:fact/{ROUTER}", "detail": "huge", "budget_bytes": 9}, -32602),
        ("recall/refresh", {"full": "yes"}, -32602),
    ],
)
def test_every_refusal_has_its_code(core: RawCore, method: str, params: dict[str, Any], code: int) -> None:
    error = core.error(method, **params)
    assert error["code"] == code
    assert error["message"]


def test_health_and_refresh_agree_and_name_no_path(core: RawCore, store: Path) -> None:
    health, refreshed = core.result("recall/health"), core.result("recall/refresh", full=True)
    assert (health["status"], health["coverage"], health["record_count"]) == ("healthy", "complete", 10)
    assert refreshed["source_watermark"] == health["source_watermark"]
    assert len(health["diagnostics"]["store_identity"]) == 64
    assert str(store) not in json.dumps(health)


def test_ids_come_back_as_they_were_written(core: RawCore) -> None:
    for raw in ("7", "7.0", '"7"', "9223372036854775808", '"\\u00e9"'):
        core.write(
            b'{"jsonrpc":"2.0","id":%s,"method":"recall/health","params":{"deadline":"2099-01-01T00:00:00Z"}}\n'
            % raw.encode()
        )
        line = core.read()
        assert line is not None
        assert json.dumps(line["id"]) == raw


def test_lines_that_are_no_message_are_passed_over(core: RawCore) -> None:
    core.write(b'\n{"half": \nnot json\n{"jsonrpc":"2.0","id":5}\n\xff\xfe\n[1,2]\n')
    assert core.search("router")["outcome"] == "success"


def test_many_searches_at_once_are_all_answered(core: RawCore) -> None:
    frame = {"query": "rollback", "filters": {}, "limit": 3, "deadline": "2099-01-01T00:00:00Z"}
    for number in range(64):
        line = {"jsonrpc": "2.0", "id": f"many {number}", "method": "recall/search", "params": frame}
        core.write(json.dumps(line).encode() + b"\n")
    answers = [core.read() for _ in range(64)]
    assert {answer["id"] for answer in answers if answer is not None} == {f"many {number}" for number in range(64)}
    assert len({json.dumps(answer["result"]) for answer in answers if answer is not None}) == 1


def test_a_store_is_left_as_it_was(store: Path, tmp_path: Path) -> None:
    before = files(store)
    workdir = tmp_path / "work"
    workdir.mkdir()
    with adapter() as own:
        own.initialize(store, workdir)
        own.search("rollback")
        own.search("rollback", as_of="2026-03-04T00:00:00Z")
        own.result("recall/health")
        assert own.ask("recall/shutdown", None)["result"] == {}
        assert own.read() is None
        assert own.process.wait(30) == 0
    assert files(store) == before
    assert [*workdir.iterdir()] == []


def test_stray_prints_never_reach_the_frames(store: Path, tmp_path: Path) -> None:
    noisy = """
import os, sys
from gm_engine.recall_protocol.adapter import StoreAdapter
quiet = StoreAdapter.search
def search(self, params, context):
    print("a library says something")
    os.write(1, b"and something below Python, too\\n")
    return quiet(self, params, context)
StoreAdapter.search = search
from gm_engine.cli.main import main
sys.exit(main(["recall-adapter"]))
"""
    with RawCore([sys.executable, "-c", noisy], env=environment({"GRAYMATTER_EMBEDDING_MODE": "keyword-only"})) as own:
        own.initialize(store, tmp_path)
        assert own.search("router")["outcome"] == "success"
        own.result("recall/health")
    assert {"a library says something\n", "and something below Python, too\n"} <= set(own.stderr)


def test_the_handshake_loads_nothing_heavy(store: Path, tmp_path: Path) -> None:
    asked = {"protocol_version_min": 1, "protocol_version_max": 1, "workdir": str(tmp_path), "source_id": "mem"}
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "recall/initialize", "params": asked})
    code = """
import atexit, sys
heavy = {"sqlalchemy", "numpy", "onnxruntime", "chromadb", "tokenizers", "regex", "alembic"}
atexit.register(lambda: sys.stderr.write(f"loaded: {sorted(heavy & set(sys.modules))}"))
from gm_engine.cli.main import main
sys.exit(main(["recall-adapter"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input=f"{frame}\n".encode(), env=environment(), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["result"]["adapter_id"] == "graymatter"
    assert done.stderr == b"loaded: []"


def test_the_end_of_input_ends_the_process(store: Path, tmp_path: Path) -> None:
    with adapter() as own:
        own.initialize(store, tmp_path)
        own.close_stdin()
        assert own.read() is None
        assert own.process.wait(30) == 0


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"colour": 1}, "colour"), ({"top_k_cap": 0}, "top_k_cap"), ({"agents": "ops"}, "agents")],
)
def test_a_wrong_setting_fails_the_handshake_by_name(
    store: Path, tmp_path: Path, settings: dict[str, Any], named: str
) -> None:
    with adapter() as own:
        error = own.error(
            "recall/initialize",
            protocol_version_min=1,
            protocol_version_max=1,
            workdir=str(tmp_path),
            source_id="mem",
            location=str(store),
            settings=settings,
        )
        assert error["code"] == -32602
        assert named in error["message"]


def test_whole_numbers_may_be_written_with_a_point(store: Path, tmp_path: Path) -> None:
    with adapter() as own:
        own.result(
            "recall/initialize",
            protocol_version_min=1.0,
            protocol_version_max=1.0,
            workdir=str(tmp_path),
            source_id="mem",
            location=str(store),
            settings={"top_k_cap": 1.0},
        )
        (found,) = locators(own.search("router", limit=2.0))  # type: ignore[arg-type]
        assert own.result("recall/expand", locator=found, detail="full", budget_bytes=5.0)["truncated"]


def test_a_relative_location_is_found_from_where_it_was_declared(store: Path, tmp_path: Path) -> None:
    with adapter() as own:
        own.result(
            "recall/initialize",
            protocol_version_min=1,
            protocol_version_max=4,
            workdir=str(tmp_path),
            source_id="mem",
            location=store.name,
            base_dir=str(store.parent),
        )
        assert locators(own.search("router")) == [f"mem:fact/{ROUTER}"]


def test_a_missing_store_is_never_an_empty_success(tmp_path: Path) -> None:
    with adapter() as own:
        own.initialize(tmp_path / "nothing here", tmp_path)
        assert own.error("recall/search", query="x", filters={}, limit=1)["code"] == -32000
        health = own.result("recall/health")
        assert (health["status"], health["coverage"]) == ("unavailable", "unknown")
        assert str(tmp_path) not in json.dumps(health)
