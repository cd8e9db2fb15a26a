r"""The variance of a leave-pair-out AUC that comes from training: the whole estimate, repeated on random halves.

Beside the items that are scored, whose variance is that of the components of `kernelrank.metrics.roc`, V,
leave-pair-out has a second source of variation: an item is in the training set of nearly all models, and takes part in
the choice of alpha where a search is estimated. Let A be a sum of a part that is linear in the items and one that is
quadratic: who is scored, and who is scored by a model that was trained on whom. On k of n items their variances are
``V_k = V n / k`` and ``Q_k = Q n² / k²``, and the variance of the estimates on random parts of k items, around their
mean, is expected to be [SW89]_

    ``F = V_k (1 - k/n) + Q_k (1 - k²/n²)``.

F and the components V_k are measured on halves, which gives

    ``Q_k / V_k = (F / (V_k (1 - k/n)) - 1) / (1 + k/n)``.

Only this ratio is taken from the halves, because models of fewer items are worse and vary more. By the sum above, Q / V
would be k/n of it. But without signal the direction of a model is as random as at half the size, and Q falls no faster
than V; and near an AUC of 1, training adds nothing: models of other items order nearly all pairs alike. So the
variance is ``V (1 + Q / V)`` with

    ``Q / V = 2 (1 - A) Q_k / V_k``,

where an AUC below ½ counts as ½.

**Interval.** The AUCs t with ``(A - t)² ≤ q² D W(t)``, as in `kernelrank.metrics.roc`, but with the W of normal scores.
Its factor is taken from all items and from the halves, which differ much less from cohort to cohort than V:

    ``D = (V + V_k + ε) / (W(A) + W_k(A_k) + ε) · (1 + Q / V)``.

An A far below ½ is no procedure that is reliably wrong: without signal, models that were trained without a pair tend to
contradict it, all alike. There D is multiplied by ``(W(½) + ε) / (W(A) + ε)``.

The form was chosen by simulation; ``benchmarks/auc_intervals_are_narrow_and_cover.py`` and
``auc_comparison_pvalues_are_uniform.py`` show its coverage on other seeds. For a difference, V is that of its
components, and 1 - A the mean of the two.

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
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.base.arrays import Index
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import safe_split
from kernelrank.metrics.roc import Components, normal_variance, small_variance, units_by_kind
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
    """What an estimate came to on parts of the items, or the difference of two estimates."""

    components: list[Components]
    groups: list[tuple[Index | None, Index | None]]
    share: float

    def __sub__(self, other: Halves) -> Halves:
        """Return the difference of two estimates on the same parts."""
        differences = [one - two for one, two in zip(self.components, other.components, strict=True)]
        return replace(self, components=differences)

    def trained(self, aucs: list[float]) -> float:
        """Return Q / V, what training adds to the variance; `aucs` are the AUC of all items, or the two."""
        room = float(np.mean([2.0 * (1.0 - max(auc, 0.5)) for auc in aucs]))
        return room * trained_share([part.auc for part in self.components], self._scored, self.share)

    @cached_property
    def _scored(self) -> list[float]:
        parts = zip(self.components, self.groups, strict=True)
        return [part.variance(*groups)[0] for part, groups in parts]

    def factor(self, auc: float, variance: float, sizes: tuple[int, int]) -> float:
        """Return how many times the variance for normal scores the variance is; `sizes` are of the two classes."""
        small = small_variance(*sizes, normal_variance)
        half, mean = [size * self.share for size in sizes], float(np.mean([part.auc for part in self.components]))
        expected = normal_variance(auc, *sizes)
        measured = variance + float(np.mean(self._scored))
        factor = (measured + small) / (expected + normal_variance(mean, *half) + small) * (1.0 + self.trained([auc]))
        if auc < 0.5:
            factor *= (normal_variance(0.5, *sizes) + small) / (expected + small)
        return factor


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
    parts = halved(task, MOST_SPLITS)
    if not parts:
        return None
    found = [components_of(part) for part in track(parts, len(parts), "estimating on halves")]
    share = float(np.mean([len(part.classes.labels) for part in parts])) / len(task.classes.labels)
    return Halves(found, [part.class_groups() for part in parts], share)


def halved(task: Task, splits: int) -> list[Task]:
    """Return the task on random halves; the alpha of a search is chosen on the other half of each split."""
    parts = [_part(task, items) for items in _draw_halves(task, splits)]
    if not isinstance(task.estimator, AlphaSearch):
        return parts
    chosen = [_chosen(part) for part in track(parts, len(parts), "choosing on halves")]
    return [replace(part, estimator=chosen[number ^ 1]) for number, part in enumerate(parts)]


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
