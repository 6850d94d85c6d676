"""Which sentences are one, which contradict each other, and which are simply two: a hand-labelled table."""

from __future__ import annotations

import pytest

from gm_engine.consolidation.comparison import compare
from gm_engine.consolidation.losses import lost_and_invented
from gm_engine.consolidation.wording import MAX_CHARS, Kind, tokens

NEAR = [
    ("Rollbacks take ten minutes.", "The rollbacks take ten minutes"),
    ("Rollbacks take ten minutes.", "A rollback takes 10 minutes."),
    ("The gate opens.", "the gate opens."),
    ("Ana prefers dark mode!", "Ana prefers dark mode"),
    ("Greta owns the billing service", "Greta owns the billing service now"),
    ("Deploys need a green build — always two reviewers.", "Deploys need a green build; always two reviewers"),
    ("Los pagos se revisan los lunes.", "los pagos se revisan los lunes"),
    ("会议在三点开始。", "会议在三点开始"),
    ("café au lait for Ana", "cafe\u0301 au lait for Ana"),
    ("The limit is 1,000 requests", "The limit is 1000 requests"),
]
CONTRADICTION = [
    ("Rollbacks take ten minutes.", "Rollbacks take five minutes."),
    ("Tokens expire after an hour", "Tokens do not expire after an hour"),
    ("The token expires after an hour", "The token doesn't expire after an hour"),
    ("Ana can attend the call", "Ana can’t attend the call"),
    ("Ana can attend the call", "Ana cannot attend the call"),
    ("The release is on Monday", "The release is on Tuesday"),
    ("The release of Halcyon is on 3 May 2026", "The release of Halcyon is on 4 June 2026"),
    ("The two crates came to the depot on two May 2026.", "The two crates came to the depot on three June 2026."),
    ("Feature Foo is enabled on staging", "Feature Foo is disabled on staging"),
    ("The job runs before midnight", "The job runs after midnight"),
    ("Backup runs nightly at 02:00 on Orion.", "Backup runs nightly at 03:00 on Orion."),
    ("Temperature is -5 °C in the lab", "Temperature is 5 °C in the lab"),
    ("The cache holds entries for 10ms", "The cache holds entries for 20ms"),
    ("会议在三点开始", "会议在五点开始"),
    ("会議は3時に始まる", "会議は5時に始まる"),
    ("彼は会議に出る", "彼は会議に出ない"),
    ("Das Team trifft sich am Montag um 9 Uhr", "Das Team trifft sich am Dienstag um 9 Uhr"),
    ("El servidor acepta conexiones", "El servidor no acepta conexiones"),
    ("Le serveur accepte les connexions", "Le serveur n'accepte jamais les connexions"),
]
DIFFERENT = [
    ("x² is used here", "x2 is used here"),
    ("The area is 5 m²", "The area is 5 m2"),
    ("Use userId in the payload", "Use userid in the payload"),
    ("Use `userId`", "Use `userid`"),
    ("Set MAX_SIZE first", "Set max_size first"),
    ("the Gate opens at dawn", "the gate opens at dawn"),
    ("Ana prefers tea.", "Ben prefers tea."),
    ("The office is in Berlin", "The office is in Bern"),
    ("Ana pays Ben every month", "Ben pays Ana every month"),
    ("The button is red", "The button is green"),
    ("Who is on call?", "Who is on call."),
    ("Deploys happen only on Fridays", "Deploys happen on Fridays"),
    ("The API key lives in vault/prod", "The API key lives in vault/staging"),
    ("Sprint 1 ended with 20 points", "Sprint 2 ended with 25 points"),
    ("Price is $5 per seat", "Price is €5 per seat"),
    ("C# is used in the client", "C++ is used in the client"),
    ("Ticket #12 is open for review", "Ticket #13 is open for review"),
    ("The server is down", "The server was down"),
    ("Deploys run on Friday", "Deploys run on Friday at 17:00"),
    ("Mail goes to Ana from Ben", "Mail goes from Ana to Ben"),
    ("See https://a.example/one", "See https://a.example/two"),
    ("Write to foo@example.org", "Write to fox@example.org"),
    ("東京の会議", "京都の会議"),
    ("👍 for the plan", "👎 for the plan"),
    ("", ""),
    ("…", "…"),
]


@pytest.mark.parametrize(("one", "other"), NEAR)
def test_the_same_in_other_words_is_a_near_duplicate(one: str, other: str) -> None:
    assert compare(tokens(one), tokens(other)).verdict == "near"
    assert compare(tokens(other), tokens(one)).verdict == "near"


@pytest.mark.parametrize(("one", "other"), CONTRADICTION)
def test_a_number_a_date_a_negation_or_an_opposite_makes_a_contradiction(one: str, other: str) -> None:
    for similarity in (None, 0.99):
        assert compare(tokens(one), tokens(other), similarity).verdict == "contradiction"
        assert compare(tokens(other), tokens(one), similarity).verdict == "contradiction"


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_whatever_could_mean_something_else_stays_two_facts(one: str, other: str) -> None:
    assert compare(tokens(one), tokens(other)).verdict == "different"
    assert compare(tokens(other), tokens(one)).verdict == "different"


@pytest.mark.parametrize(
    ("one", "other"), [pair for pair in DIFFERENT if pair != ("The button is red", "The button is green")]
)
def test_no_similarity_of_vectors_overrules_a_guarded_word(one: str, other: str) -> None:
    assert compare(tokens(one), tokens(other), 1.0).verdict == "different"


def test_exchanged_words_need_vectors_that_nearly_agree() -> None:
    one, other = tokens("Ana prefers the dark theme"), tokens("Ana wants the dark theme")
    assert compare(one, other).verdict == "different"
    assert compare(one, other, 0.9).verdict == "different"
    assert compare(one, other, 0.97).verdict == "near"


def test_what_differs_is_named_as_written() -> None:
    comparison = compare(tokens("Rollbacks take ten minutes."), tokens("Rollbacks take five minutes."))
    assert comparison.differences == (("ten", "five"),)
    assert compare(tokens("It is on"), tokens("It isn't on")).verdict != "near"


def test_a_text_longer_than_the_limit_is_not_taken_apart() -> None:
    assert tokens("a " * MAX_CHARS) == ()
    assert tokens("\0 \n\t") == ()


def test_a_superscript_is_part_of_its_word() -> None:
    assert [(token.kind, token.key) for token in tokens("x²")] == [(Kind.NAME, "x²")]


def test_lost_numbers_names_and_negations_are_found() -> None:
    sources = {
        "a": "The backup of Orion runs at 02:00.",
        "b": "Greta is not on call in May.",
    }
    findings = lost_and_invented(sources, "Backups run at night; Greta is on call with Ivo.")
    assert {(finding.kind, finding.text, finding.fact_id) for finding in findings} == {
        ("name", "Orion", "a"),
        ("number", "02:00", "a"),
        ("number", "May", "b"),
        ("negation", "not", "b"),
        ("invented", "Ivo", ""),
    }


def test_a_summary_that_keeps_everything_has_no_findings() -> None:
    sources = {"a": "Greta owns Orion.", "b": "Orion runs backups at 02:00 and never at noon."}
    assert lost_and_invented(sources, "Orion, owned by Greta, runs backups at 02:00, never at noon.") == ()
