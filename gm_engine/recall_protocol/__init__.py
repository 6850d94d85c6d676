"""The Recall adapter protocol, both halves: our store as a source, other sources for us.

Import from here: `from gm_engine.recall_protocol import Client, serve`. Names are loaded when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gm_engine.recall_protocol.client import CANCEL_GRACE_S, Client
    from gm_engine.recall_protocol.diagnostics import Diagnostics, DiagnosticsReport
    from gm_engine.recall_protocol.errors import (
        AdapterFailed,
        CallTimeout,
        ClientClosed,
        ErrorCode,
        FrameError,
        FrameTooLarge,
        ProtocolError,
        RecallError,
        SchemaViolation,
        VersionMismatch,
        as_protocol_error,
    )
    from gm_engine.recall_protocol.frames import MAX_FRAME_BYTES, Decoder, Encoder
    from gm_engine.recall_protocol.handler import Handler, RequestContext
    from gm_engine.recall_protocol.keeper import SourceStatus
    from gm_engine.recall_protocol.messages import Answer, Failure, Message, Notification, RawId, Request
    from gm_engine.recall_protocol.payloads import (
        Candidate,
        ExecutableRequirement,
        ExpandParams,
        ExpandResult,
        Health,
        HealthParams,
        InitializeParams,
        Manifest,
        RefreshParams,
        SearchFilters,
        SearchParams,
        SearchResult,
    )
    from gm_engine.recall_protocol.process import AdapterSpec, Patience
    from gm_engine.recall_protocol.schemas import SchemaSet
    from gm_engine.recall_protocol.server import serve, standard_streams
    from gm_engine.recall_protocol.supervisor import Supervisor
    from gm_engine.recall_protocol.versions import MAX_VERSION, MIN_VERSION, check_negotiated, negotiate_version

_ROOM = "gm_engine.recall_protocol"
_NAMES = {
    "client": ("CANCEL_GRACE_S", "Client"),
    "diagnostics": ("Diagnostics", "DiagnosticsReport"),
    "errors": (
        "AdapterFailed",
        "CallTimeout",
        "ClientClosed",
        "ErrorCode",
        "FrameError",
        "FrameTooLarge",
        "ProtocolError",
        "RecallError",
        "SchemaViolation",
        "VersionMismatch",
        "as_protocol_error",
    ),
    "frames": ("MAX_FRAME_BYTES", "Decoder", "Encoder"),
    "handler": ("Handler", "RequestContext"),
    "keeper": ("SourceStatus",),
    "messages": ("Answer", "Failure", "Message", "Notification", "RawId", "Request"),
    "payloads": (
        "Candidate",
        "ExecutableRequirement",
        "ExpandParams",
        "ExpandResult",
        "Health",
        "HealthParams",
        "InitializeParams",
        "Manifest",
        "RefreshParams",
        "SearchFilters",
        "SearchParams",
        "SearchResult",
    ),
    "process": ("AdapterSpec", "Patience"),
    "schemas": ("SchemaSet",),
    "server": ("serve", "standard_streams"),
    "supervisor": ("Supervisor",),
    "versions": ("MAX_VERSION", "MIN_VERSION", "check_negotiated", "negotiate_version"),
}
_HOMES = {name: f"{_ROOM}.{home}" for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """The names of this room, each loaded with its module."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(name)


__all__ = [
    "CANCEL_GRACE_S",
    "MAX_FRAME_BYTES",
    "MAX_VERSION",
    "MIN_VERSION",
    "AdapterFailed",
    "AdapterSpec",
    "Answer",
    "CallTimeout",
    "Candidate",
    "Client",
    "ClientClosed",
    "Decoder",
    "Diagnostics",
    "DiagnosticsReport",
    "Encoder",
    "ErrorCode",
    "ExecutableRequirement",
    "ExpandParams",
    "ExpandResult",
    "Failure",
    "FrameError",
    "FrameTooLarge",
    "Handler",
    "Health",
    "HealthParams",
    "InitializeParams",
    "Manifest",
    "Message",
    "Notification",
    "Patience",
    "ProtocolError",
    "RawId",
    "RecallError",
    "RefreshParams",
    "Request",
    "RequestContext",
    "SchemaSet",
    "SchemaViolation",
    "SearchFilters",
    "SearchParams",
    "SearchResult",
    "SourceStatus",
    "Supervisor",
    "VersionMismatch",
    "as_protocol_error",
    "check_negotiated",
    "negotiate_version",
    "serve",
    "standard_streams",
]
