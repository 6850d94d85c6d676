"""What an inbox is about, and how its cards are read and counted: jobs for the reading lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from gm_desktop.models.agent_list import AgentLine
from gm_desktop.models.fact_row import agent_title
from gm_desktop.models.proposal_cards import CardLine
from gm_desktop.viewmodels.card_words import card_line
from gm_engine import Proposal, ProposalSource

if TYPE_CHECKING:
    from gm_engine import Memory

MOST_CARDS = 2_000
Pile = Literal["open", "later"]


@dataclass(frozen=True, slots=True)
class InboxSubject:
    """What an inbox is about.

    `sources` are those of its cards (None: all). Cards are filtered by `group_of` (an agent, a client); `groups` names
    those that are listed even without a card. `in_bulk` says which cards one step may accept together, `bulk_title`
    what that step is called for a count, `bulk_said` what it says afterwards.
    """

    sources: tuple[ProposalSource, ...] | None
    empty_title: str
    empty_hint: str
    all_groups: str
    bulk_title: Callable[[int], str]
    bulk_said: Callable[[int], str]
    in_bulk: Callable[[Proposal], bool]
    group_of: Callable[[Proposal], str | None] = attrgetter("agent_id")
    group_title: Callable[[str], str] = agent_title
    group_icon: str = "bot"
    groups: Callable[[Memory], Iterable[str]] = lambda _memory: ()


@dataclass(frozen=True, slots=True)
class Listed:
    """The cards of one group and pile, and what is known of all that wait."""

    groups: list[AgentLine]
    lines: list[CardLine]
    open: int
    later: int
    bulk: tuple[str, ...]
    named: frozenset[str]
    groups_of: Mapping[str, str | None]


def list_cards(subject: InboxSubject, group: str | None, pile: Pile, memory: Memory) -> Listed:
    """Reads everything that waits: some 25 µs for each card."""
    waiting = [each for source in subject.sources or (None,) for each in memory.inbox.list("waiting", source=source)]
    in_pile = [proposal for proposal in waiting if proposal.state == pile]
    counts = Counter(name for each in in_pile if (name := subject.group_of(each)) is not None)
    names = sorted({*subject.groups(memory), *counts}, key=lambda each: (each.casefold(), each))
    groups = [AgentLine(None, subject.all_groups, len(in_pile), 0, "layers")]
    groups += [AgentLine(each, subject.group_title(each), counts[each], 0, subject.group_icon) for each in names]
    mine = [proposal for proposal in waiting if group is None or subject.group_of(proposal) == group]
    shown = [proposal for proposal in mine if proposal.state == pile][:MOST_CARDS]
    firsts = memory.facts([proposal.facts[0] for proposal in shown if proposal.facts])
    facts = {fact.id: fact for fact in firsts}
    return Listed(
        groups=groups,
        lines=[card_line(proposal, facts) for proposal in shown],
        open=sum(proposal.state == "open" for proposal in waiting),
        later=sum(proposal.state == "later" for proposal in mine),
        bulk=tuple(each.id for each in mine if each.state == "open" and not each.stale and subject.in_bulk(each)),
        groups_of={proposal.id: subject.group_of(proposal) for proposal in shown},
        named=frozenset(fact_id for each in waiting for fact_id in (*each.base, *each.facts)),
    )


def count_open(subject: InboxSubject, memory: Memory) -> int:
    """How many cards are open, as `list_cards` counts them, without reading one."""
    return sum(memory.inbox.count("open", source=source) for source in subject.sources or (None,))
