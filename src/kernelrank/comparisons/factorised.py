"""Graphs without a root in closed form: a pivoted Cholesky factor for each connected part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from kernelrank.arrays import Float, Index, as_columns
from kernelrank.comparisons.base import Comparisons

__all__ = ["FactorisedComparisons"]


@dataclass(frozen=True)
class _Factor:
    """``Uᵀ U = L`` over the pivoted items of one connected part, U (rank × size) upper trapezoidal."""

    items: Index
    U: Float

    @classmethod
    def of(cls, items: Index, L: Float) -> _Factor:
        """Factorise a dense positive semidefinite block; its rank is found on the way."""
        # A negative tolerance is LAPACK's default: size × eps × the largest diagonal entry.
        U, pivot, rank, _ = lapack.dpstrf(L, tol=-1.0, lower=0)
        return cls(items[pivot - 1], np.triu(U)[:rank])


class FactorisedComparisons(Comparisons):
    """A graph whose Laplacian is block diagonal with blocks that can be written out.

    The root is ``C = blockdiag(U) · permutation``. It is factorised at the first call of `centre`, in O(Σ size³ / 3)
    time over the blocks, and kept.
    """

    cheap_root = False

    @abstractmethod
    def _dense_blocks(self) -> Iterator[tuple[Index, Float]]:
        """Yield the items and the dense Laplacian of each connected part."""

    @cached_property
    def _factors(self) -> list[_Factor]:
        return [_Factor.of(items, L) for items, L in self._dense_blocks()]

    def centre(self, V: Float) -> Float:
        """Return ``C V``."""
        columns = as_columns(V)
        parts = [factor.U @ columns[factor.items] for factor in self._factors]
        product = np.concatenate(parts) if parts else np.zeros((0, columns.shape[1]))
        return product.reshape((-1, *V.shape[1:]))

    def centre_transpose(self, V: Float) -> Float:
        """Return ``Cᵀ V``."""
        columns = as_columns(V)
        product = np.zeros((self.n_items, columns.shape[1]))
        start = 0
        for factor in self._factors:
            stop = start + len(factor.U)
            product[factor.items] = factor.U.T @ columns[start:stop]
            start = stop
        return product.reshape((-1, *V.shape[1:]))

    def root_target(self) -> Float:
        """Return T with ``Cᵀ T = M N`` by forward substitution with the square part of each factor."""
        target = self.target()
        parts = [np.zeros((0, target.shape[1]))]
        for factor in self._factors:
            rank = len(factor.U)
            leading = target[factor.items[:rank]]
            parts.append(solve_triangular(factor.U[:, :rank], leading, trans="T", check_finite=False))
        return np.concatenate(parts)
