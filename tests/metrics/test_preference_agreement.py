"""The agreement of scores with preferences, and its interval."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.metrics import preference_agreement


def draw(rng, n_items, n_preferences, *, of_items, of_answers):
    """Scores, and preferences by what they leave out of the items and by chance."""
    scores = rng.standard_normal(n_items)
    worth = scores + of_items * rng.standard_normal(n_items)
    first = rng.integers(0, n_items, n_preferences)
    second = (first + rng.integers(1, n_items, n_preferences)) % n_items
    wins = worth[first] - worth[second] + of_answers * rng.standard_normal(n_preferences) > 0
    pairs = np.where(wins[:, None], np.column_stack([first, second]), np.column_stack([second, first]))
    return scores, pairs


def literal_variance(pairs, errors):
    """Add the products of the errors of every two preferences with an item in common, or at least with both."""
    with_one = with_both = 0.0
    for one, e in zip(pairs, errors, strict=True):
        for other, f in zip(pairs, errors, strict=True):
            common = set(one.tolist()) & set(other.tolist())
            with_one += e * f if common else 0.0
            with_both += e * f if len(common) == 2 else 0.0
    return max(with_one, with_both)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_counts_preferences_with_an_item_in_common(seed, weighted):
    rng = np.random.default_rng(seed)
    scores, pairs = draw(rng, 12, 60, of_items=1.0, of_answers=0.3)
    weight = rng.integers(0, 4, 60).astype(float) if weighted else None
    found = preference_agreement(pairs, scores, weight=weight, confidence=0.9)
    share = np.full(60, 1 / 60) if weight is None else weight / weight.sum()
    agreed = (scores[pairs[:, 0]] > scores[pairs[:, 1]]).astype(float)
    value = share @ agreed
    assert found.value == pytest.approx(value)
    n = value * (1 - value) / literal_variance(pairs, share * (agreed - value))
    z = 1.6448536269514722
    centre, half = value + z**2 / (2 * n), z * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    assert found.interval.low == pytest.approx((centre - half) / (1 + z**2 / n))
    assert found.interval.high == pytest.approx((centre + half) / (1 + z**2 / n))
    assert found.n_preferences == (60 if weight is None else np.count_nonzero(weight))


@pytest.mark.parametrize(
    ("of_items", "of_answers", "n_items", "n_preferences"), [(1.0, 0.5, 30, 400), (0.0, 2.0, 50, 300)]
)
def test_the_interval_covers_what_it_says(of_items, of_answers, n_items, n_preferences):
    rng = np.random.default_rng(0)
    settings = {"of_items": of_items, "of_answers": of_answers}
    many, pairs = draw(rng, 400_000, 400_000, **settings)
    truth = np.mean(many[pairs[:, 0]] > many[pairs[:, 1]])
    inside = 0
    for _ in range(300):
        scores, pairs = draw(rng, n_items, n_preferences, **settings)
        found = preference_agreement(pairs, scores)
        inside += found.interval.low <= truth <= found.interval.high
    # 95 % of 300 is 285, with a standard error of 4; a few per cent are lost on few items.
    assert 266 <= inside <= 297


def test_the_value_is_that_of_the_estimator():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 3))
    _, pairs = draw(rng, 20, 50, of_items=0.0, of_answers=0.0)
    weight = rng.random(50)
    model = RankRLS(1.0).fit_pairs(X, pairs)
    found = preference_agreement(pairs, model.predict(X), weight=weight)
    assert found.value == pytest.approx(model.score_pairs(X, pairs, weight=weight))


def test_ties_count_a_half_and_agreement_without_exception_is_not_certainty():
    assert preference_agreement([(0, 1), (1, 2)], [1.0, 1.0, 1.0]).value == 0.5
    assert preference_agreement([(0, 1), (1, 2)], [1.0, 1.0, 1.0]).n_ties == 2
    sure = preference_agreement([(0, 1), (2, 3), (0, 3)], [4.0, 1.0, 3.0, 2.0])
    assert (sure.value, sure.interval.high) == (1.0, 1.0)
    assert sure.interval.low == pytest.approx(1 / (1 + 1.959963984540054**2 / 2))
    never = preference_agreement([(1, 0), (3, 2), (3, 0)], [4.0, 1.0, 3.0, 2.0])
    assert (never.interval.low, never.value, never.interval.high) == pytest.approx((0.0, 0.0, 1 - sure.interval.low))


def test_repeated_answers_are_no_new_ones():
    scores, pairs = [3.0, 2.0, 1.0, 0.0], np.array([(0, 1), (1, 2), (3, 2), (0, 3)])
    once, often = preference_agreement(pairs, scores), preference_agreement(np.repeat(pairs, 50, axis=0), scores)
    assert often.value == pytest.approx(once.value)
    assert (*often.interval,) == pytest.approx((*once.interval,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1.0, 2.0]), "no preference"),
        (([(0, 1)], [1.0, 2.0], [0.0]), "no preference with a weight above zero"),
        (([(0, 2)], [1.0, 2.0]), "2"),
        (([(0, 1)], [1.0, np.nan]), "y_score must be finite"),
        (([(0, 1)], [[1.0, 2.0]]), "y_score must be finite numbers, one for each item"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        preference_agreement(*arguments[:2], weight=arguments[2] if len(arguments) > 2 else None)
    with pytest.raises(InvalidInputError, match="confidence must lie between 0 and 1"):
        preference_agreement([(0, 1)], [1.0, 0.0], confidence=95)
