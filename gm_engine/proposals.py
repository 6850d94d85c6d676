"""What waits for a person, and what a consolidation cycle did: frozen records, like those in `records`.

Times are integer nanoseconds since 1970 UTC (`…_ns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from gm_engine.records import JsonValue

ProposalKind = Literal[
    "exact_duplicate",
    "near_duplicate",
    "contradiction",
    "summary",
    "prune",
    "write",
    "revise",
    "retire",
    "label",
    "pin",
    "link",
]
ProposalSource = Literal["consolidation", "vault", "review"]
ProposalState = Literal["open", "later", "accepted", "rejected", "never", "withdrawn"]
FindingKind = Literal["number", "name", "negation", "invented", "contradiction", "words"]

PROPOSAL_KINDS: tuple[ProposalKind, ...] = get_args(ProposalKind)
PROPOSAL_STATES: tuple[ProposalState, ...] = get_args(ProposalState)
APPLICABLE_KINDS: tuple[ProposalKind, ...] = ("exact_duplicate", "near_duplicate", "contradiction", "summary")
"""The kinds that a cycle may apply by itself where it is told to."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person should look at before accepting.

    `number`, `name` and `negation` stand in a source and not in the result; `invented` stands in the result and in no
    source; `contradiction` and `words` are what differs between the sources. `fact_id` names the source, where one is.
    """

    kind: FindingKind
    text: str
    fact_id: str = ""


@dataclass(frozen=True, slots=True)
class NewProposal:
    """A proposal that is not in the inbox yet.

    `facts` are the ids it is about, the kept one first. `keep` is the fact that stays, empty where a new text is
    written; `text` is that new text, empty where none is. `base` maps fact ids to the versions that were looked at: a
    proposal whose facts have changed since is stale and cannot be accepted. `same_key` is equal for two proposals that
    say the same thing.
    """

    kind: ProposalKind
    source: ProposalSource
    agent_id: str | None
    facts: tuple[str, ...]
    same_key: str
    keep: str = ""
    text: str = ""
    reason: str = ""
    base: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    score: float = 0.0
    details: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One card of the inbox. `seq` is the journal entry that gave it its present state: undo that to take it back."""

    id: str
    kind: ProposalKind
    source: ProposalSource
    agent_id: str | None
    created_ns: int
    facts: tuple[str, ...]
    keep: str
    text: str
    reason: str
    base: Mapping[str, int]
    findings: tuple[Finding, ...]
    score: float
    details: Mapping[str, JsonValue]
    same_key: str
    state: ProposalState
    seq: int
    stale: bool = False
    """Whether a fact it is about has changed since; such a proposal cannot be accepted."""

    @property
    def consumed(self) -> tuple[str, ...]:
        """The facts that accepting it would retire (or, for `prune`, remove)."""
        return tuple(fact_id for fact_id in self.facts if fact_id != self.keep)


@dataclass(frozen=True, slots=True)
class InboxCount:
    """How many proposals of one source and kind are in one state."""

    source: ProposalSource
    kind: ProposalKind
    state: ProposalState
    count: int


@dataclass(frozen=True, slots=True)
class InboxRefresh:
    """What bringing the inbox up to date did: proposals that came, those withdrawn, and how many wait already.

    `rejected` are same keys of the wanted ones that a person turned down before.
    """

    added: tuple[Proposal, ...] = ()
    withdrawn: tuple[Proposal, ...] = ()
    waiting: int = 0
    rejected: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """What a language model answered when asked to sum up facts: validated in form, ids not yet checked."""

    summary: str
    consumes: tuple[str, ...]
    contradictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CycleReport:
    """What one consolidation cycle of a namespace looked at, proposed and did; a dry run did nothing.

    `facts` live content facts were looked at, `decayed` weights fell. `proposed` counts new proposals by kind, `known`
    candidates that wait already or were dismissed. `applied` counts applied proposals by kind, `consumed` the facts
    they retired. `pruned` facts left the store, `held_back` could have and wait in the inbox instead. `series` counts
    groups of sentences that differ in a number only and are too many to be contradictions. `seq` is the journal entry
    of the cycle (None where it left none): undoing its group takes back everything but the decay.
    """

    agent_id: str
    at_ns: int
    facts: int
    dry_run: bool = False
    automatic: bool = False
    decayed: int = 0
    proposed: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    applied: Mapping[str, int] = field(default_factory=dict)
    consumed: int = 0
    pruned: int = 0
    held_back: int = 0
    series: int = 0
    errors: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class ConsolidationCounters:
    """Totals over the life of a store: cycles, facts retired or pruned by them, and the newest report."""

    cycles: int = 0
    consumed: int = 0
    pruned: int = 0
    last: CycleReport | None = None
