"""The responses that a client waits for, read from the stream and given to the calls they belong to.

Whoever waits reads: waking a thread costs more than a small answer does. One call at a time has the turn; it delivers
what it reads for the others, and leaves the turn to one of them when it ends. While nobody waits a thread of the inbox
has it, so that the end of the stream and stray frames are noticed.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import IO

from gm_engine.recall_protocol.diagnostics import Diagnostics
from gm_engine.recall_protocol.errors import ClientClosed, FrameError, RecallError
from gm_engine.recall_protocol.frames import Assembler
from gm_engine.recall_protocol.messages import Answer, Failure, Message, RawId

_LOOK_EVERY_S = 0.05  # whoever reads: at whether it was closed; the thread: at whether anybody reads
_CHUNK_BYTES = 64 * 2**10


class Waiter:
    """One call that waits for its response. `has_turn` while it is the one that reads."""

    __slots__ = ("_woken", "has_turn", "identity", "is_over", "response")

    def __init__(self, identity: RawId) -> None:
        self.identity = identity
        self.response: Answer | Failure | None = None
        self.is_over = False
        self.has_turn = False
        self._woken: SimpleQueue[None] = SimpleQueue()

    def deliver(self, response: Answer | Failure | None) -> None:
        """Ends the waiting; None when there will be no response."""
        self.response = response
        self.is_over = True
        self._woken.put(None)

    def give_turn(self) -> None:
        """From now on this call reads."""
        self.has_turn = True
        self._woken.put(None)

    def sleep(self, timeout_s: float) -> None:
        """Until the waiting is over, the call has the turn, or the time has passed."""
        with suppress(Empty):
            self._woken.get(timeout=timeout_s)


class Inbox:
    """Who waits for what from one stream. Safe from any thread; it lives until the stream ends."""

    def __init__(
        self, reader: IO[bytes], diagnostics: Diagnostics, *, max_frame_bytes: int, when_over: Callable[[], object]
    ) -> None:
        """Owns `reader`, a pipe. `when_over` is called when the inbox is closed, whoever does it, and maybe twice."""
        self._reader = reader
        self._diagnostics = diagnostics
        self._assembler = Assembler(max_frame_bytes=max_frame_bytes)
        self._is_readable = _readable_check(reader)
        self._when_over = when_over
        self._lock = Lock()
        self._waiting: dict[RawId, Waiter] = {}
        self._is_taken = True  # somebody has the turn: at first the thread
        self._is_read_out = False
        self._is_shut = Event()  # since the thread last looked
        self._closed = ""
        Thread(target=self._read_for_nobody, name="recall-client-read", daemon=True).start()

    @property
    def is_closed(self) -> bool:
        """Whether no response can come any more."""
        return bool(self._closed)

    def check_open(self) -> None:
        """Raises `ClientClosed` when no response can come any more."""
        if self._closed:
            raise ClientClosed(f"The connection to the adapter is gone: {self._closed}.", reason=self._closed)

    def enter(self, identity: RawId) -> Waiter:
        """A call that is about to send its request. It must `leave`. Raises `ClientClosed`."""
        waiter = Waiter(identity)
        with self._lock:
            self.check_open()
            self._waiting[identity] = waiter
            if not self._is_taken:
                self._is_taken = waiter.has_turn = True
        return waiter

    def wait(self, waiter: Waiter, timeout_s: float) -> bool:
        """Whether the waiting was over in time, with a response or without. For the thread of the call."""
        ends_at = monotonic() + timeout_s
        while not waiter.is_over:
            left_s = max(0.0, ends_at - monotonic())
            if waiter.has_turn:
                self._read(min(left_s, _LOOK_EVERY_S))
            else:
                waiter.sleep(left_s)
            if not left_s:
                break
        return waiter.is_over

    def leave(self, waiter: Waiter) -> None:
        """The call is over, whatever became of it; what still comes for it is nobody's."""
        with self._lock:
            self._waiting.pop(waiter.identity, None)
            if waiter.has_turn:
                self._pass_turn()

    def close(self, why: str) -> None:
        """Wakes every waiter for good, the one that reads within `_LOOK_EVERY_S`. The first reason stays."""
        with self._lock:
            self._closed = self._closed or why
            waiters = list(self._waiting.values())
            self._waiting.clear()
        for waiter in waiters:
            waiter.deliver(None)
        self._is_shut.set()
        self._when_over()

    def _pass_turn(self) -> None:
        """Gives the turn to the call that has waited longest; without one it is free. With the lock held."""
        heir = next(iter(self._waiting.values()), None)
        if heir is not None:
            heir.give_turn()
        self._is_taken = heir is not None

    def _read_for_nobody(self) -> None:
        """The thread: has the turn until a call came and got its response, and again once it finds it free."""
        with self._reader:
            while not self._is_read_out:
                if self._read(None) and self._is_readable is not None:
                    self._stand_back()

    def _stand_back(self) -> None:
        with self._lock:
            self._pass_turn()
        while not self._is_read_out:
            self._is_shut.wait(_LOOK_EVERY_S)
            self._is_shut.clear()  # a call that still has the turn is waited for, not spun on
            with self._lock:
                if not self._is_taken:
                    self._is_taken = True
                    return

    def _read(self, timeout_s: float | None) -> bool:
        """Reads once, when anything comes in time; whether a call got its response. For whoever has the turn."""
        try:
            if self._is_readable is not None and not self._is_readable(timeout_s):
                return False
            data = os.read(self._reader.fileno(), _CHUNK_BYTES)
        except (OSError, ValueError):
            self._end("it broke")
            return False
        if data:
            self._assembler.feed(data)
            return self._deliver_all()
        self._assembler.finish()
        self._deliver_all()
        self._end("the adapter ended it")
        return False

    def _end(self, why: str) -> None:
        self._is_read_out = True
        self.close(why)

    def _deliver_all(self) -> bool:
        """Delivers all that was read; whether anything was for a call."""
        has_delivered = False
        while True:
            try:
                message = self._assembler.message()
            except FrameError as error:
                self._diagnostics.record_violation(error)
            else:
                if message is None:
                    return has_delivered
                has_delivered |= self._deliver(message)

    def _deliver(self, message: Message) -> bool:
        if not isinstance(message, Answer | Failure):
            self._diagnostics.record_violation(RecallError("The adapter sent a request or a notification of its own."))
            return False
        with self._lock:
            waiter = self._waiting.pop(message.id, None)
        if waiter is None:
            self._diagnostics.record_violation(RecallError("The adapter answered a request that nobody waits for."))
            return False
        waiter.deliver(message)
        return True


def _readable_check(reader: IO[bytes]) -> Callable[[float | None], bool] | None:
    """Waits until a pipe can be read without blocking. None where nobody can tell: then the thread alone reads."""
    try:
        descriptor = reader.fileno()
        poll = select.poll()
    except (OSError, ValueError, AttributeError):
        return None
    poll.register(descriptor, select.POLLIN)
    return lambda timeout_s: bool(poll.poll(None if timeout_s is None else timeout_s * 1000))
