"""Losses against every pair written out, on shapes that nobody thinks of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.hinge import Hinge, ListedPairs, ScoredPairs, SmoothedHinge, SquaredHinge
from tests.oracles import hinge as oracle
from tests.oracles.pairs import Edges, scored_edges

QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)  # margins of exactly one are frequent
NUMBERS = st.one_of(QUARTERS, st.floats(-3, 3, allow_subnormal=False))


@st.composite
def problems(draw):
    """Scores of any kind, queries of any size (one item too), ties, weights (zero too)."""
    m = draw(st.integers(2, 60))
    levels = draw(st.sampled_from([1, 2, 3, 20, 10**6]))
    y = np.array(draw(st.lists(st.integers(0, levels), min_size=m, max_size=m)), dtype=float)
    qid = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 1, 5, 40]))), min_size=m, max_size=m))
    if draw(st.booleans()):
        qid = sorted(qid)
    weight = None
    if draw(st.booleans()):
        weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=m, max_size=m))) + 0.0
        weight[0] = 2.0
    f = np.array(draw(st.lists(NUMBERS, min_size=m, max_size=m)))
    v = np.array(draw(st.lists(NUMBERS, min_size=m, max_size=m)))
    return y, qid, weight, draw(st.sampled_from(["pairs", "items", "queries"])), f, v


def scored(problem):
    y, qid, weight, query_weight, f, v = problem
    pairs = ScoredPairs.of_scores(y, Queries.from_labels(qid, len(y)), weight, query_weight)
    edges = scored_edges(y, qid, cost="unit", query_weight=query_weight, weight=weight)
    return pairs, edges, f, v


def listed(edges: Edges) -> ListedPairs:
    return ListedPairs(edges.m, np.column_stack([edges.h, edges.j]), edges.w2)


def close(found, expected, scale):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * max(1.0, scale))


@given(problems())
@settings(deadline=None, max_examples=200)
def test_hinge_equals_written_out_pairs(problem):
    pairs, edges, f, _ = scored(problem)
    value, gradient = oracle.hinge(f, edges)
    for loss in (Hinge(pairs), Hinge(listed(edges))):
        point = loss.at(f)
        close(point.value, value, edges.w2.sum())
        close(point.gradient, gradient, edges.w2.sum())
    close(pairs.total, edges.w2.sum(), 1.0)


@given(problems())
@settings(deadline=None, max_examples=200)
def test_squared_hinge_equals_written_out_pairs(problem):
    pairs, edges, f, v = scored(problem)
    value, gradient = oracle.squared_hinge(f, edges)
    scale = 100 * edges.w2.sum()
    for loss in (SquaredHinge(pairs), SquaredHinge(listed(edges))):
        point = loss.at(f)
        close(point.value, value, scale)
        close(point.gradient, gradient, scale)
        close(point.curvature(v), oracle.squared_hinge_curvature(f, v, edges), scale)


@given(problems(), st.sampled_from([0.01, 0.25, 0.3, 1.0, 2.0]))
@settings(deadline=None, max_examples=200)
def test_smoothed_hinge_equals_written_out_pairs(problem, width):
    pairs, edges, f, v = scored(problem)
    value, gradient, slack = oracle.smoothed_hinge(f, edges, width)
    scale = 100 * edges.w2.sum() / width
    for loss in (SmoothedHinge(pairs, width), SmoothedHinge(listed(edges), width)):
        point = loss.at(f)
        close(point.value, value, scale)
        close(point.gradient, gradient, scale)
        close(point.slack, slack, scale)
        close(point.loss, oracle.hinge(f, edges)[0], scale)
        step = 1e-6
        ahead, behind = loss.at(f + step * v).gradient, loss.at(f - step * v).gradient
        curvature = (ahead - behind) @ v / (2 * step)
        # Where a margin stands on an edge of the band, any slope between both sides is right.
        assert curvature <= 2 * (point.curvature(v) @ v) + 1e-3 * scale or _on_an_edge(f, edges, width)


def _on_an_edge(f, edges, width):
    margin = f[edges.h] - f[edges.j]
    return bool(np.any(np.abs(margin - 1.0) < 1e-4) or np.any(np.abs(margin - 1.0 + width) < 1e-4))


@pytest.mark.parametrize("n_levels", [2, 5, 16, 17, 300])
@pytest.mark.parametrize("size", [10, 33, 700, 1500])
def test_large_queries_are_sorted_by_other_means(size, n_levels):
    rng = np.random.default_rng(size + n_levels)
    y = rng.integers(n_levels, size=2 * size).astype(float)
    f, v = rng.standard_normal((2, 2 * size)) * 2
    qid = rng.permutation(np.repeat([0, 1], [size - 3, size + 3]))
    pairs = ScoredPairs.of_scores(y, Queries.from_labels(qid, 2 * size))
    h, j = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    edges = Edges(2 * size, h, j, np.ones(len(h)), np.ones(len(h)))
    value, gradient = oracle.hinge(f, edges)
    point = Hinge(pairs).at(f)
    assert point.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(point.gradient, gradient)
    squared = SquaredHinge(pairs).at(f)
    value, gradient = oracle.squared_hinge(f, edges)
    assert squared.value == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(squared.gradient, gradient, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(squared.curvature(v), oracle.squared_hinge_curvature(f, v, edges), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_constant_in_each_query_costs_no_digits(offset):
    rng = np.random.default_rng(0)
    y, f, qid = rng.integers(5, size=200).astype(float), rng.integers(-8, 8, size=200) / 4, np.repeat([0, 1], 100)
    pairs = ScoredPairs.of_scores(y, Queries.from_labels(qid, 200))
    shifted = f + offset * qid
    for loss in (Hinge(pairs), SquaredHinge(pairs), SmoothedHinge(pairs, 0.5)):
        assert loss.at(shifted).value == loss.at(f).value
        np.testing.assert_array_equal(loss.at(shifted).gradient, loss.at(f).gradient)


def test_a_repeated_item_is_an_item_of_weight_two():
    y, f = np.array([3.0, 1.0, 2.0]), np.array([0.2, 0.1, 0.4])
    twice = ScoredPairs.of_scores(y[[0, 1, 1, 2]], Queries.from_labels(None, 4))
    weighted = ScoredPairs.of_scores(y, Queries.from_labels(None, 3), np.array([1.0, 2.0, 1.0]))
    assert Hinge(twice).at(f[[0, 1, 1, 2]]).value == pytest.approx(Hinge(weighted).at(f).value, rel=1e-14)


@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("seed", range(4))
def test_the_slack_of_a_narrow_band_keeps_its_digits(seed, width):
    rng = np.random.default_rng(seed)
    # Many pairs far below the band, and in a query of their own eight items one apart, give or take the width.
    y, qid = np.concatenate([np.arange(300.0), np.arange(8.0)]), [0] * 300 + [1] * 8
    f = np.concatenate([-3.0 * y[:300] + rng.random(300), y[300:] + width * rng.uniform(-0.5, 0.5, 8)])
    pairs = ScoredPairs.of_scores(y, Queries.from_labels(qid, 308), None, "pairs")
    short = [1 - (Fraction(f[i + 1]) - Fraction(f[i])) for i in range(300, 307)]
    inside = [one for one in short if 0 < one <= 1 - Fraction(1.0 - width)]
    exact = float(sum(one - one * one / Fraction(width) for one in inside))
    assert len(inside) > 1
    found = SmoothedHinge(pairs, width).at(f).slack
    assert abs(found - exact) <= 1e-12 / width
