"""A display: a plot in scikit-learn's style. matplotlib is imported when something is drawn and not before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike
from kernelrank.base.results import Bars, Chart, Curves, Estimates, Histogram, Result
from kernelrank.base.text import p_is
from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.metrics import ConcordanceResult, Measure, MeasureResult
from kernelrank.metrics.names import get_measure
from kernelrank.metrics.roc import TwoClasses
from kernelrank.model_selection import PermutationTest
from kernelrank.model_selection.alpha_grid import edge_of
from kernelrank.model_selection.auc import pair_components
from kernelrank.model_selection.holdout import leave_pair_out, leave_query_out
from kernelrank.model_selection.search import AlphaSearch
from kernelrank.model_selection.searches import RLSCV, RankRLSCV, RLSClassifierCV
from kernelrank.report.writing import Picture, counted, drawing, plural, with_decimals, with_digits
from kernelrank.selection import SelectionCurve, SelectionStability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

    from kernelrank.model_selection.permutation import PermutationImportance


class Display(ABC):
    """Base class of displays, which draw on given or new axes."""

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None, **line_options: object) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        self

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        self.ax_ = _new_axes(self._n_rows()) if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, line_options)
        return self

    def _n_rows(self) -> int | None:
        """Return how many rows of names there are, for the height of a new figure; None where there are none."""
        return None

    @abstractmethod
    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw on the axes, the main line with the options of the user."""


def legend_above(ax: Axes) -> None:
    """Put a legend above the axes, where it covers nothing, unless there is nothing to name."""
    if not ax.get_legend_handles_labels()[0]:
        return
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize="small", borderaxespad=0.2, frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # names are text, whatever signs of formulas they hold


def _new_axes(n_rows: int | None) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "report") from None
    width, height = plt.rcParams["figure.figsize"]
    if n_rows is not None:
        height = 0.9 + 0.35 * n_rows
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


# Chart display --------------------------------------------------------------------------------------------------------
#
# The plot of a result: estimates with intervals, a histogram, bars or curves, all drawn alike.


