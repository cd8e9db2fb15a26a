"""Entry times: an event is compared with those who had entered before it, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.base.labels import Queries, event_times
from kernelrank.comparisons.censored import CensoredTimes
from kernelrank.comparisons.entered import EnteredTimes
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics import Concordance


def cohort(m=40, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3))
    time = np.exp(X[:, 0]) + rng.exponential(1.0, m) + 0.5
    time = np.ceil(4 * time) / 4 if ties else time
    entry = np.minimum(np.floor(4 * rng.exponential(1.0, m)) / 4, time - 0.25)
    return X, time, rng.random(m) < 0.6, entry, rng.integers(0, 3, m)


def listed(time, event, entry, codes):
    """All pairs (longer, event), one after the other."""
    found = []
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            longer = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if codes[i] == codes[j] and longer and entry[j] < time[i]:
                found.append((j, i))
    return np.array(found)


def graph_of(time, event, entry, codes, **options):
    return EnteredTimes(time[:, None], Queries.from_labels(codes, len(time)), event=event, entry=entry, **options)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_the_graph_is_that_of_its_pairs(seed, query_weight):
    X, time, event, entry, codes = cohort(seed=seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, len(time)) * 0.5
    graph = graph_of(time, event, entry, codes, weight=weight, query_weight=query_weight)
    pairs = listed(time, event, entry, codes)
    each = graph.pair_weights[graph.queries.codes[pairs[:, 0]]] * weight[pairs].prod(axis=1)
    M = np.zeros((len(time), len(pairs)))
    M[pairs[:, 0], np.arange(len(pairs))], M[pairs[:, 1], np.arange(len(pairs))] = 1.0, -1.0
    L = (M * each) @ M.T
    np.testing.assert_allclose(graph.apply(np.eye(len(time))), L, atol=1e-12)
    np.testing.assert_allclose(graph.diagonal(), np.diag(L), atol=1e-12)
    np.testing.assert_allclose(graph.target()[:, 0], M @ each, atol=1e-12)
    np.testing.assert_allclose(graph.gram(X + 1e6), X.T @ L @ X, rtol=1e-8, atol=1e-8)
    C = graph.centre(np.eye(len(time)))
    np.testing.assert_allclose(C.T @ C, L, atol=1e-10)
    np.testing.assert_allclose(graph.centre_transpose(graph.root_target())[:, 0], M @ each, atol=1e-10)
    assert graph.n_pairs == int((weight[pairs] > 0).all(axis=1).sum())
    kept = np.delete(np.arange(len(time)), [0, 5, 11])
    smaller = graph_of(
        *(part[kept] for part in (time, event, entry, codes)), weight=weight[kept], query_weight=query_weight
    )
    v = rng.standard_normal(len(kept))
    np.testing.assert_allclose(graph.without(np.array([0, 5, 11])).apply(v), smaller.apply(v), atol=1e-12)


def test_entries_before_all_times_change_nothing():
    X, time, event, _, codes = cohort()
    entry = np.full(len(time), -np.inf)
    plain = CensoredTimes(time[:, None], Queries.from_labels(codes, len(time)), event=event)
    graph = graph_of(time, event, entry, codes)
    np.testing.assert_allclose(graph.apply(X), plain.apply(X), atol=1e-10)
    np.testing.assert_allclose(graph.target(), plain.target(), atol=1e-10)
    first = kr.RankRLS(2.0).fit(X, time, event=event, qid=codes).coef_
    np.testing.assert_allclose(
        kr.RankRLS(2.0).fit(X, time, event=event, entry=entry, qid=codes).coef_, first, rtol=1e-8
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_fit_is_that_of_the_pairs(kernel):
    X, time, event, entry, codes = cohort()
    found = kr.RankRLS(0.5, kernel=kernel, gamma=0.3).fit(X, time, event=event, entry=entry, qid=codes)
    expected = kr.RankRLS(0.5, kernel=kernel, gamma=0.3).fit_pairs(X, listed(time, event, entry, codes))
    np.testing.assert_allclose(*(m.predict(X) - m.predict(X[:1]) for m in (found, expected)), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_concordance_is_the_share_of_the_pairs(seed):
    X, time, event, entry, codes = cohort(seed=seed)
    score = np.round(2 * X[:, 0])
    pairs = listed(time, event, entry, codes)
    difference = score[pairs[:, 0]] - score[pairs[:, 1]]
    found = Concordance()(event_times(time, event, entry=entry), score, qid=codes)
    assert found.n_pairs == len(pairs)
    assert found.n_tied_scores == int((difference == 0).sum())
    assert found.mean == pytest.approx(np.mean((difference > 0) + 0.5 * (difference == 0)))
    low, high = found.interval()
    assert low < found.mean < high


def test_hold_outs_and_choices_are_refits():
    X, time, event, entry, _ = cohort()
    y = event_times(time, event, entry=entry)
    sets = [np.arange(0, 10), np.arange(10, 25)]
    found = kr.holdout(kr.RankRLS(2.0), X, y, sets)
    for held, scores in zip(sets, found, strict=True):
        kept = np.delete(np.arange(len(time)), held)
        expected = kr.RankRLS(2.0).fit(X[kept], y[kept]).predict(X[held])
        np.testing.assert_allclose(scores - scores[0], expected - expected[0], rtol=1e-8, atol=1e-10)
    search = kr.RankRLSCV([0.1, 10.0]).fit(X, time, event=event, entry=entry)
    assert search.coef_ == pytest.approx(kr.RankRLS(search.alpha_).fit(X, y).coef_)
    estimate = kr.estimate_concordance(kr.RankRLS(2.0), X, time, event=event, entry=entry, interval="components")
    pairs = listed(time, event, entry, estimate.folds)
    assert estimate.result.n_pairs == len(pairs)


def test_what_is_wrong_is_told():
    X, time, event, entry, _ = cohort()
    with pytest.raises(InvalidInputError, match="entry before the time"):
        kr.RankRLS().fit(X, time, event=event, entry=time)
    with pytest.raises(InvalidInputError, match="one entry time for each"):
        kr.RankRLS().fit(X, time, event=event, entry=entry[1:])
    with pytest.raises(InvalidInputError, match="needs event"):
        kr.RankRLS().fit(X, time, entry=entry)
    y = event_times(time, event, entry=entry)
    with pytest.raises(InvalidInputError, match="RankSVM does not support entry"):
        kr.RankSVM().fit(X, y)
    with pytest.raises(InvalidInputError, match="cost='unit'"):
        kr.RankRLS(cost="magnitude").fit(X, y)
    with pytest.raises(InvalidInputError, match="Uno"):
        Concordance(weighting="uno")(y, time)
    with pytest.raises(NothingToCompareError):
        kr.RankRLS().fit(X, np.arange(40.0) + 1, event=np.ones(40, bool), entry=np.arange(40.0) + 0.5)
