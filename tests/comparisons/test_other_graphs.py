from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ItemScores, PreferenceGraph, RelativeScores, compare_pairs, compare_scores
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.testing import ComparisonLaws, GraphLaws
from tests.comparisons.test_scored_queries import draw
from tests.oracles.pairs import Edges, scored_edges


def draw_pairs(seed):
    """A multigraph in several parts, with repeated and contradicting pairs, items without any, weights of zero."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 8, size=20)
    second = (first + rng.integers(1, 8, size=20)) % 8
    pairs = np.column_stack([first, second])
    pairs[15:] += 9
    pairs[3], pairs[4] = pairs[0], pairs[0][::-1]
    weight = rng.uniform(0.1, 2.0, size=20)
    weight[5] = 0.0
    return 20, pairs, rng.uniform(0.0, 3.0, size=20), weight


class TestPreferences(ComparisonLaws):
    blocks_of = "kernelrank.comparisons.scored"

    def graph(self, seed):
        m, pairs, magnitude, weight = draw_pairs(seed)
        return PreferenceGraph(m, pairs, magnitude=magnitude, weight=weight)

    def edges(self, seed):
        m, pairs, magnitude, weight = draw_pairs(seed)
        return Edges(m, pairs[:, 0], pairs[:, 1], magnitude, weight)


class TestRelativeScores(ComparisonLaws):
    blocks_of = "kernelrank.comparisons.scored"

    exact_gram_diagonal = False
    weighted = False
    query_weight = "pairs"

    def graph(self, seed):
        y, qid, weight = draw(seed, weighted=self.weighted)
        queries = Queries.from_labels(qid, len(y))
        return RelativeScores(y[:, None], queries, weight=weight, query_weight=self.query_weight)

    def written_out(self, y, qid, weight):
        return scored_edges(y, qid, cost="relative", query_weight=self.query_weight, weight=weight)

    def edges(self, seed):
        return self.written_out(*draw(seed, weighted=self.weighted))

    def induced(self, seed, items):
        y, qid, weight = draw(seed, weighted=self.weighted)
        kept = np.setdiff1d(np.arange(len(y)), items)
        return self.written_out(y[kept], qid[kept], None if weight is None else weight[kept]).laplacian()

    def test_pairs_are_counted(self, seed):
        assert self.graph(seed).n_pairs == int((self.edges(seed).w2 > 0).sum())


class TestRelativeScoresOfWeightedItems(TestRelativeScores):
    weighted = True
    query_weight = "items"


class TestRelativeScoresOfQueriesThatCountTheSame(TestRelativeScoresOfWeightedItems):
    query_weight = "queries"


class TestRelativeScoresThatAreNotKept(TestRelativeScores):
    """The Laplacian is too large to keep, and its rows are cut into blocks."""

    @pytest.fixture(autouse=True)
    def _small_limits(self, monkeypatch):
        monkeypatch.setattr("kernelrank.comparisons.relative.STORED_PAIRS", 0)
        monkeypatch.setattr("kernelrank.comparisons.relative.ROW_BYTES", 64)


class TestItemScores(GraphLaws):
    blocks_of = "kernelrank.comparisons.scored"

    weighted = False

    def data(self, seed):
        y, _, weight = draw(seed, weighted=self.weighted)
        return y, weight

    def graph(self, seed):
        y, weight = self.data(seed)
        return ItemScores(y[:, None], weight=weight)

    def laplacian(self, seed):
        y, weight = self.data(seed)
        return np.diag(np.ones(len(y)) if weight is None else weight)

    def target(self, seed):
        y, _ = self.data(seed)
        return self.laplacian(seed) @ y

    def induced(self, seed, items):
        kept = np.setdiff1d(np.arange(14), items)
        return self.laplacian(seed)[np.ix_(kept, kept)]


class TestWeightedItemScores(TestItemScores):
    weighted = True


@pytest.mark.parametrize("cost", ["magnitude", "unit", "relative"])
def test_costs_of_observed_pairs(cost):
    pairs = np.array([[0, 1], [2, 1]])
    graph = compare_pairs(3, pairs, magnitude=np.array([2.0, 4.0]), weight=np.array([1.0, 3.0]), cost=cost)
    z = {"magnitude": [2.0, 4.0], "unit": [1.0, 1.0], "relative": [2.0, 4.0]}[cost]
    w2 = {"magnitude": [1.0, 3.0], "unit": [1.0, 3.0], "relative": [1 / 4, 3 / 16]}[cost]
    edges = Edges(3, pairs[:, 0], pairs[:, 1], np.array(z), np.array(w2))
    np.testing.assert_allclose(graph.target()[:, 0], edges.target())
    np.testing.assert_allclose(graph.apply(np.eye(3)), edges.laplacian(), atol=1e-14)


def test_bad_pairs_are_named():
    with pytest.raises(InvalidInputError, match="zero for pair 1"):
        compare_pairs(2, np.array([[0, 1], [1, 0]]), magnitude=np.array([1.0, 0.0]), weight=None, cost="relative")
    with pytest.raises(NothingToCompareError, match="pairs is empty"):
        compare_pairs(2, np.zeros((0, 2), dtype=int), magnitude=None, weight=None)
    with pytest.raises(NothingToCompareError, match="every weight is zero"):
        compare_pairs(2, np.array([[0, 1]]), magnitude=None, weight=np.zeros(1))


def test_outputs_that_miss_the_same_items_share_a_graph_in_the_order_of_the_outputs():
    scores = np.array([[np.nan, 1.0, np.nan, 2.0], [1.0, 2.0, 3.0, np.nan], [2.0, 1.0, 5.0, 4.0], [3.0, 4.0, 4.0, 1.0]])
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    graphs = compare_scores(scores, Queries.from_labels(None, 4), weight=weight)
    assert [columns.tolist() for columns, _ in graphs] == [[0, 2], [1], [3]]
    for columns, graph in graphs:
        np.testing.assert_array_equal(graph.weight, np.where(np.isnan(scores[:, columns[0]]), 0.0, weight))
        np.testing.assert_array_equal(graph.scores, np.nan_to_num(scores[:, columns]))
