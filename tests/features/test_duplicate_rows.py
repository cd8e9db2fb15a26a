"""Duplicate rows are found, by comparing every row with every other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.features.map import duplicate_rows

FORMS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
}


def literal(X):
    alike = (X[:, None] == X[None]).all(axis=-1)
    return np.where(alike.sum(axis=1) > 1, alike.argmax(axis=1), -1)


@pytest.mark.parametrize("form", FORMS)
def test_equal_rows(form):
    rng = np.random.default_rng(0)
    for m, n, levels in ((1, 3, 2), (2, 1, 2), (200, 3, 4), (300, 1, 50), (60, 40, 2)):
        X = rng.integers(-levels, levels, size=(m, n)) / 2.0
        X[m // 2 :] = X[rng.integers(0, m, size=m - m // 2)]
        np.testing.assert_array_equal(duplicate_rows(FORMS[form](X)), literal(X))


def test_zeros_have_no_sign_and_may_be_stored():
    assert duplicate_rows(np.array([[0.0, 1.0], [-0.0, 1.0]])).tolist() == [0, 0]
    stored = sparse.csr_array(([1.0, 0.0, 1.0], [1, 0, 1], [0, 1, 3]), shape=(2, 2))
    assert duplicate_rows(stored).tolist() == [0, 0]


def test_entries_that_change_places_are_not_the_same():
    assert duplicate_rows(np.array([[1.0, 2.0], [2.0, 1.0]])).tolist() == [-1, -1]


def test_many_rows_of_few_bits_do_not_collide():
    X = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0), np.arange(10.0)), axis=-1).reshape(-1, 3)
    assert (duplicate_rows(X) == -1).all()
