"""Leaderboard: scores, intervals, groups, judges and the next votes, against slow twins."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import expit, ndtr
from scipy.stats import binom
from sklearn.base import clone

from kernelrank.errors import InvalidInputError, NothingToCompareError, UnconnectedVotesWarning
from kernelrank.estimators import RankRLS
from kernelrank.persistence import load, save
from kernelrank.votes import BradleyTerry, Leaderboard, newton, next_votes, score_estimate
from kernelrank.votes import posterior as judge_agreement
from kernelrank.votes.likelihood import LogisticVotes
from kernelrank.votes.score_estimate import ScoreEstimate
from kernelrank.votes.votes import Votes
from tests.oracles.variational import nearest_normal

NAMES = np.array(["tea", "coffee", "water", "mate", "milk", "juice"], dtype=object)


def votes_of(seed, n_items=6, n_votes=60, spread=1.0):
    """Names, item numbers, ties and weights of votes that connect all items."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([np.arange(n_items), rng.integers(0, n_items, n_votes)])
    second = (first + np.concatenate([np.ones(n_items, dtype=int), rng.integers(1, n_items, n_votes)])) % n_items
    f = spread * rng.normal(size=n_items)
    swapped = rng.random(len(first)) > expit(f[first] - f[second])
    pairs = np.column_stack([np.where(swapped, second, first), np.where(swapped, first, second)])
    return pairs, rng.random(len(pairs)) < 0.2, rng.integers(1, 4, len(pairs)).astype(float), f


def in_order(board, n_items):
    """Where the items 0, 1, ... stand in `items_`."""
    return [board.items_.tolist().index(item) for item in range(n_items)]


def test_scores_at_an_alpha_are_those_of_the_plain_learners():
    pairs, tie, weight, _ = votes_of(0)
    items = sparse.eye_array(6, format="csr")
    given = {"tie": tie, "weight": weight}
    board = Leaderboard(alpha=0.3).fit(pairs[:, 0], pairs[:, 1], **given)
    plain = BradleyTerry(0.3).fit_pairs(items, pairs, **given)
    places = in_order(board, 6)
    scores = plain.predict(items)
    np.testing.assert_allclose(board.scores_[places], scores - scores.mean(), atol=1e-9)
    # Standard errors allow for ties, those of the plain learner do not.
    board = Leaderboard(alpha=0.3).fit(pairs[:, 0], pairs[:, 1], weight=weight)
    plain = BradleyTerry(0.3).fit_pairs(items, pairs, weight=weight)
    centre = np.eye(6) - 1 / 6
    std = np.sqrt(np.diag(centre @ plain.covariance(items) @ centre))
    np.testing.assert_allclose(board.posterior.std[places], std, rtol=1e-8)
    found, expected = board.compare(2, 4), plain.compare(np.eye(6)[[2]], np.eye(6)[[4]])
    np.testing.assert_allclose([found.difference, found.std], [expected.difference, expected.std], rtol=1e-7)
    squares = Leaderboard("least_squares", 0.3).fit(pairs[:, 0], pairs[:, 1], **given)
    plain = RankRLS(0.3).fit_pairs(items, pairs, magnitude=np.where(tie, 0.0, 1.0), weight=weight)
    scores = plain.predict(items)
    np.testing.assert_allclose(squares.scores_[places], scores - scores.mean(), atol=1e-10)


def start(n):
    """Return an estimate of n coefficients that knows nothing yet."""
    return ScoreEstimate(np.zeros(n), np.zeros(0), np.ones(n), np.zeros((n, 0)), LogisticVotes())


@pytest.mark.parametrize("with_features", [False, True])
def test_the_posterior_is_the_normal_distribution_nearest_to_the_exact_one(with_features, monkeypatch):
    monkeypatch.setattr(score_estimate, "MIXED_LIMIT", 0)
    pairs, tie, weight, _ = votes_of(1, n_items=4, n_votes=8, spread=2.0)
    X = np.random.default_rng(0).normal(size=(4, 2))
    features = {"features": (np.arange(4), X)} if with_features else {}
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], tie=tie, weight=weight, **features)
    n = 2 if with_features else 0
    Phi = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.eye(4)]) if with_features else np.eye(4)
    places = in_order(board, 4)
    ordered = np.concatenate([np.arange(n), n + np.array(places)])
    posterior, (first, second) = board.posterior, np.array(places)[pairs].T
    d, variance = posterior.difference(first, second)[0], posterior._precision.difference_variances(first, second)
    p = posterior.estimate.model.probability(d, variance)
    worth = weight * posterior.estimate.model.worth(p)
    mean, covariance = nearest_normal(Phi, pairs, tie, worth, board.prior_[ordered])
    np.testing.assert_allclose(board.coef_[ordered], mean, atol=3e-5)
    np.testing.assert_allclose(board.posterior._precision.inverse[np.ix_(ordered, ordered)], covariance, atol=3e-5)
    sizes = [(slice(0, 2), 0.5), (slice(2, 6), 1.0)] if with_features else [(slice(0, 4), 1.0)]
    for part, size in sizes:  # the equation that the variances solve
        used = len(mean[part]) - (board.prior_[ordered] * np.diag(covariance))[part].sum()
        variance = ((mean[part] ** 2).sum() + 2.1 * 0.25 * size) / (used + 0.1)
        np.testing.assert_allclose(1 / board.prior_[ordered][part], variance, rtol=1e-3)


