"""Preferences held out: equal to fitting anew without them, one by one, by group, and with both of their items."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.exact_cv import preferences
from kernelrank.metrics import preference_agreement
from kernelrank.model_selection import RankRLSCV, leave_preferences_out
from kernelrank.votes import BradleyTerry

ALPHAS = 2.0 ** np.array([-15, -4, 0, 4, 15])
LEARNERS = {
    "linear": RankRLS(),
    "more columns than items": RankRLS(kernel="poly", degree=2),
    "Gaussian": RankRLS(kernel="gaussian", gamma=0.3),
    "basis": RankRLS(kernel="gaussian", gamma=0.3, basis=[0, 2, 4, 5, 8]),
}


def votes(seed, m=11, n_votes=34):
    """Votes between the first items, repeated and contradicting; the last two items have none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3))
    first = rng.integers(m - 2, size=n_votes)
    pairs = np.column_stack([first, (first + rng.integers(1, m - 2, size=n_votes)) % (m - 2)])
    pairs[1], pairs[2] = pairs[0], pairs[0][::-1]
    return X, pairs, rng


def refitted(learner, X, pairs, leaving, *, items=False, **values):
    """Fit anew without what leaves with each preference, for every alpha; with `items` its items leave a basis too."""
    found, models = np.zeros((len(pairs), len(ALPHAS))), {}
    for e, (pair, held) in enumerate(zip(pairs, leaving, strict=True)):
        kept = np.ones(len(pairs), dtype=bool)
        kept[held] = False
        basis = np.setdiff1d(learner.basis, pair) if items and learner.basis is not None else learner.basis
        given = {name: value[kept] for name, value in values.items() if value is not None}
        nothing = not kept.any() or ("weight" in given and not np.any(given["weight"]))
        if nothing or (basis is not None and len(basis) == 0):
            continue
        key = kept.tobytes() + (np.sort(pair).tobytes() if items else b"")
        if key not in models:
            changed = [clone(learner).set_params(alpha=alpha, basis=basis) for alpha in ALPHAS]
            models[key] = np.transpose([one.fit_pairs(X, pairs[kept], **given).predict(X) for one in changed])
        found[e] = models[key][pair[0]] - models[key][pair[1]]
    return found


def what_leaves(mode, pairs, groups):
    if mode == "single":
        return [[e] for e in range(len(pairs))]
    if mode == "groups":
        return [np.flatnonzero(groups == group) for group in groups]
    return [np.flatnonzero(np.isin(pairs, pair).any(axis=1)) for pair in pairs]


def assert_as_refitted(learner, X, pairs, mode, groups=None, **values):
    options = {"groups": groups if mode == "groups" else None, "items": mode == "items"}
    found = leave_preferences_out(learner, X, pairs, alphas=ALPHAS, **options, **values).difference
    expected = refitted(learner, X, pairs, what_leaves(mode, pairs, groups), items=mode == "items", **values)
    scale = np.maximum(np.abs(expected).max(axis=0), 1e-300)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("mode", ["single", "groups", "items"])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_preferences_equal_refitting(name, mode, weighted):
    X, pairs, rng = votes(len(name))
    values = {"magnitude": rng.uniform(0, 2, len(pairs)), "weight": rng.integers(3, size=len(pairs)).astype(float)}
    judges = rng.integers(4, size=len(pairs))
    assert_as_refitted(LEARNERS[name], X, pairs, mode, judges, **(values if weighted else {}))


@pytest.mark.parametrize("mode", ["single", "groups", "items"])
@pytest.mark.parametrize("rank", [1, 2, 11])
def test_precomputed_kernels_equal_refitting(mode, rank):
    """Singular ones too: rank 1 has one direction, which some sets carry alone."""
    X, pairs, rng = votes(20 + rank)
    phi = rng.standard_normal((len(X), rank))
    phi[3] = phi[4]
    judges = np.where(np.arange(len(pairs)) < 3, 0, rng.integers(1, 5, size=len(pairs)))
    weight = np.where(rng.random(len(pairs)) < 0.2, 0.0, rng.uniform(0.1, 3, len(pairs)))
    learner = RankRLS(kernel="precomputed")
    assert_as_refitted(
        learner, phi @ phi.T, pairs, mode, judges, weight=weight, magnitude=rng.uniform(0, 2, len(pairs))
    )


