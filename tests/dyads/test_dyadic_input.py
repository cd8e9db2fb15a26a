"""Dyads that cannot be learned from are refused with a sentence that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.errors import InvalidInputError

LEARNERS = [kr.KroneckerRLS, kr.KroneckerRankRLS, kr.TwoStepRLS]
SEARCHES = [kr.KroneckerRLSCV, kr.KroneckerRankRLSCV, kr.TwoStepRLSCV]
RNG = np.random.default_rng(0)
ROWS, COLUMNS = RNG.standard_normal((4, 2)), RNG.standard_normal((5, 3))
Y = RNG.standard_normal((4, 5))
SKEW = np.array([[0.0, 1.0, -2.0], [-1.0, 0.0, 3.0], [2.0, -3.0, 0.0]])
PLAYERS = np.eye(3)
ALL = slice(None)

every_learner = pytest.mark.parametrize("learner", LEARNERS + SEARCHES, ids=lambda learner: learner.__name__)
every_model = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)


def changed(values, *cells, to=np.nan):
    """Return a copy with another score in some cells."""
    copy = values.copy()
    for cell in cells:
        copy[cell] = to
    return copy


@every_learner
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (Y[:3], "Y has 3 rows and 5 columns, but X_rows has 4 objects and X_columns 5$"),
        (Y[:, :2], "Y has 4 rows and 2 columns, but X_rows has 4 objects and X_columns 5$"),
        (Y.T, r"Y has 5 rows and 4 columns, but X_rows has 4 objects and X_columns 5\. Y\.T would fit"),
        (Y[0], r"Y must be a matrix, rows × columns or rows × columns × outputs, got \(5,\)"),
        (np.empty((4, 5, 0)), "Y has no outputs: its last axis has the length 0"),
        (changed(Y, (1, 2), to=np.inf), "Y contains infinity"),
    ],
    ids=["a row short", "columns short", "turned", "a list", "no output", "infinite"],
)
def test_scores_that_do_not_fit_the_sides(learner, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        learner().fit(ROWS, COLUMNS, scores)


@every_learner
def test_kernels_that_do_not_fit_the_scores(learner):
    with pytest.raises(InvalidInputError, match="Y has 4 rows and 5 columns, but X_rows has 3 objects"):
        learner(kernel_rows="precomputed").fit(np.eye(3), COLUMNS, Y)
    with pytest.raises(InvalidInputError, match=r"X_rows: Precomputed matrix must be square at fit .* 4 × 3"):
        learner(kernel_rows="precomputed").fit(np.ones((4, 3)), COLUMNS, Y)
    with pytest.raises(InvalidInputError, match=r"X_columns: Precomputed matrix must be square at fit .* 5 × 3"):
        learner(kernel_columns="precomputed").fit(ROWS, np.ones((5, 3)), Y)


@every_learner
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (changed(Y, 1), "^row 1 has no known score: remove from the training data the objects"),
        (changed(Y, (ALL, 4)), "^column 4 has no known score: remove from the training data the objects"),
        (changed(Y, (ALL, 2), (ALL, 3)), "^column 2 has no known score, nor has 1 other: remove"),
        (changed(Y, ALL), "^row 0 has no known score, nor have 3 others: remove from the training data"),
    ],
    ids=["row", "column", "two columns", "all"],
)
def test_an_object_without_a_known_score(learner, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        learner().fit(ROWS, COLUMNS, scores)


@every_learner
def test_a_player_without_a_known_score_on_either_side(learner):
    with pytest.raises(InvalidInputError, match=r"^object 0 has no known score"):
        learner(relation="any").fit(PLAYERS, None, changed(SKEW, 0, (ALL, 0)))


@every_learner
@pytest.mark.parametrize(
    ("index", "columns", "message"),
    [
        ("abca", "vwxyz", "Y has several rows with the name 'a': each object must occur once"),
        ("abcd", "vwxyv", "Y has several columns with the name 'v': each object must occur once"),
    ],
    ids=["rows", "columns"],
)
def test_duplicate_names(learner, index, columns, message):
    scores = pytest.importorskip("pandas").DataFrame(Y, index=list(index), columns=list(columns))
    with pytest.raises(InvalidInputError, match=message):
        learner().fit(ROWS, COLUMNS, scores)


@every_learner
@pytest.mark.parametrize(
    ("relation", "scores", "message"),
    [
        ("reciprocal", changed(SKEW, (1, 2), to=4.0), r"Y is not reciprocal: Y\[1, 2\] is 4 and Y\[2, 1\] is -3, but"),
        ("reciprocal", changed(SKEW, (1, 1), to=4.0), r"Y is not reciprocal: Y\[1, 1\] is 4, but .* 0 against itself"),
        ("symmetric", SKEW, r"Y is not symmetric: Y\[0, 1\] is 1 and Y\[1, 0\] is -1, but .* relation='any'"),
        ("any", SKEW[:2], "Y has 2 rows and 3 columns, but X_rows has 3 objects"),
    ],
    ids=["reciprocal", "against itself", "symmetric", "not square"],
)
def test_scores_that_do_not_keep_to_the_relation(learner, relation, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        learner(relation=relation).fit(PLAYERS, None, scores)


@every_learner
def test_one_set_of_objects_or_two(learner):
    with pytest.raises(InvalidInputError, match="relation='reciprocal' means one set of objects: pass X_columns=None"):
        learner(relation="reciprocal").fit(PLAYERS, PLAYERS, SKEW)
    with pytest.raises(InvalidInputError, match="X_columns is None: give the objects of the columns"):
        learner().fit(PLAYERS, None, SKEW)


@every_model
@pytest.mark.parametrize(
    ("rows", "columns", "y", "message"),
    [
        ([0, 1, 2, 4], [0, 1, 2, 3], [1, 2, 3, 4], r"rows\[3\] is 4, but X_rows has the objects 0 to 3"),
        ([0, 1, 2, 3], [0, 1, -1, 3], [1, 2, 3, 4], r"columns\[2\] is -1, but X_columns has the objects 0 to 4"),
        ([0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], "rows has 3 entries and columns 4: one for each dyad"),
        ([0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3], r"y has shape \(3,\), but there are 4 dyads: one score for each"),
        ([0, 1, 2, 3, 0], [0, 1, 2, 3, 1], [1, 2, 3, 4, 5], "column 4 has no known score"),
        ([0.5], [0], [1], r"rows must hold object numbers \(integers\), got float64"),
        ([], [], [], "the list of dyads is empty: nothing to learn from"),
    ],
    ids=["row", "column", "lengths", "scores", "unknown", "fraction", "empty"],
)
def test_a_list_of_dyads(learner, rows, columns, y, message):
    with pytest.raises(InvalidInputError, match=message):
        learner().fit_dyads(ROWS, COLUMNS, rows, columns, y)


@every_model
def test_a_listed_game_of_a_player_against_itself(learner):
    with pytest.raises(InvalidInputError, match="dyad 1 is object 0 against itself with the score 2"):
        learner(relation="reciprocal").fit_dyads(PLAYERS, None, [0, 0, 1], [1, 0, 2], [1.0, 2.0, 1.0])
