"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.estimators.clustering import MaxMarginClustering as MaxMarginClustering
from kernelrank.estimators.co_rank_rls import CoRankRLS as CoRankRLS
from kernelrank.estimators.posterior import ScoreComparison as ScoreComparison
from kernelrank.estimators.rank_rls import RankRLS as RankRLS
from kernelrank.estimators.rank_svm import RankSVM as RankSVM
from kernelrank.estimators.rls import RLS as RLS, RLSClassifier as RLSClassifier
from kernelrank.estimators.transductive import TransductiveRankRLS as TransductiveRankRLS
from kernelrank.estimators.vectorizers import AllPathsVectorizer as AllPathsVectorizer, NystromMap as NystromMap
