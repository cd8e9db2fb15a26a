"""Preferences held out: one by one, by judge or query, or with both of their items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from kernelrank.arrays import Float, Index
from kernelrank.comparisons.costs import compare_pairs
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.estimators.base import check_alphas
from kernelrank.exact_cv.preference_sets import PreferenceProblem
from kernelrank.item_sets import ItemSets
from kernelrank.metrics.interval import check_confidence
from kernelrank.metrics.preference_agreement import PreferenceAgreement, agreement_of
from kernelrank.progress import track
from kernelrank.queries import Queries
from kernelrank.result import Result
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.validation import check_pair_values, check_pairs

__all__ = ["PreferenceHoldout", "leave_preferences_out"]


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceHoldout(Result):
    """Preferences, each predicted by a model that did not see it.

    Parameters
    ----------
    pairs : ndarray of int64, shape (l, 2)
        The preferences: the item of column 0 is preferred to that of column 1.
    difference : ndarray, shape (l,) or (l, alphas)
        By how much the first item is scored above the second.
    weight : ndarray, shape (l,)
    alphas : ndarray or None
        The alphas, if they were given.
    what : str
        What was held out together.

    Examples
    --------
    >>> found = PreferenceHoldout(np.array([[0, 1], [1, 2]]), np.array([0.4, -0.1]), np.ones(2), None, "one preference")
    >>> found.agreement.value
    0.5
    """

    pairs: Index
    difference: Float
    weight: Float
    alphas: Float | None
    what: str

    @property
    def agreement(self) -> Any:
        """The share of the preferences that the held-out differences agree with: a list of them if alphas were given.

        Its interval knows that preferences share items.
        """
        return self.agreements()

    def agreements(self, confidence: float = 0.95) -> PreferenceAgreement | list[PreferenceAgreement]:
        """Return the agreement, with an interval of this confidence."""
        check_confidence(confidence)
        if self.alphas is None:
            return agreement_of(self.pairs, self.difference, self.weight, confidence)
        return [agreement_of(self.pairs, column, self.weight, confidence) for column in self.difference.T]

    def __str__(self) -> str:
        found = self.agreements()
        values = [one.value for one in (found if isinstance(found, list) else [found])]
        shown = f"{values[0]:.4f}" if len(values) == 1 else f"{min(values):.4f} to {max(values):.4f}"
        return f"{len(self.pairs):,} preferences held out ({self.what} at a time), agreement {shown}"

    def _facts(self) -> list[tuple[str, str]]:
        found = self.agreements()
        if isinstance(found, list):
            assert self.alphas is not None
            named = zip(self.alphas, found, strict=True)
            rows = [(f"agreement, alpha {alpha:.3g}", f"{one.value:.4f}") for alpha, one in named]
        else:
            rows = found._facts()
        return [("held out at a time", self.what), *rows]

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"preferred": self.pairs[:, 0], "other": self.pairs[:, 1], "weight": self.weight}
        if self.alphas is None:
            return {**columns, "difference": self.difference}
        return {**columns, **{f"difference_{k}": column for k, column in enumerate(self.difference.T)}}


def leave_preferences_out(
    estimator: Any,
    X: Any,
    pairs: Any,
    *,
    groups: Any = None,
    items: bool = False,
    alphas: Any = None,
    magnitude: Any = None,
    weight: Any = None,
    n_jobs: int | None = None,
) -> PreferenceHoldout:
    """Predict each preference by the model that was trained without it.

    Parameters
    ----------
    estimator : estimator with `fit_pairs`
        `RankRLS` takes the shortcut, whatever its kernel; a basis keeps its items. Others are refitted.
    X : array-like or sparse matrix, shape (m, n_features), or (m, m) for a precomputed kernel
        The items.
    pairs : array-like of int, shape (l, 2)
        Column 0 is preferred to column 1; a pair may occur many times, and in both directions.
    groups : sequence, shape (l,), optional
        One label for each preference, such as its judge, query or day: all of a group leave together.
    items : bool, default=False
        Whether all preferences leave that touch one of the two items, so that both are new to the model.
    alphas : array-like of float, optional
        Values of alpha, all from one decomposition; that of the estimator unless given.
    magnitude, weight : array-like, shape (l,), optional
        As in `RankRLS.fit_pairs`.
    n_jobs : int, optional
        The number of processes where the estimator is refitted.

    Returns
    -------
    PreferenceHoldout
        Differences are zero where nothing is left to train on.

    Notes
    -----
    One decomposition, O(m n² + n³) time for n features or O(m³) for a kernel of m items; then O(s) for each preference
    and alpha, s being n or m, and O(min(u, s)² (u + s)) for a group of u preferences. With `items` O(s³) for every two
    items that are compared. Where a set alone carries a direction of the features, it is refitted.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, leave_preferences_out
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> held_out = leave_preferences_out(RankRLS(), X, [[1, 0], [2, 1], [3, 2], [3, 0]])
    >>> held_out.difference.round(2), held_out.agreement.value
    (array([0.42, 0.42, 0.42, 2.25]), 1.0)
    """
    m = _num_samples(X)
    listed = check_pairs(pairs, m)
    if len(listed) == 0:
        raise InvalidInputError("pairs is empty: nothing to hold out")
    if groups is not None and items:
        raise InvalidInputError("give groups or items=True, not both")
    values = None if alphas is None else np.array(check_alphas(alphas))
    checked = {
        "magnitude": check_pair_values(magnitude, len(listed), name="magnitude"),
        "weight": check_pair_values(weight, len(listed), name="weight"),
    }
    sets, what = _sets(listed, groups, items=items)
    found = None
    if type(estimator) is RankRLS:
        tried = np.array([float(estimator.alpha)]) if values is None else values
        found = _exactly(estimator, X, listed, checked, sets, tried, items=items)
    refit = partial(_refitted, estimator, X, listed, checked, sets, values, n_jobs)
    if found is None:
        found = refit(np.arange(len(sets.scored)))
    lost = np.isnan(found).any(axis=1)  # rounding took the digits of these
    if lost.any():
        found[lost] = refit(sets.owners(np.flatnonzero(lost)))[lost]
    counts = np.ones(len(listed)) if checked["weight"] is None else checked["weight"]
    return PreferenceHoldout(listed, found[:, 0] if values is None else found, counts, values, what)


@dataclass(frozen=True)
class _Sets:
    """Preferences that are scored by one model: they leave, and with `items` all that touch an item of theirs."""

    pairs: Index
    scored: ItemSets
    items: bool

    def leaving(self, number: int) -> Index:
        """Return the preferences that leave when those of a set are scored."""
        own = self.scored.items[self.scored.bounds[number] : self.scored.bounds[number + 1]]
        return np.flatnonzero(np.isin(self.pairs, self.pairs[own[0]]).any(axis=1)) if self.items else own

    def owners(self, preferences: Index) -> Index:
        """Return the sets that score some preferences."""
        number = np.repeat(np.arange(len(self.scored)), self.scored.sizes)
        return np.unique(number[np.isin(self.scored.items, preferences)])


def _sets(pairs: Index, groups: Any, *, items: bool) -> tuple[_Sets, str]:
    if groups is not None:
        queries = Queries.from_labels(groups, len(pairs), name="groups")
        return _Sets(pairs, ItemSets.of_queries(queries), items=False), "one group"
    if not items:
        return _Sets(pairs, ItemSets.singles(len(pairs)), items=False), "one preference"
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    between = Queries.from_labels(low * (int(pairs.max()) + 1) + high, len(pairs))
    return _Sets(pairs, ItemSets.of_queries(between), items=True), "all that touch two items"


def _exactly(
    estimator: RankRLS, X: Any, pairs: Index, checked: dict[str, Any], sets: _Sets, alphas: Float, *, items: bool
) -> Float | None:
    """Return the differences (l, n) by the shortcut, NaN where a set is to be refitted; None where there is none."""
    learner: Any = clone(estimator)
    learner._validate_params()
    X = learner._check_items(X, reset=True)
    features = learner._features(X)
    if features.size > DIRECT_LIMIT:
        return None
    problem = PreferenceProblem(features, compare_pairs(X.shape[0], pairs, cost=learner.cost, **checked))
    if items:
        return problem.items(alphas)
    if len(sets.scored) == len(pairs):
        return problem.singles(alphas)
    found = np.empty((len(pairs), len(alphas)))
    found[sets.scored.items] = problem.sets(sets.scored, alphas)
    return found


def _refitted(
    estimator: Any,
    X: Any,
    pairs: Index,
    checked: dict[str, Any],
    sets: _Sets,
    alphas: Float | None,
    n_jobs: int | None,
    numbers: Index,
) -> Float:
    """Return the differences (l, n) by refitting without each of some sets; NaN for the preferences of others."""
    if not hasattr(estimator, "fit_pairs"):
        raise InvalidInputError(f"{type(estimator).__name__} has no fit_pairs: it cannot learn from preferences")
    tried: list[float | None] = [None] if alphas is None else [float(alpha) for alpha in alphas]
    without = joblib.delayed(_scores_without)
    jobs = (without(estimator, X, pairs, checked, sets.leaving(number), tried) for number in numbers)
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    found = np.full((len(pairs), len(tried)), np.nan)
    for number, scores in zip(numbers, track(parallel(jobs), len(numbers), "refitting"), strict=True):
        scored = sets.scored.items[sets.scored.bounds[number] : sets.scored.bounds[number + 1]]
        found[scored] = scores[pairs[scored, 0]] - scores[pairs[scored, 1]]
    return found


def _scores_without(
    estimator: Any, X: Any, pairs: Index, checked: dict[str, Any], held: Index, alphas: list[float | None]
) -> Float:
    """Train without some preferences and score all items, shape (m, n)."""
    kept = np.ones(len(pairs), dtype=bool)
    kept[held] = False
    given = {name: value[kept] for name, value in checked.items() if value is not None}
    scores = np.zeros((_num_samples(X), len(alphas)))
    if not kept.any() or ("weight" in given and not np.any(given["weight"] > 0)):
        return scores
    for number, alpha in enumerate(alphas):
        model = clone(estimator)
        if alpha is not None:
            model.set_params(alpha=alpha)
        scores[:, number] = model.fit_pairs(X, pairs[kept], **given).predict(X)
    return scores
