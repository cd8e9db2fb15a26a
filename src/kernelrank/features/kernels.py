"""The full kernel: features known only through their inner products with every training item."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_factor, cho_solve, lapack, qr, qr_delete, solve_triangular, svd
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, GramSum, Index, Matrix, RandomStateLike, is_sparse, product, transpose_product
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.comparisons import Comparisons
from kernelrank.errors import EmptyBasisWarning, InvalidInputError
from kernelrank.features.map import ColumnFeatures, ExplicitFeatures, Features, duplicate_rows
from kernelrank.kernels import Kernel, refuse_indefinite, refuse_indefinite_on

KEPT_MATRIX_BYTES = 2**32
"""Up to this size, m = 23,000, conjugate gradients keep the kernel matrix."""


class FullKernel(Features):
    """The m × m kernel matrix over all training items.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix, shape (m, n), or (m, m) if precomputed

    Notes
    -----
    A direct solver asks for the matrix once and overwrites it; conjugate gradients keep one copy of up to 4 GiB, and
    beyond that compute its rows anew in each step.
    """

    n_columns = None

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        self.kernel = kernel
        self.X = self.items = X
        self.n_items = X.shape[0]
        self.semidefinite = kernel.semidefinite
        self.distances: dict[str, Float] | None = None
        """Those of all items, where maps of other values of gamma share them."""

    @cached_property
    def _kept(self) -> Float | None:
        """The kernel matrix, or None where it would be too large to keep."""
        if not self.kernel.precomputed and 8 * self.n_items**2 > KEPT_MATRIX_BYTES:
            return None
        if self.kernel.precomputed and not is_sparse(self.X) and self.X.dtype == np.float64:
            return np.asarray(self.X)
        return self.kernel.matrix(self.X)

    @cached_property
    def kept_items(self) -> Matrix | None:
        """The items that a model keeps: a copy, whatever becomes of X; None if the kernel is precomputed."""
        if self.kernel.precomputed:
            return None
        return self.X.copy() if is_sparse(self.X) else np.array(self.X)

    @property
    def recomputable(self) -> bool:
        """Whether the kernel is not precomputed."""
        return not self.kernel.precomputed

    def on_few_items(self, size: int, random_state: np.random.RandomState) -> ReducedSet:
        """Map the items by any few of them."""
        return ReducedSet(self.kernel, self.X, uniformly(min(size, self.n_items), self.n_items, random_state))

    def block(self, rows: Index, columns: Index) -> Float:
        """Return the kernel between some items and others."""
        if self.kernel.precomputed:
            return self.kernel.matrix(self.X[rows][:, columns])
        if self.distances and self.kernel.name in self.distances:
            return self.kernel.of_distances(self.distances[self.kernel.name][np.ix_(rows, columns)])
        return self.kernel.matrix(self.X[rows], self.X[columns])

    def diagonal(self) -> Float:
        """Return k(x, x) of every item."""
        return self.kernel.diagonal(self.X)

    def energy(self) -> float:
        """Return the sum of k(x, x)."""
        return float(np.abs(self.diagonal()).sum())

    def centred_kernel(self, comparisons: Comparisons) -> Float:
        """Return ``C K Cᵀ``."""
        K = self.kernel.matrix(self.X, distances=self.distances)
        self.kernel_scale = float(np.abs(np.diagonal(K)).max())
        return comparisons.centre_kernel(K)

    def uncentred_diagonal(self, comparisons: Comparisons) -> Float:
        """Return the largest k(x, x) times the squared lengths of the rows of C."""
        return np.asarray(self.kernel_scale * comparisons.root_squares())

    def kernel_multiply(self, V: Float) -> Float:
        """Return ``K V``; rows that are too many to be kept are computed in blocks and forgotten."""
        if self._kept is None:
            return kernel_scores(self.kernel, self.X, self.X, V)
        return self._kept @ V

    def from_dual(self, a: Float) -> Float:
        """Return the coefficients of the items, which a holds already."""
        return a

    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return ``k(X, X_train) a``."""
        return kernel_scores(self.kernel, X, self.X, coefficients)

    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:  # noqa: ARG002
        """Take the items apart, or the rows and columns of a precomputed kernel."""
        if self.kernel.precomputed:
            return FullKernel(self.kernel, self.X[kept][:, kept]), self.X[held][:, kept]
        return FullKernel(self.kernel, self.X[kept]), self.X[held]


