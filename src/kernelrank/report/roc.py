"""A ROC curve with an interval for its area and a band for itself."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_curve
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike
from kernelrank.base.labels import Queries
from kernelrank.metrics import AUC, Interval
from kernelrank.metrics.intervals import FIXED
from kernelrank.metrics.roc import RocResamples, TwoClasses, check_groups, shared_groups
from kernelrank.model_selection.auc import AUCEstimate, check_scores, estimate_auc
from kernelrank.model_selection.auc_comparison import TournamentROC, tournament_roc
from kernelrank.report.displays import Display
from kernelrank.report.writing import Picture, drawing, with_decimals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

POINTS = np.linspace(0.0, 1.0, 201)


class ROCDisplay(Display):
    """ROC curve with a confidence band and the AUC.

    Parameters
    ----------
    fpr, tpr : ndarray, shape (points,)
        The curve.
    estimate : AUCEstimate
        Its area with an interval.
    band : tuple of ndarray, optional
        False positive rates, and the lower and upper true positive rates there.
    name : str, optional
        The name of the curve.
    resampled : str, default="items"
        What was resampled for the band.

    Attributes
    ----------
    ax_, figure_, line_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernelrank.report import ROCDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = ROCDisplay.from_predictions(y, -X[:, 0], random_state=0)
    >>> display.estimate.auc.__round__(3), display.ax_.get_xlabel()
    (0.938, 'false positive rate')
    """

    line_: Line2D

    def __init__(
        self,
        fpr: Float,
        tpr: Float,
        estimate: AUCEstimate,
        *,
        band: tuple[Float, Float, Float] | None = None,
        name: str | None = None,
        resampled: str = "items",
    ) -> None:
        self.fpr = fpr
        self.tpr = tpr
        self.estimate = estimate
        self.band = band
        self.name = name
        self.resampled = resampled

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        groups: Labels | None = None,
        pos_label: Hashable = None,
        confidence: float = 0.95,
        interval: str = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        ax: Axes | None = None,
        name: str | None = None,
        **line_options: object,
    ) -> Self:
        """Draw the tournament leave-pair-out ROC curve of an estimator.

        Parameters
        ----------
        estimator, X, y, groups, pos_label, confidence, interval, n_jobs
            As in `tournament_roc`.
        random_state : int, RandomState or None
            Random seed for resampling items.
        ax : matplotlib Axes, optional
        name : str, optional
            The name of the estimator's class unless given.
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        ROCDisplay
        """
        roc = tournament_roc(
            estimator,
            X,
            y,
            groups=groups,
            pos_label=pos_label,
            confidence=confidence,
            interval=interval,
            n_jobs=n_jobs,
        )
        display = cls.of_tournament(roc, name=name or type(estimator).__name__, random_state=random_state)
        return display.plot(ax=ax, **line_options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: Labels | None = None,
        pos_label: Hashable = None,
        confidence: float = 0.95,
        random_state: RandomStateLike = None,
        ax: Axes | None = None,
        name: str | None = None,
        **line_options: object,
    ) -> Self:
        """Draw the ROC curve of predictions for items outside the training data.

        Parameters
        ----------
        y_true : array-like, shape (m,)
            Two classes.
        y_score : array-like, shape (m,)
            Larger scores indicate the positive class.
        groups, pos_label, confidence, random_state, ax, name, line_options
            As in `from_estimator`.

        Returns
        -------
        ROCDisplay
        """
        display = cls.of_scores(
            y_true,
            y_score,
            groups=groups,
            pos_label=pos_label,
            confidence=confidence,
            random_state=random_state,
            name=name,
        )
        return display.plot(ax=ax, **line_options)

    @classmethod
    def of_tournament(
        cls, roc: TournamentROC, *, name: str | None = None, random_state: RandomStateLike = None
    ) -> Self:
        """Create the display of a tournament curve, without drawing.

        Parameters
        ----------
        roc : TournamentROC
        name, random_state
            As in `from_estimator`.

        Returns
        -------
        ROCDisplay
        """
        positive = roc.labels == roc.estimate.classes[1]
        confidence = roc.estimate.interval.level
        low, high = roc_band(
            positive, roc.scores, POINTS, groups=roc.groups, confidence=confidence, random_state=random_state
        )
        return cls(roc.fpr, roc.tpr, roc.estimate, band=(POINTS, low, high), name=name)

    @classmethod
    def of_scores(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: Labels | None = None,
        pos_label: Hashable = None,
        confidence: float = 0.95,
        random_state: RandomStateLike = None,
        name: str | None = None,
    ) -> Self:
        """Create the display of given scores, without drawing.

        Parameters
        ----------
        y_true, y_score, groups, pos_label, confidence, random_state, name
            As in `from_predictions`.

        Returns
        -------
        ROCDisplay
        """
        scores = check_scores(y_score, name="y_score")
        estimate = estimate_auc(scores, None, y_true, groups=groups, pos_label=pos_label, confidence=confidence)
        classes = TwoClasses.read(y_true, len(scores), pos_label=pos_label)
        codes = shared_groups(check_groups(groups, classes))
        fpr, tpr, _ = roc_curve(classes.positive, scores)
        low, high = roc_band(
            classes.positive, scores, POINTS, groups=codes, confidence=confidence, random_state=random_state
        )
        return cls(fpr, tpr, estimate, band=(POINTS, low, high), name=name)

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw the curve, its band and the diagonal."""
        low, high = self.estimate.interval
        percent = f"{100 * self.estimate.interval.level:.4g}%"
        label = f"AUC {self.estimate.auc:.2f}, {percent} interval {low:.2f} to {high:.2f}"
        label = label if self.name is None else f"{self.name}: {label}"
        (self.line_,) = ax.plot(self.fpr, self.tpr, label=label, **line_options)
        if self.band is not None:
            colour = self.line_.get_color()
            text = f"{percent} of curves, {self.resampled} resampled"
            # Several curves share the words for their bands.
            words = None if text in ax.get_legend_handles_labels()[1] else text
            ax.fill_between(*self.band, color=colour, alpha=0.15, linewidth=0, label=words)
        ax.plot([0, 1], [0, 1], color="0.5", linestyle=":", linewidth=1)
        ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.legend(loc="best", fontsize="small")  # lower right, unless a curve runs there