class ChartDisplay(Display):
    """Plot of a result, made by its `plot` method.

    Parameters
    ----------
    chart : Estimates, Histogram, Bars or Curves
        What is drawn.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> display = ChartDisplay(Estimates([("genes", 0.75, 0.55, 0.9)], "AUC", 0.5))
    >>> display.chart.label
    'AUC'
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    def _n_rows(self) -> int | None:
        match self.chart:
            case Estimates(rows=rows):
                return len(rows)
            case Bars(names=names):
                return len(names)
        return None

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        draw_chart(ax, self.chart, line_options)


def display_of(result: Result) -> Display:
    """Return the display that draws a result."""
    if isinstance(result, SelectionCurve | SelectionStability | PermutationTest):
        return SelectionDisplay(result)
    if isinstance(result, MeasureResult) and not isinstance(result, ConcordanceResult):
        return QueryScoreDisplay(result, random_state=0)
    return ChartDisplay(result._chart())


def draw_chart(ax: Axes, chart: Chart, line_options: dict[str, Any]) -> None:
    """Draw a chart on axes, its main lines with the options of the user."""
    match chart:
        case Estimates():
            _draw_estimates(ax, chart, line_options)
        case Histogram():
            _draw_histogram(ax, chart, line_options)
        case Bars():
            _draw_bars(ax, chart, line_options)
        case Curves():
            _draw_curves(ax, chart, line_options)


def _draw_estimates(ax: Axes, chart: Estimates, line_options: dict[str, Any]) -> None:
    options = {"color": "C0", **line_options}
    for place, (_, value, low, high) in enumerate(chart.rows):
        ax.plot([low, high], [place, place], **{"linewidth": 2, "solid_capstyle": "butt", **options})
        if value is not None:
            ax.plot([value], [place], **{"marker": "s", **options})
    if chart.reference is not None:
        ax.axvline(chart.reference, color="0.5", linestyle=":", linewidth=1)
    _name_rows(ax, [name for name, *_ in chart.rows])
    ax.set(xlabel=chart.label, ylim=(len(chart.rows) - 0.4, -0.6))


def _draw_histogram(ax: Axes, chart: Histogram, line_options: dict[str, Any]) -> None:
    values = np.asarray(chart.values)
    values = values[np.isfinite(values)]
    ax.hist(values, **{"bins": min(40, max(5, round(len(values) ** 0.5))), "color": "C0", "alpha": 0.7, **line_options})
    ax.axvline(chart.mark, color="0.5", linestyle="--", label=chart.meaning)
    ax.set(xlabel=chart.label, ylabel=chart.noun)
    legend_above(ax)


def _draw_bars(ax: Axes, chart: Bars, line_options: dict[str, Any]) -> None:
    ax.barh(range(len(chart.names)), chart.values, **{"color": "C0", **line_options})
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    _name_rows(ax, chart.names)
    ax.set(xlabel=chart.label, ylim=(len(chart.names) - 0.4, -0.6))


def _draw_curves(ax: Axes, chart: Curves, line_options: dict[str, Any]) -> None:
    for name, values in chart.lines.items():
        (line,) = ax.plot(chart.x, values, **{"marker": "o", "markersize": 4, "label": name, **line_options})
        if name in chart.bands:
            ax.fill_between(chart.x, *chart.bands[name], color=line.get_color(), alpha=0.18, linewidth=0)
    if chart.mark is not None:
        ax.axvline(chart.mark[0], color="0.5", linestyle="--", label=chart.mark[1])
    if chart.logarithmic:
        ax.set_xscale("log")
    elif np.all(np.asarray(chart.x) % 1 == 0):
        ax.locator_params(axis="x", integer=True)
    ax.set(xlabel=chart.x_label, ylabel=chart.y_label)
    legend_above(ax)


def _name_rows(ax: Axes, names: Iterable[object]) -> None:
    """Write names beside their rows: text, whatever signs of formulas they hold."""
    shown = [name if len(name) <= 32 else f"{name[:31]}…" for name in map(str, names)]
    ax.set_yticks(range(len(shown)), shown, parse_math=False)
    ax.tick_params(axis="y", left=False)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)


# Alpha curve ----------------------------------------------------------------------------------------------------------
#
# The hold-out score over alpha: whether the best value is a peak, on a plateau or at the edge of the grid.


class AlphaCurveDisplay(Display):
    """A curve of hold-out scores over alpha.

    Parameters
    ----------
    alphas : array-like, shape (n,)
        The values of alpha, in any order.
    scores : array-like, shape (n,) or (n, outputs)
        Their hold-out scores, larger is better.
    name : str, optional
        The name of the curve.
    score_name : str, default="hold-out score"
        What the scores are.
    best_alpha : float, optional
        The alpha that was chosen; unless given that with the highest score, averaged over outputs, the smallest of
        several.
    errors : array-like, shape (n,), optional
        Standard errors of the scores of one output, drawn as bars of one standard error to each side.

    Attributes
    ----------
    ax_, figure_, lines_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> display = AlphaCurveDisplay([0.1, 1.0, 10.0], [0.6, 0.8, 0.7])
    >>> display.best_alpha
    1.0
    """

    lines_: list[Line2D]

    def __init__(
        self,
        alphas: ArrayLike,
        scores: ArrayLike,
        *,
        name: str | None = None,
        score_name: str = "hold-out score",
        best_alpha: float | None = None,
        errors: ArrayLike | None = None,
    ) -> None:
        values, curve = np.asarray(alphas, dtype=np.float64), np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or len(values) == 0 or curve.shape[:1] != values.shape or curve.ndim > 2:
            raise InvalidInputError(
                f"alphas must be a vector and scores have one row for each, got shapes {values.shape} and {curve.shape}"
            )
        if np.any(values <= 0):
            raise InvalidInputError("alphas must be positive")
        if errors is not None and np.shape(errors) != curve.shape:
            raise InvalidInputError(
                f"Expected one standard error for each score of one output: scores has the shape {curve.shape}, errors "
                f"{np.shape(errors)}"
            )
        order = np.argsort(values)
        self.alphas = values[order]
        self.scores = curve[order]
        self.errors = None if errors is None else np.asarray(errors, dtype=np.float64)[order]
        self.name = name
        self.score_name = score_name
        self.best_alpha = float(self.alphas[np.argmax(self._mean())] if best_alpha is None else best_alpha)

    def _mean(self) -> Float:
        """Return the scores, averaged over outputs."""
        mean: Float = self.scores if self.scores.ndim == 1 else self.scores.mean(axis=1)
        return mean

    @property
    def at_the_edge(self) -> bool:
        """Whether an alpha at the edge of the grid is better than every one inside."""
        return edge_of(self.alphas, self._mean()) != 0

    @property
    def within_noise(self) -> Index:
        """The positions of the alphas whose scores are within one standard error of the best; empty without errors."""
        if self.errors is None:
            return np.empty(0, dtype=np.int64)
        chosen = int(np.argmin(np.abs(self.alphas - self.best_alpha)))
        return np.flatnonzero(self.scores >= self.scores[chosen] - self.errors[chosen])

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        qid: Labels | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        **line_options: object,
    ) -> Self:
        """Draw the alpha curve of a fitted search.

        Parameters
        ----------
        estimator : RankRLSCV, RLSCV, or GridSearchCV over alpha
            Fitted.
        X, y, qid : optional
            The training data. With them, the curve of a `RankRLSCV` has error bars (over queries, or over the items of
            two classes), and the legend says how many alphas are within one standard error of the best.
        ax : matplotlib Axes, optional
        name : str, optional
            The name of the estimator's class unless given.
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        AlphaCurveDisplay
        """
        display = cls.of_search(estimator, name=name)
        if X is not None and y is not None and display.scores.ndim == 1:
            display.errors = standard_errors(estimator, X, y, qid, display.alphas)
        return display.plot(ax=ax, **line_options)

    @classmethod
    def of_search(cls, estimator: BaseEstimator, *, name: str | None = None) -> Self:
        """Create the display of a fitted search, without drawing.

        Parameters
        ----------
        estimator, name
            As in `from_estimator`.

        Returns
        -------
        AlphaCurveDisplay
        """
        check_is_fitted(estimator, "cv_results_")
        results = estimator.cv_results_
        keys = [key for key in results if key == "alpha" or key.endswith(("param_alpha", "__alpha"))]
        if len(keys) != 1 or "mean_test_score" not in results:
            raise InvalidInputError("this estimator did not search over alpha: there is no curve to draw")
        alphas = np.asarray(results[keys[0]], dtype=np.float64)
        scores = np.asarray(results["mean_test_score"], dtype=np.float64)
        alpha_name = keys[0].removeprefix("param_")
        best_params = getattr(estimator, "best_params_", {})
        if scores.ndim == 1 and len(best_params) > 1:
            # Each kernel has a curve of its own, perhaps over other alphas: it is that of the kernel that was chosen.
            others = {key: value for key, value in best_params.items() if key != alpha_name}
            own = [all(_same(one.get(key), value) for key, value in others.items()) for one in results["params"]]
            alphas, scores = alphas[own], scores[own]
        chosen = getattr(estimator, "alpha_", None)
        if chosen is None:
            chosen = best_params[alpha_name]
        # One alpha for each output is no one line to mark.
        best = float(chosen) if np.ndim(chosen) == 0 else None
        return cls(alphas, scores, name=name or type(estimator).__name__, best_alpha=best)

    @classmethod
    def from_predictions(
        cls,
        alphas: ArrayLike,
        scores: ArrayLike,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        score_name: str = "hold-out score",
        errors: ArrayLike | None = None,
        **line_options: object,
    ) -> Self:
        """Draw given scores, such as ``leave_pair_out(..., alphas=alphas).accuracy``.

        Parameters
        ----------
        alphas, scores, name, score_name, errors
            As in the class.
        ax : matplotlib Axes, optional
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        AlphaCurveDisplay
        """
        return cls(alphas, scores, name=name, score_name=score_name, errors=errors).plot(ax=ax, **line_options)

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw the curve and mark the best alpha."""
        options = {"marker": "o", "markersize": 4, **line_options}
        self.lines_ = ax.plot(self.alphas, self.scores, **options)
        if self.errors is not None:
            bars: dict[str, Any] = {
                "fmt": "none",
                "ecolor": self.lines_[0].get_color(),
                "elinewidth": 1.2,
                "capsize": 2.5,
            }
            ax.errorbar(self.alphas, self.scores, yerr=self.errors, alpha=0.55, **bars)
        if self.scores.ndim == 1:
            self.lines_[0].set_label(self.name or self.score_name)
        else:
            for number, line in enumerate(self.lines_):
                line.set_label(f"output {number}")
        best = f"best alpha {with_digits(self.best_alpha)}" + (", at the edge of the grid" if self.at_the_edge else "")
        if len(self.within_noise) > 1:
            best += f"\n{len(self.within_noise)} of {len(self.alphas)} alphas: within one standard error"
        ax.axvline(self.best_alpha, color="0.4", linestyle=":", label=best)
        ax.set(xscale="log", xlabel="alpha", ylabel=self.score_name)
        if self.errors is None:
            ax.legend(loc="best")
            return
        # Room for the legend above the bars, which run through the whole picture.
        low, high = (self.scores - self.errors).min(), (self.scores + self.errors).max()
        ax.set_ylim(top=max(ax.get_ylim()[1], high + 0.4 * (high - low)))
        ax.legend(loc="upper right", fontsize="small")


