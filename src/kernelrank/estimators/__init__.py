"""The learners with scikit-learn's interface: thin classes over comparisons, features and solvers."""

from kernelrank.base.lazy import late_names

__all__, __getattr__, __dir__ = late_names(__name__, __file__)
