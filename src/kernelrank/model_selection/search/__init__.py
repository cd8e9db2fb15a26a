"""Estimators that choose alpha, and kernel parameters, by holding out: what they try, and how they judge it."""

from kernelrank.model_selection.search.co_rank_rls_cv import CoRankRLSCV
from kernelrank.model_selection.search.kronecker_rank_rls_cv import KroneckerRankRLSCV
from kernelrank.model_selection.search.kronecker_rls_cv import KroneckerRLSCV
from kernelrank.model_selection.search.rank_rls_cv import RankRLSCV
from kernelrank.model_selection.search.rls_classifier_cv import RLSClassifierCV
from kernelrank.model_selection.search.rls_cv import RLSCV
from kernelrank.model_selection.search.two_step_rls_cv import TwoStepRLSCV

__all__ = [
    "RLSCV",
    "CoRankRLSCV",
    "KroneckerRLSCV",
    "KroneckerRankRLSCV",
    "RLSClassifierCV",
    "RankRLSCV",
    "TwoStepRLSCV",
]
