"""Exact cross-validation without refitting: one dual inverse; sets, pairs, a basis, sets inside sets."""

from kernelrank.base.labels import ItemSets
from kernelrank.exact_cv.pair_forms import DifferingPairs, GivenPairs, ItemPairs, PairHoldout, pair_accuracy
from kernelrank.exact_cv.pairs import leave_pair_out
from kernelrank.exact_cv.problem import Problem
from kernelrank.exact_cv.sets import leave_sets_out

__all__ = [
    "DifferingPairs",
    "GivenPairs",
    "ItemPairs",
    "ItemSets",
    "PairHoldout",
    "Problem",
    "leave_pair_out",
    "leave_sets_out",
    "pair_accuracy",
]
