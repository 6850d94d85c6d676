"""What one cycle may do, which of the proposals it found are new, and which facts a summary is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gm_engine.consolidation.dismissals import Dismissals
from gm_engine.proposals import NewProposal, Proposal, ProposalKind, SummaryDraft
from gm_engine.store.consolidation import LiveFact

_SUMMARY_CHARS = 24_000
_SUMMARY_FACTS = 100
Summarise = Callable[[dict[str, str]], SummaryDraft]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cycle may do. `summarise` asks the language model, None where none is configured."""

    agent_id: str
    threshold: int
    half_life_h: float
    dry_run: bool = False
    automatic: bool = False
    apply: tuple[ProposalKind, ...] = ()
    prune: bool = True
    summarise: Summarise | None = None
    group_id: str | None = None


def sorted_out(
    found: Sequence[NewProposal], waiting: Sequence[Proposal], plan: Plan, *, partly: bool
) -> tuple[list[NewProposal], int, list[tuple[Proposal, bool]]]:
    """What is new, how many wait already, and the waiting ones to change: (proposal, whether it comes back)."""
    by_key = {(proposal.kind, proposal.same_key): proposal for proposal in waiting}
    new, seen = [], set()
    changed: list[tuple[Proposal, bool]] = []
    for proposal in found:
        old = by_key.get((proposal.kind, proposal.same_key))
        if old is None or old.stale:
            new.append(proposal)
            continue
        seen.add(old.id)
        if old.state == "later" and not plan.automatic:
            changed.append((old, True))
    for old in waiting:
        outdated = old.kind != "summary" and not partly and old.id not in seen
        if old.stale or outdated:
            changed.append((old, False))
    return new, len(seen), changed


def pieces(new: Sequence[NewProposal], *, proposals: int, facts: int) -> Iterator[list[NewProposal]]:
    """The same in pieces of at most so many proposals about at most so many facts; one about more stands alone."""
    piece: list[NewProposal] = []
    held = 0
    for one in new:
        if piece and (len(piece) == proposals or held + len(one.facts) > facts):
            yield piece
            piece, held = [], 0
        piece.append(one)
        held += len(one.facts)
    if piece:
        yield piece


def weakest_half(facts: Sequence[LiveFact], decisions: Dismissals) -> list[LiveFact]:
    """The weakest half of the unpinned facts, cut to what one prompt holds."""
    unpinned = sorted(
        (fact for fact in facts if not fact.pinned), key=lambda fact: (fact.weight, fact.used_ns, fact.id)
    )
    shown: list[LiveFact] = []
    chars = 0
    for fact in unpinned[: len(unpinned) // 2]:
        if decisions.never_summarise(fact.text_key.hex()):
            continue
        chars += len(fact.text)
        if chars > _SUMMARY_CHARS or len(shown) >= _SUMMARY_FACTS:
            break
        shown.append(fact)
    return shown


def as_it_would_be(new: NewProposal, at_ns: int) -> Proposal:
    """A proposal that a dry run only tells of."""
    return Proposal(
        id="",
        kind=new.kind,
        source=new.source,
        agent_id=new.agent_id,
        created_ns=at_ns,
        facts=new.facts,
        keep=new.keep,
        text=new.text,
        reason=new.reason,
        base=new.base,
        findings=new.findings,
        score=new.score,
        details=new.details,
        same_key=new.same_key,
        state="open",
        seq=0,
    )
