"""Bad input through the command line: a clear error, or it simply works, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import ROOT, command, environment, run

pytestmark = pytest.mark.end2end
FIXTURES = ROOT / "tests" / "fixtures" / "graymatter"
AGENTS = [
    " a ",
    "a",
    "A",
    "../x",
    "con",
    "x" * 300,
    "__shared__",
    "-dash",
    "line\nbreak",
    "\u202ertl",
    "日本",
    "a/b\\c",
]
TEXTS = [
    "nul \0 inside",
    "right to left: שלום مرحبا \u202e!",
    "emoji 👩‍👩‍👧‍👦 🏳️‍🌈",
    "# Markdown *and* <b onclick='x'>HTML</b> <script>alert(1)</script>",
    "[[links]] ![[embeds]] #tags %%comments%% ^id key:: value",
    "---\ntitle: no frontmatter\n---\n",
    "```\nfence\n~~~",
    "\r\n\t leading and trailing \n",
    "word " * 200_000,
]


def remember(data_dir: Path, agent: str, text: str) -> str:
    answer = run("--data-dir", data_dir, "--json", "remember", "--", agent, "-", stdin=text.encode())
    assert answer.code == 0, answer.err
    fact_id: str = answer.json["id"]
    return fact_id


def test_every_agent_name_is_a_namespace_of_its_own(tmp_path: Path) -> None:
    for agent in AGENTS:
        remember(tmp_path / "s", agent, f"fact of {agent}")
    listed = run("--data-dir", tmp_path / "s", "--json", "agents").json
    assert sorted(agent["agent_id"] for agent in listed) == sorted(AGENTS)
    for agent in AGENTS:
        facts = run("--data-dir", tmp_path / "s", "--json", "list", "--", agent).json
        assert [fact["text"] for fact in facts] == [f"fact of {agent}"]
    vault = tmp_path / "vault"
    vault.mkdir()
    report = run("--data-dir", tmp_path / "s", "--json", "export", "obsidian", "--vault", vault)
    assert report.json["broken_links"] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "vault"]


def test_every_text_comes_back_as_it_was_from_the_store_and_from_the_vault(tmp_path: Path) -> None:
    wanted = {remember(tmp_path / "s", "a", text): text for text in TEXTS}
    listed = run("--data-dir", tmp_path / "s", "--json", "list", "a").json
    assert {fact["id"]: fact["text"] for fact in listed} == wanted
    vault = tmp_path / "vault"
    vault.mkdir()
    assert (
        run("--data-dir", tmp_path / "s", "--json", "export", "obsidian", "--vault", vault).json["broken_links"] == []
    )
    notes = [run("--json", "vault", "read", note).json for note in (vault / "Memory" / "Facts").rglob("*.md")]
    assert {note["id"]: note["text"] for note in notes} == wanted


def test_hostile_text_is_found_by_recall(tmp_path: Path) -> None:
    for text in TEXTS:
        remember(tmp_path / "s", "a", text)
    for query in ("markdown", "nul \0 inside", "[[links]]", "שלום", "frontmatter"):
        answer = run("--data-dir", tmp_path / "s", "recall", "a", query, "--json")
        assert answer.code == 0, answer.err
        assert answer.json["count"] == 8


@pytest.fixture
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the fixture store, damaged in the asked way."""
    path = tmp_path / "damaged.db"
    data = bytearray((FIXTURES / "gray.db").read_bytes())
    match request.param:
        case "no store":
            data = bytearray(b"just a text file\n" * 100)
        case "empty":
            data = bytearray()
        case "truncated":
            data = data[: len(data) // 3]
        case "checksums":
            data[60:68] = data[4096 + 60 : 4096 + 68] = b"\0" * 8
        case "no json":
            data = bytearray(b'[{"id": "x", ')
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("damaged", ["no store", "empty", "truncated", "checksums", "no json"], indirect=True)
def test_a_file_that_is_no_store_is_refused_before_anything_is_written(damaged: Path, tmp_path: Path) -> None:
    remember(tmp_path / "s", "a", "was here before")
    answer = run("--data-dir", tmp_path / "s", "--json", "import", damaged, "--no-wait")
    assert (answer.code, answer.error["code"]) == (1, "import_refused")
    assert [fact["text"] for fact in run("--data-dir", tmp_path / "s", "--json", "list", "--all").json] == [
        "was here before"
    ]


def test_a_data_directory_that_is_something_else_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "ledger.sqlite").write_bytes(b"this is no database " * 500)
    below = run("--data-dir", tmp_path / "file" / "store", "--json", "remember", "a", "b")
    assert (below.code, below.error["code"]) == (1, "store_unavailable")
    for arguments in (["list", "--all"], ["remember", "a", "b"], ["recall", "a", "b"], ["status"], ["doctor"]):
        answer = run("--data-dir", tmp_path / "noise", "--json", *arguments)
        assert (answer.code, answer.error["code"]) == (1, "store_damaged")
    assert (tmp_path / "noise" / "ledger.sqlite").read_bytes().startswith(b"this is no database")


