"""One consolidation cycle of a namespace: decay, propose, apply what is allowed, prune what has faded, report.

What was proposed, applied and pruned stands in the journal as one group whose last entry carries the report. Each
piece commits by itself, so that a cycle that is cancelled or killed leaves a valid store and can run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from gm_engine.consolidation.apply import carry_out
from gm_engine.consolidation.candidates import Candidates, find_candidates, read_texts
from gm_engine.consolidation.decay import faded, fading
from gm_engine.consolidation.dismissals import Dismissals, summary_key
from gm_engine.consolidation.duplicates import compare_pairs, exact_groups, exact_proposals, star_proposals
from gm_engine.consolidation.fresh import FEW_OF, fresh_candidates
from gm_engine.consolidation.losses import lost_and_invented
from gm_engine.consolidation.neighbours import FactVectors
from gm_engine.consolidation.plan import Plan, as_it_would_be, pieces, sorted_out, weakest_half
from gm_engine.consolidation.reports import report_detail
from gm_engine.consolidation.steps import Steps, uncollected
from gm_engine.consolidation.wording import Token, tokens
from gm_engine.errors import BlockedValue, FactChanged, InvalidInput, LanguageModelFailed, ProposalDecided
from gm_engine.language.model import known_only
from gm_engine.proposals import CycleReport, NewProposal, Proposal, ProposalKind
from gm_engine.records import Origin
from gm_engine.store import consolidation as rows
from gm_engine.store.consolidation import LiveFact, Retention
from gm_engine.store.database import Ledger
from gm_engine.store.facts import have_versions, load_versions
from gm_engine.store.proposals import (
    WAITING,
    add_proposals,
    dismissed,
    list_proposals,
    load_proposals,
    required,
    set_state,
    states_of,
    waiting_ids,
    which_wait,
)
from gm_engine.store.settings import load_settings
from gm_engine.store.transaction import Transaction
from gm_engine.vectors.table import VectorTable

HELD_BACK_SHARE = 0.5
"""A prune that would take a larger share of a namespace's live facts waits in the inbox: its report comes first."""

_CHUNK = 500
_PAGE = 2000
_PROPOSALS = 100
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Faded:
    """How many weights fell, how many facts live in the namespace, and those that have faded."""

    lowered: int
    living: int
    facts: tuple[Retention, ...]


@dataclass(frozen=True, slots=True)
class Leaving:
    """Of what has faded: the facts that leave now, and those that wait in the inbox for a person."""

    now: tuple[str, ...]
    held_back: tuple[str, ...]


