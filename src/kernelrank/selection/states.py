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
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from kernelrank.base.arrays import Float, Index, Matrix, available_bytes, blocks, in_gigabytes, is_sparse
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.comparisons import ItemScores, ScoredComparisons, ScoredQueries
from kernelrank.comparisons.scored import QueryWeight, item_squares, pair_weight
from kernelrank.errors import InvalidInputError
from kernelrank.selection.sweeps import (
    LANES,
    WIDTH,
    column_products,
    sweep_items,
    sweep_pairs,
    sweep_queries,
    sweep_weighted_pairs,
)


@dataclass(frozen=True)
class ChosenColumns:
    """The features chosen so far, with the k × k matrix that their coefficients come from.

    Shapes: columns (k,), Z (m, k), gram, right (k, k).
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
        return self._solve(alpha, self.right)

    def inverse(self, alpha: float) -> Float:
        """Return ``(Z_Sᵀ Z_S + alpha I)⁻¹``."""
        return self._solve(alpha, np.eye(len(self.gram)))

    def _solve(self, alpha: float, right: Float) -> Float:
        factor = cho_factor(self.gram + alpha * np.eye(len(self.gram)), lower=True)
        return np.asarray(cho_solve(factor, right))


@dataclass(frozen=True)
class RemovedColumn:
    """What a chosen column was before it entered.

    Shapes: x (m,), u (m,), g (outputs,).
    """

    x: Float
    u: Float
    d: float
    g: Float


class HeldOutState(ABC):
    """The held-out error of the features chosen so far, and of each column that may come next.

    Shapes: columns (n,).
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


class ResidualState(HeldOutState):
    """A state that keeps Γ, or its diagonal, and the residuals ``e = Γ y`` for items or pairs that are held out."""

    Gamma: Float
    e: Float

    @abstractmethod
    def _square(self, u: Float) -> Float:
        """Return what is kept of ``u uᵀ``."""

    def _shift(self, u: Float, d: float, g: Float) -> None:
        """Take ``u uᵀ / d`` from Γ and ``u g / d`` from e."""
        self.Gamma -= self._square(u) / d
        self.e -= np.outer(g / d, u)

    def _change_own(self, place: int) -> None:
        self._shift(self.U[:, place].astype(np.float64), float(self.d[place]), self.g[:, place])

    def _undo_own(self, chosen: ChosenColumns, place: int, removed: RemovedColumn) -> None:  # noqa: ARG002
        self._shift(removed.u, -removed.d, removed.g)

    def _copy_own(self, places: Index) -> None:  # noqa: ARG002
        self.Gamma, self.e = self.Gamma.copy(), self.e.copy()


# Item state -----------------------------------------------------------------------------------------------------------
#
# Leave-one-out: the error of every column when each item of plain RLS is held out in turn.
#
# In the notation of `held_out_state.py`, for item weights w: ``Γ = W^½ λG W^½`` and ``e = Γ y``. Without item i its
# residual is ``e_i / Γ_ii``. If j enters, with ``ũ_j = W^½ u_j`` (what the array U holds here), Γ loses
# ``ũ_j ũ_jᵀ / d_j`` and e loses ``ũ_j g_j / d_j``: only the diagonal of Γ is needed, and O(m) a column.


class ItemState(ResidualState):
    """Hold each item out; see `HeldOutState`."""

    def __init__(self, problem: SelectionProblem, alpha: float, columns: Index, **options: Any) -> None:
        self._root = np.sqrt(problem.graph.weight)
        super().__init__(problem, alpha, columns, **options)
        self.Gamma = problem.graph.weight.copy()
        self.e = self._root * self.target.T

    @property
    def _scale(self) -> Float:
        return self._root

    def _sweep(self, first: int, last: int, errors: Float) -> None:
        weight = self.problem.graph.weight
        work = np.empty((2, WIDTH))
        sweep_items(self.U, first, last, self.tau, self.h, self.Gamma, weight, self.e, self.d, self.g, errors, work)

    def losses(self) -> Float:
        """Return the loss of each item."""
        return np.asarray(self.problem.graph.weight * ((self.e / self.Gamma) ** 2).sum(axis=0))

    def _square(self, u: Float) -> Float:
        return u * u


