"""Structural differences of JSON documents: what a person would say became different."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gm_engine.records import JsonChange, JsonValue
from gm_engine.store.json_changes import json_changes


def told(before: JsonValue, after: JsonValue) -> list[tuple[Any, ...]]:
    """The changes as short tuples."""
    return [
        (each.kind, each.path, *([each.moved_from] if each.kind == "moved" else [each.before, each.after]))
        for each in json_changes(before, after)
    ]


def test_keys_that_came_went_and_changed_are_named_by_their_path() -> None:
    before: JsonValue = {"a": 1, "b": {"c": [1, 2], "d": "x"}, "gone": None}
    after: JsonValue = {"a": 1, "b": {"c": [1, 2], "d": "y"}, "new": {"deep": True}}
    assert told(before, after) == [
        ("changed", ("b", "d"), "x", "y"),
        ("added", ("new",), None, {"deep": True}),
        ("removed", ("gone",), None, None),
    ]


def test_the_order_of_keys_means_nothing() -> None:
    assert json_changes({"a": 1, "b": 2}, {"b": 2, "a": 1}) == ()


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (2, 2.0), ("1", 1), (None, False), ([], {})])
def test_values_of_another_type_are_different(one: JsonValue, other: JsonValue) -> None:
    assert told({"v": one}, {"v": other}) == [("changed", ("v",), one, other)]
    assert len(json_changes([one, "x"], [other, "x"])) >= 1


def test_an_insertion_at_the_start_of_a_list_is_one_change() -> None:
    items: list[JsonValue] = [{"n": n} for n in range(50)]
    assert told(items, [{"n": -1}, *items]) == [("added", (0,), None, {"n": -1})]


def test_an_item_that_went_to_another_place_moved() -> None:
    assert told(["a", "b", "c", "d"], ["d", "a", "b", "c"]) == [("moved", (0,), (3,))]


def test_a_named_object_that_moved_and_changed_is_still_the_same_object() -> None:
    before: JsonValue = [{"id": "x", "n": 1}, {"id": "y", "n": 2}, {"id": "z", "n": 3}]
    after: JsonValue = [{"id": "z", "n": 4}, {"id": "x", "n": 1}, {"id": "y", "n": 2}]
    assert told(before, after) == [("changed", (0, "n"), 3, 4)]


def test_another_object_in_the_place_of_one_is_another_object() -> None:
    assert told([{"id": "x"}], [{"id": "y"}]) == [
        ("added", (0,), None, {"id": "y"}),
        ("removed", (0,), {"id": "x"}, None),
    ]


def test_unnamed_objects_in_the_same_place_are_compared() -> None:
    assert told([{"n": 1, "t": "a"}], [{"n": 2, "t": "a"}, {"n": 9}]) == [
        ("changed", (0, "n"), 1, 2),
        ("added", (1,), None, {"n": 9}),
    ]


def test_numbers_that_repeat_do_not_move() -> None:
    kinds = [change.kind for change in json_changes([0, 0, 1, 1, 0], [0, 1, 1, 0, 0])]
    assert kinds == ["added", "removed"]


def test_an_appended_message_is_an_addition() -> None:
    said: list[JsonValue] = [{"role": "user", "content": f"m{n}"} for n in range(3)]
    assert told({"messages": said[:2]}, {"messages": said}) == [("added", ("messages", 2), None, said[2])]


def test_nesting_as_deep_as_can_be_read_is_no_trouble() -> None:
    one: JsonValue = 1
    other: JsonValue = 2
    for _ in range(900):
        one, other = [one], [other]
    (change,) = json_changes(one, other)
    assert len(change.path) == 900


def test_a_hundred_thousand_keys_and_items() -> None:
    before: dict[str, JsonValue] = {f"k{n}": n for n in range(100_000)}
    after: dict[str, JsonValue] = {**before, "k7": -1, "new": 1}
    assert len(json_changes(before, after)) == 2
    rows: list[JsonValue] = [n % 7 for n in range(100_000)]
    assert len(json_changes(rows, [*rows[:50_000], 9, *rows[50_000:]])) == 1
    turned: list[JsonValue] = list(range(100_000))
    assert len(json_changes(turned, turned[::-1])) == 99_999


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "", "long " * 20])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from("abid"), inner, max_size=4),
    max_leaves=25,
)


def applied(before: Any, after: Any, changes: tuple[JsonChange, ...]) -> Any:
    """`before` with the changes made to it: the values come from the changes, only list lengths from `after`."""
    by_path = {change.path: change for change in changes if change.kind != "removed"}
    removed = {change.path for change in changes if change.kind == "removed"}
    sources = {change.moved_from for change in changes if change.kind == "moved"}

    def build(path: tuple[Any, ...], old: Any, new: Any) -> Any:
        change = by_path.get(path)
        if change is not None:
            return change.after
        if isinstance(old, dict):
            kept = {
                key: build((*path, key), value, new[key]) for key, value in old.items() if (*path, key) not in removed
            }
            return kept | {p[-1]: c.after for p, c in by_path.items() if p[:-1] == path and c.kind == "added"}
        if isinstance(old, list):
            staying = [value for at, value in enumerate(old) if (*path, at) not in removed | sources]
            result = []
            for at in range(len(new)):
                placed = by_path.get((*path, at))
                if placed is not None and placed.kind in ("added", "moved"):
                    result.append(placed.after)
                else:
                    result.append(build((*path, at), staying.pop(0), new[at]))
            assert staying == []
            return result
        return old

    return build((), before, after)


def unnamed(value: Any) -> Any:
    """Without the key that pairs objects across places, whose order a plain replay does not know."""
    if isinstance(value, dict):
        return {("x" if key == "id" else key): unnamed(each) for key, each in value.items()}
    return [unnamed(each) for each in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(JSON.map(unnamed), JSON.map(unnamed))
def test_making_the_changes_to_the_older_document_gives_the_newer_one(before: Any, after: Any) -> None:
    old, new = copy.deepcopy(before), copy.deepcopy(after)
    result = applied(before, after, json_changes(before, after))
    assert json_changes(result, after) == ()
    assert (before, after) == (old, new)


@settings(deadline=None)
@given(JSON)
def test_a_document_does_not_differ_from_itself(document: Any) -> None:
    assert json_changes(document, copy.deepcopy(document)) == ()


def test_long_lists_of_which_nothing_is_unique_are_compared_by_a_longest_run() -> None:
    before: list[JsonValue] = [n % 2 for n in range(300)]
    after: list[JsonValue] = [1, 1, *(int(n % 3 == 0) for n in range(300)), 0, 0]
    changes = json_changes(before, after)
    assert applied(before, after, changes) == after
    assert len(changes) < 250


def test_objects_that_share_a_name_are_compared_in_their_order() -> None:
    before: JsonValue = [{"id": "x", "n": 1}, {"id": "x", "n": 2}, {"id": "y", "n": 3}]
    after: JsonValue = [{"id": "y", "n": 4}, {"id": "x", "n": 6}, {"id": "x", "n": 5}]
    assert told(before, after) == [
        ("changed", (0, "n"), 3, 4),
        ("changed", (1, "n"), 1, 6),
        ("changed", (2, "n"), 2, 5),
    ]
