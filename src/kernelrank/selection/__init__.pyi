"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.selection.curves import (
    SelectionCurve as SelectionCurve,
    SelectionStability as SelectionStability,
    selection_curve as selection_curve,
    selection_stability as selection_stability,
)
from kernelrank.selection.estimators import GreedyRankRLS as GreedyRankRLS, GreedyRLS as GreedyRLS
from kernelrank.selection.search import (
    FallingError as FallingError,
    GreedySearch as GreedySearch,
    SelectionStep as SelectionStep,
    column_units as column_units,
    required_units as required_units,
)
from kernelrank.selection.states import SelectionProblem as SelectionProblem
