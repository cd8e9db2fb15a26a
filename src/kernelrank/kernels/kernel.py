"""Kernels: by name, by function, or as a Gaussian-process kernel object of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from sklearn.utils.extmath import row_norms

from kernelrank.base.arrays import (
    BLOCK_BYTES,
    Float,
    GramSum,
    Matrix,
    RandomStateLike,
    blocks,
    is_sparse,
    largest_value,
)
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.exponential import exponential
from kernelrank.kernels.gamma_rule import GammaLike, gamma_by_rule

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

__all__ = ["KERNEL_NAMES", "Kernel", "KernelLike", "takes_sparse"]

KernelLike: TypeAlias = "str | Callable[..., float] | GaussianProcessKernel"

ALIASES = {"gaussian": "rbf"}
SCIKIT_LEARN_NAMES = (
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "rbf",
    "sigmoid",
)
"""The kernels of scikit-learn's `pairwise_kernels`, written out: to import them takes a tenth of a second."""
KERNEL_NAMES: tuple[str, ...] = (*SCIKIT_LEARN_NAMES, *ALIASES, "precomputed")

FAR = 30
"""So many times their spread items may be away from the origin, where their distances have lost three digits."""

TRIANGLE_ROWS = 256
"""At most so many rows of a triangle are computed at once: what lies beyond the diagonal is lost."""

_PARAMETERS = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "chi2": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"),
}


