"""The origin of scores is taken away without rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.comparisons import RelativeScores, ScoredQueries
from kernelrank.comparisons.scored import from_origin, score_origins

FLOATS = st.floats(-1e300, 1e300, allow_nan=False)


@given(
    scores=st.lists(FLOATS, min_size=1, max_size=8),
    level=st.sampled_from([0.0, 1.0, -1e9, 1.7e9, 1e12, -3e15, 1e200]),
    scale=st.sampled_from([1.0, 1e-300, 1e-200]),
)
def test_all_differences_stay_what_they_are(scores, level, scale):
    y = np.array(scores)[:, None] * scale + level
    queries, weight = Queries.from_labels(None, len(y)), np.ones(len(y))
    moved = from_origin(y, queries, score_origins(y, queries, weight))
    exact = [
        Fraction(float(before)) - Fraction(float(after)) for before, after in zip(y[:, 0], moved[:, 0], strict=True)
    ]
    assert len(set(exact)) == 1
    assert np.abs(moved).max() <= 2 * np.ptp(y) + np.spacing(np.abs(y).max())


def test_queries_outputs_and_items_without_weight():
    y = np.array([[5.0, -7.0], [1e12 + 4, 3.0], [6.0, -9.0], [1e12 + 1, 2.0], [0.0, 0.0], [8.0, 0.0]])
    queries = Queries.from_labels(["a", "b", "a", "b", "b", "c"], 6)
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    origins = score_origins(y, queries, weight)
    np.testing.assert_allclose(origins, [[5.0, -7.0], [1e12 + 1, 2.0], [0.0, 0.0]])
    moved = from_origin(y, queries, origins)[:4]
    np.testing.assert_array_equal(moved, [[0.0, 0.0], [3.0, 1.0], [1.0, -2.0], [0.0, 0.0]])


def test_scores_that_have_no_common_level_are_not_copied():
    y = np.array([[0.0], [3.0], [-1.0], [2.0]])
    queries = Queries.from_labels([0, 0, 1, 1], 4)
    assert ScoredQueries(y, queries).magnitudes is y
    assert RelativeScores(y, queries).magnitudes is y