def test_few_votes_integrate_the_variance_of_scores_out():
    pairs, tie, weight, _ = votes_of(1, n_items=4, n_votes=8, spread=2.0)
    tie = np.zeros_like(tie)
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], tie=tie, weight=weight)
    places = in_order(board, 4)
    logs, found = np.arange(np.log(0.03), np.log(12.0), 0.1), []
    points, mass = np.polynomial.hermite_e.hermegauss(41)
    for tau in np.exp(logs):
        mean, S = nearest_normal(np.eye(4), pairs, tie, weight, np.full(4, tau**-2.0))
        d = mean[pairs[:, 0]] - mean[pairs[:, 1]]
        v = S[pairs[:, 0], pairs[:, 0]] + S[pairs[:, 1], pairs[:, 1]] - 2 * S[pairs[:, 0], pairs[:, 1]]
        x = d[:, None] + np.sqrt(v)[:, None] * points
        losses = np.where(tie[:, None], (np.logaddexp(0, x) + np.logaddexp(0, -x)) / 2, np.logaddexp(0, -x))
        loss = weight @ losses @ (mass / mass.sum())
        for pair in {tuple(sorted(pair)) for pair in pairs.tolist()}:  # what a parabola leaves of the loss of a pair
            same = [number for number, one in enumerate(pairs.tolist()) if tuple(sorted(one)) == pair]
            total = np.where((pairs[same, 0] == pair[0])[:, None], losses[same], losses[same][:, ::-1])
            total = weight[same] @ total
            design = np.column_stack([np.ones(41), points, points**2])
            root = np.sqrt(mass / mass.sum())
            rest = root * total - root[:, None] * design @ np.linalg.lstsq(root[:, None] * design, root * total)[0]
            loss -= 0.5 * rest @ rest
        divergence = 0.5 * (8 * np.log(tau) - np.linalg.slogdet(S)[1] + (mean @ mean + np.trace(S)) / tau**2)
        found.append((-loss - divergence + 1.5 * np.log(tau) - tau**2 / 8, mean, S))
    share = np.exp([one[0] - max(other[0] for other in found) for one in found])
    share /= share.sum()
    means = np.array([one[1] for one in found])
    mean = share @ means
    centre = np.eye(4) - 1 / 4
    covariance = sum(one * (S + np.outer(m - mean, m - mean)) for one, (_, m, S) in zip(share, found, strict=True))
    covariance = centre @ covariance @ centre
    np.testing.assert_allclose(board.scores_[places], mean - mean.mean(), atol=0.02)
    np.testing.assert_allclose(board.posterior.std[places], np.sqrt(np.diag(covariance)), rtol=0.05)
    low, high = (np.asarray(board.table().sort_values("item")[name]) for name in ("low", "high"))
    held = np.zeros(4)
    for one, (_, m, S) in zip(share, found, strict=True):
        std = np.sqrt(np.diag(centre @ S @ centre))
        held += one * (ndtr((high - (m - m.mean())) / std) - ndtr((low - (m - m.mean())) / std))
    np.testing.assert_allclose(held, 0.95, atol=0.02)


