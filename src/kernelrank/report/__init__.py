"""Displays in scikit-learn's style, explanations, and reports as one self-contained HTML page."""

from kernelrank.report.comparison import ForestDisplay, comparison_report
from kernelrank.report.displays import (
    AlphaCurveDisplay,
    ChartDisplay,
    ImportanceDisplay,
    QueryScoreDisplay,
    SelectionDisplay,
)
from kernelrank.report.estimates import (
    auc_report,
    concordance_report,
    dyads_report,
    leaderboard_report,
    selection_report,
)
from kernelrank.report.explanations import Explanation, explain
from kernelrank.report.ranking import folds_report, ranking_report
from kernelrank.report.risks import risk_report
from kernelrank.report.roc import ROCDisplay
from kernelrank.report.writing import Page

__all__ = [
    "AlphaCurveDisplay",
    "ChartDisplay",
    "Explanation",
    "ForestDisplay",
    "ImportanceDisplay",
    "Page",
    "QueryScoreDisplay",
    "ROCDisplay",
    "SelectionDisplay",
    "auc_report",
    "comparison_report",
    "concordance_report",
    "dyads_report",
    "explain",
    "folds_report",
    "leaderboard_report",
    "ranking_report",
    "risk_report",
    "selection_report",
]
