"""The accuracy of each query for each column of scores; compared with one pair at a time."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from kernelrank.model_selection.search import query_accuracies


def one_by_one(truth, scores):
    pairs = [(i, j) if truth[i] > truth[j] else (j, i) for i, j in combinations(range(len(truth)), 2)]
    right = [
        1.0 * (scores[high] > scores[low]) + 0.5 * (scores[high] == scores[low])
        for high, low in pairs
        if truth[high] > truth[low]
    ]
    return np.mean(right) if right else np.nan


def test_equals_one_pair_at_a_time():
    rng = np.random.default_rng(0)
    bounds = np.array([0, 1, 4, 4, 9, 20])
    truth, scores = rng.integers(0, 3, 20).astype(float), rng.normal(size=(20, 3)).round(1)
    truth[[1, 2, 3, 12]] = 1.0, 1.0, 1.0, np.nan
    expected = [
        [one_by_one(truth[start:stop], column[start:stop]) for start, stop in pairwise(bounds)] for column in scores.T
    ]
    np.testing.assert_allclose(query_accuracies(truth, scores, bounds), expected, rtol=1e-15)
