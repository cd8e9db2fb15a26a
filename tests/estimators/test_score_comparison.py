"""Two items compared: probabilities of normal differences, and which rows belong together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from kernelrank.errors import InvalidInputError
from kernelrank.estimators.posterior import ScoreComparison, matched_rows


def test_probabilities_are_those_of_normal_differences():
    difference, std = np.array([-2.0, 0.3, 40.0]), np.array([1.0, 2.0, 1.0])
    found = ScoreComparison.normal(difference, std, "here")
    np.testing.assert_allclose(found.probability, norm.cdf(difference / std), rtol=1e-12)
    assert found.basis == "here"
    assert list(found.to_frame().columns) == ["difference", "std", "probability"]


def test_a_difference_without_doubt_is_certain_or_a_tie():
    found = ScoreComparison.normal(np.array([-1.0, 0.0, 1.0]), np.zeros(3), "here")
    assert found.probability.tolist() == [0.0, 0.5, 1.0]


def test_many_comparisons_show_the_first_ten():
    found = ScoreComparison.normal(np.arange(12.0), np.ones(12), "here")
    assert dict(found._facts())["not shown"] == "2"
    assert str(ScoreComparison.normal(np.array([1.0]), np.array([0.5]), "here")) == (
        "difference 1 ± 0.5, probability 0.977 (here)"
    )


@pytest.mark.parametrize(("first", "second"), [(3, 3), (1, 3), (3, 1), (1, 1), (0, 0), (1, 0)])
def test_rows_are_matched_or_one_is_repeated(first, second):
    a, b = matched_rows(first, second)
    expected = np.broadcast_shapes((first,), (second,))[0]
    assert len(a) == len(b) == expected
    assert a.tolist() == (list(range(expected)) if first == expected else [0] * expected)
    assert b.tolist() == (list(range(expected)) if second == expected else [0] * expected)


def test_rows_that_do_not_match_are_named():
    with pytest.raises(InvalidInputError, match="X_a has 2 rows, X_b has 3"):
        matched_rows(2, 3)