# Weighted columns -----------------------------------------------------------------------------------------------------
#
# A linear kernel with a metric: Φ is ``X S^½``, and a model keeps ``S^½ w``, the weights of the columns of X.


class WeightedColumns(ExplicitFeatures):
    """The columns of X, weighted by the metric of a linear kernel."""

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong with X is found where its sums are checked
            super().__init__(kernel.mapped(X))
        self.kernel, self.items = kernel, X

    def part(self, items: Index) -> ColumnFeatures:
        """Take some rows of X."""
        return WeightedColumns(self.kernel, self.items[items])

    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:  # noqa: ARG002
        """Take the rows of X apart."""
        return WeightedColumns(self.kernel, self.items[kept]), self.items[held]

    def from_primal(self, w: Float) -> Float:
        """Return the weights of the columns of X."""
        return self.kernel.column_weights(w)

    def from_dual(self, a: Float) -> Float:
        """Return the weights of the columns of X."""
        return self.from_primal(self.transpose_multiply(a))


# Reduced set ----------------------------------------------------------------------------------------------------------
#
# The reduced set: predictions are combinations of kernels with a few basis items.
#
# Minimising over ``f = K_MR b`` with the norm ``bᵀ K_RR b`` is the primal problem on the empirical kernel map ``Φ =
# K_MR U⁻¹`` with ``Uᵀ U = K_RR``; then ``b = U⁻¹ w``. While Φ is small it is kept, once somebody asks for it; beyond
# that its rows are computed in blocks as they are needed, so that memory is r² and a block, whatever the number of
# items. A single fit needs no Φ where ``K_RR`` is well conditioned: its equations are those of ``K_MR``, mapped.

KEPT_FEATURE_BYTES = 2**28
"""Up to this size the features are kept; beyond, they are computed whenever they are needed."""

WELL_CONDITIONED = 5e5
"""Up to this condition number of the kernel of the basis, one tries to map the equations instead of the rows."""


KEPT_KERNEL_BYTES = 2**32
"""Up to this size an iterative solver keeps the kernels of the items with the basis."""


