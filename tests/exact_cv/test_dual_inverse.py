"""The dual inverse equals its definition, and that of the problem which items have left, in every form."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.exact_cv import DifferingPairs
from kernelrank.exact_cv.pair_forms import ResidualPairs
from kernelrank.exact_cv.problem import DualInverse, decompose
from kernelrank.features import FullKernel
from kernelrank.kernels import Kernel
from kernelrank.model_selection.refits import HoldoutData
from tests.oracles.holdout import retrained_scores

M = 14
RNG = np.random.default_rng(0)
X = RNG.standard_normal((M, 4))
K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=-1))
Y = RNG.standard_normal((M, 2))


def make(graph, lam, form):
    features = FullKernel(Kernel("precomputed"), K)
    if form == "matrix":
        return DualInverse.of(features, graph, lam)
    ((found, _),) = decompose(features, graph, np.array([lam]), scores=False, dual=True)
    return found.dual_inverse(lam)


def definition(kept, lam, *, ranks):
    """Γ of some items by the bordered system, with zero rows for the others."""
    n = len(kept)
    system = np.zeros((n + ranks, n + ranks))
    system[:n, :n] = K[np.ix_(kept, kept)] + lam * np.eye(n)
    if ranks:
        system[n, :n] = system[:n, n] = 1.0
    whole = np.zeros((M, M))
    whole[np.ix_(kept, kept)] = np.linalg.inv(system)[:n, :n]
    return whole


@pytest.mark.parametrize("form", ["matrix", "factors"])
@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("lam", [2.0**-10, 1.0, 2.0**5])
def test_items_leave_one_set_after_the_other(form, ranks, lam):
    queries = Queries.from_labels(None, M)
    graph = ScoredQueries(Y, queries, query_weight="items") if ranks else ItemScores(Y)
    inverse, kept = make(graph, lam, form), np.arange(M)
    order = np.random.default_rng(1).permutation(M)
    for leaving in (np.zeros(0, dtype=int), np.array([3, 8]), np.array([0]), np.array([5, 13])):
        if len(leaving):
            inverse = inverse.without(leaving)
            kept = np.setdiff1d(kept, leaving)
        expected = definition(kept, lam, ranks=ranks)
        within = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(inverse.rows(slice(None)), expected, atol=within)
        np.testing.assert_allclose(inverse.diagonal(), np.diagonal(expected), atol=within)
        np.testing.assert_allclose(inverse.entries(kept[:2], kept[2:4]), expected[kept[:2], kept[2:4]], atol=within)
        np.testing.assert_allclose(inverse.coefficients, expected @ Y, atol=10 * within * np.abs(Y).max())
        np.testing.assert_allclose(inverse.reordered(order).rows(slice(2, 5)), expected[order][2:5, order], atol=within)
        U = kept[[1, 4]]
        residuals = np.linalg.solve(expected[np.ix_(U, U)], (expected @ Y)[U])
        np.testing.assert_allclose(inverse.residuals(U), residuals, rtol=1e-8)


@pytest.mark.parametrize("learner", [RLS(), RankRLS(), RankRLS(query_weight="queries")])
def test_pairs_are_held_out_of_what_a_pair_has_left(learner):
    """Nested leave-pair-out: four items leave, so that λ is that of four."""
    learner = learner.set_params(kernel="precomputed")
    alpha, y, P = 0.3, Y[:, :1], np.array([2, 9])
    ((_, problem),) = HoldoutData(learner, K, Y[:, 0]).problems
    inverse = make(problem.base, alpha / problem.common_scale(4), "matrix").without(P)
    rest = np.setdiff1d(np.arange(M), P)
    pairs = DifferingPairs.of(np.where(np.isin(np.arange(M), P)[:, None], np.nan, y))
    form = ResidualPairs(inverse.reordered(pairs.order), pairs.order, problem.truth, problem.features.duplicate_of)
    agreement, difference = np.zeros(1), np.empty((1, pairs.n_pairs))
    form.all_pairs(pairs, agreement, difference)
    first, second = pairs.items()
    assert len(np.union1d(first, second)) == len(rest)
    for number in range(0, pairs.n_pairs, 7):
        held = np.array([*P, first[number], second[number]])
        scores = retrained_scores(learner, K, Y[:, 0], held, alpha)
        assert difference[0, number] == pytest.approx(float(scores[2] - scores[3]), rel=1e-8, abs=1e-12)


def test_the_scale_is_that_of_all_that_leaves():
    for query_weight, expected in (("pairs", M - 4.0), ("items", 1.0), ("queries", 2.0 / (M - 5))):
        ((_, problem),) = HoldoutData(RankRLS(query_weight=query_weight), X, Y[:, 0]).problems
        assert problem.common_scale(4) == pytest.approx(expected, rel=1e-14)
        assert problem.common_scale(M) is None
    ((_, problem),) = HoldoutData(RankRLS(), X, Y[:, 0], sample_weight=1.0 + np.arange(M) % 2).problems
    assert problem.common_scale(4) is None


def test_a_block_without_digits_is_refused():
    inverse = DualInverse(np.ones((3, 1)), matrix=np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    with pytest.raises(InvalidInputError, match="2 items cannot be left out"):
        inverse.without(np.array([0, 1]))
