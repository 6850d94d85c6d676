"""A new index folder, built by a child process while this one goes on answering."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import filelock

from gm_engine import child
from gm_engine.store.vectors import Model
from gm_engine.vectors.index import IndexUnavailable
from gm_engine.vectors.places import folder_of, lock_of, report_of

_KILL_TIMEOUT_S = 10.0
_TAIL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class BuildTarget:
    """What is built: the model's vectors up to `through`, into the folder of `generation`. `token` is like no other."""

    model: Model
    generation: int
    token: str
    through: int
    ef_search: int


class BulkBuild:
    """One running build. The folder counts for nothing until the ledger's pointer names it; `stop` it once."""

    def __init__(self, data_dir: Path, target: BuildTarget) -> None:
        """Starts the child process. Raises `OSError` when that fails, or when the folder cannot be made."""
        self.target = target
        self._report = report_of(data_dir, target.generation)
        # made here: whoever comes next takes another generation, even if the child process outlives this one
        folder_of(data_dir, target.generation).mkdir(parents=True, exist_ok=True)
        self._lock = filelock.FileLock(
            lock_of(data_dir, target.generation, target.token), timeout=0, thread_local=False
        )
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._lock.acquire()
            self._process = self._started(data_dir)
        except (filelock.Timeout, NotImplementedError) as error:
            raise OSError(f"the folder of a new vector index cannot be locked: {error}") from error
        except BaseException:
            self.stop()
            raise

    def _started(self, data_dir: Path) -> subprocess.Popen[bytes]:
        target = self.target
        command = child.command(
            child.BUILD,
            str(data_dir.absolute()),
            str(target.generation),
            target.token,
            target.model.name,
            str(target.through),
            str(target.ef_search),
        )
        with self._report.open("wb") as report:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command,
                env=child.environment(),
                stdin=subprocess.DEVNULL,
                stdout=report,
                stderr=subprocess.DEVNULL,
            )

    def wait(self, timeout_s: float) -> bool:
        """Whether the child process has ended, after waiting for that at most `timeout_s`."""
        if self._process is None:
            return True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, timeout_s))
        return self._process.poll() is not None

    def done(self) -> int:
        """How many vectors are in the folder so far."""
        done = self._last().get("done", 0)
        return done if isinstance(done, int) else 0

    def built(self) -> int:
        """How many vectors the finished folder holds. Raises `IndexUnavailable` when the build failed."""
        last = self._last()
        built = last.get("built")
        if self._process is None or self._process.poll() != 0 or not isinstance(built, int):
            code = None if self._process is None else self._process.poll()
            raise IndexUnavailable(f"the vector index was not built: {last.get('failed', f'exit code {code}')}")
        return built

    def stop(self) -> None:
        """Ends the child process if it runs, and removes what lies beside the folder. Safe to call twice."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait(_KILL_TIMEOUT_S)
            self._process = None
        self._lock.release(force=True)
        for path in (self._report, Path(self._lock.lock_file)):
            with suppress(OSError):  # a leftover is removed with the next generation
                path.unlink(missing_ok=True)

    def _last(self) -> dict[str, object]:
        """The last whole line that the child process wrote."""
        try:
            with self._report.open("rb") as report:
                size = report.seek(0, 2)
                report.seek(max(0, size - _TAIL_BYTES))
                lines = report.read().split(b"\n")
        except OSError:
            return {}
        for line in reversed(lines[:-1]):
            with suppress(ValueError):
                said = json.loads(line)
                if isinstance(said, dict):
                    return said
        return {}