def test_features_integrate_both_variances_out():
    rng = np.random.default_rng(3)
    X, (pairs, tie, weight, _) = rng.normal(size=(9, 2)), votes_of(3, n_items=7, n_votes=20)  # two items have no votes
    board = Leaderboard("least_squares").fit(
        pairs[:, 0], pairs[:, 1], tie=tie, weight=weight, features=(np.arange(9), X)
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    D = np.eye(9)[pairs[:, 0]] - np.eye(9)[pairs[:, 1]]
    z, noise = np.where(tie, 0.0, 1.0), np.diag(board.noise_ / weight)
    centre = np.eye(9) - np.where(np.arange(9) < 7, 1 / 7, 0.0)
    logs, found = np.arange(np.log(0.02), np.log(10.0), 0.12), []
    for first, second in itertools.product(np.exp(logs), repeat=2):  # in logits, the first for all features together
        K = (first / 2) ** 2 / 2 * X @ X.T + (second / 2) ** 2 * np.eye(9)
        V = D @ K @ D.T + noise
        gain = np.linalg.solve(V, D @ K).T
        evidence = -0.5 * (np.linalg.slogdet(V)[1] + z @ np.linalg.solve(V, z))
        prior = np.log(first) + 1.5 * np.log(second) - (first**2 + second**2) / 8
        found.append((evidence + prior, centre @ gain @ z, np.diag(centre @ (K - gain @ D @ K) @ centre.T)))
    share = np.exp([one[0] - max(other[0] for other in found) for one in found])
    share /= share.sum()
    means, variances = (np.array([one[k] for one in found]) for k in (1, 2))
    mean = share @ means
    np.testing.assert_allclose(board.scores_, mean, atol=0.01)
    std = np.sqrt(share @ (variances + (means - mean) ** 2))
    np.testing.assert_allclose(board.posterior.std, std, rtol=0.05)
    low, high = board.posterior.score_limits(0.95)
    held = share @ (ndtr((high - means) / np.sqrt(variances)) - ndtr((low - means) / np.sqrt(variances)))
    np.testing.assert_allclose(held, 0.95, atol=0.01)


def test_the_evidence_with_features_is_that_of_the_exact_likelihood():
    votes, X = Votes.count(2, np.array([[0, 1]] * 3 + [[1, 0]])), np.array([[1.0], [-1.0]])
    problem, errors = score_estimate._Mixture(votes, X, start(3), np.ones(2)), []
    for first, second in itertools.product((0.1, 1.0, 2.0), repeat=2):
        found = problem.component(np.log([first, second]), np.zeros(3), np.zeros(1)).log_weight
        found -= np.log(first) + 1.5 * np.log(second) - (first**2 + second**2) / 8
        std = np.sqrt(4 * first**2 + 2 * second**2)
        d, step = np.linspace(-9 * std, 9 * std, 100_001, retstep=True)
        density = np.exp(-((d / std) ** 2) / 2) / np.sqrt(2 * np.pi) / std
        errors.append(found + 1.5 - np.log((density * expit(d) ** 3 * expit(-d)).sum() * step))
    np.testing.assert_allclose(errors, 0.0, atol=0.01)


def test_features_that_explain_everything_narrow_the_intervals():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    f = X @ [0.8, -0.6]
    a = rng.integers(0, 20, 500)
    b = (a + rng.integers(1, 20, 500)) % 20
    won = rng.random(500) < expit(f[a] - f[b])
    votes = np.where(won, a, b), np.where(won, b, a)
    alone = Leaderboard().fit(*votes)
    board = Leaderboard().fit(*votes, features=(np.arange(20), X))
    assert board.posterior.std.mean() < 0.66 * alone.posterior.std.mean()


@pytest.mark.parametrize(("won", "lost"), [(1, 0), (3, 0), (2, 1), (10, 3)])
def test_the_evidence_is_that_of_the_exact_likelihood(won, lost):
    votes = Votes.count(2, np.array([[0, 1]] * won + [[1, 0]] * lost))
    problem, errors = score_estimate._Mixture(votes, np.zeros((2, 0)), start(2), np.ones(1)), []
    for tau in (0.1, 0.5, 1.0, 2.0, 3.0):
        found = problem.component(np.log([tau]), np.zeros(2), np.zeros(1)).log_weight
        found -= score_estimate.prior_log_density(tau)
        d, step = np.linspace(-12 * tau, 12 * tau, 100_001, retstep=True)  # for a standard deviation of √2 τ
        density = np.exp(-((d / (2 * tau)) ** 2)) / np.sqrt(4 * np.pi) / tau
        errors.append(found + 1.0 - np.log((density * expit(d) ** won * expit(-d) ** lost).sum() * step))
    np.testing.assert_allclose(errors, 0.0, atol=0.01)  # the bound alone errs by up to 0.06


def test_the_noise_of_least_squares_is_that_of_the_residuals():
    pairs, tie, weight, _ = votes_of(2)
    board = Leaderboard("least_squares").fit(pairs[:, 0], pairs[:, 1], tie=tie, weight=weight)
    f = board.scores_[in_order(board, 6)]
    squares = weight * (np.where(tie, 0.0, 1.0) - f[pairs[:, 0]] + f[pairs[:, 1]]) ** 2
    used = 6 - (board.prior_ * np.diag(board.posterior._precision.inverse)).sum()
    assert board.noise_ == pytest.approx(squares.sum() / (weight.sum() - used), rel=1e-5)
    assert board.alpha_ == pytest.approx(board.noise_ * board.prior_[0])


def test_table():
    pairs, tie, _, _ = votes_of(3)
    board = Leaderboard().fit(NAMES[pairs[:, 0]], NAMES[pairs[:, 1]], tie=tie)
    table = board.table()
    assert list(table.columns) == [
        "item",
        "score",
        "std_error",
        "low",
        "high",
        "rank",
        "rank_low",
        "rank_high",
        "votes",
        "wins",
    ]
    assert table["score"].is_monotonic_decreasing
    assert table["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["votes"].sum() == 2 * len(pairs)
    assert table["wins"].sum() == len(pairs)
    row = table[table["item"] == "tea"].iloc[0]
    assert row["votes"] == (pairs == 0).sum()
    assert row["wins"] == ((pairs[:, 0] == 0) & ~tie).sum() + (pairs[tie] == 0).sum() / 2
    for one in table.itertuples():  # ranks: who stands above for sure, one at a time
        above = [other for other in NAMES if other != one.item and _surely(board, other, one.item)]
        below = [other for other in NAMES if other != one.item and _surely(board, one.item, other)]
        assert (one.rank_low, one.rank_high) == (1 + len(above), 6 - len(below))


def _surely(board, a, b):
    found = board.compare(a, b)
    weight, spread, _ = board.scales_
    reach = np.linspace(1.0, 4.0, 300_001)
    held = sum(w * (2 * ndtr(reach / np.sqrt(v)) - 1) for w, v in zip(weight, spread, strict=True))
    return found.difference[0] > reach[np.searchsorted(held, 0.95)] * found.std[0]


def test_groups_hold_who_cannot_be_told_apart_and_no_larger_ones_do():
    pairs, _, _, _ = votes_of(4, n_items=12, n_votes=700, spread=1.0)
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1])
    order = board.table()["item"].tolist()
    groups = board.separable_groups()
    runs = [
        order[start:stop]
        for start, stop in itertools.combinations(range(13), 2)
        if not any(_surely(board, a, b) for a, b in itertools.combinations(order[start:stop], 2))
    ]
    assert groups == [run for run in runs if not any(set(run) < set(other) for other in runs)]
    assert len(groups) > 1
    assert sorted(set(functools.reduce(operator.iadd, groups, []))) == list(range(12))


