from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import KERNEL_NAMES, Kernel, check_precomputed, refuse_indefinite, refuse_indefinite_on

rng = np.random.default_rng(0)
X = np.abs(rng.standard_normal((40, 3)))
y = X[:, 0] + 0.1 * rng.standard_normal(40)


def hyperbolic(a, b):
    """An indefinite form: one direction counts negative."""
    return float(a[0] * b[0] + a[1] * b[1] - a[2] * b[2])


INDEFINITE = {
    "negative": {"kernel": lambda a, b: -float(a @ b)},
    "hyperbolic": {"kernel": hyperbolic},
    "sigmoid": {"kernel": "sigmoid", "gamma": 1.0},
    "conditionally definite": {"kernel": "additive_chi2"},
    "polynomial with a negative constant": {"kernel": "poly", "degree": 2, "coef0": -1.0},
    "gaussian with a negative width": {"kernel": "rbf", "kernel_params": {"gamma": -0.1}},
}
LEARNERS = {
    "a basis": lambda **kernel: kr.RankRLS(basis=3, random_state=0, **kernel),
    "a basis of all items": lambda **kernel: kr.RankRLS(basis=40, **kernel),
    "regression": lambda **kernel: kr.RLS(basis=3, random_state=0, **kernel),
    "support vectors": lambda **kernel: kr.RankSVM(**kernel),
    "a basis of support vectors": lambda **kernel: kr.RankSVM(basis=3, random_state=0, **kernel),
    "a search": lambda **kernel: kr.RankRLSCV([0.1, 1.0], basis=3, random_state=0, **kernel),
    "views": lambda **kernel: kr.CoRankRLS(nu=0.0, random_state=0, **kernel),
    "a map": lambda **kernel: kr.NystromMap(3, random_state=0, **kernel),
    "a map by leverage": lambda **kernel: kr.NystromMap(3, basis_selection="leverage", random_state=0, **kernel),
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kernel", INDEFINITE)
def test_an_indefinite_kernel_is_refused(kernel, learner):
    model = LEARNERS[learner](**INDEFINITE[kernel])
    with pytest.raises(InvalidInputError, match=r"kernel \S+ is indefinite, not positive semidefinite: .* diagonal"):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_stream_and_a_basis_that_is_brought_are_refused():
    with pytest.raises(InvalidInputError, match="kernel hyperbolic is indefinite"):
        kr.RankRLS(kernel=hyperbolic, basis=3, random_state=0).partial_fit(X, y, qid=np.arange(40) // 10)
    views = [{"kernel": hyperbolic, "basis": X[:10]}, "rbf"]
    with pytest.raises(InvalidInputError, match="view 0: the kernel hyperbolic is indefinite"):
        kr.CoRankRLS(nu=0.0, views=views).fit(X, y)


def gaussian(a, b):
    return float(np.exp(-np.sum((a - b) ** 2)))


def from_lengths(a, b):
    """A Gaussian whose distances have lost digits."""
    return float(np.exp(-max(a @ a + b @ b - 2 * a @ b, 0.0)))


GOOD = {
    "function": {"kernel": gaussian},
    "function that loses digits": {"kernel": from_lengths},
    "object": {"kernel": RBF(2.0) + WhiteKernel(1e-3)},
    "object of low rank": {"kernel": DotProduct(0.0)},
    "polynomial": {"kernel": "poly", "degree": 4},
    "flat": {"kernel": "rbf", "gamma": 1e-9},
}


@pytest.mark.parametrize("items", [X, np.vstack([X, X]), np.zeros((40, 3)) + X[:1], X + 100.0, 1e5 * X, 1e-5 * X])
@pytest.mark.parametrize("name", GOOD)
def test_what_is_definite_up_to_rounding_is_taken(name, items):
    for size in (20, len(items)):
        nystrom = kr.NystromMap(size, random_state=0, **GOOD[name]).fit(items)
        assert 1 <= nystrom.rank_ <= size


@pytest.mark.parametrize("name", [name for name in KERNEL_NAMES if Kernel(name).semidefinite])
def test_names_that_are_semidefinite_by_construction(name):
    K = Kernel(name).matrix(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * np.abs(K).max() * len(K)
    assert not Kernel(name, parameters={} if name == "linear" else {"gamma": 1.0}).semidefinite or name == "linear"


def test_a_sample_stands_for_many_items():
    many = np.abs(rng.standard_normal((500, 3)))
    calls = []

    def counted(a, b):
        calls.append(1)
        return gaussian(a, b)

    refuse_indefinite_on(Kernel(counted), many)
    assert len(calls) <= 200 * 201 // 2
    with pytest.raises(InvalidInputError, match="indefinite"):
        refuse_indefinite_on(Kernel(hyperbolic), sparse.csr_array(many).toarray())


def test_the_matrix_stays_as_it_is():
    K = Kernel(gaussian).matrix(X)
    before = K.copy()
    refuse_indefinite(Kernel(gaussian), K)
    np.testing.assert_array_equal(K, before)


def test_a_sigmoid_that_is_nearly_linear_is_taken():
    assert kr.NystromMap(20, kernel="sigmoid", gamma=1e-6, coef0=0.0, random_state=0).fit(X).rank_ >= 3


def test_the_full_kernel_takes_what_alpha_makes_definite():
    kr.RankRLS(100.0, kernel="sigmoid").fit(X, y)


def test_precomputed_kernels_are_checked():
    K = X[:7] @ X[:7].T
    check_precomputed(K)
    check_precomputed(K.astype(np.float32))
    check_precomputed(sparse.csr_array(K))
    check_precomputed(np.zeros((3, 3)))
    with pytest.raises(InvalidInputError, match=r"must be square at fit .*7 × 3"):
        check_precomputed(X[:7])
    crooked = K.copy()
    crooked[2, 1] += 1e-3
    with pytest.raises(InvalidInputError, match=r"not symmetric: it differs from its transpose by 0\.001"):
        check_precomputed(crooked)
    with pytest.raises(InvalidInputError, match="indefinite"):
        check_precomputed(K - 1e-6 * np.eye(7))
    for model in (kr.RankRLS(kernel="precomputed", basis=3), kr.RankSVM(kernel="precomputed")):
        with pytest.raises(InvalidInputError, match="precomputed kernel is indefinite"):
            model.fit(K - 1e-6 * np.eye(7), y[:7])
