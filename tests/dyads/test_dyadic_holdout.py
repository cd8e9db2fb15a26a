"""Every held-out dyad of every setting equals training again without what is new."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

import kernelrank as kr
from kernelrank.dyads import holdout, shortcuts, solvers
from kernelrank.dyads.folds import DyadicFolds
from kernelrank.dyads.shortcuts import RotatedSide
from kernelrank.errors import InvalidInputError, LostDigitsWarning, NothingToCompareError
from tests.oracles.dyadic_holdout import held_out_scores, kronecker_without, stacked_without, two_step_without

SETTINGS = ["cell", "row", "column", "both"]
ALPHAS = [2.0**-15, 1.0, 2.0**15]
GIVEN = {"kernel_rows": "precomputed", "kernel_columns": "precomputed"}
RANKINGS = [
    {"rank": "columns", "query_weight": "pairs"},
    {"rank": "columns", "query_weight": "queries"},
    {"rank": "rows", "query_weight": "items"},
]
MODELS = ["regression", "two steps", *RANKINGS]


def kernels(shape, *, singular, seed=0):
    rng = np.random.default_rng(seed)
    sides = rng.standard_normal((shape[0], 2)), rng.standard_normal((shape[1], 3))
    return [X @ X.T if singular else rbf_kernel(X, gamma=0.4) for X in sides]


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def model_and_oracle(model, K1, K2, Y, alpha, setting, options, sign=0):
    if model == "regression":
        return kr.KroneckerRLS(alpha, **options), kronecker_without(K1, K2, Y, alpha, sign=sign)
    if model == "two steps":
        other = alpha if sign else 0.3
        return kr.TwoStepRLS(alpha, other, **options), two_step_without(K1, K2, Y, alpha, other, setting)
    oracle = kronecker_without(K1, K2, Y, alpha, sign=sign, ranked=model["rank"], query_weight=model["query_weight"])
    return kr.KroneckerRankRLS(alpha, **model, **options), oracle


def thirds(size):
    """Three folds as `cv` takes them, and as lists."""
    folds = [np.arange(size)[k::3] for k in range(3)]
    return [(np.setdiff1d(np.arange(size), fold), fold) for fold in folds], [fold.tolist() for fold in folds]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("shape", [(6, 4), (3, 7)])
def test_single_ones_of_two_sets(setting, model, shape):
    rng = np.random.default_rng(1)
    for singular in (False, True):
        K1, K2 = kernels(shape, singular=singular)
        Y = rng.standard_normal(shape)
        for alpha in ALPHAS:
            estimator, oracle = model_and_oracle(model, K1, K2, Y, alpha, setting, GIVEN)
            found = kr.dyadic_holdout(estimator, K1, K2, Y, setting=setting)
            assert_close(found, held_out_scores(Y, setting, oracle))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(("mean", "digits"), [(1.0, 1e-8), (10.0, 1e-8), (100.0, 1e-7), (1000.0, 1e-5)])
def test_objects_far_from_the_origin(setting, model, mean, digits, monkeypatch):
    monkeypatch.setattr(solvers, "FEW_CELLS", 0)
    rng = np.random.default_rng(1)
    sides, shape = {"rows": rng.standard_normal((5, 2)), "columns": rng.standard_normal((4, 2))}, (5, 4)
    far = "columns" if isinstance(model, str) else model["rank"]
    options = {f"kernel_{name}": "linear" if name == far else "rbf" for name in sides}
    options |= {f"gamma_{name}": 0.3 for name in sides if name != far}
    K = {name: rbf_kernel(X, gamma=0.3) for name, X in sides.items()}
    sides[far] = sides[far] + mean
    K[far] = sides[far] @ sides[far].T
    Y = rng.standard_normal(shape)
    for scores, given in ((Y, False), (Y, True), (np.where(np.eye(*shape) > 0, np.nan, Y), False)):
        if setting != "cell" and model == "two steps" and np.isnan(scores).any():
            continue  # what is filled depends on which objects there are
        estimator, oracle = model_and_oracle(model, K["rows"], K["columns"], scores, 1.0, setting, options)
        if given:
            estimator.set_params(**GIVEN)
        X = K if given else sides
        found = kr.dyadic_holdout(estimator, X["rows"], X["columns"], scores, setting=setting)
        expected = held_out_scores(scores, setting, oracle)
        both = ~np.isnan(found) & ~np.isnan(scores)
        np.testing.assert_allclose(found[both], expected[both], rtol=0, atol=digits * np.abs(expected[both]).max())


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("means", [(10.0, 10.0), (100.0, 1000.0), (1000.0, 1000.0)])
def test_two_linear_kernels_far_from_the_origin(setting, means):
    # K₁ ⊗ K₂ has eigenvalues of 1e13: it has lost the small ones to rounding, the features have not.
    rng = np.random.default_rng(3)
    rows, columns = rng.standard_normal((5, 2)) + means[0], rng.standard_normal((6, 3)) + means[1]
    Y = rng.standard_normal((5, 6))
    found = kr.dyadic_holdout(kr.KroneckerRLS(1 / 16), rows, columns, Y, setting=setting)
    expected = held_out_scores(Y, setting, stacked_without(rows, columns, Y, 1 / 16))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("means", [(10.0, 10.0), (1000.0, 100.0), (1000.0, 1000.0)])
@pytest.mark.parametrize("solver", ["auto", "direct"])
def test_unknown_cells_far_from_the_origin(setting, means, solver):
    rng = np.random.default_rng(4)
    rows, columns = rng.standard_normal((6, 2)) + means[0], rng.standard_normal((5, 3)) + means[1]
    Y = rng.standard_normal((6, 5))
    Y[np.arange(5), np.arange(5)] = np.nan
    found = kr.dyadic_holdout(kr.KroneckerRLS(4.0, solver=solver), rows, columns, Y, setting=setting)
    expected = held_out_scores(Y, setting, stacked_without(rows, columns, Y, 4.0))
    known = ~np.isnan(Y)
    np.testing.assert_allclose(found[known], expected[known], rtol=0, atol=2e-9 * np.abs(expected[known]).max())


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
@pytest.mark.parametrize("ranked", [None, "columns", "rows"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_features_of_known_dyads_give_the_scores_of_their_kernel(relation, ranked, kernel, monkeypatch):
    rng = np.random.default_rng(5)
    X, sign, Y = rng.standard_normal((5, 3)), 1 if relation == "symmetric" else -1, rng.standard_normal((5, 5))
    Y = Y + sign * Y.T
    Y[0, 3] = Y[3, 0] = np.nan
    options = {"relation": relation, "kernel_rows": kernel, "solver": "direct"}
    options |= {"gamma_rows": 0.3} if kernel == "rbf" else {}
    model = kr.KroneckerRankRLS(0.5, rank=ranked, **options) if ranked else kr.KroneckerRLS(0.5, **options)
    expected = kr.dyadic_holdout(model, X, None, Y)
    monkeypatch.setattr(holdout, "DOUBTFUL", 0.0)
    assert_close(kr.dyadic_holdout(model, X, None, Y), expected)


def test_kernels_that_have_lost_digits():
    # The features are gone: what rounding has left of the kernels' small eigenvalues decides the scores.
    rng = np.random.default_rng(3)
    sides, Y = [rng.standard_normal((5, 2)), rng.standard_normal((6, 3))], rng.standard_normal((5, 6))
    for means, lost in (((10.0, 10.0), False), ((100.0, 1000.0), True)):
        K1, K2 = ((X + mean) @ (X + mean).T for X, mean in zip(sides, means, strict=True))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = kr.dyadic_holdout(kr.KroneckerRLS(**GIVEN), K1, K2, Y, setting=SETTINGS, alphas=[1 / 16, 1.0])
        rows, columns = (X + mean for X, mean in zip(sides, means, strict=True))
        errors = []
        for setting, number in itertools.product(SETTINGS, (0, 1)):
            alpha = [1 / 16, 1.0][number]
            expected = held_out_scores(Y, setting, stacked_without(rows, columns, Y, alpha))
            errors.append(np.abs(found[setting][..., number] - expected).max() / np.abs(expected).max())
        assert (max(errors) > 1e-8) == lost
        assert [warning.category for warning in caught] == [LostDigitsWarning] * lost
        if lost:
            text = str(caught[0].message)
            assert text.startswith("held-out scores with alphas up to 1 have a relative error of about ")
            told = float(text.split("about ")[1].split(":")[0])
            assert max(errors) / 30 < told < 30 * max(errors)


@pytest.mark.parametrize("model", RANKINGS, ids=str)
@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_cells_of_an_object_unlike_all_others(model, size):
    shape = 5, 6
    K1, K2 = kernels(shape, singular=False)
    Y = np.random.default_rng(9).standard_normal(shape)
    K1[0] *= size
    K1[:, 0] *= size
    for alpha in ALPHAS:
        estimator, oracle = model_and_oracle(model, K1, K2, Y, alpha, "cell", GIVEN)
        assert_close(kr.dyadic_holdout(estimator, K1, K2, Y), held_out_scores(Y, "cell", oracle))


@pytest.mark.parametrize("noise", ALPHAS)
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_both_sums_over_eigenvectors_keep_their_digits(noise, size):
    K1, K2 = kernels((5, 6), singular=False)
    K1[0] *= size
    K1[:, 0] *= size
    mu1, P1 = np.linalg.eigh(K1)
    mu1, mu2 = np.maximum(mu1, 0.0), np.linalg.eigvalsh(K2)
    mu2[0] = 0.0
    S = 1.0 / (mu1[:, None] * mu2 + noise)
    d, kappa = shortcuts._sums(RotatedSide(P1, mu1, P1 * mu1), mu2, S, noise)
    np.testing.assert_allclose(d, P1**2 @ S, rtol=1e-12)
    np.testing.assert_allclose(kappa, (P1**2 * mu1) @ S, rtol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("shortcut", [True, False])
def test_folds_of_two_sets(setting, model, shortcut, monkeypatch):
    if not shortcut:
        monkeypatch.setattr(shortcuts, "by_shortcut", lambda *sizes: False)
        monkeypatch.setattr(shortcuts, "ITERATIONS", 0.0)
        monkeypatch.setattr(shortcuts, "MOST_CELLS", 0)
        monkeypatch.setattr(solvers, "FEW_CELLS", 0)
    shape = 6, 5
    K1, K2 = kernels(shape, singular=True)
    Y = np.random.default_rng(2).standard_normal(shape)
    (row_cv, row_folds), (column_cv, column_folds), (cell_cv, cell_folds) = (thirds(size) for size in (6, 5, 30))
    cv = {"cell": cell_cv, "row": row_cv, "column": column_cv, "both": (row_cv, column_cv)}[setting]
    options = {
        "row_folds": row_folds if setting in ("row", "both") else None,
        "column_folds": column_folds if setting in ("column", "both") else None,
        "cells": [[tuple(divmod(cell, 5)) for cell in fold] for fold in cell_folds] if setting == "cell" else None,
    }
    for alpha in ALPHAS if shortcut else (2.0**-5, 2.0**5):
        estimator, oracle = model_and_oracle(model, K1, K2, Y, alpha, setting, GIVEN)
        found = kr.dyadic_holdout(estimator, K1, K2, Y, setting=setting, cv=cv)
        assert_close(found, held_out_scores(Y, setting, oracle, **options))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("relation", ["symmetric", "reciprocal", "any"])
@pytest.mark.parametrize("model", ["regression", "two steps", RANKINGS[0]], ids=str)
@pytest.mark.parametrize("folds", [False, True])
def test_one_set_of_objects(setting, relation, model, folds):
    sign, size = {"symmetric": 1, "reciprocal": -1, "any": 0}[relation], 6
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((size, size))
    Y = Y + sign * Y.T
    object_cv, object_folds = thirds(size)
    pairs = np.argwhere(np.triu(np.ones((size, size))))
    pair_cv, pair_folds = thirds(len(pairs))
    options, cv = {"one_set": True}, None
    if folds and setting == "cell":
        cv = pair_cv
        options["cells"] = [[(*pairs[p],) for p in fold] + [(*pairs[p][::-1],) for p in fold] for fold in pair_folds]
    elif folds:
        cv = object_cv
        options |= {"row_folds": object_folds, "column_folds": object_folds}
    for singular in (False, True):
        K, _ = kernels((size, size), singular=singular)
        for alpha in ALPHAS:
            given = {"kernel_rows": "precomputed", "relation": relation}
            estimator, oracle = model_and_oracle(model, K, K, Y, alpha, setting, given, sign)
            found = kr.dyadic_holdout(estimator, K, None, Y, setting=setting, cv=cv)
            assert_close(found, held_out_scores(Y, setting, oracle, **options))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", ["regression", "two steps", RANKINGS[0]], ids=str)
@pytest.mark.parametrize("solver", ["auto", "eigenbasis", "vec_trick"])
def test_unknown_cells(setting, model, solver):
    if model == "two steps" and solver == "vec_trick":
        pytest.skip("two-step learning has no such solver")
    rng = np.random.default_rng(4)
    K1, K2 = kernels((5, 4), singular=False)
    Y = rng.standard_normal((5, 4))
    Y[[0, 1, 2, 4, 4], [1, 3, 0, 2, 1]] = np.nan
    for alpha in (2.0**-6, 2.0**6):
        estimator, oracle = model_and_oracle(model, K1, K2, Y, alpha, setting, {**GIVEN, "solver": solver})
        found = kr.dyadic_holdout(estimator, K1, K2, Y, setting=setting)
        assert_close(found, held_out_scores(Y, setting, oracle))


def test_few_linear_features_with_unknown_cells():
    rng = np.random.default_rng(5)
    X1, X2 = rng.standard_normal((7, 2)), rng.standard_normal((6, 2))
    Y = rng.standard_normal((7, 6))
    Y[0, 1] = Y[3, 3] = np.nan
    oracle = kronecker_without(X1 @ X1.T, X2 @ X2.T, Y, 0.5)
    for setting in SETTINGS:
        found = kr.dyadic_holdout(kr.KroneckerRLS(0.5, solver="primal"), X1, X2, Y, setting=setting)
        assert_close(found, held_out_scores(Y, setting, oracle))


@pytest.mark.parametrize("model", ["regression", "two steps", RANKINGS[0]], ids=str)
def test_outputs_alphas_and_settings_are_those_of_one_at_a_time(model):
    K1, K2 = kernels((6, 5), singular=True)
    Y = np.random.default_rng(6).standard_normal((6, 5, 3))
    estimator, _ = model_and_oracle(model, K1, K2, Y, 1.0, "cell", GIVEN)
    alphas = [(0.1, 2.0), (3.0, 0.5)] if model == "two steps" else [0.1, 3.0]
    found = kr.dyadic_holdout(estimator, K1, K2, Y, setting=SETTINGS, alphas=alphas)
    for setting in SETTINGS:
        assert found[setting].shape == (6, 5, 3, 2)
        for number, alpha in enumerate(alphas):
            one = estimator._with_alpha(alpha)
            expected = kr.dyadic_holdout(one, K1, K2, Y[:, :, 1], setting=setting)
            assert_close(found[setting][:, :, 1, number], expected)


def test_folds_by_number_by_splitter_and_with_gaps():
    K1, K2 = kernels((6, 4), singular=False)
    Y = np.random.default_rng(7).standard_normal((6, 4))
    model = kr.KroneckerRLS(0.3, random_state=5, **GIVEN)
    by_number = kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=3)
    splitter = KFold(3, shuffle=True, random_state=5)
    assert_close(by_number, kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=splitter))
    one_fold = [([0, 1, 2, 3], [4, 5])]
    part = kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=one_fold)
    assert np.isnan(part[:4]).all()
    whole = [*one_fold, ([4, 5, 2, 3], [0, 1]), ([0, 1, 4, 5], [2, 3])]
    assert_close(part[4:], kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=whole)[4:])


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("relation", [None, "any"])
def test_a_search_chooses_without_what_is_held_out(setting, relation):
    rng = np.random.default_rng(10)
    X1 = rng.standard_normal((8, 2))
    X2 = None if relation else rng.standard_normal((6, 3))
    Y = rng.standard_normal((8, 8 if relation else 6))
    kernels = {"kernel_rows": "rbf", "gamma_rows": 0.4} | ({} if relation else {"kernel_columns": "linear"})
    model = kr.KroneckerRLSCV(ALPHAS, setting=setting, cv=4, relation=relation, random_state=0, **kernels)
    found = kr.dyadic_holdout(model, X1, X2, Y, setting=setting, cv=4)
    assert np.isfinite(found).all()
    folds = DyadicFolds.of(setting, 4, np.isfinite(Y), one_set=relation is not None)
    for leaving in list(folds.leaving(np.isfinite(Y)))[:3]:
        mask = leaving.mask(Y.shape)
        known = np.where(mask, np.nan, Y)
        rows, columns = (np.flatnonzero(~np.isnan(known).all(axis=axis)) for axis in (1, 0))
        if relation:
            rows = columns = np.union1d(rows, columns)
        inside = clone(model).fit(X1[rows], None if relation else X2[columns], known[np.ix_(rows, columns)])
        expected = inside.predict(X1, X1 if relation else X2).ravel()[leaving.predicted]
        assert_close(found.ravel()[leaving.predicted], expected)
    with pytest.raises(InvalidInputError, match="alphas is not supported for a search"):
        kr.dyadic_holdout(model, X1, X2, Y, alphas=[1.0])


def test_bad_input_is_named():
    K1, K2 = kernels((4, 3), singular=False)
    Y = np.random.default_rng(8).standard_normal((4, 3))
    model = kr.KroneckerRLS(**GIVEN)
    with pytest.raises(InvalidInputError, match=r"setting must be one of 'cell', 'row', 'column', 'both', got 'rows'"):
        kr.dyadic_holdout(model, K1, K2, Y, setting="rows")
    with pytest.raises(InvalidInputError, match=r"Expected cv between 2 and 4, the number of rows; got 5"):
        kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=5)
    with pytest.raises(InvalidInputError, match="each of the 4 rows either into its training part or into its test"):
        kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=[([0], [1])])
    with pytest.raises(InvalidInputError, match="cv tests row 3 more than once"):
        kr.dyadic_holdout(model, K1, K2, Y, setting="row", cv=[([0, 1, 2], [3])] * 2)
    with pytest.raises(InvalidInputError, match="Expected a KroneckerRLS, KroneckerRankRLS or TwoStepRLS, or a search"):
        kr.dyadic_holdout(kr.RankRLS(), K1, K2, Y)
    with pytest.raises(
        NothingToCompareError, match="only one object is left to rank in a training fold: use more folds"
    ):
        kr.dyadic_holdout(kr.KroneckerRankRLS(**GIVEN), K1, K2, Y, setting="column", cv=2)
    Y[:, 1:] = np.nan
    Y[0] = 1.0
    with pytest.raises(InvalidInputError, match="a training fold has no known score: use more folds"):
        kr.dyadic_holdout(model, K1, K2, Y, setting="both")
