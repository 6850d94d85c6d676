"""Laws of the Recall protocol: whatever comes, messages come out whole, in order and under their own ids."""

from __future__ import annotations

import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gm_engine.recall_protocol import (
    Answer,
    Client,
    Decoder,
    Encoder,
    FrameError,
    Message,
    Notification,
    RawId,
    Request,
    SchemaSet,
    SchemaViolation,
    SearchFilters,
    SearchParams,
)
from gm_engine.recall_protocol.messages import encode_message, parse_message
from gm_engine.resources import resource

LIMIT = 2000
EXAMPLES = settings().max_examples
fuzz = settings(max_examples=EXAMPLES if EXAMPLES < 1000 else 5 * EXAMPLES)  # 5,000 with the thorough profile
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
numbers = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,3})?\Z")
raw_ids = (
    numbers | st.text().map(json.dumps) | st.text().map(lambda text: json.dumps(text, ensure_ascii=False))
).filter(lambda text: text.encode("utf-8", "replace").decode() == text)
messages = (
    st.builds(Answer, raw_ids.map(RawId), json_values)
    | st.builds(Request, raw_ids.map(RawId), st.text(min_size=1), json_values)
    | st.builds(Notification, st.text(min_size=1), json_values.map(json.dumps))
)
garbage = (
    st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.integers(LIMIT, 3 * LIMIT).map(lambda size: b"x" * size)
    | messages.map(lambda message: encode_message(message)[:-7])
    | st.tuples(messages, messages).map(lambda two: encode_message(two[0])[:-1] + encode_message(two[1]))
).map(lambda line: line.replace(b"\n", b" "))


def is_message(line: bytes) -> bool:
    try:
        parse_message(line)
    except FrameError:
        return False
    return True


noise = garbage.filter(lambda line: not is_message(line) or len(line) >= LIMIT)


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data = data
        self._sizes = sizes
        self._turn = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(self._sizes[self._turn % len(self._sizes)], len(buffer))
        self._turn += 1
        part, self._data = self._data[:size], self._data[size:]
        buffer[: len(part)] = part
        return len(part)


def read_all(data: bytes, sizes: list[int]) -> tuple[list[Message], int]:
    """All messages of a stream, and how many lines were none."""
    decoder = Decoder(io.BufferedReader(Trickle(data, sizes)), max_frame_bytes=LIMIT)
    found: list[Message] = []
    skipped = 0
    while True:
        try:
            message = decoder.read()
        except FrameError:
            skipped += 1
        else:
            if message is None:
                return found, skipped
            found.append(message)


chunks = st.lists(st.integers(1, 700), min_size=1, max_size=5)


@fuzz
@given(st.lists(messages | noise, max_size=8), chunks, st.booleans())
def test_messages_survive_any_noise_between_them(lines: list[Message | bytes], sizes: list[int], ends: bool) -> None:
    data = b"".join(line + b"\n" if isinstance(line, bytes) else encode_message(line) for line in lines)
    found, skipped = read_all(data if ends else data.removesuffix(b"\n"), sizes)
    whole = [line for line in lines if not isinstance(line, bytes) and len(encode_message(line)) <= LIMIT]
    if not ends and lines and not isinstance(lines[-1], bytes) and len(encode_message(lines[-1])) == LIMIT + 1:
        whole.append(lines[-1])  # without its newline it fits
    assert found == whole
    blank = sum(1 for line in lines if isinstance(line, bytes) and not line.strip() and len(line) < LIMIT)
    assert skipped == len(lines) - len(whole) - blank


@fuzz
@given(st.binary(max_size=3 * LIMIT), chunks)
def test_any_bytes_are_read_to_their_end(data: bytes, sizes: list[int]) -> None:
    found, skipped = read_all(data, sizes)
    assert len(found) + skipped <= data.count(b"\n") + 1


@given(garbage, messages)
def test_after_any_line_the_next_message_is_read(line: bytes, message: Message) -> None:
    after = encode_message(message)
    found, _ = read_all(line + b"\n" + after, [LIMIT])
    assert len(after) > LIMIT or found[-1] == message


@given(messages)
def test_a_message_comes_back_as_it_was_written(message: Message) -> None:
    out = io.BytesIO()
    Encoder(out).write(message)
    line = out.getvalue()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert parse_message(line) == message
    assert json.loads(line)["jsonrpc"] == "2.0"


