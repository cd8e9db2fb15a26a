"""Which items are held out together when alpha is chosen, and which of them are scored."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv

from kernelrank.argument_types import RandomStateLike
from kernelrank.arrays import Float, Index
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import ItemSets
from kernelrank.queries import Queries

__all__ = ["CENSORED_FOLDS", "CV_NAMES", "HoldoutPlan"]

CENSORED_FOLDS = 10
"""How many folds of items "auto" makes of censored times without strata: leaving out a pair has no shortcut there."""

CV_NAMES = ("auto", "leave_pair_out", "leave_query_out", "leave_one_out")


@dataclass(frozen=True)
class HoldoutPlan:
    """The sets that are held out.

    Parameters
    ----------
    name : {"leave_pair_out", "leave_query_out", "leave_one_out", "folds"}
    sets : ItemSets or None
        None for pairs, which are not listed.
    tests : list of ndarray, or None
        For folds, where in ``sets.items`` the scored items of each fold lie; None if all are scored together.

    Examples
    --------
    >>> HoldoutPlan.of("auto", np.zeros((4, 1)), np.zeros(4), None, default="leave_one_out").name
    'leave_one_out'
    """

    name: str
    sets: ItemSets | None
    tests: list[Index] | None = None

    @classmethod
    def of(
        cls,
        cv: Any,
        X: Any,
        y: Any,
        queries: Queries | None,
        *,
        default: str | int,
        classes: bool = False,
        random_state: RandomStateLike = 0,
    ) -> HoldoutPlan:
        """Read the argument `cv` of a search.

        Parameters
        ----------
        cv : {"auto", "leave_pair_out", "leave_query_out", "leave_one_out"}, int, splitter or iterable of splits
        X : array-like, shape (m, n)
        y : array-like, shape (m,) or (m, outputs)
        queries : Queries or None
        default : str or int
            What "auto" stands for without queries; a number of folds, at most as many as there are items.
        classes : bool, default=False
            Whether y holds classes, which a number of folds keeps in proportion.
        random_state : int or RandomState, default=0
            Shuffles the items into a number of folds.

        Returns
        -------
        HoldoutPlan
        """
        m = X.shape[0]
        if cv == "auto" and queries is None and isinstance(default, int):
            cv = min(default, m)
        if isinstance(cv, str):
            auto = str(default) if queries is None else "leave_query_out"
            return cls._named(auto if cv == "auto" else cv, m, queries)
        if isinstance(cv, Integral):
            cv = _folds(int(cv), m, queries, classes=classes, random_state=random_state)
        return cls._split(check_cv(cv), X, y, None if queries is None else queries.codes, m)

    @classmethod
    def _named(cls, name: str, m: int, queries: Queries | None) -> HoldoutPlan:
        if name == "leave_one_out":
            return cls(name, ItemSets.singles(m))
        if name == "leave_pair_out":
            if queries is not None and len(queries) > 1:
                raise InvalidInputError(
                    "cv='leave_pair_out' is for data without queries; qid has several queries. Use cv='leave_query_out'"
                )
            return cls(name, None)
        if queries is None or len(queries) < 2:
            raise InvalidInputError(
                "cv='leave_query_out' holds out one query at a time: expected qid with at least two queries. Pass "
                "qid to fit, or use cv='leave_pair_out' or a number of folds."
            )
        return cls(name, ItemSets.of_queries(queries))

    @classmethod
    def _split(cls, splitter: Any, X: Any, y: Any, codes: Index | None, m: int) -> HoldoutPlan:
        """Hold out whatever a fold does not train on, and score what it tests."""
        held, tests, start = [], [], 0
        for number, (train, test) in enumerate(splitter.split(X, y, codes)):
            mask = np.ones(m, dtype=bool)
            mask[train] = False
            if not np.all(mask[test]) or len(test) == 0:
                raise InvalidInputError(f"split {number} of cv has an empty test set, or tests items that it trains on")
            held.append(np.flatnonzero(mask))
            tests.append(start + np.searchsorted(held[-1], test).astype(np.int64))
            start += len(held[-1])
        return cls("folds", ItemSets.of(held, m), tests)

    def item_scores(self, scores: Float, m: int) -> Float:
        """Put held-out scores (total, ...) into the order of the items: means where items were scored more than once.

        Items that were never scored have NaN.
        """
        assert self.sets is not None
        places = np.arange(len(scores)) if self.tests is None else np.concatenate(self.tests)
        items = self.sets.items[places]
        total, count = np.zeros((m, *scores.shape[1:])), np.bincount(items, minlength=m).astype(np.float64)
        np.add.at(total, items, scores[places])
        with np.errstate(invalid="ignore"):
            means: Float = total / count.reshape(-1, *([1] * (scores.ndim - 1)))
        return means


def _folds(n_folds: int, m: int, queries: Queries | None, *, classes: bool, random_state: RandomStateLike) -> Any:
    available = m if queries is None else len(queries)
    if not 2 <= n_folds <= available:
        noun = "items" if queries is None else "queries"
        raise InvalidInputError(f"Expected cv between 2 and {available}, the number of {noun}; got {n_folds}.")
    if queries is not None:
        return GroupKFold(n_folds)
    return (StratifiedKFold if classes else KFold)(n_folds, shuffle=True, random_state=random_state)