class ReducedSet(ExplicitFeatures):
    """The empirical kernel map of a basis.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix, shape (m, n), or (m, m) if precomputed
    basis : ndarray of int, shape (r,)
        The items that form the basis.

    Notes
    -----
    O(m r n + m r² + r³) time; memory r² and a block, and m × r numbers more while that is below 256 MiB.
    """

    linear = False
    basis: Index

    def __init__(self, kernel: Kernel, X: Matrix, basis: Index) -> None:
        items = X[basis]
        if len(basis) < X.shape[0]:
            refuse_indefinite_on(kernel, X)
        kernel_map = KernelMap.of_items(kernel, items[:, basis] if kernel.precomputed else items)
        self._make(kernel_map, X, items, basis)

    @classmethod
    def elsewhere(cls, kernel: Kernel, X: Matrix, basis_items: Matrix) -> ReducedSet:
        """Map items by basis items that are not among them."""
        features = cls.__new__(cls)
        features._make(KernelMap.of_items(kernel, basis_items), X, basis_items, np.zeros(0, dtype=np.int64))
        return features

    def _make(self, kernel_map: KernelMap, X: Matrix, basis_items: Matrix, basis: Index) -> None:
        self.kernel = kernel_map.kernel
        self.basis = basis
        self.basis_items = basis_items
        self.map = kernel_map
        taken = kernel_map.taken
        items = (X[:, basis[taken]], None) if self.kernel.precomputed else (X, basis_items[taken])
        self._rows = KernelRows(kernel_map, *items)
        self._kernels: KernelRows | Float = KernelRows(kernel_map, *items, plain=True)
        self.n_items, self.n_columns = self._rows.shape
        self._stored = 8 * self.n_items * self.n_columns <= KEPT_FEATURE_BYTES
        self.items = X

    @cached_property
    def X(self) -> Matrix:  # type: ignore[override]  # noqa: N802
        """Φ (m × r) where it is kept, from the first time that it is asked for; else what computes its rows."""
        rows: Any = self._rows
        return rows[:] if self._stored else rows

    @property
    def stored(self) -> bool:
        """Whether the features are kept."""
        return self._stored

    def kept(self) -> Self:
        """Keep the features whatever their size, for a solver that multiplies with them many times."""
        if not self._stored:
            self._stored = True
            self.__dict__.pop("X", None)
        return self

    @property
    def kept_items(self) -> Matrix | None:
        """The basis items; None if the kernel is precomputed."""
        return None if self.kernel.precomputed else self.basis_items

    @property
    def recomputable(self) -> bool:
        """True: the few items are drawn from the basis, whose kernels are known."""
        return True

    def on_few_items(self, size: int, random_state: np.random.RandomState) -> ReducedSet:
        """Map the items by a part of the basis; kernels with all of it are kept as far as there is room."""
        self._keep_kernels()
        return self.smaller(uniformly(min(size, self.map.rank), self.map.rank, random_state))

    def _keep_kernels(self) -> None:
        """Keep the kernels with the basis while they take up to 4 GiB, where the features are not kept themselves."""
        small = 8 * self.n_items * self.n_columns <= KEPT_KERNEL_BYTES
        if small and not self._stored and isinstance(self._kernels, KernelRows):
            self._kernels = self._kernels[:]

    def smaller(self, columns: Index) -> ReducedSet:
        """Map the same items by the part of the basis that belongs to s columns. O(r s²) time."""
        U = self.map.U[:, columns]
        taken = self.map.taken[columns]
        features = type(self).__new__(type(self))
        basis = self.basis[taken] if len(self.basis) else self.basis
        basis_items = self.basis_items[taken]
        features._make(KernelMap.of(self.kernel, U.T @ U), self.items, basis_items, basis)
        return features

    def energy(self) -> float:
        """Return the sum of the squared features; where they are not known, of k(x, x), which is no smaller."""
        if self._stored and (self.kernel.precomputed or "X" in self.__dict__):
            return super().energy()
        return float(self.kernel.diagonal(self.items).sum())

    def multiply(self, W: Float) -> Float:
        """Return ``Φ W``; if Φ is not kept, as ``K_MR (U⁻¹ W)``, because mapping every row would cost O(m r²)."""
        if self._stored:
            return super().multiply(W)
        return product(self._kernels, solve_triangular(self.map.U, W, check_finite=False))

    def transpose_multiply(self, V: Float) -> Float:
        """Return ``Φᵀ V``, or ``U⁻ᵀ (K_RM V)`` where Φ is not kept."""
        if self._stored:
            return super().transpose_multiply(V)
        inner = transpose_product(self._kernels, V)
        solved: Float = solve_triangular(self.map.U, inner, trans="T", check_finite=False)
        return solved

    def part(self, items: Index) -> ReducedSet:
        """Map some of the items by the same basis, whose items need not be among them."""
        part = copy(self)
        part.n_items, part.items = len(items), self.items[items]
        part._rows, part._kernels = self._rows.part(items), _rows_of(self._kernels, items)
        if "X" in self.__dict__:
            part.X = _rows_of(self.X, items)
        return part

    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:
        """Map the kept items by the basis items among them, or by all."""
        X = self.items
        if keep_basis:
            return self.part(kept), X[held]
        number = np.full(X.shape[0], -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        basis = number[self.basis]
        items, rows = (X[kept][:, kept], X[held][:, kept]) if self.kernel.precomputed else (X[kept], X[held])
        return ReducedSet(self.kernel, items, basis[basis >= 0]), rows

    def normal_equations(self, comparisons: Comparisons) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N``; from the kernels themselves where the basis is well conditioned."""
        known = self._stored and "X" in self.__dict__
        if known or self.kernel.linear or self.map.condition > WELL_CONDITIONED:
            return super().normal_equations(comparisons)
        # Kernels are as large as the squares of features, so that their squares may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            equations = self.map.transform_equations(*comparisons.normal_equations(self._kernels))
            accurate = self.map.keeps_digits(equations[0])
        return equations if accurate else super().normal_equations(comparisons)

    def coefficient_sums(self, comparisons: Comparisons, w: Float) -> Float:
        """Return a bound of the sums that scores are computed by, relative to the root of L."""
        return np.asarray(np.sqrt(comparisons.diagonal().sum()) * self.map.sums(w))

    def from_primal(self, w: Float) -> Float:
        """Return ``b = U⁻¹ w``, the coefficients of the basis items."""
        return self.map.coefficients(w)

    def from_dual(self, a: Float) -> Float:
        """Return ``U⁻¹ Φᵀ a``."""
        return self.map.coefficients(self.transpose_multiply(a))

    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return ``k(X, X_R) b``."""
        rows = X[:, self.basis] if self.kernel.precomputed else X
        return kernel_scores(self.kernel, rows, self.basis_items, coefficients)


def _rows_of(rows: KernelRows | Matrix, items: Index) -> Any:
    """Return the rows of some items, still computed on demand if they were."""
    return rows.part(items) if isinstance(rows, KernelRows) else rows[items]


# Basis ----------------------------------------------------------------------------------------------------------------
#
# Basis selection: which items a reduced set is made of.

Selection: TypeAlias = Literal["uniform", "per_query", "k_means", "leverage"]
SELECTIONS: tuple[Selection, ...] = ("uniform", "per_query", "k_means", "leverage")


BASIS_KEY = (0xBA515,)
"""What distinguishes the random numbers of a basis from all others that have the same seed."""


def basis_stream(random_state: RandomStateLike) -> np.random.RandomState:
    """Return the random numbers that a basis is drawn from.

    Shuffled folds with the same seed would be drawn from the same permutation of the items, so that a fold could be
    the basis itself. A seed always has the same stream; a RandomState gives another one at each call.
    """
    if isinstance(random_state, Integral):
        seed = int(random_state)
        check_random_state(seed)  # in the words of scikit-learn
    else:
        seed = int(check_random_state(random_state).randint(2**31 - 1))
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed, spawn_key=BASIS_KEY)))


