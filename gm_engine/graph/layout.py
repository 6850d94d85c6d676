"""Where entities are drawn: a force layout in numpy, the same for the same graph on every run.

Links pull, everything pushes. A first guess comes from distances to a few pivots (pivot MDS: Brandes & Pich, 2006),
then Fruchterman and Reingold's forces (1991) smooth it; their repulsion is computed on a grid by a fast convolution,
so that a step costs what the nodes and links cost, not their square. Entities without links lie around the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PIVOTS = 24
_STEPS_LARGE, _STEPS_SMALL = 120, 200
_SMALL = 120
_GRID_STEPS = 5
_SPARE = 6  # cells around the nodes, for those that move outwards
REACH = 10.0
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def layout(
    count: int,
    links: Sequence[tuple[int, int]],
    *,
    seed: int = 1,
    known: Mapping[int, tuple[float, float]] | None = None,
) -> Floats:
    """Positions (count, 2) around the origin; linked nodes lie about 1 apart.

    `links` name nodes by number. `known` positions stay where they are; the others are fitted in around them.
    """
    if count == 0:
        return np.zeros((0, 2))
    pairs = np.unique(
        np.sort(np.array([link for link in links if link[0] != link[1]], np.int64).reshape(-1, 2), 1), axis=0
    )
    degree = np.bincount(pairs.ravel(), minlength=count)
    linked = np.flatnonzero(degree > 0)
    number = np.full(count, -1)
    number[linked] = np.arange(len(linked))
    positions = np.zeros((count, 2))
    inner = number[pairs]
    fixed = None
    if known:
        fixed = {int(number[node]): place for node, place in known.items() if node < count and number[node] >= 0}
    if len(linked):
        positions[linked] = _spread(len(linked), inner, seed=seed, fixed=fixed or None)
    loose = np.flatnonzero(degree == 0)
    positions[loose] = _around(positions[linked], len(loose))
    if known:
        for node, place in known.items():
            if node < count:
                positions[node] = place
    return positions


def _spread(count: int, pairs: Ints, *, seed: int, fixed: Mapping[int, tuple[float, float]] | None) -> Floats:
    rng = np.random.default_rng(seed)
    side = np.sqrt(count)
    if fixed is not None and len(fixed) >= count / 2:
        places = _beside(count, pairs, fixed, rng)
        free = np.ones(count, bool)
        free[list(fixed)] = False
        return _relax(places, pairs, steps=30, heat=1.0, free=free) if free.any() else places
    places = _pivot_mds(count, pairs, rng)
    scale = float(np.abs(places).max()) or 1.0
    places = places / scale * side * 0.6 + rng.normal(0, 0.15, (count, 2))
    steps = _STEPS_SMALL if count <= _SMALL else _STEPS_LARGE
    return _packed(_relax(places, pairs, steps=steps, heat=max(1.0, side / 8), free=None), pairs)


def _components(count: int, pairs: Ints) -> Ints:
    """For every node the smallest node that it is joined to."""
    labels = np.arange(count)
    while True:
        before = labels.copy()
        least = np.minimum(labels[pairs[:, 0]], labels[pairs[:, 1]])
        np.minimum.at(labels, pairs[:, 0], least)
        np.minimum.at(labels, pairs[:, 1], least)
        labels = labels[labels]
        if (labels == before).all():
            return labels


def _packed(places: Floats, pairs: Ints) -> Floats:
    """The largest component in the middle, the others in rings around it, largest first."""
    names, part = np.unique(_components(len(places), pairs), return_inverse=True)
    sizes = np.bincount(part)
    centres = np.stack([np.bincount(part, places[:, axis]) / sizes for axis in (0, 1)], 1)
    off = places - centres[part]
    radii = np.zeros(len(names))
    np.maximum.at(radii, part, np.sqrt((off**2).sum(1)))
    goals = np.zeros((len(names), 2))
    order = np.lexsort((np.arange(len(names)), -sizes))
    main = np.sqrt((off[part == order[0]] ** 2).sum(1))
    inner = float(np.quantile(main, 0.98))  # a long tail may reach into the rings
    widest, angle = 0.0, 0.0
    for each in order[1:]:
        room = float(radii[each]) + 0.8
        if angle == 0.0:
            widest = room
        ring = inner + widest + 0.4
        width = 2 * np.arcsin(min(1.0, room / ring))
        if angle + width > 2 * np.pi:
            inner, widest, angle = ring + widest, room, 0.0
            ring = inner + widest + 0.4
            width = 2 * np.arcsin(min(1.0, room / ring))
        goals[each] = ring * np.cos(angle + width / 2), ring * np.sin(angle + width / 2)
        angle += width
    return off + goals[part]


def _beside(count: int, pairs: Ints, fixed: Mapping[int, tuple[float, float]], rng: np.random.Generator) -> Floats:
    """New nodes start at the middle of their placed neighbours, or outside."""
    places = np.zeros((count, 2))
    placed = np.zeros(count, bool)
    for node, place in fixed.items():
        places[node], placed[node] = place, True
    edge = float(np.abs(places).max()) + 2
    for _ in range(4):
        total, weight = np.zeros((count, 2)), np.zeros(count)
        for one, other in ((0, 1), (1, 0)):
            good = placed[pairs[:, other]] & ~placed[pairs[:, one]]
            np.add.at(total, pairs[good, one], places[pairs[good, other]])
            np.add.at(weight, pairs[good, one], 1)
        new = weight > 0
        places[new] = total[new] / weight[new, None] + rng.normal(0, 0.6, (int(new.sum()), 2))
        placed |= new
    rest = np.flatnonzero(~placed)
    angles = np.arange(len(rest)) * _GOLDEN_ANGLE
    places[rest] = edge * np.stack([np.cos(angles), np.sin(angles)], 1)
    return places


def _pivot_mds(count: int, pairs: Ints, rng: np.random.Generator) -> Floats:
    """Two dimensions in which distances to the pivots, counted in links, are kept as well as possible."""
    starts, targets = _neighbours(count, pairs)
    pivots = min(_PIVOTS, count)
    distances = np.zeros((count, pivots))
    nearest = np.full(count, np.inf)
    pivot = int(np.argmax(np.diff(starts)))
    for column in range(pivots):
        hops = _hops(count, starts, targets, pivot)
        far = hops.max(initial=0, where=np.isfinite(hops))
        hops = np.where(np.isfinite(hops), hops, far + 3)
        distances[:, column] = hops
        nearest = np.minimum(nearest, hops)
        pivot = int(np.argmax(nearest))
    squared = distances**2
    centred = squared - squared.mean(0) - squared.mean(1, keepdims=True) + squared.mean()
    _, vectors = np.linalg.eigh(centred.T @ centred)
    places: Floats = -0.5 * centred @ vectors[:, -2:][:, ::-1]
    signs = np.sign(places[np.abs(places).argmax(0), np.arange(places.shape[1])])
    if places.shape[1] < 2:
        places = np.column_stack([places, np.zeros(count)])
        signs = np.array([1.0, 1.0])
    return places * np.where(signs == 0, 1, signs) + rng.normal(0, 1e-3, (count, 2))


def _neighbours(count: int, pairs: Ints) -> tuple[Ints, Ints]:
    """The neighbours of every node, one after the other: those of `n` are `targets[starts[n]:starts[n + 1]]`."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(both[:, 0], minlength=count), out=starts[1:])
    return starts, both[:, 1]


