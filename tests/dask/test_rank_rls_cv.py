"""Alpha is chosen by folds of queries, exactly as refitting without each fold would."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from kernelrank.dask import DaskRankRLSCV
from kernelrank.dask.statistics import fold_of
from kernelrank.data import make_ranking
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.kernels.kernel import gamma_by_rule
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.model_selection import RankRLSCV
from tests.oracles.pairs import fit_weights, scored_edges

X, y, qid = make_ranking(n_queries=24, n_items=(1, 9), n_features=4, n_levels=4, noise=2.0, random_state=1)
X = np.asarray(X)
ALPHAS = [1e-3, 0.1, 10.0, 1000.0, 1e5]
ITEMS = da.from_array(X, chunks=(17, 4))


def refitted(scoring, **options):
    """Refit without each fold, for every alpha, and judge the fold."""
    folds, table = fold_of(qid, 3), np.full((3, len(ALPHAS)), np.nan)
    for fold in range(3):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for place, alpha in enumerate(ALPHAS):
            f = RankRLS(alpha, **options).fit(X[train], y[train], qid=qid[train]).predict(X[test])
            if scoring == "pairwise_accuracy":
                table[fold, place] = PairwiseAccuracy().average(y[test], f, qid=qid[test])
            else:
                edges = scored_edges(y[test], qid[test], **options)
                errors = edges.w2 * (edges.z - (f[edges.h] - f[edges.j])) ** 2
                table[fold, place] = -errors.sum() / edges.w2.sum()
    return table


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("scoring", ["squared_error", "pairwise_accuracy"])
@pytest.mark.parametrize("query_weight", ["pairs", "queries"])
def test_as_refitting_without_each_fold(client, scoring, query_weight):
    model = DaskRankRLSCV(ALPHAS, cv=3, scoring=scoring, query_weight=query_weight, client=client).fit(
        ITEMS, y, qid=qid
    )
    expected = refitted(scoring, query_weight=query_weight)
    found = np.stack([model.cv_results_[f"split{fold}_test_score"] for fold in range(3)])
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected.mean(axis=0), rtol=1e-8)
    assert model.alpha_ == ALPHAS[int(np.argmax(expected.mean(axis=0)))]
    np.testing.assert_allclose(model.best_score_, expected.mean(axis=0).max(), rtol=1e-8)
    whole = RankRLS(model.alpha_, query_weight=query_weight).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert model.to_local().alpha == model.alpha_


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("mean", [1.0, 10.0, 100.0, 1000.0])
def test_features_far_from_the_origin(client, mean):
    # Rankings do not depend on the origin: the refits are those of the same items around it.
    items = np.round(64 * X) / 64
    folds, expected = fold_of(qid, 3), np.full((3, len(ALPHAS)), np.nan)
    for fold in range(3):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        left, held = scored_edges(y[train], qid[train]), scored_edges(y[test], qid[test])
        for place, alpha in enumerate(ALPHAS):
            f = items[test] @ fit_weights(items[train], left, alpha)
            expected[fold, place] = -np.average((held.z - (f[held.h] - f[held.j])) ** 2, weights=held.w2)
    far = da.from_array(items + mean, chunks=(17, 4))
    model = DaskRankRLSCV(ALPHAS, cv=3, client=client).fit(far, y, qid=qid)
    found, digits = np.stack([model.cv_results_[f"split{fold}_test_score"] for fold in range(3)]), 1e-13 * mean**2
    np.testing.assert_allclose(found, expected, rtol=max(1e-9, digits))
    assert model.alpha_ == ALPHAS[int(np.argmax(expected.mean(axis=0)))]
    whole = fit_weights(items, scored_edges(y, qid), model.alpha_)
    np.testing.assert_allclose(model.coef_, whole, rtol=0, atol=max(1e-9, digits) * np.abs(whole).max())


def test_a_basis_serves_all_folds(client):
    options = {"kernel": "rbf", "gamma": 0.2, "basis": 12, "random_state": 0}
    model = DaskRankRLSCV(ALPHAS, cv=3, client=client, **options).fit(ITEMS, y, qid=qid)
    whole = RankRLS(model.alpha_, **options).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9, atol=1e-10)


def test_too_few_queries_and_too_few_alphas(client):
    with pytest.raises(InvalidInputError, match="use fewer folds or more queries"):
        DaskRankRLSCV(ALPHAS, cv=3, client=client).fit(ITEMS, y, qid=np.zeros(len(y), dtype=int))
    with pytest.warns(EdgeOfGridWarning, match="is the largest of the grid"):
        DaskRankRLSCV([1e-9, 1e-8, 1.0], cv=3, client=client).fit(
            ITEMS, np.random.default_rng(0).random(len(y)), qid=qid
        )


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("options", [{}, {"cost": "unit", "query_weight": "queries"}, {"basis": 12, "kernel": "rbf"}])
def test_the_grid_is_that_of_a_local_search(client, options):
    options = {**options, "gamma": "median", "random_state": 0}
    half = int((qid < np.unique(qid)[12]).sum())  # queries are whole, and stand together
    parts = da.from_array(X, chunks=((half, len(X) - half), 4))
    model = DaskRankRLSCV(cv=3, client=client, **options).fit(parts, y, qid=qid)
    np.testing.assert_array_equal(model.alphas_, model.cv_results_["param_alpha"])
    if "basis" in options:
        assert model.to_local().gamma_ == gamma_by_rule("median", model.X_fit_)
        options["gamma"] = model.to_local().gamma_  # all items have another median than the basis
    local = RankRLSCV(**options)._settled(X, qid=qid)
    np.testing.assert_allclose(model.alphas_, local.alphas, rtol=1e-9)