def _same(one: object, other: object) -> bool:
    return one is other or bool(np.all(one == other))


def alpha_picture(display: AlphaCurveDisplay) -> Picture:
    """Draw the hold-out score over alpha."""
    with drawing("alpha") as canvas:
        display.plot(ax=canvas.ax)
        if (legend := canvas.ax.get_legend()) is not None:
            legend.remove()  # the caption says as much
            canvas.ax.autoscale(axis="y")  # and needs no room
        _plain_powers(canvas.ax)
        best = float(display.scores[np.argmin(np.abs(display.alphas - display.best_alpha))])
        alt = (
            f"Line plot of the {display.score_name} over {len(display.alphas)} values of alpha from "
            f"{with_digits(display.alphas[0])} to {with_digits(display.alphas[-1])}, on a logarithmic scale. It lies "
            f"between {with_digits(display.scores.min())} and {with_digits(display.scores.max())}; at the alpha that "
            f"was chosen, {with_digits(display.best_alpha)}, it is {with_digits(best)}."
        )
        caption = (
            "Each point is the score of models that were trained without the items they score. The dotted line is the "
            f"alpha that was chosen, {with_digits(display.best_alpha)}."
        )
        if display.errors is not None:
            alt += (
                f" Bars of one standard error, up to {with_digits(display.errors.max(), 2)} long, stand on both sides."
            )
            caption += (
                " Bars: one standard error to each side, for other items or queries being scored. All points use "
                "the same items, so differences between neighbouring points vary less than the bars suggest."
                f" {_within_noise(display)}"
            )
        return canvas.picture(alt, caption)


