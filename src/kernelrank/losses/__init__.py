"""Pairwise losses: hinges over pairs, from sorted sweeps that never visit the pairs."""

from kernelrank.losses.curvature import Curvature
from kernelrank.losses.listed_pairs import ListedPairs
from kernelrank.losses.scored_pairs import ScoredPairs

__all__ = [
    "Curvature",
    "ListedPairs",
    "ScoredPairs",
]
