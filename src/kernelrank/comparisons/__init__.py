"""What is compared: graphs over the items, each known by its Laplacian."""

from kernelrank.comparisons.censored import CensoredTimes
from kernelrank.comparisons.costs import compare_pairs, compare_scores
from kernelrank.comparisons.graph import Comparisons
from kernelrank.comparisons.preferences import PreferenceGraph
from kernelrank.comparisons.relative import RelativeScores
from kernelrank.comparisons.scored import ItemScores, ScoredComparisons, ScoredQueries

__all__ = [
    "CensoredTimes",
    "Comparisons",
    "ItemScores",
    "PreferenceGraph",
    "Preferences",
    "RelativeScores",
    "ScoredComparisons",
    "ScoredQueries",
    "compare_pairs",
    "compare_scores",
]

Preferences = PreferenceGraph  # as it was called before `kernelrank.data.Preferences` was
