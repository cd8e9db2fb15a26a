"""Graphs without a root in closed form: a triangular factor for each connected part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

from kernelrank.base.arrays import Float, Index, Matrix, as_columns, dense_rows
from kernelrank.comparisons.graph import Comparisons
from kernelrank.comparisons.laplacian_root import laplacian_root

__all__ = ["FactorisedComparisons"]


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
