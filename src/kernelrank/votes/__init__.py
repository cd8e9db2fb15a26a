"""Votes: one item is better than another, told by a likelihood; leaderboards and Bradley-Terry models."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.votes.bradley_terry import BradleyTerry
    from kernelrank.votes.leaderboard import Leaderboard

__all__ = [
    "BradleyTerry",
    "Leaderboard",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "BradleyTerry": "bradley_terry",
        "Leaderboard": "leaderboard",
    },
)
