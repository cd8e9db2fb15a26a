"""Exact cross-validation without refitting: one identity per file."""

from kernelrank.holdout.item_sets import ItemSets
from kernelrank.holdout.leave_one_out import leave_one_out
from kernelrank.holdout.leave_pair_out import leave_pair_out
from kernelrank.holdout.leave_query_out import leave_query_out
from kernelrank.holdout.leave_sets_out import leave_sets_out
from kernelrank.holdout.pairs import DifferingPairs
from kernelrank.holdout.problem import Problem
from kernelrank.holdout.result import PairHoldout, pair_accuracy

__all__ = [
    "DifferingPairs",
    "ItemSets",
    "PairHoldout",
    "Problem",
    "leave_one_out",
    "leave_pair_out",
    "leave_query_out",
    "leave_sets_out",
    "pair_accuracy",
]
