"""What is compared: graphs over the items, each known by its Laplacian."""

from kernelrank.comparisons.base import Comparisons
from kernelrank.comparisons.censored_times import CensoredTimes
from kernelrank.comparisons.costs import compare_pairs, compare_scores
from kernelrank.comparisons.item_scores import ItemScores
from kernelrank.comparisons.preference_graph import Preferences
from kernelrank.comparisons.relative_scores import RelativeScores
from kernelrank.comparisons.scored_comparisons import ScoredComparisons
from kernelrank.comparisons.scored_queries import ScoredQueries

__all__ = [
    "CensoredTimes",
    "Comparisons",
    "ItemScores",
    "Preferences",
    "RelativeScores",
    "ScoredComparisons",
    "ScoredQueries",
    "compare_pairs",
    "compare_scores",
]
