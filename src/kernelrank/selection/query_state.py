"""Leave-query-out: the error of every column when each query is held out in turn.

In the notation of `held_out_state.py`, with rows q of a query, ``B_q = (λG_qq)⁻¹``. The held-out residual of the chosen
features is ``c_q = B_q (λGỹ)_q``, which is ``ỹ_q - Z_qS w`` with w trained without q. The same for a column in the
place of ỹ: ``W_q = B_q U_q`` is what is left of the column in q after regression on S without q. If j enters, the model
without q gives it the coefficient

    ``(g_j - u_jqᵀ c_q) / (d_j - u_jqᵀ W_jq)``,

because numerator and denominator are g and d of the problem without q. So the new residual is c_q less W_jq times it.
When e enters, W changes as c does: with ``f_q = d_e - u_eqᵀ W_eq``,

    ``c_q -= W_eq (g_e - u_eqᵀ c_q) / f_q``,  ``W_q -= W_eq (τ - u_eqᵀ W_q) / f_q``.

When v leaves, with ``M_q = (Z_Sᵀ Z_S - Z_qSᵀ Z_qS + λI)⁻¹``, the k × k inverse without q,
``b_q = Z_qS M_q e_v / (M_q)_vv`` is W_vq before v entered.
Without q, with a column j in the place of ỹ, the coefficient of v is ``β_j - x_qᵀ W_jq``. So

    ``c_q += b_q (w_v - x_qᵀ c_q)``,  ``W_q += b_q (β - x_qᵀ W_q)``.

O(m) a column for a step, whatever the sizes of the queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.selection.selection_problem import SelectionProblem
from kernelrank.selection.states import ChosenColumns, HeldOutState, RemovedColumn
from kernelrank.selection.sweeps import WIDTH, sweep_queries

__all__ = ["QueryState"]


class QueryState(HeldOutState):
    """Hold each query out; see `HeldOutState`."""

    n_arrays = 2

    def __init__(self, problem: SelectionProblem, alpha: float, columns: Index, **options: Any) -> None:
        super().__init__(problem, alpha, columns, **options)
        self.W = self.U.copy()
        self.c = self.target.T.copy()
        self.bounds = problem.queries.bounds
        self.y, self.b = np.zeros(problem.n_items), np.zeros(problem.n_items)
        self._known: tuple[ChosenColumns | None, Float] = (None, np.empty(0))

    def _sweep(self, first: int, last: int, errors: Float) -> None:
        sweep_queries(
            self.U,
            self.W,
            self.bounds,
            first,
            last,
            self.tau,
            self.h,
            self.y,
            self.b,
            self.c,
            self.d,
            self.g,
            errors,
            np.empty((3, WIDTH)),
        )

    def _settle(self) -> None:
        super()._settle()
        self.y[:] = 0.0
        self.b[:] = 0.0

    def losses(self) -> Float:
        """Return the loss of each query."""
        return np.asarray(np.add.reduceat((self.c**2).sum(axis=0), self.bounds[:-1]))

    def _by_query(self, values: Float) -> Float:
        return np.asarray(np.add.reduceat(values, self.bounds[:-1], axis=-1))

    def _change_own(self, place: int) -> None:
        u, w = self.U[:, place].astype(np.float64), self.W[:, place].astype(np.float64)
        codes = self.problem.queries.codes
        b = w / (self.d[place] - self._by_query(u * w))[codes]
        self.c -= b * (self.g[:, place][:, None] - self._by_query(u * self.c))[:, codes]
        self.y, self.b = u, b

    def _undo_own(self, chosen: ChosenColumns, place: int, removed: RemovedColumn) -> None:
        M, codes = self._inverses_without(chosen), self.problem.queries.codes
        b = np.einsum("ij,ij->i", chosen.Z, M[codes, :, place]) / M[codes, place, place]
        self.c += b * (removed.g[:, None] / removed.d - self._by_query(removed.x * self.c))[:, codes]
        self.y, self.b = removed.x, -b

    def _inverses_without(self, chosen: ChosenColumns) -> Float:
        """Return ``M_q`` for each query, shape (n_queries, k, k): O(m k² + n_queries k³), once for the same set."""
        known, inverses = self._known
        if known is not chosen:
            k = len(chosen.columns)
            inverses = np.empty((len(self.bounds) - 1, k, k))
            whole = chosen.gram + self.ridge * np.eye(k)
            for q in range(len(inverses)):
                Z = chosen.Z[self.bounds[q] : self.bounds[q + 1]]
                inverses[q] = whole - Z.T @ Z
            inverses = np.asarray(np.linalg.inv(inverses), dtype=np.float64)
            self._known = (chosen, inverses)
        return inverses

    def _copy_own(self, places: Index) -> None:
        self.W, self.c = self.W[:, places], self.c.copy()
        self.y, self.b = np.zeros_like(self.y), np.zeros_like(self.b)