def uniformly(size: int, n_items: int, random_state: np.random.RandomState) -> Index:
    """Draw items without repetition, every item as likely as any other."""
    _check_size(size, n_items)
    return np.sort(random_state.permutation(n_items)[:size]).astype(np.int64)


def by_query(size: int, queries: Queries, random_state: np.random.RandomState) -> Index:
    """Draw the same number of items from every query, as far as it has so many.

    The queries take turns, in random order; each gives one of its items that is not drawn yet. O(m log m).
    """
    _check_size(size, queries.n_items)
    shuffled = random_state.permutation(queries.n_items)
    turn_of_query = random_state.permutation(len(queries))
    by_code = shuffled[np.argsort(queries.codes[shuffled], kind="stable")]
    round_number = np.arange(queries.n_items) - np.repeat(queries.bounds[:-1], queries.sizes)
    turns = np.lexsort((turn_of_query[queries.codes[by_code]], round_number))
    return np.sort(by_code[turns[:size]]).astype(np.int64)


def by_leverage(
    size: int, kernel: Kernel, X: Matrix, random_state: np.random.RandomState, alpha: float | None = None
) -> Index:
    """Draw items with probability proportional to their approximate ridge leverage score.

    A pilot S of twice the size is drawn uniformly; the leverage of item i at the regularisation alpha is close to
    ``(k_ii - k_iS (K_SS + alpha I)⁻¹ k_Si) / alpha`` plus nothing for what the pilot explains. O(m size (n + size)).

    Shapes: X (m, n).
    """
    m = X.shape[0]
    _check_size(size, m)
    pilot = uniformly(min(2 * size, m), m, random_state)
    items = X[pilot]
    K = kernel.matrix(items)
    level = float(np.trace(K)) / len(pilot) ** 2 if alpha is None else alpha
    K[np.diag_indices_from(K)] += level
    factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    leverage = np.empty(m)
    for start in range(0, m, 4096):
        rows = slice(start, min(start + 4096, m))
        cross = kernel.matrix(X[rows], items)
        explained = np.einsum("ij,ij->i", cross, cho_solve(factor, cross.T, check_finite=False).T)
        leverage[rows] = (kernel.diagonal(X[rows]) - explained) / level
    leverage = np.maximum(leverage, np.finfo(np.float64).tiny)
    # Drawing without repetition in proportion to weights: the largest of log(u) / weight.
    keys = np.log(random_state.random_sample(m)) / leverage
    return np.sort(np.argpartition(-keys, size - 1)[:size]).astype(np.int64)