def test_probabilities_are_means_over_the_posterior():
    pairs, _, _, _ = votes_of(5)
    board = Leaderboard().fit(NAMES[pairs[:, 0]], NAMES[pairs[:, 1]])
    found = board.compare("tea", "milk")
    draws = found.difference + found.std * np.random.default_rng(0).normal(size=400_000)
    assert board.probability("tea", "milk") == pytest.approx(expit(draws).mean(), abs=2e-3)
    square = board.probabilities(NAMES, NAMES)
    np.testing.assert_allclose(square + square.T, 1.0, atol=1e-12)
    with pytest.raises(InvalidInputError, match=r"got 'cofee' \(similar: 'coffee'\)"):
        board.probability("tea", "cofee")


def test_the_next_pair_gains_most_and_the_one_after_counts_it():
    pairs, _, _, _ = votes_of(6, n_votes=20)
    board = Leaderboard(alpha=0.5).fit(pairs[:, 0], pairs[:, 1])
    S, f = board.posterior.covariance(np.arange(6)), board.scores_
    expected = []
    for _ in range(3):
        gains = {}
        for i, j in itertools.combinations(range(6), 2):
            row = np.eye(6)[i] - np.eye(6)[j]
            draws = f[i] - f[j] + np.sqrt(row @ S @ row) * np.linspace(-8, 8, 20_001)
            density = np.exp(-(np.linspace(-8, 8, 20_001) ** 2) / 2)
            h = (density * expit(draws) * expit(-draws)).sum() / density.sum()
            gains[i, j] = (h * (row @ S @ row), h, row)
        chosen = max((pair for pair in gains if set(pair) not in expected), key=lambda pair: gains[pair][0])
        _, h, row = gains[chosen]
        S = np.linalg.inv(np.linalg.inv(S) + h * np.outer(row, row))
        expected.append(set(chosen))
    labels = board.items_.tolist()
    assert [{labels.index(a), labels.index(b)} for a, b in board.next_pair(3)] == expected
    assert len(board.next_pair(100)) == 15
    with pytest.raises(InvalidInputError, match="n of at least 1; got 0"):
        board.next_pair(0)


