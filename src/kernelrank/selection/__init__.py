"""Feature selection by exact cross-validation: the held-out error with each column that may come next."""

from kernelrank.base.lazy import late_names

__all__, __getattr__, __dir__ = late_names(__name__, __file__)
