"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.model_selection.auc import AUCEstimate as AUCEstimate, estimate_auc as estimate_auc
from kernelrank.model_selection.auc_comparison import (
    AUCComparison as AUCComparison,
    TournamentROC as TournamentROC,
    compare_auc as compare_auc,
    tournament_roc as tournament_roc,
)
from kernelrank.model_selection.calibration import CalibratedRanker as CalibratedRanker
from kernelrank.model_selection.concordance import (
    ConcordanceEstimate as ConcordanceEstimate,
    RiskCoefficients as RiskCoefficients,
    estimate_concordance as estimate_concordance,
    risk_coefficients as risk_coefficients,
)
from kernelrank.model_selection.holdout import (
    leave_one_out as leave_one_out,
    leave_pair_out as leave_pair_out,
    leave_query_out as leave_query_out,
)
from kernelrank.model_selection.kernel_sums import KernelSumRankRLSCV as KernelSumRankRLSCV
from kernelrank.model_selection.metric_search import (
    MetricRankRLSCV as MetricRankRLSCV,
    MetricRLSClassifierCV as MetricRLSClassifierCV,
    MetricRLSCV as MetricRLSCV,
)
from kernelrank.model_selection.ordinal import OrdinalRanker as OrdinalRanker
from kernelrank.model_selection.permutation import (
    PermutationImportance as PermutationImportance,
    PermutationTest as PermutationTest,
    permutation_importance as permutation_importance,
    permutation_test as permutation_test,
)
from kernelrank.model_selection.preferences import (
    PreferenceHoldout as PreferenceHoldout,
    calibrate_comparisons as calibrate_comparisons,
    leave_preferences_out as leave_preferences_out,
)
from kernelrank.model_selection.refit_search import (
    RefitSearch as RefitSearch,
    search_folds as search_folds,
    search_on_data as search_on_data,
    search_preferences as search_preferences,
)
from kernelrank.model_selection.refits import QueryKFold as QueryKFold
from kernelrank.model_selection.searches import (
    RLSCV as RLSCV,
    CoRankRLSCV as CoRankRLSCV,
    RankRLSCV as RankRLSCV,
    RLSClassifierCV as RLSClassifierCV,
)
from kernelrank.model_selection.transductive import TransductiveRankRLSCV as TransductiveRankRLSCV
from kernelrank.model_selection.learning_curves import LearningCurve as LearningCurve, learning_curve as learning_curve
from kernelrank.model_selection.risk import RiskEstimate as RiskEstimate, estimate_risk as estimate_risk
from kernelrank.selection.curves import (
    SelectionCurve as SelectionCurve,
    SelectionStability as SelectionStability,
    selection_curve as selection_curve,
    selection_stability as selection_stability,
)
