"""Greedy search: add, step by step, the feature with which the held-out error is lowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.selection.held_out_state import ChosenColumns, HeldOutState
from kernelrank.selection.item_state import ItemState
from kernelrank.selection.pair_state import PairState
from kernelrank.selection.query_state import QueryState
from kernelrank.selection.selection_problem import SelectionProblem

__all__ = ["CRITERIA", "Criterion", "FallingError", "GreedySearch", "SelectionStep", "lowest"]

Criterion: TypeAlias = Literal["leave_query_out", "leave_pair_out", "leave_one_out"]

CRITERIA: dict[Criterion, type[HeldOutState]] = {
    "leave_query_out": QueryState,
    "leave_pair_out": PairState,
    "leave_one_out": ItemState,
}

SAME = 1e-10
"""Two errors that differ by less than this share are equal: rounding must not decide between them."""


def lowest(errors: Float) -> int:
    """Return the first of the lowest errors.

    Examples
    --------
    >>> lowest(np.array([2.0, 1.0 + 1e-15, 1.0]))
    1
    """
    least = float(errors.min())
    return int(np.argmax(errors <= least + SAME * abs(least)))


PATIENCE = 5
"""How many steps a search looks ahead for an error that is lower."""


@dataclass(frozen=True)
class SelectionStep:
    """One step of a selection.

    Parameters
    ----------
    feature : int
        The column that entered.
    columns : ndarray of int64, shape (k,)
        All columns chosen after this step, in the order in which they entered.
    coefficients : ndarray, shape (k, outputs)
    alpha : float
    losses : ndarray
        The held-out losses of queries, items, or items by their pairs; their sum is the criterion.
    standard_error : float
        The standard error of that sum.
    pair_accuracy : float or None
        The share of held-out pairs in the right order, if pairs are held out.
    """

    feature: int
    columns: Index
    coefficients: Float
    alpha: float
    losses: Float
    standard_error: float
    pair_accuracy: float | None

    @property
    def criterion(self) -> float:
        """The held-out error."""
        return float(self.losses.sum())


class FallingError:
    """Says when the held-out error has stopped falling.

    It has when `PATIENCE` further steps did not lower it by more than the standard error of the difference.
    """

    def __init__(self) -> None:
        self.n_steps = 0
        self._best: SelectionStep | None = None
        self._seen = 0

    def has_stopped(self, step: SelectionStep, state: type[HeldOutState]) -> bool:
        """Look at the next step."""
        self._seen += 1
        if self._best is None:
            fallen = True
        else:
            fall = self._best.losses - step.losses
            fallen = float(fall.sum()) > standard_error(fall, state)
        if fallen:
            self._best, self.n_steps = step, self._seen
        return self._seen - self.n_steps >= PATIENCE


def standard_error(losses: Float, state: type[HeldOutState]) -> float:
    """Return the standard error of the sum of losses; NaN for a single one."""
    if len(losses) < 2:
        return float("nan")
    return state.dependence * float(losses.std(ddof=1)) * float(len(losses) ** 0.5)


class GreedySearch:
    """Feature selection for one problem.

    Parameters
    ----------
    problem : SelectionProblem
    criterion : {"leave_query_out", "leave_pair_out", "leave_one_out"}
        What is held out.
    alpha : float
    n_threads : int, default=1
        How many threads share the columns.
    """

    def __init__(self, problem: SelectionProblem, criterion: Criterion, alpha: float, *, n_threads: int = 1) -> None:
        self.problem = problem
        self.kind = CRITERIA[criterion]
        self.alpha = alpha
        self.n_threads = n_threads

    def steps(self, forced: Sequence[int] = ()) -> Iterator[SelectionStep]:
        """Yield step after step until all columns have entered; O(m n) time each.

        Parameters
        ----------
        forced : sequence of int, optional
            Columns that enter first, in this order.
        """
        self.problem.require_memory(self.kind.n_arrays)
        state = self.kind(self.problem, self.alpha, np.arange(self.problem.n_columns), n_threads=self.n_threads)
        chosen = ChosenColumns.none(self.problem)
        for number in range(self.problem.n_columns):
            if number < len(forced):
                feature = forced[number]
            else:
                errors = state.errors().copy()
                errors[chosen.columns] = np.inf
                feature = lowest(errors)
            chosen = chosen.with_column(feature, state.enter(feature), state.target)
            yield self._step(feature, chosen, state)

    def _step(self, feature: int, chosen: ChosenColumns, state: HeldOutState) -> SelectionStep:
        losses = state.losses()
        return SelectionStep(
            feature,
            chosen.columns,
            chosen.coefficients(state.ridge),
            state.alpha,
            losses,
            standard_error(losses, self.kind),
            state.pair_accuracy(),
        )
