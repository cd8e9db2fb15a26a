"""Estimators that choose alpha, and kernel parameters, by cross-validation."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = late_names(
    __name__,
    {
        "RLSCV": "rls_cv",
        "CoRankRLSCV": "co_rank_rls_cv",
        "KroneckerRLSCV": "kronecker_rls_cv",
        "KroneckerRankRLSCV": "kronecker_rank_rls_cv",
        "RLSClassifierCV": "rls_classifier_cv",
        "RankRLSCV": "rank_rls_cv",
        "TwoStepRLSCV": "two_step_rls_cv",
    },
)
