"""Exact cross-validation without refitting: one identity per file."""

from kernelrank.holdout.result import PairHoldout, pair_accuracy

__all__ = ["PairHoldout", "pair_accuracy"]
