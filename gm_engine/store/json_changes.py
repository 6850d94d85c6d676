"""How two JSON documents differ, by structure: keys, list items that came, went, changed or moved.

Lists are aligned by a longest run of equal items in the same order; long ones by their items that occur once on both
sides (patience difference), so that an insertion at the start is one change and not as many as there are items. What is
left between them is paired by an `id`, `key` or `name` that the items have, then by position; equal items that lost
their place moved. Everything is linear or n log n, and no step recurses deeper than the alignment of one list.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from gm_engine.records import JsonChange, JsonPath, JsonValue

_NAMES = ("id", "key", "name")
_SHORT = 40
_FEW_CELLS, _MOST_CELLS = 40_000, 4_000_000  # of the table in which a longest common run is found


def json_changes(before: JsonValue, after: JsonValue) -> tuple[JsonChange, ...]:
    """Every difference, in document order: keys as the newer document has them, removed ones after the others.

    Two values are the same when they have the same type (2 is not 2.0, 1 is not true) and are equal; the order of keys
    means nothing.
    """
    changes: list[JsonChange] = []
    waiting: list[_Pair | JsonChange] = [_Pair((), before, after)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, JsonChange):
            changes.append(item)
        elif isinstance(item.before, dict) and isinstance(item.after, dict):
            waiting.extend(reversed(_members(item.path, item.before, item.after)))
        elif isinstance(item.before, list) and isinstance(item.after, list):
            waiting.extend(reversed(_items(item.path, item.before, item.after)))
        elif not _same_scalar(item.before, item.after):
            changes.append(JsonChange(item.path, "changed", item.before, item.after))
    return tuple(changes)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two values that stand for each other, still to be compared."""

    path: JsonPath
    before: JsonValue
    after: JsonValue


def _same_scalar(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other) and one == other


def _members(path: JsonPath, before: dict[str, JsonValue], after: dict[str, JsonValue]) -> list[_Pair | JsonChange]:
    found: list[_Pair | JsonChange] = []
    for key, value in after.items():
        if key in before:
            old = before[key]
            if not (old is value or (isinstance(value, str | int | float | None) and _same_scalar(old, value))):
                found.append(_Pair((*path, key), old, value))
        else:
            found.append(JsonChange((*path, key), "added", after=value))
    found.extend(JsonChange((*path, key), "removed", value) for key, value in before.items() if key not in after)
    return found


# --- lists ----------------------------------------------------------------------------------------------------------


def _items(path: JsonPath, before: list[JsonValue], after: list[JsonValue]) -> list[_Pair | JsonChange]:
    numbers: dict[object, int] = {}
    old, new = ([numbers.setdefault(_mark(item), len(numbers)) for item in items] for items in (before, after))
    moved, changed, removed, added = _settle(_gaps(old, new), before, after, old, new)
    at_new: dict[int, _Pair | JsonChange] = {}
    for i, j in changed:
        at_new[j] = _Pair((*path, j), before[i], after[j])
    for i, j in moved:
        at_new[j] = JsonChange((*path, j), "moved", before[i], after[j], moved_from=(*path, i))
    for j in added:
        at_new[j] = JsonChange((*path, j), "added", after=after[j])
    found = [at_new[j] for j in sorted(at_new)]
    found.extend(JsonChange((*path, i), "removed", before[i]) for i in sorted(removed))
    return found


def _mark(item: JsonValue) -> object:
    """Something small and hashable that is equal for equal values and only for those."""
    if isinstance(item, str):
        return item if len(item) <= _SHORT else ("text", _digest(item.encode()))
    if item is None or isinstance(item, bool | int | float):
        return type(item), item
    try:
        return _digest(json.dumps(item, sort_keys=True, ensure_ascii=False).encode())
    except RecursionError:  # nested as deep as can be read: not looked for elsewhere
        return object()


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _gaps(old: list[int], new: list[int]) -> list[tuple[range, range]]:
    """The stretches that are left between the items that stay in order."""
    gaps: list[tuple[range, range]] = []
    waiting = [(range(len(old)), range(len(new)))]
    while waiting:
        left, right = _trimmed(old, new, *waiting.pop())
        if not left and not right:
            continue
        anchors = _stayed(old, new, left, right) if left and right else []
        if not anchors:
            gaps.append((left, right))
            continue
        i, j = left.start, right.start
        for at_old, at_new in [*anchors, (left.stop, right.stop)]:
            waiting.append((range(i, at_old), range(j, at_new)))
            i, j = at_old + 1, at_new + 1
    return gaps


def _trimmed(old: list[int], new: list[int], left: range, right: range) -> tuple[range, range]:
    """Without what both share at the start and the end."""
    head = 0
    while head < len(left) and head < len(right) and old[left[head]] == new[right[head]]:
        head += 1
    left, right = left[head:], right[head:]
    tail = 0
    while tail < len(left) and tail < len(right) and old[left[-1 - tail]] == new[right[-1 - tail]]:
        tail += 1
    return left[: len(left) - tail], right[: len(right) - tail]


def _stayed(old: list[int], new: list[int], left: range, right: range) -> list[tuple[int, int]]:
    """Items of two stretches that stand for each other; a longest run of them where that is cheap to find."""
    if len(left) * len(right) <= _FEW_CELLS:
        return _common_run(old, new, left, right)
    found = _anchors(old, new, left, right)
    if not found and len(left) * len(right) <= _MOST_CELLS:
        return _common_run(old, new, left, right)
    return found


