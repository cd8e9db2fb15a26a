"""The values of a measure over the queries, and the queries with the worst values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Labels, RandomStateLike
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Measure, MeasureResult, get_measure
from kernelrank.report.displays import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["QueryScoreDisplay"]


class DisplayOptions(TypedDict, total=False):
    """Options of a display; see `QueryScoreDisplay`."""

    n_worst: int
    confidence: float
    random_state: RandomStateLike


class QueryScoreDisplay(Display):
    """Values of a measure for all queries in ascending order, with the mean and the worst queries.

    Parameters
    ----------
    result : MeasureResult
        What was measured.
    name : str, optional
        The name of the points.
    n_worst : int, default=5
        How many queries are named.
    confidence : float, default=0.95
        Confidence level of the interval of the mean.
    random_state : int, Generator, RandomState or None
        Random seed for resampling queries.

    Attributes
    ----------
    worst : list of (label, value)
        The queries with the worst values.
    ax_, figure_, line_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> from kernelrank.metrics import PairwiseAccuracy
    >>> result = PairwiseAccuracy()([2, 1, 2, 1, 2, 1], [2, 1, 1, 2, 3, 1], qid=["a", "a", "b", "b", "c", "c"])
    >>> QueryScoreDisplay(result, n_worst=1).worst
    [('b', 0.0)]
    """

    line_: Line2D

    def __init__(
        self,
        result: MeasureResult,
        *,
        name: str | None = None,
        n_worst: int = 5,
        confidence: float = 0.95,
        random_state: RandomStateLike = None,
    ) -> None:
        if n_worst < 0:
            raise InvalidInputError(f"n_worst must be at least 0, got {n_worst!r}")
        self.result = result
        self.name = name
        self.confidence = confidence
        self.random_state = random_state
        order = np.argsort(result.values, kind="stable")
        self.values = result.values[order]
        # The disagreement is an error: its largest values are the worst.
        worst = order[::-1] if result.label.startswith("disagreement") else order
        labels = result.queries.tolist()
        self.worst = [(labels[q], float(result.values[q])) for q in worst[:n_worst]]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike,
        *,
        qid: Labels | None,
        measure: str | Measure = "pairwise_accuracy",
        ax: Axes | None = None,
        name: str | None = None,
        **options: Unpack[DisplayOptions],
    ) -> Self:
        """Measure a fitted estimator on items that it was not trained on, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X, y, qid
            Items, true scores and queries.
        measure : str or Measure, default="pairwise_accuracy"
            A name that `get_measure` reads, such as "ndcg@10".
        ax : matplotlib Axes, optional
        name : str, optional
            The name of the estimator's class unless given.
        options
            `n_worst`, `confidence` and `random_state`, as in the class.

        Returns
        -------
        QueryScoreDisplay
        """
        name = name or type(estimator).__name__
        return cls.from_predictions(y, estimator.predict(X), qid=qid, measure=measure, ax=ax, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None,
        measure: str | Measure = "pairwise_accuracy",
        ax: Axes | None = None,
        name: str | None = None,
        **options: Unpack[DisplayOptions],
    ) -> Self:
        """Measure predicted scores, such as those of `leave_query_out`, and draw.

        Parameters
        ----------
        y_true, y_score : array-like, shape (m,)
        qid : sequence, shape (m,)
        measure, ax, name, options
            As in `from_estimator`.

        Returns
        -------
        QueryScoreDisplay
        """
        chosen = get_measure(measure) if isinstance(measure, str) else measure
        return cls(chosen(y_true, y_score, qid=qid), name=name, **options).plot(ax=ax)

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw the queries."""
        count = len(self.values)
        share = (np.arange(count) + 0.5) / count
        options = {"marker": "o", "markersize": 3, "linestyle": "none", **line_options}
        (self.line_,) = ax.plot(100 * share, self.values, label=self.name or "queries", **options)
        mean = self.result.mean
        label = f"mean {mean:.3f}"
        if count > 1:
            interval = self.result.interval(self.confidence, random_state=self.random_state)
            label += f", {100 * self.confidence:.4g}% interval {interval.low:.3f} to {interval.high:.3f}"
            ax.axhspan(interval.low, interval.high, color="0.4", alpha=0.15, linewidth=0)
        ax.axhline(mean, color="0.4", linestyle=":", label=label)
        left_out = f", {self.result.n_left_out} left out" if self.result.n_left_out else ""
        ax.set_xlabel(f"percent of queries with at most this value ({count} queries{left_out})")
        measure, _, rules = self.result.label.partition(" (")
        ax.set_ylabel(measure)
        if rules:
            ax.set_title(rules.removesuffix(")"), fontsize="small", color="0.3", loc="left")
        ax.legend(loc="upper left", fontsize="small")
        if self.worst:
            names = "\n".join(f"{label}: {value:.3f}" for label, value in self.worst)
            ax.text(
                0.98,
                0.03,
                f"worst\n{names}",
                transform=ax.transAxes,
                ha="right",
                va="bottom",
                fontsize="small",
                parse_math=False,  # a dollar sign in a label is no formula
            )
