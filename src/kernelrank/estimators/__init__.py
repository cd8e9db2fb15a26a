"""The learners with scikit-learn's interface: thin classes over comparisons, features and solvers."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.estimators.all_paths_vectorizer import AllPathsVectorizer
    from kernelrank.estimators.clustering import MaxMarginClustering
    from kernelrank.estimators.co_rank_rls import CoRankRLS
    from kernelrank.estimators.greedy_rank_rls import GreedyRankRLS
    from kernelrank.estimators.greedy_rls import GreedyRLS
    from kernelrank.estimators.rank_rls import RankRLS
    from kernelrank.estimators.rank_svm import RankSVM
    from kernelrank.estimators.rls import RLS
    from kernelrank.estimators.rls_classifier import RLSClassifier
    from kernelrank.estimators.score_comparison import ScoreComparison
    from kernelrank.estimators.transductive import TransductiveRankRLS
    from kernelrank.estimators.vectorizers import NystromMap

__all__ = [
    "RLS",
    "AllPathsVectorizer",
    "CoRankRLS",
    "GreedyRLS",
    "GreedyRankRLS",
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
        "AllPathsVectorizer": "all_paths_vectorizer",
        "CoRankRLS": "co_rank_rls",
        "GreedyRLS": "greedy_rls",
        "GreedyRankRLS": "greedy_rank_rls",
        "MaxMarginClustering": "clustering",
        "NystromMap": "vectorizers",
        "RLS": "rls",
        "RLSClassifier": "rls_classifier",
        "RankRLS": "rank_rls",
        "RankSVM": "rank_svm",
        "ScoreComparison": "score_comparison",
        "TransductiveRankRLS": "transductive",
    },
)
