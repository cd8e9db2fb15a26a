"""Feature selection by exact cross-validation: the held-out error with each column that may come next."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.selection.curves import SelectionCurve, SelectionStability, selection_curve, selection_stability
    from kernelrank.selection.estimators import GreedyRankRLS, GreedyRLS
    from kernelrank.selection.search import FallingError, GreedySearch, SelectionStep, column_units, required_units
    from kernelrank.selection.states import SelectionProblem

__all__ = [
    "FallingError",
    "GreedyRLS",
    "GreedyRankRLS",
    "GreedySearch",
    "SelectionCurve",
    "SelectionProblem",
    "SelectionStability",
    "SelectionStep",
    "column_units",
    "required_units",
    "selection_curve",
    "selection_stability",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "FallingError": "search",
        "GreedyRLS": "estimators",
        "GreedyRankRLS": "estimators",
        "GreedySearch": "search",
        "SelectionCurve": "curves",
        "SelectionProblem": "states",
        "SelectionStability": "curves",
        "SelectionStep": "search",
        "column_units": "search",
        "required_units": "search",
        "selection_curve": "curves",
        "selection_stability": "curves",
    },
)
