"""A ranked candidate: a pair with its score and the decision."""

from __future__ import annotations

from typing import NamedTuple

from kernelrank.relations.candidate import Candidate

__all__ = ["RankedCandidate"]


class RankedCandidate(NamedTuple):
    """A candidate pair with its predicted score and decision.

    Parameters
    ----------
    candidate : Candidate
    score : float
    interacts : bool
        Whether the score is above the threshold.
    """

    candidate: Candidate
    score: float
    interacts: bool
