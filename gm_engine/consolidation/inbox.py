"""The one inbox: what consolidation, the vault and clients under review propose, and what a person decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gm_engine.consolidation.apply import carry_out
from gm_engine.errors import BlockedValue, FactChanged, InvalidInput, NotFound, ProposalDecided
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.proposals import (
    PROPOSAL_STATES,
    InboxCount,
    InboxRefresh,
    NewProposal,
    Proposal,
    ProposalKind,
    ProposalSource,
    ProposalState,
)
from gm_engine.records import Origin
from gm_engine.store import proposals as rows
from gm_engine.store.database import Ledger
from gm_engine.store.settings import load_settings

_CHUNK = 200
_DECIDABLE: dict[ProposalState, tuple[ProposalState, ...]] = {
    "rejected": ("open", "later"),
    "never": ("open", "later", "rejected"),
    "later": ("open",),
    "open": ("later", "rejected", "never"),
}
_VERBS: dict[ProposalState, str] = {"rejected": "reject", "never": "never_again", "later": "later", "open": "reopen"}


@dataclass(frozen=True, slots=True)
class Left:
    """A proposal that a bulk decision could not carry out, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class BulkDecision:
    """What accepting many proposals did: those accepted, those left, and the journal entry to undo (None: nothing)."""

    accepted: tuple[Proposal, ...]
    left: tuple[Left, ...]
    seq: int | None


