r"""The variance of a leave-pair-out AUC that comes from training: the whole estimate, repeated on random halves.

Beside the items that are scored, whose variance is that of the components of `kernelrank.metrics.auc_interval`, V,
leave-pair-out has a second source of variation: an item is in the training set of nearly all models, and takes part in
the choice of alpha where a search is estimated. Let A be a sum of a part that is linear in the items and one that is
quadratic: who is scored, and who is scored by a model that was trained on whom. On k of n items their variances are
``V_k = V n / k`` and ``Q_k = Q n² / k²``, and the variance of the estimates on random parts of k items, around their
mean, is expected to be [SW89]_

    ``F = V_k (1 - k/n) + Q_k (1 - k²/n²)``.

F and the components V_k are measured on halves, which gives

    ``Q / V = k / (n + k) (F / (V_k (1 - k/n)) - 1)``,

and the variance is V (1 + Q / V). Only a ratio is taken from the halves, because AUCs of smaller training sets are
lower and vary more.

**Why halves.** The jackknife, which leaves out one item at a time and multiplies the changes by n, counts Q twice, and
says nothing where the estimate jumps: where alpha changes with one item, or the order of two large groups of equal
items. F on halves is at most the variance of the estimate at half the size, however it jumps. An AUC without items is
the same estimate on fewer items, so that any estimator, search and grouping can be repeated.

Halves have the same share of each class, or of each kind of group. Among the alphas of a search those are tried that
were chosen without some pair of all items.

References
----------
.. [SW89] Shao and Wu (1989). A general theory for jackknife variance estimation. Annals of Statistics 17.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split

from kernelrank.arrays import Index
from kernelrank.metrics.auc_interval import Components
from kernelrank.model_selection.estimator_refit import without_basis
from kernelrank.model_selection.holdout_data import HoldoutData
from kernelrank.model_selection.search.nested_search import NestedSearch
from kernelrank.progress import track

if TYPE_CHECKING:
    from kernelrank.model_selection.auc_methods import Task

__all__ = ["MOST_HALVES", "Halves", "count_halves", "hold_out_halves", "trained_share"]

MOST_HALVES = 40
"""How many halves are drawn: F is then known to a fifth, and the interval to a tenth at most."""

FEWEST_HALVES = 12
"""Where even as many take too long, the training is left out of the interval by default."""

MOST_WORK = 20_000_000_000
"""Up to this many comparisons are made on halves by default: half a minute."""

SINGLES = 100
"""What an item costs that is left out inside, relative to a pair: its loop is not compiled."""


@dataclass(frozen=True, eq=False)
class Halves:
    """What an estimate came to on parts of the items, or the difference of two estimates.

    Parameters
    ----------
    components : list of Components
        Win rates, one for each part.
    groups : list of (ndarray, ndarray), or of (None, None)
        The groups of the positive and of the negative items of each part.
    share : float
        How large a part is, relative to all items.
    """

    components: list[Components]
    groups: list[tuple[Index | None, Index | None]]
    share: float

    def __sub__(self, other: Halves) -> Halves:
        """Return the difference of two estimates on the same parts."""
        differences = [one - two for one, two in zip(self.components, other.components, strict=True)]
        return replace(self, components=differences)

    def first(self, count: int) -> Halves:
        """Return the first of the parts."""
        return replace(self, components=self.components[:count], groups=self.groups[:count])

    def trained_share(self) -> float:
        """Return Q / V, the variance from training relative to that of the components."""
        parts = zip(self.components, self.groups, strict=True)
        scored = [part.variance(*groups)[0] for part, groups in parts]
        return trained_share([part.auc for part in self.components], scored, self.share)


def trained_share(estimates: list[float], scored: list[float], share: float) -> float:
    """Return Q / V from estimates on parts of the items, their variances V_k, and how large a part is."""
    variance = float(np.mean(scored))
    if not 0.0 < variance < np.inf or share >= 1.0:
        return 0.0
    excess = float(np.var(estimates, ddof=1)) / (variance * (1.0 - share)) - 1.0
    return max(0.0, excess) * share / (1.0 + share)


def _kinds(task: Task) -> tuple[Index, list[Index]]:
    """Return the unit of each item, and the units by kind: of positive items, of negative ones, of both."""
    positive = task.classes.positive
    units = np.arange(len(positive)) if task.groups is None else task.groups
    size = int(units.max()) + 1
    has = [np.bincount(units[of], minlength=size) > 0 for of in (positive, ~positive)]
    kinds = [np.flatnonzero(of) for of in (has[0] & ~has[1], has[1] & ~has[0], has[0] & has[1])]
    # In an order in which it does not matter which class is called positive.
    return units, sorted((kind for kind in kinds if len(kind)), key=lambda kind: int(kind[0]))


def _draw_halves(task: Task, count: int) -> list[Index]:
    """Draw the items of some random halves, always the same ones; too small classes are kept whole."""
    units, kinds = _kinds(task)
    least = task.classes.pairs_need(task.groups) + 1
    random = np.random.default_rng(0)
    halves = []
    for _ in range(count):
        kept = [random.permutation(kind)[: max(least, (len(kind) + 1) // 2)] for kind in kinds]
        halves.append(np.flatnonzero(np.isin(units, np.concatenate(kept))))
    return halves


def count_halves(task: Task) -> int:
    """Return how many halves can be afforded without being asked for; 0 where the estimate has no shortcut."""
    held = task.held
    if held is None or not task.classes.has(task.classes.pairs_need(task.groups) + 2, task.groups):
        return 0
    problems = [data.problems[0][1] for data in ([held] if isinstance(held, HoldoutData) else _data(held))]
    if any(problem.common_scale(2) is None for problem in problems):
        return 0
    positive, negative = (count / 2 for count in (task.classes.positive.sum(), (~task.classes.positive).sum()))
    size = positive + negative
    work = size**3
    if isinstance(held, NestedSearch):
        inner = positive * negative if held.plan_name == "leave_pair_out" else SINGLES * size
        work += positive * negative * inner * held.n_candidates
    afforded = int(min(MOST_HALVES, MOST_WORK / work))
    return afforded if afforded >= FEWEST_HALVES else 0


def _data(held: NestedSearch) -> list[HoldoutData]:
    return [kernel.data for kernel in held.kernels]


def _estimator(task: Task) -> Any:
    """Return the estimator, with the alphas that were chosen without some pair where it is a search of one kernel."""
    held = None if task.estimator is None else task.held
    if not isinstance(held, NestedSearch) or len(held.kernels) > 1:
        return task.estimator
    chosen = held.chosen()
    return clone(task.estimator).set_params(alphas=held.kernels[0].alphas[chosen]) if len(chosen) else task.estimator


def hold_out_halves(task: Task, count: int, components_of: Callable[[Task], Components]) -> Halves:
    """Repeat an estimate on halves; `components_of` a task returns its win rates. Without an estimator X is scores."""
    estimator, halves = _estimator(task), _draw_halves(task, count)
    found, groups = [], []
    for items in track(halves, len(halves), "estimating on halves"):
        mine = without_basis(estimator, items) or estimator  # which then fails, and says that its basis is empty
        X = task.X[items] if mine is None else _safe_split(mine, task.X, None, items)[0]
        codes = None if task.groups is None else np.unique(task.groups[items], return_inverse=True)[1]
        part = replace(task, estimator=mine, X=X, classes=task.classes.part(items), groups=codes)
        found.append(components_of(part))
        groups.append(part.class_groups())
    share = float(np.mean([len(items) for items in halves])) / len(task.classes.labels)
    return Halves(found, groups, share)
