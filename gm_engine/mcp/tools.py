"""The tools themselves: plain functions from a caller and arguments to an answer, safe on any thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gm_engine.clock import format_ns
from gm_engine.errors import GrayMatterError, InvalidInput, NotFound, ReviewRequired
from gm_engine.mcp import arguments as read
from gm_engine.mcp.answers import ToolAnswer, found, held, resumed
from gm_engine.mcp.arguments import Arguments
from gm_engine.progress import CancelToken, Progress, no_progress
from gm_engine.proposals import Proposal
from gm_engine.records import ClientOrigin, Fact, JsonValue

if TYPE_CHECKING:
    from gm_engine.memory import Memory
    from gm_engine.ranking.batch import BatchResult
    from gm_engine.search import RecallOptions

LINK_RELATION = "agent_link"
_SEARCH_OPTIONS = ("min_confidence", "confidence_weight")
_LABELLED = ("add", "update")


@dataclass(frozen=True, slots=True)
class Caller:
    """The client that calls: what it writes through (`Memory.acting_as`) and what its writes are signed with."""

    memory: Memory
    origin: ClientOrigin


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    caller: Caller
    arguments: Arguments
    progress: Progress = no_progress
    cancel: CancelToken | None = None

    @property
    def memory(self) -> Memory:
        """The store as the caller writes to it."""
        return self.caller.memory


Tool = Callable[[Call], ToolAnswer]


def run_tool(name: str, call: Call) -> ToolAnswer:
    """The answer of a tool; an expected failure is an answer in words, too. `KeyError` for a name that is no tool."""
    tool = TOOLS[name]
    try:
        return tool(call)
    except GrayMatterError as error:
        return ToolAnswer(error.message.encode("utf-8", "backslashreplace").decode())


# --- searching --------------------------------------------------------------------------------------------------------


def _options(call: Call) -> RecallOptions:
    read.allow_options(call.arguments, _SEARCH_OPTIONS)
    return {
        "top_k": read.top_k(call.arguments),
        "min_confidence": read.label(call.arguments, "min_confidence"),
        "confidence_weight": read.confidence_weight(call.arguments),
        "origin": call.caller.origin,
    }


def search(call: Call) -> ToolAnswer:
    """`memory_search`, with receipts where `explain` asks for them."""
    from gm_engine.ranking.agent_answer import explain_answer, search_answer

    agent_id, options = read.identity(call.arguments), _options(call)
    query = read.required_text(call.arguments, "query")
    call.memory.clients.check_read(call.caller.origin, agent_id)
    if read.flag(call.arguments, "explain"):
        return found(explain_answer(agent_id, query, call.memory.recall_explain(agent_id, query, **options)))
    return found(search_answer(agent_id, query, call.memory.recall(agent_id, query, **options)))


def search_batch(call: Call) -> ToolAnswer:
    """`memory_search_batch`: a blank query, and an item that is no text, fail alone."""
    from gm_engine.ranking.agent_answer import batch_answer

    agent_id, options = read.identity(call.arguments), _options(call)
    queries = read.strings(call.arguments, "queries")
    good = [query for query in queries if query is not None and query.strip()]
    if not good:
        raise InvalidInput("queries must hold at least one string that is not blank.", field="queries")
    call.memory.clients.check_read(call.caller.origin, agent_id)

    def watch(done: int) -> None:
        if call.cancel is not None:
            call.cancel.check()
        call.progress(done, len(good), "searching")

    answered = iter(call.memory.batch_recall(agent_id, good, watch=watch, **options))
    results = [_failed(query) if query is None or not query.strip() else next(answered) for query in queries]
    if all(result.error is not None for result in results):
        raise InvalidInput(f"Every query failed: {_first_error(results)}", field="queries")
    return found(batch_answer(agent_id, results))


def _failed(query: str | None) -> BatchResult:
    from gm_engine.ranking.batch import BatchResult

    what = "is no text" if query is None else "is blank"
    return BatchResult(query or "", (), error=InvalidInput(f"This query {what}.", field="queries"))


def _first_error(results: Sequence[BatchResult]) -> str:
    return next(result.error.message for result in results if result.error is not None and result.query.strip())


# --- writing ----------------------------------------------------------------------------------------------------------


def add(call: Call) -> ToolAnswer:
    """`memory_add`."""
    read.allow_options(call.arguments, ("confidence",))
    agent_id, label = read.identity(call.arguments), read.label(call.arguments, "confidence")
    text = read.required_text(call.arguments, "text")
    try:
        fact = call.memory.remember(agent_id, text, confidence=label)
    except ReviewRequired:
        proposal = call.memory.requests.remember(agent_id, text, confidence=label)
        return held({"agent_id": agent_id, "stored": False}, proposal)
    return ToolAnswer(
        _stored(agent_id, fact, label), {"agent_id": agent_id, "stored": True, **_identified(fact, label)}
    )


def _stored(agent_id: str, fact: Fact, label: str | None) -> str:
    return f"Stored for “{agent_id}”" + (f" as {label}, fact {fact.id}." if label else ".")


def _identified(fact: Fact, label: str | None) -> dict[str, JsonValue]:
    """Which fact it was, only where the call gave a label: older clients know no other keys."""
    return {} if label is None else {"fact_id": fact.id, "confidence": label}


def alias(call: Call) -> ToolAnswer:
    """`memory_alias`."""
    read.allow_options(call.arguments, ())
    agent_id, term = read.identity(call.arguments), read.required_text(call.arguments, "term")
    words = [word for word in read.strings(call.arguments, "equivalents") if word is not None]
    payload: dict[str, JsonValue] = {"agent_id": agent_id, "term": term, "equivalents": [*words], "stored": True}
    try:
        call.memory.alias(agent_id, term, words)
    except ReviewRequired:
        return held({**payload, "stored": False}, call.memory.requests.alias(agent_id, term, words))
    return ToolAnswer(f"Searches of “{agent_id}” for “{term}” also find: {', '.join(words)}.", payload)


# --- checkpoints ------------------------------------------------------------------------------------------------------


def save_checkpoint(call: Call) -> ToolAnswer:
    """`checkpoint_save`: never held for review."""
    read.allow_options(call.arguments, ())
    agent_id = read.identity(call.arguments)
    written = call.arguments.get("state")
    state = _state(written) if isinstance(written, str) and written else {}
    saved = call.memory.checkpoints.save(agent_id, state=state)
    at = format_ns(saved.created_ns)
    text = f"Saved checkpoint {saved.id} of “{agent_id}” at {at}."
    if not state:
        text += " Its state is empty: state must be a string that holds a JSON object."
    return ToolAnswer(text, {"agent_id": agent_id, "checkpoint_id": saved.id, "created_at": at})


def _state(written: str) -> Mapping[str, JsonValue]:
    try:
        value: Any = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"state is no JSON: {error}", field="state") from error
    if not isinstance(value, dict):
        raise InvalidInput("state must be a string that holds a JSON object.", field="state")
    return value


def resume_checkpoint(call: Call) -> ToolAnswer:
    """`checkpoint_resume`: absence is an answer where it was asked for, damage never is."""
    read.allow_options(call.arguments, ())
    agent_id = read.identity(call.arguments)
    call.memory.clients.check_read(call.caller.origin, agent_id)
    try:
        return resumed(call.memory.checkpoints.latest(agent_id))
    except NotFound:
        if read.text(call.arguments, "on_missing") != "empty":
            raise
        return ToolAnswer(f"“{agent_id}” has no checkpoint.", {"found": False, "agent_id": agent_id})


# --- reflecting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wish:
    """A reflect call whose arguments were checked."""

    memory: Memory
    agent_id: str
    text: str
    target: str
    label: str | None


@dataclass(frozen=True, slots=True)
class _Deed:
    """One action: what it needs, how it is done at once (a fact where one was written), and how it is asked for."""

    needs: tuple[str, ...]
    do: Callable[[_Wish], Fact | None]
    ask: Callable[[_Wish], Proposal]


def reflect(call: Call) -> ToolAnswer:
    """`memory_reflect`: everything is checked before any effect."""
    agent_id = read.either_identity(call.arguments)
    action = read.text(call.arguments, "action")
    if action not in _DEEDS:
        raise InvalidInput(f"action must be one of {', '.join(_DEEDS)}.", field="action")
    read.allow_options(call.arguments, ("confidence",) if action in _LABELLED else ())
    deed, wish = _DEEDS[action], _wish(call, agent_id, action)
    payload: dict[str, JsonValue] = {"action": action, "agent": agent_id, "ok": True}
    try:
        fact = deed.do(wish)
    except ReviewRequired:
        return held({**payload, "ok": False}, deed.ask(wish))
    said = f"{action}: done for “{agent_id}”."
    if fact is None or wish.label is None:
        return ToolAnswer(said, payload)
    return ToolAnswer(f"{said} Fact {fact.id}, {wish.label}.", {**payload, **_identified(fact, wish.label)})


def _wish(call: Call, agent_id: str, action: str) -> _Wish:
    label = read.label(call.arguments, "confidence") if action in _LABELLED else None
    text, target = read.text(call.arguments, "text"), read.text(call.arguments, "target")
    for name, value in (("text", text), ("target", target)):
        if name in _DEEDS[action].needs and not value.strip():
            raise InvalidInput(f"{action} needs {name}.", field=name)
    if not _DEEDS[action].needs:
        target = target or text
        if not target:
            raise InvalidInput(f"{action} needs target, the exact text of a fact.", field="target")
    return _Wish(call.memory, agent_id, text, target, label)


def _add(wish: _Wish) -> Fact:
    return wish.memory.remember(wish.agent_id, wish.text, confidence=wish.label)


def _update(wish: _Wish) -> Fact:
    return wish.memory.revise(wish.agent_id, wish.target, wish.text, confidence=wish.label)


def _forget(wish: _Wish) -> None:
    wish.memory.retire(wish.agent_id, wish.memory.ids_with_text(wish.agent_id, wish.target))


def _pin(wish: _Wish) -> None:
    wish.memory.pin(wish.agent_id, wish.memory.ids_with_text(wish.agent_id, wish.target))


def _unpin(wish: _Wish) -> None:
    wish.memory.unpin(wish.agent_id, wish.memory.ids_with_text(wish.agent_id, wish.target, live_only=False))


def _link(wish: _Wish) -> None:
    wish.memory.graph.link_names(wish.agent_id, wish.text, wish.target, LINK_RELATION)


_DEEDS: dict[str, _Deed] = {
    "add": _Deed(("text",), _add, lambda w: w.memory.requests.remember(w.agent_id, w.text, confidence=w.label)),
    "update": _Deed(
        ("text", "target"),
        _update,
        lambda w: w.memory.requests.revise(w.agent_id, w.target, w.text, confidence=w.label),
    ),
    "forget": _Deed((), _forget, lambda w: w.memory.requests.retire(w.agent_id, w.target)),
    "link": _Deed(
        ("text", "target"), _link, lambda w: w.memory.requests.link(w.agent_id, w.text, w.target, LINK_RELATION)
    ),
    "pin": _Deed((), _pin, lambda w: w.memory.requests.pin(w.agent_id, w.target)),
    "unpin": _Deed((), _unpin, lambda w: w.memory.requests.pin(w.agent_id, w.target, pinned=False)),
}
TOOLS: dict[str, Tool] = {
    "memory_search": search,
    "memory_search_batch": search_batch,
    "memory_add": add,
    "memory_alias": alias,
    "checkpoint_save": save_checkpoint,
    "checkpoint_resume": resume_checkpoint,
    "memory_reflect": reflect,
}
READS = frozenset(("memory_search", "memory_search_batch", "checkpoint_resume"))