def test_votes_needed_tell_neighbours_apart():
    pairs, _, _, _ = votes_of(7, n_items=3, n_votes=40)
    board = Leaderboard(alpha=1e-3).fit(pairs[:, 0], pairs[:, 1])
    needed = board.votes_needed(0.8)
    above, below, votes = needed["above"][0], needed["below"][0], int(needed["votes"][0])
    found = board.compare(above, below)
    h = next_votes.single_curvature(board.posterior, found.difference, found.std**2)
    std = [float(np.sqrt(1 / (1 / found.std[0] ** 2 + n * h[0]))) for n in (votes, votes - 1)]
    wanted = found.difference[0] / (1.959964 + 0.841621)
    assert std[0] <= wanted * (1 + 1e-6) < std[1] * (1 + 1e-6)
    more = board.votes_needed(0.99)["votes"][0]
    assert more > votes
    with pytest.raises(InvalidInputError, match=r"power between 0 and 1; got 1\.0"):
        board.votes_needed(1.0)


@pytest.mark.parametrize("model", ["bradley_terry", "least_squares"])
def test_many_items_agree_with_the_dense_inverse(monkeypatch, model):
    pairs, tie, _, _ = votes_of(8, n_items=60, n_votes=500)
    X = np.random.default_rng(1).normal(size=(60, 2))
    given = {"tie": tie, "features": (np.arange(60), X), "judge": np.arange(len(pairs)) % 5}
    dense = Leaderboard(model).fit(pairs[:, 0], pairs[:, 1], **given)
    std, chance = dense.posterior.std, dense.probability(3, 7)
    monkeypatch.setattr(newton, "INVERSE_LIMIT", 0)
    sampled = Leaderboard(model).fit(pairs[:, 0], pairs[:, 1], **given)
    np.testing.assert_allclose(sampled.scores_, dense.scores_, atol=0.15)
    copy = clone(dense)
    copy.__dict__.update({name: value for name, value in vars(dense).items() if name.endswith("_")})
    np.testing.assert_allclose(copy.posterior.std, std, rtol=0.25)
    assert copy.probability(3, 7) == pytest.approx(chance, abs=1e-5)
    assert np.mean(copy.posterior.std / std) == pytest.approx(1.0, abs=0.03)
    low, high = copy.posterior.rank_limits(0.95)
    assert np.all(low <= high)
    assert len(copy.next_pair(2)) == 2
    order = copy.posterior.order
    apart = copy.posterior.told_apart(order, order, 0.95)
    runs = [(a, b) for a in range(60) for b in range(a + 1, 61) if not apart[a:b, a:b].any()]
    whole = [(a, b) for a, b in runs if not {(a - 1, b), (a, b + 1)} & set(runs)]
    assert copy.separable_groups() == [copy.items_[order[a:b]].tolist() for a, b in whole]
    assert len(whole) > 1
    assert len(copy.votes_needed()) == 59
    own = copy.judges().set_index("judge").loc[2]
    decided = pairs[(given["judge"] == 2) & ~tie]
    d = np.diff(copy.posterior.scores[decided[:, ::-1]])
    assert (own["votes"], own["agreement"]) == (
        len(decided),
        pytest.approx(np.mean(d > 0)),
    )  # by the scores of all votes
    again = Leaderboard(model, 0.2).fit(pairs[:, 0], pairs[:, 1], **given)
    monkeypatch.undo()
    exact = Leaderboard(model, 0.2).fit(pairs[:, 0], pairs[:, 1], **given)
    np.testing.assert_allclose(again.scores_, exact.scores_, atol=1e-4)


def test_votes_that_do_not_connect_items_or_go_one_way_are_told():
    with pytest.warns(UnconnectedVotesWarning, match="2 groups, of 3, 2 items, and no vote compares"):
        board = Leaderboard().fit(["a", "b", "d", "c", "d"], ["b", "c", "e", "a", "e"])
    table = board.table()
    assert np.isfinite(table["score"]).all()
    assert (table["high"] - table["low"] > 2).all()
    assert len(board.separable_groups()) == 1
    assert "won all votes: d; lost all votes: e" in board.notes_[1]
    for alpha in ("auto", 1e-9):
        one_way = Leaderboard(alpha=alpha).fit(["a", "a", "b"] * 9, ["b", "c", "c"] * 9)
        assert "Some items only win or only lose against others (won all votes: a; lost all" in one_way.notes_[0]
        assert np.isfinite(one_way.table().drop(columns="item").to_numpy(dtype=float)).all()
        assert one_way.table()["item"].tolist() == ["a", "b", "c"]
    assert Leaderboard().fit(["a", "b", "c"], ["b", "c", "a"]).notes_ == []


