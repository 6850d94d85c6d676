"""Drafts that wait for their editor."""

from __future__ import annotations

from gm_desktop.viewmodels.kept_drafts import MOST, KeptDrafts


def test_a_draft_is_taken_once_and_the_oldest_go_first() -> None:
    drafts = KeptDrafts[int]()
    for number in range(MOST + 2):
        drafts.keep(number, f"text {number}")
    drafts.keep(2, "newer")
    drafts.keep(MOST + 2, "one more")
    assert [drafts.take(number, "") for number in (0, 1, 2, 3, 4)] == ["", "", "newer", "", "text 4"]
    assert drafts.take(4, "as stored") == "as stored"


def test_what_was_written_is_forgotten_but_not_what_was_typed_since() -> None:
    drafts = KeptDrafts[str]()
    drafts.keep("a", "first")
    drafts.was_written("a", "another")
    assert drafts.take("a", "") == "first"
    drafts.keep("a", "first")
    drafts.was_written("a", "first")
    assert drafts.take("a", "") == ""
    drafts.keep("a", "second")
    drafts.forget("a")
    drafts.keep("b", "third")
    drafts.clear()
    assert (drafts.take("a", ""), drafts.take("b", "")) == ("", "")
