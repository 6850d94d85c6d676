"""Clients of the store: who is connected, what each may do, and writes that wait for a person."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gm_engine import (
    AccessDenied,
    BlockedValue,
    ClientOrigin,
    FactChanged,
    FactQuery,
    InvalidInput,
    Memory,
    NotFound,
    Proposal,
    ProposalDecided,
    ReviewRequired,
    UndoConflict,
)
from gm_engine.records import Access, WaitingClient
from tests.fakes.clock import FrozenClock
from tests.fakes.command_line import run
from tests.fakes.embedder import ScriptedEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", clock=FrozenClock(), embedder=ScriptedEmbedder(), background=False) as opened:
        yield opened


@pytest.fixture
def codex(memory: Memory) -> ClientOrigin:
    return memory.clients.connect("codex", "1.2", "stdio")


@pytest.fixture
def theirs(memory: Memory, codex: ClientOrigin) -> Memory:
    return memory.acting_as(codex)


def texts(memory: Memory, agent_id: str = "ops") -> list[str]:
    return list(memory.recall(agent_id, "gate opens quay", preview=True).texts)


# --- connections ------------------------------------------------------------------------------------------------------


def test_a_connection_is_listed_with_its_name_its_counts_and_what_it_may_do(memory: Memory) -> None:
    first = memory.clients.connect("  codex\n\x1b[31m cli ", "1.2", "stdio")
    second = memory.clients.connect("", "", "http")
    memory.clients.count({first: (2, 1), second: (0, 3)})
    memory.clients.count({first: (1, 0)})
    memory.clients.set_access("unnamed", None, "read")
    assert [(c.name, c.version, c.transport, c.reads, c.writes, c.access) for c in memory.clients.list()] == [
        ("codex [31m cli", "1.2", "stdio", 3, 1, "write"),
        ("unnamed", "", "http", 0, 3, "read"),
    ]
    assert first.session.startswith("stdio ")
    memory.clients.disconnect(first)
    assert [client.name for client in memory.clients.list()] == ["unnamed"]


def test_connections_of_a_server_that_died_are_neither_listed_nor_kept(memory: Memory) -> None:
    code = (
        "import os, sys; from gm_engine import Memory\n"
        "memory = Memory.open(sys.argv[1], background=False)\n"
        "memory.clients.connect('gone', '1', 'stdio'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(memory.data_dir)], check=True, timeout=60)
    assert memory.clients.list() == ()
    memory.clients.connect("here", "1", "stdio")
    assert [client.name for client in memory.clients.list()] == ["here"]


def test_what_a_client_writes_says_who_it_was(memory: Memory, theirs: Memory, codex: ClientOrigin) -> None:
    fact = memory.get(theirs.remember("ops", "The gate opens at nine.").id)
    origin = fact.origin
    assert (origin.channel, origin.client, origin.client_version, origin.session) == (
        "mcp",
        "codex",
        "1.2",
        codex.session,
    )
    theirs.checkpoints.save("ops", state={"step": 1})
    assert memory.journal(limit=1)[0].actor.client == "codex"
    assert memory.remember("ops", "Mine.").origin.channel == "library"


# --- what a client may do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "reads", "writes"),
    [
        ("write", None, None),
        ("review", None, ReviewRequired),
        ("read", None, AccessDenied),
        ("none", AccessDenied, AccessDenied),
    ],
)
def test_access_holds_at_once_and_is_undone(
    memory: Memory,
    theirs: Memory,
    codex: ClientOrigin,
    access: Access,
    reads: type[Exception] | None,
    writes: type[Exception] | None,
) -> None:
    seq = memory.clients.set_access("codex", None, access)
    for deed, refused in (
        (lambda: memory.clients.check_read(codex, "ops"), reads),
        (lambda: theirs.remember("ops", "The gate opens at nine."), writes),
        (lambda: theirs.alias("ops", "gate", ["door"]), writes),
        (lambda: theirs.graph.link_names("ops", "gate", "quay", "agent_link"), writes),
    ):
        if refused is None:
            deed()
        else:
            with pytest.raises(refused):
                deed()
    assert seq is not None
    memory.undo(seq)
    assert memory.clients.access("codex") == "write"
    theirs.remember("ops", "The quay is closed.")
    memory.redo(memory.journal(limit=2)[1].seq)
    assert memory.clients.access("codex") == access


def test_a_namespace_has_its_own_rule_and_the_general_one_holds_elsewhere(memory: Memory, theirs: Memory) -> None:
    memory.clients.set_access("codex", None, "read")
    memory.clients.set_access("codex", "ops", "write")
    theirs.remember("ops", "The gate opens at nine.")
    with pytest.raises(AccessDenied):
        theirs.remember("sales", "The gate opens at nine.")
    assert memory.clients.access("other", "ops") == "write"
    policies = memory.clients.policies()
    assert [(p.client, p.agent_id, p.access) for p in policies] == [
        ("codex", None, "read"),
        ("codex", "ops", "write"),
    ]
    assert all(policy.version > 0 for policy in policies)
    assert memory.clients.set_access("codex", "ops", "write") is None
    memory.clients.set_access("codex", "ops", None)
    assert memory.clients.access("codex", "ops") == "read"


@pytest.mark.parametrize(("client", "agent_id", "access"), [(" ", None, "read"), ("a", " ", "read"), ("a", None, "x")])
def test_a_rule_that_makes_no_sense_is_refused(
    memory: Memory, client: str, agent_id: str | None, access: Access
) -> None:
    with pytest.raises(InvalidInput):
        memory.clients.set_access(client, agent_id, access)
    assert memory.clients.policies() == ()


def test_checkpoints_are_never_held_and_nobody_approves_his_own_writes(
    memory: Memory, theirs: Memory, tmp_path: Path, codex: ClientOrigin
) -> None:
    memory.clients.set_access("codex", None, "review")
    assert theirs.checkpoints.save("ops", state={}).agent_id == "ops"
    proposal = theirs.requests.remember("ops", "The gate opens at nine.")
    with Memory.open(memory.data_dir, background=False, origin=codex) as own, pytest.raises(AccessDenied):
        own.inbox.accept(proposal.id)
    with Memory.open(memory.data_dir, background=False, origin=codex) as own, pytest.raises(AccessDenied):
        own.clients.set_access("codex", None, "write")
    assert memory.inbox.get(proposal.id).state == "open"


# --- review -----------------------------------------------------------------------------------------------------------


def test_a_write_under_review_is_in_no_answer_until_it_is_accepted_as_its_writers(
    memory: Memory, theirs: Memory, codex: ClientOrigin
) -> None:
    memory.clients.set_access("codex", None, "review")
    proposal = theirs.requests.remember("ops", "The gate opens at nine.", confidence="verified")
    assert (proposal.source, proposal.kind, proposal.details["client"], proposal.details["asked"]) == (
        "review",
        "write",
        "codex",
        "add",
    )
    assert texts(memory) == []
    accepted = memory.inbox.accept(proposal.id)
    assert texts(memory) == ["The gate opens at nine."]
    (fact,) = memory.recall("ops", "gate", preview=True).facts
    assert (fact.confidence, fact.origin.client, fact.origin.session) == ("verified", "codex", codex.session)
    assert memory.entry(accepted.seq).actor.channel == "library"
    memory.undo(accepted.seq)
    assert texts(memory) == []
    assert memory.inbox.get(proposal.id).state == "open"


def test_accept_one_edit_one_reject_one_put_one_off(memory: Memory, theirs: Memory) -> None:
    memory.clients.set_access("codex", None, "review")
    one, two, three, four = (theirs.requests.remember("ops", f"The gate opens at {n}.") for n in (1, 2, 3, 4))
    memory.inbox.accept(one.id)
    memory.inbox.accept(two.id, edited="The gate opens at half past two.")
    memory.inbox.reject(three.id)
    memory.inbox.later(four.id)
    assert sorted(texts(memory)) == ["The gate opens at 1.", "The gate opens at half past two."]
    with pytest.raises(ProposalDecided):
        memory.inbox.accept(three.id)
    assert memory.clients.waiting() == (WaitingClient("codex", 1),)


GATE = "The gate opens at nine."
ASKED: dict[str, Callable[[Memory], Proposal]] = {
    "update": lambda theirs: theirs.requests.revise("ops", GATE, "The gate opens at ten.", confidence="verified"),
    "forget": lambda theirs: theirs.requests.retire("ops", GATE),
    "pin": lambda theirs: theirs.requests.pin("ops", GATE),
    "unpin": lambda theirs: theirs.requests.pin("ops", "Pinned and gone.", pinned=False),
    "link": lambda theirs: theirs.requests.link("ops", " Gate ", "QUAY", "agent_link"),
    "alias": lambda theirs: theirs.requests.alias("ops", "gate", ["door"]),
}


def state(memory: Memory) -> tuple[list[tuple[object, ...]], list[tuple[str, str, str]]]:
    facts = memory.list_facts(FactQuery(status="all"))
    edges = [(edge.from_id, edge.to_id, edge.relation) for edge in memory.graph.edges()]
    return sorted((f.text, f.is_superseded, f.pinned, f.confidence, f.kind) for f in facts), edges


@pytest.fixture
def kept(memory: Memory) -> None:
    memory.remember("ops", GATE)
    gone = memory.remember("ops", "Pinned and gone.")
    memory.pin("ops", [gone.id])
    memory.retire("ops", [gone.id])
    memory.clients.set_access("codex", None, "review")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("asked", ASKED)
def test_every_write_can_be_asked_for_accepted_and_undone(memory: Memory, theirs: Memory, asked: str) -> None:
    before = state(memory)
    proposal = ASKED[asked](theirs)
    assert (proposal.details["asked"], proposal.agent_id) == (asked, "ops")
    assert proposal.reason.startswith("codex asks: ")
    assert ASKED[asked](theirs).id == proposal.id  # asked for again while it waits
    assert state(memory) == before
    accepted = memory.inbox.accept(proposal.id)
    facts, edges = state(memory)
    expected = {
        "update": ("The gate opens at ten.", False, False, "verified", "") in facts,
        "forget": (GATE, True, False, "", "") in facts,
        "pin": (GATE, False, True, "", "") in facts,
        "unpin": ("Pinned and gone.", True, False, "", "") in facts,
        "link": edges == [("gate", "quay", "agent_link")],
        "alias": ("alias: gate = door", False, False, "", "alias") in facts,
    }
    assert expected[asked], state(memory)
    memory.undo(accepted.seq)
    assert state(memory) == before


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda theirs: theirs.requests.remember("ops", "  "), InvalidInput),
        (lambda theirs: theirs.requests.remember(" ", "A text."), InvalidInput),
        (lambda theirs: theirs.requests.remember("ops", "A text.", confidence="sure"), InvalidInput),
        (lambda theirs: theirs.requests.remember("ops", "Never this."), BlockedValue),
        (lambda theirs: theirs.requests.revise("ops", "Nobody said this.", "New."), NotFound),
        (lambda theirs: theirs.requests.revise("ops", GATE, "Never  this."), BlockedValue),
        (lambda theirs: theirs.requests.revise("ops", GATE, GATE), InvalidInput),
        (lambda theirs: theirs.requests.retire("ops", "Pinned and gone."), NotFound),
        (lambda theirs: theirs.requests.pin("ops", "Pinned and gone."), NotFound),
        (lambda theirs: theirs.requests.link("ops", "gate", " GATE ", "agent_link"), InvalidInput),
        (lambda theirs: theirs.requests.alias("ops", "gate", []), InvalidInput),
    ],
)
def test_what_the_write_itself_would_refuse_is_not_held_either(
    memory: Memory, theirs: Memory, ask: Callable[[Memory], Proposal], error: type[Exception]
) -> None:
    memory.blocked.add("Never this.")
    with pytest.raises(error):
        ask(theirs)
    assert memory.inbox.counts() == ()


@pytest.mark.usefixtures("kept")
def test_a_proposal_whose_fact_changed_meanwhile_is_stale_and_writes_nothing(memory: Memory, theirs: Memory) -> None:
    proposal = ASKED["update"](theirs)
    memory.revise("ops", GATE, "The gate opens at eight.")
    before = state(memory)
    with pytest.raises(FactChanged):
        memory.inbox.accept(proposal.id)
    assert memory.inbox.get(proposal.id).stale
    assert state(memory) == before


@pytest.mark.usefixtures("kept")
def test_an_edited_alias_stays_an_alias_and_a_pin_has_no_text(memory: Memory, theirs: Memory) -> None:
    alias, pin = ASKED["alias"](theirs), ASKED["pin"](theirs)
    for proposal, text in ((alias, "Just words."), (pin, "A text.")):
        with pytest.raises(InvalidInput):
            memory.inbox.accept(proposal.id, edited=text)
    memory.inbox.accept(alias.id, edited="alias: gate = portal")
    assert ("alias: gate = portal", False, False, "", "alias") in state(memory)[0]


def test_always_accept_takes_what_waits_and_is_one_undo(memory: Memory, theirs: Memory) -> None:
    other = memory.acting_as(memory.clients.connect("cursor", "3", "http"))
    for client in ("codex", "cursor"):
        memory.clients.set_access(client, None, "review")
    memory.clients.set_access("codex", "ops", "review")
    for n in range(3):
        theirs.requests.remember("ops", f"The gate opens at {n}.")
    other.requests.remember("ops", "The quay is closed.")
    assert memory.clients.waiting() == (WaitingClient("codex", 3), WaitingClient("cursor", 1))
    assert len(memory.inbox.list("waiting", source="review", client="codex")) == 3
    done = memory.clients.always_accept("codex")
    assert (len(done.accepted), done.left) == (3, ())
    assert len(texts(memory)) == 3
    assert memory.clients.waiting() == (WaitingClient("cursor", 1),)
    theirs.remember("ops", "The gate opens late.")
    assert done.seq is not None
    memory.undo(done.seq)
    assert texts(memory) == ["The gate opens late."]
    assert memory.clients.access("codex", "ops") == "review"
    assert memory.clients.waiting() == (WaitingClient("codex", 3), WaitingClient("cursor", 1))
    with pytest.raises(UndoConflict):
        memory.undo(done.seq)


def test_always_accept_where_nothing_waits_only_says_so(memory: Memory, codex: ClientOrigin) -> None:
    assert memory.clients.always_accept("codex", "ops").accepted == ()
    assert memory.clients.access("codex", "ops") == "write"
    before = memory.last_seq()
    assert memory.clients.always_accept("codex", "ops").seq is None
    assert memory.last_seq() == before


def test_who_is_connected_stays_out_of_a_dump_and_what_they_may_do_does_not(
    memory: Memory, codex: ClientOrigin
) -> None:
    memory.clients.set_access(codex.client, None, "review")
    lines = "".join(memory.dump())
    memory.clients.connect("another", "1", "http")
    assert "".join(memory.dump()) == lines
    assert '["codex", "", "review"' in lines


def test_the_command_line_lists_clients_and_says_what_they_may_do(
    memory: Memory, codex: ClientOrigin, theirs: Memory
) -> None:
    store = ("--data-dir", memory.data_dir)
    assert run(*store, "mcp", "allow", "codex", "review").out == "codex may read, and write with review everywhere\n"
    allowed = run(*store, "--json", "mcp", "allow", "codex", "read", "--agent", "ops").json
    assert (allowed["access"], allowed["agent_id"]) == ("read", "ops")
    theirs.requests.remember("sales", GATE)
    said = run(*store, "mcp", "clients").out.splitlines()
    assert said[0].startswith("codex 1.2  stdio, process ")
    assert said[0].endswith("0 reads, 0 writes, may read, and write with review")
    assert said[1:] == [
        "codex may read, and write with review everywhere",
        "codex may read in ops",
        "codex: 1 waiting in the inbox",
    ]
    listed = run(*store, "--json", "mcp", "clients").json
    assert [(each["name"], each["access"]) for each in listed["connected"]] == [(codex.client, "review")]
    assert run(*store, "mcp", "allow", "codex", "default", "--agent", "ops").out.startswith("codex may read, and write")
    assert run(*store, "mcp", "allow", "codex", "everything").code == 2
    assert run(*store, "mcp", "allow", " ", "read").code == 2