def _anchors(old: list[int], new: list[int], left: range, right: range) -> list[tuple[int, int]]:
    """Items that occur once on both sides, the longest run of them that is in the same order on both."""
    count_old, count_new = Counter(old[i] for i in left), Counter(new[j] for j in right)
    place = {old[i]: i for i in left if count_old[old[i]] == 1}
    both = [(place[new[j]], j) for j in right if count_new[new[j]] == 1 and new[j] in place]
    return _longest_rising(both)


def _common_run(old: list[int], new: list[int], left: range, right: range) -> list[tuple[int, int]]:
    """A longest run of equal items in the same order."""
    from rapidfuzz.distance import LCSseq

    blocks = LCSseq.editops([old[i] for i in left], [new[j] for j in right]).as_matching_blocks()
    return [(left[block.a + n], right[block.b + n]) for block in blocks for n in range(block.size)]


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose first numbers rise (patience sorting, n log n)."""
    tops: list[int] = []
    top_at: list[int] = []
    before: list[int] = []
    for at, (value, _) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(top_at[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            top_at.append(at)
        else:
            tops[pile], top_at[pile] = value, at
    chain: list[tuple[int, int]] = []
    at = top_at[-1] if top_at else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _settle(
    gaps: Iterable[tuple[range, range]],
    before: list[JsonValue],
    after: list[JsonValue],
    old: list[int],
    new: list[int],
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[int], list[int]]:
    """(moved, changed, removed, added) among what no run of equal items holds in place."""
    gaps = list(gaps)
    moved = _moves(gaps, old, new, after)
    gone, come = {i for i, _ in moved}, {j for _, j in moved}
    rest_old = [i for left, _ in gaps for i in left if i not in gone]
    rest_new = [j for _, right in gaps for j in right if j not in come]
    changed = _by_name(rest_old, rest_new, before, after)
    gone.update(i for i, _ in changed)
    come.update(j for _, j in changed)
    removed: list[int] = []
    added: list[int] = []
    for left, right in gaps:
        olds, news = [i for i in left if i not in gone], [j for j in right if j not in come]
        pairs = _by_place(olds, news, before, after)
        changed.extend(pairs)
        taken_old, taken_new = {i for i, _ in pairs}, {j for _, j in pairs}
        removed.extend(i for i in olds if i not in taken_old)
        added.extend(j for j in news if j not in taken_new)
    return moved, changed, removed, added


def _moves(
    gaps: Sequence[tuple[range, range]], old: list[int], new: list[int], after: list[JsonValue]
) -> list[tuple[int, int]]:
    """Equal items that lost their place. A text or number that is there more than once did not move."""
    lost: defaultdict[int, list[int]] = defaultdict(list)
    come: defaultdict[int, list[int]] = defaultdict(list)
    for left, right in gaps:
        for i in left:
            lost[old[i]].append(i)
        for j in right:
            come[new[j]].append(j)
    count_old, count_new = Counter(old), Counter(new)
    moved: list[tuple[int, int]] = []
    for mark, places in come.items():
        found = lost.get(mark)
        if found and (isinstance(after[places[0]], dict | list) or count_old[mark] == count_new[mark] == 1):
            moved.extend(zip(found, places, strict=False))
    return moved


def _by_name(
    olds: Sequence[int], news: Sequence[int], before: list[JsonValue], after: list[JsonValue]
) -> list[tuple[int, int]]:
    """Pairs of objects that have the same `id`, `key` or `name`, which no other item has."""
    ours, theirs = _named(olds, before), _named(news, after)
    return [(ours[name], j) for name, j in theirs.items() if name in ours]


def _named(places: Sequence[int], items: list[JsonValue]) -> dict[tuple[str, object], int]:
    found: dict[tuple[str, object], int] = {}
    twice: set[tuple[str, object]] = set()
    for at in places:
        item = items[at]
        name = _name_of(item) if isinstance(item, dict) else None
        if name is None:
            continue
        if name in found:
            twice.add(name)
        found[name] = at
    return {name: at for name, at in found.items() if name not in twice}


def _name_of(item: dict[str, JsonValue]) -> tuple[str, object] | None:
    for key in _NAMES:
        value = item.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return key, value
    return None


def _by_place(
    olds: Sequence[int], news: Sequence[int], before: list[JsonValue], after: list[JsonValue]
) -> list[tuple[int, int]]:
    """Within one stretch, the n-th for the n-th: where as many went as came, or both are objects or lists alike."""
    same_count = len(olds) == len(news)
    return [(i, j) for i, j in zip(olds, news, strict=False) if _may_pair(before[i], after[j], same_count=same_count)]


def _may_pair(one: JsonValue, other: JsonValue, *, same_count: bool) -> bool:
    """An object that has another name than the one in its place is another object."""
    if isinstance(one, dict) and isinstance(other, dict):
        return _name_of(one) == _name_of(other) or (_name_of(one) is None and _name_of(other) is None)
    if isinstance(one, list) and isinstance(other, list):
        return True
    return same_count and not isinstance(one, dict | list) and not isinstance(other, dict | list)
