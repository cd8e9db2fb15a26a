"""BradleyTerry: the likelihood that it maximises, its effects, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, NotConverged, NothingToCompareError
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import leave_preferences_out
from kernelrank.persistence import load, save
from kernelrank.votes import BradleyTerry
from tests.oracles import votes as oracle
from tests.oracles.pairs import scored_edges

MODELS = [
    BradleyTerry(),
    BradleyTerry(ties="davidson"),
    BradleyTerry(solver="conjugate_gradient", tol=1e-12),
    BradleyTerry(kernel="rbf"),
    BradleyTerry(kernel=RBF(1.5)),
    BradleyTerry(basis=3, random_state=0),
    BradleyTerry(kernel="precomputed"),
]
NOT_A_KERNEL = {
    "check_estimators_dtypes": "the check truncates the kernel to integers; it becomes indefinite and is refused",
    "check_positive_only_tag_during_fit": "the check takes the mean away; the kernel becomes indefinite and is refused",
}
DRAWN = "an integer basis is drawn from other items when items are repeated"


def expected_failures(estimator):
    expected = {}
    if estimator.basis is not None:
        expected |= {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in ("dense", "sparse")}
    if estimator.kernel == "precomputed":
        expected |= NOT_A_KERNEL
    return expected


@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    if estimator.kernel == "precomputed" and getattr(check, "keywords", {}).get("X_dtype") == "float32":
        # The check passes a kernel of 24 bits off as one of 53, for which it is indefinite.
        with pytest.raises(InvalidInputError, match="indefinite"):
            check(estimator)
    else:
        check(estimator)


def random_votes(seed, n_items=7, n_votes=40, n_judges=3):
    """Votes of every kind: repeated, contradicting, tied, weighted, and an item that nobody votes on."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_items - 1, n_votes)
    second = (first + rng.integers(1, n_items - 1, n_votes)) % (n_items - 1)
    scores = rng.normal(size=n_items)
    swapped = rng.random(n_votes) > 1 / (1 + np.exp(scores[second] - scores[first]))
    pairs = np.column_stack([np.where(swapped, second, first), np.where(swapped, first, second)])
    return pairs, {
        "tie": rng.random(n_votes) < 0.25,
        "weight": rng.uniform(0.0, 2.0, n_votes),
        "side": rng.integers(-1, 2, n_votes),
        "judge": rng.permutation(np.arange(n_votes) % n_judges),
    }


OPTIONS = [
    {},
    {"ties": "davidson"},
    {"side_bias": True},
    {"ties": "davidson", "side_bias": True},
    {"judge_effect": "side"},
    {"judge_effect": "side", "side_bias": True, "ties": "davidson"},
    {"judge_effect": "scale"},
    {"judge_effect": "scale", "side_bias": True, "ties": "davidson"},
]


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(map(str, options.values())) or "plain")
def test_equals_a_generic_optimiser(options, solver):
    pairs, given = random_votes(1)
    X = np.random.default_rng(2).normal(size=(7, 3))
    x, value, _ = oracle.minimum(X, pairs, 0.3, **given, **options)
    labels = np.array(["ann", "bob", "cy"])[given["judge"]]
    model = BradleyTerry(0.3, solver=solver, tol=1e-11, **options).fit_pairs(X, pairs, **{**given, "judge": labels})
    kinds = {"side_bias": False, "judge_effect": None, **options}
    w, theta, bias, effects = oracle.split(
        x, 3, 3, davidson=kinds.pop("ties", "half") == "davidson", side_bias=kinds["side_bias"],
        judge_effect=kinds["judge_effect"],
    )  # fmt: skip
    np.testing.assert_allclose(model.coef_, w, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.objective_, value, rtol=1e-12)
    np.testing.assert_allclose(model.side_bias_, bias, rtol=0, atol=1e-8)
    if theta is not None:
        np.testing.assert_allclose(model.tie_log_, theta, rtol=0, atol=1e-8)
    if kinds["judge_effect"]:
        order = np.argsort(model.judges_)
        size = np.exp(effects - effects.mean())
        expected = effects if kinds["judge_effect"] == "side" else 5.0 * size / (4.0 + size)
        np.testing.assert_allclose(model.judge_effects_[order], expected, rtol=0, atol=1e-8)
    assert model.gap_ < 1e-11