class Cycle:
    """One run; `steps` does the work a piece at a time and returns the report."""

    def __init__(self, ledger: Ledger, plan: Plan, *, origin: Origin, vectors: VectorTable | None) -> None:
        self._ledger = ledger
        self._plan = plan
        self._origin = replace(origin, channel="consolidation") if plan.automatic else origin
        self._vectors = vectors
        self._now_ns = ledger.clock.now_ns()
        self._group_id = plan.group_id or ledger.clock.new_id(self._now_ns)
        self._errors: list[str] = []
        self._shown: dict[str, int] = {}

    def steps(self) -> Steps[CycleReport]:
        """Runs the cycle. Raises what the ledger raises; a failing language model is an error in the report."""
        plan = self._plan
        faded_facts = yield from uncollected(self._fade())
        seq = self._ledger.last_seq()
        with self._ledger.read() as connection:
            since = rows.consolidated_seq(connection, plan.agent_id) if plan.automatic else 0
            decisions = Dismissals(dismissed(connection, plan.agent_id))
        facts = yield from uncollected(self._facts())
        yield from uncollected(self._refresh_vectors())
        gone = yield from uncollected(self._leaving(faded_facts, decisions))
        leaving = frozenset(gone.now)
        staying = [fact for fact in facts if fact.id not in leaving]
        yield 0, len(facts), "reading texts"
        found, series = yield from uncollected(self._find(staying, decisions, since))
        yield 0, None, "comparing facts"
        found += self._summary(staying, decisions)
        yield 0, None, "comparing facts"
        found += yield from self._prune_proposal(gone.held_back)
        waiting = yield from self._waiting("comparing facts")
        new, known, changed = sorted_out(found, waiting, plan, partly=since > 0)
        report = CycleReport(
            agent_id=plan.agent_id,
            at_ns=self._now_ns,
            facts=len(facts),
            dry_run=plan.dry_run,
            automatic=plan.automatic,
            decayed=faded_facts.lowered,
            known=known,
            held_back=len(gone.held_back),
            series=series,
        )
        if plan.dry_run:
            shown = tuple(as_it_would_be(proposal, self._now_ns) for proposal in new)
            report = replace(report, proposed=dict(Counter(proposal.kind for proposal in new)), proposals=shown)
            return replace(report, pruned=len(gone.now), errors=tuple(self._errors))
        yield 0, None, "writing proposals"
        written = yield from self._propose(new, changed)
        report = yield from self._apply(replace(report, proposed=dict(Counter(written.values()))))
        report = yield from self._prune(report, gone.now)
        return (yield from self._finish(replace(report, errors=tuple(self._errors)), tuple(written), seq))

    # --- decay and pruning -----------------------------------------------------------------------------------------

    def _fade(self) -> Steps[Faded]:
        """Lowers the weights a page at a time; nothing is kept of the facts but what has faded."""
        lowered, living = 0, 0
        gone: list[Retention] = []
        page: list[Retention] = []
        while True:
            with self._ledger.read() as connection:
                page = rows.retentions(connection, self._plan.agent_id, after=page[-1] if page else None, limit=_PAGE)
            weights = fading(page, self._now_ns, half_life_h=self._plan.half_life_h)
            if weights and not self._plan.dry_run:
                with self._ledger.bookkeep() as connection:
                    rows.lower_weights(connection, weights)
            lowered += len(weights)
            living += sum(fact.is_live and not fact.is_alias for fact in page)
            gone += faded(page, self._now_ns, half_life_h=self._plan.half_life_h)
            yield lowered, None, "fading"
            if len(page) < _PAGE:
                return Faded(lowered, living, tuple(gone))

    def _facts(self) -> Steps[list[LiveFact]]:
        """What lives in the namespace; what is written meanwhile is for the next cycle."""
        found: list[LiveFact] = []
        while True:
            with self._ledger.read() as connection:
                page = rows.live_facts(connection, self._plan.agent_id, after=found[-1] if found else None, limit=_PAGE)
            found += page
            yield 0, len(found), "reading texts"
            if len(page) < _PAGE:
                return found

    def _refresh_vectors(self) -> Steps[None]:
        more = True
        while more and self._vectors is not None:
            with self._ledger.read() as connection:
                more = self._vectors.refresh(connection, partly=True)
            yield 0, None, "reading vectors"

    def _leaving(self, found: Faded, decisions: Dismissals) -> Steps[Leaving]:
        """All of it is held back where pruning is not allowed, or would take most of what lives in the namespace."""
        keys = yield from self._of_many([fact.id for fact in found.facts], rows.text_keys, "fading")
        gone = [fact for fact in found.facts if not decisions.keeps(fact.id, keys.get(fact.id, ""))]
        ids = tuple(fact.id for fact in gone)
        if self._plan.prune and sum(fact.is_live for fact in gone) <= HELD_BACK_SHARE * found.living:
            return Leaving(ids, ())
        return Leaving((), ids)

    def _prune_proposal(self, held_back: Sequence[str]) -> Steps[list[NewProposal]]:
        if not held_back:
            return []
        versions = yield from self._of_many(held_back, load_versions, "comparing facts")
        keys = yield from self._of_many(held_back, rows.text_keys, "comparing facts")
        ids = tuple(fact_id for fact_id in held_back if fact_id in versions and fact_id in keys)
        return [
            NewProposal(
                kind="prune",
                source="consolidation",
                agent_id=self._plan.agent_id,
                facts=ids,
                same_key=summary_key(self._plan.agent_id, ids),
                reason=f"{len(ids)} faded facts have a weight below {rows.PRUNE_BELOW:g}.",
                base={fact_id: versions[fact_id] for fact_id in ids},
                details={"text_keys": [keys[fact_id] for fact_id in ids]},
            )
        ]

    def _prune(self, report: CycleReport, ids: Sequence[str]) -> Steps[CycleReport]:
        pruned = 0
        for start in range(0, len(ids), _CHUNK):
            with self._write("prune") as tx:
                pruned += rows.prune_facts(tx, ids[start : start + _CHUNK])
            yield start, len(ids), "pruning"
        return replace(report, pruned=pruned)

    # --- proposals -------------------------------------------------------------------------------------------------

    def _find(
        self, facts: Sequence[LiveFact], decisions: Dismissals, since: int
    ) -> Steps[tuple[list[NewProposal], int]]:
        agent_id = self._plan.agent_id
        groups = yield from exact_groups(facts)
        found = yield from exact_proposals(facts, groups, agent_id=agent_id, dismissed=decisions)
        firsts = [facts[members[0]] for members in groups]
        yield 0, len(firsts), "reading texts"
        vectors = None if self._vectors is None else FactVectors(self._vectors, [fact.text_key for fact in firsts])
        if vectors is not None and vectors.are_none:
            vectors = None
        yield 0, len(firsts), "reading texts"
        fresh = np.array([fact.version > since for fact in firsts], np.bool_) if since else None
        candidates, tokens_of = yield from self._candidates([fact.text for fact in firsts], vectors, fresh)
        pairs = yield from compare_pairs(tokens_of, candidates, vectors)
        kinds: tuple[tuple[ProposalKind, str], ...] = (("near_duplicate", "near"), ("contradiction", "contradiction"))
        for kind, verdict in kinds:
            of_kind = [pair for pair in pairs if pair.comparison.verdict == verdict]
            found += yield from star_proposals(kind, firsts, of_kind, agent_id=agent_id, dismissed=decisions)
            yield len(pairs), len(pairs), "comparing facts"
        return found, candidates.series_count

    @staticmethod
    def _candidates(
        texts: Sequence[str], vectors: FactVectors | None, fresh: NDArray[np.bool_] | None
    ) -> Steps[tuple[Candidates, Callable[[int], Sequence[Token]]]]:
        """The pairs to compare, and what gives the tokens of a text."""
        if fresh is not None and int(fresh.sum()) * FEW_OF < len(texts):
            candidates = yield from fresh_candidates(texts, vectors, fresh)
            return candidates, lambda n: tokens(texts[n])
        readings = yield from read_texts(texts)
        matrix = None
        if vectors is not None:
            matrix = yield from vectors.all()
        candidates = yield from find_candidates(readings, matrix, fresh)
        return candidates, lambda n: readings[n].tokens

    def _summary(self, facts: Sequence[LiveFact], decisions: Dismissals) -> list[NewProposal]:
        """Asks the model about the weakest half of the unpinned facts, as many of them as one prompt holds."""
        plan = self._plan
        if plan.summarise is None or plan.dry_run or len(facts) <= plan.threshold or self._summary_waits():
            return []
        shown = weakest_half(facts, decisions)
        asked = summary_key(plan.agent_id, [fact.id for fact in shown])
        if not shown or decisions.was_asked(asked):
            return []
        self._shown = {fact.id: fact.version for fact in shown}
        try:
            draft = plan.summarise({fact.id: fact.text for fact in shown})
            consumed = known_only(draft, [fact.id for fact in shown])
        except LanguageModelFailed as error:
            self._errors.append(error.message)
            return []
        if decisions.covers_summary(consumed):
            return []
        by_id = {fact.id: fact for fact in shown}
        findings = lost_and_invented({fact_id: by_id[fact_id].text for fact_id in consumed}, draft.summary)
        return [
            NewProposal(
                kind="summary",
                source="consolidation",
                agent_id=plan.agent_id,
                facts=consumed,
                same_key=summary_key(plan.agent_id, consumed),
                text=draft.summary,
                reason=f"{len(consumed)} of the weakest facts in one text.",
                base={fact_id: by_id[fact_id].version for fact_id in consumed},
                findings=findings,
                details={
                    "text_keys": [by_id[fact_id].text_key.hex() for fact_id in consumed],
                    "contradictions": list(draft.contradictions),
                    "asked": asked,
                },
            )
        ]

    def _summary_waits(self) -> bool:
        """Whether a summary is in the inbox already: the model is not asked again before it is decided on."""
        with self._ledger.read() as connection:
            waiting = list_proposals(
                connection, states=WAITING, source="consolidation", kind="summary", agent_id=self._plan.agent_id
            )
        return any(not old.stale for old in waiting)

    def _waiting(self, stage: str) -> Steps[list[Proposal]]:
        with self._ledger.read() as connection:
            ids = waiting_ids(connection, "consolidation", self._plan.agent_id)
        found = yield from self._of_many(ids, load_proposals, stage, at_once=_PROPOSALS)
        return [found[one] for one in ids if one in found and found[one].state in WAITING]

    def _of_many(
        self,
        ids: Sequence[str],
        read: Callable[[Connection, Sequence[str]], dict[str, T]],
        stage: str,
        *,
        at_once: int = _PAGE,
    ) -> Steps[dict[str, T]]:
        """What `read` finds for each id, in pieces."""
        found: dict[str, T] = {}
        for start in range(0, len(ids), at_once):
            with self._ledger.read() as connection:
                found |= read(connection, ids[start : start + at_once])
            yield start, len(ids), stage
        return found

    def _propose(
        self, new: Sequence[NewProposal], changed: Sequence[tuple[Proposal, bool]]
    ) -> Steps[dict[str, ProposalKind]]:
        """Writes the new proposals that still hold; the kind of each by its id."""
        for start in range(0, len(changed), _PROPOSALS):
            turned = changed[start : start + _PROPOSALS]
            with self._write("propose") as tx:
                current = states_of(tx.connection, [old.id for old, _ in turned])
                for old, comes_back in turned:
                    if current[old.id] == (old.state, old.seq):
                        set_state(tx, [old], "open" if comes_back else "withdrawn")
            yield start, len(changed), "writing proposals"
        written: dict[str, ProposalKind] = {}
        done = 0
        for piece in pieces(new, proposals=_PROPOSALS, facts=_PAGE):
            with self._write("propose") as tx:
                holding = self._holding(tx.connection, piece)
                written.update(zip(add_proposals(tx, holding), (one.kind for one in holding), strict=True))
            yield done, len(new), "writing proposals"
            done += len(piece)
        return written

    def _holding(self, connection: Connection, piece: Sequence[NewProposal]) -> list[NewProposal]:
        """Those that no other cycle wrote meanwhile, and whose facts nobody changed or purged since they were read."""
        keys = [one.same_key for one in piece]
        known = which_wait(connection, "consolidation", self._plan.agent_id, keys)
        return [
            one
            for one in piece
            if (one.kind, one.same_key) not in known
            and have_versions(connection, {**one.base, **(self._shown if one.kind == "summary" else {})})
        ]

    def _write(self, verb: str) -> AbstractContextManager[Transaction]:
        return self._ledger.write(verb, origin=self._origin, agent_id=self._plan.agent_id, group_id=self._group_id)

    def _apply(self, report: CycleReport) -> Steps[CycleReport]:
        """Carries out the allowed kinds, those that waited already too."""
        allowed = set(self._plan.apply)
        if not allowed:
            return report
        waiting = yield from self._waiting("applying")
        wanted = [one.id for one in waiting if one.state == "open" and one.kind in allowed and not one.stale]
        applied: Counter[str] = Counter()
        consumed = 0
        for start in range(0, len(wanted), _PROPOSALS):
            with self._write("accept") as tx:
                language = load_settings(tx.connection).language
                for proposal in required(tx.connection, wanted[start : start + _PROPOSALS]):
                    try:
                        carry_out(tx, proposal, language=language)
                    except (FactChanged, ProposalDecided):
                        continue  # two proposals of this cycle share a fact: the second one is stale now
                    except (BlockedValue, InvalidInput) as error:
                        self._errors.append(error.message)
                    else:
                        applied[proposal.kind] += 1
                        consumed += len(proposal.consumed)
            yield start, len(wanted), "applying"
        return replace(report, applied=dict(applied), consumed=consumed)

    # --- reports ---------------------------------------------------------------------------------------------------

    def _finish(self, report: CycleReport, ids: Sequence[str], seq: int) -> Steps[CycleReport]:
        """Journals the report, unless an automatic cycle had nothing to do; counts the cycle."""
        did = report.proposed or report.applied or report.pruned or report.errors
        entry: int | None = None
        if did or not self._plan.automatic:
            with self._ledger.write(
                rows.CYCLE_VERB,
                origin=self._origin,
                agent_id=self._plan.agent_id,
                group_id=self._group_id,
                detail=report_detail(report),
            ) as tx:
                entry = tx.seq
        added = {"cycles": 1, "consumed": report.consumed, "pruned": report.pruned}
        with self._ledger.bookkeep() as connection:
            rows.add_to_counters(
                connection, agent_id=self._plan.agent_id, seq=seq, added=added, last=report_detail(report)
            )
        now = yield from self._of_many(ids, load_proposals, "pruning", at_once=_PROPOSALS)
        return replace(report, seq=entry, proposals=tuple(now[one] for one in ids))
