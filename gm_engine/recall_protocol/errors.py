"""What can go wrong between a core and an adapter: codes of the wire, and failures of a call or a frame."""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

from gm_engine.errors import Cancelled, GrayMatterError


class ErrorCode(IntEnum):
    """The numbers on the wire: JSON-RPC's own, then Recall's block -32000 to -32007. None is ever renumbered."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    SOURCE_UNAVAILABLE = -32000
    SOURCE_DENIED = -32001
    LOCATOR_UNKNOWN = -32002
    LOCATOR_EXPIRED = -32003
    SOURCE_NOT_CONFIGURED = -32004
    AS_OF_UNSUPPORTED = -32005
    BUDGET_EXCEEDED = -32006
    DEADLINE_EXCEEDED = -32007


_PLAIN = {
    ErrorCode.PARSE: "the frame is not JSON",
    ErrorCode.INVALID_REQUEST: "the frame is no request",
    ErrorCode.METHOD_NOT_FOUND: "no such method",
    ErrorCode.INVALID_PARAMS: "the parameters break the contract",
    ErrorCode.INTERNAL: "something failed inside the adapter",
    ErrorCode.SOURCE_UNAVAILABLE: "the source cannot be reached",
    ErrorCode.SOURCE_DENIED: "permission was refused",
    ErrorCode.LOCATOR_UNKNOWN: "the locator cannot be read",
    ErrorCode.LOCATOR_EXPIRED: "what the locator named has changed",
    ErrorCode.SOURCE_NOT_CONFIGURED: "the locator's source is not configured here",
    ErrorCode.AS_OF_UNSUPPORTED: "the source cannot answer for that moment",
    ErrorCode.BUDGET_EXCEEDED: "it cannot be done within the budget",
    ErrorCode.DEADLINE_EXCEEDED: "time ran out, or the request was abandoned",
}


class RecallError(GrayMatterError):
    """Base of every expected failure of the Recall protocol."""

    code: ClassVar[str] = "recall_failed"


class ProtocolError(RecallError):
    """An error that goes over the wire. Two are equal when their `number` is: the code is the contract, words are not.

    `number` is usually an `ErrorCode`; `data` is any JSON value. `source_denied` carries neither words nor data of its
    own, so that a refusal tells nothing about what is there.
    """

    code = "recall_refused"

    def __init__(self, number: int, message: str = "", *, data: object = None) -> None:
        known = number in _PLAIN
        self.number = ErrorCode(number) if known else number
        if number == ErrorCode.SOURCE_DENIED:
            message, data = "", None
        plain = _PLAIN[ErrorCode(number)] if known else f"error {number}"
        super().__init__(message or plain, number=number, name=error_name(number))
        self.data = data

    @property
    def name(self) -> str:
        """The code in words, such as `locator_expired`; `error -32050` for a number the contract does not know."""
        return error_name(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProtocolError) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


class FrameError(RecallError):
    """A line that is no message, and was skipped: the stream goes on. Only the line's size is kept, never the line.

    `size_bytes` counts the newline; the message says what was wrong without quoting anything.
    """

    code = "recall_frame"

    def __init__(self, why: str, *, size_bytes: int) -> None:
        super().__init__(f"A line of {size_bytes} bytes is no message: {why}.", size_bytes=size_bytes)
        self.size_bytes = size_bytes


class FrameTooLarge(FrameError):
    """A line, read or to be written, that is longer than the frame limit."""

    code = "recall_frame_too_large"


class SchemaViolation(RecallError):
    """A payload breaks its schema. The message and `locations` say where and which rule, never with which value."""

    code = "recall_schema"

    def __init__(self, what: str, *, locations: tuple[str, ...]) -> None:
        super().__init__(f"{what} breaks the contract: {'; '.join(locations)}.", locations=locations)
        self.locations = locations


class VersionMismatch(RecallError):
    """The two ends have no protocol version in common, or the adapter names one that was not asked for."""

    code = "recall_version"


class CallTimeout(RecallError):
    """A request that was not answered by its deadline, or was cancelled by the caller. It is never an empty success.

    `cause` is `deadline` or `cancelled`. `acknowledged` tells whether the peer answered within the grace that followed:
    then it is alive and may be used again; otherwise it is wedged.
    """

    code = "recall_timeout"

    def __init__(self, method: str, *, request_id: str, cause: str, acknowledged: bool) -> None:
        ended = "was cancelled" if cause == "cancelled" else "missed its deadline"
        peer = "and the adapter stopped" if acknowledged else "and the adapter did not react"
        super().__init__(f"The request {method} {ended}, {peer}.", method=method, request_id=request_id, cause=cause)
        self.method, self.request_id, self.cause, self.acknowledged = method, request_id, cause, acknowledged


class ClientClosed(RecallError):
    """The stream to the adapter is gone: it ended, broke, or was closed."""

    code = "recall_closed"


class AdapterFailed(RecallError):
    """An adapter could not be started, failed its handshake, or ended too often in a short time.

    `fields["reason"]` is `not_started`, `handshake`, `restarts` or `closed`.
    """

    code = "recall_adapter_failed"


def error_name(number: int) -> str:
    """The code in words: `locator_expired` for -32003."""
    return ErrorCode(number).name.lower() if number in _PLAIN else f"error {number}"


def as_protocol_error(error: BaseException) -> ProtocolError:
    """Any failure of a handler as it goes over the wire.

    A `ProtocolError` stays what it is; a timeout or a cancellation becomes `deadline_exceeded`, a version mismatch
    `invalid_params`. Everything else is `internal`, without its words: they may hold content or paths.
    """
    match error:
        case ProtocolError():
            return error
        case CallTimeout() | Cancelled() | TimeoutError():
            return ProtocolError(ErrorCode.DEADLINE_EXCEEDED)
        case VersionMismatch():
            return ProtocolError(ErrorCode.INVALID_PARAMS, error.message)
        case SchemaViolation():
            return ProtocolError(ErrorCode.INTERNAL, error.message)
        case _:
            return ProtocolError(ErrorCode.INTERNAL)