@pytest.mark.parametrize("mode", ["single", "groups", "items"])
def test_votes_between_two_groups_of_items(mode):
    """Nothing compares the groups; each is a star, so that an item may lose its only vote."""
    rng = np.random.default_rng(5)
    pairs = np.array([[0, 1], [2, 0], [0, 3], [3, 0], [4, 5], [4, 5], [6, 4], [4, 7]])
    X = rng.standard_normal((9, 2))
    for learner in (RankRLS(), RankRLS(kernel="gaussian"), RankRLS(kernel="gaussian", basis=[0, 4, 8])):
        assert_as_refitted(learner, X, pairs, mode, np.array([0, 1, 0, 2, 0, 1, 3, 3]))


@pytest.mark.parametrize("mode", ["single", "groups", "items"])
def test_random_multigraphs(mode):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m, columns = int(rng.integers(4, 14)), int(rng.integers(1, 5))
        X = rng.integers(-2, 3, size=(m, columns)).astype(float)  # duplicate items too
        first = rng.integers(m, size=int(rng.integers(3, 40)))
        pairs = np.column_stack([first, (first + rng.integers(1, m, size=len(first))) % m])
        groups = np.where(rng.random(len(pairs)) < 0.3, rng.integers(9, size=len(pairs)), 0)  # small ones, a large one
        kernel = ["linear", "gaussian"][seed % 2]
        assert_as_refitted(RankRLS(kernel=kernel), X, pairs, mode, groups)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_leaves_nothing_to_train_on_predicts_ties(name):
    """Zero, and not rounding errors, which would agree or disagree at random."""
    rng = np.random.default_rng(4)
    X, learner = rng.standard_normal((4, 3)), clone(LEARNERS[name])
    learner.set_params(basis=None if learner.basis is None else [0, 1, 3])
    pairs = np.array([[0, 1], [1, 2], [2, 0], [1, 0], [0, 2], [0, 3]] * 3)
    weight = np.tile([1.0, 0.3, 2.0, 0.7, 1.1, 0.0], 3)
    found = leave_preferences_out(learner, X, pairs, items=True, alphas=ALPHAS, weight=weight)
    np.testing.assert_array_equal(found.difference[pairs[:, 1] < 3], 0.0)
    single = leave_preferences_out(learner, X, [[0, 1], [2, 1]], alphas=ALPHAS, weight=[1.0, 0.0])
    np.testing.assert_array_equal(single.difference[0], 0.0)


@pytest.mark.parametrize("mode", ["single", "groups", "items"])
@pytest.mark.parametrize("seed", range(6))
def test_preferences_of_weight_zero_keep_their_digits(mode, seed):
    """In a smooth kernel with eigenvalues of all sizes, also for items that are compared with weight zero only."""
    rng = np.random.default_rng(seed)
    X, first = rng.standard_normal((15, 1)), rng.integers(15, size=36)
    pairs = np.column_stack([first, (first + rng.integers(1, 15, size=36)) % 15])
    weight = np.where((rng.random(36) < 0.2) | (pairs < 2).any(axis=1), 0.0, rng.uniform(0.1, 3.0, 36))
    assert_as_refitted(RankRLS(kernel="gaussian"), X, pairs, mode, rng.integers(5, size=36), weight=weight)


@pytest.mark.parametrize("mode", ["single", "groups", "items"])
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "poly"])
def test_items_that_are_all_the_same_are_tied(mode, kernel):
    """Their kernel matrix has no direction in which they differ."""
    X, pairs = np.ones((4, 2)), np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    options = {"groups": [0, 0, 1, 1] if mode == "groups" else None, "items": mode == "items"}
    for weight in ([1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]):
        found = leave_preferences_out(RankRLS(kernel=kernel), X, pairs, alphas=ALPHAS, weight=weight, **options)
        np.testing.assert_array_equal(found.difference, 0.0)


def test_the_sums_of_groups_need_not_all_be_kept(monkeypatch):
    X, pairs, rng = votes(7, n_votes=60)
    monkeypatch.setattr(preferences, "SUM_BYTES", 400)
    monkeypatch.setattr(preferences, "FEW", 0)
    monkeypatch.setattr(preferences, "MOST_STEPS", 0)  # nothing converges, so that all sets are factorised
    assert_as_refitted(RankRLS(), X, pairs, "groups", rng.integers(6, size=60))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("steps", [0, 30])
def test_groups_of_any_size_equal_refitting(name, steps, monkeypatch):
    monkeypatch.setattr(preferences, "FEW", 0)
    monkeypatch.setattr(preferences, "MOST_STEPS", steps)
    X, pairs, rng = votes(len(name), n_votes=60)
    values = {"magnitude": rng.uniform(0, 2, 60), "weight": rng.integers(3, size=60).astype(float)}
    groups = np.where(rng.random(60) < 0.5, rng.integers(9, size=60), 0)
    assert_as_refitted(LEARNERS[name], X, pairs, "groups", groups, **values)


