"""Items that are not rows of numbers, with a kernel function; precomputed kernels as views."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel


def spectrum(one: str, other: str) -> float:
    """Count the pairs of letters that two strings share."""
    mine, theirs = (Counter(text[i : i + 2] for i in range(len(text) - 1)) for text in (one, other))
    return float(sum(count * theirs[pair] for pair, count in mine.items()))


def overlap(one: set[int], other: set[int]) -> float:
    """Count what two sets share."""
    return float(len(one & other))


random = np.random.default_rng(0)
WORDS = ["".join(random.choice(list("abcd"), random.integers(3, 12))) for _ in range(30)]
WORDS[3] = WORDS[7]
Y = np.array([word.count("a") - word.count("b") for word in WORDS]) + 0.1 * random.standard_normal(30)
QID = np.repeat(np.arange(6), 5)
NEW = ["abab", "ccca", "dd", "abab"]
PAIRS = np.array([(i, j) for i in range(30) for j in range(30) if Y[i] > Y[j] + 1])[::9]
COLUMNS = np.eye(6)
DYADS = random.standard_normal((30, 6))

LEARNERS = {
    "RankRLS": lambda kernel, X, new: kr.RankRLS(kernel=kernel).fit(X, Y, qid=QID).predict(new),
    "basis": lambda kernel, X, new: kr.RankRLS(kernel=kernel, basis=8, random_state=0).fit(X, Y, qid=QID).predict(new),
    "iterative": lambda kernel, X, new: (
        kr.RankRLS(kernel=kernel, solver="conjugate_gradient", tol=1e-12).fit(X, Y, qid=QID).predict(new)
    ),
    "pairs": lambda kernel, X, new: kr.RankRLS(kernel=kernel).fit_pairs(X, PAIRS).predict(new),
    "RankRLSCV": lambda kernel, X, new: kr.RankRLSCV(kernel=kernel).fit(X, Y, qid=QID).predict(new),
    "RLS": lambda kernel, X, new: kr.RLS(kernel=kernel).fit(X, Y).predict(new),
    "RankSVM": lambda kernel, X, new: kr.RankSVM(kernel=kernel, tol=1e-10).fit(X, Y, qid=QID).predict(new),
    "BradleyTerry": lambda kernel, X, new: kr.BradleyTerry(kernel=kernel).fit_pairs(X, PAIRS).predict(new),
    "leave_pair_out": lambda kernel, X, _: kr.leave_pair_out(kr.RankRLS(kernel=kernel), X, Y > 0).difference,
    "leave_query_out": lambda kernel, X, _: kr.leave_query_out(kr.RankRLS(kernel=kernel), X, Y, QID),
    "estimate_auc": lambda kernel, X, _: kr.estimate_auc(kr.RankRLSCV(kernel=kernel), X, Y > 0).auc,
    "transductive": lambda kernel, X, new: (
        kr.TransductiveRankRLS(kernel=kernel).fit(X, np.where(QID < 4, Y, np.nan), qid=QID).predict(new)
    ),
    "KroneckerRankRLS": lambda kernel, X, new: (
        kr.KroneckerRankRLS(kernel_rows=kernel).fit(X, COLUMNS, DYADS).predict(new, COLUMNS)
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_strings_are_learnt_from_as_their_kernel_matrix(name: str) -> None:
    """A function of two strings gives what its matrix gives."""
    K = np.array([[spectrum(one, other) for other in WORDS] for one in WORDS])
    K_new = np.array([[spectrum(one, other) for other in WORDS] for one in NEW])
    learner = LEARNERS[name]
    np.testing.assert_allclose(learner(spectrum, WORDS, NEW), learner("precomputed", K, K_new), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "items",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        np.array(WORDS, dtype=object)[:, None],
        pd.Series(WORDS),
        pl.Series(WORDS),
    ],
    ids=["list", "tuple", "text array", "object array", "one column", "pandas", "Polars"],
)
def test_strings_come_in_any_container(items: object) -> None:
    """Lists, arrays and series are the same items."""
    model = kr.RankRLS(kernel=spectrum).fit(items, Y)
    np.testing.assert_array_equal(model.predict(NEW), kr.RankRLS(kernel=spectrum).fit(WORDS, Y).predict(NEW))
    assert model.predict(NEW)[0] == model.predict(NEW)[3]


def test_a_model_keeps_sets_that_are_changed_later() -> None:
    """What becomes of the items after the fit does not change the model."""
    sets = [{ord(letter) for letter in word} for word in WORDS]
    model = kr.RankRLS(kernel=overlap).fit(sets, Y)
    before = model.predict([{97}, {98}])
    assert before[0] > before[1]
    for one in sets:
        one.clear()
    np.testing.assert_array_equal(model.predict([{97}, {98}]), before)


def test_sequences_of_different_lengths_and_trees() -> None:
    """Lists of numbers of different lengths are sequences; rows of one length stay rows of numbers."""
    sequences = [[ord(letter) for letter in word] for word in WORDS]
    model = kr.RankRLS(kernel=lambda one, other: overlap(set(one), set(other))).fit(sequences, Y)
    assert model.n_features_in_ == 1
    trees = [("S", ("NP", "a"), ("VP",)), ("S", ("NP",)), ("S", ("VP", "b"))]
    assert kr.RankRLS(kernel=lambda one, other: overlap(set(one[1:]), set(other[1:]))).fit(trees, [1, 0, 2])
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]
    assert kr.RankRLS(kernel=lambda one, other: float(one @ other)).fit(rows, [1, 2, 3]).n_features_in_ == 2


def test_items_of_one_kind_are_not_of_another() -> None:
    """Errors name what was expected."""
    numbers = kr.RankRLS(kernel=lambda one, other: float(one @ other)).fit(np.eye(3), [1, 2, 3])
    with pytest.raises(InvalidInputError, match="Expected rows of 3 numbers, which RankRLS was fitted to"):
        numbers.predict(["a"])
    with pytest.raises(InvalidInputError, match=r"X\[1\] is missing"):
        kr.RankRLS(kernel=spectrum).fit(["ab", None], [1, 2])
    with pytest.raises(InvalidInputError, match="the items of X have none: leave metric out"):
        kr.RankRLS(kernel=spectrum, metric="variance").fit(WORDS, Y)
    with pytest.raises(InvalidInputError, match="1 sample"):
        kr.RankRLS(kernel=spectrum).fit(["ab"], [1])
    with pytest.raises(ValueError, match="could not convert string"):
        kr.RankRLS(kernel="rbf").fit(WORDS, Y)
    with pytest.raises(InvalidInputError, match="indefinite"):
        kr.RankRLS(kernel=lambda one, other: -spectrum(one, other), basis=5, random_state=0).fit(WORDS, Y)


def test_a_function_of_all_items_at_once_is_named() -> None:
    with pytest.raises(InvalidInputError, match="two items that returns a number; <lambda> returned an array of shape"):
        kr.RankRLS(kernel=lambda one, other: np.ones((len(one), len(other)))).fit(WORDS, np.arange(30.0))


def test_strings_in_scikit_learn_and_in_a_map() -> None:
    """cross_val_score takes lists of strings; NystromMap turns them into features."""
    assert np.isfinite(cross_val_score(kr.RLS(kernel=spectrum), WORDS, Y)).all()
    features = kr.NystromMap(30, kernel=spectrum, random_state=0).fit_transform(WORDS)
    np.testing.assert_allclose(features @ features.T, Kernel(spectrum).matrix(_column(WORDS)), atol=1e-8)


def _column(words: list[str]) -> np.ndarray:
    return np.array(words, dtype=object)[:, None]


# Precomputed kernels as views -----------------------------------------------------------------------------------------


def _two_kernels() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, and kernel matrices of the two halves of their columns side by side."""
    X = np.random.default_rng(1).standard_normal((30, 6))
    halves = (X[:, :3], X[:, 3:])
    return X, np.hstack([np.exp(-0.2 * ((Z[:, None] - Z) ** 2).sum(axis=2)) for Z in halves]), Y


