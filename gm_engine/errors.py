"""Expected failures: one small hierarchy, each leaf with a stable code and named fields."""

from __future__ import annotations

from typing import ClassVar


class GrayMatterError(Exception):
    """Base of every expected failure.

    `code` is stable and meant for programs; the message is one English sentence that names what is wrong and where;
    `fields` holds the same facts by name.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields


class InvalidInput(GrayMatterError):
    """An argument breaks the contract; nothing was done."""

    code = "invalid_input"


class NotFound(GrayMatterError):
    """The named fact, checkpoint, agent or file does not exist."""

    code = "not_found"


class FactChanged(GrayMatterError):
    """A target is no longer what the caller saw; nothing was written. `fields["ids"]` names the targets."""

    code = "fact_changed"


class UndoConflict(GrayMatterError):
    """A later change stands on top of the one to undo; nothing was written. `fields["ids"]` names the targets."""

    code = "undo_conflict"


class BlockedValue(GrayMatterError):
    """The text was never to be stored again; nothing was written. `fields["keys"]` names the blocked values."""

    code = "blocked_value"


class AccessDenied(GrayMatterError):
    """A client may not do this here: a person said so. Nothing was done. `fields["client"]` names it."""

    code = "access_denied"


class ReviewRequired(GrayMatterError):
    """What this client writes waits for review first; nothing was written."""

    code = "review_required"


class ReadOnlyStore(GrayMatterError):
    """A write was asked of a store that is open for reading, or whose directory cannot be written."""

    code = "read_only"


class StoreBusy(GrayMatterError):
    """Another process holds the write lock for longer than the busy timeout; nothing was written."""

    code = "store_busy"


class StoreDamaged(GrayMatterError):
    """The ledger is not a database, or SQLite reports damage. It is left as it is."""

    code = "store_damaged"


class StoreTooNew(GrayMatterError):
    """The store was written by a newer program: update and restart. Nothing was touched."""

    code = "store_too_new"


class StoreUnavailable(GrayMatterError):
    """The data directory cannot be created or opened."""

    code = "store_unavailable"


class DiskFull(GrayMatterError):
    """The disk is full; the transaction was rolled back."""

    code = "disk_full"


class ImportRefused(GrayMatterError):
    """A file is no store that can be read (wrong format, truncated, damaged, looping); nothing was imported."""

    code = "import_refused"


class CheckpointDamaged(GrayMatterError):
    """The checkpoint exists, but its record cannot be read."""

    code = "checkpoint_damaged"


class BackupDamaged(GrayMatterError):
    """The file is no backup, or does not hold what its manifest says; nothing was restored."""

    code = "backup_damaged"


class EmbeddingFailed(GrayMatterError):
    """The embedding model could not be loaded or did not answer."""

    code = "embedding_failed"


class VectorIndexFailed(GrayMatterError):
    """The vector index cannot be used; answers are the same without it, from an exact scan. Only told to a hook."""

    code = "vector_index_failed"


class AsOfUnsupported(GrayMatterError):
    """The journal cannot answer for the asked moment."""

    code = "as_of_unsupported"


class Cancelled(GrayMatterError):
    """The person cancelled a long verb; what was committed before stays valid."""

    code = "cancelled"


class PublishRefused(GrayMatterError):
    """The vault or folder cannot be published to; nothing was written."""

    code = "publish_refused"


class WiringRefused(GrayMatterError):
    """A program's configuration cannot be changed safely; it was left as it is.

    `fields["reason"]` is `invalid`, `read_only`, `not_writable`, `link`, `changed`, `too_large`, `not_regular`,
    `unreadable`, `no_such_scope` or `unsafe`.
    """

    code = "wiring_refused"


class ProposalDecided(GrayMatterError):
    """The proposal was decided or withdrawn before; nothing was written."""

    code = "proposal_decided"


class LanguageModelFailed(GrayMatterError):
    """The language model could not be reached, refused, or answered with something unusable; nothing was written.

    `fields["reason"]` is `unreachable`, `timeout`, `unauthorised`, `rate_limited`, `server_error`, `refused`,
    `invalid_answer` or `not_configured`.
    """

    code = "language_model_failed"
