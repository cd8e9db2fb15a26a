"""Labels of any kind get numbers in the order of their first appearance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernelrank.base.labels import label_vector, number_labels, number_two, refuse_missing
from kernelrank.errors import InvalidInputError

WORDS = ["b", "a", "", "b", "c", "a", "日本", "b"]
CODES = [0, 1, 2, 0, 3, 1, 4, 0]


@pytest.mark.parametrize(
    "column",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        pd.Series(WORDS),
        pd.Series(WORDS, dtype="category"),
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
        pa.chunked_array([WORDS]),
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_words_of_every_library(column):
    codes, labels = number_labels(label_vector(column, "winners"), "winners")
    assert codes.tolist() == CODES
    assert labels.tolist() == ["b", "a", "", "c", "日本"]


def test_two_columns_share_their_numbers():
    first, second, labels = number_two(np.array(["x", "long name"]), np.array(["y", "x"]), "item")
    assert (first.tolist(), second.tolist(), labels.tolist()) == ([0, 1], [2, 0], ["x", "long name", "y"])


def test_columns_of_two_kinds_are_not_merged():
    first, second, labels = number_two(np.array([1, 2]), np.array(["1", "2"]), "item")
    assert (first.tolist(), second.tolist(), labels.tolist()) == ([0, 1], [2, 3], [1, 2, "1", "2"])


def test_labels_may_be_tuples():
    first, second, labels = number_two(
        label_vector([("a", 1), ("b", 2)], "x"), label_vector([("b", 2), ("c", 3)], "y"), "item"
    )
    assert (first.tolist(), second.tolist()) == ([0, 1], [1, 2])
    assert labels.tolist() == [("a", 1), ("b", 2), ("c", 3)]


def test_what_cannot_be_a_label_is_named():
    with pytest.raises(InvalidInputError, match="winners has a label that is not hashable"):
        number_labels(label_vector([["a"], "b"], "winners"), "winners")
    with pytest.raises(InvalidInputError, match="vote 1 has no winner"):
        refuse_missing(label_vector(["a", None], "winners"), "vote {} has no winner")
