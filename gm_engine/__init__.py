"""The engine's public door: one store of what agents remember, searched with explanations, changed with undo.

Everything that is not listed in `__all__` is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from gm_engine.config import Config, EmbeddingMode
from gm_engine.errors import (
    AsOfUnsupported,
    BlockedValue,
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
    Block,
    BlockedAttempt,
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
    from gm_engine.lab import Quality, QueryOutcome, QuerySetReport
    from gm_engine.memory import Memory
    from gm_engine.ranking.agent_answer import (
        AgentAnswer,
        batch_answer,
        coverage_sentence,
        explain_answer,
        search_answer,
    )
    from gm_engine.ranking.batch import BatchResult, merged_facts
    from gm_engine.ranking.missing import Contribution, MissingReport
    from gm_engine.ranking.rank_table import RankTable, Standing
    from gm_engine.ranking.remedies import Remedy
    from gm_engine.search import RecallOptions
    from gm_engine.store.lab import JudgedQuery, QuerySet, RankingProfile

_HEAVY = {
    "Memory": "gm_engine.memory",
    "BatchResult": "gm_engine.ranking.batch",
    "merged_facts": "gm_engine.ranking.batch",
    "MissingReport": "gm_engine.ranking.missing",
    "RecallOptions": "gm_engine.search",
    "Contribution": "gm_engine.ranking.missing",
    "Remedy": "gm_engine.ranking.remedies",
    "RankTable": "gm_engine.ranking.rank_table",
    "Standing": "gm_engine.ranking.rank_table",
    "AgentAnswer": "gm_engine.ranking.agent_answer",
    "batch_answer": "gm_engine.ranking.agent_answer",
    "coverage_sentence": "gm_engine.ranking.agent_answer",
    "explain_answer": "gm_engine.ranking.agent_answer",
    "search_answer": "gm_engine.ranking.agent_answer",
    "Quality": "gm_engine.lab",
    "QueryOutcome": "gm_engine.lab",
    "QuerySetReport": "gm_engine.lab",
    "JudgedQuery": "gm_engine.store.lab",
    "QuerySet": "gm_engine.store.lab",
    "RankingProfile": "gm_engine.store.lab",
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
    "AgentAnswer",
    "AgentSummary",
    "AsOfUnsupported",
    "BatchResult",
    "Block",
    "BlockedAttempt",
    "BlockedValue",
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
    "Contribution",
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
    "JudgedQuery",
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
    "Quality",
    "QueryOutcome",
    "QuerySet",
    "QuerySetReport",
    "RankTable",
    "RankingProfile",
    "Ranks",
    "ReadOnlyStore",
    "RecallExplainResult",
    "RecallOptions",
    "RecallResult",
    "Receipt",
    "Remedy",
    "Retrieval",
    "SignalWeights",
    "Skipped",
    "SourceRef",
    "Standing",
    "StoreBusy",
    "StoreDamaged",
    "StoreSettings",
    "StoreStatus",
    "StoreTooNew",
    "StoreUnavailable",
    "UndoConflict",
    "VectorStatus",
    "__version__",
    "batch_answer",
    "coverage_sentence",
    "effective_confidence",
    "explain_answer",
    "merged_facts",
    "no_progress",
    "search_answer",
]
