"""Feature selection by exact cross-validation: the held-out error with each column that may come next."""

from __future__ import annotations

from kernelrank.selection.column_units import column_units, required_units
from kernelrank.selection.falling_error import FallingError
from kernelrank.selection.greedy_search import GreedySearch, SelectionStep
from kernelrank.selection.selection_problem import SelectionProblem

__all__ = [
    "FallingError",
    "GreedySearch",
    "SelectionProblem",
    "SelectionStep",
    "column_units",
    "required_units",
]
