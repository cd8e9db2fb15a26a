"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.dyads.estimators import (
    KroneckerRankRLS as KroneckerRankRLS,
    KroneckerRLS as KroneckerRLS,
    TwoStepRLS as TwoStepRLS,
)
from kernelrank.dyads.folds import Setting as Setting
from kernelrank.dyads.holdout import DyadicHoldout as DyadicHoldout, dyadic_holdout as dyadic_holdout
from kernelrank.dyads.problem import (
    DyadicProblem as DyadicProblem,
    DyadicSide as DyadicSide,
    Regularisation as Regularisation,
    SideSpectrum as SideSpectrum,
)
from kernelrank.dyads.searches import (
    KroneckerRankRLSCV as KroneckerRankRLSCV,
    KroneckerRLSCV as KroneckerRLSCV,
    TwoStepRLSCV as TwoStepRLSCV,
)
