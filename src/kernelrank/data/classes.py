"""Classes: a text target, and which of its two words is the positive class, 1.

Python follows scikit-learn: the word that sorts last is 1, unless `pos_label` says otherwise. The command may guess,
and says so: the word that usually means a case is 1, or whose opposite usually means a control; where the words say
nothing, the one that sorts last.
"""

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

GIVEN, MEANING, SORTED = "as requested", "by its meaning", "it sorts last"
"""Why a class is positive."""


@dataclass(frozen=True)
class Classes:
    """Two classes of a target.

    Parameters
    ----------
    negative, positive : str
        The words for 0 and 1; an empty `negative` stands for all words but the other.
    reason : str
        Why this one is positive, in words.
    note : str
        Which is which, and why.
    """

    negative: str
    positive: str
    reason: str
    note: str

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two classes: the negative one, then the positive one."""
        return self.negative or f"not {self.positive}", self.positive

    def targets(self, words: NDArray[np.str_]) -> NDArray[np.float64]:
        """Return 1 for the positive class and 0 for the other."""
        is_positive: NDArray[np.bool_] = words == self.positive
        return is_positive.astype(np.float64)

    @classmethod
    def of(
        cls,
        words: Mapping[str, int],
        table: Table,
        column: int,
        *,
        pos_label: str | None = None,
        guess: bool = False,
    ) -> Classes:
        """Find the classes from the words of a target, each with its first position.

        Parameters
        ----------
        words : mapping from str to int
        table, column
            For errors.
        pos_label : str, optional
            The positive class; the one that sorts last unless given.
        guess : bool, default=False
            Whether the one of two words that usually means a case is positive, whichever sorts last.

        Returns
        -------
        Classes

        Examples
        --------
        >>> Classes.of({"case": 2, "control": 3}, None, 0).names
        ('case', 'control')
        >>> Classes.of({"case": 2, "control": 3}, None, 0, guess=True).names
        ('control', 'case')
        """
        if pos_label is not None:
            return cls._chosen(words, pos_label, table, column)
        known = sorted(words)
        if len(known) > 2:
            third = sorted(words.values())[2]
            listed = ", ".join(shown(word.encode()) for word in known[:5])
            message = f"the target has a third class ({listed}): expected numbers or two classes; name the positive one"
            raise table.error(message, third, column)
        if len(known) == 1:
            return cls._alone(known[0], table, column, guess=guess)
        for negative, positive in (known, known[::-1]) if guess else ():
            if _opposed(negative.casefold(), positive.casefold()):
                return cls._two(negative, positive, MEANING, "by their meaning")
        negative, positive = known
        return cls._two(negative, positive, SORTED, f"as {positive!r} sorts last")

    @classmethod
    def _two(cls, negative: str, positive: str, reason: str, why: str) -> Classes:
        return cls(negative, positive, reason, f"the target {positive!r} is 1 and {negative!r} is 0, {why}")

    @classmethod
    def _chosen(cls, words: Mapping[str, int], positive: str, table: Table, column: int) -> Classes:
        if positive not in words:
            listed = ", ".join(repr(word) for word in sorted(words)[:10])
            raise table.error(f"no row has the positive class {positive!r}; the classes are {listed}", None, column)
        others = [word for word in words if word != positive]
        negative = others[0] if len(others) == 1 else ""
        rest = repr(negative) if negative else "everything else"
        told = f"the target {positive!r} is 1 and {rest} is 0, as requested"
        return cls(negative, positive, GIVEN, told)

    @classmethod
    def _alone(cls, word: str, table: Table, column: int, *, guess: bool) -> Classes:
        plain = word.casefold()
        if guess and len(plain) > 1 and plain in POSITIVE:
            return cls("", word, MEANING, f"the target {word!r} is 1, by its meaning; there is no other class")
        if guess and len(plain) > 1 and plain in NEGATIVE:
            return cls(word, "", MEANING, f"the target {word!r} is 0, by its meaning; there is no other class")
        message = f"all targets are {shown(word.encode())}: expected numbers or two classes"
        raise table.error(message, None, column)


def _opposed(negative: str, positive: str) -> bool:
    if len(negative) == 1 or len(positive) == 1:
        return OPPOSITES.get(positive) == negative
    return (positive in POSITIVE) + (negative in NEGATIVE) > (negative in POSITIVE) + (positive in NEGATIVE)
