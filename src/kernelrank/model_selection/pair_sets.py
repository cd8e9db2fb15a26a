"""Pairs held out as sets of items: with their groups, or for estimators that are refitted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import DifferingPairs, ItemSets, PairHoldout
from kernelrank.queries import Queries

__all__ = ["hold_out_pairs"]


def hold_out_pairs(
    truth: Float,
    pairs: Index | None,
    groups: Queries | None,
    score: Callable[[ItemSets], Float],
    *,
    differences: bool,
) -> PairHoldout:
    """Hold out each pair, and the groups of its items, as one set.

    Parameters
    ----------
    truth : ndarray, shape (m, outputs)
    pairs : ndarray of int64, shape (pairs, 2), or None for all whose scores differ
    groups : Queries or None
        Pairs between the same two groups share a set.
    score : callable
        From sets to held-out scores (total, outputs, n).
    differences : bool
        Whether to keep the pairs.

    Returns
    -------
    PairHoldout
        With all axes: (pairs, outputs, n).
    """
    if pairs is None:
        first, second = DifferingPairs.of(truth).items()
    else:
        first, second = pairs[:, 0], pairs[:, 1]
    sets, place_first, place_second = _pair_sets(first, second, groups, len(truth))
    scores = score(sets)
    found = PairHoldout.of(first, second, scores[place_first] - scores[place_second], truth[first] - truth[second])
    if differences:
        return found
    none = np.zeros(0, dtype=np.int64)
    return PairHoldout(none, none, found.difference[:0], found.truth[:0], found.accuracy, found.n_pairs)


def _pair_sets(first: Index, second: Index, groups: Queries | None, n_items: int) -> tuple[ItemSets, Index, Index]:
    """Return the sets, and where the first and the second item of each pair lie in them."""
    if groups is None:
        items = np.stack([first, second], axis=1).ravel()
        places = np.arange(0, len(items), 2)
        return ItemSets(items, np.arange(0, len(items) + 1, 2)), places, places + 1
    code_first, code_second = groups.codes[first], groups.codes[second]
    low, high = np.minimum(code_first, code_second), np.maximum(code_first, code_second)
    keys, set_of = np.unique(low * len(groups) + high, return_inverse=True)
    members = list(groups)
    held = [
        members[a] if a == b else np.concatenate([members[a], members[b]])
        for a, b in zip(keys // len(groups), keys % len(groups), strict=True)
    ]
    for number, items in enumerate(held):
        if len(items) == n_items:
            pair = int(np.argmax(set_of == number))
            raise InvalidInputError(
                f"leaving out the pair ({first[pair]}, {second[pair]}) with its groups leaves nothing to train on"
            )
    bounds = np.concatenate([[0], np.cumsum([len(items) for items in held])]).astype(np.int64)
    rank = np.empty(n_items, dtype=np.int64)
    rank[groups.order] = np.arange(n_items) - np.repeat(groups.bounds[:-1], groups.sizes)
    start = bounds[:-1][set_of]
    shift_first = np.where(code_first == low, 0, groups.sizes[low])
    shift_second = np.where(code_second == low, 0, groups.sizes[low])
    return (
        ItemSets(np.concatenate(held), bounds),
        start + shift_first + rank[first],
        start + shift_second + rank[second],
    )
