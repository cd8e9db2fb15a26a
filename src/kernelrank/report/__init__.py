"""Displays in scikit-learn's style, explanations, and reports as one self-contained HTML page."""

from kernelrank.report.alpha_curve import AlphaCurveDisplay
from kernelrank.report.chart_display import ChartDisplay
from kernelrank.report.comparison import comparison_report
from kernelrank.report.concordance_report import concordance_report
from kernelrank.report.dyads_report import dyads_report
from kernelrank.report.estimates import auc_report
from kernelrank.report.explanation import Explanation, explain
from kernelrank.report.folds_report import folds_report
from kernelrank.report.forest import ForestDisplay
from kernelrank.report.importance import ImportanceDisplay
from kernelrank.report.leaderboard_report import leaderboard_report
from kernelrank.report.page import Page
from kernelrank.report.query_scores import QueryScoreDisplay
from kernelrank.report.ranking import ranking_report
from kernelrank.report.roc import ROCDisplay
from kernelrank.report.selection import SelectionDisplay
from kernelrank.report.selection_report import selection_report

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
    "selection_report",
]
