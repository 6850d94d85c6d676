"""Who reads the responses when several calls wait: the turn goes from one to the next, and no frame is lost with it."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from time import monotonic, sleep

import pytest

from gm_engine.clock import SystemClock
from gm_engine.recall_protocol import (
    Answer,
    CallTimeout,
    Client,
    ClientClosed,
    Decoder,
    Notification,
    Request,
    SearchFilters,
    SearchParams,
    inbox,
)
from gm_engine.recall_protocol.messages import cancelled_id, encode_message

LONG_S = 30.0  # far above what anything takes, so that a busy machine fails no test
SHORT_S = 0.2
ROUNDS = 20


class Peer:
    """A client and the other end of its pipes, which reads and writes when it is told to."""

    def __init__(self, *, grace_s: float = 0.05) -> None:
        (theirs, ours_out), (ours_in, out) = os.pipe(), os.pipe()
        self._out = os.fdopen(out, "wb", buffering=0)
        self._in = os.fdopen(theirs, "rb")
        self._requests = Decoder(self._in)
        self._pool = ThreadPoolExecutor(8)
        self.client = Client(os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb"), cancel_grace_s=grace_s)

    def close(self) -> None:
        self.client.close()
        self.end()
        until(lambda: self._requests.read() is None)
        self._in.close()
        self._pool.shutdown()

    def asked(self, query: str, timeout_s: float = LONG_S) -> tuple[Future[object], bytes]:
        """A search that waits for its answer, and the line of that answer."""
        call = self._pool.submit(self.ask, query, timeout_s)
        request = self._requests.read()
        assert isinstance(request, Request)
        return call, answer_of(request)

    def ask(self, query: str, timeout_s: float = LONG_S) -> object:
        """What a search is answered: its own query."""
        deadline_ns = SystemClock().now_ns() + int(timeout_s * 1e9)
        result = self.client.search(SearchParams(query, SearchFilters(), 1, deadline_ns))
        return result.diagnostics and result.diagnostics["query"]

    def write(self, data: bytes) -> None:
        self._out.write(data)

    def end(self) -> None:
        self._out.close()

    def heard_cancel_of(self) -> str | None:
        cancel = self._requests.read()
        assert isinstance(cancel, Notification)
        return cancelled_id(cancel)

    def has_counted(self, violations: int) -> bool:
        """Whether the client counted so many violations."""
        return self.client.diagnostics.report().violations == violations

    def answer_all(self) -> None:
        """Answers every request at once until the client is closed."""
        while (message := self._requests.read()) is not None:
            if isinstance(message, Request):
                self.write(answer_of(message))


def answer_of(request: Request) -> bytes:
    assert isinstance(request.params, dict)
    found = {"candidates": [], "outcome": "success", "diagnostics": {"query": request.params["query"]}}
    return encode_message(Answer(request.id, found))


def until(happened: Callable[[], bool]) -> None:
    """Waits for a condition, and fails when it does not come."""
    ends_at = monotonic() + LONG_S
    while not happened():
        assert monotonic() < ends_at
        sleep(0.01)


@pytest.fixture(params=["calls read", "a thread reads"])
def peers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Peer]]:
    """Makes peers that were asked once, so that the next call reads for itself; and where no pipe can be polled."""
    if request.param == "a thread reads":
        monkeypatch.delattr(select, "poll", raising=False)
    made: list[Peer] = []

    def make(**more: float) -> Peer:
        made.append(Peer(**more))
        call, answer = made[-1].asked("before")
        made[-1].write(answer)
        assert call.result(LONG_S) == "before"
        return made[-1]

    yield make
    for peer in made:
        peer.close()


@pytest.fixture
def peer(peers: Callable[..., Peer]) -> Peer:
    return peers()


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0)])
def test_whoever_is_answered_first_leaves_the_others_their_answers(peer: Peer, order: tuple[int, ...]) -> None:
    for _ in range(ROUNDS):
        queries = ["first", "second", "third"]
        waiting = [peer.asked(query) for query in queries]
        for done, place in enumerate(order, start=1):
            call, answer = waiting[place]
            peer.write(answer)
            assert call.result(LONG_S) == queries[place]
            assert [waiting[other][0].done() for other in order] == [True] * done + [False] * (3 - done)
    assert peer.has_counted(0)


def test_a_call_whose_deadline_passes_in_the_middle_of_anothers_frame_leaves_it_whole(peer: Peer) -> None:
    late, its_answer = peer.asked("late", SHORT_S)
    other, answer = peer.asked("other")
    peer.write(answer[:20])
    error = late.exception(LONG_S)
    assert isinstance(error, CallTimeout)
    assert (error.cause, error.acknowledged) == ("deadline", False)
    assert peer.heard_cancel_of() == error.request_id
    assert not other.done()
    peer.write(answer[20:] + its_answer)
    assert other.result(LONG_S) == "other"
    until(lambda: peer.has_counted(1))  # the late answer is nobody's


def test_half_a_frame_holds_nobody_and_its_end_is_a_sign_of_life(peers: Callable[..., Peer]) -> None:
    peer = peers(grace_s=LONG_S)
    late, answer = peer.asked("late", SHORT_S)
    peer.write(answer[:20])
    peer.heard_cancel_of()
    peer.write(answer[20:])
    error = late.exception(LONG_S)
    assert isinstance(error, CallTimeout)
    assert error.acknowledged


def test_noise_without_end_holds_nobody_beyond_the_deadline(peer: Peer) -> None:
    late, _ = peer.asked("late", SHORT_S)
    while not late.done():
        peer.write(b"noise\n" * 100)
    assert isinstance(late.exception(), CallTimeout)


def test_what_the_peer_says_unasked_is_noticed_while_nobody_calls(peer: Peer) -> None:
    for number in range(1, 4):
        peer.write(b"noise\n")
        until(partial(peer.has_counted, number))
    call, answer = peer.asked("after")
    peer.write(answer)
    assert call.result(LONG_S) == "after"


def test_the_peers_end_is_noticed_while_nobody_calls(peer: Peer) -> None:
    peer.end()
    until(lambda: peer.client.is_closed)
    with pytest.raises(ClientClosed):
        peer.ask("after")


def test_a_last_answer_needs_no_newline(peer: Peer) -> None:
    call, answer = peer.asked("last")
    peer.write(answer.rstrip())
    peer.end()
    assert call.result(LONG_S) == "last"


@pytest.mark.parametrize("ends", [Peer.end, lambda peer: peer.client.close()], ids=["the peer ends", "it is closed"])
def test_the_end_wakes_who_reads_and_who_waits(peer: Peer, ends: Callable[[Peer], None]) -> None:
    calls = [peer.asked(query)[0] for query in ("first", "second", "third")]
    ends(peer)
    assert [type(call.exception(LONG_S / 2)) for call in calls] == [ClientClosed] * 3


def test_the_thread_ends_with_the_stream_that_a_call_read_to_its_end(
    peers: Callable[..., Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_LOOK_EVERY_S", 4 * LONG_S)  # whoever only looks now and then comes too late
    before = set(threading.enumerate())
    peer = peers()
    (thread,) = (each for each in set(threading.enumerate()) - before if each.name == "recall-client-read")
    call, _ = peer.asked("last")
    peer.end()
    assert isinstance(call.exception(LONG_S), ClientClosed)
    thread.join(LONG_S)
    assert not thread.is_alive()


def test_callers_that_come_and_go_never_leave_the_stream_unread(peer: Peer) -> None:
    def calls(caller: int) -> int:
        answered = 0
        for number in range(60):
            query, is_hasty = f"{caller}.{number}", (caller + number) % 3 == 0
            try:
                assert peer.ask(query, 0.0005 if is_hasty else LONG_S) == query
                answered += 1
            except CallTimeout:
                assert is_hasty
        return answered

    with ThreadPoolExecutor(7) as pool:
        answering = pool.submit(peer.answer_all)
        assert all(answered >= 40 for answered in pool.map(calls, range(6)))
        peer.client.close()
        answering.result(LONG_S)
