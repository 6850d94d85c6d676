"""The engine's public door: one store of what agents remember, searched with explanations, changed with undo.

Everything that is not listed in `__all__` is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from gm_engine.config import Config, EmbeddingMode
from gm_engine.errors import (
    AsOfUnsupported,
    Cancelled,
    CheckpointDamaged,
    DiskFull,
    EmbeddingFailed,
    FactChanged,
    GrayMatterError,
    ImportRefused,
    InvalidInput,
    NotFound,
    PublishRefused,
    ReadOnlyStore,
    StoreBusy,
    StoreDamaged,
    StoreTooNew,
    StoreUnavailable,
    UndoConflict,
)
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.records import (
    BALANCED_WEIGHTS,
    CONFIDENCE_LABELS,
    SHARED_AGENT_ID,
    SUPERSEDED_BY_AGENT,
    AgentSummary,
    Change,
    Changes,
    Checkpoint,
    CheckpointSummary,
    Confidence,
    ConfidenceRanking,
    Counts,
    Coverage,
    Edge,
    Entity,
    Fact,
    FactQuery,
    ImportReport,
    JournalEntry,
    Lineage,
    MemoryStats,
    Message,
    Origin,
    Process,
    Ranks,
    RecallExplainResult,
    RecallResult,
    Receipt,
    Retrieval,
    SignalWeights,
    Skipped,
    SourceRef,
    StoreSettings,
    StoreStatus,
    VectorStatus,
    effective_confidence,
)
from gm_engine.version import __version__

if TYPE_CHECKING:
    from gm_engine.memory import Memory
    from gm_engine.ranking.batch import BatchResult, merged_facts
    from gm_engine.ranking.missing import MissingReport
    from gm_engine.search import RecallOptions

_HEAVY = {
    "Memory": "gm_engine.memory",
    "BatchResult": "gm_engine.ranking.batch",
    "merged_facts": "gm_engine.ranking.batch",
    "MissingReport": "gm_engine.ranking.missing",
    "RecallOptions": "gm_engine.search",
}


def __getattr__(name: str) -> object:
    """The names that load SQLAlchemy and numpy: only programs that open a store pay for them."""
    if name in _HEAVY:
        return getattr(import_module(_HEAVY[name]), name)
    raise AttributeError(name)


__all__ = [
    "BALANCED_WEIGHTS",
    "CONFIDENCE_LABELS",
    "SHARED_AGENT_ID",
    "SUPERSEDED_BY_AGENT",
    "AgentSummary",
    "AsOfUnsupported",
    "BatchResult",
    "CancelToken",
    "Cancelled",
    "Change",
    "Changes",
    "Checkpoint",
    "CheckpointDamaged",
    "CheckpointSummary",
    "Confidence",
    "ConfidenceRanking",
    "Config",
    "Counts",
    "Coverage",
    "DiskFull",
    "Edge",
    "EmbeddingFailed",
    "EmbeddingMode",
    "Entity",
    "Fact",
    "FactChanged",
    "FactQuery",
    "GrayMatterError",
    "ImportRefused",
    "ImportReport",
    "InvalidInput",
    "JournalEntry",
    "Lineage",
    "Memory",
    "MemoryStats",
    "Message",
    "MissingReport",
    "NotFound",
    "Origin",
    "Process",
    "Progress",
    "PublishRefused",
    "Ranks",
    "ReadOnlyStore",
    "RecallExplainResult",
    "RecallOptions",
    "RecallResult",
    "Receipt",
    "Retrieval",
    "SignalWeights",
    "Skipped",
    "SourceRef",
    "StoreBusy",
    "StoreDamaged",
    "StoreSettings",
    "StoreStatus",
    "StoreTooNew",
    "StoreUnavailable",
    "UndoConflict",
    "VectorStatus",
    "__version__",
    "effective_confidence",
    "merged_facts",
    "no_progress",
]
