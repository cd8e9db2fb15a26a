"""Feature selection by exact cross-validation: the held-out error with each column that may come next."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.selection.column_units import column_units, required_units
    from kernelrank.selection.curves import SelectionCurve, selection_curve
    from kernelrank.selection.falling_error import FallingError
    from kernelrank.selection.search import GreedySearch, SelectionStep
    from kernelrank.selection.selection_problem import SelectionProblem

__all__ = [
    "FallingError",
    "GreedySearch",
    "SelectionCurve",
    "SelectionProblem",
    "SelectionStep",
    "column_units",
    "required_units",
    "selection_curve",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "FallingError": "falling_error",
        "GreedySearch": "search",
        "SelectionCurve": "curves",
        "SelectionProblem": "selection_problem",
        "SelectionStep": "search",
        "column_units": "column_units",
        "required_units": "column_units",
        "selection_curve": "curves",
    },
)