def roc_picture(display: ROCDisplay, caption: str) -> Picture:
    """Draw a ROC curve."""
    with drawing("roc", height=4.6) as canvas:
        display.plot(ax=canvas.ax)
        low, high = display.estimate.interval
        half = float(np.interp(0.1, display.fpr, display.tpr))
        alt = (
            f"ROC curve: the area under it is {with_decimals(display.estimate.auc)}, with an interval from "
            f"{with_decimals(low)} to {with_decimals(high)}. At a false positive rate of 0.1 the true positive rate is "
            f"{with_decimals(half, 2)}."
        )
        return canvas.picture(alt, caption)


# ROC band -------------------------------------------------------------------------------------------------------------
#
# A bootstrap band of a ROC curve.


def roc_band(
    positive: NDArray[np.bool_],
    scores: Float,
    fpr: Float,
    *,
    groups: Index | None = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: RandomStateLike = None,
) -> tuple[Float, Float]:
    """Compute a pointwise bootstrap band of a ROC curve; items of each class, or whole groups, are resampled.

    O(n_resamples × (m + points)) time. The scores stay as they are: the models do not vary.

    Shapes: positive (m,), scores (m,), fpr (points,), groups (m,); returns low, high (points,).
    """
    generator = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    roc = RocResamples(positive, scores, groups)
    curves = np.stack([np.interp(fpr, *curve) for curve in roc.draws(n_resamples, generator)])
    return _band(curves, confidence)


def _band(curves: Float, confidence: float) -> tuple[Float, Float]:
    """Return the ends of the middle share of curves, shapes (points,)."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
    return low, high


# Query ROC ------------------------------------------------------------------------------------------------------------
#
# The ROC curve of a typical query: the curves of all queries, averaged, so that no two queries are compared.
#
# Scores order the items of a query; between queries they mean nothing. One curve over all items would compare items of
# different queries, and its area would be the AUC of something that nobody asks for. Here each query has its own curve,
# the true positive rates are averaged at each false positive rate, and the area is the mean of the queries' AUCs.

QUERY_POINTS = np.linspace(0.0, 1.0, 101)


def query_roc(
    positive: NDArray[np.bool_],
    scores: Float,
    *,
    qid: Labels | None,
    confidence: float = 0.95,
    random_state: RandomStateLike = 0,
) -> ROCDisplay:
    """Average the ROC curves of queries.

    O(m log m) time, and O(queries) for each of a thousand resamples.

    Shapes: positive (m,), scores (m,), qid (m,).
    """
    result = AUC()(positive.astype(np.float64), scores, qid=qid)
    queries = Queries.from_labels(qid, len(scores))
    curves = [_curve(positive[items], scores[items]) for items in queries if 0 < positive[items].sum() < len(items)]
    table = np.stack(curves)
    allows = f"allows for other queries being asked; {FIXED}"
    interval = Interval(np.nan, np.nan, confidence, allows)
    band = None
    if len(result) > 1:
        found = result.interval(confidence)
        interval = replace(found, method=allows)
        band = (QUERY_POINTS, *_band(_resampled_means(table, random_state), confidence))
    n_positive = int(positive.sum())
    estimate = AUCEstimate(
        auc=result.mean,
        interval=interval,
        method="mean over queries",
        n_pairs=int(sum(positive[items].sum() * (~positive[items]).sum() for items in queries)),
        n_positive=n_positive,
        n_negative=len(positive) - n_positive,
        classes=(False, True),
    )
    # A curve begins at no items at all, whatever share of the queries rises straight up.
    fpr, tpr = np.append(0.0, QUERY_POINTS), np.append(0.0, table.mean(axis=0))
    return ROCDisplay(fpr, tpr, estimate, band=band, resampled="queries")


def _curve(positive: NDArray[np.bool_], scores: Float) -> Float:
    """Return the true positive rates of one query at POINTS; items with the same score are one step."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    up = np.append(0.0, np.cumsum(positive[order])[last])
    right = np.append(0.0, np.cumsum(~positive[order])[last])
    # Where the curve rises straight up, np.interp takes the last of equal points: the rate that is reached there.
    rates: Float = np.interp(QUERY_POINTS, right / right[-1], up / up[-1])
    return rates


def _resampled_means(table: Float, random_state: RandomStateLike) -> Float:
    """Return the mean curves of resampled queries, shape (1000, points)."""
    random = np.random.default_rng(random_state)
    means = np.empty((1000, table.shape[1]))
    for number in range(len(means)):
        drawn = np.bincount(random.integers(len(table), size=len(table)), minlength=len(table))
        means[number] = drawn @ table / len(table)
    return means
