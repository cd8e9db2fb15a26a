"""Feature selection by exact cross-validation: the held-out error with each column that may come next."""

from __future__ import annotations

from kernelrank.selection.greedy_search import GreedySearch, SelectionStep
from kernelrank.selection.selection_problem import SelectionProblem

__all__ = ["GreedySearch", "SelectionProblem", "SelectionStep"]