_WITHOUT_PRIVILEGES = """
import ctypes, json, os, sys
from tests.fakes.command_line import run
store = sys.argv[1]
reading = [["list", "--all"], ["agents"], ["status"], ["recall", "ops", "rollback"], ["journal"], ["doctor"]]
writing = [["remember", "ops", "x"], ["forget", "ops", "Rollbacks take five minutes."], ["init"]]
warm = [run("--data-dir", sys.argv[2], *arguments).code for arguments in [*reading, *writing[:1]]]
if os.geteuid() == 0:  # the mode of a file holds for root, too, once it has no capability
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
answers = [run("--data-dir", store, "--json", *arguments) for arguments in reading + writing]
print(json.dumps([[a.code, a.err if a.code else ""] for a in answers]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits for directories")
@pytest.mark.skipif(sys.platform == "darwin" and os.geteuid() == 0, reason="here root writes whatever the mode says")
def test_a_directory_that_cannot_be_written_can_be_read_and_refuses_writes(tmp_path: Path) -> None:
    for data_dir in (tmp_path / "s", tmp_path / "warm"):
        remember(data_dir, "ops", "Rollbacks take five minutes.")
    (tmp_path / "s" / "ledger.sqlite").chmod(0o444)
    (tmp_path / "s").chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PRIVILEGES, str(tmp_path / "s"), str(tmp_path / "warm")],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    (tmp_path / "s").chmod(0o755)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [code for code, _ in answers] == [0, 0, 0, 0, 0, 0, 1, 1, 1], answers
    assert {json.loads(err)["error"]["code"] for _, err in answers[6:]} == {"read_only"}


def test_many_processes_write_to_one_store_and_nothing_is_lost(tmp_path: Path) -> None:
    data_dir = tmp_path / "s"
    run("--data-dir", data_dir, "init")
    texts = [f"fact number {number}" for number in range(6)]
    processes = [
        subprocess.Popen(
            command("--data-dir", data_dir, "remember", "a", text),
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for text in texts
    ]
    errors = [process.communicate()[1] for process in processes]
    assert errors == [b""] * len(texts)
    facts = run("--data-dir", data_dir, "--json", "list", "a").json
    assert sorted(fact["text"] for fact in facts) == sorted(texts)
    assert run("--data-dir", data_dir, "--json", "doctor").json["sound"] is True


_FULL_DISK = """
import resource, signal, sys
from gm_engine.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit the size of files")
def test_a_disk_that_is_full_is_an_error_and_leaves_the_store_sound(tmp_path: Path) -> None:
    data_dir = tmp_path / "s"
    remember(data_dir, "a", "was here before")
    limit = (data_dir / "ledger.sqlite").stat().st_size + 100_000
    arguments = [str(limit), "--data-dir", str(data_dir), "--json", "remember", "a", "-"]
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, *arguments],
        input=b"long " * 500_000,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stderr)["error"]["code"] in ("disk_full", "store_unavailable")
    assert [fact["text"] for fact in run("--data-dir", data_dir, "--json", "list", "a").json] == ["was here before"]
    assert run("--data-dir", data_dir, "--json", "doctor").json["sound"] is True