# Pair state -----------------------------------------------------------------------------------------------------------
#
# Leave-pair-out: the error of every column when each pair of items of a query is held out in turn.
#
# Without a pair, RankRLS on one ranking is ridge regression with an intercept and ``λ' = λ / κ``, where κ depends on
# how many items are left. In the notation of `held_out_state.py` with λ' for λ and ``C = (I - ssᵀ/sᵀs) diag(s)``, s the
# roots of the item weights: ``Γ = Cᵀ λ'G C`` and ``e = Γ y``. The error of the held-out difference of items i and p is
#
#     ``[(Γ_pp + Γ_ip) e_i - (Γ_ip + Γ_ii) e_p] / (Γ_ii Γ_pp - Γ_ip²)``.
#
# If j enters, with ``ũ_j = Cᵀ u_j = s u_j`` (what the array U holds here), Γ loses ``ũ_j ũ_jᵀ / d_j`` and e loses
# ``ũ_j g_j / d_j``: constant time for each pair and column. Plain RLS has ``C = diag(s)`` and ``λ' = λ``.
#
# A query of two items is held out whole, and Γ is singular there. Then only the difference of the two residuals counts,
# which does not change when a constant is added to that block of Γ, and the block is no longer singular.


def one_scale(problem: SelectionProblem) -> bool:
    """Whether κ is the same for all pairs; raise an error for several queries if it depends on their sizes."""
    graph = problem.graph
    if graph.queries is None or graph.query_weight == "items":
        return True
    if len(problem.queries) > 1:
        raise InvalidInputError(
            f"Expected one query for leave_pair_out with query_weight={graph.query_weight!r}; got "
            f"{len(problem.queries)} queries. Use criterion='leave_query_out', or query_weight='items'."
        )
    if problem.n_items < LEAST_ITEMS:
        raise InvalidInputError(
            f"Expected at least {LEAST_ITEMS} items to hold pairs out, so that two are left to compare; got "
            f"{problem.n_items}. Pass more items."
        )
    return bool(np.ptp(graph.weight) == 0.0)


LEAST_ITEMS = 4
"""How many items there must be, so that two can be compared without a pair."""


class PairState(ResidualState):
    """Hold each pair out; see `HeldOutState`."""

    dependence = 2.0  # each pair belongs to two items

    def __init__(self, problem: SelectionProblem, alpha: float, columns: Index, **options: Any) -> None:
        graph = problem.graph
        self._kappa, self._kappa_of_all = self._scale_without_pair(problem), 1.0
        if isinstance(graph, ScoredQueries):
            problem = replace(problem, graph=graph.shortcut_graph())
            self._kappa_of_all = float(graph.pair_weights[0] * graph.weight[problem.queries.codes == 0].sum())
        self._root = np.sqrt(graph.weight)
        super().__init__(problem, alpha, columns, **options)
        codes = problem.queries.codes
        self.begin = problem.queries.bounds[:-1][codes]
        self.magnitudes = problem.graph.magnitudes
        c = graph.pair_weights[codes] if isinstance(graph, ScoredQueries) else np.ones(problem.n_items)
        self.weight = graph.weight * np.sqrt(c)
        self._start()

    def _scale_without_pair(self, problem: SelectionProblem) -> float:
        """Return κ: without any pair, the problem is that of `shortcut_graph` at ``λ / κ``."""
        if problem.graph.queries is None or problem.graph.query_weight == "items":
            return 1.0
        return float(problem.graph.scale_without(ItemSets.of([np.array([0, 1])], problem.n_items))[0])

    def _start(self) -> None:
        """Make Γ and e without a feature."""
        graph, queries = self.problem.graph, self.problem.queries
        self.Gamma = graph.apply(np.eye(graph.n_items))
        if isinstance(graph, ScoredQueries):
            for q in np.flatnonzero(queries.sizes == 2):
                whole = slice(queries.bounds[q], queries.bounds[q + 1])
                self.Gamma[whole, whole] += 1.0
        self.e = self._root * self.target.T

    @property
    def ridge(self) -> float:
        """The regularisation λ' of the problem without a pair."""
        return self.alpha / self._kappa

    @property
    def training_ridge(self) -> float:
        """λ / κ with all items there."""
        return self.alpha / self._kappa_of_all

    @property
    def _scale(self) -> Float:
        return self._root

    def _sweep(self, first: int, last: int, errors: Float) -> None:
        held_out = self.Gamma, self.begin, self.weight, self.e
        sums = np.zeros((self.problem.n_items, 4, LANES))
        work = np.empty((2, LANES))
        sweep_pairs(self.U, first, last, self.tau, self.h, *held_out, self.d, self.g, errors, sums, work)

    def _missed(self, i: int) -> Float:
        """Return the errors of the differences of item i to those before it in its query, shape (outputs, partners)."""
        others, diagonal = slice(self.begin[i], i), np.diagonal(self.Gamma)
        x, own, other = self.Gamma[i, others], diagonal[i], diagonal[others]
        missed = (other + x) * self.e[:, i : i + 1] - (x + own) * self.e[:, others]
        return np.asarray(missed / (own * other - x * x))

    def losses(self) -> Float:
        """Return the loss of each item: half of that of each of its pairs."""
        losses = np.zeros(self.problem.n_items)
        for i in range(self.problem.n_items):
            others = slice(self.begin[i], i)
            half = 0.5 * self.weight[i] * self.weight[others] * (self._missed(i) ** 2).sum(axis=0)
            losses[others] += half
            losses[i] += half.sum()
        return losses

    def pair_accuracy(self) -> float:
        """Return the share of held-out pairs with different scores in the right order: of two classes, the AUC."""
        right, total = 0.0, 0.0
        for i in range(self.problem.n_items):
            others = slice(self.begin[i], i)
            truth = (self.magnitudes[i] - self.magnitudes[others]).T
            weight = self.weight[i] * self.weight[others] * (truth != 0)
            right += float((weight * (np.sign(truth) * np.sign(truth - self._missed(i)) + 1.0) / 2.0).sum())
            total += float(weight.sum())
        return right / total if total > 0 else float("nan")

    def _square(self, u: Float) -> Float:
        return np.outer(u, u)


