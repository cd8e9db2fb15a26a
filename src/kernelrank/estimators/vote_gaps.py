"""Gaps in votes: items that no votes connect, and items that win or lose all of their votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelrank.votes.votes import Votes

__all__ = ["VoteGaps"]

FEW = 3
"""So many names are listed."""


@dataclass(frozen=True)
class VoteGaps:
    """What votes do not determine.

    Parameters
    ----------
    sizes : tuple of int
        How many items each connected part has, the largest first; items without a vote are not counted.
    one_way : int
        How many strongly connected groups there are more than parts: votes between these went one way only.
    unbeaten, winless : tuple of int
        Items that won, or lost, all their votes.
    n_without_votes : int
        How many items have no vote.

    Examples
    --------
    >>> gaps = VoteGaps.of(Votes.count(4, np.array([[0, 1], [2, 3], [3, 2]])))
    >>> gaps.sizes, gaps.one_way, gaps.unbeaten
    ((2, 2), 1, (0,))
    """

    sizes: tuple[int, ...]
    one_way: int
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]
    n_without_votes: int = 0

    @classmethod
    def of(cls, votes: Votes) -> VoteGaps:
        """Find the unconnected parts of the graph of votes, O(m + k) time."""
        won, lost = votes.won + votes.tied, votes.lost + votes.tied
        to_second, to_first = won > 0, lost > 0
        winner = np.concatenate([votes.head[to_second], votes.tail[to_first]])
        loser = np.concatenate([votes.tail[to_second], votes.head[to_first]])
        m = votes.n_items
        graph = sparse.coo_array((np.ones(len(winner)), (winner, loser)), shape=(m, m)).tocsr()
        wins, losses = (np.bincount(ends, minlength=m) for ends in (winner, loser))
        voted = wins + losses > 0
        _, part = connected_components(graph, directed=False)
        _, group = connected_components(graph, directed=True, connection="strong")
        sizes = np.unique(part[voted], return_counts=True)[1]
        return cls(
            tuple(sorted(sizes.tolist(), reverse=True)),
            len(np.unique(group[voted])) - len(sizes),
            tuple(np.flatnonzero(voted & (losses == 0)).tolist()),
            tuple(np.flatnonzero(voted & (wins == 0)).tolist()),
            int((~voted).sum()),
        )

    def sentences(self, items: NDArray[Any]) -> list[str]:
        """Describe what is missing in sentences, with the names of items."""
        said = []
        if len(self.sizes) > 1:
            listed = ", ".join(f"{size:,}" for size in self.sizes[:FEW])
            more = ", ..." if len(self.sizes) > FEW else ""
            said.append(
                f"The votes do not connect all items: there are {len(self.sizes):,} groups, of {listed}{more} items, "
                "and no vote compares items of two groups. Only the regularisation decides how groups are ordered."
            )
        if self.one_way:
            parts = [
                f"{verb} all votes: {_some(which, items)}"
                for verb, which in (("won", self.unbeaten), ("lost", self.winless))
                if which
            ]
            who = f" ({'; '.join(parts)})" if parts else ""
            said.append(
                f"Some items only win or only lose against others{who}. Without regularisation their scores would be "
                "infinite; here they are finite, with wide intervals."
            )
        if self.n_without_votes:
            noun, them = ("item has", "it is") if self.n_without_votes == 1 else ("items have", "they are")
            said.append(f"{self.n_without_votes:,} {noun} no votes: {them} ranked by features only.")
        return said


def _some(which: tuple[int, ...], items: NDArray[Any]) -> str:
    names = ", ".join(str(items[item]) for item in which[:FEW])
    return names + (f" and {len(which) - FEW:,} more" if len(which) > FEW else "")
