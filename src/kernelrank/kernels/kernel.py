"""Kernels: by name, by function, or as a Gaussian-process kernel object of scikit-learn."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from kernelrank.base.arrays import (
    BLOCK_BYTES,
    Float,
    GramSum,
    Index,
    Matrix,
    RandomStateLike,
    blocks,
    is_sparse,
    largest_value,
    row_slices,
)
from kernelrank.base.compiled import compiled
from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

KernelLike: TypeAlias = "str | Callable[..., float] | GaussianProcessKernel | KernelSum"

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


@dataclass(frozen=True, eq=False)
class KernelSum:
    """A sum of kernels, which may see other columns each, as the metric of a `Kernel`.

    Shapes: weights (kernels,), none negative.
    """

    kernels: tuple[Kernel, ...]
    weights: Float

    def __str__(self) -> str:
        return f"sum of {len(self.kernels)} kernels"

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> Float:
        """Return the sum of k(X, Y), or of k(X, X)."""
        return self._added(kernel.matrix(X, Y) for kernel in self.kernels)

    def diag(self, X: Matrix) -> Float:
        """Return the sum of k(x, x) of each row."""
        return self._added(kernel.diagonal(X) for kernel in self.kernels)

    def _added(self, parts: Iterable[Float]) -> Float:
        total: Any = 0.0
        for weight, part in zip(self.weights, parts, strict=True):
            part *= weight
            total = total + part
        return np.asarray(total)


@dataclass(frozen=True)
class Kernel:
    """A kernel: how similar two items are.

    Parameters
    ----------
    metric : str, callable or scikit-learn Gaussian-process kernel
        A name of scikit-learn's `pairwise_kernels`, "gaussian" (the same as "rbf"), "precomputed", a function
        of two items (rows of numbers, or objects such as strings), or a kernel object such as
        ``RBF(2.0) + WhiteKernel(0.1)``.
    gamma : float, "scale", "median" or None
        A parameter of the kernels that have it. A rule becomes a number by `fixed`, before the kernel is computed.
    degree, coef0 : float
        Parameters of the kernels that have them.
    parameters : mapping, optional
        Further keyword arguments of the kernel function.
    root : ndarray of shape (n,) or (n, n), "variance" or None
        What the kernel sees of X is ``X * root``, or ``X @ root``: the roots of the weights of the columns, or of the
        matrix of a metric, see `metric_root`. The rule becomes numbers by `fixed`.

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
    root: Float | Literal["variance"] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.metric, str) and self.metric not in KERNEL_NAMES:
            raise InvalidInputError(f"kernel {self.metric!r} is unknown; the names are {', '.join(KERNEL_NAMES)}")
        if self.parameters and (self.linear or self.precomputed or _of_gaussian_process(self.metric)):
            raise InvalidInputError(
                f"kernel {self.metric!s} takes no kernel_params, got {', '.join(map(repr, self.parameters))}"
            )
        if self.root is not None and self.precomputed:
            raise InvalidInputError(
                "metric weighs the columns of X, and a precomputed kernel has none: leave metric out"
            )
        if (
            isinstance(self.root, np.ndarray)
            and self.root.ndim == 2
            and self.metric in ("laplacian", "chi2", "additive_chi2")
        ):
            raise InvalidInputError(
                f"the kernel {self.name} compares items column by column: give metric as a vector of weights"
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
        if isinstance(self.metric, KernelSum):
            return all(kernel.semidefinite for kernel in self.metric.kernels)
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
        if self.root is not None and X.dtype == object:
            raise InvalidInputError("metric weighs columns of numbers, and the items of X have none: leave metric out")
        if isinstance(self.root, str):
            variance = column_variances(X)
            root = np.divide(1.0, np.sqrt(variance), out=np.zeros(len(variance)), where=variance > 0)
            return replace(self, root=root).fixed(X, random_state)
        if self.root is not None and len(self.root) != X.shape[1]:
            raise InvalidInputError(
                f"Expected one weight for each column of X in metric: X has {X.shape[1]} columns, metric has "
                f"{len(self.root)}."
            )
        if not self.has_gamma:
            return replace(self, gamma=None)
        if "gamma" in self.parameters:
            return replace(self, gamma=float(self.parameters["gamma"]))
        if self.gamma is None:
            return replace(self, gamma=1.0 if self.metric == "chi2" else 1.0 / X.shape[1])
        if isinstance(self.gamma, str):
            rule = gamma_by_rule(self.gamma, self.mapped(X), random_state, manhattan=self.metric == "laplacian")
            return replace(self, gamma=rule)
        return replace(self, gamma=float(self.gamma))

    @property
    def fixed_root(self) -> Float | None:
        """The root of the metric, whose rule was turned into numbers by `fixed`."""
        assert not isinstance(self.root, str), "a metric has numbers where a kernel is computed"
        return self.root

    def mapped(self, X: Matrix) -> Matrix:
        """Return what the kernel sees of some items: X itself, or ``X * root``, or ``X @ root``."""
        root = self.fixed_root
        if root is None:
            return X
        if root.ndim == 2:
            return np.asarray(X @ root)
        return X.multiply(root).asformat(X.format) if is_sparse(X) else X * root

    def column_weights(self, w: Float) -> Float:
        """Return the weights of the columns of X for weights of those of ``mapped(X)``.

        Shapes: w (n, outputs).
        """
        root = self.fixed_root
        if root is None:
            return w
        return np.asarray(root @ w) if root.ndim == 2 else root[:, None] * w

    def matrix(
        self, X: Matrix, Y: Matrix | None = None, *, n_rows: int = 0, distances: dict[str, Float] | None = None
    ) -> Float:
        """Return k(X, Y), or k(X, X); a fresh float64 array that the caller may overwrite.

        O(m t n) time for m × n and t × n inputs and a named kernel; memory m × t. A float32 X is cast first: a kernel
        that is rounded to 24 bits is not positive semidefinite. `n_rows` tells how many rows there are in all, where X
        is a part of them. `distances` keeps those of the items of X for other values of gamma: m² numbers more.
        """
        X, Y = self.mapped(X), None if Y is None else self.mapped(Y)
        if self.precomputed:
            return np.array(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        if isinstance(self.metric, KernelSum):
            K = self.metric(X, Y)
        elif _of_gaussian_process(self.metric):
            K = np.array(self.metric(_dense(X), None if Y is None else _dense(Y)), dtype=np.float64)
        elif X.dtype == object:
            K = self._of_objects(X, Y)
        else:
            rows, others = X.astype(np.float64, copy=False), None if Y is None else Y.astype(np.float64, copy=False)
            if isinstance(self.metric, str):
                return self._named(rows, others, n_rows, distances if Y is None else None)
            from sklearn.metrics.pairwise import pairwise_kernels

            K = np.asarray(pairwise_kernels(rows, others, metric=self.metric, **self.parameters), dtype=np.float64)
        return self._finite(K, X, Y)

    def _of_two(self, one: Any, other: Any) -> float:
        """Call the function for two objects."""
        assert callable(self.metric)
        value = self.metric(one, other, **self.parameters)
        if np.ndim(value):
            raise InvalidInputError(
                f"Expected a kernel function of two items that returns a number; {self.name} returned an array of "
                f"shape {np.shape(value)}. It is called for two items at a time."
            )
        return float(value)

    def _of_objects(self, X: Matrix, Y: Matrix | None) -> Float:
        """Call the function for two objects at a time, once for each pair where Y is None."""
        others = (X if Y is None else Y)[:, 0]
        K = np.empty((X.shape[0], len(others)))
        for i, one in enumerate(X[:, 0]):
            for j in range(i if Y is None else 0, len(others)):
                K[i, j] = self._of_two(one, others[j])
        return np.triu(K) + np.triu(K, 1).T if Y is None else K

    def _named(self, X: Matrix, Y: Matrix | None, n_rows: int, kept: dict[str, Float] | None) -> Float:
        """Return k(X, Y) for a kernel with a name, or say what overflows."""
        metric = ALIASES.get(str(self.metric), str(self.metric))
        arguments = self.arguments()
        with np.errstate(over="ignore", invalid="ignore"):
            if list(arguments) == ["gamma"] and metric in EXPONENTS and not is_sparse(X) and not is_sparse(Y):
                gamma = 1.0 / X.shape[1] if arguments["gamma"] is None else float(arguments["gamma"])
                if kept is None:
                    K, finite = EXPONENTS[metric](X, Y, gamma, n_rows)
                    return K if finite else self._finite(K, X, Y)
                if metric not in kept:
                    kept.clear()
                    kept[metric] = EXPONENTS[metric](X, None, 1.0, n_rows, exponent_only=True)[0]
                return self._finite(self.of_distances(kept[metric]), X, Y)
            from sklearn.metrics.pairwise import pairwise_kernels

            if metric == "laplacian":
                X, Y = _narrow(X), None if Y is None else _narrow(Y)
            K = pairwise_kernels(X, Y, metric=metric, **arguments)
        return self._finite(np.asarray(K.toarray() if is_sparse(K) else K, dtype=np.float64), X, Y)

    def of_distances(self, distances: Float) -> Float:
        """Return the kernel for the distances, less than zero, that `matrix` has kept."""
        assert isinstance(self.gamma, float)
        exponents = self.gamma * distances
        exponential(exponents, exponents, exponents.size)
        return exponents

    def diagonal(self, X: Matrix) -> Float:
        """Return k(x, x) of each row, in O(m n) time for a named kernel and m calls of a function.

        Examples
        --------
        >>> Kernel("poly", degree=2, gamma=1.0, coef0=0.0).diagonal(np.array([[1.0], [2.0]]))
        array([ 1., 16.])
        """
        if self.precomputed:
            return np.asarray(X.diagonal(), dtype=np.float64)
        X = self.mapped(X)
        if isinstance(self.metric, KernelSum):
            values = self.metric.diag(X)
        elif _of_gaussian_process(self.metric):
            values = np.asarray(self.metric.diag(_dense(X)), dtype=np.float64)
        elif isinstance(self.metric, str):
            values = self._named_diagonal(X)
        elif X.dtype == object:
            values = np.array([self._of_two(item, item) for item in X[:, 0]])
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


def takes_objects(metric: KernelLike) -> bool:
    """Whether items may be other things than rows of numbers, such as strings and sets."""
    return not (isinstance(metric, (str, KernelSum)) or getattr(metric, "requires_vector_input", False))


def _of_gaussian_process(metric: KernelLike) -> TypeGuard[GaussianProcessKernel]:
    """Whether a kernel is an object of scikit-learn; whoever made one has imported its class."""
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(metric, module.Kernel)


def _gaussian(
    X: Matrix, Y: Matrix | None, gamma: float, n_rows: int, *, exponent_only: bool = False
) -> tuple[Float, bool]:
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
        if exponent_only:
            np.minimum(part, 0.0, out=whole)
        elif gamma >= 0.0:
            exponential(part, whole, max(n_rows, len(K)) * len(lengths))
        else:
            np.exp(np.maximum(part, 0.0, out=part), out=whole)
    if Y is None:
        K = GramSum.onto(K).matrix()
        np.fill_diagonal(K, 0.0 if exponent_only else 1.0)
    # Inner products are at most as large as the mean of two squared lengths.
    return K, gamma >= 0.0 and bool(np.isfinite(own.min(initial=0.0) + lengths.min(initial=0.0)))


def _laplacian(
    X: Matrix, Y: Matrix | None, gamma: float, n_rows: int, *, exponent_only: bool = False
) -> tuple[Float, bool]:
    """Return ``exp(-gamma Σ_c |x_c - y_c|)`` for dense rows, the product of a kernel for each column; see `_gaussian`.

    O(m t n) time in a compiled loop; a small problem takes SciPy's.
    """
    others = X if Y is None else Y
    K = np.zeros((len(X), len(others)))
    if max(n_rows, len(K)) * others.size < MANY:
        K = cdist(X, others, "cityblock")
    else:
        _add_distances(np.ascontiguousarray(X), np.ascontiguousarray(others.T), K, Y is None)
        K = GramSum.onto(K).matrix() if Y is None else K
    K *= -gamma
    if not exponent_only and gamma < 0.0:
        np.exp(K, out=K)
    elif not exponent_only:
        exponential(K, K, max(n_rows, len(K)) * len(others))
    return K, False


@compiled
def _add_distances(X: Float, columns: Float, out: Float, triangle: bool) -> None:
    """Add ``Σ_c |x_ic - columns_cj|`` to out, 16 columns at a time, which stay in the cache; or the lower triangle."""
    for start in range(0, X.shape[1], 16):
        for i in range(X.shape[0]):
            stop = i + 1 if triangle else columns.shape[1]
            for c in range(start, min(start + 16, X.shape[1])):
                for j in range(stop):
                    out[i, j] += abs(X[i, c] - columns[c, j])


EXPONENTS = {"rbf": _gaussian, "laplacian": _laplacian}
"""The kernels that are exponentials of distances."""


def _narrow(X: Matrix) -> Matrix:
    """Return a sparse X with 32-bit indices where these suffice: Manhattan distances of scikit-learn need them."""
    if not is_sparse(X) or max(X.nnz, *X.shape) >= 2**31:
        return X
    X = X.tocsr()
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _dense(X: Matrix) -> Float:
    if is_sparse(X):
        raise InvalidInputError("a Gaussian-process kernel takes dense X only, got a sparse matrix")
    return np.asarray(X[:, 0]) if X.dtype == object else np.asarray(X, dtype=np.float64)


# Exponential ----------------------------------------------------------------------------------------------------------
#
# The exponential of very many numbers that are not positive, as Gaussian kernels need it.
#
# NumPy computes ``exp`` with vector instructions only on processors with 512-bit ones. Elsewhere it takes 5 to 10 ns
# for a number, up to a fifth of the time of a fit with a basis. The compiled loop takes 2 ns, in vector instructions of
# any width: with k the integer next to ``x / log 2`` and ``r = x - k log 2``, log 2 in two parts so that nothing of r
# is lost,
#
#     ``exp(x) = 2ᵏ exp(r)``,   ``|r| ≤ ½ log 2``,
#
# and ``exp(r)`` is its Taylor polynomial of degree 13, whose remainder is below 1e-17. Adding ``1.5 · 2⁵²`` to a number
# rounds it to an integer, which then is the lowest bits of the sum: moved to the place of the exponent, k is added
# there. Results differ from NumPy's by one unit in the last place at most; those below the smallest normal number are
# zero.

MANY = 2**24
"""From so many numbers on the loop is used. A fit with them takes about a second: the loop saves a tenth to a quarter
of it every time, and to import numba takes half a second once. It depends on nothing else, so that the same fit gives
the same digits again."""

PER_LOG_2 = 1.0 / math.log(2.0)
ROUNDS = 1.5 * 2.0**52
LOG_2 = math.log(2.0)
LOG_2_HIGH = math.floor(LOG_2 * 2.0**32) / 2.0**32
LOG_2_LOW = 1.9082149292705877e-10
"""What the first 32 bits of log 2 leave of it, to all digits: their difference in double precision has only 21 bits."""
SMALLEST = -708.0
(C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13) = (1.0 / math.factorial(k) for k in range(2, 14))


def exponential(values: Float, out: Float, total: int) -> None:
    """Write ``exp(min(x, 0))`` of every value to `out`.

    Shapes: values (k, n), out (k, n).

    values: Is overwritten.
    """
    if total < MANY:
        np.minimum(values, 0.0, out=values)
        np.exp(values, out=out)
        return
    sums = np.empty(values.shape[1])
    _exponentiate(values, values.view(np.int64), sums, sums.view(np.int64))
    if out is not values:
        out[:] = values


@partial(compiled, contract=True)
def _exponentiate(values: Float, values_bits: Index, sums: Float, sums_bits: Index) -> None:
    """Replace the values by their exponentials; `values_bits` and `sums_bits` are the same numbers as integers."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            far = values[i, j] < SMALLEST
            x = 0.0 if far else min(values[i, j], 0.0)
            rounded = x * PER_LOG_2 + ROUNDS
            sums[j] = rounded
            k = rounded - ROUNDS
            r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
            p = C13
            p = p * r + C12
            p = p * r + C11
            p = p * r + C10
            p = p * r + C9
            p = p * r + C8
            p = p * r + C7
            p = p * r + C6
            p = p * r + C5
            p = p * r + C4
            p = p * r + C3
            p = p * r + C2
            values[i, j] = 0.0 if far else p * r * r + r + 1.0
        for j in range(values.shape[1]):
            values_bits[i, j] += sums_bits[j] << 52


# Gamma rule -----------------------------------------------------------------------------------------------------------
#
# Rules that choose gamma from the items: scikit-learn's "scale", and one over the median squared distance.

GammaLike: TypeAlias = float | Literal["scale", "median"] | None
GAMMA_RULES: tuple[str, ...] = ("scale", "median")

MOST_ITEMS = 1000
"""The median is that of all pairs of so many items, drawn at random where there are more."""


def gamma_by_rule(rule: str, X: Matrix, random_state: RandomStateLike = None, *, manhattan: bool = False) -> float:
    """Return gamma by a rule ("scale" or "median"), without using labels.

    O(m n) time, or O(nnz); the median takes O(n) for each of up to half a million pairs.

    Shapes: X (m, n).

    rule: "scale" is ``1 / (n_features * X.var())``, as in scikit-learn's `SVC`. "median" is one over the median squared
    distance between two different items. Either is one where all items are the same.
    manhattan: Whether the median is that of Manhattan distances, for the Laplacian kernel, instead of squared ones.
    """
    if rule not in GAMMA_RULES:
        raise InvalidInputError(f"gamma must be a number, None, {', '.join(map(repr, GAMMA_RULES))}; got {rule!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        scale = rule == "scale"
        width = X.shape[1] * _variance(X) if scale else _median_distance(X, random_state, manhattan=manhattan)
    if not np.isfinite(width):
        raise InvalidInputError(
            f"X has values as large as {largest_value(X):.3g}: gamma={rule!r} adds up their squares, which "
            "overflow (limit 1.8e+308). Divide X by a constant, or scale its columns"
        )
    return 1.0 / width if width > 0 else 1.0


def _variance(X: Matrix) -> float:
    """Return the variance of all entries, those that are not stored being zero."""
    if is_sparse(X):
        count = X.shape[0] * X.shape[1]
        values = X.data.astype(np.float64)
        mean = values.sum() / count
        return float((((values - mean) ** 2).sum() + (count - len(values)) * mean**2) / count)
    mean = float(np.mean(X, dtype=np.float64))
    squares = sum(float(((X[rows].astype(np.float64) - mean) ** 2).sum()) for rows in row_slices(X))
    return float(squares / (X.shape[0] * X.shape[1]))


def _median_distance(X: Matrix, random_state: RandomStateLike, *, manhattan: bool) -> float:
    """Return the median over pairs of items that differ, of up to `MOST_ITEMS` items."""
    if X.shape[0] > MOST_ITEMS:
        X = X[np.sort(check_random_state(random_state).choice(X.shape[0], MOST_ITEMS, replace=False))]
    X = X.astype(np.float64)
    if not is_sparse(X):
        X -= X.mean(axis=0)  # distances are computed from squared lengths, which are small here
    if manhattan and not is_sparse(X):
        distances: Float = -_laplacian(X, None, 1.0, 0, exponent_only=True)[0]
    else:
        from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

        distances = manhattan_distances(_narrow(X)) if manhattan else euclidean_distances(X, squared=True)
    first, second = np.triu_indices(X.shape[0], 1)
    between = distances[first, second]
    largest = float(between.max(initial=0.0))
    if not np.isfinite(largest):
        return largest
    # Rounding is all that duplicates differ by.
    between = between[between > 1e-12 * largest]
    return float(np.median(between)) if len(between) else 0.0


# Metric ---------------------------------------------------------------------------------------------------------------
#
# A metric: weights of the columns, or a positive semidefinite matrix S. A kernel with a metric is the kernel of
# ``X S^½``: inner products are ``xᵀ S z`` and squared distances ``(x - z)ᵀ S (x - z)``.

MetricLike: TypeAlias = Any
"""None, "variance", a vector of weights that are not negative, or a positive semidefinite matrix."""


def metric_root(metric: MetricLike) -> Float | Literal["variance"] | None:
    """Return the root of a metric: of each weight, or the symmetric root of a matrix.

    Examples
    --------
    >>> metric_root([4.0, 0.0])
    array([2., 0.])
    """
    if metric is None:
        return None
    if isinstance(metric, str) and metric == "variance":
        return "variance"
    try:
        S = np.asarray(metric, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"metric must be 'variance', a vector or a matrix of numbers: {error}") from None
    if S.ndim not in (1, 2) or not np.isfinite(S).all() or (S.ndim == 1 and np.any(S < 0)):
        raise InvalidInputError(
            "metric must be 'variance', a vector of finite weights that are not negative, or a positive semidefinite "
            "matrix"
        )
    if S.ndim == 1:
        return np.sqrt(S)
    check_symmetric(S)
    values, vectors = np.linalg.eigh((S + S.T) / 2.0)
    if values.min(initial=0.0) < -1e-10 * values.max(initial=0.0):
        raise InvalidInputError(f"metric is not positive semidefinite: it has the eigenvalue {values.min():.3g}")
    root: Float = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def column_variances(X: Matrix) -> Float:
    """Return the variance of each column, without labels; zero for a column whose values differ by rounding only.

    O(m n) time, or O(nnz). Shapes: X (m, n); returns (n,).
    """
    m = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            n, values = X.shape[1], X.data.astype(np.float64)
            column = X.indices if X.format == "csr" else np.repeat(np.arange(n), np.diff(X.indptr))
            means = np.bincount(column, weights=values, minlength=n) / m
            squares = np.bincount(column, weights=(values - means[column]) ** 2, minlength=n)
            variances = (squares + (m - np.bincount(column, minlength=n)) * means**2) / m
        else:
            means, variances = np.mean(X, axis=0, dtype=np.float64), np.zeros(X.shape[1])
            for rows in row_slices(X):
                variances += ((X[rows] - means) ** 2).sum(axis=0) / m
    if not np.isfinite(variances).all():
        raise InvalidInputError(
            f"X has values as large as {largest_value(X):.3g}: the variance of a column overflows (limit 1.8e+308). "
            "Divide X by a constant, or scale its columns"
        )
    epsilon = float(np.finfo(np.float64).eps)
    return np.where(variances <= (m * epsilon * means) ** 2 + m * epsilon * variances, 0.0, variances)


# Semidefinite ---------------------------------------------------------------------------------------------------------
#
# Positive semidefinite kernels: which are so by construction, and a check of those that may not be.

ADVICE = "a kernel must be positive semidefinite. If it was rounded on its way here, add a small number to its diagonal"

COMPUTED_DIGITS = 1e-10
"""How much of its largest value a kernel that was computed may miss: distances far from the origin lose digits."""

SAMPLE = 200
"""On so many items, beside a basis, a kernel is checked."""


def check_precomputed(K: Matrix) -> None:
    """Raise an error for a precomputed training kernel that is not square, symmetric and positive semidefinite.

    Semidefinite means: adding 10 m ε times the largest entry to the diagonal, which is what rounding may take away,
    lets a Cholesky factorisation run through. O(m³/3) time, one m × m copy.

    Shapes: K (m, m).
    """
    check_symmetric(K)
    A = np.array(K.toarray() if is_sparse(K) else K, dtype=np.float64)
    epsilon = float(np.finfo(np.float32 if K.dtype == np.float32 else np.float64).eps)
    negative = negative_part(A, 10 * epsilon)
    if negative:
        raise InvalidInputError(
            f"the precomputed kernel is indefinite: its leading {negative} × {negative} part has a negative "
            f"eigenvalue; {ADVICE}"
        )


def repair_similarity(S: Any, method: Literal["clip", "shift"] = "clip") -> tuple[Float, tuple[str, ...]]:
    r"""Make a kernel of a square matrix of similarities: symmetric and positive semidefinite.

    A matrix that is both up to rounding stays as it is. O(m³) time, O(m²) memory.

    Parameters
    ----------
    S : array-like, shape (m, m)
        Similarities. Where S and its transpose differ, their mean is taken.
    method : {"clip", "shift"}, default="clip"
        Negative eigenvalues become 0, which is the nearest kernel, or the lowest is subtracted from all, which changes
        the similarity of each object to itself only.

    Returns
    -------
    K : ndarray, shape (m, m)
    notes : tuple of str
        What was changed, in words.

    Examples
    --------
    >>> from kernelrank.kernels import repair_similarity
    >>> K, notes = repair_similarity([[1.0, 1.2], [1.0, 1.0]], "shift")
    >>> K.round(3).tolist()
    [[1.1, 1.1], [1.1, 1.1]]
    >>> print(*notes, sep="\n")
    S is not symmetric: it and its transpose differ by up to 0.2; their mean is used
    1 of 2 eigenvalues is negative, down to -0.1 beside a largest of 2.1: 0.1 was added to the diagonal
    """
    if method not in ("clip", "shift"):
        raise InvalidInputError(f"method must be 'clip' or 'shift', got {method!r}")
    K = np.array(S, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all():
        raise InvalidInputError(f"expected a square matrix of finite similarities; got shape {K.shape}")
    notes = []
    gap, scale = float(np.abs(K - K.T).max(initial=0.0)), float(np.abs(K).max(initial=0.0))
    if gap > 1e-12 * scale:
        notes.append(f"S is not symmetric: it and its transpose differ by up to {gap:.3g}; their mean is used")
    K = K if gap == 0 else (K + K.T) / 2
    if not negative_part(K.copy(), 10 * float(np.finfo(np.float64).eps)):
        return K, tuple(notes)
    values, vectors = np.linalg.eigh(K)
    count = int(np.count_nonzero(values < -1e-12 * abs(values[-1])))
    told = f"{count} of {len(K)} eigenvalues {'is' if count == 1 else 'are'} negative, down to {values[0]:.3g}"
    told += f" beside a largest of {values[-1]:.3g}: "
    if method == "clip":
        K = (vectors * np.maximum(values, 0.0)) @ vectors.T
        notes.append(f"{told}{'it' if count == 1 else 'they'} became 0")
    else:
        K[np.diag_indices_from(K)] -= values[0]
        notes.append(f"{told}{-values[0]:.3g} was added to the diagonal")
    return (K + K.T) / 2, tuple(notes)


def check_symmetric(K: Matrix) -> None:
    """Raise an error for a precomputed kernel that is not square and symmetric; O(m²) time.

    Shapes: K (m, m).
    """
    if K.shape[0] != K.shape[1]:
        raise InvalidInputError(
            f"Precomputed matrix must be square at fit (kernel='precomputed'): X has shape {K.shape[0]} × {K.shape[1]}"
        )
    A = np.asarray(K.toarray() if is_sparse(K) else K, dtype=np.float64)
    epsilon = float(np.finfo(np.float32 if K.dtype == np.float32 else np.float64).eps)
    gap = max((float(np.abs(A[rows] - A[:, rows].T).max()) for rows in blocks(len(A), 8 * len(A))), default=0.0)
    if gap > 100 * epsilon * float(np.abs(A).max(initial=0.0)):
        raise InvalidInputError(f"the precomputed kernel is not symmetric: it differs from its transpose by {gap:.3g}")


def refuse_indefinite(kernel: Kernel, K: Float) -> None:
    """Raise an error for a kernel whose matrix over some items is clearly indefinite.

    Nothing is done for kernels that are positive semidefinite by construction, and for precomputed ones, which
    `check_precomputed` has seen whole. O(r³/3) time and a copy of K otherwise.

    Shapes: K (r, r).
    """
    if kernel.semidefinite or kernel.precomputed:
        return
    negative = negative_part(K.copy(), COMPUTED_DIGITS)
    if negative:
        raise InvalidInputError(
            f"the kernel {kernel.name} is indefinite, not positive semidefinite: its matrix over {negative} items has "
            f"a negative eigenvalue; {ADVICE}; otherwise use another kernel, such as 'rbf'"
        )


def refuse_indefinite_on(kernel: Kernel, X: Matrix) -> None:
    """Raise an error for a kernel that is indefinite on the items, or on 200 of them."""
    if kernel.semidefinite or kernel.precomputed:
        return
    size = min(SAMPLE, X.shape[0])
    refuse_indefinite(kernel, kernel.matrix(X[np.linspace(0, X.shape[0] - 1, size).astype(np.int64)]))


def negative_part(A: Float, digits: float) -> int:
    """Return the size of the leading part of A that has a negative eigenvalue; zero if there is none.

    Eigenvalues down to `digits` times the largest entry for each row count as zero. A is overwritten.
    """
    scale = float(np.abs(A).max(initial=0.0))
    A[np.diag_indices_from(A)] += digits * len(A) * max(scale, float(np.finfo(np.float64).tiny))
    _, failed_at = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
    return int(failed_at)