@pytest.mark.parametrize("model", ["bradley_terry", "least_squares"])
def test_a_judge_who_votes_at_random_is_flagged(model):
    rng = np.random.default_rng(0)
    f, judge = rng.normal(size=15), np.repeat(np.arange(12), 60)
    a = rng.integers(0, 15, len(judge))
    b = (a + rng.integers(1, 15, len(judge))) % 15
    chance = np.where(judge == 4, 0.5, expit(f[a] - f[b]))
    won = rng.random(len(judge)) < chance
    board = Leaderboard(model).fit(np.where(won, a, b), np.where(won, b, a), judge=[f"judge {k}" for k in judge])
    found = board.judges()
    assert found["judge"][found["flagged"]].tolist() == ["judge 4"]
    assert found["judge"][0] == "judge 4"
    assert found["agreement"][0] < found["expected"][0]
    assert found["votes"].tolist() == [60] * 12


@pytest.mark.parametrize("losses", [9, 14])
def test_the_tail_of_a_skewed_sum(losses):
    """200 votes, each won with probability 0.975; half of the probability of the value itself counts."""
    n, p = 200, 0.975
    exact = (binom.cdf(n - losses, n, p) + binom.cdf(n - losses - 1, n, p)) / 2
    std = np.sqrt(n * p * (1 - p))
    value, skewness = (n - losses - n * p) / std, (1 - 2 * p) / std
    assert judge_agreement._lower_tail(value, skewness) == pytest.approx(exact, rel=0.25)
    assert ndtr(value) < 0.75 * exact
    assert judge_agreement._lower_tail(value, 0.0) == ndtr(value)


def test_a_judge_is_left_out_exactly_by_least_squares():
    pairs, tie, weight, _ = votes_of(9)
    judge = np.arange(len(pairs)) % 3
    board = Leaderboard("least_squares", 0.7).fit(pairs[:, 0], pairs[:, 1], tie=tie, weight=weight, judge=judge)
    found = board.judges()
    found = {name: np.asarray(found[name])[np.argsort(found["judge"])] for name in ("judge", "votes", "agreement")}
    items = np.eye(6)
    for k in range(3):
        out = judge == k
        magnitude = np.where(tie, 0.0, 1.0)
        rest = RankRLS(0.7).fit_pairs(items, pairs[~out], magnitude=magnitude[~out], weight=weight[~out])
        scores, decided = rest.predict(items), out & ~tie
        agrees = scores[pairs[decided, 0]] > scores[pairs[decided, 1]]
        assert found["votes"][k] == weight[decided].sum()
        assert found["agreement"][k] == pytest.approx(weight[decided][agrees].sum() / weight[decided].sum())


def test_features_rank_items_without_votes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    f = X @ [2.0, -1.0, 0.0]
    a = rng.integers(0, 25, 600)
    b = (a + rng.integers(1, 25, 600)) % 25
    won = rng.random(600) < expit(f[a] - f[b])
    names = np.array([f"dish {k}" for k in range(30)])
    winners, losers = names[np.where(won, a, b)], names[np.where(won, b, a)]
    frame = pd.DataFrame(X, index=names, columns=["x", "y", "z"])
    board = Leaderboard().fit(winners, losers, features=frame)
    assert np.corrcoef(board.scores_[25:], f[25:])[0, 1] > 0.9
    assert board.notes_[-1] == "5 items have no votes: they are ranked by features only."
    assert len(board.table()) == 30
    assert (np.asarray(board.table()["votes"]) == 0).sum() == 5
    by_mapping = Leaderboard().fit(winners, losers, features=dict(zip(names, X, strict=True)))
    sparse_rows = Leaderboard().fit(winners, losers, features=(names, sparse.csr_array(X)))
    np.testing.assert_allclose(by_mapping.scores_, board.scores_)
    np.testing.assert_allclose(sparse_rows.scores_, board.scores_, atol=1e-6)
    with pytest.raises(InvalidInputError, match=r"got 'dish 91' \(similar: 'dish 9'"):
        Leaderboard().fit(["dish 91"], ["dish 1"], features=frame)


