"""The scikit-learn face: thin estimators over comparisons, features and solvers."""

from kernelrank.estimators.rank_rls import RankRLS
from kernelrank.estimators.rls import RLS

__all__ = ["RLS", "RankRLS"]
