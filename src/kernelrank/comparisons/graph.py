"""The interface of a comparison graph, which tells a solver which items are compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import (
    Float,
    GramSum,
    Index,
    Matrix,
    Sparse,
    blocks,
    is_sparse,
    largest_value,
    transpose_product,
)
from kernelrank.base.labels import Queries
from kernelrank.comparisons.pair_levels import PairLevels

__all__ = ["Comparisons", "NamedValues"]

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
