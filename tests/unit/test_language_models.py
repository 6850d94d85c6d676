"""Language models over HTTP, against a server on this machine: what is asked, what is believed, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Thread
from typing import Literal

import pytest

from gm_engine.config import LanguageModelConfig, language_model_from
from gm_engine.errors import Cancelled, GrayMatterError, InvalidInput, LanguageModelFailed
from gm_engine.language.http import HttpLanguageModel
from gm_engine.language.model import extract, known_only, read_facts, read_summary, summarise
from gm_engine.progress import CancelToken
from tests.fakes.model_server import ModelServer, Reply, anthropic, model_server, openai

FACTS = {"01A": "Greta owns Orion.", "01B": "Orion runs at 02:00."}
GOOD = json.dumps({"summary": "Greta owns Orion, which runs at 02:00.", "consumes": ["01A", "01B"]})


def model(
    server: ModelServer, *, kind: Literal["openai", "anthropic"] = "openai", timeout_s: float = 20.0
) -> HttpLanguageModel:
    return HttpLanguageModel(
        LanguageModelConfig(kind, server.url, "small-one", "k-1", timeout_s=timeout_s, retry_pause_s=0.0)
    )


def test_an_openai_style_model_is_asked_and_believed() -> None:
    with model_server(openai(GOOD)) as server:
        draft = summarise(model(server), FACTS)
    assert draft.summary == "Greta owns Orion, which runs at 02:00."
    assert draft.consumes == ("01A", "01B")
    (asked,) = server.asked
    assert asked.path == "/chat/completions"
    assert asked.headers["authorization"] == "Bearer k-1"
    assert asked.body["model"] == "small-one"
    assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
    assert json.loads(asked.body["messages"][1]["content"]) == [{"id": i, "text": text} for i, text in FACTS.items()]


def test_anthropic_is_asked_in_its_own_form() -> None:
    with model_server(anthropic(GOOD)) as server:
        assert summarise(model(server, kind="anthropic"), FACTS).consumes == ("01A", "01B")
    (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == "k-1"
    assert "anthropic-version" in asked.headers
    assert asked.body["max_tokens"] > 0
    assert "authorization" not in asked.headers


def test_fenced_json_is_read() -> None:
    with model_server(openai(f"Here it is:\n```json\n{GOOD}\n```\nAnything else?")) as server:
        assert summarise(model(server), FACTS).consumes == ("01A", "01B")


@pytest.mark.parametrize(
    "answer",
    [
        "Certainly! Greta owns Orion.",
        "",
        "[]",
        "null",
        "NaN",
        '{"summary": "", "consumes": ["01A"]}',
        '{"summary": "  \\n", "consumes": ["01A"]}',
        '{"summary": 7, "consumes": ["01A"]}',
        '{"summary": "x", "consumes": "01A"}',
        '{"summary": "x", "consumes": [1]}',
        '{"summary": "x"}',
        '{"summary": "\\ud800", "consumes": ["01A"]}',
        '{"summary": "x", "consumes": ["01A"], "contradictions": "none"}',
        json.dumps({"summary": "x" * 8_001, "consumes": ["01A"]}),
        f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
        "[" * 100_000,
    ],
)
def test_an_answer_of_another_form_is_refused_by_name(answer: str) -> None:
    with pytest.raises(LanguageModelFailed, match="did not answer as asked") as refused:
        read_summary(answer, "small-one")
    assert refused.value.fields["reason"] == "invalid_answer"


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe\x00", b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}'],
)
def test_garbage_instead_of_an_answer_is_refused(body: bytes) -> None:
    with (
        model_server(Reply(body)) as server,
        pytest.raises(LanguageModelFailed) as refused,
    ):
        summarise(model(server), FACTS)
    assert refused.value.fields["reason"] == "invalid_answer"


def test_an_endless_answer_is_cut_off() -> None:
    with model_server(Reply(b"x" * 3_000_000)) as server, pytest.raises(LanguageModelFailed, match="two million"):
        summarise(model(server), FACTS)


@pytest.mark.parametrize(
    ("status", "reason", "tries"),
    [
        (401, "unauthorised", 1),
        (403, "unauthorised", 1),
        (429, "rate_limited", 3),
        (500, "server_error", 3),
        (503, "server_error", 3),
        (400, "refused", 1),
        (302, "refused", 1),
    ],
)
def test_a_refusal_is_named_and_tried_again_only_where_that_may_help(status: int, reason: str, tries: int) -> None:
    reply = Reply(b"{}", status, headers={"location": "http://127.0.0.1:1/elsewhere"} if status == 302 else {})
    with model_server(reply) as server, pytest.raises(LanguageModelFailed) as refused:
        summarise(model(server), FACTS)
    assert refused.value.fields["reason"] == reason
    assert refused.value.fields["status"] == status
    assert len(server.asked) == tries
    assert "k-1" not in refused.value.message


def test_a_busy_server_that_recovers_is_asked_again() -> None:
    with model_server(Reply(b"", 429), Reply(b"", 500), openai(GOOD)) as server:
        assert summarise(model(server), FACTS).consumes == ("01A", "01B")
    assert len(server.asked) == 3


@pytest.mark.parametrize("reply", [Reply(hangs=True), Reply(b"x" * 1000, drips=True)])
def test_a_slow_answer_is_not_waited_for(reply: Reply) -> None:
    with model_server(reply) as server, pytest.raises(LanguageModelFailed, match="did not answer within") as refused:
        summarise(model(server, timeout_s=0.3), FACTS)
    assert refused.value.fields["reason"] == "timeout"


def test_waiting_can_be_cancelled() -> None:
    with model_server(Reply(hangs=True)) as server:
        cancel = CancelToken()
        outcome: list[GrayMatterError] = []

        def ask() -> None:
            try:
                summarise(model(server), FACTS, cancel=cancel)
            except GrayMatterError as error:
                outcome.append(error)

        asking = Thread(target=ask)
        asking.start()
        assert server.heard.wait(20)
        cancel.cancel()
        asking.join(20)
        assert not asking.is_alive()
    assert isinstance(outcome[0], Cancelled)


def test_nobody_there_is_unreachable() -> None:
    with model_server(openai(GOOD)) as server:
        gone = model(server)
    with pytest.raises(LanguageModelFailed) as refused:
        summarise(gone, FACTS)
    assert refused.value.fields["reason"] == "unreachable"


def test_only_ids_that_were_shown_count() -> None:
    draft = read_summary('{"summary": "x", "consumes": ["01B", "nobody", "01B"]}', "small-one")
    assert known_only(draft, ["01A", "01B"]) == ("01B",)
    with pytest.raises(LanguageModelFailed, match="none of the facts"):
        known_only(read_summary('{"summary": "x", "consumes": ["nobody"]}', "small-one"), ["01A"])


def test_single_facts_are_taken_out_of_a_text() -> None:
    with model_server(openai('{"facts": ["Ana leads.", " Ana leads. ", "", "Ben writes."]}')) as server:
        assert extract(model(server), "Ana leads and Ben writes.") == ("Ana leads.", "Ben writes.")
    with pytest.raises(LanguageModelFailed):
        read_facts(json.dumps({"facts": ["x"] * 65}), "small-one")


@pytest.mark.parametrize(
    "make",
    [
        lambda: LanguageModelConfig("openai", "http://models.example/v1", "m", "secret"),
        lambda: LanguageModelConfig("openai", "ftp://models.example", "m"),
        lambda: LanguageModelConfig("openai", "models.example", "m"),
        lambda: LanguageModelConfig("openai", "https://[broken", "m"),
        lambda: LanguageModelConfig("openai", "https://models.example", " "),
        lambda: LanguageModelConfig("openai", "https://models.example", "m", "line\nbreak"),
        lambda: LanguageModelConfig("openai", "https://models.example", "m", timeout_s=0),
        lambda: language_model_from({"GRAYMATTER_LLM_URL": "https://models.example", "GRAYMATTER_LLM_KIND": "other"}),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_a_key_is_never_shown() -> None:
    settings = LanguageModelConfig("openai", "https://models.example/v1", "m", "top-secret")
    assert "top-secret" not in repr(settings)
    with pytest.raises(InvalidInput) as refused:
        LanguageModelConfig("openai", "http://models.example/v1", "m", "top-secret")
    assert "top-secret" not in refused.value.message


def test_the_environment_names_a_model_only_with_an_address() -> None:
    assert language_model_from({"GRAYMATTER_LLM_KEY": "k", "GRAYMATTER_LLM_MODEL": "m"}) is None
    found = language_model_from(
        {"GRAYMATTER_LLM_URL": "https://m.example", "GRAYMATTER_LLM_MODEL": "m", "GRAYMATTER_LLM_KIND": "anthropic"}
    )
    assert found == LanguageModelConfig("anthropic", "https://m.example", "m")


def test_a_model_on_this_machine_is_asked_by_its_name_and_without_a_key() -> None:
    with model_server(anthropic(GOOD)) as server:
        here = server.url.replace("127.0.0.1", "localhost")
        keyless = HttpLanguageModel(LanguageModelConfig("anthropic", here, "small-one", retry_pause_s=0.0))
        assert summarise(keyless, FACTS).consumes == ("01A", "01B")
    (asked,) = server.asked
    assert "x-api-key" not in asked.headers
