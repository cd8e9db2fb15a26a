"""The learners with scikit-learn's interface: thin classes over comparisons, features and solvers."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.estimators.clustering import MaxMarginClustering
    from kernelrank.estimators.co_rank_rls import CoRankRLS
    from kernelrank.estimators.posterior import ScoreComparison
    from kernelrank.estimators.rank_rls import RankRLS
    from kernelrank.estimators.rank_svm import RankSVM
    from kernelrank.estimators.rls import RLS, RLSClassifier
    from kernelrank.estimators.transductive import TransductiveRankRLS
    from kernelrank.estimators.vectorizers import AllPathsVectorizer, NystromMap

__all__ = [
    "RLS",
    "AllPathsVectorizer",
    "CoRankRLS",
    "MaxMarginClustering",
    "NystromMap",
    "RLSClassifier",
    "RankRLS",
    "RankSVM",
    "ScoreComparison",
    "TransductiveRankRLS",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "AllPathsVectorizer": "vectorizers",
        "CoRankRLS": "co_rank_rls",
        "MaxMarginClustering": "clustering",
        "NystromMap": "vectorizers",
        "RLS": "rls",
        "RLSClassifier": "rls",
        "RankRLS": "rank_rls",
        "RankSVM": "rank_svm",
        "ScoreComparison": "posterior",
        "TransductiveRankRLS": "transductive",
    },
)
