"""One adapter as a child process: started, greeted, and ended, whatever it does."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore, Thread
from time import monotonic_ns
from typing import IO

from gm_engine.clock import Clock
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol.client import CANCEL_GRACE_S, Client
from gm_engine.recall_protocol.diagnostics import Diagnostics
from gm_engine.recall_protocol.errors import AdapterFailed, RecallError
from gm_engine.recall_protocol.payloads import InitializeParams, Json, Manifest
from gm_engine.recall_protocol.versions import MAX_VERSION, MIN_VERSION

_BUFFER_BYTES = 1 << 16
_KEPT_VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"}
    | {"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"}
)


@dataclass(frozen=True, slots=True)
class AdapterSpec:
    """What is needed to start one configured source.

    `source_uid` was made when the source was configured and never changes. `command` is the program and its arguments;
    it comes from the user's own configuration. `environment` is added to the few variables that every adapter gets.
    """

    source_uid: str
    source_id: str
    command: tuple[str, ...]
    workdir: Path
    location: str = ""
    base_dir: str = ""
    settings: Json | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the core waits for an adapter, in seconds, and how often it starts one again."""

    handshake_s: float = 10.0
    cancel_grace_s: float = CANCEL_GRACE_S
    shutdown_s: float = 1.0
    terminate_s: float = 1.0
    kill_s: float = 2.0
    max_starts: int = 4
    starts_within_s: float = 60.0


class AdapterProcess:
    """A running adapter that has answered the handshake. `start` makes one; `stop` or `kill` it in the end."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        client: Client,
        *,
        manifest: Manifest,
        cold_start_ns: int,
        patience: Patience,
    ) -> None:
        self._process = process
        self._patience = patience
        self.client = client
        self.manifest = manifest
        self.cold_start_ns = cold_start_ns
        self._places = BoundedSemaphore(manifest.max_concurrency) if manifest.max_concurrency else None

    @classmethod
    def start(
        cls, spec: AdapterSpec, *, diagnostics: Diagnostics, clock: Clock, patience: Patience, cancel: CancelToken
    ) -> AdapterProcess:
        """Starts the program and greets it.

        Raises `AdapterFailed` when it cannot be started, does not answer in time, refuses, or speaks another version;
        then nothing of it is left running. What it says on stderr goes to `diagnostics`.
        """
        began_ns = monotonic_ns()
        process = _spawned(spec)
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("all three streams are pipes")
        Thread(target=_capture, args=(process.stderr, diagnostics), name="recall-stderr", daemon=True).start()
        client = Client(
            process.stdout,
            process.stdin,
            diagnostics=diagnostics,
            cancel_grace_s=patience.cancel_grace_s,
            clock=clock,
        )
        try:
            manifest = client.initialize(_greeting(spec), timeout_s=patience.handshake_s, cancel=cancel)
        except (RecallError, TypeError, ValueError) as error:
            _kill(process, client, patience)
            why = error.message if isinstance(error, RecallError) else "The settings are no JSON."
            raise AdapterFailed(f"The handshake with {spec.source_id} failed: {why}", reason="handshake") from error
        cold_start_ns = monotonic_ns() - began_ns
        return cls(process, client, manifest=manifest, cold_start_ns=cold_start_ns, patience=patience)

    @property
    def is_alive(self) -> bool:
        """Whether the program runs and its stream is open."""
        return not self.client.is_closed and self._process.poll() is None

    def take_place(self, timeout_s: float) -> bool:
        """Waits for a place among the requests that the adapter handles at once; whether there is one now."""
        return self._places is None or self._places.acquire(timeout=timeout_s)

    def leave_place(self) -> None:
        """Gives a place back."""
        if self._places is not None:
            self._places.release()

    def stop(self) -> None:
        """Asks for a clean end, closes stdin and waits a bounded time; who stays is killed. Returns when it ended."""
        with suppress(RecallError):  # it is asked, not relied on: what follows needs no consent
            self.client.shutdown(timeout_s=self._patience.shutdown_s)
        self.client.close()
        if not _waited(self._process, self._patience.shutdown_s):
            self.kill()
        _signal_group(self._process, kill=True)  # whoever it started and left behind

    def kill(self) -> None:
        """SIGTERM to its process group, SIGKILL when that is not enough. Returns when it ended."""
        _kill(self._process, self.client, self._patience)


def _spawned(spec: AdapterSpec) -> subprocess.Popen[bytes]:
    try:
        spec.workdir.mkdir(parents=True, exist_ok=True, mode=0o700)
        return subprocess.Popen(  # noqa: S603 - the user configured this command to be run
            spec.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=_BUFFER_BYTES,
            cwd=spec.workdir,
            env=_environment(spec.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "the command cannot be used"
        raise AdapterFailed(
            f"The adapter of {spec.source_id} cannot be started: {why}.", reason="not_started"
        ) from error


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """The few variables that programs need to run at all; keys and tokens of this program are not among them."""
    kept = {name: value for name, value in os.environ.items() if name.upper() in _KEPT_VARIABLES or name[:3] == "LC_"}
    return {**kept, **added}


def _greeting(spec: AdapterSpec) -> InitializeParams:
    return InitializeParams(
        protocol_version_min=MIN_VERSION,
        protocol_version_max=MAX_VERSION,
        workdir=str(spec.workdir),
        source_id=spec.source_id,
        location=spec.location,
        base_dir=spec.base_dir,
        settings=spec.settings,
    )


def _capture(stream: IO[bytes], diagnostics: Diagnostics) -> None:
    with stream:
        diagnostics.capture(partial(os.read, stream.fileno()))


def _kill(process: subprocess.Popen[bytes], client: Client, patience: Patience) -> None:
    client.close()
    _signal_group(process, kill=False)
    _waited(process, patience.terminate_s)
    _signal_group(process, kill=True)
    _waited(process, patience.kill_s)


def _waited(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether the process ended in time."""
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signal_group(process: subprocess.Popen[bytes], *, kill: bool) -> None:
    """Asks the process and all that it started to end, or ends them."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # nobody is left
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
    elif kill:
        process.kill()
    else:
        process.terminate()
