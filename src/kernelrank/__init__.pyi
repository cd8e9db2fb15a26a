"""The public names, and the modules that they are imported from at their first use."""

from kernelrank import (
    dask as dask,
    data as data,
    metrics as metrics,
    relations as relations,
    report as report,
    testing as testing,
)
from kernelrank.data import (
    make_preferences as make_preferences,
    make_ranking as make_ranking,
    read_pairs as read_pairs,
    read_ranking as read_ranking,
)
from kernelrank.dyads import (
    KroneckerRankRLS as KroneckerRankRLS,
    KroneckerRankRLSCV as KroneckerRankRLSCV,
    KroneckerRLS as KroneckerRLS,
    KroneckerRLSCV as KroneckerRLSCV,
    TwoStepRLS as TwoStepRLS,
    TwoStepRLSCV as TwoStepRLSCV,
    dyadic_holdout as dyadic_holdout,
)
from kernelrank.estimators import (
    RLS as RLS,
    AllPathsVectorizer as AllPathsVectorizer,
    CoRankRLS as CoRankRLS,
    MaxMarginClustering as MaxMarginClustering,
    NystromMap as NystromMap,
    RankRLS as RankRLS,
    RankSVM as RankSVM,
    RLSClassifier as RLSClassifier,
    TransductiveRankRLS as TransductiveRankRLS,
)
from kernelrank.exports import export as export
from kernelrank.features import View as View
from kernelrank.model_selection import (
    RLSCV as RLSCV,
    CalibratedRanker as CalibratedRanker,
    CoRankRLSCV as CoRankRLSCV,
    KernelSumRankRLSCV as KernelSumRankRLSCV,
    MetricRankRLSCV as MetricRankRLSCV,
    MetricRLSClassifierCV as MetricRLSClassifierCV,
    MetricRLSCV as MetricRLSCV,
    OrdinalRanker as OrdinalRanker,
    QueryKFold as QueryKFold,
    RankRLSCV as RankRLSCV,
    RLSClassifierCV as RLSClassifierCV,
    TransductiveRankRLSCV as TransductiveRankRLSCV,
    calibrate_comparisons as calibrate_comparisons,
    compare_auc as compare_auc,
    estimate_auc as estimate_auc,
    estimate_concordance as estimate_concordance,
    estimate_risk as estimate_risk,
    learning_curve as learning_curve,
    leave_one_out as leave_one_out,
    leave_pair_out as leave_pair_out,
    leave_preferences_out as leave_preferences_out,
    leave_query_out as leave_query_out,
    permutation_importance as permutation_importance,
    permutation_test as permutation_test,
    tournament_roc as tournament_roc,
)
from kernelrank.model_selection.holdout import holdout as holdout
from kernelrank.persistence.model_files import load as load, save as save
from kernelrank.selection import (
    GreedyRankRLS as GreedyRankRLS,
    GreedyRLS as GreedyRLS,
    selection_curve as selection_curve,
    selection_stability as selection_stability,
)
from kernelrank.votes import BradleyTerry as BradleyTerry, Leaderboard as Leaderboard

__version__: str
