"""The ways to hold out items for an AUC; each gives an estimate, its variance, and what the interval allows for.

=========================  ================================================  =====================================
method                     models                                            pairs that are compared
=========================  ================================================  =====================================
leave_pair_out             one for each pair of a positive and a negative    each by the model trained without it
                           item: P N
averaged                   one for each fold                                 those inside a fold
balanced_leave_pair_out    one for each item, trained without that item      all, across models
                           and one of the other class drawn at random
pooled                     one for each fold                                 all, across models
=========================  ================================================  =====================================

Pooling compares scores of different models. A model trained without a positive item has fewer positive items, and
its scores are slightly lower, also for the held-out item. So held-out positive items get lower scores and negative ones
higher scores than they should, most of all in leave-one-out and without signal. The balanced form leaves one item of
each class out of every model, which removes most of this bias. Bias and variance of all are compared in [APWBS11]_.

References
----------
.. [APWBS11] Airola, Pahikkala, Waegeman, De Baets and Salakoski (2011). An experimental comparison of cross-validation
   techniques for estimating the area under the ROC curve. Computational Statistics & Data Analysis 55(4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.auc_interval import Components
from kernelrank.metrics.two_classes import TwoClasses
from kernelrank.model_selection.auc_halves import Halves, are_cheap, hold_out_halves, least_units
from kernelrank.model_selection.holdout import held_from, holdout, pairs_held_out
from kernelrank.model_selection.nested_search import NestedSearch
from kernelrank.model_selection.refits import HoldoutData

__all__ = [
    "GIVEN",
    "METHODS",
    "Found",
    "Task",
    "held_out_components",
    "of_scores",
    "pair_components",
    "pair_variance",
    "set_of",
    "total_variance",
]

GIVEN = "allows for other {} being scored; the scores are taken as given"
SCORED = "allows for other {} being scored, not for others being trained on: too narrow where there is little signal"
TRAINED = "allows for other {} being scored and trained on"
CHOSEN = "allows for other {} being scored, trained on and used to choose alpha"


@dataclass(frozen=True)
class Task:
    """What is to be estimated, and how.

    Parameters
    ----------
    estimator, X
        As in `estimate_auc`.
    classes : TwoClasses
    groups : ndarray of int64, shape (m,), or None
        None if no two items share one.
    folds : list of ndarray of int64
        For the methods that have folds.
    interval, random_state
        As in `estimate_auc`.
    options : dict
        For hold-outs that refit.
    """

    estimator: Any
    X: Any
    classes: TwoClasses
    groups: Index | None = None
    folds: list[Index] = field(default_factory=list)
    interval: str = "auto"
    random_state: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def y(self) -> Any:
        """What the estimator is fitted to."""
        return self.classes.target(self.estimator)

    @cached_property
    def held(self) -> HoldoutData | NestedSearch | None:
        """The data for hold-outs without refits, computed once."""
        return held_from(self.estimator, self.X, self.y)

    def scores(self, sets: list[Index]) -> list[Float]:
        """Return scores that are higher for the positive class, one array for each set."""
        found = holdout(self.estimator, self.X, self.y, sets, **self.options)
        return [self.classes.sign * scores for scores in found]

    def what_varies(self, sentence: str) -> str:
        """Put items or groups into a sentence."""
        return sentence.format("items" if self.groups is None else "groups")

    def class_groups(self) -> tuple[Index | None, Index | None]:
        """Return the groups of the positive and of the negative items."""
        if self.groups is None:
            return None, None
        return self.groups[self.classes.positives], self.groups[self.classes.negatives]

    def on_halves(self) -> Halves | None:
        """Repeat leave-pair-out on halves of the items; None where that was not requested and would take long."""
        if self.interval == "jackknife":
            self.classes.require(least_units(self), "the jackknife", self.groups)
        elif self.interval == "components" or not are_cheap(self):
            return None
        found = hold_out_halves(self, held_out_components)
        if found is None and self.interval == "jackknife":
            raise InvalidInputError(
                "the jackknife needs two halves of the groups with items of both classes, and these groups have none; "
                "use interval='components'"
            )
        return found


@dataclass(frozen=True)
class Found:
    """An AUC with its variance, the degrees of freedom, and a sentence that describes them."""

    auc: float
    variance: float
    degrees: float
    what_varies: str
    n_pairs: int
    warnings: tuple[str, ...] = ()


def set_of(items: list[int], groups: Index | None) -> Index:
    """Return the items with all that share a group with them."""
    if groups is None:
        return np.asarray(items, dtype=np.int64)
    return np.flatnonzero(np.isin(groups, groups[items]))


def pair_components(first: Index, second: Index, difference: Float, classes: TwoClasses) -> Components:
    """Return the win rates of the items from held-out differences of all positive × negative pairs.

    Parameters
    ----------
    first, second : ndarray of int64, shape (pairs,)
        Pairs of one positive and one negative item, in any order.
    difference : ndarray, shape (pairs,)
        ``f(first) - f(second)``.
    classes : TwoClasses

    Returns
    -------
    Components
    """
    m, leads = len(classes.labels), classes.positive[first]
    wins = 0.5 + 0.5 * classes.sign * np.where(leads, np.sign(difference), -np.sign(difference))
    P, N = len(classes.positives), len(classes.negatives)
    rates = np.bincount(np.where(leads, first, second), weights=wins, minlength=m) / N
    beaten = np.bincount(np.where(leads, second, first), weights=wins, minlength=m) / P
    return Components(rates[classes.positives], beaten[classes.negatives])


def total_variance(
    task: Task, components: Components, halves: Halves | None, *, searched: bool
) -> tuple[float, float, str]:
    """Return the variance of an AUC, or of a difference of AUCs, with its degrees of freedom and what it allows for.

    `halves` is None for the variance of the components alone; `searched` says whether an alpha was chosen inside.
    """
    variance, degrees = components.variance(*task.class_groups())
    if halves is None:
        return variance, degrees, task.what_varies(SCORED)
    what = task.what_varies(CHOSEN if searched else TRAINED)
    return variance * (1.0 + halves.trained_share()), degrees, what


def pair_variance(task: Task, components: Components) -> tuple[float, float, str]:
    """Return the variance of a leave-pair-out AUC, its degrees of freedom, and what it allows for."""
    return total_variance(task, components, task.on_halves(), searched=isinstance(task.held, NestedSearch))


def held_out_components(task: Task) -> Components:
    """Hold out every pair of a positive and a negative item."""
    task.classes.require(task.classes.pairs_need(task.groups), "leave-pair-out", task.groups)
    held = pairs_held_out(task.held, task.estimator, task.X, task.y, None, task.groups, **task.options)
    return pair_components(held.first, held.second, held.difference, task.classes)


def _leave_pair_out(task: Task) -> Found:
    components = held_out_components(task)
    return Found(components.auc, *pair_variance(task, components), components.n_pairs)


def _balanced(task: Task) -> Found:
    task.classes.require(task.classes.pairs_need(task.groups), "balanced leave-pair-out", task.groups)
    random = check_random_state(task.random_state)
    partner = np.empty(len(task.classes.labels), dtype=np.int64)
    for items, others in (
        (task.classes.positives, task.classes.negatives),
        (task.classes.negatives, task.classes.positives),
    ):
        # Every item of the other class serves equally often, to one.
        partner[random.permutation(items)] = np.resize(random.permutation(others), len(items))
    sets = [set_of([item, int(other)], task.groups) for item, other in enumerate(partner)]
    held = task.scores(sets)
    scores = np.array([float(s[items == item][0]) for item, (items, s) in enumerate(zip(sets, held, strict=True))])
    return of_scores(task, scores)


def of_scores(task: Task, scores: Float, what: str = SCORED, warnings: tuple[str, ...] = ()) -> Found:
    """Return the AUC of given or held-out scores, with its variance and a description of it."""
    components = Components.of_scores(scores[task.classes.positives], scores[task.classes.negatives])
    variance, degrees = components.variance(*task.class_groups())
    return Found(components.auc, variance, degrees, task.what_varies(what), components.n_pairs, warnings)


def _pooled(task: Task) -> Found:
    items = np.concatenate(task.folds)
    if len(items) != len(task.classes.labels) or len(np.unique(items)) != len(items):
        raise InvalidInputError("method='pooled' needs every item in exactly one test fold; cv tests some items twice")
    scores = np.empty(len(items))
    scores[items] = np.concatenate(task.scores(task.folds))
    reason = (
        "pooling compares scores of different models, which are not on one scale: the estimate is biased low, most of "
        "all in leave-one-out and without signal; method='leave_pair_out' is not"
    )
    return of_scores(task, scores, warnings=(reason,))


def _averaged(task: Task) -> Found:
    folds = task.folds
    usable = [fold for fold in folds if 0 < int(task.classes.positive[fold].sum()) < len(fold)]
    if not usable:
        raise InvalidInputError("no test fold has items of both classes: use fewer folds, or method='leave_pair_out'")
    aucs, n_pairs = [], 0
    for fold, scores in zip(usable, task.scores(usable), strict=True):
        positive = task.classes.positive[fold]
        aucs.append(Components.of_scores(scores[positive], scores[~positive]).auc)
        n_pairs += int(positive.sum()) * int((~positive).sum())
    left_out = len(folds) - len(usable)
    warnings = (f"{left_out} of {len(folds)} folds have one class only and were left out",) if left_out else ()
    variance = float(np.var(aucs, ddof=1)) / len(aucs) if len(aucs) > 1 else np.inf
    what = f"the {len(aucs)} folds, as if independent; they share training items, and another split gives another AUC"
    return Found(float(np.mean(aucs)), variance, max(1.0, len(aucs) - 1.0), what, n_pairs, warnings)


METHODS = {
    "leave_pair_out": _leave_pair_out,
    "averaged": _averaged,
    "pooled": _pooled,
    "balanced_leave_pair_out": _balanced,
}
