"""Model selection and evaluation: searches, splitters, hold-out for any estimator, AUC, permutation tests."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.model_selection.auc import AUCEstimate, estimate_auc
    from kernelrank.model_selection.auc_comparison import AUCComparison, TournamentROC, compare_auc, tournament_roc
    from kernelrank.model_selection.concordance import ConcordanceEstimate, estimate_concordance
    from kernelrank.model_selection.holdout import leave_one_out, leave_pair_out, leave_query_out
    from kernelrank.model_selection.permutation import (
        PermutationImportance,
        PermutationTest,
        permutation_importance,
        permutation_test,
    )
    from kernelrank.model_selection.preferences import PreferenceHoldout, calibrate_comparisons, leave_preferences_out
    from kernelrank.model_selection.refits import QueryKFold
    from kernelrank.model_selection.searches import RLSCV, CoRankRLSCV, RankRLSCV, RLSClassifierCV
    from kernelrank.selection.curves import SelectionCurve, SelectionStability, selection_curve, selection_stability

__all__ = [
    "RLSCV",
    "AUCComparison",
    "AUCEstimate",
    "CoRankRLSCV",
    "ConcordanceEstimate",
    "PermutationImportance",
    "PermutationTest",
    "PreferenceHoldout",
    "QueryKFold",
    "RLSClassifierCV",
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
        "AUCEstimate": "auc",
        "CoRankRLSCV": "searches",
        "ConcordanceEstimate": "concordance",
        "PermutationImportance": "permutation",
        "PermutationTest": "permutation",
        "PreferenceHoldout": "preferences",
        "QueryKFold": "refits",
        "RLSCV": "searches",
        "RLSClassifierCV": "searches",
        "RankRLSCV": "searches",
        "SelectionCurve": "kernelrank.selection.curves",
        "SelectionStability": "kernelrank.selection.curves",
        "TournamentROC": "auc_comparison",
        "calibrate_comparisons": "preferences",
        "compare_auc": "auc_comparison",
        "estimate_auc": "auc",
        "estimate_concordance": "concordance",
        "leave_one_out": "holdout",
        "leave_pair_out": "holdout",
        "leave_preferences_out": "preferences",
        "leave_query_out": "holdout",
        "permutation_importance": "permutation",
        "permutation_test": "permutation",
        "selection_curve": "kernelrank.selection.curves",
        "selection_stability": "kernelrank.selection.curves",
        "tournament_roc": "auc_comparison",
    },
)
