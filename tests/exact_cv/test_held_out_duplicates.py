"""Items with the same row are tied in every hold-out, as they are for a retrained model: not as rounding has it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.estimators import RLS, RankRLS
from kernelrank.exact_cv import ItemSets
from kernelrank.exact_cv.sets import settle_ties
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.model_selection import leave_pair_out, leave_query_out
from kernelrank.model_selection.refits import HoldoutData
from tests.oracles.holdout import retrained_scores

ALPHAS = 2.0 ** np.array([-10.0, 0.0, 10.0])
LEARNERS = [RankRLS(), RankRLS(kernel="rbf"), RLS(), RLS(kernel="rbf"), RankRLS(kernel="rbf", ties="exclude")]
NAMES = [f"{type(learner).__name__} {learner.kernel} {getattr(learner, 'ties', '')}" for learner in LEARNERS]


def few_rows(m, n=2):
    """Items of nine kinds."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 9, size=m)
    return rng.standard_normal((9, n))[kind], rng.integers(0, 2, size=m).astype(float), kind


def tied(kind, scores):
    """The scores with those of a kind made exactly the same, where they are but for rounding."""
    shared = np.array([scores[kind == k].mean(axis=0) for k in kind])
    np.testing.assert_allclose(scores, shared, atol=1e-9)
    return shared


@pytest.mark.parametrize("n", [2, 25])
@pytest.mark.parametrize("learner", LEARNERS[:4], ids=NAMES[:4])
def test_pairs(learner, n):
    X, y, kind = few_rows(18, n)
    listed = np.argwhere(y[:, None] > y)
    every = leave_pair_out(learner, X, y, alphas=ALPHAS)
    some = leave_pair_out(learner, X, y, pairs=listed, alphas=ALPHAS)
    alone = [leave_pair_out(learner.set_params(alpha=alpha), X, y, differences=False).accuracy for alpha in ALPHAS]
    for held in (every, some):
        same = kind[held.first] == kind[held.second]
        assert same.any()
        assert np.all(held.difference[same] == 0.0)
    for number, alpha in enumerate(ALPHAS):
        wins = []
        for i, j in listed:
            scores = tied(kind[[i, j]], retrained_scores(learner, X, y, np.array([i, j]), alpha))
            wins.append((1.0 + np.sign(scores[0] - scores[1])) / 2)
        for accuracy in (every.accuracy[number], some.accuracy[number], alone[number]):
            assert accuracy == pytest.approx(np.mean(wins), abs=1e-12)


@pytest.mark.parametrize("learner", LEARNERS, ids=NAMES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_queries(learner, form):
    X, y, kind = few_rows(36)
    qid = np.arange(36) // 6
    held = leave_query_out(learner, form(X), y, qid, alphas=ALPHAS)
    for number, alpha in enumerate(ALPHAS):
        expected = np.empty(36)
        for q in range(6):
            items = np.flatnonzero(qid == q)
            labels = qid if isinstance(learner, RankRLS) else None
            if labels is None:
                model = RLS(alpha, kernel=learner.kernel).fit(np.delete(X, items, 0), np.delete(y, items))
                scores = model.predict(X[items])
            else:
                scores = retrained_scores(learner, X, y, items, alpha, labels)
            expected[items] = tied(kind[items], scores)
        measured = PairwiseAccuracy()(y, held[:, number], qid=qid).values
        np.testing.assert_allclose(measured, PairwiseAccuracy()(y, expected, qid=qid).values, atol=1e-12)


def test_a_basis():
    X, y, kind = few_rows(30)
    data = HoldoutData(RankRLS(kernel="rbf", basis=np.arange(0, 30, 2)), X, y, np.arange(30) // 10)
    scores = data.scores(ItemSets.of([np.arange(10), np.arange(10, 30)], 30), ALPHAS)[:, 0]
    for part in (slice(10), slice(10, 30)):
        assert len(np.unique(scores[part], axis=0)) == len(np.unique(kind[part]))


def test_scores_that_differ_by_rounding_are_equal():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.standard_normal(40), [1e12], [0.5, 0.5 + 1e-11, 0.5 - 1e-11]])
    spread = np.linspace(0.0, 1.0, 10**6) ** 16  # the first half goes in steps that are small, but goes far
    bounds = np.array([0, 44, 46, 46 + len(spread)])
    sets = ItemSets(np.arange(bounds[-1]), bounds)
    found = np.concatenate([scores, [3e-10, -3e-10], spread])[:, None, None]
    settle_ties(sets, found, np.ones((1, 1)))
    np.testing.assert_array_equal(found[:41, 0, 0], scores[:41])  # one item far out does not tie the others
    np.testing.assert_array_equal(found[41:46, 0, 0], [scores[43]] * 3 + [-3e-10] * 2)
    assert len(np.unique(found[46:, 0, 0])) > 0.6 * len(spread)
    np.testing.assert_allclose(found[46:, 0, 0], spread, rtol=0, atol=5e-8)
