"""The matrix of a curvature against its products, which other tests compare with every pair written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.comparisons import CensoredTimes
from kernelrank.hinge import ScoredPairs, SmoothedHinge, SquaredHinge
from tests.hinge.test_hinge import listed, problems, scored


def assert_is_the_matrix(curvature, m):
    items, H = curvature.matrix()
    whole = np.zeros((m, m))
    whole[np.ix_(items, items)] = H
    products = np.column_stack([curvature(unit) for unit in np.eye(m)])
    scale = np.abs(products).max(initial=1.0)
    np.testing.assert_allclose(whole, products, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(np.trace(whole), curvature.trace, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(curvature.times(0.25).matrix()[1], H / 4)


@given(problems(), st.sampled_from([0.01, 0.3, 2.0]))
@settings(deadline=None, max_examples=100)
def test_matrix_equals_products(problem, width):
    pairs, edges, f, _ = scored(problem)
    for some in (pairs, listed(edges)):
        assert_is_the_matrix(SquaredHinge(some).at(f).curvature, len(f))
        assert_is_the_matrix(SmoothedHinge(some, width).at(f).curvature, len(f))


def test_matrix_equals_products_for_censored_times():
    rng = np.random.default_rng(0)
    times, strata = rng.random((30, 1)).round(1), Queries.from_labels(np.arange(30) % 2, 30)
    graph = CensoredTimes(times, strata, event=rng.random(30) < 0.6)
    f = rng.standard_normal(30)
    pairs = ScoredPairs(graph.pair_levels())
    assert SquaredHinge(pairs).at(f).curvature.n_curved > 5
    assert_is_the_matrix(SquaredHinge(pairs).at(f).curvature, 30)
    assert_is_the_matrix(SmoothedHinge(pairs, 0.5).at(f).curvature, 30)
