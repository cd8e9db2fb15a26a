r"""The difference of two AUCs on the same items, with an interval and a p-value.

The win rates of one side minus those of the other are the components of the difference ``D = A_1 - A_2``: their
variance V is DeLong's with its covariance [DDC88]_, and by groups Obuchowski's [Obu97]_, as for one AUC
(`kernelrank.metrics.roc`). If a side is an estimator, V does not include the variation of training items; how
much that adds is measured on random halves of the items, on which both sides are compared again
(`kernelrank.model_selection.auc_halves`). The interval is ``D ± t √V`` within [-1, 1], and p is that of Student's t.

An AUC of 0 or 1 does not vary over the given items, and neither does the difference of equal win rates. The variance
cannot be estimated then, and the two intervals are combined as if they were independent [ZD08]_, which is conservative:
with the intervals ``(l_1, u_1)`` and ``(l_2, u_2)``,

    ``D - √((A_1 - l_1)² + (u_2 - A_2)²)``  to  ``D + √((u_1 - A_1)² + (A_2 - l_2)²)``.

p is one minus the level at which this interval touches zero. With only one item, or group, of a class
the variance is unknown: the interval is [-1, 1] and p is 1.

References
----------
.. [DDC88] DeLong, DeLong and Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver operating
   characteristic curves. Biometrics 44.
.. [Obu97] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53.
.. [ZD08] Zou and Donner (2008). Construction of confidence limits about effect measures: a general approach. Statistics
   in Medicine 27.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit
from sklearn.metrics import roc_curve

from kernelrank.base.arrays import Float, Index, one_pool
from kernelrank.base.progress import verbosely
from kernelrank.base.results import Result
from kernelrank.base.sklearn_private import num_samples
from kernelrank.base.text import p_is, pvalue
from kernelrank.base.validation import check_confidence, check_option
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import DifferingPairs
from kernelrank.exact_cv import leave_pair_out as leave_pair_out_exactly
from kernelrank.metrics import RateEstimate, sensitivity_at
from kernelrank.metrics.intervals import Interval
from kernelrank.metrics.roc import EDGE, Components, TwoClasses, check_groups, shared_groups
from kernelrank.model_selection.auc import (
    CHOSEN,
    GIVEN,
    SCORED,
    TRAINED,
    AUCEstimate,
    Found,
    Task,
    check_scores,
    held_out_components,
    of_scores,
    pair_components,
    pair_found,
    to_estimate,
)
from kernelrank.model_selection.auc_halves import INTERVALS, Halves, hold_out_halves
from kernelrank.model_selection.holdout import pairs_held_out
from kernelrank.model_selection.nested_search import NestedSearch
from kernelrank.model_selection.refits import HoldoutData, settled


@dataclass(frozen=True, repr=False)
class AUCComparison(Result):
    """The AUCs of two models or markers on the same items, and how they differ.

    Parameters
    ----------
    first, second : AUCEstimate
    difference : float
        The AUC of the first minus that of the second.
    interval : Interval
        That of the difference.
    pvalue : float
        Of no difference, two-sided.

    Examples
    --------
    >>> one, two = (Interval(auc - 0.1, auc + 0.1, 0.95, "") for auc in (0.8, 0.7))
    >>> first, second = (AUCEstimate(a, i, "given scores", 9, 3, 3, (0, 1)) for a, i in ((0.8, one), (0.7, two)))
    >>> interval = Interval(-0.05, 0.25, 0.95, "allows for other items being scored")
    >>> print(AUCComparison(first, second, 0.1, interval, 0.19))
    AUC 0.800 and 0.700: difference +0.100, 95% interval [-0.050, +0.250], p = 0.190 (3 positive and 3 negative items;
    the interval allows for other items being scored)
    """

    first: AUCEstimate
    second: AUCEstimate
    difference: float
    interval: Interval
    pvalue: float

    def __float__(self) -> float:
        return self.difference

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"AUC {self.first.auc:.3f} and {self.second.auc:.3f}: difference {self.difference:+.3f}, "
            f"{100 * self.interval.level:.4g}% interval [{low:+.3f}, {high:+.3f}], p {p_is(self.pvalue)} "
            f"({self.first.n_positive} positive and {self.first.n_negative} negative items; "
            f"the interval {self.interval.method})"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("first AUC", _with_interval(self.first)),
            ("second AUC", _with_interval(self.second)),
            ("difference, first minus second", f"{self.difference:+.3f}"),
            self.interval._fact("+.3f"),
            ("p-value (null hypothesis: no difference)", pvalue(self.pvalue)),
            ("about the interval", self.interval.method),
            ("items", f"{self.first.n_positive:,} positive, {self.first.n_negative:,} negative"),
        ]

    def _columns(self) -> dict[str, Any]:
        rows = [(self.first.auc, self.first.interval), (self.second.auc, self.second.interval)]
        rows.append((self.difference, self.interval))
        return {
            "what": ["first", "second", "difference"],
            "value": [value for value, _ in rows],
            "low": [interval.low for _, interval in rows],
            "high": [interval.high for _, interval in rows],
            "level": [interval.level for _, interval in rows],
            "pvalue": [np.nan, np.nan, self.pvalue],
            "interval_method": [interval.method for _, interval in rows],
        }

    def plot(self, ax: Any = None, *, names: tuple[str, str] = ("first", "second"), **line_options: object) -> Any:
        """Draw both AUCs with their intervals, and the difference below them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        names : tuple of str, default=("first", "second")
            The names of the two.
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        kernelrank.report.ForestDisplay

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        from kernelrank.report.comparison import ForestDisplay

        return ForestDisplay.from_comparison(self, names=names, ax=ax, **line_options)


