"""Exact cross-validation without refitting: one identity per file."""

from kernelrank.holdout.item_sets import ItemSets
from kernelrank.holdout.leave_sets_out import leave_sets_out
from kernelrank.holdout.problem import Problem
from kernelrank.holdout.result import PairHoldout, pair_accuracy

__all__ = ["ItemSets", "PairHoldout", "Problem", "leave_sets_out", "pair_accuracy"]
