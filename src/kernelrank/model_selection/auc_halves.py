r"""The variance of a leave-pair-out AUC that comes from training: the whole estimate, repeated on random halves.

Beside the items that are scored, whose variance is that of the components of `kernelrank.metrics.roc`, V,
leave-pair-out has a second source of variation: an item is in the training set of nearly all models, and takes part in
the choice of alpha where a search is estimated. Let A be a sum of a part that is linear in the items and one that is
quadratic: who is scored, and who is scored by a model that was trained on whom. On k of n items their variances are
``V_k = V n / k`` and ``Q_k = Q n² / k²``, and the variance of the estimates on random parts of k items, around their
mean, is expected to be [SW89]_

    ``F = V_k (1 - k/n) + Q_k (1 - k²/n²)``.

F and the components V_k are measured on halves, which gives

    ``Q_k / V_k = (F / (V_k (1 - k/n)) - 1) / (1 + k/n)``,

and the variance is ``V (1 + Q / V)``. Only a ratio is taken from the halves, because AUCs of smaller training sets are
lower and vary more. By this sum, Q / V would be k/n of Q_k / V_k. But without signal the direction of a model is as
random as at half the size, and Q falls no faster than V; and near an AUC of 1, models of all items differ much less
than those of halves. With the mean A_k of the AUCs of the halves, and AUCs below ½ counted as ½, what is taken is

    ``Q / V = Q_k / V_k (A (1 - A) / (A_k (1 - A_k)))³``,

with a factor of at most 1. For a difference, both products are added up, and the power is 2. The powers were chosen by
simulation (``benchmarks/auc_intervals_are_narrow_and_cover.py``, ``auc_comparison_pvalues_are_uniform.py``). And an A
far below ½ is no procedure that is reliably wrong: without signal, models that were trained without a pair tend to
contradict it, all alike, so that V is nearly zero. Below ½, V is at least ``V_k k/n``.

**Why halves.** The jackknife, which leaves out one item at a time and multiplies the changes by n, counts Q twice, and
says nothing where the estimate jumps: where alpha changes with one item, or the order of two large groups of equal
items. F on halves is at most the variance of the estimate at half the size, however it jumps. An AUC without items is
the same estimate on fewer items, so that any estimator, search and grouping can be repeated.

The items are split into two halves some times, each with the same share of each class, or of each kind of group. The
alpha and kernel of a search are chosen on the other half: a choice that does not see the items, as in nested
leave-pair-out, and that varies with the items, at the cost of plain leave-pair-out.

References
----------
.. [SW89] Shao and Wu (1989). A general theory for jackknife variance estimation. Annals of Statistics 17.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.base.arrays import Index
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import safe_split
from kernelrank.metrics.roc import Components, units_by_kind
from kernelrank.model_selection.nested_search import NestedSearch
from kernelrank.model_selection.refits import HoldoutData, without_basis
from kernelrank.model_selection.search import AlphaSearch

if TYPE_CHECKING:
    from kernelrank.model_selection.auc import Task

INTERVALS = ("auto", "components", "jackknife")
"""What the interval of an estimate may be computed from."""

MOST_SPLITS = 20
"""How often the items are split: F is then known to a fifth, and the interval to a tenth at most."""


@dataclass(frozen=True, eq=False)
class Halves:
    """What an estimate came to on parts of the items, or the difference of two estimates, with the mean of each AUC."""

    components: list[Components]
    groups: list[tuple[Index | None, Index | None]]
    share: float
    aucs: list[float]

    def __sub__(self, other: Halves) -> Halves:
        """Return the difference of two estimates on the same parts."""
        differences = [one - two for one, two in zip(self.components, other.components, strict=True)]
        return replace(self, components=differences, aucs=[*self.aucs, *other.aucs])

    def total_variance(self, variance: float, aucs: list[float]) -> float:
        """Add what training adds to the variance of the components, V; `aucs` are the AUC of all items, or the two."""
        parts = zip(self.components, self.groups, strict=True)
        scored = [part.variance(*groups)[0] for part, groups in parts]
        if len(aucs) == 1 and aucs[0] < 0.5:
            variance = max(variance, self.share * float(np.mean(scored)))
        room, before = (sum(auc * (1.0 - auc) for auc in np.maximum(of, 0.5)) for of in (aucs, self.aucs))
        factor = min(1.0, room / before) ** (3 if len(aucs) == 1 else 2) if before > 0.0 else 0.0
        return variance * (1.0 + factor * trained_share([part.auc for part in self.components], scored, self.share))


def trained_share(estimates: list[float], scored: list[float], share: float) -> float:
    """Return Q_k / V_k from estimates on parts of the items, their variances V_k, and how large a part is."""
    variance = float(np.mean(scored))
    if not 0.0 < variance < np.inf or share >= 1.0:
        return 0.0
    excess = float(np.var(estimates, ddof=1)) / (variance * (1.0 - share)) - 1.0
    return max(0.0, excess) / (1.0 + share)


def _draw_halves(task: Task, splits: int) -> list[Index]:
    """Split the items into random halves, always the same ones; the two of a split follow each other.

    A split is drawn again where a half has too few items, or groups, of a class; none are left where all have.
    """
    positive = task.classes.positive
    units = np.arange(len(positive)) if task.groups is None else task.groups
    # In an order in which it does not matter which class is called positive.
    kinds = sorted(units_by_kind(positive, units), key=lambda kind: int(kind[0]))
    random = np.random.default_rng(0)
    halves: list[Index] = []
    for _ in range(10 * splits):
        sizes = [(len(kind) + int(random.integers(2))) // 2 for kind in kinds]
        first = np.concatenate([random.permutation(kind)[:size] for kind, size in zip(kinds, sizes, strict=True)])
        in_first = np.isin(units, first)
        pair = [np.flatnonzero(in_first), np.flatnonzero(~in_first)]
        if len(halves) < 2 * splits and all(_is_enough(task, items) for items in pair):
            halves += pair
    return halves


def _is_enough(task: Task, items: Index) -> bool:
    part, groups = task.classes.part(items), None if task.groups is None else task.groups[items]
    return 0 < part.positive.sum() < len(items) and part.has(task.classes.pairs_need(task.groups), groups)


def least_units(task: Task) -> int:
    """Return how many items, or groups, each class needs so that both halves can be estimated."""
    return 2 * task.classes.pairs_need(task.groups)


def are_cheap(task: Task) -> bool:
    """Return whether halves can be estimated without refits, in seconds."""
    held = task.held
    if held is None or not task.classes.has(least_units(task), task.groups):
        return False
    data = [held] if isinstance(held, HoldoutData) else [kernel.data for kernel in held.kernels]
    if any(one.problems[0][1].common_scale(2) is None for one in data):
        return False
    candidates = held.n_candidates if isinstance(held, NestedSearch) else 1
    # Multiplications for a split: with up to 10¹⁰ of them all splits take up to 20 seconds.
    return 2 * (len(task.classes.labels) / 2) ** 3 * candidates <= 1e10


def hold_out_halves(task: Task, components_of: Callable[[Task], Components]) -> Halves | None:
    """Repeat an estimate on halves; `components_of` a task returns its win rates. Without an estimator X is scores.

    None where groups cannot be split so that both halves have enough of each class.
    """
    halves = _draw_halves(task, MOST_SPLITS)
    if not halves:
        return None
    parts = [_part(task, items) for items in halves]
    if isinstance(task.estimator, AlphaSearch):
        chosen = [_chosen(part) for part in track(parts, len(parts), "choosing on halves")]
        # The other half of each split.
        parts = [replace(part, estimator=chosen[number ^ 1]) for number, part in enumerate(parts)]
    found = [components_of(part) for part in track(parts, len(parts), "estimating on halves")]
    share = float(np.mean([len(items) for items in halves])) / len(task.classes.labels)
    mean = float(np.mean([part.auc for part in found]))
    return Halves(found, [part.class_groups() for part in parts], share, [mean])


def _part(task: Task, items: Index) -> Task:
    """Return the same task for some of the items."""
    mine = without_basis(task.estimator, items) or task.estimator  # which then fails, and says that its basis is empty
    X = task.X[items] if mine is None else safe_split(mine, task.X, None, items)[0]
    codes = None if task.groups is None else np.unique(task.groups[items], return_inverse=True)[1]
    return replace(task, estimator=mine, X=X, classes=task.classes.part(items), groups=codes)


def _chosen(task: Task) -> Any:
    """Return the learner that a search chooses from all items of a task; itself, nested, where it has no shortcut."""
    held = task.held
    learner = held.best() if isinstance(held, NestedSearch) else None
    return task.estimator if learner is None else learner
