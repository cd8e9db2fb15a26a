"""Pairwise hinge losses, from sorted sweeps that never visit the pairs, and how they are minimised."""

from kernelrank.hinge.bundle import Bundle
from kernelrank.hinge.losses import Hinge, SmoothedHinge, SquaredHinge
from kernelrank.hinge.newton import Newton
from kernelrank.hinge.pairs import LossPoint, PairLoss, Pairs, PlacedPairs

__all__ = [
    "Bundle",
    "Hinge",
    "LossPoint",
    "Newton",
    "PairLoss",
    "Pairs",
    "PlacedPairs",
    "SmoothedHinge",
    "SquaredHinge",
]
