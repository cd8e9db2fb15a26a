"""Estimators that choose alpha, and kernel parameters, by cross-validation."""

from kernelrank.model_selection.search.co_rank_rls_cv import CoRankRLSCV
from kernelrank.model_selection.search.rls_classifier_cv import RLSClassifierCV
from kernelrank.model_selection.search.rls_cv import RLSCV

__all__ = ["RLSCV", "CoRankRLSCV", "RLSClassifierCV"]
