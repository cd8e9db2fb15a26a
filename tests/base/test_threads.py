"""NumPy's own BLAS has one thread while a fit or a hold-out runs, and its earlier number afterwards."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.base import arrays
from kernelrank.base.arrays import OnePool, numpy_alone, one_pool

NUMPY = Path("/env/site-packages/numpy")


class Library:
    """A BLAS library that counts its threads."""

    def __init__(self, number: int) -> None:
        self.number = number

    def get_num_threads(self) -> int:
        return self.number

    def set_num_threads(self, number: int) -> None:
        self.number = number


@pytest.fixture
def library(monkeypatch):
    only = Library(4)
    monkeypatch.setattr(arrays, "_of_numpy", lambda: [only])
    return only


@pytest.mark.parametrize(
    ("files", "own"),
    [
        (["/env/site-packages/numpy.libs/a.so", "/env/site-packages/scipy.libs/b.so"], [0]),
        (["/env/site-packages/numpy/.dylibs/a.dylib", "/env/site-packages/scipy/.dylibs/b.dylib"], [0]),
        (["/env/lib/libopenblas.so"], []),  # shared by both
        (["/env/site-packages/numpy.libs/a.so"], []),  # SciPy's has no pool that is known
        ([], []),
    ],
)
def test_the_library_that_numpy_alone_uses(files, own):
    assert numpy_alone(files, NUMPY) == [files[number] for number in own]


def test_the_number_of_threads_comes_back(library):
    with one_pool:
        with one_pool:
            assert library.number == 1
        assert library.number == 1
    assert library.number == 4


def test_the_number_comes_back_after_an_error(library):
    with pytest.raises(ValueError, match="inside"), one_pool:
        raise ValueError("inside")
    assert library.number == 4


def test_the_last_of_several_callers_brings_the_number_back(library):
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with one_pool:
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=stay)
    with one_pool:
        other.start()
        assert inside.wait(10)
    assert library.number == 1  # the other one is still inside
    leave.set()
    other.join(10)
    assert library.number == 4


def test_a_forked_process_starts_anew(library):
    pool = OnePool()
    with pool:
        pool.forget()
        with pool:
            assert pool.inside == 1  # whoever entered before the fork does not count
        pool.inside += 1  # and leaves in the parent only, not as in this test
    assert library.number == 1


@pytest.mark.parametrize("call", ["fit", "leave_pair_out"])
def test_a_fit_and_a_holdout_run_with_one_thread(library, call):
    seen = []

    def kernel(a, b):
        seen.append(library.number)
        return float(a @ b)

    X, y = np.arange(8.0).reshape(4, 2) % 3, np.array([0.0, 1.0, 0.0, 1.0])
    model = kr.RankRLS(kernel=kernel)
    model.fit(X, y) if call == "fit" else kr.leave_pair_out(model, X, y)
    assert set(seen) == {1}
    assert library.number == 4