@dataclass(frozen=True)
class Kernel:
    """A kernel: how similar two items are.

    Parameters
    ----------
    metric : str, callable or scikit-learn Gaussian-process kernel
        A name of scikit-learn's `pairwise_kernels`, "gaussian" (the same as "rbf"), "precomputed", a function
        of two rows, or a kernel object such as ``RBF(2.0) + WhiteKernel(0.1)``.
    gamma : float, "scale", "median" or None
        A parameter of the kernels that have it. A rule becomes a number by `fixed`, before the kernel is computed.
    degree, coef0 : float
        Parameters of the kernels that have them.
    parameters : mapping, optional
        Further keyword arguments of the kernel function.

    Examples
    --------
    >>> import numpy as np
    >>> Kernel("poly", degree=2, gamma=1.0, coef0=0.0).matrix(np.array([[1.0], [2.0]]))
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    metric: KernelLike
    gamma: GammaLike = None
    degree: float = 3
    coef0: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.metric, str) and self.metric not in KERNEL_NAMES:
            raise InvalidInputError(f"kernel {self.metric!r} is unknown; the names are {', '.join(KERNEL_NAMES)}")
        if self.parameters and (self.linear or self.precomputed or _of_gaussian_process(self.metric)):
            raise InvalidInputError(
                f"kernel {self.metric!s} takes no kernel_params, got {', '.join(map(repr, self.parameters))}"
            )

    @property
    def linear(self) -> bool:
        """Whether the features are the columns of X themselves."""
        return isinstance(self.metric, str) and self.metric == "linear"

    @property
    def precomputed(self) -> bool:
        """Whether X holds kernel values instead of features."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def name(self) -> str:
        """What the kernel is called in messages."""
        return self.metric if isinstance(self.metric, str) else str(getattr(self.metric, "__name__", self.metric))

    @property
    def semidefinite(self) -> bool:
        """Whether every matrix of this kernel is positive semidefinite by construction, up to rounding."""
        if not isinstance(self.metric, str) or self.parameters:
            return False
        if self.metric in ("poly", "polynomial"):
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return self.metric in ("linear", "rbf", "gaussian", "laplacian", "chi2", "cosine")

    def copied(self) -> Kernel:
        """Return a kernel that stays the same when the objects that this one was made of are changed.

        A callable that cannot be copied, such as one that holds an open file, is kept itself.
        """
        try:
            return deepcopy(self)
        except Exception:  # whatever the copying of a foreign object raises
            return self

    @property
    def has_gamma(self) -> bool:
        """Whether gamma is a parameter of this kernel."""
        return isinstance(self.metric, str) and "gamma" in _PARAMETERS.get(ALIASES.get(self.metric, self.metric), ())

    def fixed(self, X: Matrix, random_state: RandomStateLike = None) -> Kernel:
        """Return this kernel with a number for gamma, computed from some items; None if it has no gamma.

        O(m n) time, see `gamma_by_rule`. None stands for scikit-learn's default, ``1 / n_features``; it is one for
        the χ² kernel.
        """
        if not self.has_gamma:
            return replace(self, gamma=None)
        if "gamma" in self.parameters:
            return replace(self, gamma=float(self.parameters["gamma"]))
        if self.gamma is None:
            return replace(self, gamma=1.0 if self.metric == "chi2" else 1.0 / X.shape[1])
        if isinstance(self.gamma, str):
            rule = gamma_by_rule(self.gamma, X, random_state, manhattan=self.metric == "laplacian")
            return replace(self, gamma=rule)
        return replace(self, gamma=float(self.gamma))

    def matrix(self, X: Matrix, Y: Matrix | None = None, *, n_rows: int = 0) -> Float:
        """Return k(X, Y), or k(X, X); a fresh float64 array that the caller may overwrite.

        O(m t n) time for m × n and t × n inputs and a named kernel; memory m × t. A float32 X is cast first: a kernel
        that is rounded to 24 bits is not positive semidefinite. `n_rows` tells how many rows there are in all, where X
        is a part of them.
        """
        if self.precomputed:
            return np.array(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        if _of_gaussian_process(self.metric):
            K = np.array(self.metric(_dense(X), None if Y is None else _dense(Y)), dtype=np.float64)
        else:
            rows, others = X.astype(np.float64, copy=False), None if Y is None else Y.astype(np.float64, copy=False)
            if isinstance(self.metric, str):
                return self._named(rows, others, n_rows)
            from sklearn.metrics.pairwise import pairwise_kernels

            K = np.asarray(pairwise_kernels(rows, others, metric=self.metric, **self.parameters), dtype=np.float64)
        return self._finite(K, X, Y)

    def _named(self, X: Matrix, Y: Matrix | None, n_rows: int) -> Float:
        """Return k(X, Y) for a kernel with a name, or say what overflows."""
        metric = ALIASES.get(str(self.metric), str(self.metric))
        arguments = self.arguments()
        with np.errstate(over="ignore", invalid="ignore"):
            if list(arguments) == ["gamma"] and metric == "rbf" and not is_sparse(X) and not is_sparse(Y):
                gamma = 1.0 / X.shape[1] if arguments["gamma"] is None else float(arguments["gamma"])
                K, finite = _gaussian(X, Y, gamma, n_rows)
                return K if finite else self._finite(K, X, Y)
            from sklearn.metrics.pairwise import pairwise_kernels

            K = pairwise_kernels(X, Y, metric=metric, **arguments)
        return self._finite(np.asarray(K.toarray() if is_sparse(K) else K, dtype=np.float64), X, Y)

    def diagonal(self, X: Matrix) -> Float:
        """Return k(x, x) of each row, in O(m n) time for a named kernel and m calls of a function.

        Examples
        --------
        >>> Kernel("poly", degree=2, gamma=1.0, coef0=0.0).diagonal(np.array([[1.0], [2.0]]))
        array([ 1., 16.])
        """
        if self.precomputed:
            return np.asarray(X.diagonal(), dtype=np.float64)
        if _of_gaussian_process(self.metric):
            values = np.asarray(self.metric.diag(_dense(X)), dtype=np.float64)
        elif isinstance(self.metric, str):
            values = self._named_diagonal(X)
        else:
            rows = (X[[i]] if is_sparse(X) else X[i] for i in range(X.shape[0]))
            values = np.array([self.metric(row, row, **self.parameters) for row in rows], dtype=np.float64)
        return self._finite(values, X, None)

    def _named_diagonal(self, X: Matrix) -> Float:
        metric = ALIASES.get(str(self.metric), str(self.metric))
        if metric in ("rbf", "laplacian", "chi2"):
            return np.ones(X.shape[0])
        if metric == "additive_chi2":
            return np.zeros(X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.asarray(row_norms(X.astype(np.float64, copy=False), squared=True), dtype=np.float64)
            if metric == "linear":
                return squares
            if metric == "cosine":
                return np.asarray(squares > 0, dtype=np.float64)
            arguments = {"degree": 3, **self.arguments()}
            gamma = 1.0 / X.shape[1] if arguments["gamma"] is None else arguments["gamma"]
            inner = gamma * squares + arguments["coef0"]
            values: Float = np.tanh(inner) if metric == "sigmoid" else inner ** arguments["degree"]
        return values

    def _finite(self, values: Float, X: Matrix, Y: Matrix | None) -> Float:
        """Return kernel values, or say why one of them is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum()
        if np.isfinite(total) or np.all(np.isfinite(values)):
            return values
        if not isinstance(self.metric, str):
            raise InvalidInputError(
                f"the kernel {self.name} returned {values[~np.isfinite(values)][0]} for two of the items: a kernel "
                "must return a finite number for any two"
            )
        largest = max(largest_value(part) for part in (X, X if Y is None else Y))
        raise InvalidInputError(
            f"X has values as large as {largest:.3g}: the kernel {self.name} of two items overflows (limit "
            "1.8e+308). Divide X by a constant, or scale its columns"
        )

    def arguments(self) -> dict[str, Any]:
        """Return the parameters that the function of a named kernel is called with."""
        assert isinstance(self.metric, str)
        names = _PARAMETERS.get(ALIASES.get(self.metric, self.metric), ())
        arguments = {name: getattr(self, name) for name in names}
        assert not isinstance(arguments.get("gamma"), str), "gamma is a number where a kernel is computed"
        # The χ² kernel alone takes its default from its signature and no None.
        if arguments.get("gamma", 0) is None and self.metric == "chi2":
            del arguments["gamma"]
        return {**arguments, **self.parameters}


def takes_sparse(metric: KernelLike) -> bool:
    """Whether X may be sparse: scikit-learn's Gaussian-process kernels take dense rows only."""
    return not _of_gaussian_process(metric)


def _of_gaussian_process(metric: KernelLike) -> TypeGuard[GaussianProcessKernel]:
    """Whether a kernel is an object of scikit-learn; whoever made one has imported its class."""
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(metric, module.Kernel)


def _gaussian(X: Matrix, Y: Matrix | None, gamma: float, n_rows: int) -> tuple[Float, bool]:
    """Return ``exp(-gamma ‖x - y‖²)`` for dense rows, as scikit-learn does, but without its checks and in few passes.

    Also return whether all values are certainly finite: the lengths are, and gamma is not negative.

    Squared distances are computed from squared lengths. Far from the origin, as with dates or places on a map, these
    would leave few digits of them, so that all items are first moved to the mean of the second ones.
    """
    others = X if Y is None else Y
    mean = others.mean(axis=0)
    lengths = np.einsum("ij,ij->i", others, others)
    distance = float(mean @ mean)
    if distance > FAR**2 * max(float(lengths.mean()) - distance, 0.0):
        X, others = X - mean, others - mean
        others = X if Y is None else others
        lengths = np.einsum("ij,ij->i", others, others)
    own = lengths if Y is None else np.einsum("ij,ij->i", X, X)
    own, lengths = -gamma * own, -gamma * lengths
    # (x, -γ‖x‖², 1) · (2γ y, 1, -γ‖y‖²): the product adds up the whole exponent.
    n = X.shape[1]
    right = np.empty((len(lengths), n + 2))
    np.multiply(others, 2.0 * gamma, out=right[:, :n])
    right[:, n], right[:, n + 1] = 1.0, lengths
    K = np.empty((len(own), len(lengths)))
    # Blocks that stay in a core's cache; of wide items as many rows as columns, so that the product costs more than to
    # read the others for it.
    wide = X.shape[1] if Y is not None else min(X.shape[1], TRIANGLE_ROWS)
    for rows in blocks(len(K), 8 * len(lengths), max(BLOCK_BYTES, 8 * len(lengths) * wide)):
        # The kernel of all items is symmetric to the last digit: one triangle is computed and copied.
        stop = len(lengths) if Y is not None else rows.stop
        whole = K[rows, :stop]
        part = whole if stop == len(lengths) else np.empty((rows.stop - rows.start, stop))
        left = np.empty((len(part), n + 2))
        left[:, :n] = X[rows]
        left[:, n], left[:, n + 1] = own[rows], 1.0
        np.dot(left, right[:stop].T, out=part)
        # Rounding may make a squared distance negative.
        if gamma >= 0.0:
            exponential(part, whole, max(n_rows, len(K)) * len(lengths))
        else:
            np.exp(np.maximum(part, 0.0, out=part), out=whole)
    if Y is None:
        K = GramSum.onto(K).matrix()
        np.fill_diagonal(K, 1.0)
    # Inner products are at most as large as the mean of two squared lengths.
    return K, gamma >= 0.0 and bool(np.isfinite(own.min(initial=0.0) + lengths.min(initial=0.0)))


def _dense(X: Matrix) -> Float:
    if is_sparse(X):
        raise InvalidInputError("a Gaussian-process kernel takes dense X only, got a sparse matrix")
    return np.asarray(X, dtype=np.float64)
