from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.data import preferences_from_clicks
from kernelrank.errors import InvalidInputError


def by_definition(query, rank, clicked, propensity=None):
    """All pairs of rows of one list: the first clicked, the second not and at a better rank."""
    found = {}
    for i in range(len(query)):
        for j in range(len(query)):
            if query[i] == query[j] and clicked[i] and not clicked[j] and rank[j] < rank[i]:
                found[i, j] = 1.0 if propensity is None else 1.0 / propensity[rank[i] - 1]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_clicks_are_preferred_to_what_was_skipped_above(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, size=rng.integers(1, 9))
    query = np.repeat(rng.permutation(len(sizes)), sizes)
    rank = np.concatenate([rng.choice(np.arange(1, 10), size=size, replace=False) for size in sizes])
    clicked = rng.random(len(query)) < rng.uniform(0, 1)
    mixed = rng.permutation(len(query))
    query, rank, clicked = query[mixed], rank[mixed], clicked[mixed]
    labels = [f"list {q}" for q in query] if seed % 2 else query
    propensity = rng.uniform(0.1, 1.0, size=9)
    weighted = preferences_from_clicks(labels, rank, clicked, propensity=propensity)
    expected = by_definition(query, rank, clicked, propensity)
    assert len(weighted.pairs) == len(expected)
    found = dict(zip(map(tuple, weighted.pairs.tolist()), weighted.weight, strict=True))
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[pair] for pair in expected], list(expected.values()), rtol=1e-12)
    assert weighted.judge.tolist() == [labels[i] for i in weighted.pairs[:, 0]]
    plain = preferences_from_clicks(labels, rank, clicked.astype(int))
    assert plain.weight is None
    np.testing.assert_array_equal(plain.pairs, weighted.pairs)


def test_they_are_what_fit_pairs_takes():
    X = np.random.default_rng(0).standard_normal((6, 2))
    log = preferences_from_clicks("aaabbb", [1, 2, 3, 3, 2, 1], [0, 1, 1, 1, 0, 0], propensity=[1, 0.5, 0.25])
    assert log.notes == ("3 clicks, 0 of them with no skipped item above",)
    found = kr.RankRLS(0.3).fit_pairs(X, log.pairs, weight=log.weight)
    D = X[[1, 2, 3, 3]] - X[[0, 0, 5, 4]]
    W = np.diag([2.0, 4.0, 4.0, 4.0])
    w = np.linalg.solve(D.T @ W @ D + 0.3 * np.eye(2), D.T @ W @ np.ones(4))
    np.testing.assert_allclose(found.coef_, w, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("aab", [1, 1, 1], [0, 1, 0]), {}, "query 'a' has rank 1 twice: give each list"),
        (("aa", [0, 1], [0, 1]), {}, "integers from 1"),
        (("aa", [0.5, 1], [0, 1]), {}, "integers from 1"),
        (("aa", [1, 2], [0, 2]), {}, "True or False"),
        (("aa", [1, 2], [0, 1, 1]), {}, "each of the 2 rows"),
        (("aaa", [1, 2], [0, 1]), {}, "query has 3 entries"),
        (("aa", [1, 2], [0, 1]), {"propensity": [1.0]}, "rank 2 was clicked, but propensity ends at 1"),
        (("aa", [1, 2], [0, 1]), {"propensity": [1.0, 0.0]}, "probabilities above 0"),
        (("aa", [1, 2], [0, 1]), {"propensity": [1.0, np.nan]}, "probabilities above 0"),
    ],
)
def test_logs_that_are_wrong(arguments, options, message):
    with pytest.raises(InvalidInputError, match=message):
        preferences_from_clicks(*arguments, **options)


def test_a_log_without_clicks_has_no_preferences():
    log = preferences_from_clicks(["a", "a"], [1, 2], [False, False], propensity=[1.0])
    assert log.pairs.shape == (0, 2)
    assert len(log.weight) == 0