def test_labels_of_any_kind_and_any_container():
    winners, losers = [(1, "a"), None.__class__, 3.5], [3.5, (1, "a"), (1, "a")]
    board = Leaderboard().fit(winners, losers)
    assert board.items_.tolist() == [(1, "a"), None.__class__, 3.5]
    one, two = ["b", "a", "c"], ["a", "c", "b"]
    boards = [Leaderboard().fit(kind(one), kind(two)) for kind in (list, np.array, pd.Series, pl.Series)]
    assert all(board.items_.tolist() == ["b", "a", "c"] for board in boards)


def test_votes_are_what_their_weights_say_and_order_does_not_matter():
    pairs, tie, weight, _ = votes_of(10)
    whole = weight.astype(int)
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], tie=tie, weight=weight)
    repeated = Leaderboard().fit(*np.repeat(pairs, whole, axis=0).T, tie=np.repeat(tie, whole))
    shuffled = np.random.default_rng(0).permutation(len(pairs))
    turned = Leaderboard().fit(*pairs[shuffled].T, tie=tie[shuffled], weight=weight[shuffled])
    for other in (repeated, turned):
        np.testing.assert_allclose(other.scores_[in_order(other, 6)], board.scores_[in_order(board, 6)], atol=1e-5)


def test_a_leaderboard_is_a_value(tmp_path):
    pairs, tie, _, _ = votes_of(11)
    judge = np.arange(len(pairs)) % 2
    names = NAMES.astype(str)
    board = Leaderboard().fit(names[pairs[:, 0]], names[pairs[:, 1]], tie=tie, judge=judge)
    table = board.table()
    save(board, tmp_path / "board.kr")
    pd.testing.assert_frame_equal(load(tmp_path / "board.kr").table(), table)
    assert not hasattr(clone(board), "items_")
    board.fit(["x", "y"], ["y", "x"])
    assert board.table()["item"].tolist() == ["x", "y"]
    assert board.judges_ is None
    with pytest.raises(InvalidInputError, match="Expected votes with judges; got none"):
        board.judges()
    with pytest.raises(InvalidInputError):
        board.fit(["x"], ["x"])
    assert board.probability("x", "y") == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"winners": ["a"], "losers": ["b", "c"]}, "got 1 winners and 2 losers"),
        ({"winners": ["a", None], "losers": ["b", "a"]}, "winners has no item in vote 1"),
        ({"winners": ["a"], "losers": ["b"], "weight": [-1.0]}, "must be at least zero"),
        ({"winners": ["a"], "losers": ["b"], "tie": [2]}, "expected True or False"),
        ({"winners": ["a"], "losers": ["b"], "tie": ["no"]}, "tie must hold True or False: could not convert"),
        ({"winners": ["a"], "losers": ["b"], "weight": ["much"]}, "weight must hold numbers: could not convert"),
        ({"winners": ["a"], "losers": ["b"], "judge": ["x", "y"]}, "judge has 2 entries"),
        ({"winners": ["a"], "losers": ["b"], "features": [[1.0], [2.0]]}, r"or \(items, X\); got list"),
        ({"winners": ["a"], "losers": ["b"], "features": (["a"], [[1.0], [2.0]])}, "got 1 items, 2 rows"),
        ({"winners": ["a"], "losers": ["b"], "features": (["a", "a"], [[1.0], [2.0]])}, "got 'a' more than once"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(InvalidInputError, match=message):
        Leaderboard().fit(**given)


def test_no_votes():
    with pytest.raises(NothingToCompareError):
        Leaderboard().fit([], [])


def test_votes_on_an_item_against_itself_are_counted_and_left_out():
    winners, losers = ["a", "b", "x", "c", "a"], ["b", "b", "x", "a", "c"]
    tie, weight, judge = [False, True, False, False, True], [1.0, 5.0, 5.0, 2.0, 1.0], ["j", "k", "k", "j", "j"]
    board = Leaderboard().fit(winners, losers, tie=tie, weight=weight, judge=judge)
    kept = [0, 3, 4]
    clean = Leaderboard().fit(*([values[i] for i in kept] for values in (winners, losers, tie, weight, judge)))
    assert board.items_.tolist() == clean.items_.tolist() == ["a", "c", "b"]
    np.testing.assert_array_equal(board.scores_, clean.scores_)
    assert board.judges_.tolist() == ["j"]
    assert board.n_votes_ == 3
    assert board.notes_[-1] == "2 votes are on an item against itself and were left out."
    assert not any("itself" in note for note in clean.notes_)
    with pytest.raises(InvalidInputError, match="each on an item against itself"):
        Leaderboard().fit(["a"], ["a"])


def draw_with_ties(f, n_votes, odds, rng):
    """Return the two items of votes and their outcomes 0, 1 and 2, a tie, of Davidson's model."""
    first = rng.integers(0, len(f), n_votes)
    second = (first + rng.integers(1, len(f), n_votes)) % len(f)
    d = f[first] - f[second]
    chances = np.column_stack([np.exp(d / 2), np.exp(-d / 2), np.full(n_votes, odds)])
    bounds = np.cumsum(chances / chances.sum(axis=1)[:, None], axis=1)
    return first, second, (rng.random(n_votes)[:, None] > bounds).sum(axis=1)


def fit_with_ties(first, second, outcome, **options):
    winner = np.where(outcome == 1, second, first)
    return Leaderboard(**options).fit(winner, np.where(outcome == 1, first, second), tie=outcome == 2)


@pytest.mark.parametrize("alpha", ["auto", 0.05])
@pytest.mark.parametrize(("odds", "share"), [(0.0, 0.0), (0.9, 0.3), (3.2, 0.6)])
def test_standard_errors_are_those_of_votes_with_ties(odds, share, alpha):
    # Without regard to ties they were 1.25 and 1.8 times as large.
    rng = np.random.default_rng(3)
    f, found, outcomes = np.linspace(-1.0, 1.0, 8), [], []
    for _ in range(60):
        votes = draw_with_ties(f, 800, odds, rng)
        board = fit_with_ties(*votes, alpha=alpha)
        places = in_order(board, 8)
        found.append((board.scores_[places], board.posterior.std[places] ** 2))
        outcomes.append(np.mean(votes[2] == 2))
    scores, variances = (np.array(part) for part in zip(*found, strict=True))
    assert np.mean(outcomes) == pytest.approx(share, abs=0.05)
    ratio = np.sqrt(variances.mean() / scores.var(axis=0, ddof=1).mean())
    assert 0.92 < ratio < 1.12  # its standard error is .035


def test_what_a_vote_with_ties_is_worth():
    p = np.linspace(0.02, 0.98, 13)
    for odds in (0.3, 2.0, 9.0):
        model = LogisticVotes(odds)
        t = model.ties(p)
        win, loss = p - t / 2, 1 - p - t / 2
        np.testing.assert_allclose(t, odds * np.sqrt(win * loss))
        np.testing.assert_allclose(model.worth(p), p * (1 - p) / (p * (1 - p) - t / 4))
        np.testing.assert_allclose(model.decided(p), win / (win + loss))
    rng = np.random.default_rng(0)
    first, second, outcome = draw_with_ties(np.array([0.0, 0.5, 1.0]), 4000, 1.5, rng)
    board = fit_with_ties(first, second, outcome)
    d, totals = board._votes().differences(board.coef_), board._votes().total
    model = board.posterior.estimate.model
    assert totals @ model.ties(1 / (1 + np.exp(-d))) == pytest.approx(np.sum(outcome == 2), rel=2e-3)
    assert model.tie_odds == pytest.approx(1.5, rel=0.1)


@pytest.mark.parametrize("n", [1, 3, 30])
def test_nothing_but_ties_leaves_scores_equal_and_uncertain(n):
    board = Leaderboard().fit(["a"] * n + ["b"] * n, ["b"] * n + ["c"] * n, tie=[True] * (2 * n))
    np.testing.assert_allclose(board.scores_, 0.0, atol=1e-12)
    assert np.all(np.isfinite(board.posterior.std))
    assert np.all(board.posterior.std > 0.02)
    assert board.separable_groups() == [["a", "b", "c"]]
    assert len(board.next_pair(2)) == 2


def test_judges_who_vote_as_others_do_are_not_flagged_where_there_are_ties():
    rng = np.random.default_rng(5)
    first, second, outcome = draw_with_ties(np.linspace(-2, 2, 12), 4000, 1.5, rng)
    judge = rng.integers(0, 40, 4000)
    odd = judge == 0
    outcome[odd] = np.where(outcome[odd] == 2, 2, 1 - outcome[odd])
    winner = np.where(outcome == 1, second, first)
    board = Leaderboard().fit(winner, np.where(outcome == 1, first, second), tie=outcome == 2, judge=judge)
    found = board.judges()
    assert list(np.asarray(found["judge"])[np.asarray(found["flagged"])]) == [0]
    others = np.asarray(found["judge"]) != 0
    agreement, expected = (np.asarray(found[name])[others] for name in ("agreement", "expected"))
    assert np.mean(agreement - expected) == pytest.approx(0.0, abs=0.02)
    assert 0.35 < np.mean(np.asarray(found["pvalue"])[others]) < 0.65
