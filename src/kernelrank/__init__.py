"""Kernel-based learning to rank with scikit-learn estimators.

Everything public is imported at its first use, so that ``import kernelrank`` itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank import dask, data, metrics, relations, report, testing
    from kernelrank.data import make_preferences, make_ranking, read_pairs, read_ranking
    from kernelrank.dyads import (
        KroneckerRankRLS,
        KroneckerRankRLSCV,
        KroneckerRLS,
        KroneckerRLSCV,
        TwoStepRLS,
        TwoStepRLSCV,
        dyadic_holdout,
    )
    from kernelrank.estimators import (
        RLS,
        AllPathsVectorizer,
        CoRankRLS,
        MaxMarginClustering,
        NystromMap,
        RankRLS,
        RankSVM,
        RLSClassifier,
        TransductiveRankRLS,
    )
    from kernelrank.exports import export
    from kernelrank.features import View
    from kernelrank.model_selection import (
        RLSCV,
        CoRankRLSCV,
        QueryKFold,
        RankRLSCV,
        RLSClassifierCV,
        calibrate_comparisons,
        compare_auc,
        estimate_auc,
        estimate_concordance,
        leave_one_out,
        leave_pair_out,
        leave_preferences_out,
        leave_query_out,
        permutation_importance,
        permutation_test,
        tournament_roc,
    )
    from kernelrank.model_selection.holdout import holdout
    from kernelrank.persistence.model_files import load, save
    from kernelrank.selection import GreedyRankRLS, GreedyRLS, selection_curve, selection_stability
    from kernelrank.votes import BradleyTerry, Leaderboard

__version__ = "0.1.0"

__all__ = [
    "RLS",
    "RLSCV",
    "AllPathsVectorizer",
    "BradleyTerry",
    "CoRankRLS",
    "CoRankRLSCV",
    "GreedyRLS",
    "GreedyRankRLS",
    "KroneckerRLS",
    "KroneckerRLSCV",
    "KroneckerRankRLS",
    "KroneckerRankRLSCV",
    "Leaderboard",
    "MaxMarginClustering",
    "NystromMap",
    "QueryKFold",
    "RLSClassifier",
    "RLSClassifierCV",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "TransductiveRankRLS",
    "TwoStepRLS",
    "TwoStepRLSCV",
    "View",
    "calibrate_comparisons",
    "compare_auc",
    "dask",
    "data",
    "dyadic_holdout",
    "estimate_auc",
    "estimate_concordance",
    "export",
    "holdout",
    "leave_one_out",
    "leave_pair_out",
    "leave_preferences_out",
    "leave_query_out",
    "load",
    "make_preferences",
    "make_ranking",
    "metrics",
    "permutation_importance",
    "permutation_test",
    "read_pairs",
    "read_ranking",
    "relations",
    "report",
    "save",
    "selection_curve",
    "selection_stability",
    "testing",
    "tournament_roc",
]

_HOMES = {
    "RLS": "estimators",
    "RLSCV": "model_selection",
    "RLSClassifier": "estimators",
    "RLSClassifierCV": "model_selection",
    "AllPathsVectorizer": "estimators",
    "BradleyTerry": "votes",
    "CoRankRLS": "estimators",
    "CoRankRLSCV": "model_selection",
    "GreedyRLS": "selection",
    "GreedyRankRLS": "selection",
    "KroneckerRLS": "dyads",
    "KroneckerRLSCV": "dyads",
    "KroneckerRankRLS": "dyads",
    "MaxMarginClustering": "estimators",
    "KroneckerRankRLSCV": "dyads",
    "Leaderboard": "votes",
    "NystromMap": "estimators",
    "RankRLS": "estimators",
    "RankRLSCV": "model_selection",
    "RankSVM": "estimators",
    "TransductiveRankRLS": "estimators",
    "TwoStepRLS": "dyads",
    "TwoStepRLSCV": "dyads",
    "View": "features",
    "QueryKFold": "model_selection",
    "calibrate_comparisons": "model_selection",
    "compare_auc": "model_selection",
    "dyadic_holdout": "dyads",
    "estimate_auc": "model_selection",
    "estimate_concordance": "model_selection",
    "export": "exports",
    "permutation_importance": "model_selection",
    "permutation_test": "model_selection",
    "selection_curve": "selection",
    "selection_stability": "selection",
    "tournament_roc": "model_selection",
    "holdout": "model_selection.holdout",
    "leave_one_out": "model_selection",
    "leave_pair_out": "model_selection",
    "leave_preferences_out": "model_selection",
    "leave_query_out": "model_selection",
    "load": "persistence",
    "make_preferences": "data",
    "make_ranking": "data",
    "read_pairs": "data",
    "read_ranking": "data",
    "save": "persistence",
}


def __getattr__(name: str) -> Any:
    """Import a public name from the room that it lives in."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"kernelrank.{_HOMES[name]}"), name)
    if name in ("dask", "data", "metrics", "relations", "report", "testing"):
        return importlib.import_module(f"kernelrank.{name}")
    raise AttributeError(f"module 'kernelrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
