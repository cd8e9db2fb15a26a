"""Model selection and evaluation: searches, splitters, hold-out for any estimator, AUC, permutation tests."""

from kernelrank.base.lazy import late_names

__all__, __getattr__, __dir__ = late_names(__name__, __file__)
