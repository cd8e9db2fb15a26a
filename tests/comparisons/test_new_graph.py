"""A graph that the package does not know is one class and one line in the table, and is fitted and held out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from kernelrank.base.labels import Queries
from kernelrank.comparisons.costs import GRAPH_OF_COST
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import RankRLSCV, leave_pair_out, leave_query_out
from kernelrank.model_selection.holdout import holdout
from kernelrank.testing import ComparisonLaws
from tests.oracles.pairs import Edges

PAGE = Path(__file__).parents[2] / "docs" / "extend" / "add_a_graph.md"


def documented_class():
    """The class NearPairs of the page, which has about ten lines."""
    names: dict[str, object] = {"np": np}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        if "class NearPairs" in block:
            exec(compile(block, str(PAGE), "exec"), names)
    return names["NearPairs"]


NearPairs = documented_class()

rng = np.random.default_rng(0)
X = rng.standard_normal((24, 3))
y = rng.integers(0, 4, 24) * 1.0
qid = np.repeat(np.arange(4), 6)
weight = rng.integers(1, 3, 24) * 1.0


def near_pairs(scores, codes):
    first, second = np.nonzero((codes[:, None] == codes) & (scores[:, None] - scores == 1.0))
    return np.stack([first, second], axis=1)


class TestNearPairs(ComparisonLaws):
    blocks_of = "kernelrank.comparisons.scored"

    exact_gram_diagonal = True

    def draw(self, seed):
        rng = np.random.default_rng(seed)
        return rng.integers(0, 4, 12) * 1.0, rng.integers(0, 3, 12)

    def graph(self, seed):
        scores, codes = self.draw(seed)
        return NearPairs(scores[:, None], Queries.from_labels(codes, 12))

    def edges(self, seed):
        pairs = near_pairs(*self.draw(seed))
        return Edges(12, pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), np.ones(len(pairs)))


@pytest.fixture
def near(monkeypatch):
    """The line in the table; the constraint of the parameter was made of the table when the module was read."""
    monkeypatch.setitem(GRAPH_OF_COST, "near", NearPairs)
    for estimator in (RankRLS, RankRLSCV):
        monkeypatch.setitem(estimator._parameter_constraints, "cost", [str])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.usefixtures("near")
def test_fits_as_its_pairs_do(kernel):
    pairs = near_pairs(y, qid)
    written_out = RankRLS(0.5, kernel=kernel).fit_pairs(X, pairs, weight=weight[pairs].prod(axis=1))
    model = RankRLS(0.5, kernel=kernel, cost="near").fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), written_out.predict(X), rtol=1e-10, atol=1e-12)
    assert model.n_pairs_ == len(pairs)


def retrained(model, held, alpha):
    """Scores by a model that was trained without some items, and without their basis items."""
    kept = np.setdiff1d(np.arange(24), held)
    other = clone(model).set_params(alpha=alpha)
    if model.basis is not None:
        other.set_params(basis=np.searchsorted(kept, np.setdiff1d(model.basis, held)))
    return other.fit(X[kept], y[kept], qid=qid[kept]).predict(X[held])


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"kernel": "rbf", "basis": np.arange(0, 20, 2)}])
@pytest.mark.usefixtures("near")
def test_held_out_as_by_retraining(options):
    model = RankRLS(cost="near", **options)
    sets = [np.arange(6), np.array([0, 1, 7]), np.array([5])]  # a query, for which there is a shortcut, and two others
    alphas = [0.1, 10.0]
    for held, found in zip(sets, holdout(model, X, y, sets, qid=qid, alphas=alphas), strict=True):
        for number, alpha in enumerate(alphas):
            np.testing.assert_allclose(found[:, number], retrained(model, held, alpha), rtol=1e-8, atol=1e-10)


@pytest.mark.usefixtures("near")
def test_queries_pairs_searches_and_streams():
    model = RankRLS(cost="near")
    found = leave_query_out(model, X, y, qid, alphas=[0.1, 1.0])
    for q in range(4):
        held = np.flatnonzero(qid == q)
        np.testing.assert_allclose(found[held, 1], retrained(model, held, 1.0), rtol=1e-8)
    search = RankRLSCV([0.1, 1.0], cost="near").fit(X, y, qid=qid)
    np.testing.assert_allclose(search.holdout_scores_, found[:, [0.1, 1.0].index(search.alpha_)], rtol=1e-8)
    one = leave_pair_out(model, X[:8], y[:8], pairs=[[0, 1]])
    scores = RankRLS(cost="near").fit(X[2:8], y[2:8]).predict(X[:2])
    np.testing.assert_allclose(one.difference[0], scores[0] - scores[1], rtol=1e-8)
    stream = RankRLS(cost="near")
    for q in range(4):
        stream.partial_fit(X[qid == q], y[qid == q], qid=qid[qid == q])
    np.testing.assert_allclose(stream.coef_, RankRLS(cost="near").fit(X, y, qid=qid).coef_, rtol=1e-8)
