"""The wire contract in plain Python: what every tool call must come to, told from the contract and nothing else."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

ANY = object()
"""A value that the contract leaves open: an id, a time."""
LABELS = ("verified", "inferred", "unverified")
LEVEL = {"verified": 2, "inferred": 1, "": 1, "unverified": 0}
BLOCKED = "Never keep this again."
READS = ("memory_search", "memory_search_batch", "checkpoint_resume")


class Refused(Exception):
    """The call is an error: text only, nothing written."""


@dataclass
class ModelFact:
    text: str
    label: str
    kind: str = ""
    is_live: bool = True
    is_pinned: bool = False


@dataclass
class Model:
    """All namespaces; `held` counts proposals while writes wait for review."""

    facts: dict[str, list[ModelFact]] = field(default_factory=dict)
    checkpoints: dict[str, dict[str, Any]] = field(default_factory=dict)
    access: str = "write"
    held: set[str] = field(default_factory=set)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The payload, `ANY` where the contract leaves a value open; raises `Refused`."""
        answer: dict[str, Any] = getattr(self, f"_{tool}")(arguments)
        return answer

    # --- arguments ---------------------------------------------------------------------------------------------------

    def _options(self, arguments: dict[str, Any], *allowed: str) -> dict[str, Any]:
        for name in ("min_confidence", "confidence_weight", "confidence"):
            if name not in arguments:
                continue
            value = arguments[name]
            if name not in allowed:
                raise Refused
            if name == "confidence_weight":
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                if not is_number or not math.isfinite(value) or not 0 <= value <= 0.5:
                    raise Refused
            elif not (isinstance(value, str) and value in LABELS):
                raise Refused
        return {name: arguments[name] for name in allowed if name in arguments}

    def _may(self, *, write: bool) -> None:
        if self.access == "none" or (write and self.access == "read"):
            raise Refused

    # --- reading -----------------------------------------------------------------------------------------------------

    def eligible(self, agent_id: str, least: str | None) -> set[str]:
        floor = 0 if least is None else LEVEL[least]
        return {f.text for f in self.facts.get(agent_id, ()) if f.is_live and not f.kind and LEVEL[f.label] >= floor}

    def _memory_search(self, arguments: dict[str, Any]) -> dict[str, Any]:
        agent_id, options = identity(arguments), self._options(arguments, "min_confidence", "confidence_weight")
        query = text(arguments, "query")
        if not query.strip():
            raise Refused
        self._may(write=False)
        count = min(len(self.eligible(agent_id, options.get("min_confidence"))), wanted(arguments))
        answer = {"agent_id": agent_id, "query": query, "count": count, "facts": ANY, **retrieval(options)}
        if arguments.get("explain") is True:
            answer.update(facts=[], explained=ANY)
        return answer

    def _memory_search_batch(self, arguments: dict[str, Any]) -> dict[str, Any]:
        agent_id, options = identity(arguments), self._options(arguments, "min_confidence", "confidence_weight")
        queries = arguments.get("queries")
        queries = queries if isinstance(queries, list) else []
        if not any(isinstance(query, str) and query.strip() for query in queries):
            raise Refused
        self._may(write=False)
        found = min(len(self.eligible(agent_id, options.get("min_confidence"))), wanted(arguments))
        per_query = []
        for query in queries:
            if isinstance(query, str) and query.strip():
                per_query.append({"query": query, "facts": found})
            else:
                per_query.append({"query": query if isinstance(query, str) else "", "facts": 0, "error": ANY})
        return {"agent_id": agent_id, "count": ANY, "merged": ANY, "per_query": per_query, **retrieval(options)}

    def _checkpoint_resume(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._options(arguments)
        agent_id = identity(arguments)
        self._may(write=False)
        if agent_id in self.checkpoints:
            state = self.checkpoints[agent_id]
            return {"id": ANY, "created_at": ANY, **({"state": state} if state else {})}
        if arguments.get("on_missing") != "empty":
            raise Refused
        return {"found": False, "agent_id": agent_id}

    # --- writing -----------------------------------------------------------------------------------------------------

    def _hold(self, wish: str) -> bool:
        """Whether a write waits instead of being done."""
        self._may(write=True)
        if self.access == "review":
            self.held.add(wish)
        return self.access == "review"

    def _memory_add(self, arguments: dict[str, Any]) -> dict[str, Any]:
        options = self._options(arguments, "confidence")
        agent_id, new = identity(arguments), text(arguments, "text")
        if not new.strip():
            raise Refused
        is_held = self._add(agent_id, new, options.get("confidence"))
        return {"agent_id": agent_id, "stored": not is_held, **({} if is_held else identified(options))}

    def _add(self, agent_id: str, new: str, label: str | None) -> bool:
        self._may(write=True)
        refuse_blocked(new)
        if self._hold(f"add {agent_id!r} {new!r} {label}"):
            return True
        self.facts.setdefault(agent_id, []).append(ModelFact(new, label or ""))
        return False

    def _memory_alias(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._options(arguments)
        agent_id, term = identity(arguments), text(arguments, "term")
        words = arguments.get("equivalents")
        words = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
        self._may(write=True)
        parts = [term.strip(), *(word.strip() for word in words)]
        if not term.strip() or not words or not all(parts) or any(c in part for part in parts for c in "=,\n\r"):
            raise Refused
        written = f"alias: {parts[0]} = {', '.join(dict.fromkeys(parts[1:]))}"
        refuse_blocked(written)
        is_held = self._hold(f"alias {agent_id!r} {written!r}")
        if not is_held:
            self.facts.setdefault(agent_id, []).append(ModelFact(written, "", "alias"))
        return {"agent_id": agent_id, "term": term, "equivalents": words, "stored": not is_held}

    def _checkpoint_save(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._options(arguments)
        agent_id, written = identity(arguments), text(arguments, "state")
        state: Any = {}
        if written:
            try:
                state = json.loads(written)
            except ValueError:
                raise Refused from None
            if not isinstance(state, dict):
                raise Refused
            if not all(math.isfinite(v) for v in state.values() if isinstance(v, float)):
                raise Refused
        self._may(write=True)
        self.checkpoints[agent_id] = state
        return {"agent_id": agent_id, "checkpoint_id": ANY, "created_at": ANY}

    def _memory_reflect(self, arguments: dict[str, Any]) -> dict[str, Any]:
        given = [identity(arguments, name) for name in ("agent_id", "agent") if name in arguments]
        if not given:
            raise Refused
        agent_id, action = given[0], text(arguments, "action")
        if action not in ("add", "update", "forget", "link", "pin", "unpin"):
            raise Refused
        options = self._options(arguments, *(("confidence",) if action in ("add", "update") else ()))
        new, target = text(arguments, "text"), text(arguments, "target")
        if action in ("add", "update", "link") and not new.strip():
            raise Refused
        if action in ("update", "link") and not target.strip():
            raise Refused
        if action in ("forget", "pin", "unpin") and not (target or new):
            raise Refused
        self._may(write=True)
        is_held = self._do(action, agent_id, new, target, options.get("confidence"))
        return {"action": action, "agent": agent_id, "ok": not is_held, **({} if is_held else identified(options))}

    def _do(self, action: str, agent_id: str, new: str, target: str, label: str | None) -> bool:
        if action == "add":
            return self._add(agent_id, new, label)
        if action == "link":
            ends = [unicodedata.normalize("NFKC", end.strip()).casefold() for end in (new, target)]
            if ends[0] == ends[1]:
                raise Refused
            return self._hold(f"link {agent_id!r} {ends}")
        wanted_text = target if action == "update" else target or new
        matches = [f for f in self.facts.get(agent_id, ()) if f.text == wanted_text]
        eligible = matches if action == "unpin" else [f for f in matches if f.is_live]
        if not eligible:
            raise Refused
        if action == "update":
            return self._update(agent_id, eligible, new, label)
        if self._hold(f"{action} {agent_id!r} {wanted_text!r} {len(eligible)}"):
            return True
        for fact in eligible:
            if action == "forget":
                fact.is_live = False
            else:
                fact.is_pinned = action == "pin"
        return False

    def _update(self, agent_id: str, old: list[ModelFact], new: str, label: str | None) -> bool:
        refuse_blocked(new)
        if all(fact.text == new and label in (None, fact.label) for fact in old):
            raise Refused
        if self._hold(f"update {agent_id!r} {old[0].text!r} {new!r} {label}"):
            return True
        lowest = "unverified" if min(LEVEL[fact.label] for fact in old) == 0 else "inferred"
        for fact in old:
            fact.is_live = False
        self.facts[agent_id].append(ModelFact(new, lowest if label is None else label, old[0].kind))
        return False


def identity(arguments: dict[str, Any], name: str = "agent_id") -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Refused
    return value


def text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def wanted(arguments: dict[str, Any]) -> int:
    value = arguments.get("top_k")
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return 8
    if value == math.inf:
        return 10**9
    return int(value) if value == int(value) else 8


def retrieval(options: dict[str, Any]) -> dict[str, Any]:
    if not options:
        return {}
    least = options.get("min_confidence")
    found = {
        "confidence_weight": options.get("confidence_weight", 0),
        "policy": "confidence-v1",
        "kg": "hints_without_confidence_receipts" if least is None else "suppressed_min_confidence",
    }
    return {"retrieval": found if least is None else {"min_confidence": least, **found}}


def identified(options: dict[str, Any]) -> dict[str, Any]:
    return {"fact_id": ANY, "confidence": options["confidence"]} if "confidence" in options else {}


def refuse_blocked(new: str) -> None:
    if re.sub(r"\s+", " ", new).strip() == BLOCKED:
        raise Refused
