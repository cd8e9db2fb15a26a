"""Pairwise hinge losses, from sorted sweeps that never visit the pairs, and how they are minimised."""

from kernelrank.hinge.bundle import Bundle
from kernelrank.hinge.losses import Hinge, SmoothedHinge, SquaredHinge
from kernelrank.hinge.newton import Newton
from kernelrank.hinge.pairs import Curvature, ListedPairs, LossPoint, PairLoss, Pairs, PlacedPairs, ScoredPairs
from kernelrank.hinge.problem import CertifiedSolution

__all__ = [
    "Bundle",
    "CertifiedSolution",
    "Curvature",
    "Hinge",
    "ListedPairs",
    "LossPoint",
    "Newton",
    "PairLoss",
    "Pairs",
    "PlacedPairs",
    "ScoredPairs",
    "SmoothedHinge",
    "SquaredHinge",
]
