"""Covariates, categories, times, Davidson's ties and scales of leaderboards, against SciPy and dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from kernelrank import BradleyTerry, Leaderboard, load, save
from kernelrank.errors import InvalidInputError
from kernelrank.votes.latent import LatentPrecision, LatentPrior, LatentVotes
from kernelrank.votes.votes import Votes, time_slices, time_values

ITEMS = 8


def cast(seed, n=500, *, covariates=2, ties=0.0):
    """Votes with covariates: the winners, the losers, the covariates, which are ties."""
    random = np.random.default_rng(seed)
    f = random.normal(size=ITEMS)
    pairs = (random.integers(ITEMS, size=n)[:, None] + [[0, 1]] * random.integers(1, ITEMS, size=n)[:, None]) % ITEMS
    C = random.normal(size=(n, covariates)) * [1.0, 40.0][:covariates]
    d = f[pairs[:, 0]] - f[pairs[:, 1]] + C @ np.array([0.7, -0.01])[:covariates]
    turned = random.random(n) > 1 / (1 + np.exp(-d))
    pairs[turned] = pairs[turned][:, ::-1]
    C[turned] *= -1
    return pairs, C, random.random(n) < ties


def half_ties(d, tie):
    return np.where(tie, np.logaddexp(0, -d) / 2 + np.logaddexp(0, d) / 2, np.logaddexp(0, -d)).sum()


def davidson(d, tie, theta):
    total = np.logaddexp(np.logaddexp(d / 2, -d / 2), theta)
    return (total - np.where(tie, theta, d / 2)).sum()


def generic(pairs, C, tie, alpha, *, ties, light):
    """The mode by a generic optimiser: scores, effects, θ."""
    unit = np.sqrt(np.mean(C**2, axis=0))

    def value(x):
        f, gamma, theta = x[:ITEMS], x[ITEMS : ITEMS + len(unit)], x[-1]
        d = f[pairs[:, 0]] - f[pairs[:, 1]] + (C / unit) @ gamma
        loss = davidson(d, tie, theta) if ties == "davidson" else half_ties(d, tie) + theta**2
        return loss + alpha * f @ f + light * gamma @ gamma

    x = np.zeros(ITEMS + len(unit) + 1)
    for method in ("BFGS", "L-BFGS-B"):
        x = minimize(value, x, method=method, options={"gtol": 1e-9}).x
    for _ in range(4):  # Newton's method on differences of the written-out function
        x = newton(value, x)
    return x[:ITEMS] - x[:ITEMS].mean(), x[ITEMS:-1] / unit, x[-1]


def newton(value, x, h=1e-3):
    """One step with fourth-order differences."""
    unit = h * np.eye(len(x))
    slope = [(8 * (value(x + e) - value(x - e)) - value(x + 2 * e) + value(x - 2 * e)) / (12 * h) for e in unit]
    bend = [
        [(value(x + a + b) - value(x + a - b) - value(x - a + b) + value(x - a - b)) / (4 * h * h) for b in unit]
        for a in unit
    ]
    return x - np.linalg.lstsq(np.array(bend), np.array(slope), rcond=1e-9)[0]


@pytest.mark.parametrize(("ties", "share"), [("half", 0.0), ("half", 0.2), ("davidson", 0.2)])
@pytest.mark.parametrize("alpha", [1e-9, 0.5])
def test_scores_and_effects_are_those_of_a_generic_optimiser(alpha, ties, share):
    pairs, C, tie = cast(0, ties=share)
    board = Leaderboard(alpha=alpha, ties=ties).fit(pairs[:, 0], pairs[:, 1], tie=tie, covariates=C)
    f, gamma, theta = generic(pairs, C, tie, alpha, ties=ties, light=min(0.005, alpha))
    order = np.argsort(board.items_)
    assert np.abs(board.scores_[order] - f).max() < 1e-6
    assert np.abs((board.covariate_effects_ - gamma) / gamma).max() < 1e-6
    if ties == "davidson":
        assert board.tie_log_ == pytest.approx(theta, abs=1e-6)


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
def test_the_mode_is_that_of_bradley_terry(alpha):
    pairs, C, tie = cast(1, ties=0.2)
    board = Leaderboard(alpha=alpha).fit(pairs[:, 0], pairs[:, 1], tie=tie, covariates=C)
    model = BradleyTerry(alpha).fit_pairs(sparse.eye_array(ITEMS, format="csr"), pairs, tie=tie, covariates=C)
    order = np.argsort(board.items_)
    assert np.abs(board.scores_[order] - (model.coef_ - model.coef_.mean())).max() < 1e-8
    assert np.abs(board.covariate_effects_ / model.covariate_effects_ - 1).max() < 1e-8
    errors = [np.asarray(fitted.covariates_["std_error"]) for fitted in (board, model)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-6)


@pytest.mark.parametrize("options", [{"side_bias": True}, {"judge_effect": "side"}, {"judge_effect": "scale"}])
@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_covariates_stand_beside_other_effects(options, solver):
    pairs, C, tie = cast(2, ties=0.1)
    random = np.random.default_rng(0)
    given = {"side": random.choice([-1, 1], len(pairs)), "judge": random.integers(3, size=len(pairs)), "tie": tie}
    X = sparse.eye_array(ITEMS, format="csr")
    model = BradleyTerry(0.3, solver=solver, tol=1e-12, **options).fit_pairs(X, pairs, covariates=C, **given)
    assert model.gap_ < 1e-10
    assert model.covariate_effects_ == pytest.approx([0.7, -0.01], abs=0.25)
    # The gradient by the effects is the pull of their prior.
    d = model.coef_[pairs[:, 0]] - model.coef_[pairs[:, 1]]
    effects = getattr(model, "judge_effects_", np.zeros(3))
    if options.get("judge_effect") == "scale":
        d = d * effects[given["judge"]]
    else:
        d = d + given["side"] * (model.side_bias_ + effects[given["judge"]])
    eta = d + C @ model.covariate_effects_
    p = 1 / (1 + np.exp(-eta))
    unit = np.mean(C**2, axis=0)
    slope = C.T @ (p - np.where(tie, 0.5, 1.0)) + 2 * 0.005 * unit * model.covariate_effects_
    assert np.abs(slope / np.sqrt(unit)).max() < 1e-4
    at = model.predict_proba(X, [[0, 1]], covariates=[[1.0, 0.0]])[0, 0]
    assert np.log(at / (1 - at)) == pytest.approx(model.coef_[0] - model.coef_[1] + model.covariate_effects_[0])


def test_a_column_turned_towards_the_winner_is_never_centred():
    pairs, C, _ = cast(3)
    up = Leaderboard().fit(pairs[:, 0], pairs[:, 1], covariates={"length": np.abs(C[:, 0])})
    assert float(up.covariates_["effect"][0]) > 2.0
    with pytest.raises(InvalidInputError, match="differ from zero"):
        Leaderboard().fit(pairs[:, 0], pairs[:, 1], covariates=np.zeros(len(pairs)))
    with pytest.raises(InvalidInputError, match="one row of covariates"):
        Leaderboard().fit(pairs[:, 0], pairs[:, 1], covariates=C[1:])


SHAPES = [(2, 0, 0, 0), (2, 3, 0, 2), (1, 4, 0, 1), (1, 4, 2, 2), (0, 3, 0, 0)]


@pytest.mark.parametrize(("p", "slices", "categories", "n"), SHAPES)
def test_blocks_are_those_of_the_dense_system(p, slices, categories, n):
    random = np.random.default_rng(p + slices)
    m, many = 5, max(categories, 1)
    pairs = (random.integers(m, size=60)[:, None] + [[0, 1]] * random.integers(1, m, size=60)[:, None]) % m
    C = random.normal(size=(60, p)) if p else None
    group = random.integers(max(slices, 1) * many, size=60)
    votes = Votes.count(m, pairs, group=group, covariates=C)
    X, timed = random.normal(size=(m, n)), slices == 4
    times = np.array([0.0, 0.1, 0.6, 1.0]) if timed else None
    latent = LatentVotes(votes, X, slices, categories, votes.group // many, votes.group % many, times)
    logs = np.log([0.7, 0.8, 0.5, 0.6, 0.9])[: len(latent.names)]
    prior, weight = LatentPrior.of(latent, logs, 0.01), random.random(len(votes.pairs)) + 0.1
    precision = LatentPrecision(latent, weight, prior)

    D, at = votes.incidence.toarray(), votes.group // many
    parts = [np.zeros((len(D), 0)) if C is None else votes.covariates, D @ X, D]
    parts += [D * (votes.group % many == one)[:, None] for one in range(categories)]
    B = np.hstack(parts + [D * (at == one)[:, None] for one in range(slices)])
    r = len(prior.shared)
    Q = np.zeros((B.shape[1], B.shape[1]))
    Q[:r, :r] = np.diag(prior.shared)
    if timed:
        change, length = np.exp(logs[-2:])
        apart = np.exp(-np.abs(np.subtract.outer(times, times)) / length)
        own = np.linalg.inv(change**2 / (2 * (1 - np.exp(-1 / length))) * apart)
    else:
        own = np.exp(-2 * logs[-1]) * np.eye(slices)
    Q[r:, r:] = np.kron(own, np.eye(m))
    A = Q + B.T @ (weight[:, None] * B)
    inverse, b = np.linalg.inv(A), random.normal(size=len(A))

    assert precision.log_det == pytest.approx(np.linalg.slogdet(A)[1])
    assert prior.log_det == pytest.approx(np.linalg.slogdet(Q)[1])
    assert precision.row_variances() == pytest.approx(np.einsum("ij,jk,ik->i", B, inverse, B))
    solved = precision.solve(b[:r], b[r:].reshape(slices, m))
    assert np.concatenate([solved[0], solved[1].ravel()]) == pytest.approx(inverse @ b)
    pushed = prior.multiply(b[:r], b[r:].reshape(slices, m))
    assert np.concatenate([pushed[0], pushed[1].ravel()]) == pytest.approx(Q @ b)
    assert latent.differences(b[:r], b[r:].reshape(slices, m)) == pytest.approx(B @ b)
    summed = latent.gradient(weight)
    assert np.concatenate([summed[0], summed[1].ravel()]) == pytest.approx(B.T @ weight)


def contexts(seed, n=1_200):
    random = np.random.default_rng(seed)
    f, g = random.normal(size=ITEMS), random.normal(size=(3, ITEMS))
    h = np.cumsum(random.normal(size=(10, ITEMS)), axis=0) * 0.4
    pairs = (random.integers(ITEMS, size=n)[:, None] + [[0, 1]] * random.integers(1, ITEMS, size=n)[:, None]) % ITEMS
    category, time = random.integers(3, size=n), random.integers(10, size=n)
    s = f + 0.7 * g[category] + h[time]
    d = (np.take_along_axis(s, pairs, 1) * [1, -1]).sum(axis=1)
    turned = random.random(n) > 1 / (1 + np.exp(-d))
    pairs[turned] = pairs[turned][:, ::-1]
    return np.array(list("abcdefgh"))[pairs], np.array(["x", "y", "z"])[category], time, f + 0.7 * g, h


def test_categories_and_times_follow_the_truth():
    pairs, category, time, by_category, h = contexts(0)
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], category=category, time=time)
    for at in (0, 5, 9):
        table = board.table(at=at)
        truth = by_category.mean(axis=0) + h[at]
        assert np.corrcoef(table["score"], truth[["abcdefgh".index(one) for one in table["item"]]])[0, 1] > 0.85
    for number, name in enumerate("xyz"):
        table = board.table(category=name)
        truth = by_category[number] + h[9]
        assert np.corrcoef(table["score"], truth[["abcdefgh".index(one) for one in table["item"]]])[0, 1] > 0.85
        assert sum(table["votes"]) == 2 * np.sum(category == name)
        assert sum(table["wins"]) == np.sum(category == name)
    # The board of the present is the last one, and every other method is of the present.
    assert np.array_equal(board.table()["score"], board.table(at=9)["score"])
    line = board.trajectories()
    assert len(line["item"]) == 10 * ITEMS
    last = {item: score for item, score, at in zip(line["item"], line["score"], line["time"], strict=True) if at == 9}
    assert [last[one] for one in board.table()["item"]] == pytest.approx(list(board.table()["score"]))
    parts = board.variation()
    assert list(parts["part"]) == ["items", "categories", "drift", "length"]
    assert 0.3 < parts["value"][1] < 1.3
    apart = board.category_differences()
    assert len(apart["item"]) == 3 * ITEMS
    assert any(apart["differs"])
    assert not all(apart["differs"])


def test_categories_that_are_alike_get_one_board():
    pairs, _, _, _, _ = contexts(1)
    category = np.random.default_rng(0).integers(3, size=len(pairs))
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], category=category)
    common = dict(zip(board.table()["item"], board.table()["score"], strict=True))
    for one in range(3):
        own = board.table(category=one)
        assert max(abs(common[item] - score) for item, score in zip(own["item"], own["score"], strict=True)) < 0.2
    assert board.variation()["value"][1] < 0.25
    assert sum(board.category_differences()["differs"]) <= 2


def test_scales_and_anchors_move_scores_and_leave_widths_alone():
    pairs, C, _ = cast(4)
    plain = Leaderboard().fit(pairs[:, 0], pairs[:, 1])
    elo = Leaderboard(scale="elo", anchor={3: 1000.0}).fit(pairs[:, 0], pairs[:, 1])
    one, other = plain.table(), elo.table()
    unit = 400 / np.log(10)
    assert list(one["item"]) == list(other["item"])
    assert np.asarray(other["high"] - other["low"]) == pytest.approx(unit * np.asarray(one["high"] - one["low"]))
    assert np.diff(other["score"]) == pytest.approx(unit * np.diff(one["score"]))
    assert dict(zip(other["item"], other["score"], strict=True))[3] == pytest.approx(1000.0)
    assert elo.compare(0, 1).difference == pytest.approx(unit * plain.compare(0, 1).difference)
    assert elo.probability(0, 1) == plain.probability(0, 1)
    with pytest.raises(InvalidInputError, match="item of the votes"):
        Leaderboard(anchor={99: 0.0}).fit(pairs[:, 0], pairs[:, 1])
    for wrong in ({"scale": "elo"}, {"ties": "davidson"}):
        with pytest.raises(InvalidInputError, match="bradley_terry"):
            Leaderboard("least_squares", **wrong).fit(pairs[:, 0], pairs[:, 1])
    with pytest.raises(InvalidInputError, match="bradley_terry"):
        Leaderboard("least_squares").fit(pairs[:, 0], pairs[:, 1], covariates=C)


def test_times_of_any_kind():
    dates = ["2024-05-01", "2024-05-03T12:00", "2024-05-01"]
    seconds, dated = time_values(dates, 3)
    assert dated
    assert seconds[1] - seconds[0] == 2.5 * 86_400
    assert time_values(np.array(dates, dtype="datetime64[s]"), 3)[0].tolist() == seconds.tolist()
    assert time_values([3, 1.5, 2], 3)[1] is False
    codes, times = time_slices(seconds, 10)
    assert codes.tolist() == [0, 1, 0]
    assert len(times) == 2
    codes, times = time_slices(np.random.default_rng(0).random(5_000), 10)
    assert len(times) == 200
    assert np.bincount(codes).min() > 15
    assert np.all(np.diff(times) > 0)
    for wrong in (["spring", "2024-01-01", "x"], [np.nan, 1.0, 2.0], [1.0, 2.0]):
        with pytest.raises(InvalidInputError, match=r"times?"):
            time_values(wrong, 3)


def test_questions_that_have_no_answer():
    pairs, category, time, _, _ = contexts(2, 200)
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], category=category)
    with pytest.raises(InvalidInputError, match="category of the votes"):
        board.table(category="w")
    with pytest.raises(InvalidInputError, match="Pass `time` to fit"):
        board.table(at=3)
    with pytest.raises(InvalidInputError, match="both"):
        board.table(category="x", at=3)
    with pytest.raises(InvalidInputError, match="Pass `covariates`"):
        board.probability("a", "b", covariates=[1.0])
    plain = Leaderboard().fit(pairs[:, 0], pairs[:, 1])
    for question in (plain.trajectories, plain.category_differences, plain.variation):
        with pytest.raises(InvalidInputError, match="Expected votes with"):
            question()
    board.fit(pairs[:, 0], pairs[:, 1], time=time)
    assert board.categories_ is None  # nothing of the earlier fit is left


def test_judges_are_compared_with_what_votes_were_about():
    pairs, C, _ = cast(5, 2_000, covariates=1)
    C = C * 3.0
    judge = np.arange(len(pairs)) % 4
    board = Leaderboard().fit(pairs[:, 0], pairs[:, 1], covariates=C, judge=judge)
    assert not any(board.judges()["flagged"])
    at = np.arange(len(pairs)) // 200
    assert not any(Leaderboard().fit(*pairs.T, covariates=C, judge=judge, time=at, category=at % 2).judges()["flagged"])
    turned = judge == 2
    pairs[turned] = pairs[turned][:, ::-1]
    C[turned] *= -1
    board.fit(pairs[:, 0], pairs[:, 1], covariates=C, judge=judge)
    first = {name: values[0] for name, values in board.judges().items()}
    assert first["judge"] == 2
    assert first["flagged"]


def test_a_saved_board_is_the_same(tmp_path):
    pairs, category, time, _, _ = contexts(3, 300)
    covariates = {"tokens": np.random.default_rng(0).normal(size=len(pairs))}
    board = Leaderboard(ties="davidson", scale="elo", anchor={"a": 1000.0})
    board.fit(pairs[:, 0], pairs[:, 1], category=category, time=time, covariates=covariates, judge=category)
    save(board, tmp_path / "board.krank")
    again = load(tmp_path / "board.krank")
    for question in ("table", "trajectories", "category_differences", "variation", "judges"):
        first, second = getattr(board, question)(), getattr(again, question)()
        for column in first:
            assert np.array_equal(np.asarray(first[column]), np.asarray(second[column])), column
    assert again.probability("a", "b", covariates={"tokens": 1.0}) == board.probability("a", "b", covariates=[1.0])