def by_means(size: int, X: Matrix, random_state: np.random.RandomState) -> Float:
    """Return the centres of k-means: basis items that need not be among the data. O(m size n) for each iteration."""
    from sklearn.cluster import KMeans  # takes a third of a second, and few ask for it

    _check_size(size, X.shape[0])
    centres: Float = KMeans(size, n_init=1, max_iter=20, random_state=random_state).fit(X).cluster_centers_
    return np.asarray(centres, dtype=np.float64)


def _check_size(size: int, n_items: int) -> None:
    if not 1 <= size <= n_items:
        raise InvalidInputError(f"expected basis between 1 and {n_items}, the number of items; got {size}")


def choose_basis(basis: int | Index, n_items: int, random_state: np.random.RandomState) -> Index:
    """Return the items of a basis: a number of them drawn uniformly without repetition, or those given."""
    if isinstance(basis, (int, np.integer)):
        return uniformly(int(basis), n_items, random_state)
    chosen = np.asarray(basis)
    if chosen.ndim != 1 or len(chosen) == 0 or chosen.dtype.kind not in "iu":
        raise InvalidInputError("basis must be an integer or a non-empty list of item numbers")
    if chosen.min() < 0 or chosen.max() >= n_items:
        wrong = chosen[(chosen < 0) | (chosen >= n_items)][0]
        raise InvalidInputError(f"basis has the item {wrong}, but the items go from 0 to {n_items - 1}")
    if len(np.unique(chosen)) != len(chosen):
        raise InvalidInputError("basis names an item twice")
    return chosen.astype(np.int64)


def lose_the_basis(sets: ItemSets, basis: Index) -> NDArray[np.bool_]:
    """Return which sets hold out every basis item, so that the model without them is zero; warn if there are any."""
    empty = np.add.reduceat(np.isin(sets.items, basis), sets.bounds[:-1], dtype=np.int64) == len(basis)
    if empty.any():
        warnings.warn(
            f"{np.count_nonzero(empty):,} of {len(sets):,} held-out sets include all {len(basis):,} basis items: the "
            "model without them is zero, and so are its scores. Use a larger basis, another random_state, or smaller "
            "sets.",
            EmptyBasisWarning,
            stacklevel=2,
        )
    return np.asarray(empty, dtype=np.bool_)


# Kernel map -----------------------------------------------------------------------------------------------------------
#
# The empirical kernel map of a basis, ``φ(x) = U⁻ᵀ k(R, x)`` with ``Uᵀ U = K_RR`` [Air11]_ (Paper III).
#
# A pivoted Cholesky factorisation of ``K_RR`` takes the basis items one by one, always the one that those taken before
# explain least, and stops when rounding is all that is left. The items taken, as many as the numerical rank, span what
# the whole basis spans; the others get no column and no coefficient.
#
# Without some items H of those taken, the basis spans less: what is orthogonal to the rows H of ``U⁻¹`` as directions
# of the features. The items that were not taken may make up for it, a duplicate above all. Item d is ``U c_d`` in the
# features, with ``c = K_TT⁻¹ K_Td`` its coefficients on those taken; so its part in the directions that would be lost,
# ``Q R`` being these rows turned orthonormal, is ``R⁻ᵀ c_H``. A singular value decomposition of these parts tells which
# directions the items that stay still span.

