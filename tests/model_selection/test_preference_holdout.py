"""Preferences held out: equal to fitting anew without them, one by one, by group, and with both of their items."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from kernelrank import RankRLS, RankSVM, leave_preferences_out
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import preference_agreement

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


def refitted(learner, X, pairs, leaving, **values):
    """Fit anew without what leaves with each preference, for every alpha."""
    found = np.zeros((len(pairs), len(ALPHAS)))
    for e, (pair, held) in enumerate(zip(pairs, leaving, strict=True)):
        kept = np.ones(len(pairs), dtype=bool)
        kept[held] = False
        given = {name: value[kept] for name, value in values.items() if value is not None}
        if not kept.any() or ("weight" in given and not np.any(given["weight"])):
            continue
        for number, alpha in enumerate(ALPHAS):
            scores = clone(learner).set_params(alpha=alpha).fit_pairs(X, pairs[kept], **given).predict(X)
            found[e, number] = scores[pair[0]] - scores[pair[1]]
    return found


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("mode", ["single", "groups", "items"])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_preferences_equal_refitting(name, mode, weighted):
    X, pairs, rng = votes(len(name))
    values = {"magnitude": rng.uniform(0, 2, len(pairs)), "weight": rng.integers(3, size=len(pairs)).astype(float)}
    values = values if weighted else {}
    judges = rng.integers(4, size=len(pairs))
    leaving = {
        "single": [[e] for e in range(len(pairs))],
        "groups": [np.flatnonzero(judges == judge) for judge in judges],
        "items": [np.flatnonzero(np.isin(pairs, pair).any(axis=1)) for pair in pairs],
    }[mode]
    options = {"groups": judges if mode == "groups" else None, "items": mode == "items"}
    found = leave_preferences_out(LEARNERS[name], X, pairs, alphas=ALPHAS, **options, **values)
    expected = refitted(LEARNERS[name], X, pairs, leaving, **values)
    np.testing.assert_allclose(found.difference, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_items_of_many_votes_go_by_sums():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((8, 2))
    pairs = np.array([pair for pair in rng.integers(8, size=(200, 2)) if pair[0] != pair[1]])
    leaving = [np.flatnonzero(np.isin(pairs, pair).any(axis=1)) for pair in pairs]
    found = leave_preferences_out(RankRLS(), X, pairs, items=True, alphas=ALPHAS)
    np.testing.assert_allclose(found.difference, refitted(RankRLS(), X, pairs, leaving), rtol=0, atol=1e-8)


def test_one_judge_leaves_nothing():
    X, pairs, _ = votes(2)
    found = leave_preferences_out(RankRLS(), X, pairs, groups=["Ann"] * len(pairs))
    np.testing.assert_array_equal(found.difference, 0.0)
    assert found.agreement.value == 0.5


def test_other_estimators_are_refitted():
    X, pairs, _ = votes(3, n_votes=12)
    found = leave_preferences_out(RankSVM(2.0), X, pairs)
    for e, pair in enumerate(pairs):
        scores = RankSVM(2.0).fit_pairs(X, np.delete(pairs, e, axis=0)).predict(X)
        assert found.difference[e] == pytest.approx(scores[pair[0]] - scores[pair[1]], abs=1e-6)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": np.zeros((0, 2), dtype=int)}, "empty"),
        ({"groups": [0, 1], "pairs": [[0, 1], [1, 0]], "items": True}, "not both"),
        ({"estimator": LinearRegression()}, "no fit_pairs"),
        ({"groups": [1]}, "groups"),
    ],
)
def test_what_cannot_be_held_out_is_refused(options, message):
    X, pairs, _ = votes(5)
    arguments = {"estimator": RankRLS(), "pairs": pairs, **options}
    with pytest.raises(InvalidInputError, match=message):
        leave_preferences_out(arguments.pop("estimator"), X, arguments.pop("pairs"), **arguments)