@pytest.mark.parametrize(("seed", "alpha"), [(18, 1.0), (50, 0.1), (335, 0.1)])
def test_scales_that_overflow_in_a_first_step_are_fitted(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 2))
    scores = X @ [1.0, 0.5]
    first = rng.integers(6, size=60)
    second = (first + rng.integers(1, 6, size=60)) % 6
    won = rng.random(60) < 1 / (1 + np.exp(scores[second] - scores[first]))
    pairs = np.where(won[:, None], np.column_stack([first, second]), np.column_stack([second, first]))
    judge = rng.integers(4, size=60)
    model = BradleyTerry(alpha, judge_effect="scale").fit_pairs(X, pairs, judge=judge)
    _, value, _ = oracle.minimum(X, pairs, alpha, judge=judge, judge_effect="scale")
    np.testing.assert_allclose(model.objective_, value, rtol=1e-10)


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_items_without_features(solver):
    pairs, given = random_votes(3)
    x, *_ = oracle.minimum(np.eye(7), pairs, 0.05, tie=given["tie"], weight=given["weight"])
    for items in (sparse.eye_array(7, format="csr"), sparse.identity(7), np.eye(7)):
        model = BradleyTerry(0.05, solver=solver).fit_pairs(items, pairs, tie=given["tie"], weight=given["weight"])
        np.testing.assert_allclose(model.predict(items), x, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [{"kernel": "rbf", "gamma": 0.3}, {"kernel": "rbf", "gamma": 0.3, "basis": [4, 0, 2]}]
)
def test_kernels(kernel):
    pairs, given = random_votes(4)
    X = np.random.default_rng(5).normal(size=(7, 2))
    model = BradleyTerry(0.2, ties="davidson", **kernel).fit_pairs(X, pairs, tie=given["tie"])
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    K, basis = np.exp(-0.3 * squares), kernel.get("basis", list(range(7)))
    Phi = np.linalg.solve(np.linalg.cholesky(K[np.ix_(basis, basis)]), K[basis]).T
    x, *_ = oracle.minimum(Phi, pairs, 0.2, tie=given["tie"], ties="davidson")
    np.testing.assert_allclose(model.predict(X), Phi @ x[:-1], rtol=0, atol=1e-8)
    given_kernel = BradleyTerry(0.2, kernel="precomputed", ties="davidson", basis=kernel.get("basis"))
    given_kernel.fit_pairs(K, pairs, tie=given["tie"])
    np.testing.assert_allclose(given_kernel.predict(K), model.predict(X), rtol=0, atol=1e-8)
    spanned = model.basis_  # k(x, x) of other items is not known where the kernel is precomputed
    np.testing.assert_allclose(given_kernel.covariance(K[spanned]), model.covariance(X[spanned]), rtol=0, atol=1e-8)


