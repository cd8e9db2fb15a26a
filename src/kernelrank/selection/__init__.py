"""Feature selection by exact cross-validation: the held-out error with each column that may come next."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = late_names(
    __name__,
    {
        "FallingError": "falling_error",
        "GreedySearch": "greedy_search",
        "SelectionProblem": "selection_problem",
        "SelectionStep": "greedy_search",
        "column_units": "column_units",
        "required_units": "column_units",
    },
)
