"""What a tool call comes to: a payload and a text that says the same, or an error in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gm_engine.clock import format_ns
from gm_engine.proposals import Proposal
from gm_engine.ranking.fence import fenced
from gm_engine.records import Checkpoint, JsonValue

if TYPE_CHECKING:
    from gm_engine.ranking.agent_answer import AgentAnswer


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The text block of a result, and its structured content; an error has none."""

    text: str
    payload: Mapping[str, JsonValue] | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call failed; then nothing was written."""
        return self.payload is None


def found(answer: AgentAnswer) -> ToolAnswer:
    """A search."""
    return ToolAnswer(answer.text, answer.payload)


def resumed(checkpoint: Checkpoint) -> ToolAnswer:
    """The newest checkpoint; empty keys are absent."""
    payload: dict[str, JsonValue] = {"id": checkpoint.id, "created_at": format_ns(checkpoint.created_ns)}
    lines = [f"Checkpoint {checkpoint.id}, saved {payload['created_at']}"]
    if checkpoint.messages:
        payload["message_count"] = len(checkpoint.messages)
        lines[0] += f", {len(checkpoint.messages):,} messages"
    lines[0] += "."
    if checkpoint.state:
        payload["state"] = dict(checkpoint.state)
        lines.append(fenced(json.dumps(checkpoint.state, ensure_ascii=False, indent=2)))
    else:
        lines.append("It has no state.")
    return ToolAnswer("\n".join(lines), payload)


def held(payload: Mapping[str, JsonValue], proposal: Proposal) -> ToolAnswer:
    """A write that waits: the payload says that nothing is stored, the text names the proposal."""
    return ToolAnswer(
        f"Not stored yet: it waits for a person's review as proposal {proposal.id}. No search finds it before that;"
        " there is no need to send it again.",
        payload,
    )
