"""Two sets of objects: a score belongs to a dyad, a pair of a row object and a column object, each with its kernel."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.dyads.dyadic_side import DyadicSide, SideSpectrum
    from kernelrank.dyads.folds import Setting
    from kernelrank.dyads.holdout import DyadicHoldout, dyadic_holdout
    from kernelrank.dyads.kronecker_rank_rls import KroneckerRankRLS
    from kernelrank.dyads.kronecker_rls import KroneckerRLS
    from kernelrank.dyads.problem import DyadicProblem, Regularisation
    from kernelrank.dyads.two_step_rls import TwoStepRLS

__all__ = [
    "DyadicHoldout",
    "DyadicProblem",
    "DyadicSide",
    "KroneckerRLS",
    "KroneckerRankRLS",
    "Regularisation",
    "Setting",
    "SideSpectrum",
    "TwoStepRLS",
    "dyadic_holdout",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "DyadicHoldout": "holdout",
        "DyadicProblem": "problem",
        "DyadicSide": "dyadic_side",
        "KroneckerRLS": "kronecker_rls",
        "KroneckerRankRLS": "kronecker_rank_rls",
        "Regularisation": "problem",
        "Setting": "folds",
        "SideSpectrum": "dyadic_side",
        "TwoStepRLS": "two_step_rls",
        "dyadic_holdout": "holdout",
    },
)
