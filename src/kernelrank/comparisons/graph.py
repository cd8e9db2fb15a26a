"""The interface of a comparison graph, which tells a solver which items are compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

from kernelrank.base.arrays import (
    Float,
    GramSum,
    Index,
    Matrix,
    Sparse,
    as_columns,
    blocks,
    dense_rows,
    is_sparse,
    largest_value,
    transpose_product,
)
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries

NamedValues: TypeAlias = tuple[str, Float]
"""What the user calls some values, and the values."""

COLUMNS = 32
"""How many columns of features are multiplied by L at once."""


class Comparisons(ABC):
    """A weighted graph over m items, known by its Laplacian ``L = M Mᵀ`` and its right-hand side ``M N``.

    The problem that it poses is: minimise ``‖N - Mᵀ f‖² + alpha ‖f‖²`` over the scores f.
    Neither the incidence matrix M nor the m × m Laplacian is ever built here.

    A root of the Laplacian is a matrix C (k × m) with ``CᵀC = L``. It makes the dual problem symmetric:
    ``a = Cᵀ(C K Cᵀ + alpha I)⁻¹ T`` where ``Cᵀ T = M N``.
    """

    n_items: int
    """The number of items, m."""

    n_pairs: int
    """The number of comparisons, l."""

    queries: Queries | None = None
    """Which items belong together: items are compared inside a query only, and a constant added to the scores of a
    query changes nothing. None for a graph that knows no queries."""

    n_queries: int = 1
    """The number of queries."""

    n_idle_queries: int = 0
    """The number of queries without any comparison: one item, all ties, or nothing scored."""

    cheap_root: bool = True
    """Whether `centre` costs O(m) a column; otherwise the first call factorises L."""

    shows_infinite: bool = False
    """Whether one NaN or infinity in dense features, in any row, makes the diagonal of ``Φᵀ L Φ`` NaN or infinite."""

    is_identity: bool = False
    """Whether ``L = I``, so that products with it and with its root can be left out."""

    @property
    def sparse_laplacian(self) -> bool:
        """Whether a product of L and an m × m matrix costs little relative to a factorisation of such a matrix."""
        return False

    @property
    def parts(self) -> Index:
        """The component of each item, shape (m,): items of different components are never compared."""
        return np.zeros(self.n_items, dtype=np.int64) if self.queries is None else self.queries.codes

    def listed_pairs(self) -> tuple[Index, Float] | None:
        """Return the pairs (l × 2, preferred item first) and their weights (l,) where each was observed by itself."""
        return None

    def pair_levels(self) -> PairLevels | None:
        """Return the pairs as levels of items, where a pairwise loss can sweep over them; None where it cannot."""
        return None

    def given(self) -> tuple[NamedValues, NamedValues]:
        """Return the magnitudes and weights that the user passed, by argument name, for error messages."""
        return ("y", self.target()), ("sample_weight", self.diagonal())

    def largest_magnitude(self) -> float:
        """Return the largest absolute magnitude of a comparison, or of the target, which bounds it up to a degree."""
        return largest_value(self.target())

    def overflow(self) -> str | None:
        """Return an error message if the scores make weights of pairs overflow; None otherwise."""
        return None

    @abstractmethod
    def apply(self, V: Float) -> Float:
        """Multiply by the Laplacian, ``L V``, for V of shape (m,) or (m, k)."""

    @abstractmethod
    def target(self) -> Float:
        """Return the right-hand side ``M N``, shape (m, outputs)."""

    @abstractmethod
    def diagonal(self) -> Float:
        """Return the diagonal of L, shape (m,)."""

    def uncompared_items(self) -> NDArray[np.bool_]:
        """Return which items are compared with no other item."""
        return np.asarray(self.diagonal() == 0.0, dtype=np.bool_)

    @abstractmethod
    def centre(self, V: Float) -> Float:
        """Multiply by the root, ``C V``, for V of shape (m,) or (m, k)."""

    @abstractmethod
    def centre_transpose(self, V: Float) -> Float:
        """Multiply by the transposed root, ``Cᵀ V``."""

    def root_squares(self) -> Float:
        """Estimate the squared lengths of the rows of C, shape (k,), from products with random signs."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(self.n_items, 8))
        return np.asarray((self.centre(signs) ** 2).mean(axis=1))

    def root_gram(self, Phi: Sparse, weight: Float) -> Float:
        """Return ``Φᵀ Cᵀ diag(weight) C Φ`` for a sparse Φ with few columns, which is made dense here."""
        Z = self.centre(Phi.toarray())
        Z *= np.sqrt(weight)[:, None]
        gram = GramSum(Phi.shape[1])
        gram.add(Z)
        return gram.matrix()

    @abstractmethod
    def root_target(self) -> Float:
        """Return T with ``Cᵀ T = M N``, shape (k, outputs)."""

    @abstractmethod
    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ L Φ`` (n × n) in blocks; Φ (m × n), dense or sparse, is never copied whole."""

    def normal_equations(self, Phi: Matrix) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N``, in one pass over Φ where that is possible."""
        Phi = Phi if isinstance(Phi, np.ndarray) or is_sparse(Phi) else Phi[:]
        return self.gram(Phi), transpose_product(Phi, self.target())

    def shifted_features(self, Phi: Matrix) -> Matrix:
        """Return features equivalent to Φ under L that lose fewer digits, such as centred ones; here Φ itself."""
        return Phi

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return the diagonal of ``Φᵀ L Φ``, shape (n,); a few columns at a time are made dense and multiplied here."""
        diagonal = np.empty(Phi.shape[1])
        for start in range(0, Phi.shape[1], COLUMNS):
            part = Phi[:, start : start + COLUMNS]
            U = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
            diagonal[start : start + COLUMNS] = np.einsum("ij,ij->j", U, self.apply(U))
        return np.maximum(diagonal, 0.0)

    @abstractmethod
    def without(self, items: Index) -> Self:
        """Return the graph induced on the other items, with correspondingly smaller degrees."""

    def submatrix(self, items: Index) -> Float:
        """Return L restricted to sets of items: (..., u) item numbers give (..., u, u)."""
        block = np.empty((*items.shape, items.shape[-1]))
        for place in np.ndindex(items.shape[:-1]):
            units = np.zeros((self.n_items, items.shape[-1]))
            units[items[place], np.arange(items.shape[-1])] = 1.0
            block[place] = self.apply(units)[items[place]]
        return block

    def centre_kernel(self, K: Float) -> Float:
        """Return ``C K Cᵀ`` (k × k) for a symmetric K, which is overwritten where the root is square."""
        if not self.cheap_root:
            return self.centre(self.centre(K).T)
        for rows in blocks(len(K), 8 * len(K)):
            K[rows] = self.centre(np.ascontiguousarray(K[rows].T)).T
        for columns in blocks(len(K), 8 * len(K)):
            K[:, columns] = self.centre(np.ascontiguousarray(K[:, columns]))
        return K

    def _kept(self, items: Index) -> Index:
        """Return the items other than `items`, in ascending order."""
        mask = np.ones(self.n_items, dtype=bool)
        mask[items] = False
        return np.flatnonzero(mask).astype(np.int64)


# Pair levels ----------------------------------------------------------------------------------------------------------
#
# Pair levels: the pairs of a graph as levels of items, which a pairwise loss sweeps over without listing them.


@dataclass(frozen=True)
class PairLevels:
    """The pairs (h, l) of one query with ``level_h > level_l``, of weight ``c_q upper_h lower_l``.

    Shapes: levels (m,), n_levels (n_queries,), upper, lower (m,), pair_weights (n_queries,).
    """

    queries: Queries
    levels: Index
    n_levels: Index
    upper: Float
    lower: Float
    pair_weights: Float
    total: float

    @property
    def symmetric(self) -> bool:
        """Whether every item weighs the same on both sides."""
        return self.lower is self.upper or bool(np.array_equal(self.lower, self.upper))

    def placed(self, items: Index) -> PairLevels:
        """Return the same pairs where entry k of the arrays belongs to the item ``items[k]``."""
        place = np.empty_like(items)
        place[items] = np.arange(len(items))
        sides = self.upper[place], self.lower[place]
        return PairLevels(self.queries, self.levels[place], self.n_levels, *sides, self.pair_weights, self.total)


# Factorised -----------------------------------------------------------------------------------------------------------
#
# Graphs without a root in closed form: a triangular factor for each connected part.


@dataclass(frozen=True)
class _Factor:
    """``Uᵀ U = L`` over some items, U (rank × size): the rows of a triangular factor that are not zero."""

    items: Index
    U: Float
    pivots: NDArray[np.bool_]
    """The columns that the rows begin in."""

    @property
    def whole(self) -> bool:
        """Whether no row but the last is missing, so that ``U = R [I, -1]`` with R square and triangular."""
        return len(self.U) + 1 == len(self.pivots) and not self.pivots[-1]

    def multiply(self, V: Float) -> Float:
        """Return ``U V`` for V (size, k), which is overwritten; half a product where no row but the last is missing."""
        if not self.whole:
            return self.U @ V
        last = np.outer(self.U[:, -1], V[-1])
        product = blas.dtrmm(1.0, self.U[:, :-1].T, V[:-1].T, side=1, lower=1, overwrite_b=1)
        return np.asarray(product.T + last)

    @classmethod
    def of(cls, items: Index, W: Float) -> _Factor:
        """Factorise the Laplacian of some items from the weights of their pairs, which are overwritten."""
        U = laplacian_root(W)
        pivots = np.diagonal(U) > 0.0
        return cls(items, U[pivots], pivots)


class FactorisedComparisons(Comparisons):
    """A graph whose Laplacian is block diagonal with blocks that can be written out.

    The root is ``C = blockdiag(U) · permutation``. It is factorised at the first call of `centre`, in O(Σ size³ / 3)
    time over the blocks, and kept.
    """

    cheap_root = False

    @abstractmethod
    def _dense_blocks(self) -> Iterator[tuple[Index, Float]]:
        """Yield the items of each connected part, or of several, and the weights of their pairs in a fresh array."""

    @cached_property
    def _factors(self) -> list[_Factor]:
        return [_Factor.of(items, W) for items, W in self._dense_blocks()]

    def apply(self, V: Float) -> Float:
        """Return ``L V = Cᵀ(C V)``."""
        return self.centre_transpose(self.centre(V))

    def diagonal(self) -> Float:
        """Return the sums of the weights of each item's pairs."""
        degree = np.zeros(self.n_items)
        for items, W in self._dense_blocks():
            degree[items] += W.sum(axis=1)
        return degree

    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ L Φ`` block by block; rows of a sparse Φ are made dense one block at a time."""
        total = np.zeros((Phi.shape[1], Phi.shape[1]))
        degree = self.diagonal()
        for items, W in self._dense_blocks():
            rows = dense_rows(Phi, items)
            centred = rows - rows.mean(axis=0)
            total += centred.T @ (degree[items][:, None] * centred - W @ centred)
        return (total + total.T) / 2

    def centre(self, V: Float) -> Float:
        """Return ``C V``; block means are subtracted first, which changes nothing but rounding errors."""
        columns = as_columns(V)
        parts = [np.zeros((0, columns.shape[1]))]
        for factor in self._factors:
            rows = columns[factor.items]
            parts.append(factor.multiply(rows - rows.mean(axis=0)))
        return np.concatenate(parts).reshape((-1, *V.shape[1:]))

    def centre_transpose(self, V: Float) -> Float:
        """Return ``Cᵀ V``."""
        columns = as_columns(V)
        product = np.zeros((self.n_items, columns.shape[1]))
        start = 0
        for factor in self._factors:
            stop = start + len(factor.U)
            product[factor.items] = factor.U.T @ columns[start:stop]
            start = stop
        return product.reshape((self.n_items, *V.shape[1:]))

    def centre_kernel(self, K: Float) -> Float:
        """Return ``C K Cᵀ`` for a symmetric K: half a product if all items are connected, for ``C = R [I, -1]``."""
        if len(self._factors) != 1 or len(self._factors[0].items) != self.n_items or not self._factors[0].whole:
            return super().centre_kernel(K)
        factor = self._factors[0]
        own = K[np.ix_(factor.items, factor.items)]
        inner = own[:-1, :-1] - own[:-1, -1:]
        inner -= own[-1, :-1] - own[-1, -1]
        product, _ = lapack.dsygst(inner.T, factor.U[:, :-1], itype=2, lower=0, overwrite_a=1)
        upper = np.triu(product)
        return np.asarray(upper + np.triu(product, 1).T)

    def undo_centre(self, V: Float) -> Float | None:
        """Return F with ``C F = V``, zero at the last item of each connected part; None if a factor lacks rows."""
        found = np.zeros((self.n_items, V.shape[1]))
        start = 0
        for factor in self._factors:
            if not factor.whole:
                return None
            stop = start + len(factor.U)
            found[factor.items[:-1]] = solve_triangular(factor.U[:, :-1], V[start:stop], check_finite=False)
            start = stop
        return found

    def root_squares(self) -> Float:
        """Return the squared lengths of the rows of all factors."""
        return np.concatenate([np.zeros(0), *((factor.U**2).sum(axis=1) for factor in self._factors)])

    def root_target(self) -> Float:
        """Return T with ``Cᵀ T = M N`` by forward substitution with the square part of each factor."""
        target = self.target()
        parts = [np.zeros((0, target.shape[1]))]
        for factor in self._factors:
            leading = target[factor.items[factor.pivots]]
            parts.append(solve_triangular(factor.U[:, factor.pivots], leading, trans="T", check_finite=False))
        return np.concatenate(parts)


# Laplacian root -------------------------------------------------------------------------------------------------------
#
# The root of a Laplacian, by eliminating one item after the other without a subtraction.
#
# Eliminating item k from a graph with weights ``w_kj`` and degree ``d = Σ_j w_kj`` is a step of Cholesky's
# factorisation of its Laplacian: row k of U is ``√d`` at k and ``-w_kj / √d`` at the others, and what remains is the
# Laplacian of a graph again, in which the weight of every pair of neighbours of k has grown by ``w_ki w_kj / d``. So
# weights are only ever added up, and a degree is the sum of the weights that are left. Every entry of U is known to
# nearly all digits, as in the elimination of [GTH85]_ for Markov chains, while Cholesky's on the matrix itself knows
# the last pivots to ε times the largest degree: nothing, where two items weigh 10¹⁶ times what others do.
#
# .. [GTH85] Grassmann, Taksar and Heyman (1985). Regenerative analysis and steady state distributions for Markov
# chains. Operations Research 33(5).

PANEL = 64
"""So many items are eliminated before the weights of the others are touched, by a product of matrices."""


def laplacian_root(W: Float) -> Float:
    """Return the upper triangular U with ``Uᵀ U = diag(W 1) - W``.

    Shapes: W (n, n); returns (n, n).

    W: Symmetric weights of the pairs that are not negative, with a diagonal of zeros; what stands above the diagonal is
    overwritten.
    """
    n = len(W)
    U = np.zeros((n, n))
    for start in range(0, n, PANEL):
        panel = U[start : start + PANEL]
        _eliminate(W, panel, start)
        for first in range(start + PANEL, n, PANEL):
            rows = slice(first, first + PANEL)
            W[rows, first:] += panel[:, rows].T @ panel[:, first:]
    return U


@compiled
def _eliminate(W: Float, panel: Float, start: int) -> None:
    """Fill in some rows of U; W has the weights that the items before them left."""
    n = panel.shape[1]
    for k in range(panel.shape[0]):
        i = start + k
        row = panel[k]
        for j in range(i + 1, n):
            row[j] = W[i, j]
        for earlier in range(k):
            share = panel[earlier, i]
            for j in range(i + 1, n):
                row[j] += share * panel[earlier, j]
        degree = 0.0
        for j in range(i + 1, n):
            degree += row[j]
        if degree > 0.0:
            root = np.sqrt(degree)
            row[i] = root
            for j in range(i + 1, n):
                row[j] /= -root