@fuzz
@given(raw_ids, st.text(" \t\r", max_size=3), st.permutations(["jsonrpc", "id", "result"]))
def test_an_id_is_its_text_wherever_it_stands(raw: str, space: str, order: list[str]) -> None:
    texts = {"jsonrpc": '"2.0"', "id": raw, "result": '{"id":5}'}
    line = "{" + ",".join(f'{space}"{name}"{space}:{space}{texts[name]}{space}' for name in order) + "}"
    assert parse_message(line.encode()) == Answer(RawId(raw), {"id": 5})


def peer(requests: io.BufferedReader, answers: IO[bytes], order: list[int], lines: list[bytes]) -> None:
    """Reads one request for each place in `order`, then answers them in that order with noise in between."""
    decoder, encoder = Decoder(requests), Encoder(answers)
    asked = [message for message in (decoder.read() for _ in order) if isinstance(message, Request)]
    for place, line in zip(order, lines, strict=True):
        params = asked[place].params
        assert isinstance(params, dict)
        answers.write(line + b"\n")
        result = {"candidates": [], "outcome": "success", "diagnostics": {"query": params["query"]}}
        for _ in range(1 + len(line) % 2):  # some are answered twice
            encoder.write(Answer(asked[place].id, result))
    answers.close()
    requests.close()


@given(st.permutations(range(6)), st.lists(noise.filter(lambda line: len(line) < LIMIT), min_size=6, max_size=6))
def test_every_call_gets_its_own_answer(order: list[int], lines: list[bytes]) -> None:
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    client = Client(os.fdopen(our_in, "rb"), os.fdopen(our_out, "wb"))

    def ask(query: str) -> object:
        diagnostics = client.search(SearchParams(query, SearchFilters(), 1, 250_000_000_000 * 10**9)).diagnostics
        return diagnostics and diagnostics["query"]

    queries = [f"query {number}" for number in range(6)]
    with ThreadPoolExecutor(7) as pool:
        answering = pool.submit(peer, os.fdopen(their_in, "rb"), os.fdopen(their_out, "wb"), order, lines)
        assert list(pool.map(ask, queries)) == queries
        answering.result()
    client.close()
    twice = sum(len(line) % 2 for line in lines)
    assert client.diagnostics.report().violations <= twice + len(lines)


WORDS = ["", "success", "skipped", "partial", "s:l", "2026-06-01T10:00:00Z", "2026-06-01T10:00:00", "fact", "lexical"]
ODD: list[Any] = [*WORDS, None, 0, 1, -1, 1.0, 0.5, True, [], {}, ["lexical"], [None], [{}]]
odd = st.sampled_from(ODD) | json_values
NAMES = ["search-params", "search-result", "candidate", "manifest", "health", "expand-params", "initialize-params"]


def example(schema: dict[str, Any]) -> Any:
    """Some value that keeps the schema of a member."""
    kinds = schema.get("type", "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "format" in schema:
        return "2026-06-01T10:00:00.5Z"
    values = {"string": "s:l", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}}
    return values[kind]


@st.composite
def payloads(draw: st.DrawFn) -> tuple[str, Any]:
    """A payload that keeps its schema but for a few members that were changed, added or taken away."""
    name = draw(st.sampled_from(NAMES))
    schema = json.loads(resource("schemas", "recall", f"{name}.json").read_text(encoding="utf-8"))
    value = {key: example(part) for key, part in schema["properties"].items() if key != "reason"}
    for key in draw(st.lists(st.sampled_from([*value, "reason", "surprise"]), max_size=3)):
        if draw(st.booleans()):
            value[key] = draw(odd)
        else:
            value.pop(key, None)
    if name == "search-result" and draw(st.booleans()):
        value["candidates"] = [draw(odd)]
    return name, value


@given(payloads() | st.tuples(st.sampled_from(NAMES), json_values))
def test_the_quick_check_and_jsonschema_agree(case: tuple[str, Any]) -> None:
    name, value = case
    schemas = SchemaSet.shared()
    compiled = schemas._schemas[name]
    is_valid = not list(compiled.validator.iter_errors(value))
    assert compiled.accepts(value) == is_valid
    try:
        schemas.validate(name, value)
        locations: tuple[str, ...] = ()
    except SchemaViolation as violation:
        locations = violation.locations
    assert bool(locations) != is_valid