def test_scored_items_are_the_pairs_of_their_queries():
    X, y, qid = make_ranking(n_queries=4, n_items=8, n_features=3, n_levels=3, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    edges = scored_edges(y, qid, weight=weight, ties="exclude")
    scored = BradleyTerry(0.5).fit(X, y, qid=qid, sample_weight=weight)
    listed = BradleyTerry(0.5).fit_pairs(X, np.column_stack([edges.h, edges.j]), weight=edges.w2)
    np.testing.assert_allclose(scored.coef_, listed.coef_, atol=1e-10)
    assert scored.n_queries_ == 4
    assert not hasattr(scored, "predict_proba")
    assert hasattr(listed, "predict_proba")
    assert scored.score(X, y, qid=qid) > 0.6


def test_a_path_is_its_single_fits():
    pairs, given = random_votes(6)
    X = np.random.default_rng(7).normal(size=(7, 3))
    alphas = [10.0, 0.1, 1e-3]
    model = BradleyTerry(ties="davidson", side_bias=True)
    path = model.fit_pairs_path(X, pairs, alphas, tie=given["tie"], side=given["side"])
    assert not hasattr(model, "coef_")
    for alpha, found in zip(alphas, path, strict=True):
        single = BradleyTerry(alpha, ties="davidson", side_bias=True)
        single.fit_pairs(X, pairs, tie=given["tie"], side=given["side"])
        np.testing.assert_allclose(found.coef_, single.coef_, atol=1e-8)
        np.testing.assert_allclose(found.tie_log_, single.tie_log_, atol=1e-8)
    scored = BradleyTerry().fit_path(X, [1, 2, 3, 1, 2, 3, 1], alphas)
    np.testing.assert_allclose(scored[1].coef_, BradleyTerry(0.1).fit(X, [1, 2, 3, 1, 2, 3, 1]).coef_, atol=1e-8)


def test_probabilities():
    pairs, given = random_votes(8)
    X = np.random.default_rng(9).normal(size=(7, 3))
    half = BradleyTerry(side_bias=True).fit_pairs(X, pairs, side=given["side"])
    f = half.predict(X)
    found = half.predict_proba(X, [[0, 1], [0, 1], [1, 0]], side=[1, -1, 0])
    d = np.array([f[0] - f[1] + half.side_bias_, f[0] - f[1] - half.side_bias_, f[1] - f[0]])
    np.testing.assert_allclose(found, np.column_stack([1 / (1 + np.exp(-d)), 1 / (1 + np.exp(d))]), rtol=1e-14)
    three = BradleyTerry(ties="davidson").fit_pairs(X, pairs, tie=given["tie"])
    f = three.predict(X)
    d = f[0] - f[1]
    terms = np.exp([d / 2, -d / 2, three.tie_log_])
    np.testing.assert_allclose(three.predict_proba(X, [[0, 1]])[0], terms / terms.sum(), rtol=1e-13)
    far = three.predict_proba(1e6 * X, [[0, 1], [1, 0]])
    np.testing.assert_allclose(far, [[1, 0, 0], [0, 1, 0]] if d > 0 else [[0, 1, 0], [1, 0, 0]])


def test_without_a_tie_davidson_is_bradley_terry():
    pairs, _ = random_votes(10)
    X = np.random.default_rng(9).normal(size=(7, 3))
    plain, davidson = BradleyTerry().fit_pairs(X, pairs), BradleyTerry(ties="davidson").fit_pairs(X, pairs)
    np.testing.assert_array_equal(plain.coef_, davidson.coef_)
    assert davidson.tie_log_ == -np.inf
    np.testing.assert_allclose(davidson.predict_proba(X, pairs)[:, :2], plain.predict_proba(X, pairs), rtol=1e-14)
    assert np.all(davidson.predict_proba(X, pairs)[:, 2] == 0)


def test_votes_are_added_up():
    """A weight repeats a vote, and the order of votes, or of the items of a tie, means nothing."""
    pairs, given = random_votes(11)
    X = np.random.default_rng(12).normal(size=(7, 3))
    count = np.random.default_rng(13).integers(0, 4, len(pairs))
    options = {"ties": "davidson", "judge_effect": "side", "side_bias": True}
    order = np.random.default_rng(14).permutation(np.repeat(np.arange(len(pairs)), count))
    repeated = {name: given[name][order] for name in ("tie", "side", "judge")}
    turned = np.where(repeated["tie"][:, None], pairs[order, ::-1], pairs[order])
    repeated["side"] = np.where(repeated["tie"], -repeated["side"], repeated["side"])
    one = BradleyTerry(**options).fit_pairs(X, turned, **repeated)
    other = BradleyTerry(**options).fit_pairs(X, pairs, **{**given, "weight": count.astype(float)})
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-10)
    effects = dict(zip(one.judges_, one.judge_effects_, strict=True))
    np.testing.assert_allclose(other.judge_effects_, [effects[judge] for judge in other.judges_], atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"ties": "davidson", "side_bias": True, "judge_effect": "side"}])
