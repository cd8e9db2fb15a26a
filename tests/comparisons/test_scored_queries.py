from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries, compare_scores
from kernelrank.errors import NothingToCompareError
from kernelrank.testing import ComparisonLaws
from tests.oracles.pairs import scored_edges


def draw(seed, *, levels=3, weighted=False, scale=1.0):
    """Scores with ties, queries of one to many items in random order, weights with zeros."""
    rng = np.random.default_rng(seed)
    qid = rng.choice(["a", "b", "c", "d", "lonely"], size=14, p=[0.4, 0.3, 0.2, 0.08, 0.02])
    qid[0] = "lonely"
    y = rng.integers(levels, size=14).astype(float) if levels else rng.standard_normal(14)
    y[qid == "d"] = 1.0
    weight = rng.integers(0, 4, size=14).astype(float) if weighted else None
    if weighted:
        weight[qid == "b"] += 1.0
        weight *= scale
    return y, qid, weight


class ScoredLaws(ComparisonLaws):
    cost = "magnitude"
    ties = "include"
    query_weight = "pairs"
    weighted = False
    scale = 1.0
    levels = 3

    def data(self, seed):
        return draw(seed, levels=self.levels, weighted=self.weighted, scale=self.scale)

    def graph(self, seed):
        y, qid, weight = self.data(seed)
        queries = Queries.from_labels(qid, len(y))
        return ScoredQueries(
            y[:, None], queries, weight=weight, cost=self.cost, ties=self.ties, query_weight=self.query_weight
        )

    def edges(self, seed):
        y, qid, weight = self.data(seed)
        return self.written_out(y, qid, weight)

    def written_out(self, y, qid, weight):
        return scored_edges(y, qid, cost=self.cost, ties=self.ties, query_weight=self.query_weight, weight=weight)

    def induced(self, seed, items):
        y, qid, weight = self.data(seed)
        kept = np.setdiff1d(np.arange(len(y)), items)
        return self.written_out(y[kept], qid[kept], None if weight is None else weight[kept]).laplacian()

    def test_pairs_are_counted(self, seed):
        edges = self.edges(seed)
        assert self.graph(seed).n_pairs == int((edges.w2 > 0).sum())


class TestPairs(ScoredLaws):
    pass


class TestItems(ScoredLaws):
    query_weight = "items"


class TestQueriesCountTheSame(ScoredLaws):
    query_weight = "queries"


class TestTiesLeftOut(ScoredLaws):
    ties = "exclude"


class TestTiesLeftOutOfWeightedItems(ScoredLaws):
    ties = "exclude"
    weighted = True
    query_weight = "items"


class TestWeights(ScoredLaws):
    weighted = True


class TestWeightedQueries(ScoredLaws):
    weighted = True
    query_weight = "queries"


class TestQueriesOfLightItems(TestWeightedQueries):
    scale = 0.4


class TestQueriesWithTiesLeftOut(ScoredLaws):
    ties = "exclude"
    query_weight = "queries"


class TestWeightedQueriesWithTiesLeftOut(TestQueriesWithTiesLeftOut):
    weighted = True
    scale = 0.4


class TestUnitCost(ScoredLaws):
    cost = "unit"


class TestUnitCostOfDistinctScores(ScoredLaws):
    cost = "unit"
    levels = None


class TestUnitCostOfWeightedItems(ScoredLaws):
    cost = "unit"
    weighted = True
    query_weight = "items"


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize(("cost", "ties"), [("magnitude", "include"), ("magnitude", "exclude"), ("unit", "include")])
def test_an_integer_weight_repeats_the_item(query_weight, cost, ties):
    y, qid, _ = draw(3)
    times = np.random.default_rng(3).integers(1, 4, size=len(y))
    copies = np.repeat(np.arange(len(y)), times)
    options = {"cost": cost, "ties": ties, "query_weight": query_weight}
    weighted = ScoredQueries(y[:, None], Queries.from_labels(qid, len(y)), weight=times.astype(float), **options)
    repeated = ScoredQueries(y[copies][:, None], Queries.from_labels(qid[copies], len(copies)), **options)
    V = np.random.default_rng(0).standard_normal((len(y), 2))
    folded = np.zeros_like(V)
    np.add.at(folded, copies, repeated.apply(V[copies]))
    np.testing.assert_allclose(weighted.apply(V), folded, atol=1e-12)
    folded = np.zeros((len(y), 1))
    np.add.at(folded, copies, repeated.target())
    np.testing.assert_allclose(weighted.target(), folded, atol=1e-12)


def test_a_large_query_and_a_cut_level_do_not_change_the_gram_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=500).astype(float)
    qid = rng.choice([0, 0, 0, 1, 2], size=500)
    X = rng.standard_normal((500, 5)) + 10.0
    weight = rng.integers(0, 3, size=500).astype(float)
    for ties in ("include", "exclude"):
        graph = ScoredQueries(y[:, None], Queries.from_labels(qid, 500), weight=weight, ties=ties)
        monkeypatch.setattr("kernelrank.comparisons.scored.BLOCK_BYTES", 2**30)
        whole = graph.gram(X)
        monkeypatch.setattr("kernelrank.comparisons.scored.BLOCK_BYTES", 8 * 5 * 7)
        np.testing.assert_allclose(graph.gram(X), whole, rtol=1e-12)


def test_what_is_odd_is_counted():
    y, qid, _ = draw(0)
    graph = ScoredQueries(y[:, None], Queries.from_labels(qid, len(y)), ties="exclude")
    idle = sum(len(set(y[qid == q])) == 1 for q in set(qid))
    assert (graph.n_queries, graph.n_idle_queries) == (len(set(qid)), idle)


def test_nothing_to_compare_says_why():
    queries = Queries.from_labels(["a", "a", "b"], 3)
    with pytest.raises(NothingToCompareError, match="2 queries, 1 of them with one item"):
        compare_scores(np.array([[1.0], [1.0], [2.0]]), queries)
    with pytest.raises(NothingToCompareError, match="in output 1"):
        compare_scores(np.array([[1.0, 2.0], [0.0, 2.0], [2.0, 5.0]]), queries)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("cost", "ties"), [("magnitude", "include"), ("magnitude", "exclude"), ("unit", "include")])
def test_the_pairs_of_every_query_weigh_one_together(cost, ties, weighted):
    y, qid, _ = draw(1)
    weight = np.random.default_rng(1).uniform(0.01, 1.0, len(y)) if weighted else None
    queries = Queries.from_labels(qid, len(y))
    graph = ScoredQueries(y[:, None], queries, weight=weight, cost=cost, ties=ties, query_weight="queries")
    found = np.bincount(queries.codes, graph.diagonal()) / 2
    pairs = [len(np.unique(y[items])) if graph.ties == "exclude" else len(items) for items in queries]
    np.testing.assert_allclose(found, np.array(pairs) > 1, atol=1e-14)
    assert set(found.round()) == {0.0, 1.0}


def test_outputs_share_a_graph_only_when_they_can():
    queries = Queries.from_labels(None, 4)
    scores = np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 1.0], [3.0, np.nan, 2.0], [4.0, 1.0, 5.0]])
    graphs = compare_scores(scores, queries)
    assert sorted(sorted(columns.tolist()) for columns, _ in graphs) == [[0, 2], [1]]
    assert len(compare_scores(scores, queries, ties="exclude")) == 3
