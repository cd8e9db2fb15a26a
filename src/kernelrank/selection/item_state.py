"""Leave-one-out: the error of every column when each item of plain RLS is held out in turn.

In the notation of `held_out_state.py`, for item weights w: ``Γ = W^½ λG W^½`` and ``e = Γ y``. Without item i its
residual is ``e_i / Γ_ii``. If j enters, with ``ũ_j = W^½ u_j`` (what the array U holds here), Γ loses
``ũ_j ũ_jᵀ / d_j`` and e loses ``ũ_j g_j / d_j``: only the diagonal of Γ is needed, and O(m) a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.selection.selection_problem import SelectionProblem
from kernelrank.selection.states import ChosenColumns, HeldOutState, RemovedColumn
from kernelrank.selection.sweeps import WIDTH, sweep_items

__all__ = ["ItemState"]


class ItemState(HeldOutState):
    """Hold each item out; see `HeldOutState`."""

    def __init__(self, problem: SelectionProblem, alpha: float, columns: Index, **options: Any) -> None:
        self._root = np.sqrt(problem.graph.weight)
        super().__init__(problem, alpha, columns, **options)
        self.gamma = problem.graph.weight.copy()
        self.e = self._root * self.target.T

    @property
    def _scale(self) -> Float:
        return self._root

    def _sweep(self, first: int, last: int, errors: Float) -> None:
        weight = self.problem.graph.weight
        sweep_items(
            self.U,
            first,
            last,
            self.tau,
            self.h,
            self.gamma,
            weight,
            self.e,
            self.d,
            self.g,
            errors,
            np.empty((2, WIDTH)),
        )

    def losses(self) -> Float:
        """Return the loss of each item."""
        return np.asarray(self.problem.graph.weight * ((self.e / self.gamma) ** 2).sum(axis=0))

    def _undo_own(self, chosen: ChosenColumns, place: int, removed: RemovedColumn) -> None:  # noqa: ARG002
        self.gamma += removed.u**2 / removed.d
        self.e += np.outer(removed.g / removed.d, removed.u)

    def _change_own(self, place: int) -> None:
        u, d = self.U[:, place].astype(np.float64), self.d[place]
        self.gamma -= u * u / d
        self.e -= np.outer(self.g[:, place] / d, u)

    def _copy_own(self, places: Index) -> None:  # noqa: ARG002
        self.gamma, self.e = self.gamma.copy(), self.e.copy()