def _with_interval(estimate: AUCEstimate) -> str:
    name, ends = estimate.interval._fact()
    return f"{estimate.auc:.3f}, {name} {ends} ({estimate.method.replace('_', '-')})"


@one_pool
def compare_auc(
    a: Any,
    b: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    pos_label: Any = None,
    confidence: float = 0.95,
    interval: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> AUCComparison:
    """Compare the AUCs of two models, or of two markers, on the same items.

    Parameters
    ----------
    a, b : estimator, or array-like of shape (m,)
        Each as in `estimate_auc`: an estimator, which is evaluated by leave-pair-out (nested, if it is a search), or
        given scores, such as a marker. Higher scores indicate the positive class.
    X : array-like or sparse matrix, shape (m, n_features), a tuple of two of them, or None
        The items. A tuple has one matrix for `a` and one for `b`, if they use different columns. None if both are
        scores.
    y : array-like, shape (m,)
        Any two labels.
    groups, pos_label, confidence, n_jobs
        As in `estimate_auc`.
    interval : {"auto", "components", "jackknife"}, default="auto"
        As in `estimate_auc`. "auto" takes the jackknife if it is cheap for both learners.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    AUCComparison

    Notes
    -----
    Scores cost O(m log m) time, and estimators what `estimate_auc` costs.
    ``benchmarks/auc_comparison_pvalues_are_uniform.py`` measures the p-values if both are equally good.

    Examples
    --------
    Two markers:

    >>> import numpy as np
    >>> from kernelrank import RankRLS, compare_auc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 40)
    >>> X = rng.standard_normal((80, 5)) + np.outer(y, [1.0, 0.2, 0.0, 0.8, 0.8])
    >>> found = compare_auc(X[:, 0], X[:, 1], None, y)
    >>> round(found.difference, 2), 0.0 in found.interval, found.pvalue < 0.05
    (0.33, False, True)

    Does a model of all columns add to the first two?

    >>> added = compare_auc(RankRLS(), RankRLS(), (X, X[:, :2]), y)
    >>> round(added.first.auc, 2), round(added.second.auc, 2)
    (0.89, 0.81)
    """
    if verbose:
        return verbosely(compare_auc, locals())
    check_option("interval", interval, INTERVALS)
    check_confidence(confidence)
    both = X if isinstance(X, tuple) and len(X) == 2 else (X, X)
    sides = [_read_side(value, part) for value, part in zip((a, b), both, strict=True)]
    if interval == "jackknife" and all(learner is None for learner, _ in sides):
        raise InvalidInputError("interval='jackknife' needs estimators; it cannot be computed for given scores")
    sizes = [num_samples(items) for _, items in sides]
    if sizes[0] != sizes[1]:
        raise InvalidInputError(f"both sides must have the same items: the first has {sizes[0]}, the second {sizes[1]}")
    classes = TwoClasses.read(y, sizes[0], pos_label=pos_label)
    codes = shared_groups(check_groups(groups, classes))
    held = []
    for learner, items in sides:
        estimator = None if learner is None else settled(learner, items)
        task = Task(estimator, items, classes, codes, interval=interval, options={"n_jobs": n_jobs})
        held.append(_Held(task, _win_rates(task)))
    return _compare(held[0], held[1], confidence)


def _read_side(value: Any, X: Any) -> tuple[Any, Any]:
    """Return an estimator and its items, or None and given scores."""
    if not hasattr(value, "fit"):
        return None, check_scores(value, X)
    if X is None:
        raise InvalidInputError(f"{type(value).__name__} needs X to train on; got X=None")
    return value, X


def _win_rates(task: Task) -> Components:
    if task.estimator is not None:
        return held_out_components(task)
    return Components.of_scores(task.X[task.classes.positives], task.X[task.classes.negatives])


@dataclass(frozen=True, eq=False)
class _Held:
    """A side with its win rates; without an estimator X is scores."""

    task: Task
    components: Components

    @property
    def is_learnt(self) -> bool:
        return self.task.estimator is not None

    @property
    def is_search(self) -> bool:
        return self.is_learnt and isinstance(self.task.held, NestedSearch)

    @cached_property
    def halves(self) -> Halves | None:
        """The side on halves of the items; None where a learner would take too long."""
        return self.task.on_halves() if self.is_learnt else hold_out_halves(self.task, _win_rates)

    @cached_property
    def found(self) -> Found:
        if not self.is_learnt:
            return of_scores(self.task, self.task.X, GIVEN)
        return pair_found(self.task, self.components, self.halves)

    def estimate(self, confidence: float) -> AUCEstimate:
        method = "leave_pair_out" if self.is_learnt else "given scores"
        return to_estimate(self.found, self.task, method, confidence)


def _halves(first: _Held, second: _Held) -> Halves | None:
    """Return the difference on halves; None where a learner would take too long, or both sides are scores."""
    learnt = [side.halves for side in (first, second) if side.is_learnt]
    if not learnt or any(halves is None for halves in learnt):
        return None
    one, two = first.halves, second.halves
    return None if one is None or two is None else one - two


def _compare(first: _Held, second: _Held, confidence: float) -> AUCComparison:
    components = first.components - second.components
    # Not the mean of the differences: rounding must not part AUCs that are equal.
    aucs = [first.components.auc, second.components.auc]
    difference = aucs[0] - aucs[1]
    variance, degrees = components.variance(*first.task.class_groups())
    halves, what = _halves(first, second), SCORED if first.is_learnt or second.is_learnt else GIVEN
    if halves is not None:
        variance *= 1.0 + halves.trained(aucs)
        what = CHOSEN if first.is_search or second.is_search else TRAINED
    what = first.task.what_varies(what)
    at_edge = any(min(auc, 1.0 - auc) <= EDGE for auc in aucs)
    if not np.isfinite(variance):
        ends, pvalue = (-1.0, 1.0), 1.0
        what = "is the largest possible one: with one item or group of a class, the variance is unknown"
    elif at_edge or variance <= EDGE**2:
        ends, pvalue = _square_and_add(first, second, confidence), _touching_level(first, second)
        reason = "an AUC of 0 or 1 does not vary here" if at_edge else "the difference does not vary here"
        what = f"combines the intervals of the two AUCs as if they were independent, because {reason}"
    else:
        error = float(np.sqrt(variance))
        half = float(stdtrit(degrees, 0.5 + confidence / 2)) * error
        ends = max(-1.0, difference - half), min(1.0, difference + half)
        pvalue = float(2.0 * stdtr(degrees, -abs(difference) / error))
    one, two = first.estimate(confidence), second.estimate(confidence)
    return AUCComparison(one, two, difference, Interval(*ends, confidence, what), pvalue)


def _square_and_add(first: _Held, second: _Held, level: float) -> tuple[float, float]:
    one, two = first.estimate(level), second.estimate(level)
    down = np.hypot(one.auc - one.interval.low, two.interval.high - two.auc)
    up = np.hypot(one.interval.high - one.auc, two.auc - two.interval.low)
    return max(-1.0, float(one.auc - two.auc - down)), min(1.0, float(one.auc - two.auc + up))


def _touching_level(first: _Held, second: _Held) -> float:
    """Return one minus the level at which the end of the interval that is nearer to zero reaches it."""
    from scipy.optimize import brentq

    low_is_near = first.components.auc > second.components.auc

    def beyond(level: float) -> float:
        low, high = _square_and_add(first, second, level)
        return low if low_is_near else -high

    least, most = 0.01, 1.0 - 1e-12
    if beyond(least) <= 0.0:
        return 1.0
    return 1.0 - (most if beyond(most) >= 0.0 else float(brentq(beyond, least, most)))


# Tournament -----------------------------------------------------------------------------------------------------------
#
# Tournament leave-pair-out: a ROC curve from pairs that were held out.
#
# Leave-pair-out compares two items by a model that saw neither, which gives an AUC but no curve: no item has a score of
# its own. In the tournament every pair plays, of the same class too, and the score of an item is its number of wins,
# a tie counting a half [MP19]_. Where the held-out differences are consistent (i beats j, j beats k, so i beats k), the
# AUC of these scores is that of leave-pair-out.
#
# References
# ----------
# .. [MP19] Montoya Perez, Airola, Boström, Jambor and Pahikkala (2019). Tournament leave-pair-out cross-validation for
#    receiver operating characteristic analysis. Statistical Methods in Medical Research 28.


@dataclass(frozen=True, eq=False, repr=False)
class TournamentROC(Result):
    """A ROC curve of tournament scores.

    Parameters
    ----------
    fpr, tpr, thresholds : ndarray, shape (points,)
        The curve, as scikit-learn's `roc_curve` gives it for `scores`.
    scores : ndarray, shape (m,)
        The wins of each item against all others; a tie counts a half.
    estimate : AUCEstimate
        The AUC of these scores with its interval.
    leave_pair_out : AUCEstimate
        What `estimate_auc` gives: the share of the pairs of both classes in the right order.
    labels : ndarray, shape (m,)
        The classes of the items.
    groups : ndarray of int64, shape (m,), or None
        The group of each item; None if no two items share one.

    Examples
    --------
    >>> from kernelrank import RankRLS, tournament_roc
    >>> roc = tournament_roc(RankRLS(), [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 0, 0, 1, 1, 1])
    >>> roc.scores
    array([0., 1., 2., 3., 4., 5.])
    """

    fpr: Float
    tpr: Float
    thresholds: Float
    scores: Float
    estimate: AUCEstimate
    leave_pair_out: AUCEstimate
    labels: Any
    groups: Index | None = None

    @property
    def auc(self) -> float:
        """The area under the curve."""
        return self.estimate.auc

    @property
    def interval(self) -> Interval:
        """The interval of the area."""
        return self.estimate.interval

    def sensitivity_at(self, specificity: float, *, random_state: int | None = 0) -> RateEstimate:
        """Return the sensitivity at a given specificity.

        Parameters
        ----------
        specificity : float
            Between 0 and 1.
        random_state : int or None, default=0
            Resamples items, or whole groups, for the interval.

        Returns
        -------
        RateEstimate
            As `kernelrank.metrics.sensitivity_at` gives it for the scores; its level is that of the area's interval.
        """
        return sensitivity_at(
            self.labels,
            self.scores,
            specificity,
            groups=self.groups,
            pos_label=self.estimate.classes[1],
            confidence=self.interval.level,
            random_state=random_state,
        )

    def __str__(self) -> str:
        return str(self.estimate)

    def _facts(self) -> list[tuple[str, str]]:
        return [("points of the curve", f"{len(self.fpr):,}"), *self.estimate._facts()]

    def _columns(self) -> dict[str, Any]:
        return {"fpr": self.fpr, "tpr": self.tpr, "threshold": self.thresholds}

    def plot(self, ax: Any = None, *, name: str | None = None, random_state: Any = None, **line_options: object) -> Any:
        """Draw the curve with a band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        name : str, optional
            What the curve is called in the legend.
        random_state : int, RandomState or None
            Random seed for resampling items.
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        kernelrank.report.ROCDisplay

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        from kernelrank.report.roc import ROCDisplay

        return ROCDisplay.of_tournament(self, name=name, random_state=random_state).plot(ax=ax, **line_options)


@one_pool
def tournament_roc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    pos_label: Any = None,
    confidence: float = 0.95,
    interval: str = "auto",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> TournamentROC:
    """Compute the ROC curve by tournament leave-pair-out.

    Parameters
    ----------
    estimator, X, y, groups, pos_label, confidence, interval, n_jobs
        As in `estimate_auc`. At least three items of each class.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    TournamentROC

    Notes
    -----
    m (m - 1) / 2 pairs, whose differences are kept. One decomposition and O(m²) time for RLS and one ranking of
    RankRLS, a refit for each pair otherwise. The interval is that of the area under the curve with the variance of
    leave-pair-out over the same pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RLSClassifier, tournament_roc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 15)
    >>> X = rng.standard_normal((30, 5)) + y[:, None]
    >>> roc = tournament_roc(RLSClassifier(), X, y)
    >>> round(roc.auc, 2), float(roc.tpr[0]), float(roc.tpr[-1])
    (0.87, 0.0, 1.0)
    """
    if verbose:
        return verbosely(tournament_roc, locals())
    check_option("interval", interval, INTERVALS)
    check_confidence(confidence)
    classes = TwoClasses.read(y, num_samples(X), pos_label=pos_label)
    codes = shared_groups(check_groups(groups, classes))
    classes.require(3, "the tournament", codes)
    task = Task(settled(estimator, X), X, classes, codes, interval=interval, options={"n_jobs": n_jobs})
    first, second, difference = _all_pairs(task)
    scores = _wins(first, second, classes.sign * difference, len(classes.labels))
    fpr, tpr, thresholds = roc_curve(classes.positive, scores)
    between = classes.positive[first] != classes.positive[second]
    components = pair_components(first[between], second[between], difference[between], classes)
    found = pair_found(task, components, task.on_halves())
    auc = Components.of_scores(scores[classes.positives], scores[classes.negatives]).auc
    estimate, pairs = (
        to_estimate(replace(found, auc=area), task, method, confidence)
        for area, method in ((auc, "tournament leave-pair-out"), (components.auc, "leave_pair_out"))
    )
    return TournamentROC(fpr, tpr, thresholds, scores, estimate, pairs, classes.labels, codes)


def tournament_scores(estimator: Any, X: Any, y: Any) -> Float:
    """Return the wins of each item over all others, a tie counting a half, for an estimator that takes the shortcut.

    Shapes: returns (m,).
    """
    first, second, difference = _all_pairs_exactly(estimator, X, y)
    return _wins(first, second, difference, num_samples(X))


def _wins(first: Index, second: Index, difference: Float, n_items: int) -> Float:
    """Return how many of its pairs each item wins."""
    wins = 0.5 + 0.5 * np.sign(difference)
    scores: Float = np.bincount(first, weights=wins, minlength=n_items).astype(np.float64)
    scores += np.bincount(second, weights=1.0 - wins, minlength=n_items)
    return scores


def _all_pairs_exactly(estimator: Any, X: Any, y: Any) -> tuple[Index, Index, Float]:
    """Hold out every unordered pair by the shortcut; return first, second and f(first) - f(second)."""
    m = num_samples(X)
    # In descending order of a rank that no two items share every pair differs.
    every = DifferingPairs(np.arange(m), np.arange(1, m + 1))
    ((_, problem),) = HoldoutData(estimator, X, y).problems
    difference, _ = leave_pair_out_exactly(problem, every, np.array([float(estimator.alpha)]))
    return *every.items(), difference[0, 0]


def _all_pairs(task: Task) -> tuple[Index, Index, Float]:
    """Hold out every unordered pair, with groups too, or by refitting."""
    if isinstance(task.held, HoldoutData) and task.groups is None:
        return _all_pairs_exactly(task.estimator, task.X, task.y)
    pairs = np.stack(np.triu_indices(len(task.classes.labels), 1), axis=1).astype(np.int64)
    held = pairs_held_out(task.held, task.estimator, task.X, task.y, pairs, task.groups, **task.options)
    return held.first, held.second, held.difference