def test_large_groups_converge_without_a_factorisation(monkeypatch):
    for route in ("_factorised_set", "_leave_large"):
        monkeypatch.setattr(preferences.PreferenceProblem, route, None)
    X, pairs, rng = votes(4, m=60, n_votes=1_500)
    judges = rng.integers(20, size=1_500)
    for kernel in ("linear", "gaussian"):
        found = leave_preferences_out(RankRLS(kernel=kernel), X, pairs, groups=judges, alphas=[1.0, 8.0]).difference
        kept = judges != 3
        for alpha, column in zip([1.0, 8.0], found.T, strict=True):
            scores = RankRLS(alpha, kernel=kernel).fit_pairs(X, pairs[kept]).predict(X)
            expected = scores[pairs[~kept, 0]] - scores[pairs[~kept, 1]]
            np.testing.assert_allclose(column[~kept], expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("basis", [[0, 1, 2, 3, 4, 9], [0, 1], 5])
def test_two_items_leave_the_basis(basis):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 2))
    X[9] = X[1]  # the basis may have duplicates: one stands in for the other
    first = rng.integers(12, size=40)
    pairs = np.column_stack([first, (first + rng.integers(1, 12, size=40)) % 12])
    learner = RankRLS(kernel="gaussian", basis=basis, random_state=0)
    # A basis that is drawn is drawn once, for all models.
    assert_as_refitted(learner._settled(X) if isinstance(basis, int) else learner, X, pairs, "items")


def test_items_of_many_votes_go_by_sums():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((8, 2))
    pairs = np.array([pair for pair in rng.integers(8, size=(70, 2)) if pair[0] != pair[1]])
    assert_as_refitted(RankRLS(), X, pairs, "items")


def test_many_items_converge_without_a_factorisation(monkeypatch):
    monkeypatch.setattr(preferences, "_factorise", lambda *_: np.full(3, np.inf))
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    first = rng.integers(60, size=1_500)
    pairs = np.column_stack([first, (first + rng.integers(1, 60, size=1_500)) % 60])
    found = leave_preferences_out(RankRLS(), X, pairs, items=True, alphas=ALPHAS).difference[:5]
    leaving = what_leaves("items", pairs, None)
    for e in range(5):
        kept = np.delete(pairs, leaving[e], axis=0)
        scores = [RankRLS(alpha).fit_pairs(X, kept).predict(X) for alpha in ALPHAS]
        expected = [score[pairs[e, 0]] - score[pairs[e, 1]] for score in scores]
        np.testing.assert_allclose(found[e], expected, rtol=1e-10)


def test_one_judge_leaves_nothing():
    X, pairs, _ = votes(2)
    found = leave_preferences_out(RankRLS(), X, pairs, groups=["Ann"] * len(pairs))
    assert np.abs(found.difference).max() < 1e-15
    assert found.agreement.value == 0.5


def test_other_estimators_are_refitted():
    X, pairs, _ = votes(3, n_votes=12)
    found = leave_preferences_out(RankSVM(2.0), X, pairs)
    for e, pair in enumerate(pairs):
        scores = RankSVM(2.0).fit_pairs(X, np.delete(pairs, e, axis=0)).predict(X)
        assert found.difference[e] == pytest.approx(scores[pair[0]] - scores[pair[1]], abs=1e-6)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_bradley_terry_has_probabilities(ties):
    X, pairs, rng = votes(6, n_votes=16)
    tie, judges = rng.random(16) < 0.3, rng.integers(3, size=16)
    model = BradleyTerry(ties=ties)
    for groups in (None, judges):
        found = leave_preferences_out(model, X, pairs, groups=groups, tie=tie, alphas=[0.1, 1.0])
        for e, pair in enumerate(pairs):
            kept = np.arange(16) != e if groups is None else groups != groups[e]
            outcomes = clone(model).fit_pairs(X, pairs[kept], tie=tie[kept]).predict_proba(X, [pair])[0]
            tied = np.sqrt(outcomes[0] * outcomes[1]) if ties == "half" else outcomes[2]
            assert found.probability[e, 1] == pytest.approx(tied if tie[e] else outcomes[0], abs=1e-8)
        assert found.log_loss[1] == pytest.approx(-np.log(found.probability[:, 1]).mean())
        assert found.agreement[1].n_preferences == (~tie).sum()
    assert "log-loss" in str(found)
    assert "probability_1" in found.to_frame()