def _within_noise(display: AlphaCurveDisplay) -> str:
    """Say how many alphas are as good as the best, within its standard error."""
    near = display.within_noise
    if len(near) < 2:
        return "No other alpha is within one standard error of the best."
    ends = with_digits(display.alphas[near[0]]), with_digits(display.alphas[near[-1]])
    return (
        f"{len(near)} of {len(display.alphas)} alphas, between {ends[0]} and {ends[1]}, are within one standard error "
        "of the best: the choice among them is within noise."
    )


def _plain_powers(ax: Axes) -> None:
    """Label powers of ten by plain characters, which the page's font has, rather than by pieces of formulas."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    low, high = ax.get_xlim()
    if np.log10(high / low) >= 1:
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))


def _power(value: float) -> str:
    exponent = round(float(np.log10(value)))
    if -3 <= exponent <= 4:
        return f"{value:,g}"
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def describe_scoring(model: BaseEstimator) -> str:
    """Name the measure of a search."""
    scoring = getattr(model, "scoring", None)
    if isinstance(scoring, (str, Measure)):
        try:
            return get_measure(scoring).name
        except ValueError:
            return str(scoring)  # a scorer of scikit-learn
    if scoring is None and isinstance(model, (RLSCV, RLSClassifierCV)):
        loss = "mean squared error" if isinstance(model, RLSCV) else "share of items in the wrong class"
        return f"score (minus the {loss})"
    return "score"


def alpha_curve_of(model: BaseEstimator) -> AlphaCurveDisplay | None:
    """Return what a search over several alphas found, named after its measure; None if there was no such search."""
    if not hasattr(model, "cv_results_"):
        return None
    try:
        display = AlphaCurveDisplay.of_search(model)
    except InvalidInputError:
        return None
    display.score_name = f"hold-out {describe_scoring(model)}"
    return display if len(display.alphas) > 1 else None


# Alpha errors ---------------------------------------------------------------------------------------------------------
#
# Standard errors of hold-out scores over alpha: over queries, or from the win rates of the items.

MOST_DIFFERENCES = 20_000_000  # of held-out pairs, kept at a time: 160 MB; beyond that there are no bars


def standard_errors(search: BaseEstimator, X: Any, y: ArrayLike, qid: Labels | None, alphas: ArrayLike) -> Float | None:
    """Estimate how far held-out scores may vary: over queries, or over the items of two classes.

    Shapes: alphas (n,); returns (n,).
    """
    labels = np.asarray(y)
    if qid is not None:
        return query_standard_errors(search, X, labels.astype(np.float64), qid, alphas)
    return pair_standard_errors(search, X, labels, alphas) if len(np.unique(labels)) == 2 else None


def pair_standard_errors(
    search: BaseEstimator, X: Any, labels: NDArray[Any], alphas: ArrayLike, groups: Index | None = None
) -> Float | None:
    """Estimate how far the accuracy of held-out pairs of two classes may vary with the items, for each alpha.

    O(m² n) time and memory for P N pairs and n alphas, in addition to one decomposition.

    Shapes: X (m, n_features), labels (m,), alphas (n,), groups (m,); returns (n,).
    """
    if not isinstance(search, RankRLSCV) or search.cv not in ("auto", "leave_pair_out"):
        return None
    values = np.asarray(alphas, dtype=np.float64)
    classes = TwoClasses.read(labels, len(labels))
    if len(classes.positives) * len(classes.negatives) * len(values) > MOST_DIFFERENCES:
        return None
    held = leave_pair_out(chosen_learner(search), X, classes.positive.astype(np.float64), alphas=values)
    codes = (None, None) if groups is None else (groups[classes.positives], groups[classes.negatives])
    # The differences are of the scores of 1 against 0, so that the sign of `classes` is one.
    columns = [pair_components(held.first, held.second, column, classes) for column in held.difference.T]
    errors = np.sqrt([components.variance(*codes)[0] for components in columns])
    return errors if np.all(np.isfinite(errors)) else None


def chosen_learner(search: AlphaSearch) -> BaseEstimator:
    """Return the unfitted learner with the kernel that a search chose."""
    learner: BaseEstimator = search._learner({name: x for name, x in search.best_params_.items() if name != "alpha"})
    return learner


def query_standard_errors(
    search: BaseEstimator, X: Any, y: Float, qid: Labels | None, alphas: ArrayLike
) -> Float | None:
    """Estimate how far the held-out score of each alpha may vary with the queries.

    One decomposition and O(m n log m) time for n alphas.

    Shapes: alphas (n,); returns (n,).
    """
    values = np.asarray(alphas, dtype=np.float64)
    exact = type(search) is RankRLSCV and search.cv in ("auto", "leave_query_out") and isinstance(search.scoring, str)
    if not exact or qid is None or np.any(np.isnan(y)) or len(y) * len(values) > MOST_DIFFERENCES:
        return None
    held = leave_query_out(chosen_learner(search), X, y, qid, alphas=values)
    measure = get_measure(search.scoring)
    of_queries = np.array([measure(y, scores, qid=qid).values for scores in held.T])
    n_queries = of_queries.shape[1]
    return of_queries.std(axis=1, ddof=1) / np.sqrt(n_queries) if n_queries > 1 else None


# Query scores ---------------------------------------------------------------------------------------------------------
#
# The values of a measure over the queries, and the queries with the worst values.


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
            corner: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": "small"}
            ax.text(0.98, 0.03, f"worst\n{names}", parse_math=False, **corner)  # a dollar sign is no formula


def query_picture(result: MeasureResult, *, noun: str = "query", random_state: RandomStateLike = 0) -> Picture:
    """Draw how a measure is spread over the queries."""
    with drawing("queries") as canvas:
        # The worst are named in a table, where a label of any length has room.
        display = QueryScoreDisplay(result, n_worst=0, random_state=random_state)
        many = len(result) > 400  # points would fill the page and the file
        display.plot(ax=canvas.ax, **({"marker": "", "linestyle": "-", "linewidth": 2.0} if many else {}))
        canvas.ax.set_title("", loc="left")  # the conventions stand in the table of measures
        canvas.ax.legend(loc="lower right", fontsize="small")
        canvas.ax.set_xlabel(f"percent of {plural(noun)} with at most this value")
        low, middle, high = np.quantile(result.values, [0.0, 0.5, 1.0])
        name = result.label.partition(" (")[0]
        alt = (
            f"The {name} of {counted(len(result), noun)} in ascending order: lowest {with_decimals(low)}, median "
            f"{with_decimals(middle)}, highest {with_decimals(high)}, mean {with_decimals(result.mean)}."
        )
        caption = f"One point for each {noun}, in ascending order. The band is the interval of the mean."
        return canvas.picture(alt, caption.replace("One point for each", "A line through each") if many else caption)


# Importance -----------------------------------------------------------------------------------------------------------
#
# A plot of permutation importances: one line for each feature, the most important at the top.


class ImportanceDisplay(Display):
    """Plot of the most important features with their confidence intervals.

    Parameters
    ----------
    importance : PermutationImportance
        What `permutation_importance` returns.
    k : int, default=20
        How many features are drawn.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> from kernelrank import RankRLS, make_ranking, permutation_importance
    >>> X, y, qid = make_ranking(n_queries=10, n_features=3, random_state=0)
    >>> found = permutation_importance(RankRLS().fit(X, y, qid=qid), X, y, qid, random_state=0)
    >>> ImportanceDisplay(found, k=2).k
    2
    """

    def __init__(self, importance: PermutationImportance, *, k: int = 20) -> None:
        if k < 1:
            raise InvalidInputError(f"Expected k of at least 1; got {k!r}.")
        self.importance = importance
        self.k = k

    def _n_rows(self) -> int:
        return min(self.k, len(self.importance.order))

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        found = self.importance
        shown = found.order[: self.k]
        columns = (found.feature_names, found.importances, found.low, found.high)
        rows = list(zip(*(column[shown].tolist() for column in columns), strict=True))
        draw_chart(ax, Estimates(rows, f"fall of {found.label.split(' (')[0]} when permuted", 0.0), line_options)


def importance_picture(found: PermutationImportance) -> Picture:
    """Draw the permutation importances of the most important features."""
    shown = found.order[:20]
    with drawing("importance", height=1.2 + 0.26 * len(shown)) as canvas:
        ImportanceDisplay(found, k=len(shown)).plot(ax=canvas.ax)
        first = shown[0]
        alt = (
            f"One line for each of {counted(len(shown), 'feature')}, the most important at the top: "
            f"{found.feature_names[first]}, with a fall of {with_digits(found.importances[first], 2)}."
        )
        caption = (
            "How much the measure falls on the test set when a feature is permuted within each query, with 95 % "
            f"intervals ({found.method}). Correlated features share their importance."
        )
        return canvas.picture(alt, caption)


# Selection ------------------------------------------------------------------------------------------------------------
#
# Plots of a feature selection: its accuracy, its stability, and a permutation test.

SelectionResult: TypeAlias = SelectionCurve | SelectionStability | PermutationTest


class SelectionDisplay(Display):
    """A picture of a selection curve, of a selection's stability, or of a permutation test.

    Parameters
    ----------
    result : SelectionCurve, SelectionStability or PermutationTest
        A curve is drawn over the number of features, with the intervals as a band; stability as a bar for each feature;
        a permutation test as a histogram of the permuted accuracies, with the true one marked.
    n_shown : int, default=20
        How many features have a bar.
    threshold : float, default=0.9
        Which share of the subsamples is marked.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank.selection import SelectionStability
    >>> from kernelrank.report import SelectionDisplay
    >>> found = SelectionStability(("age", "dose"), np.array([1.0, 0.6]), 2.0, 40, 100)
    >>> SelectionDisplay(found).plot().ax_.get_xlabel()
    'share of 100 halves that select the feature'
    """

    def __init__(self, result: SelectionResult, *, n_shown: int = 20, threshold: float = 0.9) -> None:
        if not isinstance(result, (SelectionCurve, SelectionStability, PermutationTest)):
            raise InvalidInputError(
                f"Expected a SelectionCurve, a SelectionStability or a PermutationTest; got {type(result).__name__}."
            )
        self.result = result
        self.n_shown = n_shown
        self.threshold = threshold

    def _n_rows(self) -> int | None:
        if isinstance(self.result, SelectionStability):
            return 1 + min(self.n_shown, len(self.result.features))  # and the legend
        return None

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        found = self.result
        if isinstance(found, SelectionStability):
            share, least = f"share of {found.n_subsamples} halves that select the feature", self.threshold
            features, frequency = found.features[: self.n_shown], found.frequency[: self.n_shown]
            draw_chart(ax, Bars([str(name) for name in features], frequency.tolist(), share), line_options)
            label = f"at most {found.expected_false(least):.2g} false ones beyond {least:g}"
            ax.axvline(least, color="0.4", linestyle=":", label=label)
            ax.set(xlim=(0, 1))
            legend_above(ax)
        elif isinstance(found, SelectionCurve):
            anew = "selected anew in each training set"
            lines = {anew: found.nested, "where the features were selected": found.inside}
            sizes = np.arange(1.0, len(found.nested) + 1)
            bands = {anew: (found.low, found.high)}
            draw_chart(ax, Curves(sizes, lines, "number of features", found.measure, bands), line_options)
        else:
            name, value = found.name.replace("_", "-"), found.statistic
            meaning = f"observed {value:.3f}, p {p_is(found.pvalue)}"
            draw_chart(ax, Histogram(found.null, name, "permutations", value, meaning), line_options)


def null_picture(statistic: float, null: Float) -> Picture:
    """Draw the accuracies of permuted classes, with that of the true ones."""
    with drawing("null", height=2.6) as canvas:
        meaning = f"observed classes, {statistic:.3f}"
        draw_chart(canvas.ax, Histogram(null, "hold-out accuracy", "permutations", statistic, meaning), {})
        beyond = int(np.sum(null >= statistic))
        alt = (
            f"Histogram of the hold-out accuracy of {counted(len(null), 'permutation')} of the classes: between "
            f"{with_decimals(null.min())} and {with_decimals(null.max())}, mean {with_decimals(null.mean())}. That of "
            f"the observed classes, {with_decimals(statistic)}, is reached by {beyond:,} of them."
        )
        caption = "The accuracies that arise by chance, if the classes have nothing to do with the features."
        return canvas.picture(alt, caption)
