"""Splitters, and hold-out for any estimator."""

from kernelrank.model_selection.query_k_fold import QueryKFold

__all__ = ["QueryKFold"]