class Inbox:
    """The proposals of one open store. Every decision is journalled: undoing it reopens the proposal."""

    def __init__(self, ledger: Ledger, *, origin: Origin, wake: Callable[[], None]) -> None:
        self._ledger = ledger
        self._origin = origin
        self._wake = wake

    def list(
        self,
        state: ProposalState | Literal["waiting"] = "open",
        *,
        source: ProposalSource | None = None,
        kind: ProposalKind | None = None,
        agent_id: str | None = None,
        client: str | None = None,
        limit: int | None = None,
    ) -> tuple[Proposal, ...]:
        """Proposals in a state (`waiting`: open or put off): exact duplicates first, the surest first in a kind.

        `client` names the program whose writes under review are asked for (`source` is `review` for these).
        """
        states = _states(state)
        with self._ledger.read() as connection:
            return rows.list_proposals(
                connection, states=states, source=source, kind=kind, agent_id=agent_id, client=client, limit=limit
            )

    def count(self, state: ProposalState | Literal["waiting"] = "open", *, source: ProposalSource | None = None) -> int:
        """How many `list` would give, stale ones among them; none of them is read."""
        states = _states(state)
        with self._ledger.read() as connection:
            return rows.count_proposals(connection, states=states, source=source)

    def get(self, proposal_id: str) -> Proposal:
        """One proposal as it is now; `NotFound` when there is none."""
        with self._ledger.read() as connection:
            return rows.required(connection, [proposal_id])[0]

    def counts(self) -> tuple[InboxCount, ...]:
        """How many proposals there are of each source, kind and state."""
        with self._ledger.read() as connection:
            return rows.proposal_counts(connection)

    def add(self, new: Sequence[NewProposal]) -> tuple[Proposal, ...]:
        """Puts proposals into the inbox. `InvalidInput` for a text or agent that the ledger cannot hold."""
        with self._ledger.write("propose", origin=self._origin) as tx:
            return rows.insert_proposals(tx, new)

    def accept(self, proposal_id: str, *, edited: str | None = None, keep: str | None = None) -> Proposal:
        """Does what a proposal says, in one transaction.

        `edited` replaces the proposed result, `keep` names the fact of a duplicate or contradiction that stays instead
        of the proposed one. Raises `FactChanged` (the proposal stays, stale), `ProposalDecided`, `BlockedValue`,
        `InvalidInput` or `NotFound`; then nothing is written.
        """
        asked = self.get(proposal_id)
        with self._ledger.write("accept", origin=self._writer(asked), agent_id=asked.agent_id) as tx:
            (proposal,) = rows.required(tx.connection, [proposal_id])
            carry_out(tx, proposal, edited=edited, keep=keep, language=load_settings(tx.connection).language)
        self._wake()
        return self.get(proposal_id)

    def accept_many(
        self,
        ids: Sequence[str],
        *,
        group_id: str | None = None,
        progress: Progress = no_progress,
        cancel: CancelToken | None = None,
    ) -> BulkDecision:
        """Accepts proposals as they are, as one user action; what cannot be carried out is left and named.

        A `group_id` (of an earlier entry) joins it to that action.

        Raises `NotFound` before any effect, `Cancelled` between two chunks (what was committed stays, as one group).
        """
        wanted = tuple(dict.fromkeys(ids))
        with self._ledger.read() as connection:
            found = rows.required(connection, wanted)
        chunks = [
            (writer, chunk[start : start + _CHUNK])
            for writer, chunk in _by_writer(found, self._writer)
            for start in range(0, len(chunk), _CHUNK)
        ]
        accepted: list[str] = []
        left: list[Left] = []
        seq: int | None = None
        done = 0
        for writer, chunk in chunks:
            if cancel is not None:
                cancel.check()
            with self._ledger.write("accept", origin=writer, group_id=group_id) as tx:
                done_before = len(accepted)
                language = load_settings(tx.connection).language
                for proposal in rows.required(tx.connection, chunk):
                    try:
                        carry_out(tx, proposal, language=language)
                    except (FactChanged, ProposalDecided, BlockedValue, InvalidInput, NotFound) as error:
                        left.append(Left(proposal.id, error.message))
                    else:
                        accepted.append(proposal.id)
                group_id = tx.group_id
                if len(accepted) > done_before and seq is None:
                    seq = tx.seq
            done += len(chunk)
            progress(done, len(wanted), "accepting")
        self._wake()
        with self._ledger.read() as connection:
            return BulkDecision(rows.required(connection, accepted), tuple(left), seq)

    def refresh(self, source: ProposalSource, scope: str, new: Sequence[NewProposal]) -> InboxRefresh:
        """Makes the waiting proposals of one place say `new`, in one journalled step; writes nothing when they do.

        `scope` names the place (a vault's folder) and stands in the details of its proposals. Waiting ones that are not
        in `new` are withdrawn; what waits already or was turned down is not added again.
        """
        keys = [proposal.same_key for proposal in new]
        with self._ledger.read() as connection:
            known = rows.list_proposals(connection, states=("open", "later", "rejected", "never"), source=source)
        known = tuple(proposal for proposal in known if proposal.details.get("scope") == scope)
        waiting = {proposal.same_key: proposal for proposal in known if proposal.state in rows.WAITING}
        refused = frozenset(p.same_key for p in known if p.state not in rows.WAITING) & frozenset(keys)
        gone = [proposal for key, proposal in waiting.items() if key not in frozenset(keys)]
        missing = {p.same_key: p for p in new if p.same_key not in waiting and p.same_key not in refused}
        added: tuple[Proposal, ...] = ()
        if gone or missing:
            with self._ledger.write("propose", origin=self._origin) as tx:
                rows.set_state(tx, rows.required(tx.connection, [proposal.id for proposal in gone]), "withdrawn")
                scoped = [replace(p, details={**p.details, "scope": scope}) for p in missing.values()]
                added = rows.insert_proposals(tx, scoped)
        return InboxRefresh(added, tuple(gone), len(waiting) - len(gone), refused)

    def _writer(self, proposal: Proposal) -> Origin:
        """Who writes when a proposal is accepted: what came from a vault has the vault as its origin."""
        return replace(self._origin, channel="vault") if proposal.source == "vault" else self._origin

    def reject(self, ids: str | Sequence[str]) -> tuple[Proposal, ...]:
        """Turns proposals down: while these facts stay as they are, the same is not proposed again."""
        return self._decide(ids, "rejected")

    def never_again(self, ids: str | Sequence[str]) -> tuple[Proposal, ...]:
        """Turns proposals down for good: these texts are never proposed together again, whichever facts hold them."""
        return self._decide(ids, "never")

    def later(self, ids: str | Sequence[str]) -> tuple[Proposal, ...]:
        """Puts proposals off until they are reopened or the next asked-for cycle finds them again."""
        return self._decide(ids, "later")

    def reopen(self, ids: str | Sequence[str]) -> tuple[Proposal, ...]:
        """Brings proposals back that were put off or turned down."""
        return self._decide(ids, "open")

    def _decide(self, ids: str | Sequence[str], state: ProposalState) -> tuple[Proposal, ...]:
        wanted = (ids,) if isinstance(ids, str) else tuple(ids)
        with self._ledger.write(_VERBS[state], origin=self._origin) as tx:
            proposals = rows.required(tx.connection, wanted)
            for proposal in proposals:
                if proposal.state != state and proposal.state not in _DECIDABLE[state]:
                    raise ProposalDecided(
                        f"The proposal was {proposal.state} already.", id=proposal.id, state=proposal.state
                    )
            rows.set_state(tx, proposals, state)
        with self._ledger.read() as connection:
            return rows.required(connection, wanted)


def _states(state: ProposalState | Literal["waiting"]) -> tuple[ProposalState, ...]:
    if state == "waiting":
        return rows.WAITING
    if state not in PROPOSAL_STATES:
        raise InvalidInput(f"There is no state {state!r}.", field="state")
    return (state,)


def _by_writer(
    proposals: Sequence[Proposal], writer_of: Callable[[Proposal], Origin]
) -> list[tuple[Origin, list[str]]]:
    """The ids by who writes them, in order of first appearance."""
    groups: dict[Origin, list[str]] = {}
    for proposal in proposals:
        groups.setdefault(writer_of(proposal), []).append(proposal.id)
    return list(groups.items())
