"""Permutation tests: further outputs equal holding out each permutation, and null hypotheses that hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier

from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RLS, RankRLS, RLSClassifier
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.model_selection import leave_pair_out, leave_query_out, permutation, permutation_test
from tests.oracles import auc as oracle

rng = np.random.default_rng(0)
X = rng.standard_normal((15, 3))
y = np.round(X[:, 0] + rng.standard_normal(15), 1)
CLASSES = np.array(["a", "b"])[(y > np.median(y)).astype(int)]
QID = np.repeat(["x", "y", "z"], 5)


def literal(estimator, labels, order, qid=None, groups=None):
    """The statistic of one permutation, held out by itself."""
    if qid is None:
        return leave_pair_out(estimator, X, labels[order], groups=groups).accuracy
    scores = leave_query_out(estimator, X, labels[order], qid)
    return PairwiseAccuracy()(labels[order], scores, qid=qid).mean


def orders(monkeypatch, *args, **kwargs):
    """Run a test and catch the permutations that it drew."""
    seen = []
    original = permutation._permuter

    def spy(sample, random):
        permute = original(sample, random)

        def caught():
            seen.append(permute())
            return seen[-1]

        return caught

    monkeypatch.setattr(permutation, "_permuter", spy)
    return permutation_test(*args, **kwargs), seen


CASES = {
    "RLS": (RLS(0.5), y, {}),
    "RLS classes": (RLSClassifier(), CLASSES, {}),
    "RankRLS": (RankRLS(2.0), y, {}),
    "RankRLS kernel": (RankRLS(kernel="rbf"), y, {}),
    "RankRLS unit": (RankRLS(cost="unit"), y, {}),
    "RankRLS ties out": (RankRLS(ties="exclude"), y, {}),
    "Ridge": (Ridge(), y, {}),
    "RidgeClassifier": (RidgeClassifier(), CLASSES, {}),
    "groups": (RankRLS(), y, {"groups": np.arange(15) // 3}),
    "groups refitted": (Ridge(), y, {"groups": np.arange(15) // 3}),
    "queries": (RankRLS(), y, {"qid": QID}),
    "queries by items": (RankRLS(query_weight="items"), y, {"qid": QID}),
    "queries unit": (RankRLS(cost="unit"), y, {"qid": QID}),
    "queries RLS": (RLS(), y, {"qid": QID}),
    "queries refitted": (Ridge(), y, {"qid": QID}),
}


@pytest.mark.parametrize(("estimator", "labels", "options"), CASES.values(), ids=CASES)
def test_each_permutation_is_held_out(monkeypatch, estimator, labels, options):
    found, drawn = orders(monkeypatch, estimator, X, labels, **options, n_permutations=4, random_state=1)
    groups, qid = options.get("groups"), options.get("qid")
    assert found.statistic == pytest.approx(literal(estimator, labels, np.arange(15), qid, groups))
    np.testing.assert_allclose(found.null, [literal(estimator, labels, order, qid, groups) for order in drawn])
    assert found.pvalue == (1 + np.sum(found.null >= found.statistic - 1e-12)) / 5
    for order in drawn:
        assert sorted(order) == list(range(15))
        if qid is not None:
            assert np.all(QID[order] == QID)
        if groups is not None:
            # Whole groups move, and their items keep their places.
            assert np.all(order.reshape(5, 3) % 3 == [0, 1, 2])
            assert np.all(groups[order].reshape(5, 3) == groups[order].reshape(5, 3)[:, :1])


def test_classes_are_an_auc():
    found = permutation_test(RLSClassifier(), X, CLASSES, n_permutations=3, random_state=0)
    assert found.statistic == pytest.approx(oracle.leave_pair_out(RLSClassifier(), X, CLASSES, CLASSES == "b"))


def test_blocks_change_nothing(monkeypatch):
    for options in ({}, {"qid": QID}, {"groups": np.arange(15) // 3}):
        whole = permutation_test(RankRLS(), X, y, **options, n_permutations=23, random_state=0)
        monkeypatch.setattr(permutation, "BLOCK_BYTES", 8 * 15 * 4)
        parts = permutation_test(RankRLS(), X, y, **options, n_permutations=23, random_state=0)
        monkeypatch.undo()
        np.testing.assert_allclose(whole.null, parts.null)


GROUPS = np.repeat(np.arange(5), 3)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (RankRLS(), {}),
        (RankRLS(), {"qid": QID}),
        (RankRLS(), {"groups": GROUPS}),
        (RankRLS(cost="unit"), {}),
        (RankRLS(cost="unit"), {"qid": QID}),
        (RLS(), {}),
    ],
    ids=str,
)
def test_the_best_of_several_alphas_is_chosen_anew_for_each_permutation(estimator, options):
    def run(alphas):
        return permutation_test(estimator, X, y, **options, n_permutations=12, random_state=0, alphas=alphas)

    alone = [run([alpha]) for alpha in (0.01, 1.0, 1e4)]
    together = run([0.01, 1.0, 1e4])
    np.testing.assert_allclose(together.null, np.max([test.null for test in alone], axis=0), rtol=0, atol=1e-12)
    assert together.statistic == pytest.approx(max(test.statistic for test in alone), abs=1e-12)
    assert len({tuple(test.null) for test in alone}) > 1


def test_one_decomposition_serves_a_thousand(monkeypatch):
    from kernelrank.exact_cv import problem
    from kernelrank.exact_cv.problem import DualInverse

    calls = []

    def counted(function):
        return lambda *a, **k: calls.append(1) or function(*a, **k)

    monkeypatch.setattr(problem, "decompose", counted(problem.decompose))
    monkeypatch.setattr(DualInverse, "of", counted(DualInverse.of))
    assert len(permutation_test(RankRLS(kernel="rbf"), X, y, random_state=0).null) == 1000
    assert 1 <= len(calls) <= 4  # the scores, the permutations, and a second form of each where digits were lost


def test_p_values_are_uniform_without_signal_and_small_with():
    draws = np.random.default_rng(3)
    p = [
        permutation_test(
            RankRLS(), draws.standard_normal((12, 2)), draws.standard_normal(12), n_permutations=99, random_state=k
        ).pvalue
        for k in range(100)
    ]
    assert 0.4 < np.mean(p) < 0.6
    assert np.mean(np.array(p) <= 0.1) < 0.2
    assert permutation_test(RankRLS(), X, X[:, 0], n_permutations=99, random_state=0).pvalue == 0.01


def test_fewer_where_every_permutation_is_refitted():
    assert len(permutation_test(RankRLS(cost="unit"), X, y, qid=QID, random_state=0).null) == 100


def test_says_what_it_did():
    found = permutation_test(RankRLS(), X, y, qid=QID, n_permutations=9, random_state=0)
    assert str(found).startswith(f"leave_query_out accuracy {found.statistic:.3f}, p = ")
    assert "9 permutations of items inside queries" in str(found)
    assert repr(found) == f"<PermutationTest {found}>"
    again = permutation_test(RankRLS(), X, y, qid=QID, n_permutations=9, random_state=0)
    assert again.null.tolist() == found.null.tolist()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"statistic": "r2"}, InvalidInputError, "statistic must be one of 'auto'"),
        ({"statistic": "leave_query_out"}, InvalidInputError, "pass qid"),
        ({"statistic": "leave_pair_out", "qid": QID}, InvalidInputError, "is for data without queries"),
        ({"qid": QID, "groups": QID}, InvalidInputError, "give qid or groups, not both"),
        ({"n_permutations": 0}, InvalidInputError, "n_permutations must be a whole number"),
        ({"groups": np.repeat([0, 1, 2], [4, 5, 6])}, InvalidInputError, "no two groups have the same size"),
        ({"y": np.ones(15)}, NothingToCompareError, "all scores of y are the same"),
        ({"y": np.array(list("abc") * 5)}, InvalidInputError, "y has 3 classes"),
        ({"y": np.r_[np.nan, y[1:]]}, ValueError, "y contains NaN"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        permutation_test(RankRLS(), X, **{"y": y, **options})


def test_groups_of_one_item_change_nothing():
    options = {"n_permutations": 20, "random_state": 0}
    one, other = (permutation_test(RankRLS(), X, y, groups=groups, **options) for groups in (None, np.arange(15)))
    assert (one.statistic, one.pvalue, one.permuted) == (other.statistic, other.pvalue, other.permuted)
    np.testing.assert_array_equal(one.null, other.null)


@pytest.mark.parametrize("options", [{}, {"cost": "magnitude"}])
def test_the_default_cost_needs_one_decomposition_for_all_permutations(options):
    assert permutation._shares_one_graph(RankRLS(**options))
    assert not permutation._shares_one_graph(RankRLS(cost="unit"))
    assert not permutation._shares_one_graph(RankRLS(ties="exclude"))
