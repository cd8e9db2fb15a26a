from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, laplacian_kernel, pairwise_kernels

from kernelrank.errors import InvalidInputError
from kernelrank.kernels import KERNEL_NAMES, Kernel
from kernelrank.kernels import kernel as kernel_module

X = np.abs(np.random.default_rng(0).standard_normal((7, 3)))
Y = np.abs(np.random.default_rng(1).standard_normal((4, 3)))


@pytest.mark.parametrize("name", [name for name in KERNEL_NAMES if name not in ("precomputed", "gaussian")])
def test_every_name_is_what_scikit_learn_computes(name):
    np.testing.assert_allclose(Kernel(name).matrix(X, Y), pairwise_kernels(X, Y, metric=name), rtol=1e-12)


def test_no_kernel_of_scikit_learn_is_left_out():
    assert set(KERNEL_NAMES) == {*PAIRWISE_KERNEL_FUNCTIONS, "gaussian", "precomputed"}


def test_parameters_reach_the_kernels_that_have_them():
    squared = ((X[:, None] - Y) ** 2).sum(axis=2)
    np.testing.assert_allclose(Kernel("gaussian", gamma=0.7).matrix(X, Y), np.exp(-0.7 * squared), rtol=1e-10)
    polynomial = Kernel("poly", gamma=0.5, degree=2, coef0=3.0).matrix(X, Y)
    np.testing.assert_allclose(polynomial, (0.5 * X @ Y.T + 3.0) ** 2, rtol=1e-12)


def test_a_function_and_its_parameters():
    kernel = Kernel(lambda a, b, scale: scale * float(a @ b), parameters={"scale": 2.0})
    np.testing.assert_allclose(kernel.matrix(X, Y), 2.0 * X @ Y.T, rtol=1e-12)


def test_sums_and_products_of_gaussian_process_kernels():
    kernel = ConstantKernel(2.0) * RBF(1.5) + WhiteKernel(0.1)
    np.testing.assert_allclose(Kernel(kernel).matrix(X), kernel(X), rtol=1e-12)
    np.testing.assert_allclose(Kernel(kernel).matrix(X, Y), kernel(X, Y), rtol=1e-12)
    with pytest.raises(InvalidInputError, match="dense X only"):
        Kernel(kernel).matrix(sparse.csr_array(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", [*sorted(set(KERNEL_NAMES) - {"precomputed"}), "function", "object"])
def test_diagonal(name, form):
    if form is sparse.csr_array and name in ("object", "chi2", "additive_chi2"):
        pytest.skip("for dense items only")
    metric = {"function": lambda a, b: float((a @ b.T).sum()) + 1.0, "object": RBF(2.0) + WhiteKernel(0.5)}.get(
        name, name
    )
    items = np.vstack([X, np.zeros(3)])
    kernel = Kernel(metric, gamma=0.3 if name != "chi2" else None, degree=2, coef0=0.5)
    np.testing.assert_allclose(kernel.diagonal(form(items)), np.diagonal(kernel.matrix(form(items))), atol=1e-12)
    bare = Kernel(metric)
    np.testing.assert_allclose(bare.diagonal(form(items)), np.diagonal(bare.matrix(form(items))), atol=1e-12)


def test_diagonal_of_a_precomputed_kernel():
    K = X @ X.T
    np.testing.assert_array_equal(Kernel("precomputed").diagonal(K), np.diagonal(K))
    np.testing.assert_array_equal(Kernel("precomputed").diagonal(sparse.csr_array(K)), np.diagonal(K))


def test_what_is_returned_belongs_to_the_caller():
    K = X @ X.T
    copy = Kernel("precomputed").matrix(K)
    copy[:] = 0.0
    assert K.any()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"'radial' is unknown; the names are .*rbf"):
        Kernel("radial")


@pytest.mark.parametrize("name", ["rbf", "gaussian"])
@pytest.mark.parametrize("offset", [0.0, 1e5, 1e7])
def test_items_far_from_the_origin_keep_their_distances(name, offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + offset
    kernel = Kernel(name, gamma=0.5)
    expected = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    np.testing.assert_allclose(kernel.matrix(X), expected, atol=1e-14)
    np.testing.assert_allclose(kernel.matrix(X[:7], X), expected[:7], atol=1e-14)
    np.testing.assert_allclose(kernel.matrix(X, X[20:]), expected[:, 20:], atol=1e-14)


@pytest.mark.parametrize("n", [1, 16, 37])
def test_compiled_laplacian_equals_that_of_scikit_learn(monkeypatch, n):
    monkeypatch.setattr(kernel_module, "MANY", 1)
    random = np.random.default_rng(n)
    X, Y = random.standard_normal((30, n)), random.standard_normal((11, n))
    kernel = Kernel("laplacian", gamma=0.3)
    np.testing.assert_allclose(kernel.matrix(X), laplacian_kernel(X, gamma=0.3), rtol=1e-12)
    np.testing.assert_allclose(kernel.matrix(Y, X), laplacian_kernel(Y, X, gamma=0.3), rtol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_distances_are_kept_for_other_gammas(name):
    X, kept = np.random.default_rng(0).standard_normal((40, 6)) + 100.0, {}
    for gamma in (0.01, 0.3, 5.0):
        kernel = Kernel(name, gamma=gamma)
        np.testing.assert_allclose(kernel.matrix(X, distances=kept), kernel.matrix(X), rtol=1e-10, atol=1e-300)
    assert list(kept) == [name]
