"""What is compared: graphs over the items, each known by its Laplacian."""

from kernelrank.comparisons.base import Comparisons
from kernelrank.comparisons.item_scores import ItemScores
from kernelrank.comparisons.observed import compare_pairs, compare_scores
from kernelrank.comparisons.preferences import Preferences
from kernelrank.comparisons.relative_scores import RelativeScores
from kernelrank.comparisons.scored_queries import ScoredQueries

__all__ = [
    "Comparisons",
    "ItemScores",
    "Preferences",
    "RelativeScores",
    "ScoredQueries",
    "compare_pairs",
    "compare_scores",
]