def test_covariance_is_the_inverse_hessian(options):
    """The block of the scores in the inverse of all second derivatives, by finite differences of exact gradients."""
    pairs, given = random_votes(15)
    if not options:
        given["tie"] = np.zeros(len(pairs), dtype=bool)  # half votes vary less than the likelihood has it
    X = np.random.default_rng(16).normal(size=(7, 3))
    x, _, value = oracle.minimum(X, pairs, 0.3, **given, **options)
    step = 1e-5
    shifts = step * np.eye(len(x))
    H = np.array([(oracle.derivative(value, x + e) - oracle.derivative(value, x - e)) / (2 * step) for e in shifts])
    expected = X @ np.linalg.inv(H)[:3, :3] @ X.T
    model = BradleyTerry(0.3, **options).fit_pairs(X, pairs, **given)
    np.testing.assert_allclose(model.covariance(X), expected, rtol=1e-6, atol=1e-9)
    assert hasattr(model, "side_bias_std_") == bool(options)
    if options:
        np.testing.assert_allclose(model.side_bias_std_**2, np.linalg.inv(H)[4, 4], rtol=1e-6)  # after θ
        iterated = BradleyTerry(0.3, solver="conjugate_gradient", **options).fit_pairs(X, pairs, **given)
        assert not hasattr(iterated, "side_bias_std_")
    found = model.compare(X[:4], X[[6]])
    differences = X[:4] - X[6]
    np.testing.assert_allclose(found.std**2, np.diag(differences @ np.linalg.inv(H)[:3, :3] @ differences.T), rtol=1e-6)
    np.testing.assert_allclose(found.difference, model.predict(X[:4]) - model.predict(X[[6]]))


