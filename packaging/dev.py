#!/usr/bin/env python3
"""One entry for everybody who works on this project: `python3 packaging/dev.py COMMAND`.

Commands: run, test, bench, shots, soak, conformance, interop, build, words. Needs nothing but Python 3.11 or newer. It
makes `.venv`, installs the project as pinned in `packaging/constraints.txt`, checks the system libraries that Qt needs,
and then runs what was asked. Exit code 0 means that everything passed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OUT = ROOT / "out"
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
STAMP = VENV / "graymatter-installed"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
QT_PACKAGES = ("libglib2.0-0", "libgl1", "libegl1", "libxkbcommon0", "libfontconfig1", "libdbus-1-3")
WINDOW_TEST_PACKAGES = (
    "xvfb",
    "xauth",
    "xdotool",
    "openbox",
    "libxcb-cursor0",
    "libxcb-icccm4",
    "libxcb-keysyms1",
    "libxcb-shape0",
    "libxkbcommon-x11-0",
)
BUILD_PACKAGES = ("desktop-file-utils", "appstream", "binutils")
SOAKS = {"processes": "processes", "kills": "kills", "agents": "agents", "all": "everything"}
LEAST_COVERED = 95  # percent of the lines and branches of engine and exporters, and of the branches alone
SUMMARY = re.compile(r"^=* ?((?:\d+ [a-z]+(?:, )?)+ in [\d.]+s.*?) ?=*$|^=* ?(no tests ran in [\d.]+s.*?) ?=*$")


class SetupFailed(Exception):
    """The environment cannot be made; the message says what to do."""


def say(text: str) -> None:
    """Prints one line of our own, apart from what the tools print."""
    print(f"\n── {text}", flush=True)


def call(command: Sequence[str | Path], *, env: dict[str, str] | None = None) -> int:
    """Runs a tool in the project's folder, without standard input, and returns its exit code."""
    parts = [str(part) for part in command]
    return subprocess.run(parts, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, check=False).returncode


def call_patiently(command: Sequence[str | Path], *, env: dict[str, str]) -> int:
    """Like `call`, for a tool that tidies up: Ctrl-C and `kill` are its to answer, and we wait until it has."""
    parts = [str(part) for part in command]
    with subprocess.Popen(parts, cwd=ROOT, env=env, stdin=subprocess.DEVNULL) as process:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard reaches the tool as well
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        return process.wait()


def environment(*, offscreen: bool) -> dict[str, str]:
    """The environment of the tools: the virtual environment first, no user site, Qt offscreen where asked."""
    env = dict(os.environ)
    env["PATH"] = f"{BIN}{os.pathsep}{env.get('PATH', '')}"
    env["VIRTUAL_ENV"] = str(VENV)
    env["PYTHONNOUSERSITE"] = "1"
    env["PYTHONUTF8"] = "1"
    for name in ("PYTHONHOME", "PYTHONPATH", "GRAYMATTER_DIR"):
        env.pop(name, None)
    if offscreen:
        env["QT_QPA_PLATFORM"] = "offscreen"
    return env


# System libraries -----------------------------------------------------------------------------------------------------


