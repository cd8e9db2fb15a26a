"""Greedy search: add, step by step, the feature with the lowest held-out error.

A unit is what enters at once: a column, or a group of columns. With several alphas, the first unit is chosen together
with its alpha. Later ones are chosen with the alpha of the step before, and then the alpha with the lowest error of all
features chosen so far is taken.

A floating search looks back after each step: while the set without one of its units is better than the best set of that
size so far, the unit leaves [PNK94]_. Every size gets better each time, so the search ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError
from kernelrank.selection.states import (
    ChosenColumns,
    HeldOutState,
    ItemState,
    PairState,
    QueryState,
    SelectionProblem,
    WeightedPairState,
    one_scale,
)

Criterion: TypeAlias = Literal["leave_query_out", "leave_pair_out", "leave_one_out"]

CRITERIA: dict[Criterion, type[HeldOutState]] = {
    "leave_query_out": QueryState,
    "leave_pair_out": PairState,
    "leave_one_out": ItemState,
}

SAME = 1e-10
"""Two errors that differ by less than this share are equal: rounding must not decide between them."""


def lowest(errors: Float) -> int:
    """Return the first of the lowest errors."""
    least = float(errors.min())
    return int(np.argmax(errors <= least + SAME * abs(least)))


@dataclass(frozen=True)
class SelectionStep:
    """One step of a selection.

    Shapes: columns (k,), coefficients (k, outputs).
    """

    unit: int
    added: bool
    units: tuple[int, ...]
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


class GreedySearch:
    """Feature selection for one problem."""

    def __init__(
        self,
        problem: SelectionProblem,
        criterion: Criterion,
        alphas: Sequence[float],
        *,
        units: Sequence[Index] | None = None,
        floating: bool = False,
        n_threads: int = 1,
    ) -> None:
        self.problem = problem
        self.kind = CRITERIA[criterion]
        if self.kind is PairState and not one_scale(problem):
            self.kind = WeightedPairState
        self.alphas = sorted(alphas, reverse=True)
        self.units = [np.array([j]) for j in range(problem.n_columns)] if units is None else list(units)
        self.floating = floating
        self.n_threads = n_threads
        self._first = np.array([unit[0] for unit in self.units])
        self._groups = [number for number, unit in enumerate(self.units) if len(unit) > 1]
        self._chosen = ChosenColumns.none(problem)
        self._entered: list[int] = []

    def steps(self, n_units: int, required: Sequence[int] = ()) -> Iterator[SelectionStep]:
        """Yield step after step until so many units have been chosen; O(m n) time each."""
        self.problem.require_memory(self.kind.n_arrays + self.floating)
        self._chosen, self._entered = ChosenColumns.none(self.problem), []
        state, unit = self._begin(required)
        best: dict[int, float] = {}
        while len(self._entered) < n_units:
            if self._entered:
                unit = required[len(self._entered)] if len(self._entered) < len(required) else self._next(state)
            self._enter(state, unit)
            state = self._with_best_alpha(state)
            yield self._step(state, unit, added=True)
            if not self.floating:
                continue
            while True:
                error, size = float(state.losses().sum()), len(self._entered)
                best[size] = min(best.get(size, np.inf), error)
                leaving = self._leaving(state, best.get(size - 1, -np.inf), len(required), unit)
                if leaving is None:
                    break
                self._leave(state, leaving)
                state = self._with_best_alpha(state)
                yield self._step(state, leaving, added=False)

    def _state(self, alpha: float, columns: Index) -> HeldOutState:
        return self.kind(self.problem, alpha, columns, n_threads=self.n_threads, keep_columns=self.floating)

    def _begin(self, required: Sequence[int]) -> tuple[HeldOutState, int]:
        """Return the state before the first step, and the unit that enters; with several alphas, the best pair."""
        columns, found = np.arange(self.problem.n_columns), []
        for alpha in self.alphas:
            state = self._state(alpha, columns)
            if required and len(self.alphas) == 1:
                return state, required[0]
            errors = self._unit_errors(state)
            unit = required[0] if required else lowest(errors)
            if len(self.alphas) == 1:
                return state, unit
            found.append((float(errors[unit]), unit))
        best = lowest(np.array([error for error, _ in found]))
        return self._state(self.alphas[best], columns), found[best][1]

    def _unit_errors(self, state: HeldOutState) -> Float:
        """Return the error with each unit; infinity for those that have been chosen."""
        errors: Float = state.errors()[self._first]
        errors[self._entered] = np.inf
        for number in self._groups:
            if number in self._entered:
                continue
            part = state.taking(self.units[number])
            for place in range(len(self.units[number]) - 1):
                part.enter(place)
            errors[number] = part.errors()[-1]
        return errors

    def _next(self, state: HeldOutState) -> int:
        return lowest(self._unit_errors(state))

    def _enter(self, state: HeldOutState, unit: int) -> None:
        for column in self.units[unit].tolist():
            self._chosen = self._chosen.with_column(column, state.enter(column), state.target)
        self._entered.append(unit)

    def _places(self, unit: int) -> list[int]:
        """Return the positions of the columns of a chosen unit among the chosen columns."""
        return np.flatnonzero(np.isin(self._chosen.columns, self.units[unit])).tolist()

    def _leave(self, state: HeldOutState, unit: int) -> None:
        self._chosen = _without(state, self._chosen, self._places(unit))
        self._entered.remove(unit)

    def _leaving(self, state: HeldOutState, best: float, n_required: int, newest: int) -> int | None:
        """Return the unit without which the error is lowest, if that is lower than the best of this size so far."""
        candidates = sorted(unit for unit in self._entered[n_required:] if unit != newest)
        if not candidates or best == -np.inf:
            return None
        errors = []
        for unit in candidates:
            part = state.taking(np.zeros(0, dtype=np.int64))
            _without(part, self._chosen, self._places(unit))
            errors.append(float(part.losses().sum()))
        leaving = lowest(np.array(errors))
        return candidates[leaving] if errors[leaving] < best * (1.0 - SAME) else None

    def _with_best_alpha(self, state: HeldOutState) -> HeldOutState:
        """Return the state at the alpha with the lowest error of the chosen features."""
        if len(self.alphas) == 1:
            return state
        errors = [float(self._entering(alpha, self._chosen.columns).losses().sum()) for alpha in self.alphas]
        alpha = self.alphas[lowest(np.array(errors))]
        return state if alpha == state.alpha else self._entering(alpha, np.arange(self.problem.n_columns))

    def _entering(self, alpha: float, columns: Index) -> HeldOutState:
        """Return the state of some columns, with all chosen ones entered again at an alpha."""
        state = self._state(alpha, columns)
        place = {column: number for number, column in enumerate(columns.tolist())}
        for column in self._chosen.columns.tolist():
            state.enter(place[column])
        return state

    def _step(self, state: HeldOutState, unit: int, *, added: bool) -> SelectionStep:
        losses = state.losses()
        return SelectionStep(
            unit,
            added,
            tuple(self._entered),
            self._chosen.columns,
            self._chosen.coefficients(state.training_ridge),
            state.alpha,
            losses,
            state.standard_error(losses),
            state.pair_accuracy(),
        )


def _without(state: HeldOutState, chosen: ChosenColumns, places: list[int]) -> ChosenColumns:
    """Let chosen columns leave a state, the last first; return the others."""
    for place in sorted(places, reverse=True):
        state.remove(chosen, place)
        chosen = chosen.without(place)
    return chosen


# Falling error --------------------------------------------------------------------------------------------------------
#
# When to stop: where the held-out error stops falling, by its standard error.
#
# A step takes the best of n columns. Where none of them helps, their falls of the error scatter around zero or below,
# and the best of n normal deviates is about the quantile ``1 - 1/n``. So a fall counts if it is larger than its
# standard error times that quantile.


class FallingError:
    """Decides when the held-out error has stopped falling: after five steps without a sufficient decrease."""

    def __init__(self, state: type[HeldOutState], n_candidates: int) -> None:
        self.n_steps = 0
        self._state = state
        self._quantile = max(1.0, float(ndtri(1.0 - 1.0 / n_candidates)))
        self._before: SelectionStep | None = None
        self._seen = 0

    def has_stopped(self, step: SelectionStep) -> bool:
        """Return whether selection should stop; `n_steps` is the number of steps worth keeping, at least one."""
        self._seen += 1
        fall = np.zeros(1) if self._before is None else self._before.losses - step.losses
        if self._before is None or float(fall.sum()) > self._quantile * self._state.standard_error(fall):
            self.n_steps = self._seen
        self._before = step
        # How many steps a search looks ahead for a fall that counts.
        return self._seen - self.n_steps >= 5


# Column units ---------------------------------------------------------------------------------------------------------
#
# Units: the columns that enter a selection together.


def column_units(groups: Any, n_columns: int) -> list[Index]:
    """Return the columns of each unit; units in the order of their first columns.

    Shapes: groups (n_columns,).
    """
    if groups is None:
        return [np.array([column]) for column in range(n_columns)]
    if len(groups) != n_columns:
        raise InvalidInputError(
            f"Expected one label in feature_groups for each of the {n_columns} features of X; got {len(groups)}."
        )
    return list(Queries.from_labels(groups, n_columns, name="feature_groups"))


def required_units(required: Any, units: list[Index], names: NDArray[Any] | None) -> list[int]:
    """Return the units of the columns that must be selected, in the order given."""
    n_columns = sum(len(unit) for unit in units)
    unit_of = {int(column): number for number, unit in enumerate(units) for column in unit}
    place = {} if names is None else {str(name): number for number, name in enumerate(names)}
    found: list[int] = []
    for entry in [] if required is None else required:
        column = place.get(entry, -1) if isinstance(entry, str) else int(entry)
        if column not in unit_of:
            known = f"names of columns of X or numbers from 0 to {n_columns - 1}"
            raise InvalidInputError(f"Expected {known} in required_features; got {entry!r}.")
        if unit_of[column] not in found:
            found.append(unit_of[column])
    return found
