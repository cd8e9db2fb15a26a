"""Model selection and evaluation: searches, splitters, hold-out for any estimator, AUC, permutation tests."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.model_selection.auc import estimate_auc
    from kernelrank.model_selection.auc_comparison import AUCComparison, compare_auc
    from kernelrank.model_selection.auc_estimate import AUCEstimate
    from kernelrank.model_selection.concordance import ConcordanceEstimate, estimate_concordance
    from kernelrank.model_selection.feature_importance import PermutationImportance, permutation_importance
    from kernelrank.model_selection.holdout import leave_one_out, leave_pair_out, leave_query_out
    from kernelrank.model_selection.permutation import PermutationTest, permutation_test
    from kernelrank.model_selection.preferences import PreferenceHoldout, leave_preferences_out
    from kernelrank.model_selection.query_k_fold import QueryKFold
    from kernelrank.model_selection.score_calibration import calibrate_comparisons
    from kernelrank.model_selection.searches import RankRLSCV
    from kernelrank.model_selection.tournament import TournamentROC, tournament_roc
    from kernelrank.selection.curves import SelectionCurve, SelectionStability, selection_curve, selection_stability

__all__ = [
    "AUCComparison",
    "AUCEstimate",
    "ConcordanceEstimate",
    "PermutationImportance",
    "PermutationTest",
    "PreferenceHoldout",
    "QueryKFold",
    "RankRLSCV",
    "SelectionCurve",
    "SelectionStability",
    "TournamentROC",
    "calibrate_comparisons",
    "compare_auc",
    "estimate_auc",
    "estimate_concordance",
    "leave_one_out",
    "leave_pair_out",
    "leave_preferences_out",
    "leave_query_out",
    "permutation_importance",
    "permutation_test",
    "selection_curve",
    "selection_stability",
    "tournament_roc",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "AUCComparison": "auc_comparison",
        "AUCEstimate": "auc_estimate",
        "ConcordanceEstimate": "concordance",
        "PermutationImportance": "feature_importance",
        "PermutationTest": "permutation",
        "PreferenceHoldout": "preferences",
        "QueryKFold": "query_k_fold",
        "RankRLSCV": "searches",
        "SelectionCurve": "kernelrank.selection.curves",
        "SelectionStability": "kernelrank.selection.curves",
        "TournamentROC": "tournament",
        "calibrate_comparisons": "score_calibration",
        "compare_auc": "auc_comparison",
        "estimate_auc": "auc",
        "estimate_concordance": "concordance",
        "leave_one_out": "holdout",
        "leave_pair_out": "holdout",
        "leave_preferences_out": "preferences",
        "leave_query_out": "holdout",
        "permutation_importance": "feature_importance",
        "permutation_test": "permutation",
        "selection_curve": "kernelrank.selection.curves",
        "selection_stability": "kernelrank.selection.curves",
        "tournament_roc": "tournament",
    },
)
