"""Exact cross-validation without refitting: one identity per file."""

from kernelrank.exact_cv.differing_pairs import DifferingPairs
from kernelrank.exact_cv.holdout_result import PairHoldout, pair_accuracy
from kernelrank.exact_cv.leave_pair_out import leave_pair_out
from kernelrank.exact_cv.leave_sets_out import leave_sets_out
from kernelrank.exact_cv.problem import Problem
from kernelrank.item_sets import ItemSets

__all__ = [
    "DifferingPairs",
    "ItemSets",
    "PairHoldout",
    "Problem",
    "leave_pair_out",
    "leave_sets_out",
    "pair_accuracy",
]
