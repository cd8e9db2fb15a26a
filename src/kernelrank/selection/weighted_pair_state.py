"""Leave-pair-out where every pair has a λ' of its own: one ranking whose items have different weights.

Without the items i and p, the problem is that of `pair_state.py` at ``λ' = λ / κ``, and κ depends on the weights of the
two unless ``query_weight="items"``. No Γ serves all pairs. With the eigenvalues ``Z_Sᵀ Z_S = V diag(μ) Vᵀ``,
``Y = Z_S V`` and ``f = 1 / (μ + λ')``, everything that a pair needs of
``λ'G = I - Z_S (Z_Sᵀ Z_S + λ'I)⁻¹ Z_Sᵀ`` is a short sum:

    ``(λ'G)_ip = [i = p] - Σ_a f_a Y_ia Y_pa``,  ``u_ji = z_ji - Σ_a f_a Y_ia (Yᵀz_j)_a``,
    ``d_j = λ' + z_jᵀz_j - Σ_a f_a (Yᵀz_j)_a²``,  ``g_j = z_jᵀỹ - Σ_a f_a (Yᵀz_j)_a (Yᵀỹ)_a``.

That is O(k) for each pair and column, k times what equal weights cost. ``Γ_ip`` is ``s_i s_p`` times what is left of
``(λ'G)_ip`` when ``s_i s_p / Σ s²``, the mean, is taken away.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.comparisons.scored import item_squares, pair_weight
from kernelrank.selection.pair_state import PairState
from kernelrank.selection.selection_problem import SelectionProblem
from kernelrank.selection.states import ChosenColumns
from kernelrank.selection.sweeps import LANES, sweep_weighted_pairs

__all__ = ["WeightedPairState"]


class WeightedPairState(PairState):
    """Hold each pair out, at its own λ'; see `HeldOutState`. U holds the columns of Z, which do not change."""

    def __init__(self, problem: SelectionProblem, alpha: float, columns: Index, **options: Any) -> None:
        graph = problem.graph
        left, uncompared = (
            values.sum() - np.add.outer(values, values) for values in (graph.weight, item_squares(graph.weight))
        )
        with np.errstate(divide="ignore"):  # where nothing is left to compare, λ' is infinite and the model zero
            self._ridges = alpha / np.maximum(pair_weight(graph.query_weight, left, uncompared) * left, 0.0)
        super().__init__(problem, alpha, columns, **(options | {"keep_columns": False}))

    @property
    def ridge(self) -> float:
        """Nothing: each pair adds its own λ'."""
        return 0.0

    @property
    def _scale(self) -> Float:
        return np.ones(self.problem.n_items)

    def _scale_without_pair(self, problem: SelectionProblem) -> float:  # noqa: ARG002
        return 1.0

    def _start(self) -> None:
        self._share = 1.0 / float((self._root**2).sum())
        self._targets = np.ascontiguousarray(self.target.T)
        self._cross = np.zeros((0, len(self.columns)))
        self._decompose(ChosenColumns.none(self.problem))

    def _decompose(self, chosen: ChosenColumns) -> None:
        self._own = chosen
        self._values, V = np.linalg.eigh(chosen.gram)
        self._values = np.maximum(self._values, 0.0)
        self._Y = chosen.Z @ V
        self._right = np.ascontiguousarray((V.T @ chosen.right).T)
        self._rotated = np.einsum("ab,an->bn", V, self._cross)
        self._errors = None

    def _sweep(self, first: int, last: int, errors: Float) -> None:
        sweep_weighted_pairs(
            self.U,
            first,
            last,
            self._Y,
            self._values,
            self._rotated,
            self._right,
            self._ridges,
            self._root,
            self._share,
            self.weight,
            self._targets,
            self.d,
            self.g,
            errors,
            np.empty((4, LANES)),
        )

    def enter(self, place: int) -> Float:
        """Select a column; return it in root coordinates. O(m n)."""
        z = self.problem.centred(self.columns[place : place + 1])[:, 0]
        self._cross = np.vstack([self._cross, self._products(self.U, z)])
        self._decompose(self._own.with_column(int(self.columns[place]), z, self.target))
        return z

    def remove(self, chosen: ChosenColumns, place: int) -> None:
        """Remove a selected column."""
        self._cross = np.delete(self._cross, place, axis=0)
        self._decompose(chosen.without(place))

    def taking(self, places: Index) -> Self:
        """Return a state of its own for some of the columns."""
        part = copy(self)
        part.columns, part.U, part.n_threads = self.columns[places], self.U[:, places], 1
        part.d, part.g, part._cross = self.d[places], self.g[:, places], self._cross[:, places]
        part._decompose(self._own)
        return part

    def _missed(self, i: int) -> Float:
        root, Y, ridge = self._root, self._Y, self._ridges[i, :i, None]
        f = 1.0 / (self._values + ridge)  # (partners, k)
        own = 1.0 - self._share * root[i] ** 2 - f @ Y[i] ** 2
        other = 1.0 - self._share * root[:i] ** 2 - (f * Y[:i] ** 2).sum(axis=1)
        x = -self._share * root[i] * root[:i] - (f * Y[:i]) @ Y[i]
        e_i = self._targets[:, i : i + 1] - (self._right * Y[i]) @ f.T
        e_p = self._targets[:, :i] - self._right @ (f * Y[:i]).T
        missed = (other / root[i] + x / root[:i]) * e_i - (x / root[i] + own / root[:i]) * e_p
        return np.asarray(missed / (own * other - x * x))
