"""Leave-pair-out: the error of every column when each pair of items of a query is held out in turn.

Without a pair, RankRLS on one ranking is ridge regression with an intercept and ``λ' = λ / κ``, where κ depends on how
many items are left. In the notation of `held_out_state.py` with λ' for λ and ``C = (I - ssᵀ/sᵀs) diag(s)``, s the roots
of the item weights: ``Γ = Cᵀ λ'G C`` and ``e = Γ y``. The error of the held-out difference of items i and p is

    ``[(Γ_pp + Γ_ip) e_i - (Γ_ip + Γ_ii) e_p] / (Γ_ii Γ_pp - Γ_ip²)``.

If j enters, with ``ũ_j = Cᵀ u_j = s u_j`` (what the array U holds here), Γ loses ``ũ_j ũ_jᵀ / d_j`` and e loses
``ũ_j g_j / d_j``: constant time for each pair and column. Plain RLS has ``C = diag(s)`` and ``λ' = λ``.

A query of two items is held out whole, and Γ is singular there. Then only the difference of the two residuals counts,
which does not change when a constant is added to that block of Γ, and the block is no longer singular.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.selection.selection_problem import SelectionProblem
from kernelrank.selection.states import ChosenColumns, HeldOutState, RemovedColumn
from kernelrank.selection.sweeps import LANES, sweep_pairs

__all__ = ["PairState", "one_scale"]


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


class PairState(HeldOutState):
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
        sweep_pairs(
            self.U,
            first,
            last,
            self.tau,
            self.h,
            self.Gamma,
            self.begin,
            self.weight,
            self.e,
            self.d,
            self.g,
            errors,
            np.zeros((self.problem.n_items, 4, LANES)),
            np.empty((2, LANES)),
        )

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

    def _undo_own(self, chosen: ChosenColumns, place: int, removed: RemovedColumn) -> None:  # noqa: ARG002
        self.Gamma += np.outer(removed.u / removed.d, removed.u)
        self.e += np.outer(removed.g / removed.d, removed.u)

    def _change_own(self, place: int) -> None:
        u, d = self.U[:, place].astype(np.float64), self.d[place]
        self.Gamma -= np.outer(u / d, u)
        self.e -= np.outer(self.g[:, place] / d, u)

    def _copy_own(self, places: Index) -> None:  # noqa: ARG002
        self.Gamma, self.e = self.Gamma.copy(), self.e.copy()
