"""What the journal of a fact says of each step, in words."""

from __future__ import annotations

from pathlib import Path

from gm_desktop.viewmodels.fact_words import entry_sentence
from tests.widget.conftest import open_scripted


def test_the_journal_of_a_fact_says_in_words_that_a_proposal_about_it_was_accepted(tmp_path: Path) -> None:
    with open_scripted(tmp_path / "store", read_only=False) as memory:
        facts = [memory.remember("ops", "The bell rings at noon.") for _ in range(2)]
        memory.consolidate("ops")
        (proposal,) = memory.inbox.list()
        memory.inbox.accept(proposal.id)
        said = [entry_sentence(entry, fact.id) for fact in facts for entry in memory.journal(target=fact.id)]
    assert said.count("Remembered") == 2
    assert "Accepted a proposal" in said
