"""Tournament leave-pair-out: a ROC curve from pairs that were held out.

Leave-pair-out compares two items by a model that saw neither, which gives an AUC but no curve: no item has a score of
its own. In the tournament every pair plays, of the same class too, and the score of an item is its number of wins,
a tie counting a half [MP19]_. Where the held-out differences are consistent (i beats j, j beats k, so i beats k), the
AUC of these scores is that of leave-pair-out.

References
----------
.. [MP19] Montoya Perez, Airola, Boström, Jambor and Pahikkala (2019). Tournament leave-pair-out cross-validation for
   receiver operating characteristic analysis. Statistical Methods in Medical Research 28.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve
from sklearn.utils.validation import _num_samples

from kernelrank.base.arrays import Float, Index, one_pool
from kernelrank.base.progress import verbosely
from kernelrank.base.results import Result
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import DifferingPairs
from kernelrank.exact_cv import leave_pair_out as leave_pair_out_exactly
from kernelrank.metrics import RateEstimate, sensitivity_at
from kernelrank.metrics.auc_interval import Components
from kernelrank.metrics.interval import Interval, check_confidence
from kernelrank.metrics.two_classes import TwoClasses, check_groups, shared_groups
from kernelrank.model_selection.auc import INTERVALS, to_estimate
from kernelrank.model_selection.auc_estimate import AUCEstimate
from kernelrank.model_selection.auc_methods import Found, Task, pair_components, pair_variance
from kernelrank.model_selection.estimator_refit import settled
from kernelrank.model_selection.holdout import pairs_held_out
from kernelrank.model_selection.refits import HoldoutData

__all__ = ["TournamentROC", "tournament_roc", "tournament_scores"]


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
    if interval not in INTERVALS:
        raise InvalidInputError(f"interval must be one of {', '.join(map(repr, INTERVALS))}, got {interval!r}")
    check_confidence(confidence)
    classes = TwoClasses.read(y, _num_samples(X), pos_label=pos_label)
    codes = shared_groups(check_groups(groups, classes))
    classes.require(3, "the tournament", codes)
    task = Task(settled(estimator, X), X, classes, codes, interval=interval, options={"n_jobs": n_jobs})
    first, second, difference = _all_pairs(task)
    scores = _wins(first, second, classes.sign * difference, len(classes.labels))
    fpr, tpr, thresholds = roc_curve(classes.positive, scores)
    between = classes.positive[first] != classes.positive[second]
    components = pair_components(first[between], second[between], difference[between], classes)
    variance, degrees, what = pair_variance(task, components)
    auc = Components.of_scores(scores[classes.positives], scores[classes.negatives]).auc
    estimate, pairs = (
        to_estimate(Found(area, variance, degrees, what, int(between.sum())), task, method, confidence)
        for area, method in ((auc, "tournament leave-pair-out"), (components.auc, "leave_pair_out"))
    )
    return TournamentROC(fpr, tpr, thresholds, scores, estimate, pairs, classes.labels, codes)


def tournament_scores(estimator: Any, X: Any, y: Any) -> Float:
    """Return the wins of each item over all others, a tie counting a half, for an estimator that takes the shortcut.

    Parameters
    ----------
    estimator : RLS, RLSClassifier or RankRLS
    X, y
        As in its `fit`; one ranking.

    Returns
    -------
    ndarray, shape (m,)
    """
    first, second, difference = _all_pairs_exactly(estimator, X, y)
    return _wins(first, second, difference, _num_samples(X))


def _wins(first: Index, second: Index, difference: Float, n_items: int) -> Float:
    """Return how many of its pairs each item wins."""
    wins = 0.5 + 0.5 * np.sign(difference)
    scores: Float = np.bincount(first, weights=wins, minlength=n_items).astype(np.float64)
    scores += np.bincount(second, weights=1.0 - wins, minlength=n_items)
    return scores


def _all_pairs_exactly(estimator: Any, X: Any, y: Any) -> tuple[Index, Index, Float]:
    """Hold out every unordered pair by the shortcut; return first, second and f(first) - f(second)."""
    m = _num_samples(X)
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
