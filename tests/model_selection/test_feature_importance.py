"""Permutation importance: within queries, the same for every form of X, and zero for what a model does not use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from tests.oracles.feature_importance import all_permutations_importance


def fitted(n_queries=30, **options):
    X, y, qid = kr.make_ranking(n_queries=n_queries, n_features=4, random_state=0, **options)
    return kr.RankRLS().fit(X, y, qid=qid), X, y, qid


def test_it_converges_to_the_mean_over_all_permutations():
    X, y, qid = kr.make_ranking(n_queries=4, n_items=2, n_features=3, random_state=1)
    model = kr.RankRLS().fit(X, y, qid=qid)
    found = kr.permutation_importance(model, X, y, qid, n_repeats=3000, random_state=0)
    exact = [all_permutations_importance(model.predict, X, y, qid, feature) for feature in range(3)]
    spread = found.repeats.std(axis=1) / np.sqrt(3000)
    np.testing.assert_array_less(np.abs(found.importances - exact), 4 * spread + 1e-12)


def test_a_feature_that_is_constant_in_each_query_has_no_importance():
    model, X, y, qid = fitted()
    X = X.copy()
    X[:, 2] = qid  # differs between queries only: a permutation over all items would change the ranking
    found = kr.permutation_importance(model, X, y, qid, random_state=0)
    assert found.importances[2] == found.low[2] == found.high[2] == 0.0
    assert np.all(found.importances[[0, 1, 3]] != 0)


def test_every_form_of_the_items_gives_the_same():
    model, X, y, qid = fitted()
    names = list("abcd")
    unnamed = kr.permutation_importance(model, X, y, qid, random_state=0)
    assert list(unnamed.feature_names) == ["x0", "x1", "x2", "x3"]
    expected = unnamed.importances
    for form in (csr_array(X), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        one = kr.RankRLS().fit(form, y, qid=qid)
        found = kr.permutation_importance(one, form, y, qid, random_state=0)
        np.testing.assert_allclose(found.importances, expected, atol=1e-12)
    assert list(found.feature_names) == names


def test_intervals_hold_the_importance_and_errors_count_as_falls():
    model, X, y, qid = fitted()
    found = kr.permutation_importance(model, X, y, qid, scoring="disagreement", random_state=0)
    same = kr.permutation_importance(model, X, y, qid, random_state=0)
    np.testing.assert_allclose(found.importances, same.importances, atol=1e-12)
    assert np.all(same.low <= same.importances)
    assert np.all(same.importances <= same.high)
    one = kr.permutation_importance(model, X[qid == 0], y[qid == 0], random_state=0)
    assert "permutations" in one.method


def test_the_frame_and_the_plot_begin_with_the_most_important():
    model, X, y, qid = fitted()
    found = kr.permutation_importance(model, X, y, qid, feature_names=list("abcd"), random_state=0)
    frame = found.to_frame()
    assert frame["importance"].is_monotonic_decreasing
    display = found.plot(k=2)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(frame["feature"][:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_repeats": 0}, "Expected n_repeats as a whole number of at least 1; got 0"),
        ({"feature_names": ["a"]}, "Expected one feature name for each of 4 columns; got 1"),
        ({"scoring": "magic"}, "unknown measure"),
        ({"confidence": 2}, "confidence must lie between 0 and 1"),
    ],
)
def test_bad_input(options, message):
    model, X, y, qid = fitted()
    with pytest.raises(InvalidInputError, match=message):
        kr.permutation_importance(model, X, y, qid, **options)