SCORE_BYTES = 2**26
"""The size of a block of kernel rows when scores are predicted."""

MOST_LOST = 2e7
"""Up to this product of two condition numbers, what both of them multiply keeps eight digits."""

UNSURE = 1e4
"""Squared lengths within this factor of what counts as zero may be rounding, or not."""


@dataclass(frozen=True)
class KernelMap:
    """Turns items into features whose inner products are the Nyström approximation of the kernel.

    O(r³/3) time to build; O(t r n + t r²) for the features of t items.

    Shapes: taken (rank,), U (rank, rank), left (size - rank,), across (rank, size - rank).
    """

    kernel: Kernel
    size: int
    taken: Index
    U: Float
    left: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    across: Float = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, kernel: Kernel, K: Float) -> KernelMap:
        """Factorise the kernel of a basis in place (K is overwritten); raise an error if it is indefinite."""
        refuse_indefinite(kernel, K)
        # The transpose of a symmetric matrix is the same one, in the order that LAPACK overwrites. A negative tolerance
        # is its default: r ε times the largest diagonal entry.
        U, pivot, rank, _ = lapack.dpstrf(K.T, tol=-1.0, lower=0, overwrite_a=1)
        if rank == 0:
            raise InvalidInputError(
                "the kernel matrix of the basis is zero: every basis item is a zero vector. Choose other basis items"
            )
        for column in range(rank):
            U[column + 1 :, column] = 0.0
        return cls._of_factor(kernel, U, pivot.astype(np.int64) - 1, rank)

    @classmethod
    def of_items(cls, kernel: Kernel, items: Matrix) -> KernelMap:
        """Factorise the kernel of basis items; a linear one without its matrix, whose entries are rounded squares."""
        wide = items.shape[1] > 1000  # the matrix costs less
        if not kernel.linear or is_sparse(items) or wide:
            return cls.of(kernel, kernel.matrix(items))
        columns = np.asarray(kernel.mapped(items), dtype=np.float64).T
        if not columns.any():
            return cls.of(kernel, kernel.matrix(items))
        U, order = qr(columns, mode="r", pivoting=True, check_finite=False)
        pivots = np.diagonal(U)
        rank = int(np.count_nonzero((pivots / pivots[0]) ** 2 > len(order) * float(np.finfo(np.float64).eps)))
        U = np.where(pivots < 0.0, -1.0, 1.0)[:rank, None] * U[:rank]
        return cls._of_factor(kernel, U, order.astype(np.int64), rank)

    @classmethod
    def _of_factor(cls, kernel: Kernel, U: Float, order: Index, rank: int) -> KernelMap:
        """Take the factor of a kernel in the order of its pivots, of which `rank` are more than rounding."""
        factor = U if rank == len(order) else np.asfortranarray(U[:rank, :rank])
        return cls(kernel, len(order), order[:rank], factor, order[rank:], np.asfortranarray(U[:rank, rank:]))

    @property
    def rank(self) -> int:
        """The numerical rank of the kernel of the basis, and the number of features."""
        return len(self.taken)

    def features(self, K_MR: Float) -> Float:
        """Return ``K_MR U⁻¹`` for kernels with the items taken (t × rank), in place where K_MR allows it."""
        solved: Float = blas.dtrsm(1.0, self.U, np.asarray(K_MR, order="C").T, trans_a=1, overwrite_b=1)
        return solved.T

    @cached_property
    def condition(self) -> float:
        """An estimate of the condition number of the kernel of the items taken, O(r²)."""
        reciprocal, _ = lapack.dtrcon(self.U)
        return float(reciprocal) ** -2 if reciprocal > 0 else np.inf

    def transform_equations(self, gram: Float, right: Float) -> tuple[Float, Float]:
        """Turn ``K_RM L K_MR``, in its place, and ``K_RM M N`` into those of the features, ``U⁻ᵀ · U⁻¹`` and ``U⁻ᵀ ·``.

        O(r³) time. This saves O(m r²) beside making the features first; `keeps_digits` tells what it loses.
        """
        upper, _ = lapack.dsygst(gram.T, self.U, itype=1, lower=0, overwrite_a=1)
        return GramSum.onto(upper.T).matrix(), solve_triangular(self.U, right, trans="T", check_finite=False)

    def keeps_digits(self, gram: Float) -> bool:
        """Whether transformed equations, ``Φᵀ L Φ``, have solutions with eight digits, whatever alpha is.

        The map multiplies the rounding of the kernels by the condition number of their basis, and a solution that by
        the condition number of ``Φᵀ L Φ``, its diagonal scaled to one. Both are estimated in the 1-norm, which is
        larger than the spectral one by about √r each. O(r³/3) time.
        """
        diagonal = np.diagonal(gram)
        if not np.all(diagonal > 0.0):
            return False
        shrunk = 1.0 / np.sqrt(diagonal)
        scaled = gram * shrunk
        scaled *= shrunk[:, None]
        norm = float(lapack.dlange("1", scaled.T))
        factor, failed_at = lapack.dpotrf(scaled.T, clean=0, overwrite_a=1)
        reciprocal = lapack.dpocon(factor, norm)[0] if failed_at == 0 else 0.0
        return bool(self.condition <= MOST_LOST * self.rank * reciprocal)

    @cached_property
    def dependence(self) -> Float:
        """The coefficients of the items that were not taken on those that were, shape (rank, size - rank)."""
        solved: Float = solve_triangular(self.U, self.across, check_finite=False)
        return solved

    def lost_directions(self, columns: Index, gone: Index, rows: Float) -> Float | None:
        """Return directions that the basis no longer spans without some of its items.

        No time where the basis has full rank; else O(r h²) for a basis of r.

        Shapes: columns (h,), rows (h, rank); returns (at most h, rank).
        """
        if len(self.left) == len(gone) or len(columns) == 0:
            return rows
        staying = np.delete(self.dependence[columns], gone, axis=1)
        Q, R = qr(rows.T, mode="economic", check_finite=False)
        reach = solve_triangular(R, staying, trans="T", check_finite=False)
        turns, sizes, _ = svd(reach, check_finite=False)
        lengths = np.zeros(len(columns))
        lengths[: len(sizes)] = sizes**2
        # What the factorisation itself takes for zero; the first pivot is the largest diagonal entry.
        tolerance = self.size * float(np.finfo(np.float64).eps) * self.U[0, 0] ** 2
        if np.any((lengths > tolerance / UNSURE) & (lengths < tolerance * UNSURE)):
            return None
        found: Float = turns[:, lengths <= tolerance].T @ Q.T
        return found

    def without(self, places: Index) -> Callable[[Float], Float] | None:
        """Return the matrix that turns features Φ into those of the basis without some of its items.

        This is Paper III's update of the map itself [Air11]_, for losses that have no closed form. A model without
        these basis items is one whose weights are orthogonal to what the basis no longer spans (`lost_directions`).
        Householder reflections turn that into the first axes; the other columns of the turned Φ are features whose
        inner products are the Nyström kernel of the items left.

        O(r h²) time for h items, and O(t r h) for the features of t items, where a new map would cost O(t r²).
        """
        columns = np.flatnonzero(np.isin(self.taken, places))
        gone = np.flatnonzero(np.isin(self.left, places))
        units = np.zeros((self.rank, len(columns)))
        units[columns, np.arange(len(columns))] = 1.0
        rows = solve_triangular(self.U, units, trans="T", check_finite=False).T
        directions = self.lost_directions(columns, gone, rows)
        if directions is None:
            return None
        if len(directions) == 0:
            return lambda Phi: Phi
        reflectors, scales, _, _ = lapack.dgeqrf(directions.T)

        def turn(Phi: Float) -> Float:
            turned, _, _ = lapack.dormqr("R", "N", reflectors, scales, Phi, lwork=64 * max(1, len(Phi)))
            left: Float = turned[:, len(directions) :]
            return left

        return turn

    def of_part(self, kept: Index, basis_items: Matrix) -> KernelMap:
        """Return the map of some places of the basis, whose items are all given; kept ascends.

        Where the basis has full rank, U without the other columns is turned into a triangle by Givens rotations, O(r²)
        for each item that goes; else the kernel of the items that stay is factorised, O(r³/3).
        """
        stays = np.isin(self.taken, kept)
        if self.rank < self.size:
            return KernelMap.of_items(self.kernel, basis_items[kept])
        U, Q = self.U, np.eye(self.rank)
        for column in np.flatnonzero(~stays)[::-1]:
            Q, U = qr_delete(Q, U, column, which="col", check_finite=False)
        U = U[: len(kept)]
        signs = np.where(np.diagonal(U) < 0.0, -1.0, 1.0)
        factor = np.asfortranarray(signs[:, None] * U)
        return KernelMap(self.kernel, len(kept), np.searchsorted(kept, self.taken[stays]), factor)

    def coefficients(self, w: Float) -> Float:
        """Return the coefficients of the basis items, ``U⁻¹ w`` for those taken and zero for the others."""
        b = np.zeros((self.size, w.shape[1]))
        b[self.taken] = solve_triangular(self.U, w, check_finite=False)
        return b

    def sums(self, w: Float) -> Float:
        """Return for each output how large the coefficients are together, times the largest k(x, x)."""
        # The first pivot is the largest diagonal entry.
        return np.asarray(self.U[0, 0] ** 2 * np.linalg.norm(self.coefficients(w), axis=0))


