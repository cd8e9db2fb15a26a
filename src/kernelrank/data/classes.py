"""Classes: a target in words, and which of the two words counts as 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.line import shown
from kernelrank.data.table import Table

__all__ = ["Classes"]

POSITIVE = frozenset(
    {
        "case",
        "cases",
        "positive",
        "pos",
        "yes",
        "true",
        "t",
        "y",
        "disease",
        "diseased",
        "event",
        "dead",
        "tumor",
        "tumour",
        "malignant",
        "m",
    }
)
NEGATIVE = frozenset(
    {
        "control",
        "controls",
        "negative",
        "neg",
        "no",
        "false",
        "f",
        "n",
        "healthy",
        "normal",
        "censored",
        "alive",
        "benign",
        "b",
    }
)
# One letter says something only beside its opposite: "m" and "b" are malignant and benign, "m" and "f" are not.
OPPOSITES = {"t": "f", "y": "n", "m": "b"}


@dataclass(frozen=True)
class Classes:
    """Two classes of a target.

    Parameters
    ----------
    negative, positive : str
        The words for 0 and 1; an empty `negative` stands for all words but the other.
    note : str
        Which is which, and why, in words.
    """

    negative: str
    positive: str
    note: str

    @property
    def names(self) -> tuple[str, str]:
        """The two words, that for 0 first."""
        return self.negative or f"not {self.positive}", self.positive

    def targets(self, words: NDArray[np.str_]) -> NDArray[np.float64]:
        """Return 1 for the positive class and 0 for the other."""
        is_positive: NDArray[np.bool_] = words == self.positive
        return is_positive.astype(np.float64)

    @classmethod
    def of(cls, words: Mapping[str, int], positive: str | None, table: Table, column: int) -> Classes:
        """Find the classes from the words of a target, each with its first position.

        The one of two words that usually means a case is the positive class, else the one that comes second in the
        alphabet, as in scikit-learn.

        Examples
        --------
        >>> Classes.of({"case": 2, "control": 3}, None, None, 0).names
        ('control', 'case')
        """
        if positive is not None:
            return cls._chosen(words, positive, table, column)
        known = sorted(words, key=str.casefold)
        if len(known) > 2:
            third = sorted(words.values())[2]
            listed = ", ".join(shown(word.encode()) for word in known[:5])
            message = f"a third class in the target ({listed}): expected numbers, two classes, or which is positive"
            raise table.error(message, third, column)
        if len(known) == 1:
            return cls._alone(known[0], table, column)
        for negative, other in (known, known[::-1]):
            if _opposed(negative.casefold(), other.casefold()):
                return cls(negative, other, f"the target {other!r} is 1 and {negative!r} is 0, by their meaning")
        negative, other = known
        return cls(negative, other, f"the target {other!r} is 1 and {negative!r} is 0, by the alphabet")

    @classmethod
    def _chosen(cls, words: Mapping[str, int], positive: str, table: Table, column: int) -> Classes:
        if positive not in words:
            listed = ", ".join(repr(word) for word in sorted(words)[:10])
            raise table.error(f"no row has the positive class {positive!r}; the classes are {listed}", None, column)
        others = [word for word in words if word != positive]
        negative = others[0] if len(others) == 1 else ""
        return cls(negative, positive, f"the target {positive!r} is 1 and {negative or 'everything else'!r} is 0")

    @classmethod
    def _alone(cls, word: str, table: Table, column: int) -> Classes:
        plain = word.casefold()
        if len(plain) > 1 and plain in POSITIVE:
            return cls("", word, f"the target {word!r} is 1, by its meaning; there is no other")
        if len(plain) > 1 and plain in NEGATIVE:
            return cls(word, "", f"the target {word!r} is 0, by its meaning; there is no other")
        message = f"all targets are {shown(word.encode())}: expected numbers or two classes"
        raise table.error(message, None, column)


def _opposed(negative: str, positive: str) -> bool:
    if len(negative) == 1 or len(positive) == 1:
        return OPPOSITES.get(positive) == negative
    return (positive in POSITIVE) + (negative in NEGATIVE) > (negative in POSITIVE) + (positive in NEGATIVE)
