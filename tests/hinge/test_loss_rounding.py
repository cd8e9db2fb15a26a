"""Bounds of rounding against sums in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kernelrank.base.arrays import column_magnitudes
from kernelrank.base.labels import Queries
from kernelrank.hinge import Hinge, ListedPairs, ScoredPairs, SmoothedHinge, SquaredHinge
from tests.oracles.pairs import scored_edges

WIDTHS = [2.0, 0.3, 1e-3, 1e-6]


def draw(seed, listed):
    """Scores at which many margins are one or nearly so, far from zero at times; weights of any size."""
    rng = np.random.default_rng(seed)
    m = 25
    f = rng.integers(-4, 5, m) / 2 + rng.choice([0.0, 1e-7, 1e-16, 1.0]) * rng.standard_normal(m) + rng.choice([0, 1e3])
    y, qid = rng.integers(0, rng.choice([2, 30]), m).astype(float), rng.integers(0, 2, m)
    weight = [None, rng.exponential(1.0, m)][seed % 2]
    edges = scored_edges(y, qid, cost="unit", weight=weight)
    if listed:
        pairs = ListedPairs(m, np.column_stack([edges.h, edges.j]), edges.w2)
    else:
        pairs = ScoredPairs.of_scores(y, Queries.from_labels(qid, m), weight)
    exact = [Fraction(float(v)) for v in (np.ones(m) if weight is None else weight)]
    return f, pairs, [(h, j, exact[h] * exact[j]) for h, j in zip(edges.h, edges.j, strict=True)]


def plane(f, edges, slope):
    """The offset and the gradient of a plane, from the slope of each pair at its margin."""
    f = [Fraction(float(v)) for v in f]
    offset, gradient = Fraction(0), [Fraction(0)] * len(f)
    for h, j, weight in edges:
        beta = weight * slope(f[h] - f[j])
        offset, gradient[h], gradient[j] = offset + beta, gradient[h] - beta, gradient[j] + beta
    return offset, gradient


def distance(computed, exact):
    return float(sum(abs(Fraction(float(a)) - b) for a, b in zip(computed, exact, strict=True)))


@pytest.mark.parametrize("listed", [False, True], ids=["scored", "listed"])
@pytest.mark.parametrize("enough", [0.0, 1e300], ids=["sharp", "rough"])
def test_planes(listed, enough):
    for seed in range(12):
        f, pairs, edges = draw(seed, listed)
        for width in WIDTHS:
            mu = Fraction(width)
            point = SmoothedHinge(pairs, width).at(f)
            offset, gradient = plane(f, edges, lambda margin, mu=mu: min(max((1 - margin) / mu, 0), 1))
            bound = point.plane_rounding(enough)
            assert abs(float(Fraction(point.offset) - offset)) <= bound.value
            assert distance(point.gradient, gradient) <= bound.gradient
        point = Hinge(pairs).at(f)
        bound = point.plane_rounding(enough)
        offset, gradient = plane(f, edges, lambda margin: int(float(margin) < 1))
        if np.array_equal(np.round(4 * f), 4 * f):  # margins are exact, and so is the choice of the pairs
            assert abs(float(Fraction(point.offset) - offset)) <= bound.value
            assert distance(point.gradient, gradient) <= bound.gradient


@pytest.mark.parametrize("listed", [False, True], ids=["scored", "listed"])
@pytest.mark.parametrize("enough", [0.0, 1e300], ids=["sharp", "rough"])
def test_losses_at_scores_that_are_off(listed, enough):
    for seed in range(12):
        f, pairs, edges = draw(seed, listed)
        for error in (0.0, 1e-15, 1e-9):
            moved = f + error * np.random.default_rng(seed).choice([-0.9, 0.9], len(f))
            exact = [Fraction(float(v)) for v in moved]
            off = max(abs(float(a - Fraction(float(b)))) for a, b in zip(exact, f, strict=True))
            short = [(w, max(1 - exact[h] + exact[j], 0)) for h, j, w in edges]
            hinge, squared = sum(w * s for w, s in short), sum(w * s * s for w, s in short)
            for loss, value in (
                (Hinge(pairs), hinge),
                (SmoothedHinge(pairs, 0.1), hinge),
                (SquaredHinge(pairs), squared),
            ):
                point = loss.at(f)
                assert abs(float(Fraction(point.loss) - value)) <= point.rounding(off, enough).value
            _, gradient = plane(moved, edges, lambda margin: 2 * max(1 - margin, 0))
            assert distance(point.gradient, gradient) <= point.rounding(off, enough).gradient


def test_bounds_are_not_far_from_the_last_digits():
    f, pairs, _ = draw(4, listed=False)
    point = SmoothedHinge(pairs, 0.3).at(f)
    assert point.plane_rounding(0.0).value <= 1e-11 * point.offset
    assert point.rounding(1e-15, 0.0).value <= 1e-11 * point.loss


@pytest.mark.parametrize("shape", [(1, 3), (7, 2), (5000, 3), (3, 2000)])
def test_column_magnitudes(shape):
    from scipy import sparse

    X = np.random.default_rng(0).standard_normal(shape)
    X[np.abs(X) < 0.5] = 0.0
    X[:, 0] = -1.0
    expected = np.abs(X).max(axis=0)
    for form in (np.asarray, np.asfortranarray, np.float32, sparse.csr_array, sparse.csc_array):
        np.testing.assert_allclose(column_magnitudes(form(X)), expected, rtol=1e-6)
    np.testing.assert_array_equal(column_magnitudes(sparse.csc_array((4, 2))), [0.0, 0.0])