# Query state ----------------------------------------------------------------------------------------------------------
#
# Leave-query-out: the error of every column when each query is held out in turn.
#
# In the notation of `held_out_state.py`, with rows q of a query, ``B_q = (λG_qq)⁻¹``. The held-out residual of the
# chosen features is ``c_q = B_q (λGỹ)_q``, which is ``ỹ_q - Z_qS w`` with w trained without q. The same for a column in
# the place of ỹ: ``W_q = B_q U_q`` is what is left of the column in q after regression on S without q. If j enters, the
# model without q gives it the coefficient
#
#     ``(g_j - u_jqᵀ c_q) / (d_j - u_jqᵀ W_jq)``,
#
# because numerator and denominator are g and d of the problem without q. So the new residual is c_q less W_jq times it.
# When e enters, W changes as c does: with ``f_q = d_e - u_eqᵀ W_eq``,
#
#     ``c_q -= W_eq (g_e - u_eqᵀ c_q) / f_q``,  ``W_q -= W_eq (τ - u_eqᵀ W_q) / f_q``.
#
# When v leaves, with ``M_q = (Z_Sᵀ Z_S - Z_qSᵀ Z_qS + λI)⁻¹``, the k × k inverse without q,
# ``b_q = Z_qS M_q e_v / (M_q)_vv`` is W_vq before v entered.
# Without q, with a column j in the place of ỹ, the coefficient of v is ``β_j - x_qᵀ W_jq``. So
#
#     ``c_q += b_q (w_v - x_qᵀ c_q)``,  ``W_q += b_q (β - x_qᵀ W_q)``.
#
# O(m) a column for a step, whatever the sizes of the queries.


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
        change, work = (self.tau, self.h, self.y, self.b), np.empty((3, WIDTH))
        sweep_queries(self.U, self.W, self.bounds, first, last, *change, self.c, self.d, self.g, errors, work)

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


# Weighted pair state --------------------------------------------------------------------------------------------------
#
# Leave-pair-out where every pair has a λ' of its own: one ranking whose items have different weights.
#
# Without the items i and p, the problem is that of `pair_state.py` at ``λ' = λ / κ``, and κ depends on the weights of
# the two unless ``query_weight="items"``. No Γ serves all pairs. With the eigenvalues ``Z_Sᵀ Z_S = V diag(μ) Vᵀ``, ``Y
# = Z_S V`` and ``f = 1 / (μ + λ')``, everything that a pair needs of ``λ'G = I - Z_S (Z_Sᵀ Z_S + λ'I)⁻¹ Z_Sᵀ`` is a
# short sum:
#
#     ``(λ'G)_ip = [i = p] - Σ_a f_a Y_ia Y_pa``,  ``u_ji = z_ji - Σ_a f_a Y_ia (Yᵀz_j)_a``,
#     ``d_j = λ' + z_jᵀz_j - Σ_a f_a (Yᵀz_j)_a²``,  ``g_j = z_jᵀỹ - Σ_a f_a (Yᵀz_j)_a (Yᵀỹ)_a``.
#
# That is O(k) for each pair and column, k times what equal weights cost. ``Γ_ip`` is ``s_i s_p`` times what is left of
# ``(λ'G)_ip`` when ``s_i s_p / Σ s²``, the mean, is taken away.


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
        chosen = self._Y, self._values, self._rotated, self._right
        items = self.weight, self._targets, self.d, self.g
        pairs = self._ridges, self._root
        sweep_weighted_pairs(self.U, first, last, *chosen, *pairs, self._share, *items, errors, np.empty((4, LANES)))

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


