"""A search that is held out as a whole equals the search that is fitted anew without every set."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from kernelrank.base.labels import ItemSets
from kernelrank.data import make_ranking
from kernelrank.exact_cv.nested import inner_agreements
from kernelrank.model_selection import (
    RLSCV,
    RankRLSCV,
    RLSClassifierCV,
    estimate_auc,
    leave_pair_out,
    leave_query_out,
    tournament_roc,
)
from kernelrank.model_selection.nested_search import NestedSearch
from kernelrank.model_selection.search import first_of_best
from tests.oracles import nested_search as oracle

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")

ALPHAS = 4.0 ** np.arange(-4, 5)
SEARCHES = {
    "RankRLS": RankRLSCV(ALPHAS),
    "every item counts the same": RankRLSCV(ALPHAS, query_weight="items"),
    "Gaussian": RankRLSCV(ALPHAS, kernel="gaussian", gamma=0.3),
    "two kernels": RankRLSCV(ALPHAS, kernel="gaussian", kernel_grid={"gamma": [0.1, 1.0]}),
    "RLS": RLSCV(ALPHAS),
    "Gaussian RLS": RLSCV(ALPHAS, kernel="gaussian", gamma=0.3),
    "classifier": RLSClassifierCV(ALPHAS),
}


def cohort(seed, n_levels=2, m=13, n=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X[3] = X[2]  # the same item twice
    y = rng.standard_normal(m) if n_levels is None else np.arange(m) % n_levels
    return X, y.astype(float), rng


def shortcut(search, X, y, **data):
    """Tell whether the choice without every pair comes without a refit."""
    values = NestedSearch(search, X, y, **data).values(ItemSets.of([[0, 1], [2, 5]], len(y)))
    return values is not None and not np.isnan(values).any()


@pytest.mark.parametrize("scoring", ["disagreement", "magnitude_preserving_error"])
def test_errors_of_pairs_choose_alpha_inside(scoring):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((11, 3))
    y = X[:, 0] + rng.standard_normal(11)
    search = RankRLSCV(2.0 ** np.arange(-4, 9, 4), scoring=scoring)
    pairs = np.array([[0, 1], [4, 9], [7, 3]])
    held = leave_pair_out(search, X, y, pairs=pairs)
    for (i, j), difference in zip(pairs, held.difference, strict=True):
        kept = np.delete(np.arange(11), [i, j])
        scores = clone(search).fit(X[kept], y[kept]).predict(X[[i, j]])
        assert difference == pytest.approx(scores[0] - scores[1], abs=1e-8)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("n_levels", [2, 3, None])
@pytest.mark.parametrize("with_groups", [False, True])
def test_pairs_equal_refitting(name, n_levels, with_groups):
    if name == "classifier" and n_levels != 2:
        pytest.skip("a classifier has classes")
    search = SEARCHES[name]
    X, y, rng = cohort(len(name), n_levels)
    groups = rng.permutation(len(y)) // 2 if with_groups else None
    assert shortcut(search, X, y)
    held = leave_pair_out(search, X, y, groups=groups)
    expected, _ = oracle.pair_differences(search, X, y, held.first, held.second, groups)
    np.testing.assert_allclose(held.difference, expected, rtol=0, atol=1e-8 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", ["RankRLS", "every item counts the same", "RLS"])
def test_weights_equal_refitting(name):
    search = SEARCHES[name]
    X, y, rng = cohort(3)
    weight = rng.uniform(0.5, 2.0, len(y))
    # With pair weights v_i v_j no Γ serves two pairs, and the search is refitted.
    assert shortcut(search, X, y, sample_weight=weight) == (name != "RankRLS")
    held = leave_pair_out(search, X, y, sample_weight=weight)
    expected, _ = oracle.pair_differences(search, X, y, held.first, held.second, sample_weight=weight)
    np.testing.assert_allclose(held.difference, expected, rtol=0, atol=1e-8 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_alpha_is_chosen(seed):
    X, y, _ = cohort(seed, m=16)
    nested = NestedSearch(SEARCHES["RankRLS"], X, y)
    pairs = [[i, j] for i in range(6) for j in range(8, 12)]
    values = nested.values(ItemSets.of(pairs, len(y)))
    for held, row in zip(pairs, values, strict=True):
        _, best = oracle.refit_without(SEARCHES["RankRLS"], X, y, np.array(held))
        assert ALPHAS[row.argmax()] == best["alpha"]


def tiny_problem(seed):
    """Draw a few items of which many have tied scores by many models: features are whole numbers, at any offset."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(6, 13)), int(rng.integers(1, 5))
    X = np.round(2.0 * rng.standard_normal((m, n))) + rng.choice([0.0, 1.0, 1000.0])
    kernel = str(rng.choice(["linear", "gaussian", "polynomial"]))
    if kernel != "linear":
        X -= np.round(X.mean())
    y = rng.integers(0, rng.choice([2, 4, 100]), m).astype(float)
    y[:3] = [0.0, 1.0, 1.0]
    kernel_options = {"gaussian": {"gamma": float(rng.choice([0.01, 1.0]))}, "polynomial": {"degree": 2, "gamma": 1.0}}
    options = {"kernel": kernel, "query_weight": str(rng.choice(["pairs", "items", "queries"]))}
    return RankRLSCV(8.0 ** np.arange(-6, 4), **options, **kernel_options.get(kernel, {})), X, y


