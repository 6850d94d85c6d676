"""What a locator names, in four lengths and within a budget of bytes; what changed since is refused, not replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gm_engine.clock import format_ns
from gm_engine.errors import CheckpointDamaged, InvalidInput, NotFound
from gm_engine.recall_protocol.errors import ErrorCode, ProtocolError
from gm_engine.recall_protocol.lexical_span import cut
from gm_engine.recall_protocol.locators import RecordName, parse_local, split_locator
from gm_engine.recall_protocol.payloads import Detail, ExpandParams, ExpandResult, Json
from gm_engine.recall_protocol.record_search import checkpoint_title, entity_text
from gm_engine.recall_protocol.served_store import Check, Reader, ServedStore, checkpoint_text
from gm_engine.records import Fact

_SUMMARY = 160
_EXCERPT = 600
_RELATED = 10


@dataclass(frozen=True, slots=True)
class _Evidence:
    content: str
    revision: str
    provenance: str


def expand_record(served: ServedStore, params: ExpandParams, *, source_id: str, check: Check) -> ExpandResult:
    """The content of one record. Raises the `ProtocolError` that the contract has for every way not to find it."""
    local = split_locator(params.locator, source_id)
    if local is None:
        raise ProtocolError(ErrorCode.SOURCE_NOT_CONFIGURED)
    try:
        name = parse_local(local)
    except InvalidInput as error:
        raise ProtocolError(ErrorCode.LOCATOR_UNKNOWN, error.message) from error
    check()
    if name.seq is None:
        evidence = _Expansion(served, served.memory, source_id).of(name, params.detail)
    elif name.seq > served.memory.last_seq():
        raise _expired()
    else:
        with served.memory.at(before_seq=name.seq + 1) as view:
            evidence = _Expansion(served, view, source_id).of(name, params.detail)
    return within_budget(evidence.content, params.budget_bytes, evidence.revision, evidence.provenance)


def within_budget(content: str, budget_bytes: int, revision: str, provenance: str) -> ExpandResult:
    """At most `budget_bytes` bytes of a text, whole characters only. `budget_exceeded` when not one would fit."""
    whole = content.encode("utf-8", "replace")
    if len(whole) <= budget_bytes:
        return ExpandResult(whole.decode(), truncated=False, source_revision=revision, provenance=provenance)
    kept = whole[:budget_bytes].decode("utf-8", "ignore")
    if not kept:
        raise ProtocolError(ErrorCode.BUDGET_EXCEEDED)
    return ExpandResult(
        kept, truncated=True, source_revision=revision, truncation_boundary="character", provenance=provenance
    )


def _expired(data: Json | None = None) -> ProtocolError:
    return ProtocolError(ErrorCode.LOCATOR_EXPIRED, data=data)


@dataclass(frozen=True, slots=True)
class _Expansion:
    """Records of one state of the store, as one instance shows them."""

    served: ServedStore
    reader: Reader
    source_id: str

    def of(self, name: RecordName, detail: Detail) -> _Evidence:
        match name.kind:
            case "fact":
                return self._fact(name, detail)
            case "checkpoint":
                return self._checkpoint(name, detail)
            case "entity":
                return self._entity(name, detail)

    def _fact(self, name: RecordName, detail: Detail) -> _Evidence:
        try:
            fact = self.reader.get(name.id)
        except NotFound as error:
            raise _expired() from error
        if not self.served.serves(fact.agent_id) or fact.kind == "alias":
            raise _expired()
        if fact.is_superseded:
            raise _expired(self._replacement(fact))
        match detail:
            case "summary":
                content = cut(fact.text, length=_SUMMARY)
            case "excerpt":
                content = fact.text if len(fact.text) <= _EXCERPT else f"{fact.text[:_EXCERPT]}…"
            case "full":
                content = fact.text
            case "context":
                content = "\n".join(self._fact_context(fact))
        return _Evidence(content, str(fact.version), _source_of(fact))

    def _replacement(self, fact: Fact) -> Json | None:
        """The live fact at the end of the chain, where there is one that this instance shows."""
        newer = self.reader.lineage(fact.id).superseded_by
        if not newer or newer[-1].is_superseded or not self.served.serves(newer[-1].agent_id):
            return None
        return {"replacement": f"{self.source_id}:{RecordName('fact', newer[-1].id).local}"}

    def _fact_context(self, fact: Fact) -> Iterable[str]:
        """A fact with what surrounds it: whose it is, what it replaced, what it mentions, what else is said of that."""
        yield fact.text
        yield ""
        yield f"Agent: {fact.agent_id}"
        yield f"Written: {format_ns(fact.created_ns)}, {fact.effective_confidence.value}, by {fact.origin.channel}"
        older = [each for each in self.reader.lineage(fact.id).supersedes if self.served.serves(each.agent_id)]
        yield from _section("Replaced", (cut(each.text) for each in older[:_RELATED]))
        entities = self.reader.graph.entities_of(fact.id)
        yield from _section("Mentions", (f"{entity.label} ({entity.type})" for entity in entities[:_RELATED]))
        others: dict[str, Fact] = {}
        for entity in entities[:_RELATED]:
            for each in self.reader.facts(self.reader.graph.mentioned_in(entity.id, limit=_RELATED)):
                if each.id != fact.id and self.served.serves(each.agent_id):
                    others[each.id] = each
        newest = sorted(others.values(), key=lambda each: (-each.created_ns, each.id))
        yield from _section("Related facts", (cut(each.text) for each in newest[:_RELATED]))

    def _checkpoint(self, name: RecordName, detail: Detail) -> _Evidence:
        if not self.served.serves(name.agent_id):
            raise ProtocolError(ErrorCode.SOURCE_DENIED)  # whether or not there is such a checkpoint
        try:
            summary = self.reader.checkpoints.summary(name.id)
            if summary.agent_id != name.agent_id:
                raise _expired()
            checkpoint = self.reader.checkpoints.load(name.id)
        except NotFound as error:
            raise _expired() from error
        except CheckpointDamaged as error:
            raise ProtocolError(ErrorCode.SOURCE_UNAVAILABLE, "the checkpoint's record is damaged") from error
        head = f"{checkpoint_title(summary)}, {len(checkpoint.messages)} messages"
        match detail:
            case "summary":
                content = head
            case "excerpt":
                text = checkpoint_text(checkpoint)
                content = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"
            case "full":
                content = checkpoint_text(checkpoint)
            case "context":
                others = [each for each in self.reader.checkpoints.list(summary.agent_id) if each.id != summary.id]
                about = _section("Other checkpoints", (checkpoint_title(each) for each in others[:_RELATED]))
                content = "\n".join([head, "", checkpoint_text(checkpoint), *about])
        provenance = f"checkpoint of {summary.agent_id}, saved {format_ns(summary.created_ns)}"
        return _Evidence(content, str(summary.version), provenance)

    def _entity(self, name: RecordName, detail: Detail) -> _Evidence:
        try:
            entity = self.reader.graph.get(name.id)
        except NotFound as error:
            raise _expired() from error
        if not self.served.entity_is_served(self.reader, entity.id, None):
            raise _expired()
        head = entity_text(entity, self.reader.graph.names(entity.id))
        provenance = f"entity of the knowledge graph, made by {entity.made_by}"
        if detail == "summary":
            return _Evidence(head, "", provenance)
        near = self.reader.graph.neighbourhood(entity.id)
        labels = {each.id: each.label for each in near.entities}
        is_whole = not self.served.settings.is_narrowed
        links = [
            f"{labels.get(edge.from_id, edge.from_id)} {edge.relation} {labels.get(edge.to_id, edge.to_id)}"
            for edge in near.edges
            if is_whole and entity.id in (edge.from_id, edge.to_id)
        ]
        count = {"excerpt": 3, "full": 20, "context": 100}[detail]
        mentioning = self.reader.facts(self.reader.graph.mentioned_in(entity.id, limit=count))
        facts = [each for each in mentioning if self.served.serves(each.agent_id)]
        texts = (each.text if detail == "context" else cut(each.text) for each in facts)
        lines = [head, *_section("Links", links[:count]), *_section("Facts", texts)]
        return _Evidence("\n".join(lines), "", provenance)


def _source_of(fact: Fact) -> str:
    """Where a fact comes from, in a sentence."""
    who = " ".join(part for part in (fact.origin.client, fact.origin.client_version) if part)
    by = f"{fact.origin.channel} ({who})" if who else fact.origin.channel
    locators = [source.ref for source in fact.origin.sources if source.kind == "locator"]
    kept = f", kept from {', '.join(locators)}" if locators else ""
    confidence = fact.effective_confidence.value
    return f"fact of {fact.agent_id}, {confidence}, written {format_ns(fact.created_ns)} by {by}{kept}"


def _section(title: str, lines: Iterable[str]) -> Iterable[str]:
    found = [*lines]
    if found:
        yield ""
        yield f"{title}:"
        yield from (f"- {line}" for line in found)