def _hops(count: int, starts: Ints, targets: Ints, origin: int) -> Floats:
    """How many links each node is away from `origin`; infinity where no way leads."""
    hops = np.full(count, np.inf)
    ring, step = np.array([origin]), 0
    hops[origin] = 0
    while len(ring):
        step += 1
        lengths = starts[ring + 1] - starts[ring]
        offsets = np.repeat(starts[ring] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        reached = targets[np.arange(lengths.sum()) + offsets]
        ring = np.unique(reached[~np.isfinite(hops[reached])])
        hops[ring] = step
    return hops


def _relax(places: Floats, pairs: Ints, *, steps: int, heat: float, free: NDArray[np.bool_] | None) -> Floats:
    """Forces until they have cooled down; the longest step shrinks from `heat` to a fraction of a link."""
    count = len(places)
    degree = np.bincount(pairs.ravel(), minlength=count).astype(float)
    charge = 1.0 + 0.15 * np.minimum(degree, 20.0)  # hubs need room for their labels
    slack = np.sqrt(np.minimum(degree[pairs[:, 0]], degree[pairs[:, 1]]))[:, None]  # dense parts would clump
    gravity = 0.02 * np.sqrt(charge)[:, None]  # keeps unlinked parts from drifting away
    grid: _Grid | None = None
    for step in range(steps):
        if count <= _SMALL:
            force = _push_exactly(places, charge)
        else:
            if grid is None or step % _GRID_STEPS == 0:
                grid = _Grid(places)
            force = grid.push(places, charge)
        delta = places[pairs[:, 1]] - places[pairs[:, 0]]
        pull = delta * (np.sqrt((delta**2).sum(1, keepdims=True)) / slack)
        for axis in (0, 1):
            force[:, axis] += np.bincount(pairs[:, 0], pull[:, axis], count)
            force[:, axis] -= np.bincount(pairs[:, 1], pull[:, axis], count)
        force -= gravity * places
        length = np.sqrt((force**2).sum(1, keepdims=True)) + 1e-12
        limit = heat * (1 - step / steps) ** 1.5 + 0.02
        move = force / length * np.minimum(length * 0.25, limit)
        places = places + (move if free is None else move * free[:, None])
    return places


def _push_exactly(places: Floats, charge: Floats) -> Floats:
    """1/distance from every other node, fading out within a few links: far parts do not press branches flat."""
    delta = places[:, None, :] - places[None, :, :]
    squared = (delta**2).sum(2) + 1e-2
    strength = charge[None, :] * np.exp(-np.sqrt(squared) / REACH) / squared
    force: Floats = (delta * strength[:, :, None]).sum(1)
    return force


class _Grid:
    """The same push, with charges spread over the four nearest points of a grid and summed by a Fourier transform.

    Good for a few steps: it reaches a little beyond the nodes that it was made for.
    """

    def __init__(self, places: Floats) -> None:
        self._size = 64 if len(places) < 2000 else 128
        low, high = places.min(0), places.max(0)
        self._step = float((high - low).max()) / (self._size - 1 - 2 * _SPARE) or 1.0
        self._low = low - _SPARE * self._step
        # twice the size, so that nothing wraps around
        axis = np.concatenate([np.arange(self._size), np.arange(-self._size, 0)]).astype(np.float32)
        x, y = axis[:, None], axis[None, :]
        squared = x**2 + y**2 + np.float32(0.4)
        strength = np.exp(-np.float32(self._step / REACH) * np.sqrt(squared)) / squared
        self._kernels = np.fft.rfft2(x * strength), np.fft.rfft2(y * strength)

    def push(self, places: Floats, charge: Floats) -> Floats:
        """The force on every node."""
        size = self._size
        at = np.clip((places - self._low) / self._step, 0, size - 1.001)
        cell = at.astype(np.int64)
        part = at - cell
        near = 1 - part
        weights = (near[:, 0] * near[:, 1], near[:, 0] * part[:, 1], part[:, 0] * near[:, 1], part[:, 0] * part[:, 1])
        first = cell[:, 0] * size + cell[:, 1]
        flat = (first, first + 1, first + size, first + size + 1)
        grid = np.zeros(size * size)
        for where, weight in zip(flat, weights, strict=True):
            grid += np.bincount(where, weight * charge, size * size)
        spread = np.fft.rfft2(grid.reshape(size, size).astype(np.float32), (2 * size, 2 * size))
        force = np.empty_like(places)
        for axis, kernel in enumerate(self._kernels):
            field = np.fft.irfft2(spread * kernel, (2 * size, 2 * size))[:size, :size].ravel() / self._step
            force[:, axis] = sum(field[where] * weight for where, weight in zip(flat, weights, strict=True))
        return force


def _around(inner: Floats, count: int) -> Floats:
    """Places for nodes without links: a sunflower's seeds where there is nothing else, rings around the rest."""
    numbers = np.arange(count)
    if len(inner) == 0:
        radius = np.sqrt(numbers + 0.5) * 0.9
    else:
        edge = float(np.quantile(np.sqrt((inner**2).sum(1)), 0.995)) + 1.5
        radius = np.sqrt(edge**2 + numbers * 0.9)
    angles = numbers * _GOLDEN_ANGLE
    return np.stack([radius * np.cos(angles), radius * np.sin(angles)], 1)