def test_indicators_of_rare_levels_need_no_refits():
    # Two items alone have a level: without both its direction is lost, and the determinant of their pair is tiny.
    rng = np.random.default_rng(0)
    codes = rng.choice(6, size=(60, 10), p=[0.4, 0.3, 0.2, 0.04, 0.03, 0.03])
    X = (codes[:, :, None] == np.arange(6)).reshape(60, -1).astype(float)
    y = np.arange(60) % 2.0
    nested = NestedSearch(RankRLSCV(), X, y)
    held = [[a, b] for a in range(0, 60, 12) for b in range(1, 60, 6)]
    values = nested.values(ItemSets.of(held, 60))
    assert not np.isnan(values).any()
    _, best = oracle.refit_without(nested.search, X, y, np.array(held[7]))
    assert nested.kernels[0].alphas[first_of_best(values[7])] == pytest.approx(best["alpha"])


@pytest.mark.parametrize("first", range(0, 120, 20))
@pytest.mark.filterwarnings("ignore::kernelrank.errors.LostDigitsWarning")
def test_tiny_problems_with_ties_choose_the_alpha_of_refits(first):
    for seed in range(first, first + 20):
        search, X, y = tiny_problem(seed)
        held = [[0, 1], [2, len(y) - 1]]
        values = NestedSearch(search, X, y).values(ItemSets.of(held, len(y)))
        if values is None:
            continue  # refitted: too few items remain
        for items, row in zip(held, values, strict=True):
            kept = np.setdiff1d(np.arange(len(y)), items)
            if np.isnan(row).any() or len(np.unique(y[kept])) < 2:
                continue
            refit = clone(search).fit(X[kept], y[kept])
            accuracy, pairs = refit.cv_results_["mean_test_score"], np.sum(y[kept][:, None] > y[kept])
            np.testing.assert_allclose(0.5 + row / (2.0 * pairs), accuracy, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_huge_alphas_choose_as_refits(gamma):
    X, y, _ = cohort(5, m=12)
    search = RankRLSCV(10.0 ** np.arange(0, 16, 3), kernel="gaussian" if gamma else "linear", gamma=gamma)
    held = leave_pair_out(search, X, y, pairs=[[0, 1], [4, 7]])
    expected, _ = oracle.pair_differences(search, X, y, held.first, held.second)
    np.testing.assert_allclose(held.difference, expected, rtol=1e-6)


def test_of_alphas_that_are_equal_but_for_rounding_the_first_is_chosen():
    values = np.array([[0.5, 0.75 - 1e-15, 0.75, 0.7], [-2.0, -1.0 - 1e-13, -1.5, -1.0], [np.nan, 1.0, 2.0, 3.0]])
    assert first_of_best(values).tolist() == [1, 1, 0]


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_counts_of_inner_pairs_are_those_of_leave_pair_out(alpha, kernel):
    from kernelrank.estimators import RankRLS

    X, y, _ = cohort(8, None)
    learner = RankRLS(alpha, kernel=kernel, gamma=0.5 if kernel == "gaussian" else None)
    nested = NestedSearch(RankRLSCV([alpha], kernel=kernel, gamma=learner.gamma), X, y)
    sets = [[0], [1, 4], [2, 3], [5, 6, 7]]
    found = inner_agreements(nested.kernels[0].problem, ItemSets.of(sets, len(y)), np.array([alpha]))
    for held, row in zip(sets, found, strict=True):
        kept = np.setdiff1d(np.arange(len(y)), held)
        inside = leave_pair_out(learner, X[kept], y[kept])
        assert row[0] == np.sum(np.sign(inside.difference) * np.sign(inside.truth))


@pytest.mark.parametrize(
    "search",
    [
        RankRLSCV(ALPHAS),
        RankRLSCV(ALPHAS, query_weight="items"),
        RankRLSCV(ALPHAS, kernel="gaussian", gamma=0.3, query_weight="queries"),
        RankRLSCV(ALPHAS, cost="unit"),
        RankRLSCV(ALPHAS, scoring="ndcg@3"),
        RankRLSCV(ALPHAS, scoring=lambda y_true, y_score, qid: -float(np.mean((y_true - y_score) ** 2))),
        RLSCV(ALPHAS),
    ],
    ids=["pairs", "items", "queries", "unit", "ndcg", "function", "RLS"],
)
def test_queries_inside_queries_equal_refitting(search):
    X, y, qid = make_ranking(n_queries=8, n_items=(1, 6), n_levels=4, random_state=3)
    y = y - y.min()
    found = leave_query_out(search, X, y, qid)
    expected = np.empty(len(y))
    for query in np.unique(qid):
        held = np.flatnonzero(qid == query)
        expected[held], _ = oracle.refit_without(search, X, y, held, qid=qid)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


PAIRS_INSIDE = {"cv": "leave_pair_out", "scoring": "pairwise_accuracy"}


@pytest.mark.parametrize(
    ("search", "chosen"),
    [
        (RankRLSCV(ALPHAS), 1),  # nothing is compared without the last positive item: the first of equal alphas
        (RLSCV(ALPHAS, **PAIRS_INSIDE), 6),  # learns from items of one class, too
        (RLSCV(ALPHAS, kernel="gaussian", gamma=0.3, **PAIRS_INSIDE), 3),
    ],
)
def test_one_positive_item_inside(search, chosen):
    X, y, _ = cohort(0, m=14)
    y[:] = -1.0
    y[[2, 7]] = 1.0
    assert shortcut(search, X, y)
    held = leave_pair_out(search, X, y)
    expected, best = oracle.pair_differences(search, X, y, held.first, held.second)
    assert len({one["alpha"] for one in best}) == chosen
    np.testing.assert_allclose(held.difference, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["RankRLS", "RLS"])
def test_the_tournament_has_the_estimate(name):
    X, y, _ = cohort(4, m=18)
    estimate = estimate_auc(SEARCHES[name], X, y)
    roc = tournament_roc(SEARCHES[name], X, y)
    assert roc.leave_pair_out == estimate
    held = leave_pair_out(SEARCHES[name], X, y)
    assert estimate.auc == pytest.approx(np.mean(0.5 + 0.5 * np.sign(held.difference)))
    assert "choose alpha" in estimate.interval.method