def test_the_agreement_is_that_of_the_differences():
    X, pairs, _ = votes(4)
    found = leave_preferences_out(RankRLS(), X, pairs)
    assert found.difference.shape == (len(pairs),)
    assert found.agreement.value == pytest.approx(np.mean(0.5 + 0.5 * np.sign(found.difference)))
    assert found.agreement.interval.low < found.agreement.value < found.agreement.interval.high
    scores = np.arange(len(X), dtype=float)
    given = preference_agreement(pairs, scores)
    assert given.value == pytest.approx(np.mean(scores[pairs[:, 0]] > scores[pairs[:, 1]]))
    path = leave_preferences_out(RankRLS(), X, pairs, alphas=[0.1, 10.0])
    assert [one.value for one in path.agreement] == pytest.approx(
        [np.mean(0.5 + 0.5 * np.sign(column)) for column in path.difference.T]
    )
    assert "34 preferences held out (one preference at a time)" in str(found)
    assert found.to_frame()["difference"].tolist() == found.difference.tolist()
    assert "agreement" in path._repr_html_()


@pytest.mark.parametrize("learner", [RankRLS, partial(RankRLSCV, [0.1, 1.0])])
def test_a_magnitude_of_zero_is_a_tie_unless_the_cost_is_one_for_all(learner):
    X, pairs, _ = votes(7)
    magnitude = np.ones(len(pairs))
    magnitude[[3, 8, 20]] = 0.0
    tied = leave_preferences_out(learner(), X, pairs, magnitude=magnitude)
    np.testing.assert_array_equal(tied.tie, magnitude == 0.0)
    assert tied.agreement.n_preferences == len(pairs) - 3
    unit = leave_preferences_out(learner(cost="unit"), X, pairs, magnitude=magnitude)
    plain = leave_preferences_out(learner(), X, pairs)
    assert unit.tie is None
    np.testing.assert_allclose(unit.difference, plain.difference, rtol=0, atol=1e-12)
    assert unit.agreement.n_preferences == len(pairs)
    assert unit.agreement.value == plain.agreement.value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": np.zeros((0, 2), dtype=int)}, "empty"),
        ({"groups": [0, 1], "pairs": [[0, 1], [1, 0]], "items": True}, "not both"),
        ({"estimator": LinearRegression()}, "no fit_pairs"),
        ({"groups": [1]}, "groups"),
        ({"tie": [False] * 34}, "RankRLS.fit_pairs takes no tie"),
    ],
)
def test_what_cannot_be_held_out_is_refused(options, message):
    X, pairs, _ = votes(5)
    arguments = {"estimator": RankRLS(), "pairs": pairs, **options}
    with pytest.raises(InvalidInputError, match=message):
        leave_preferences_out(arguments.pop("estimator"), X, arguments.pop("pairs"), **arguments)


def test_items_without_a_vote_keep_no_trace_of_what_was_held_out():
    pairs = np.array([[0, 1], [0, 1], [1, 2], [2, 3], [0, 3], [3, 1]])
    found = leave_preferences_out(BradleyTerry(0.1), np.eye(4), pairs, items=True)
    assert np.abs(found.difference).max() < 1e-15
    alone = leave_preferences_out(
        BradleyTerry(0.1), np.eye(5), np.vstack([pairs, [[4, 4 - 1]]]), groups=[0, 1] * 3 + [2]
    )
    assert alone.difference[-1] == pytest.approx(-_refitted_score(pairs, 3), abs=1e-12)


def _refitted_score(pairs, item):
    return float(BradleyTerry(0.1).fit_pairs(np.eye(5), pairs).predict(np.eye(5))[item])


@pytest.mark.parametrize("n", [1, 3, 4])
def test_a_direction_that_the_residual_hardly_has_is_not_missed(n):
    """T takes all but a trifle of one direction, along which the first guess leaves next to nothing."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    taken = np.array([1.0 - 1e-7, 0.1, 0.1, 0.1, 0.1, 0.1])
    T, a = (Q * taken) @ Q.T, np.ones((6, n))
    residual = Q @ np.array([1e-7, 1.0, 0.5, 0.3, 0.2, 0.1])
    for T_k, expected in ((T, False), (0.5 * T, True)):
        x, r = np.zeros((1, 6, n)), np.repeat(residual[None, :, None], n, axis=2)
        solved = preferences.solve_reduced(lambda p, _, T_k=T_k: T_k @ p, a, x, r, np.ones(n))
        assert solved.shape == (1, n)
        assert bool(solved.all()) is expected
        if expected:
            truth = np.linalg.solve(np.eye(6) - T_k, residual)
            np.testing.assert_allclose(x[0], np.repeat(truth[:, None], n, axis=1), rtol=0, atol=1e-11)