@pytest.mark.parametrize(
    "options", [{}, {"side_bias": True}, {"judge_effect": "side"}], ids=["plain", "side", "judges"]
)
def test_standard_errors_with_ties_are_those_of_repeated_votes(options):
    """With as many ties as not between equal items, a vote counted half each way varies by half of p (1 - p)."""
    rng = np.random.default_rng(0)
    items, truth = sparse.eye_array(4, format="csr"), np.array([0.5, 0.2, 0.0, -0.7])
    pairs = np.repeat([[h, j] for h in range(4) for j in range(4) if h != j], 20, axis=0)
    given = {"side": np.tile([1, -1], len(pairs) // 2), "judge": np.arange(len(pairs)) % 3}
    d = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    odds = np.exp([d / 2, -d / 2, np.full(len(d), np.log(2.0))])
    bounds = np.cumsum(odds / odds.sum(axis=0), axis=0)
    found, told, bias, bias_told = [], [], [], []
    for _ in range(300):
        outcome = (rng.random(len(d)) > bounds[:2]).sum(axis=0)
        order = np.where((outcome == 1)[:, None], pairs[:, ::-1], pairs)
        side = np.where(outcome == 1, -given["side"], given["side"])
        votes = {"tie": outcome == 2, "side": side, "judge": given["judge"]}
        model = BradleyTerry(0.01, **options).fit_pairs(items, order, **votes)
        compared = model.compare(items[:3], items[[3]])
        found.append(compared.difference)
        told.append(compared.std)
        bias.append(model.side_bias_)
        bias_told.append(getattr(model, "side_bias_std_", 0.0))
    np.testing.assert_allclose(np.std(found, axis=0), np.mean(told, axis=0), rtol=0.12)
    np.testing.assert_allclose(np.std(bias), np.mean(bias_told), rtol=0.12)


def test_separable_and_disconnected_votes_have_finite_scores():
    items = sparse.eye_array(6, format="csr")
    pairs = [[0, 1], [0, 1], [1, 2], [3, 4]]  # 0 never loses, {3, 4} is not connected, nobody votes on 5
    widths = []
    for alpha in (1.0, 1e-3, 1e-6):
        model = BradleyTerry(alpha).fit_pairs(items, pairs)
        assert np.all(np.isfinite(model.coef_))
        assert model.coef_[5] == 0.0
        np.testing.assert_allclose(model.coef_[3], -model.coef_[4])
        widths.append(np.sqrt(np.diag(model.covariance(items))))
        np.testing.assert_allclose(widths[-1][5], 1 / np.sqrt(2 * alpha), rtol=1e-10)
    assert np.all(np.diff(widths, axis=0) > 0)


@pytest.mark.parametrize("alpha", [1e-12, 1e-100, 1e-300])
@pytest.mark.filterwarnings("ignore::kernelrank.errors.NotConverged")
def test_a_tiny_alpha_leaves_finite_numbers(alpha):
    model = BradleyTerry(alpha).fit_pairs(sparse.eye_array(4, format="csr"), [[0, 1], [0, 1], [1, 2], [3, 2]])
    assert np.all(np.isfinite(model.coef_))
    assert model.coef_[0] > model.coef_[1] > model.coef_[2]
    assert np.isfinite(model.gap_)


def test_one_sided_votes_have_a_finite_side_bias():
    X = sparse.eye_array(3, format="csr")
    pairs = [[0, 1], [1, 2], [2, 0], [1, 0]]
    model = BradleyTerry(side_bias=True).fit_pairs(X, pairs, side=[1, 1, 1, 1])
    assert 2.0 < model.side_bias_ < 20.0
    only_ties = BradleyTerry(ties="davidson").fit_pairs(X, pairs, tie=[True] * 4)
    assert 2.0 < only_ties.tie_log_ < 20.0
    np.testing.assert_allclose(only_ties.coef_, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [BradleyTerry(), BradleyTerry(ties="davidson", side_bias=True, judge_effect="scale", kernel="rbf")],
    ids=["plain", "kernel and effects"],
)
def test_a_saved_model_is_the_same(model, tmp_path):
    pairs, given = random_votes(17)
    X = np.random.default_rng(18).normal(size=(7, 3))
    model.fit_pairs(X, pairs, **{**given, "judge": np.array(["ann", "bob", "cy"])[given["judge"]]})
    save(model, tmp_path / "model.kr")
    again = load(tmp_path / "model.kr")
    expected = model.predict_proba(X, pairs, side=given["side"])
    np.testing.assert_array_equal(again.predict_proba(X, pairs, side=given["side"]), expected)
    np.testing.assert_array_equal(again.covariance(X), model.covariance(X))
    assert getattr(again, "side_bias_std_", None) == getattr(model, "side_bias_std_", None)
    assert hasattr(again, "side_bias_std_") == model.side_bias


def test_a_pipeline_and_a_grid_search_take_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1]
    y = X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=40)
    pipeline = make_pipeline(StandardScaler(), BradleyTerry())
    search = GridSearchCV(pipeline, {"bradleyterry__alpha": [0.1, 1e4], "bradleyterry__kernel": ["linear", "rbf"]})
    found = search.fit(X, y)
    assert found.best_score_ > 0.8
    assert not hasattr(found.best_estimator_, "predict_proba")  # pairs of scored items are no votes
    pairs = np.column_stack([np.argsort(-y)[:-1], np.argsort(-y)[1:]])
    votes = found.best_estimator_[-1].fit_pairs(pipeline[:-1].fit_transform(X), pairs)
    assert votes.predict_proba(X, pairs).shape == (39, 2)
    assert "BradleyTerry" in votes._repr_html_()


def test_preferences_are_left_out_by_refitting():
    pairs, given = random_votes(19, n_votes=12)
    X = np.random.default_rng(20).normal(size=(7, 2))
    found = leave_preferences_out(BradleyTerry(0.5), X, pairs, groups=given["judge"], weight=given["weight"] + 0.1)
    for judge in range(3):
        kept = given["judge"] != judge
        f = BradleyTerry(0.5).fit_pairs(X, pairs[kept], weight=given["weight"][kept] + 0.1).predict(X)
        held = pairs[~kept]
        np.testing.assert_allclose(found.difference[~kept], f[held[:, 0]] - f[held[:, 1]])


