"""The state of a selection: held-out errors of all columns, updated when a feature is added or removed.

Write ``Z = C X`` and ``ỹ = C y`` for the problem in root coordinates, S for the features chosen so far, λ for alpha and
``G = (Z_S Z_Sᵀ + λI)⁻¹``. Of every column j, with z its column of Z, a state keeps

* ``u_j = λ G z_j``, what is left of z_j after ridge regression on S, as an array U with as many numbers as X;
* ``d_j = λ + z_jᵀ u_j`` and ``g_j = ỹᵀ u_j``: if j enters, its coefficient is ``g_j / d_j``.

When e enters, ``λG`` loses ``u_e u_eᵀ / d_e``. With ``τ_j = z_eᵀ u_j`` every column therefore changes by

    ``u_j -= u_e τ_j / d_e``,  ``d_j -= τ_j² / d_e``,  ``g_j -= τ_j g_e / d_e``,

which is O(m) a column. When v leaves S, the same is undone. To compute ``1 - z_vᵀ G z_v`` would lose all digits where λ
is small. It is not needed: with ``A = Z_Sᵀ Z_S + λI`` (k × k), ``x = Z_S A⁻¹ e_v`` and the coefficients w,

    ``u_v = x / (A⁻¹)_vv``, ``d_v = 1 / (A⁻¹)_vv`` and ``g_v = w_v d_v`` are those of v before it entered,
    ``β_j = z_jᵀ x = τ_j / d_v``, and ``u_j += u_v β_j``, ``d_j += β_j² d_v``, ``g_j += β_j g_v``.

Nothing is subtracted. What is held out differs: see `query_state.py`, `item_state.py` and `pair_state.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from kernelrank.base.arrays import Float, Index
from kernelrank.selection.selection_problem import SelectionProblem
from kernelrank.selection.sweeps import column_products

__all__ = ["ChosenColumns", "HeldOutState", "RemovedColumn"]


@dataclass(frozen=True)
class ChosenColumns:
    """The features chosen so far, with the k × k matrix that their coefficients come from.

    Parameters
    ----------
    columns : ndarray of int64, shape (k,)
        In the order in which they entered.
    Z : ndarray, shape (m, k)
        Their columns in root coordinates.
    gram, right : ndarray, shape (k, k) and (k, outputs)
        ``Z_Sᵀ Z_S`` and ``Z_Sᵀ ỹ``.
    """

    columns: Index
    Z: Float
    gram: Float
    right: Float

    @classmethod
    def none(cls, problem: SelectionProblem) -> Self:
        """Return the state before any feature is selected."""
        outputs = problem.graph.scores.shape[1]
        return cls(
            np.zeros(0, dtype=np.int64), np.zeros((problem.n_items, 0)), np.zeros((0, 0)), np.zeros((0, outputs))
        )

    def with_column(self, column: int, z: Float, target: Float) -> Self:
        """Return the same with one more feature: O(m k)."""
        border = self.Z.T @ z
        gram = np.block([[self.gram, border[:, None]], [border[None], np.array([[z @ z]])]])
        right = np.vstack([self.right, z @ target])
        return type(self)(np.append(self.columns, column), np.column_stack([self.Z, z]), gram, right)

    def without(self, place: int) -> Self:
        """Return the same without the feature at a place."""
        kept = np.delete(np.arange(len(self.columns)), place)
        return type(self)(self.columns[kept], self.Z[:, kept], self.gram[np.ix_(kept, kept)], self.right[kept])

    def coefficients(self, alpha: float) -> Float:
        """Return the coefficients for an alpha, shape (k, outputs)."""
        factor = cho_factor(self.gram + alpha * np.eye(len(self.gram)), lower=True)
        return np.asarray(cho_solve(factor, self.right))

    def inverse(self, alpha: float) -> Float:
        """Return ``(Z_Sᵀ Z_S + alpha I)⁻¹``."""
        factor = cho_factor(self.gram + alpha * np.eye(len(self.gram)), lower=True)
        return np.asarray(cho_solve(factor, np.eye(len(self.gram))))


@dataclass(frozen=True)
class RemovedColumn:
    """What a chosen column was before it entered.

    Parameters
    ----------
    x : ndarray, shape (m,)
        ``Z_S A⁻¹ e_v``.
    u : ndarray, shape (m,)
        Its column of U.
    d : float
    g : ndarray, shape (outputs,)
    """

    x: Float
    u: Float
    d: float
    g: Float


class HeldOutState(ABC):
    """The held-out error of the features chosen so far, and of each column that may come next.

    Parameters
    ----------
    problem : SelectionProblem
    alpha : float
    columns : ndarray of int64, shape (n,)
        The columns of X that may enter.
    n_threads : int, default=1
        How many threads share the columns.
    keep_columns : bool, default=False
        Whether to keep the centred columns, which removing a feature needs: one more array of the size of X.
    """

    n_arrays = 1
    """How many arrays of the size of X there are."""

    def __init__(
        self,
        problem: SelectionProblem,
        alpha: float,
        columns: Index,
        *,
        n_threads: int = 1,
        keep_columns: bool = False,
    ) -> None:
        self.problem = problem
        self.alpha = alpha
        self.columns = columns
        self.n_threads = n_threads
        self.target = problem.graph.root_target()
        self.U = problem.empty(len(columns))
        self.Z = problem.empty(len(columns)) if keep_columns else None
        self.d = np.empty(len(columns))
        self.g = np.empty((self.target.shape[1], len(columns)))
        for place, block in problem.centred_blocks(columns):
            Z = problem.centred(block)
            self.U[:, place] = Z * self._scale[:, None]
            # Not by BLAS, whose sums differ with the place of a column: duplicates must stay the same to the last bit.
            self.d[place] = self.ridge + (Z * Z).sum(axis=0)
            for output, target in enumerate(self.target.T):
                self.g[output, place] = (Z * target[:, None]).sum(axis=0)
            if self.Z is not None:
                self.Z[:, place] = Z
        self.tau, self.h = np.zeros(len(columns)), np.zeros(problem.n_items)
        self._errors: Float | None = None

    @property
    def ridge(self) -> float:
        """λ of the problem that is held out from."""
        return self.alpha

    @property
    def training_ridge(self) -> float:
        """λ of the problem of all items, which coefficients come from."""
        return self.alpha

    @property
    def _scale(self) -> Float:
        """What the rows of Z are multiplied by to make those of U."""
        return np.ones(self.problem.n_items)

    @abstractmethod
    def _sweep(self, first: int, last: int, errors: Float) -> None:
        """Change some columns by the last feature, and store their errors."""

    @abstractmethod
    def _change_own(self, place: int) -> None:
        """Let a column enter what a subclass keeps beside U, d and g, which are still those before."""

    @abstractmethod
    def _undo_own(self, chosen: ChosenColumns, place: int, removed: RemovedColumn) -> None:
        """Let a chosen column leave what a subclass keeps beside U, d and g."""

    @abstractmethod
    def losses(self) -> Float:
        """Return the held-out loss of each part that is held out, which sum to the error of the chosen features."""

    dependence = 1.0
    """The standard error of the sum of the losses is so many times that of independent ones."""

    @classmethod
    def standard_error(cls, losses: Float) -> float:
        """Return the standard error of the sum of losses, or of differences of them; NaN for a single one."""
        return cls.dependence * float(losses.std(ddof=1) * len(losses) ** 0.5) if len(losses) > 1 else float("nan")

    def pair_accuracy(self) -> float | None:
        """Return the share of held-out pairs in the right order, if pairs are held out."""
        return None

    def errors(self) -> Float:
        """Return the error of the chosen features with each column, shape (n,): O(m) a column."""
        if self._errors is None:
            errors = np.empty(len(self.columns))
            self._in_threads(lambda first, last: self._sweep(first, last, errors))
            self._settle()
            self._errors = errors
        return self._errors

    def _settle(self) -> None:
        """Forget the last change, which has been done."""
        self.tau[:] = 0.0
        self.h[:] = 0.0

    def _in_threads(self, work: Callable[[int, int], None]) -> None:
        """Call a function with ranges of columns, one for each thread."""
        n, threads = len(self.columns), min(self.n_threads, max(1, len(self.columns) // 64))
        if threads == 1:
            work(0, n)
            return
        bounds = np.linspace(0, n, threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, bounds[:-1].tolist(), bounds[1:].tolist()))

    def _products(self, array: NDArray[Any], vector: Float) -> Float:
        products = np.zeros(array.shape[1])
        self._in_threads(lambda first, last: column_products(array, vector, first, last, products))
        return products

    def enter(self, place: int) -> Float:
        """Select a column; return it in root coordinates. O(m n), most of it in the next call of `errors`."""
        self.errors()
        z = self.problem.centred(self.columns[place : place + 1])[:, 0]
        u, d, g = self.U[:, place].astype(np.float64), float(self.d[place]), self.g[:, place].copy()
        tau = self._products(self.U, z / self._scale)
        self._change_own(place)
        self._change(tau, u / d, 1.0 / d, g / d)
        return z

    def remove(self, chosen: ChosenColumns, place: int) -> None:
        """Remove a selected column; `place` is its position among the selected ones. O(m n) as `enter`."""
        self.errors()
        inverse = chosen.inverse(self.ridge)
        x, d = chosen.Z @ inverse[:, place], 1.0 / float(inverse[place, place])
        g = d * (inverse[place] @ chosen.right)
        removed = RemovedColumn(x, x * d * self._scale, d, g)
        tau = np.zeros(0) if self.Z is None else self._products(self.Z, x)
        self._undo_own(chosen, place, removed)
        self._change(tau, -removed.u, -d, -g)

    def _change(self, tau: Float, h: Float, square: float, ratio: Float) -> None:
        """Note ``U -= h τᵀ`` for the next sweep; change d and g."""
        self.tau, self.h = tau, h
        self.d -= square * tau**2
        np.maximum(self.d, self.ridge, out=self.d)  # rounding
        self.g -= np.outer(ratio, tau)
        self._errors = None

    def taking(self, places: Index) -> Self:
        """Return a state of its own for some of the columns, with the same features chosen."""
        self.errors()
        part = copy(self)
        part.columns = self.columns[places]
        part.U, part.d, part.g = self.U[:, places], self.d[places], self.g[:, places]
        part.Z, part.n_threads = None, 1
        part.tau, part.h = np.zeros(len(places)), np.zeros_like(self.h)
        part._errors = None
        part._copy_own(places)
        return part

    @abstractmethod
    def _copy_own(self, places: Index) -> None:
        """Copy what a subclass changes, for some columns."""
