"""Another program's client against our server: the MCP Inspector lists and calls every tool, over stdio and HTTP.

    python3 packaging/dev.py interop

Needs npm. The Inspector and the Node that it needs are installed under `out/interop`. Prints a table; exit code 1 when
a call fails, a tool is missing, or the Inspector has an objection to a schema.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "out" / "interop"
PACKAGES = ("node@22", "@modelcontextprotocol/inspector@2.12.0")  # in this order: the second needs the first
SERVE = [sys.executable, "-c", "import sys; from gm_engine.cli.main import main; sys.exit(main())"]
SERVER = "graymatter"
PATIENCE_S = 120
CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("memory_add", {"agent_id": "ops", "text": "The gate opens at nine.", "confidence": "verified"}),
    ("memory_alias", {"agent_id": "ops", "term": "gate", "equivalents": ["door"]}),
    ("memory_search", {"agent_id": "ops", "query": "when does the gate open", "explain": True, "top_k": 3}),
    ("memory_search_batch", {"agent_id": "ops", "queries": ["gate", "door"]}),
    ("memory_reflect", {"action": "pin", "agent_id": "ops", "target": "The gate opens at nine."}),
    ("checkpoint_save", {"agent_id": "ops", "state": '"{\\"step\\": 3}"'}),  # or the Inspector would send an object
    ("checkpoint_resume", {"agent_id": "ops"}),
)


def environment() -> dict[str, str]:
    """Our Node before any other, and no Inspector configuration of this user."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(SCRATCH)}
    env["PATH"] = f"{SCRATCH / 'node_modules' / '.bin'}{os.pathsep}{env.get('PATH', '')}"
    return env


def install() -> None:
    """Installs the packages that are not there yet."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed.")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        stamp = SCRATCH / f"{package.replace('/', '_')}.installed"
        if stamp.exists():
            continue
        print(f"installing {package} …", file=sys.stderr, flush=True)
        command = [npm, "install", "--prefix", str(SCRATCH), "--no-audit", "--no-fund", "--loglevel=error", package]
        subprocess.run(command, env=environment(), stdout=sys.stderr, check=True)
        stamp.touch()


def inspect(config: Path, *arguments: str) -> tuple[Any, str]:
    """What the Inspector prints for one method; where that is nothing or it objects, None and what it says."""
    program = SCRATCH / "node_modules" / ".bin" / "mcp-inspector"
    command = [str(program), "--cli", "--config", str(config), "--server", SERVER, *arguments]
    done = subprocess.run(
        command, env=environment(), cwd=SCRATCH, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode == 0:
        return json.loads(done.stdout), ""
    return None, f"exit code {done.returncode}: {done.stdout} {done.stderr}"


def spelled(arguments: dict[str, object]) -> list[str]:
    """Arguments as the Inspector wants them: `name=value`, with JSON for what is no string."""
    pairs = [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in arguments.items()]
    return [part for pair in pairs for part in ("--tool-arg", pair)]


@contextmanager
def serving(transport: str, store: Path) -> Iterator[dict[str, object]]:
    """How the Inspector reaches a server over this transport."""
    if transport == "stdio":
        yield {"type": "stdio", "command": SERVE[0], "args": [*SERVE[1:], "--data-dir", str(store), "mcp", "serve"]}
        return
    command = [*SERVE, "--data-dir", str(store), "mcp", "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        try:
            line = (server.stderr or sys.stdin).readline()
            token = (store / "mcp-token").read_text(encoding="ascii").strip()
            headers = {"Authorization": f"Bearer {token}"}
            yield {"type": "streamable-http", "url": line.split()[-1], "headers": headers}
        finally:
            server.terminate()


def rows(transport: str, folder: Path) -> Iterator[tuple[str, bool, str]]:
    """One row per method and tool: what, whether it worked, and what it said."""
    with serving(transport, folder / transport) as entry:
        config = folder / f"{transport}.json"
        config.write_text(json.dumps({"mcpServers": {SERVER: entry}}), encoding="utf-8")
        listed, complaint = inspect(config, "--method", "tools/list", "--strict")
        names = sorted(tool["name"] for tool in (listed or {}).get("tools", ()))
        yield "tools/list", names == sorted(name for name, _ in CALLS), complaint or ", ".join(names)
        for name, arguments in CALLS:
            answer, complaint = inspect(config, "--method", "tools/call", "--tool-name", name, *spelled(arguments))
            content = (answer or {}).get("structuredContent")
            is_good = content is not None and not (answer or {}).get("isError")
            yield name, is_good, json.dumps(content, ensure_ascii=False) if is_good else complaint or json.dumps(answer)


def main() -> int:
    """Runs everything and prints the table."""
    install()
    failed = 0
    print("| transport | call | works | answer |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="graymatter-interop-") as folder:
        for transport in ("stdio", "http"):
            for what, is_good, said in rows(transport, Path(folder)):
                failed += not is_good
                short = " ".join(said.split()).replace("|", "\\|")
                print(f"| {transport} | {what} | {'yes' if is_good else 'NO'} | {short[:110]} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
