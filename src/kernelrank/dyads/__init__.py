"""Two sets of objects: a score belongs to a dyad, a pair of a row object and a column object, each with its kernel."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.dyads.estimators import KroneckerRankRLS, KroneckerRLS, TwoStepRLS
    from kernelrank.dyads.folds import Setting
    from kernelrank.dyads.holdout import DyadicHoldout, dyadic_holdout
    from kernelrank.dyads.problem import DyadicProblem, DyadicSide, Regularisation, SideSpectrum
    from kernelrank.dyads.searches import KroneckerRankRLSCV, KroneckerRLSCV, TwoStepRLSCV

__all__ = [
    "DyadicHoldout",
    "DyadicProblem",
    "DyadicSide",
    "KroneckerRLS",
    "KroneckerRLSCV",
    "KroneckerRankRLS",
    "KroneckerRankRLSCV",
    "Regularisation",
    "Setting",
    "SideSpectrum",
    "TwoStepRLS",
    "TwoStepRLSCV",
    "dyadic_holdout",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "DyadicHoldout": "holdout",
        "DyadicProblem": "problem",
        "DyadicSide": "problem",
        "KroneckerRLS": "estimators",
        "KroneckerRLSCV": "searches",
        "KroneckerRankRLS": "estimators",
        "KroneckerRankRLSCV": "searches",
        "Regularisation": "problem",
        "Setting": "folds",
        "SideSpectrum": "problem",
        "TwoStepRLS": "estimators",
        "TwoStepRLSCV": "searches",
        "dyadic_holdout": "holdout",
    },
)
