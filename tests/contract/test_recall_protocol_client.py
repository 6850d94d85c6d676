"""The core's end against real adapters that misbehave, each in one way; no call outlives its deadline and grace."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest

from gm_engine.clock import SystemClock
from gm_engine.progress import CancelToken
from gm_engine.recall_protocol import (
    AdapterFailed,
    AdapterSpec,
    CallTimeout,
    ClientClosed,
    ErrorCode,
    HealthParams,
    Patience,
    ProtocolError,
    SchemaViolation,
    SearchFilters,
    SearchParams,
    SearchResult,
    Supervisor,
)
from tests.fakes.recall_peers import misbehaving, scripted

LONG_S = 30.0  # far above what anything takes, so that a busy machine fails no test
SHORT_S = 0.2
GRACE_S = 0.15
PATIENCE = Patience(
    handshake_s=LONG_S, cancel_grace_s=GRACE_S, shutdown_s=0.3, terminate_s=0.3, kill_s=LONG_S, max_starts=3
)
LONG_GRACE = replace(PATIENCE, cancel_grace_s=LONG_S)
UID = "01J0000000000000000000000"

Start = Callable[..., Supervisor]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Supervisor] = []

    def make(how: str = "nothing", *, command: tuple[str, ...] = (), patience: Patience = PATIENCE) -> Supervisor:
        spec = AdapterSpec(UID, "src", command or misbehaving(how), tmp_path / "work")
        started.append(Supervisor([spec], patience=patience))
        return started[-1]

    yield make
    for supervisor in started:
        supervisor.close()


def params(timeout_s: float = LONG_S, query: str = "q") -> SearchParams:
    return SearchParams(query, SearchFilters(), 5, SystemClock().now_ns() + int(timeout_s * 1e9))


def search(supervisor: Supervisor, timeout_s: float = LONG_S, cancel: CancelToken | None = None) -> SearchResult:
    return supervisor.search("src", params(timeout_s), cancel=cancel)


def warm(supervisor: Supervisor) -> None:
    supervisor.manifest("src", timeout_s=LONG_S)


def late(supervisor: Supervisor, timeout_s: float = SHORT_S, cancel: CancelToken | None = None) -> CallTimeout:
    """The timeout of a search that is not answered, which never lasts longer than promised."""
    began = monotonic()
    with pytest.raises(CallTimeout) as caught:
        search(supervisor, timeout_s, cancel)
    assert monotonic() - began < LONG_S / 2
    assert caught.value.method == "recall/search"
    return caught.value


def pid_of(supervisor: Supervisor) -> int:
    health = supervisor.health("src", HealthParams(params().deadline_ns))
    assert health.diagnostics is not None
    pid = health.diagnostics["pid"]
    assert isinstance(pid, int)
    return pid


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that ended and that nobody buried yet does not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").exists()
    return state != "Z"


def until(happened: Callable[[], bool]) -> None:
    """Waits for a condition, and fails when it does not come."""
    ends_at = monotonic() + LONG_S
    while not happened():
        assert monotonic() < ends_at
        sleep(0.01)


def test_a_source_speaks_under_its_own_name_only(start: Start) -> None:
    [candidate] = search(start()).candidates
    assert (candidate.locator, candidate.source_id, candidate.source_uid) == ("src:r1", "src", UID)
    assert candidate.derived_from == ("third:x",)


def test_an_adapter_that_never_answers_is_late_unacknowledged_and_replaced(start: Start) -> None:
    supervisor = start("never-answers")
    pid = pid_of(supervisor)
    error = late(supervisor)
    assert (error.cause, error.acknowledged, error.request_id) == ("deadline", False, "3")
    assert pid_of(supervisor) != pid
    assert not is_running(pid)
    assert supervisor.status("src").starts == 2


def test_an_adapter_that_stops_when_cancelled_is_used_again(start: Start) -> None:
    supervisor = start("stops-when-cancelled", patience=LONG_GRACE)
    pid = pid_of(supervisor)
    assert late(supervisor).acknowledged
    assert pid_of(supervisor) == pid


def test_an_answer_within_the_grace_is_a_sign_of_life_and_no_success(start: Start) -> None:
    supervisor = start("late-within-grace", patience=LONG_GRACE)
    warm(supervisor)
    error = late(supervisor, 0.1)
    assert error.acknowledged
    assert supervisor.status("src").is_running


def test_an_answer_after_the_grace_is_nobodys(start: Start) -> None:
    supervisor = start("late-after-grace")
    warm(supervisor)
    assert not late(supervisor, 0.1).acknowledged


def test_the_caller_can_give_up(start: Start) -> None:
    supervisor = start("never-answers")
    warm(supervisor)
    token = CancelToken()
    token.cancel()
    error = late(supervisor, LONG_S, token)
    assert (error.cause, error.acknowledged) == ("cancelled", False)


def test_an_adapter_that_ignores_sigterm_is_killed(start: Start) -> None:
    supervisor = start("ignores-sigterm")
    pid = pid_of(supervisor)
    late(supervisor)
    assert pid_of(supervisor) != pid
    assert not is_running(pid)


def test_an_adapter_that_stops_reading_holds_nobody(start: Start) -> None:
    supervisor = start("stops-reading")
    warm(supervisor)
    with ThreadPoolExecutor(4) as pool:
        large = SearchParams("x" * 2**20, SearchFilters(), 5, params(SHORT_S).deadline_ns)
        searches = [pool.submit(supervisor.search, "src", large) for _ in range(4)]
        errors = [each.exception(LONG_S) for each in searches]
    assert {type(error) for error in errors} <= {CallTimeout, ClientClosed}  # closed: another call found it wedged
    assert any(isinstance(error, CallTimeout) and not error.acknowledged for error in errors)


def test_a_hundred_megabytes_of_stderr_are_read_and_forgotten(start: Start) -> None:
    supervisor = start("floods-stderr")
    assert search(supervisor).outcome == "success"
    report = supervisor.status("src").diagnostics
    assert len(report.lines) <= 64
    assert max(map(len, report.lines)) <= 4096
    assert report.violations == 0


@pytest.mark.parametrize(
    ("how", "violations"),
    [
        ("long-line", 1),
        ("half-frame-first", 1),
        ("invalid-utf8", 1),
        ("unknown-id", 1),
        ("own-requests", 2),
        ("stray-prints", 50_000),
        ("old-rpc", 0),
    ],
)
def test_noise_before_the_answer_is_counted_and_the_answer_arrives(start: Start, how: str, violations: int) -> None:
    supervisor = start(how)
    assert search(supervisor).outcome == "success"
    assert search(supervisor).outcome == "success"
    report = supervisor.status("src").diagnostics
    assert report.violations == 2 * violations
    assert "loading" not in report.last_violation


def test_a_second_answer_to_one_request_is_nobodys(start: Start) -> None:
    supervisor = start("answers-twice")
    for _ in range(3):
        search(supervisor)
    pid_of(supervisor)  # an answer after all of them
    assert supervisor.status("src").diagnostics.violations == 3


@pytest.mark.parametrize("how", ["two-on-one-line", "result-and-error", "reformatted-id", "quoted-id"])
def test_an_answer_that_is_no_message_or_has_another_id_is_no_answer(start: Start, how: str) -> None:
    supervisor = start(how)
    token = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(search, supervisor, LONG_S, token)
        until(lambda: supervisor.status("src").diagnostics.violations == 1)
        assert not searching.done()
        token.cancel()
        error = searching.exception(LONG_S)
    assert isinstance(error, CallTimeout)
    assert error.cause == "cancelled"


def test_unknown_keys_break_the_contract(start: Start) -> None:
    supervisor = start("unknown-keys")
    with pytest.raises(SchemaViolation, match="surprise") as caught:
        search(supervisor)
    assert "secret" not in str(caught.value)
    assert supervisor.status("src").diagnostics.violations == 1
    assert supervisor.status("src").is_running


@pytest.mark.parametrize("how", ["exits", "half-frame-and-exit"])
def test_an_adapter_that_exits_mid_call_closes_every_call(start: Start, how: str) -> None:
    supervisor = start(how)
    warm(supervisor)
    with ThreadPoolExecutor(8) as pool:
        errors = [each.exception(LONG_S) for each in [pool.submit(search, supervisor) for _ in range(8)]]
    assert {type(error) for error in errors} <= {ClientClosed, AdapterFailed}
    assert any(isinstance(error, ClientClosed) for error in errors)
    assert "gone" in supervisor.status("src").last_error or "times" in supervisor.status("src").last_error


def test_an_adapter_is_started_again_only_so_often(start: Start) -> None:
    supervisor = start("exits")
    for _ in range(3):
        with pytest.raises(ClientClosed):
            search(supervisor)
    with pytest.raises(AdapterFailed) as caught:
        search(supervisor)
    assert caught.value.fields["reason"] == "restarts"
    supervisor.restart("src")
    with pytest.raises(ClientClosed):
        search(supervisor)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("other-version", "answered with 2"),
        ("unknown-manifest-keys", "unheard_of"),
        ("refuses-settings", "colour"),
        ("exits-at-once", "gone"),
    ],
)
def test_a_handshake_that_fails_says_why_and_leaves_nothing_running(start: Start, how: str, says: str) -> None:
    supervisor = start(how)
    with pytest.raises(AdapterFailed, match=says) as caught:
        search(supervisor)
    assert caught.value.fields["reason"] == "handshake"
    status = supervisor.status("src")
    assert (status.is_running, status.manifest) == (False, None)
    assert says in status.last_error


def test_what_a_dying_adapter_said_is_kept(start: Start) -> None:
    supervisor = start("exits-at-once")
    with pytest.raises(AdapterFailed):
        search(supervisor)
    supervisor.close()
    assert "cannot open the source" in supervisor.status("src").diagnostics.lines


def test_a_start_that_takes_too_long_is_late(start: Start) -> None:
    supervisor = start("never-greets", patience=Patience(handshake_s=0.3, terminate_s=0.3))
    assert late(supervisor, 0.05).cause == "deadline"
    with pytest.raises(AdapterFailed, match="initialize"):
        search(supervisor)


def test_settings_that_are_no_json_are_told(tmp_path: Path) -> None:
    spec = AdapterSpec(UID, "src", misbehaving("nothing"), tmp_path, settings={"colours": {1, 2}})
    supervisor = Supervisor([spec], patience=PATIENCE)
    with pytest.raises(AdapterFailed, match="no JSON"):
        search(supervisor)
    supervisor.close()


def test_a_deadline_may_be_centuries_away(start: Start) -> None:
    far = SearchParams("q", SearchFilters(), 5, 250_000_000_000 * 10**9)
    assert start().search("src", far).outcome == "success"


def test_a_command_that_does_not_exist_is_told(start: Start) -> None:
    with pytest.raises(AdapterFailed, match="cannot be started") as caught:
        search(start(command=("/nowhere/at/all",)))
    assert caught.value.fields["reason"] == "not_started"


def test_a_refusal_keeps_its_code(start: Start) -> None:
    with pytest.raises(ProtocolError) as caught:
        search(start("denied"))
    assert caught.value == ProtocolError(ErrorCode.SOURCE_DENIED)
    assert (caught.value.message, caught.value.data) == ("permission was refused", None)


def test_an_unknown_source_is_not_configured(start: Start) -> None:
    with pytest.raises(ProtocolError) as caught:
        start().search("other", params())
    assert caught.value.number == ErrorCode.SOURCE_NOT_CONFIGURED


def test_an_adapter_gets_no_more_at_once_than_it_wants(start: Start) -> None:
    supervisor = start("one-at-a-time")
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: search(supervisor), range(6)))
    assert [result.diagnostics for result in results] == [{"overlap": 1}] * 6


def test_an_adapter_is_told_nothing_of_this_programs_environment(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAYMATTER_SECRET", "hush")
    supervisor = start()
    health = supervisor.health("src", HealthParams(params().deadline_ns))
    assert health.diagnostics is not None
    assert "GRAYMATTER_SECRET" not in health.diagnostics["environment"]
    assert "PATH" in health.diagnostics["environment"]
    assert health.cold_start_ns is not None
    assert health.cold_start_ns > 0


@pytest.mark.parametrize("how", ["nothing", "stays", "ignores-sigterm"])
def test_closing_leaves_nothing_behind(start: Start, how: str) -> None:
    supervisor = start(how)
    pid = pid_of(supervisor)
    supervisor.close()
    assert not is_running(pid)
    with pytest.raises(AdapterFailed) as caught:
        search(supervisor)
    assert caught.value.fields["reason"] == "closed"


def test_sixty_four_searches_at_once_each_get_their_answer(start: Start) -> None:
    supervisor = start(command=scripted())
    warm(supervisor)
    with ThreadPoolExecutor(64) as pool:
        results = list(pool.map(lambda n: supervisor.search("src", params(query=f"query {n}")), range(64)))
    assert [result.diagnostics for result in results] == [{"query": f"query {n}"} for n in range(64)]


def test_our_own_adapter_acknowledges_a_cancel(start: Start) -> None:
    supervisor = start(command=scripted(), patience=LONG_GRACE)
    warm(supervisor)
    with pytest.raises(CallTimeout) as caught:
        supervisor.search("src", params(LONG_S, "wait 600"), cancel=_cancelled())
    assert (caught.value.cause, caught.value.acknowledged) == ("cancelled", True)


def _cancelled() -> CancelToken:
    token = CancelToken()
    token.cancel()
    return token


def test_a_killed_adapter_is_started_again(start: Start) -> None:
    supervisor = start()
    pid = pid_of(supervisor)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not supervisor.status("src").is_running)
    assert search(supervisor).outcome == "success"
    assert pid_of(supervisor) != pid
    assert supervisor.status("src").starts == 2


@pytest.mark.parametrize("how", ["leaves-a-child", "leaves-a-child-and-exits"])
def test_what_an_adapter_started_goes_with_it(start: Start, how: str) -> None:
    supervisor = start(how)
    health = supervisor.health("src", HealthParams(params().deadline_ns))
    assert health.diagnostics is not None
    if how.endswith("exits"):
        late(supervisor)  # its child keeps the stream open, so nobody hears that it is gone
    supervisor.close()
    child = health.diagnostics["child"]
    until(lambda: not is_running(child))
