"""Every solver and every form finds the minimum over the pairs that the oracle writes out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.errors import NothingToCompareError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.kernels import Kernel
from tests.oracles.pairs import Edges, fit_regression, fit_weights, root_features, scored_edges, tolerance

KERNELS = {"linear": {}, "rbf": {"gamma": 0.3}, "poly": {"degree": 2, "gamma": 0.1, "coef0": 1.0}}


@st.composite
def problems(draw):
    """Items with duplicated rows, ties, one-item queries; more columns than items or fewer; alpha over its range."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 12)), draw(st.integers(1, 15))
    X = rng.standard_normal((m, n))
    if draw(st.booleans()):
        X = X[np.concatenate([[0, 1], rng.integers(0, max(2, m // 2), size=m - 2)])]
    # Distinct scores keep 0.1 apart: the relative cost divides by the square of their difference.
    y = rng.integers(0, draw(st.integers(2, 5)), size=m) / 2.0 if draw(st.booleans()) else rng.normal(size=m).round(1)
    qid = rng.integers(0, draw(st.integers(1, 4)), size=m)
    weight = rng.integers(1, 4, size=m).astype(float) if draw(st.booleans()) else None
    alpha = 2.0 ** draw(st.integers(-15, 15))
    return X, y, qid, weight, alpha


def columns(X, kernel):
    return X if kernel == "linear" else root_features(Kernel(kernel, **KERNELS[kernel]).matrix(X))


def assert_exact(found, X, edges, alpha, kernel):
    Phi = columns(X, kernel)
    expected = Phi @ fit_weights(Phi, edges, alpha)
    K, L = Phi @ Phi.T, edges.laplacian()
    error = (found - found.mean()) - (expected - expected.mean())
    assert np.abs(error).max() <= tolerance(K, L, edges.summands(), alpha, expected - expected.mean())


FORMS = {
    "cholesky": {"solver": "cholesky"},
    "spectral": {"solver": "spectral"},
    "conjugate_gradient": {"solver": "conjugate_gradient", "tol": 1e-14, "max_iter": 5000},
    "reduced set of all items": {"basis": "all"},
}


def fit(form, X, y, qid, weight, alpha, kernel, **options):
    form = dict(FORMS[form])
    if form.get("basis") == "all":
        form["basis"] = np.arange(len(X))
    model = RankRLS(alpha, kernel=kernel, **KERNELS[kernel], **form, **options)
    return model.fit(X, y, qid=qid, sample_weight=weight)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(
    problem=problems(),
    cost=st.sampled_from(["magnitude", "unit", "relative"]),
    ties=st.sampled_from(["include", "exclude"]),
    query_weight=st.sampled_from(["pairs", "items", "queries"]),
)
@pytest.mark.filterwarnings("ignore::kernelrank.errors.NotConverged")
def test_scored_items(form, kernel, problem, cost, ties, query_weight):
    X, y, qid, weight, alpha = problem
    options = {"cost": cost, "ties": ties, "query_weight": query_weight}
    edges = scored_edges(y, qid, weight=weight, **options)
    if not np.any(edges.z > 0):
        with pytest.raises(NothingToCompareError):
            fit(form, X, y, qid, weight, alpha, kernel, **options)
        return
    model = fit(form, X, y, qid, weight, alpha, kernel, **options)
    assert_exact(model.predict(X), X, edges, alpha, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(problem=problems(), cost=st.sampled_from(["magnitude", "unit", "relative"]), seed=st.integers(0, 1000))
@pytest.mark.filterwarnings("ignore::kernelrank.errors.NotConverged")
def test_observed_pairs(form, kernel, problem, cost, seed):
    X, _, _, _, alpha = problem
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(X), size=3 * len(X))
    second = (first + rng.integers(1, len(X), size=len(first))) % len(X)
    magnitude, weight = rng.uniform(0.5, 2.0, size=len(first)), rng.uniform(0.1, 2.0, size=len(first))
    options = dict(FORMS[form])
    if options.get("basis") == "all":
        options["basis"] = np.arange(len(X))
    model = RankRLS(alpha, kernel=kernel, cost=cost, **KERNELS[kernel], **options)
    model.fit_pairs(X, np.column_stack([first, second]), magnitude=magnitude, weight=weight)
    z = np.ones_like(magnitude) if cost == "unit" else magnitude
    w2 = weight / magnitude**2 if cost == "relative" else weight
    assert_exact(model.predict(X), X, Edges(len(X), first, second, z, w2), alpha, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(problem=problems())
@pytest.mark.filterwarnings("ignore::kernelrank.errors.NotConverged")
def test_plain_regression(form, kernel, problem):
    X, y, _, weight, alpha = problem
    options = dict(FORMS[form])
    if options.get("basis") == "all":
        options["basis"] = np.arange(len(X))
    model = RLS(alpha, kernel=kernel, **KERNELS[kernel], **options).fit(X, y, sample_weight=weight)
    Phi = columns(X, kernel)
    expected = Phi @ fit_regression(Phi, y, alpha, weight)
    K, L = Phi @ Phi.T, np.diag(np.ones(len(y)) if weight is None else weight)
    assert np.abs(model.predict(X) - expected).max() <= tolerance(K, L, np.abs(L @ y), alpha, expected)
