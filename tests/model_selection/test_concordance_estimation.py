"""The nested concordance equals searches that are fitted anew without every fold."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import event_times
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import RLSCV, MetricRankRLSCV, RankRLSCV, estimate_concordance, leave_query_out
from kernelrank.model_selection.holdout import holdout
from tests.oracles import nested_search, survival

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")

ALPHAS = 4.0 ** np.arange(-3, 6, 2)


def patients(m, n_strata, seed=0, mean=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3)).round(1) + mean  # with duplicates
    time = np.exp(0.7 * (X[:, 0] - mean)) * rng.exponential(1.0, m)
    return X, time.round(2), rng.random(m) < 0.6, rng.integers(n_strata, size=m)


def compare(search, X, time, event, qid, **options):
    """Compare an estimate with refits, inside strata and folds."""
    found = estimate_concordance(search, X, time, event=event, qid=qid, **options)
    scores = nested_search.fold_scores(search, X, event_times(time, event), found.folds, qid=qid)
    within = [f"{stratum} {fold}" for stratum, fold in zip(qid, found.folds, strict=True)]
    expected, n_pairs = survival.concordance(time, event, scores, strata=within)
    assert found.concordance == pytest.approx(expected)
    assert found.result.n_pairs == n_pairs
    for group in set(within):
        place = [one == group for one in within]
        difference = (found.scores - scores)[place]
        np.testing.assert_allclose(difference - difference[0], 0.0, atol=1e-8 * np.abs(scores).max())


@pytest.mark.parametrize("m", [30, 60, 200])
@pytest.mark.parametrize("n_strata", [2, 4, 7])
def test_strata(m, n_strata):
    X, time, event, centre = patients(m, n_strata, seed=m + n_strata, mean=10.0)
    compare(RankRLSCV(ALPHAS), X, time, event, centre)


@pytest.mark.parametrize("by_stratum", [False, True])
def test_strata_with_one_item_or_nothing_to_compare(by_stratum):
    X, time, event, centre = patients(60, 3)
    centre[[5, 6]] = 10, 11  # a single item each
    event[centre == 1] = False
    compare(RankRLSCV(ALPHAS, cost="unit"), X, time, event, centre, groups=centre if by_stratum else None, cv=3)


def test_one_comparable_stratum_chooses_among_equals():
    # Without the only stratum that has events, every model is zero and every alpha has a concordance of 0.5: the first
    # alpha is chosen, and not the one that rounding prefers.
    X, time, event, centre = patients(60, 4)
    event[centre > 1] = False
    search = RankRLSCV(ALPHAS, cost="unit", kernel="gaussian", gamma=0.3, query_weight="items")
    compare(search, X, time, event, centre, groups=centre, cv=4)


def test_duplicates_of_an_item_that_is_never_compared():
    X, time, event, centre = patients(60, 4)
    for stratum in range(4):  # censored before all others: no order with it is known
        first, second = np.flatnonzero(centre == stratum)[:2]
        time[first], event[first], X[second] = 0.0, False, X[first]
    compare(RankRLSCV(ALPHAS, cost="unit"), X, time, event, centre, groups=centre, cv=4)


def test_a_single_stratum_is_searched_by_folds():
    X, time, event, centre = patients(60, 2)
    centre[:] = 0
    centre[7] = 1  # the fold of this item leaves one stratum
    compare(RankRLSCV(ALPHAS), X, time, event, centre)
    together = RankRLSCV(ALPHAS).fit(X, time, event=event, qid=np.zeros(60))
    assert together.alpha_ == RankRLSCV(ALPHAS).fit(X, time, event=event).alpha_
    with pytest.raises(InvalidInputError, match="expected qid with at least two queries"):
        RankRLSCV(ALPHAS, cv="leave_query_out").fit(X, time, event=event, qid=np.zeros(60))


@pytest.mark.parametrize("search", [RankRLSCV(ALPHAS), RLSCV(ALPHAS)], ids=["RankRLS", "RLS"])
def test_sets_that_touch_every_query(search):
    X, y, qid = make_ranking(n_queries=5, n_items=8, n_levels=3, random_state=1)
    X = X.round(1)
    folds = np.arange(len(y)) % 3
    found = np.empty(len(y))
    for fold, scores in enumerate(holdout(search, X, y, [folds == fold for fold in range(3)], qid=qid)):
        found[folds == fold] = scores
    expected = nested_search.fold_scores(search, X, y, folds, qid=qid)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_duplicates_of_inner_queries_are_tied():
    X, y, qid = make_ranking(n_queries=7, n_items=9, n_levels=3, n_features=2, random_state=2)
    X = np.round(X)
    found = leave_query_out(RankRLSCV(ALPHAS, query_weight="queries"), X, y, qid)
    expected = nested_search.fold_scores(RankRLSCV(ALPHAS, query_weight="queries"), X, y, qid, qid=qid)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("alphas", [ALPHAS, "auto"])
def test_whole_numbers_tie_and_rounding_orders_nothing(seed, alphas):
    # A model of few events is a small whole vector but for a factor: different patients have the same score.
    rng = np.random.default_rng(seed)
    m, n_strata = int(rng.integers(12, 40)), 5
    X = rng.standard_normal((m, 3)).round()
    time = np.ceil(2.0 * np.exp(0.7 * X[:, 0]) * rng.exponential(1.0, m))
    event, centre = rng.random(m) < 0.3, np.arange(m) % n_strata
    event[:2] = True
    search = RankRLSCV(alphas, cost="unit")._settled(X, qid=centre)
    found = estimate_concordance(search, X, time, event=event, qid=centre, groups=centre, interval="components")
    scores = nested_search.fold_scores(search, X, event_times(time, event), found.folds, qid=centre)
    np.testing.assert_allclose(found.scores - scores, 0.0, atol=1e-7 * np.abs(scores).max())
    expected, _ = survival.concordance(time, event, scores.round(9), strata=centre)
    assert found.concordance == pytest.approx(expected)


def test_a_learner_that_refits_all_it_chooses_is_not_repeated_on_halves_unless_asked():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    time = np.exp(X[:, 0]) * rng.exponential(1.0, 40)
    search = MetricRankRLSCV([1.0], cv=2, rounds=1)
    found = estimate_concordance(search, X, time, event=np.ones(40), cv=2)
    components = estimate_concordance(search, X, time, event=np.ones(40), cv=2, interval="components")
    assert found.interval == components.interval
    assert estimate_concordance(RankRLS(), X, time, event=np.ones(40)).interval.method.endswith("included")
