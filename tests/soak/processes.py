"""Four processes write and recall on one store for a minute; then all of them must answer alike.

    python -m tests.soak.processes [SECONDS [PROCESSES]]

Prints a table; exit code 1 when a fact is lost, a process met an error, or two answers differ.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from subprocess import Popen
from threading import Thread

from tests.soak.checks import Acknowledged, differences, lost, start

SECONDS, PROCESSES = 60.0, 4


def main(arguments: list[str]) -> int:
    """Runs the soak and prints what it found."""
    seconds = float(arguments[0]) if arguments else SECONDS
    processes = int(arguments[1]) if len(arguments) > 1 else PROCESSES
    with tempfile.TemporaryDirectory(prefix="graymatter-soak-") as folder:
        return soak(Path(folder), seconds, processes)


def soak(folder: Path, seconds: float, processes: int) -> int:
    """0 when everything holds."""
    store, errors = folder / "store", folder / "errors.txt"
    seed = random.randrange(1 << 30)
    workers = [start(store, "mixed", seed + number, errors=errors) for number in range(processes)]
    heard = [_Listener(worker) for worker in workers]
    until = time.monotonic() + seconds
    while time.monotonic() < until and all(worker.poll() is None for worker in workers):
        time.sleep(0.2)
    for listener in heard:
        listener.tell()
    stopped = [listener.until("stopped") for listener in heard]
    for listener in heard:
        listener.tell()
    finished = [listener.until("answer") for listener in heard]
    ended = [listener.close() for listener in heard]
    said = Acknowledged()
    for listener in heard:
        said.hear(listener.lines)
    missing, unlike = lost(store, said), differences(store)
    replies = {json.dumps(json.loads(line.split(" ", 1)[1])) if line else "none" for line in finished}
    complaints = errors.read_text(errors="replace").strip()
    print(f"seed {seed}, {seconds:g} s", file=sys.stderr)
    print("| process | steps | busy, tried again | exit code |\n|---|---:|---:|---:|")
    for number, (line, code) in enumerate(zip(stopped, ended, strict=True), 1):
        steps, busy = line.split()[1:] if line else ("–", "–")
        print(f"| {number} | {steps} | {busy} | {code} |")
    print(
        f"\nacknowledged {len(said.retired):,}, lost {len(missing)}, different answers {len(replies)},"
        f" unlike the reference {len(unlike)}, complaints {'yes' if complaints else 'none'}"
    )
    for text in (*missing, *unlike, complaints):
        if text:
            print(text, file=sys.stderr)
    good = not (missing or unlike or complaints or any(ended)) and len(replies) == 1
    return 0 if good and all(finished) else 1


class _Listener:
    """Reads what a worker says without letting its pipe fill up."""

    def __init__(self, worker: Popen[str]) -> None:
        self._worker = worker
        self.lines: list[str] = []
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._worker.stdout is not None
        for line in self._worker.stdout:
            self.lines.append(line)

    def tell(self) -> None:
        """Lets the worker go on to its next stage."""
        assert self._worker.stdin is not None
        if self._worker.poll() is None:
            self._worker.stdin.write("go\n")
            self._worker.stdin.flush()

    def close(self) -> int:
        """Waits for the worker's end; its exit code."""
        code = self._worker.wait()
        self._thread.join()
        for pipe in (self._worker.stdin, self._worker.stdout):
            if pipe is not None:
                pipe.close()
        return code

    def until(self, word: str, *, patience_s: float = 300.0) -> str:
        """The first line that begins with `word`; empty when the worker ended without it."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            running = self._worker.poll() is None
            if not running:
                self._thread.join(5)
            found = next((line for line in list(self.lines) if line.startswith(word + " ")), "")
            if found or not running:
                return found
            time.sleep(0.05)
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
