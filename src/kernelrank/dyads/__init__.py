"""Two sets of objects: a score belongs to a dyad, a pair of a row object and a column object, each with its kernel."""

from kernelrank.base.lazy import late_names

__all__, __getattr__, __dir__ = late_names(__name__, __file__)
