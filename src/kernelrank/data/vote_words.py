"""Words of votes: which side won in an arena log, and words for yes and no.

The column that says who won holds the names of the two columns, or those of the items, or words for the two sides; and
words for a tie. Which of the three it holds is the same in all rows: the first that explains every row, in this order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.columns import plain_name
from kernelrank.data.item_codes import ItemCodes
from kernelrank.data.line import shown
from kernelrank.data.table import MISSING
from kernelrank.data.vote_columns import SIDES, side_initials

__all__ = ["READ_AS", "TIES", "UNKNOWN", "WinnerWords", "is_missing", "truth"]

TIES = {
    "tie", "ties", "tied", "draw", "drawn", "equal", "same", "both", "bothbad", "bothgood", "neither", "even",
    "nopreference", "nodifference", "undecided", "12-12", "½-½",
}  # fmt: skip
"""Words for a tie, as small letters and digits; so is any word that begins with "tie", as "tie (bothbad)" does."""
FILLERS = {
    "model", "option", "item", "player", "team", "system", "response", "answer", "assistant", "candidate", "choice",
    "side", "is", "better", "wins", "won", "win",
}  # fmt: skip
"""Words that may stand beside one for a side, as in "Model A wins"."""
READ_AS = {
    "columns": "the column of the winner",
    "items": "the item that won",
    "sides": "the side that won",
}
"""What the column that says who won may hold."""
CHESS = {"1-0": 1, "0-1": -1}
TRUE = {"1", "true", "t", "yes", "y", "1.0", *TIES}
FALSE = {"0", "false", "f", "no", "n", "0.0"}
UNKNOWN = 9


def is_missing(word: str) -> bool:
    """Return whether a cell is empty or has a word for a missing value."""
    return MISSING.fullmatch(word.encode()) is not None


def truth(word: str) -> bool | None:
    """Read yes or no: True, or False (also if missing), or None for any other word.

    Examples
    --------
    >>> truth("yes"), truth("0"), truth(""), truth("perhaps")
    (True, False, False, None)
    """
    small = word.strip().lower()
    if small in FALSE or is_missing(word):
        return False
    return True if small in TRUE else None


def _is_tie(word: str) -> bool:
    kept = re.sub(r"[^a-z0-9½-]", "", word.lower())
    return word.strip() == "=" or kept in TIES or kept.startswith("tie")


def _side_of(word: str) -> int:
    """Return 1 for a word for the left side, -1 for the right, and else `UNKNOWN`."""
    if word.strip() in CHESS:
        return CHESS[word.strip()]
    parts = re.findall(r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", word).lower())
    if len(parts) > 1:
        parts = [part for part in parts if part not in FILLERS]
    lefts, rights = zip(*SIDES, strict=True)
    if len(parts) != 1:
        return UNKNOWN
    return 1 if parts[0] in lefts else -1 if parts[0] in rights else UNKNOWN


@dataclass(frozen=True)
class WinnerWords:
    """The words of the column that says which side won.

    Parameters
    ----------
    words : sequence of str
        The different words.
    sides : (str, str)
        The names of the two columns that hold the items.
    items : ItemCodes
        What the items are called.
    """

    words: Sequence[str]
    sides: tuple[str, str]
    items: ItemCodes

    @cached_property
    def ties(self) -> NDArray[np.bool_]:
        """Which words say that it was a tie."""
        return np.array([_is_tie(word) for word in self.words], dtype=np.bool_)

    def readings(self, codes: NDArray[np.int32], pairs: NDArray[np.int64]) -> dict[str, NDArray[np.int8]]:
        """Return who won each row, in each of three readings: 1 the left, -1 the right, 0 a tie, or `UNKNOWN`."""
        names = {plain_name(self.sides[0]): 1, plain_name(self.sides[1]): -1}
        by_name = np.array([names.get(plain_name(word), UNKNOWN) for word in self.words], dtype=np.int8)
        initials = side_initials(self.sides)
        by_side = np.array([initials.get(word.strip().lower(), _side_of(word)) for word in self.words], dtype=np.int8)
        by_side = np.where(by_side == UNKNOWN, by_name, by_side)
        item = np.array([self.items.code_of.get(word, -1) for word in self.words])[codes]
        by_item = np.where(item == pairs[:, 0], 1, np.where(item == pairs[:, 1], -1, UNKNOWN)).astype(np.int8)
        found = {"columns": by_name[codes], "items": by_item, "sides": by_side[codes]}
        return {kind: np.where(self.ties[codes], np.int8(0), won) for kind, won in found.items()}

    def reading(self, codes: NDArray[np.int32], pairs: NDArray[np.int64]) -> tuple[str, NDArray[np.int8], int]:
        """Return the reading that explains most rows, the first of those that explain as many.

        Returns
        -------
        kind : {"columns", "items", "sides"}
        won : ndarray of int8, shape (m,)
        n_explained : int
        """
        readings = self.readings(codes, pairs)
        counts = {kind: int(np.count_nonzero(won != UNKNOWN)) for kind, won in readings.items()}
        kind = max(counts, key=lambda kind: counts[kind])
        return kind, readings[kind], counts[kind]

    def fault(self, word: str, pair: tuple[str, str], kind: str, others: str | None) -> str:
        """Return the error message for a word that does not name a winner in the reading that explains most rows.

        `others` is a reading that explains it, if there is one.
        """
        left, right = self.sides
        if others is not None:
            what = {"columns": "a column", "items": "an item", "sides": "a side"}[others]
            return f"{shown(word)} is {what}, but other rows have {READ_AS[kind]}: write the same in all rows"
        expected = (
            f"expected {left!r} or {right!r}, {shown(pair[0])} or {shown(pair[1])}, a side (left or right, a or b, "
            "1 or 2, first or second, home or away), or tie"
        )
        if is_missing(word):
            return f"the winner is missing: {expected}"
        hint = "; 0 and 1 may mean either side: write left and right" if word in ("0", "1") else ""
        return f"{shown(word)} does not name a winner: {expected}{hint}"