def test_small_differences_are_least_squares():
    """For a large alpha all probabilities are a half, and one step of Newton, which is RankRLS, is the solution."""
    pairs, _ = random_votes(21)
    X = np.random.default_rng(22).normal(size=(7, 3))
    votes = BradleyTerry(1e6).fit_pairs(X, pairs)
    squares = RankRLS(1e6).fit_pairs(X, pairs, magnitude=np.full(len(pairs), 2.0), weight=np.full(len(pairs), 1 / 8))
    np.testing.assert_allclose(votes.coef_, squares.coef_, rtol=1e-4)


def test_a_warning_tells_the_gap_that_is_left():
    pairs, _ = random_votes(23)
    with pytest.warns(NotConverged, match="stopped after 1 iterations with a"):
        model = BradleyTerry(0.01, max_iter=1).fit_pairs(sparse.eye_array(7, format="csr"), pairs)
    assert model.gap_ > 1e-8


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"side_bias": True}, {}, "side_bias=True needs `side`"),
        ({"judge_effect": "side"}, {"judge": [0, 1]}, "judge_effect='side' needs `side`"),
        ({"judge_effect": "scale"}, {}, "judge_effect='scale' needs `judge`"),
        ({}, {"tie": [0, 2]}, "tie of pair 1 is 2: expected True or False"),
        ({}, {"tie": [True]}, r"tie has shape \(1,\), but there are 2 pairs"),
        ({}, {"side": [0.5, 1]}, "side of pair 0 is 0.5: expected 1"),
        ({}, {"weight": [1.0, -1.0]}, "weight of pair 1 is -1"),
        ({}, {"weight": [0.0, 0.0]}, "every weight is zero"),
        ({"judge_effect": "scale"}, {"judge": ["a"]}, "judge has 1 entries"),
        ({"alpha": 0.0}, {}, "alpha"),
        ({"ties": "none"}, {}, "ties"),
    ],
)
def test_refuses(options, given, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry(**options).fit_pairs(np.eye(3), [[0, 1], [1, 2]], **given)


def test_refuses_what_has_no_pairs():
    with pytest.raises(NothingToCompareError, match="pairs is empty"):
        BradleyTerry().fit_pairs(np.eye(3), np.zeros((0, 2), dtype=int))
    with pytest.raises(NothingToCompareError, match="no query has two items with different scores"):
        BradleyTerry().fit(np.eye(3), np.ones(3))
    with pytest.raises(InvalidInputError, match="2 columns"):
        BradleyTerry().fit(np.eye(3), np.ones((3, 2)))
    with pytest.raises(InvalidInputError, match="use fit_pairs"):
        BradleyTerry(side_bias=True).fit(np.eye(3), [1, 2, 3])
    with pytest.raises(InvalidInputError, match=r"at most 20,000,000 pairs; the queries have up to 49,995,000"):
        BradleyTerry().fit(np.zeros((10_000, 1)), np.arange(10_000.0))


def test_a_judge_who_sides_with_a_bare_majority_has_a_bounded_factor():
    random = np.random.default_rng(0)
    first = random.integers(4, size=600)
    second = (first + random.integers(1, 4, size=600)) % 4
    better = first < second
    won = np.where(np.arange(600) < 300, better, np.where(random.random(600) < 0.55, better, ~better))
    pairs = np.where(won[:, None], np.column_stack([first, second]), np.column_stack([second, first]))
    judge = np.where(np.arange(600) < 300, "always", np.where(np.arange(600) % 2, "ann", "bob"))
    model = BradleyTerry(0.5, judge_effect="scale", judge_alpha=1e-4).fit_pairs(np.eye(4), pairs, judge=judge)
    factor = dict(zip(model.judges_, model.judge_effects_, strict=True))
    assert 3.0 < factor["always"] <= 5.0
    assert max(factor["ann"], factor["bob"]) < 0.5