def missing_packages(wanted: Sequence[str]) -> list[str]:
    """Which of the Debian packages are not installed; nothing where there is no dpkg."""
    if shutil.which("dpkg-query") is None:
        return []
    query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Provides}\n"]
    answer = subprocess.run(query, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    installed: set[str] = set()
    for line in answer.stdout.splitlines():
        name, _, rest = line.partition(" ")
        status, _, provides = rest.partition(" ")
        if status == "installed":
            installed.add(name)
            installed.update(part.split("(")[0].strip() for part in provides.split(","))
    return [name for name in wanted if name not in installed]


def check_system_libraries(*more: str) -> None:
    """On Debian, installs what Qt needs, and `more`, when run as root, and prints the exact line otherwise."""
    if not sys.platform.startswith("linux"):
        return
    missing = missing_packages((*QT_PACKAGES, *more))
    if not missing:
        return
    line = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        say(f"Some system libraries are missing. Install them with:\n   sudo {' '.join(line)}")
        return
    say(f"installing system libraries: {' '.join(missing)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if call(line, env=env) != 0:
        call(["apt-get", "update"], env=env)
        if call(line, env=env) != 0:
            raise SetupFailed(f"The system libraries could not be installed. Try: {' '.join(line)}")


# Virtual environment --------------------------------------------------------------------------------------------------


def installation_key() -> str:
    """What the installation depends on; another key means that it has to be made again."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (ROOT / "pyproject.toml", CONSTRAINTS):
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def ensure_environment() -> None:
    """Makes `.venv` and installs the project into it, unless that was done for the same files before."""
    python = BIN / ("python.exe" if os.name == "nt" else "python")
    key = installation_key()
    if python.exists() and STAMP.exists() and STAMP.read_text(encoding="ascii") == key:
        return
    if not python.exists() or call([python, "-c", "import pip"]) != 0:
        say("making .venv")
        if call([sys.executable, "-m", "venv", "--clear", VENV]) != 0:
            raise SetupFailed("Python's venv module is missing. On Debian: sudo apt-get install python3-venv")
    say("installing the project and its pinned dependencies (a few minutes the first time)")
    command: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    if os.name != "nt" and os.geteuid() == 0:
        command.append("--root-user-action=ignore")
    if CONSTRAINTS.exists():
        command += ["-c", CONSTRAINTS]
    env = environment(offscreen=False)
    if call([*command, "-e", f"{ROOT}[test]"], env=env) != 0:
        raise SetupFailed("The dependencies could not be installed; see above.")
    STAMP.write_text(key, encoding="ascii")


def tool(name: str) -> Path:
    """The path of a program of the virtual environment."""
    return BIN / (f"{name}.exe" if os.name == "nt" else name)


# Commands -------------------------------------------------------------------------------------------------------------


def has_display() -> bool:
    """Whether a window can be shown here."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def make_demo_store() -> Path:
    """A fresh demo store under `out/`."""
    store = OUT / "demo-store"
    shutil.rmtree(store, ignore_errors=True)
    OUT.mkdir(exist_ok=True)
    if call([tool("graymatter"), "--data-dir", store, "demo"], env=environment(offscreen=True)) != 0:
        raise SetupFailed("The demo store could not be made; see above.")
    return store


def run(_: argparse.Namespace) -> int:
    """Starts the desktop on a demo store; without a display: screenshots and a published vault under `out/`."""
    check_system_libraries()
    ensure_environment()
    store = make_demo_store()
    if has_display():
        return call([tool("graymatter-desktop"), "--data-dir", store], env=environment(offscreen=False))
    say("no display here: screenshots and a published vault instead")
    code = shots_of(store)
    env = environment(offscreen=True)
    vault = OUT / "vault"
    vault.mkdir(exist_ok=True)
    code |= call([tool("graymatter"), "--data-dir", store, "export", "obsidian", "--vault", vault], env=env)
    code |= call([tool("graymatter"), "--data-dir", store, "status"], env=env)
    say(f"screenshots: {OUT / 'screenshots'}   vault: {vault}   store: {store}")
    return code


def shots_of(store: Path) -> int:
    """Renders every page of the desktop on `store`, in both themes, into `out/screenshots`."""
    command: list[str | Path] = [tool("graymatter-desktop"), "--data-dir", store, "--screenshots"]
    command.append(OUT / "screenshots")
    return call(command, env=environment(offscreen=True))


def shots(_: argparse.Namespace) -> int:
    """Screenshots of every page on a demo store."""
    check_system_libraries()
    ensure_environment()
    return shots_of(make_demo_store())


def run_pytest(extra: Sequence[str]) -> tuple[int, str]:
    """Runs pytest, passing its output on; its exit code and its closing line."""
    command = [str(tool("python")), "-m", "pytest", *extra]
    env = environment(offscreen=True)
    closing = ""
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            match = SUMMARY.match(line.strip())
            if match:
                closing = match[1] or match[2]
    return process.returncode, closing


def branch_coverage(package: str, *, env: dict[str, str]) -> float:
    """How many of a package's branches the last run took, in percent; coverage's own figure counts the lines, too."""
    command = [str(tool("coverage")), "json", "-q", "-o", "-", f"--include={package}/*"]
    done = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:  # nothing was measured
        return 0.0
    totals = json.loads(done.stdout)["totals"]
    return float(100 * totals["covered_branches"] / totals["num_branches"])


def test(arguments: argparse.Namespace) -> int:
    """Every check of the project; the last line is pytest's."""
    check_system_libraries(*WINDOW_TEST_PACKAGES)
    ensure_environment()
    env = environment(offscreen=True)
    failed = []
    checks: tuple[tuple[str, list[str | Path]], ...] = (
        ("ruff check", [tool("ruff"), "check", "."]),
        ("ruff format", [tool("ruff"), "format", "--check", "."]),
        ("mypy", [tool("mypy")]),
        ("import-linter", [tool("lint-imports"), "--no-cache"]),
    )
    for name, command in checks:
        say(name)
        if call(command, env=env) != 0:
            failed.append(name)
    say("pytest")
    call([tool("coverage"), "erase"], env=env)
    code, closing = run_pytest(["-n", "2", "--dist", "loadfile", "--cov", "--cov-report=", *arguments.rest])
    if code != 0:
        failed.append("pytest")
    say("coverage")
    if call([tool("coverage"), "report", "--skip-covered", "--skip-empty", "--sort=miss"], env=env) != 0:
        failed.append("coverage")
    for package in () if arguments.rest else ("gm_engine", "exporters"):  # some of the tests reach some of the code
        say(f"coverage of {package}, branches included, in percent")
        only = ["--format=total", "--precision=2", f"--include={package}/*", f"--fail-under={LEAST_COVERED}"]
        if call([tool("coverage"), "report", *only], env=env) != 0:
            failed.append(f"coverage of {package}")
        say(f"coverage of {package}, branches alone, in percent")
        branches = branch_coverage(package, env=env)
        print(f"{branches:.2f}", flush=True)
        if branches < LEAST_COVERED:
            failed.append(f"branches of {package}")
    say(f"failed: {', '.join(failed)}" if failed else "every check passed")
    print(f"{closing or 'no tests ran in 0.00s'}", flush=True)
    return 1 if failed else 0


def bench(arguments: argparse.Namespace) -> int:
    """The table of measured times, each with a baseline of the same run."""
    ensure_environment()
    script = ROOT / "tests" / "benchmarks" / "bench_main.py"
    command: list[str | Path] = [tool("python"), script, *arguments.rest]
    return call(command, env=environment(offscreen=True))


def soak(arguments: argparse.Namespace) -> int:
    """`soak all [MINUTES]`, `soak processes|agents [SECONDS]`, `soak kills [COUNT]`, or law tests for MINUTES (10)."""
    ensure_environment()
    if arguments.rest and arguments.rest[0] in SOAKS:
        command = [tool("python"), "-m", f"tests.soak.{SOAKS[arguments.rest[0]]}", *arguments.rest[1:]]
        return call_patiently(command, env=environment(offscreen=True))
    until = time.monotonic() + 60 * float(arguments.rest[0] if arguments.rest else 10)
    rounds = 0
    while time.monotonic() < until:
        code, closing = run_pytest(["tests/property", "tests/end2end", "--hypothesis-profile=soak"])
        rounds += 1
        say(f"round {rounds}: {closing}")
        if code != 0:
            return 1
    return 0


def conformance(arguments: argparse.Namespace) -> int:
    """`conformance record|verify [CASE …]`: transcripts of the Recall adapter, from and against the real process."""
    ensure_environment()
    command: list[str | Path] = [tool("python"), "-m", "tests.contract.conformance", *arguments.rest]
    return call(command, env=environment(offscreen=True))


def interop(_: argparse.Namespace) -> int:
    """Lists and calls every MCP tool with another program's client, the MCP Inspector; needs npm."""
    ensure_environment()
    return call([tool("python"), ROOT / "packaging" / "interop.py"], env=environment(offscreen=True))


def build(arguments: argparse.Namespace) -> int:
    """Wheel, sdist, frozen program, Debian package in `dist/`, each tried; or some of `wheel frozen deb chroot`."""
    more = ("debootstrap",) if "chroot" in arguments.rest else ()
    check_system_libraries(*WINDOW_TEST_PACKAGES, *BUILD_PACKAGES, *more)
    return call([sys.executable, ROOT / "packaging" / "build.py", *arguments.rest])


def words(_: argparse.Namespace) -> int:
    """Brings the catalogues of German and Spanish up to date; fails when a sentence lacks a translation."""
    return call([sys.executable, ROOT / "packaging" / "words.py"])


COMMANDS = {
    "run": run,
    "test": test,
    "bench": bench,
    "shots": shots,
    "soak": soak,
    "conformance": conformance,
    "interop": interop,
    "build": build,
    "words": words,
}


def main() -> int:
    """Parses the command line and runs the command."""
    parser = argparse.ArgumentParser(description="Run, test and measure GrayMatter Desktop.")
    parser.add_argument("command", choices=COMMANDS, help="; ".join(f"{k}: {v.__doc__}" for k, v in COMMANDS.items()))
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="passed on to pytest, or names of benchmarks")
    if sys.version_info < (3, 11):  # noqa: UP036 — an older interpreter must hear why
        print("GrayMatter Desktop needs Python 3.11 or newer.", file=sys.stderr)
        return 2
    arguments = parser.parse_args()
    try:
        return COMMANDS[arguments.command](arguments)
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