class KernelRows:
    """The features of many items, computed on demand and never stored.

    Shapes: X (m, n), basis_items (rank, n).
    """

    dtype = np.dtype(np.float64)

    def __init__(self, kernel_map: KernelMap, X: Matrix, basis_items: Matrix | None, *, plain: bool = False) -> None:
        self.map = kernel_map
        self.X = X
        self.basis_items = basis_items
        self.plain = plain
        self.shape = (X.shape[0], kernel_map.rank)

    def part(self, items: Index) -> KernelRows:
        """Return the features of some of the items, still to be computed."""
        return KernelRows(self.map, self.X[items], self.basis_items, plain=self.plain)

    @cached_property
    def _columns(self) -> Float:
        """The features of a linear kernel as combinations of the columns of X, ``X_Rᵀ U⁻¹`` (n × rank).

        Products with it are rounded beside the length of an item, kernels beside its square.
        """
        assert self.basis_items is not None
        kernel = self.map.kernel
        inverse = solve_triangular(self.map.U, np.eye(self.map.rank), check_finite=False)
        return transpose_product(kernel.mapped(self.basis_items), inverse)

    def __getitem__(self, rows: slice | Index) -> Float:
        """Return the features, or the kernels, of some items."""
        if self.map.kernel.linear and not self.plain:
            return product(self.map.kernel.mapped(self.X[rows]), self._columns)
        K = self.map.kernel.matrix(self.X[rows], self.basis_items, n_rows=self.shape[0])
        return K if self.plain else self.map.features(K)


def kernel_scores(kernel: Kernel, X: Matrix, basis: Matrix, coefficients: Float) -> Float:
    """Return ``k(X, basis) coefficients``, rows of the kernel computed in blocks; items with the same row are tied.

    O(t r n) time for a named kernel; memory one block of at most 64 MiB, never t × r.

    Shapes: X (t, n), or (t, r), basis (r, n), coefficients (r, outputs); returns (t, outputs).
    """
    if kernel.precomputed:
        return product(X, coefficients)
    if kernel.linear:  # rounded beside the length of an item, not beside its square
        return product(kernel.mapped(X), transpose_product(kernel.mapped(basis), coefficients))
    scores = np.empty((X.shape[0], coefficients.shape[1]))
    step = max(1, SCORE_BYTES // (8 * len(coefficients)))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        scores[rows] = kernel.matrix(X[rows], basis, n_rows=len(scores)) @ coefficients
    # Where in a product a row stands decides its last digit, and that must not order items that are the same.
    duplicate_of = duplicate_rows(X)
    alike = duplicate_of >= 0
    scores[alike] = scores[duplicate_of[alike]]
    return scores