# Selection problem ----------------------------------------------------------------------------------------------------
#
# The data of a selection: the items used, query by query, and their columns in root coordinates.
#
# With ``CᵀC = L`` the problem is ridge regression of ``ỹ = C y`` on the columns of ``Z = C X``. Columns are centred
# block by block, whether X is dense or sparse, and nothing else of X is ever made dense.


@dataclass(frozen=True)
class SelectionProblem:
    """Items with positive weights, those of a query side by side.

    Shapes: X (items, n), rows (m,).
    """

    X: Matrix
    rows: Index | None
    graph: ScoredQueries | ItemScores
    queries: Queries
    dtype: DTypeLike = np.float64

    @classmethod
    def of(
        cls, X: Matrix, graph: ScoredComparisons, queries: Queries, query_weight: QueryWeight | None, dtype: DTypeLike
    ) -> SelectionProblem:
        """Compare all pairs of each query; without `query_weight` each item with its own score."""
        rows, scores, queries, weight = _ordered(graph.scores, queries, graph.weight)
        if query_weight is None:
            return cls(X.tocsc() if is_sparse(X) else X, rows, ItemScores(scores, weight=weight), queries, dtype=dtype)
        ordered = ScoredQueries(scores, queries, weight=weight, query_weight=query_weight)
        return cls(X.tocsc() if is_sparse(X) else X, rows, ordered, queries, dtype=dtype)

    @property
    def n_items(self) -> int:
        """How many items are used."""
        return self.graph.n_items

    @property
    def n_columns(self) -> int:
        """How many columns X has."""
        return int(self.X.shape[1])

    def centred(self, columns: Index | slice) -> Float:
        """Return some columns of ``C X`` in double precision."""
        part = self.X[:, columns]
        values = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
        return self.graph.centre(values if self.rows is None else values[self.rows])

    def centred_blocks(self, columns: Index) -> list[tuple[slice, Index]]:
        """Cut columns into blocks: the place of each, and its columns."""
        # The size of a block of columns that is centred at once.
        return [(block, columns[block]) for block in blocks(len(columns), 8 * self.n_items, 2**22)]

    def mean_square(self) -> float:
        """Return the mean over columns of their squared lengths in root coordinates: the scale of alpha. O(m n)."""
        total = 0.0
        for _, block in self.centred_blocks(np.arange(self.n_columns)):
            total += float((self.centred(block) ** 2).sum())
        return total / self.n_columns

    def empty(self, n_columns: int) -> NDArray[Any]:
        """Return an m × n_columns array of this precision."""
        return np.empty((self.n_items, n_columns), dtype=self.dtype)

    def require_memory(self, n_arrays: int, extra: int = 0) -> None:
        """Raise an error for a selection that needs more memory than there is.

        extra: How many bytes beside them.
        """
        needed = n_arrays * self.n_items * self.n_columns * np.dtype(self.dtype).itemsize + extra
        available = available_bytes()
        if available is not None and needed > available:
            sparse = " A sparse X is made dense in the process." if is_sparse(self.X) else ""
            raise InvalidInputError(
                f"Expected a selection that fits into memory; {self.n_items:,} items with {self.n_columns:,} columns "
                f"need {in_gigabytes(needed)}, and {in_gigabytes(available)} are available.{sparse} Select from fewer "
                "columns or items, or halve the need with dtype='float32'."
            )


def _ordered(
    scores: Float, queries: Queries, weight: Float | None
) -> tuple[Index | None, Float, Queries, Float | None]:
    """Drop items of weight zero, and sort the others by query; None if all rows stay as they are."""
    order = queries.order
    if weight is not None and np.any(weight == 0):
        order = order[weight[order] > 0]
    elif queries.contiguous:
        return None, scores, queries, weight
    return order, scores[order], queries.subset(order), None if weight is None else weight[order]