@pytest.mark.parametrize("basis", ["all", 9, [3, 1, 17, 25]])
@pytest.mark.parametrize("cls", [kr.CoRankRLS, kr.CoRankRLSCV])
def test_precomputed_views_are_the_views_of_their_features(cls: type, basis: object) -> None:
    """Kernels that come as columns of X give what kernels of the features give, held out as well."""
    X, K, y = _two_kernels()
    y = np.where(QID < 4, y, np.nan)
    named = [{"kernel": "rbf", "gamma": 0.2, "columns": columns} for columns in (slice(0, 3), slice(3, 6))]
    given = [{"kernel": "precomputed", "columns": columns} for columns in (slice(0, 30), slice(30, 60))]
    options = {"cv": 4} if cls is kr.CoRankRLSCV else {}
    one, other = (
        cls(views=views, basis=basis, random_state=0, **options).fit(items, y, qid=QID)
        for views, items in ((named, X), (given, K))
    )
    np.testing.assert_allclose(one.predict(X), other.predict(K), atol=1e-8)
    np.testing.assert_allclose(one.disagreement_, other.disagreement_, rtol=1e-7)
    if cls is kr.CoRankRLSCV:
        np.testing.assert_allclose(one.holdout_scores_, other.holdout_scores_, atol=1e-7)


