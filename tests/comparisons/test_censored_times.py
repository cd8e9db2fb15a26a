from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Lifetimes, Queries, event_times
from kernelrank.comparisons import CensoredTimes, compare_scores
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.testing import ComparisonLaws
from tests.oracles.survival import censored_edges


def draw(seed, *, weighted=False):
    """Tied times, events tied with censored items, strata of one to many items in random order, weights with zeros."""
    rng = np.random.default_rng(seed)
    strata = rng.choice(["a", "b", "c", "lonely"], size=16, p=[0.5, 0.3, 0.18, 0.02])
    strata[0] = "lonely"
    time = rng.integers(1, 6, size=16).astype(float)
    event = rng.random(16) < [0.6, 0.3, 0.9, 0.6, 1.0, 0.2][seed]
    event[strata == "c"] = False
    if not weighted:
        return time, event, strata, {}
    weight = rng.integers(0, 3, size=16) * rng.uniform(0.5, 2.0, size=16)
    return time, event, strata, {"weight": weight, "event_weight": 1.0 / (1.0 + time) + (strata == "a")}


class CensoredLaws(ComparisonLaws):
    blocks_of = "kernelrank.comparisons.censored"
    cost = "unit"
    query_weight = "pairs"
    weighted = False

    def options(self):
        return {"cost": self.cost, "query_weight": self.query_weight}

    def graph(self, seed):
        time, event, strata, weights = draw(seed, weighted=self.weighted)
        queries = Queries.from_labels(strata, len(time))
        return CensoredTimes(time[:, None], queries, event=event, **weights, **self.options())

    def edges(self, seed):
        time, event, strata, weights = draw(seed, weighted=self.weighted)
        return censored_edges(time, event, strata, **weights, **self.options())

    def induced(self, seed, items):
        time, event, strata, weights = draw(seed, weighted=self.weighted)
        kept = np.setdiff1d(np.arange(len(time)), items)
        part = {name: values[kept] for name, values in weights.items()}
        return censored_edges(time[kept], event[kept], strata[kept], **part, **self.options()).laplacian()

    def test_pairs_are_counted(self, seed):
        edges, graph = self.edges(seed), self.graph(seed)
        assert graph.n_pairs == int((edges.w2 > 0).sum())
        compared = {graph.queries.codes[item] for item in edges.h[edges.w2 > 0]}
        assert graph.n_idle_queries == graph.n_queries - len(compared)

    def test_the_target_is_the_laplacian_of_the_magnitudes(self, seed):
        expected = self.target(seed)
        found = self.laplacian(seed) @ self.graph(seed).magnitudes[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))

    def test_normal_equations(self, seed):
        graph = self.graph(seed)
        X = self.features(seed, graph.n_items, offset=100.0)
        gram, right = graph.normal_equations(X)
        np.testing.assert_allclose(gram, X.T @ self.laplacian(seed) @ X, atol=1e-8)
        np.testing.assert_allclose(right[:, 0], X.T @ self.target(seed), atol=1e-9)

    def test_submatrix(self, seed):
        graph, L = self.graph(seed), self.laplacian(seed)
        sets = np.random.default_rng(seed).permutation(graph.n_items)[:12].reshape(3, 4)
        expected = np.stack([L[np.ix_(items, items)] for items in sets])
        np.testing.assert_allclose(graph.submatrix(sets), expected, atol=1e-12)

    def test_items_that_are_compared_with_none(self, seed):
        np.testing.assert_array_equal(self.graph(seed).uncompared_items(), np.diag(self.laplacian(seed)) == 0)


class TestKnownOrders(CensoredLaws):
    pass


class TestWeightedOrders(CensoredLaws):
    weighted = True


class TestItemsCountTheSame(CensoredLaws):
    weighted = True
    query_weight = "items"


class TestStrataCountTheSame(CensoredLaws):
    query_weight = "queries"


class TestKnownTimes(CensoredLaws):
    weighted = True
    cost = "magnitude"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_levels_are_the_pairs(seed, weighted):
    time, event, strata, weights = draw(seed, weighted=weighted)
    graph = CensoredTimes(
        time[:, None], Queries.from_labels(strata, 16), event=event, query_weight="queries", **weights
    )
    levels, edges = graph.pair_levels(), censored_edges(time, event, strata, query_weight="queries", **weights)
    found = np.zeros((16, 16))
    for h in range(16):
        for j in range(16):
            if strata[h] == strata[j] and levels.levels[h] > levels.levels[j]:
                found[h, j] = levels.pair_weights[graph.queries.codes[h]] * levels.upper[h] * levels.lower[j]
    expected = np.zeros((16, 16))
    expected[edges.h, edges.j] = edges.w2
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(levels.total, expected.sum(), rtol=1e-12)
    assert np.all(levels.levels < levels.n_levels[graph.queries.codes])


def test_large_strata_are_sorted_alike(monkeypatch):
    rng = np.random.default_rng(0)
    time, event = rng.integers(1, 40, 300).astype(float), rng.random(300) < 0.5
    queries = Queries.from_labels(rng.integers(3, size=300), 300)
    small = CensoredTimes(time[:, None], queries, event=event)
    monkeypatch.setattr("kernelrank.base.compiled.COMPILED", 10)
    large = CensoredTimes(time[:, None], queries, event=event)
    V = rng.standard_normal((300, 2))
    np.testing.assert_allclose(small.apply(V), large.apply(V), atol=1e-9)
    assert small.n_pairs == large.n_pairs


def test_tied_events_have_one_weight():
    with pytest.raises(InvalidInputError, match="for events at the same time; got 1 for item 0 and 2"):
        CensoredTimes(
            np.ones((3, 1)),
            Queries.from_labels(None, 3),
            event=np.array([True, True, False]),
            event_weight=np.array([1.0, 2.0, 3.0]),
        )


def test_nothing_to_compare_says_why():
    queries = Queries.from_labels(None, 3)
    lifetimes = Lifetimes.of(event_times([1.0, 2.0, 3.0], [False, False, True]))
    with pytest.raises(NothingToCompareError, match=r"no event has a later item \(1 events among 3 items\)"):
        compare_scores(lifetimes.time[:, None], queries, cost="unit", events=lifetimes)
    with pytest.raises(InvalidInputError, match="'unit' or 'magnitude' with censored times; got cost='relative'"):
        compare_scores(lifetimes.time[:, None], queries, cost="relative", events=lifetimes)


def test_an_event_is_compared_with_a_censored_item_of_the_same_time():
    lifetimes = Lifetimes.of(event_times([2.0, 2.0], [False, True]))
    ((_, graph),) = compare_scores(lifetimes.time[:, None], Queries.from_labels(None, 2), cost="unit", events=lifetimes)
    np.testing.assert_allclose(graph.target().ravel(), [1.0, -1.0])