def test_a_precomputed_view_beside_columns_and_unscored_items_apart() -> None:
    """Columns of numbers and of kernels stand side by side; the unscored items come after the scored ones."""
    X, K, y = _two_kernels()
    both, scored = np.hstack([X[:, :3], K[:, 30:]]), QID < 4
    views = [{"kernel": "rbf", "gamma": 0.2, "columns": [0, 1, 2]}, {"kernel": "precomputed", "columns": slice(3, 33)}]
    model = kr.CoRankRLS(views=views, basis=8, random_state=0)
    together = model.fit(both, np.where(scored, y, np.nan), qid=QID).predict(both)
    apart = model.fit(both[scored], y[scored], qid=QID[scored], X_unscored=both[~scored], qid_unscored=QID[~scored])
    np.testing.assert_allclose(apart.predict(both), together, atol=1e-10)


def test_a_precomputed_view_is_saved(tmp_path) -> None:
    """A model file holds the columns of the basis items."""
    _, K, y = _two_kernels()
    views = [{"kernel": "precomputed", "columns": slice(0, 30)}, {"kernel": "precomputed", "columns": slice(30, 60)}]
    model = kr.CoRankRLS(views=views, basis=5, random_state=0).fit(K, np.where(QID < 4, y, np.nan), qid=QID)
    kr.save(model, tmp_path / "model.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "model.kr").predict(K), model.predict(K))


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"columns": slice(0, 29)}, "view 0: Expected one column of a precomputed kernel for each of the 30 items"),
        ({"columns": slice(1, 31)}, "view 0: the precomputed kernel is not symmetric"),
        (
            {"columns": slice(0, 30), "basis": np.zeros((2, 60))},
            "the basis of a precomputed kernel is a number",
        ),
    ],
)
def test_a_precomputed_view_needs_kernels_of_all_items(view: dict, message: str) -> None:
    """A view that has other columns is refused."""
    _, K, y = _two_kernels()
    views = [{"kernel": "precomputed", **view}, {"kernel": "rbf", "columns": slice(30, 60)}]
    with pytest.raises(InvalidInputError, match=message):
        kr.CoRankRLS(views=views).fit(K, np.where(QID < 4, y, np.nan), qid=QID)


def test_words_in_views() -> None:
    """Views have kernel functions of the same strings."""

    def letters(one: str, other: str) -> float:
        return overlap(set(map(ord, one)), set(map(ord, other)))

    model = kr.CoRankRLS(views=[spectrum, letters], basis=8, random_state=0).fit(
        WORDS, np.where(QID < 4, Y, np.nan), qid=QID
    )
    assert model.predict_views(NEW).shape == (4, 2)
