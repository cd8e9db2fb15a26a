"""The report of a comparison: several models on the same queries, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, Labels
from kernelrank.base.results import Estimates
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import DyadicConcordance, Interval, Measure, MeasureResult, PairedTest, get_measure, paired_test
from kernelrank.model_selection import AUCComparison, AUCEstimate
from kernelrank.report.displays import Display, draw_chart
from kernelrank.report.ranking import random_order
from kernelrank.report.writing import Page, Picture, counted, drawing, render, with_decimals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def comparison_report(
    scores: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    qid: Labels,
    measures: Sequence[str | Measure] = ("ndcg@10", "map", "pairwise_accuracy"),
    confidence: float = 0.95,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Compare several models on the same test queries, on one self-contained HTML page.

    Parameters
    ----------
    scores : mapping of str to array-like, shape (m,)
        The predictions of each model, by its name: two models at least.
    y : array-like, shape (m,)
        True scores.
    qid : sequence, shape (m,)
        The query of each item.
    measures : sequence of str or Measure, default=("ndcg@10", "map", "pairwise_accuracy")
        The first is shown query by query.
    confidence : float, default=0.95
        Confidence level of the intervals.
    title, command, notes
        As in `ranking_report`.
    random_state : int or None, default=0
        Random seed for resampled queries and sign flips.

    Returns
    -------
    Page

    Raises
    ------
    MissingExtraError
        If matplotlib or jinja2 is not installed.

    Notes
    -----
    For k models O(k m log m) time, and 10,000 sign flips and resamples of the queries for each pair of models. p-values
    are corrected for all tests of the page by Holm's method.

    Examples
    --------
    >>> from kernelrank import RankRLS, RankSVM, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, n_levels=3, random_state=0)
    >>> train, test = qid < 10, qid >= 10
    >>> models = [kind().fit(X[train], y[train], qid=qid[train]) for kind in (RankRLS, RankSVM)]
    >>> scores = {type(model).__name__: model.predict(X[test]) for model in models}
    >>> page = comparison_report(scores, y[test], qid=qid[test], measures=["ndcg@5"], title="Two losses")
    >>> "<h1>Two losses</h1>" in page.html
    True
    """
    truth = check_scores(y, len(np.asarray(y))).reshape(-1)
    predicted = {str(name): check_scores(values, len(truth)).reshape(-1) for name, values in scores.items()}
    found, problems = [], []
    for measure in dict.fromkeys(get_measure(name) for name in measures):
        try:
            chance = random_order(measure, truth, qid)
            results = {name: measure(truth, values, qid=qid) for name, values in predicted.items()}
        except InvalidInputError as error:
            problems.append(str(error))
            continue
        found.append((measure.name, measure.higher_is_better, results, chance))
    if not found:
        raise InvalidInputError(f"No measure fits these scores: {problems[0] if problems else 'none was given'}")
    compared = ComparedModels.all_of(found, confidence=confidence, random_state=random_state)
    notes = [*notes, *(f"left out: {problem}" for problem in problems)]
    return comparison_page(compared, n_items=len(truth), title=title, command=command, notes=notes)


def comparison_page(
    compared: Sequence[ComparedModels],
    *,
    n_items: int | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write models that were compared already on a page; the other arguments are those of `comparison_report`."""
    first = compared[0]
    (best, best_result), (second, second_result) = first.results[:2]
    content: dict[str, Any] = {
        "title": title or f"Comparison of {len(first.results)} models",
        "compared": list(compared),
        "first": first,
        "best": best,
        "second": second,
        "n_items": n_items,
        "n_tests": sum(len(one.pairs) for one in compared),
        "warnings": _warnings(first),
        "notes": list(notes),
        "command": command,
    }
    place = {query: number for number, query in enumerate(second_result.queries.tolist())}
    others = second_result.values[[place[query] for query in best_result.queries.tolist()]]
    differences = best_result.values - others
    content["query_picture"] = _difference_picture(first.name, differences)
    order = np.argsort(-np.abs(differences), kind="stable")[:10]
    content["queries"] = [
        (best_result.queries[q], float(best_result.values[q]), float(others[q]), float(differences[q]))
        for q in order
        if differences[q]
    ]
    return render("comparison.html.j2", content)


def _warnings(compared: ComparedModels) -> list[str]:
    if compared.n_queries >= 20:
        return []
    return [f"{counted(compared.n_queries, 'query')} are few: intervals and p-values are rough."]


def _difference_picture(measure: str, differences: Float) -> Picture:
    """Draw the differences of two models over the queries, in ascending order."""
    values = np.sort(differences)
    with drawing("differences", height=2.8) as canvas:
        share = 100.0 * (np.arange(len(values)) + 0.5) / len(values)
        colours = np.where(values >= 0, "C0", "C1").tolist()
        canvas.ax.vlines(share, 0.0, values, colors=colours, linewidth=max(0.6, min(6.0, 240 / len(values))))
        canvas.ax.axhline(0.0, color="0.4", linewidth=0.8)
        canvas.ax.set(xlabel="percent of queries", ylabel="difference", xlim=(0, 100))
        higher, lower = int(np.sum(values > 0)), int(np.sum(values < 0))
        alt = (
            f"Differences of {measure} between the first two models for {counted(len(values), 'query')} in ascending "
            f"order, from {with_decimals(values[0])} to {with_decimals(values[-1])}: {higher:,} above zero, {lower:,} "
            f"below, {len(values) - higher - lower:,} equal."
        )
        return canvas.picture(alt, "One line for each query, in ascending order. Above zero the first model is higher.")


# Compared models ------------------------------------------------------------------------------------------------------
#
# Several models measured on the same queries: their values, and how every two of them differ.


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct the p-values of several tests by Holm's step-down method.

    The chance that any true null hypothesis has a corrected p-value of at most x is at most x, however the tests depend
    on each other.
    """
    values = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in corrected]


@dataclass(frozen=True)
class ComparedPair:
    """Two models by one measure."""

    first: str
    second: str
    test: PairedTest
    corrected: float

    @property
    def n_equal(self) -> int:
        """The number of queries that both rank equally well."""
        return self.test.n_queries - self.test.n_first_better - self.test.n_second_better


@dataclass(frozen=True, eq=False)
class ComparedModels:
    """Several models by one measure, best first, with all pairs of them.

    results: The models in descending order of quality.
    """

    name: str
    rules: str
    results: list[tuple[str, MeasureResult]]
    chance: float | None
    values: Forest
    differences: Forest
    pairs: list[ComparedPair]
    confidence: float
    interval_method: str

    @property
    def n_queries(self) -> int:
        """The number of queries that were measured."""
        return len(self.results[0][1])

    @classmethod
    def all_of(
        cls,
        measured: Sequence[tuple[str, bool, Mapping[str, MeasureResult], float | None]],
        *,
        confidence: float = 0.95,
        n_resamples: int = 10_000,
        random_state: int | None = 0,
    ) -> list[ComparedModels]:
        """Compare models by several measures; p-values are corrected for all of the tests together."""
        tests, ordered = [], []
        for name, rising, results, chance in measured:
            if not 2 <= len(results) <= 12:  # a table of all pairs of more would not be read
                raise InvalidInputError(f"Expected 2 to 12 models to compare; got {len(results)}.")
            best_first = sorted(results.items(), key=lambda one: one[1].mean, reverse=rising)
            ordered.append((name, best_first, chance))
            options = {"confidence": confidence, "n_resamples": n_resamples, "random_state": random_state}
            tests.append([paired_test(one, two, **options) for (_, one), (_, two) in combinations(best_first, 2)])  # type: ignore[arg-type]
        corrected = iter(holm([test.pvalue for some in tests for test in some]))
        found = []
        for (name, results_of, chance), some in zip(ordered, tests, strict=True):
            names = list(combinations([model for model, _ in results_of], 2))
            pairs = [ComparedPair(*two, test, next(corrected)) for two, test in zip(names, some, strict=True)]
            intervals = [result.interval(confidence, random_state=random_state) for _, result in results_of]
            rows = [
                (model, result.mean, interval) for (model, result), interval in zip(results_of, intervals, strict=True)
            ]
            label = results_of[0][1].label
            found.append(
                cls(
                    name,
                    label.partition(" (")[2].rstrip(")"),
                    results_of,
                    chance,
                    Forest.of(rows, chance),
                    Forest.of_differences(
                        [(f"{one.first} − {one.second}", one.test.difference, one.test.interval) for one in pairs]
                    ),
                    pairs,
                    confidence,
                    intervals[0].method,
                )
            )
        return found


# Forest ---------------------------------------------------------------------------------------------------------------
#
# A forest plot: AUCs or concordances, one below the other, and below a line how two AUCs differ.


class ForestDisplay(Display):
    """Forest plot of AUCs or concordances with their confidence intervals.

    Parameters
    ----------
    estimates : sequence of tuple
        Names and estimates: what `estimate_auc` or `dyadic_concordance` returns.
    difference : tuple, optional
        A name, a difference of two AUCs and its interval, which is drawn below on an axis of its own.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.
    difference_ax_ : matplotlib Axes or None
        The axis of the difference.

    Examples
    --------
    >>> estimate = AUCEstimate(0.75, Interval(0.55, 0.9, 0.95, ""), "leave_pair_out", 100, 10, 10, (0, 1))
    >>> display = ForestDisplay([("genes", estimate)])
    >>> [name for name, _ in display.estimates]
    ['genes']
    """

    difference_ax_: Axes | None

    def __init__(
        self,
        estimates: Sequence[tuple[str, AUCEstimate | DyadicConcordance]],
        *,
        difference: tuple[str, float, Interval] | None = None,
    ) -> None:
        self.estimates = list(estimates)
        self.difference = difference

    @classmethod
    def from_comparison(
        cls,
        comparison: AUCComparison,
        *,
        names: tuple[str, str] = ("first", "second"),
        ax: Axes | None = None,
        **line_options: object,
    ) -> Self:
        """Draw what `compare_auc` returns.

        Parameters
        ----------
        comparison : AUCComparison
        names : tuple of str, default=("first", "second")
            The names of the two.
        ax : matplotlib Axes, optional
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        ForestDisplay
        """
        first, second = names
        difference = (f"{first} − {second}", comparison.difference, comparison.interval)
        display = cls([(first, comparison.first), (second, comparison.second)], difference=difference)
        return display.plot(ax=ax, **line_options)

    def _n_rows(self) -> int:
        return len(self.estimates) + (0 if self.difference is None else 3)

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw the estimates, and the difference below a line on axes of its own."""
        rows = [(name, float(estimate), *estimate.interval) for name, estimate in self.estimates]
        dyadic = any(isinstance(estimate, DyadicConcordance) for _, estimate in self.estimates)
        draw_chart(ax, Estimates(rows, "concordance" if dyadic else "AUC", 0.5), line_options)
        self.difference_ax_ = None
        if self.difference is None:
            return
        # The axis of the AUCs moves to the top: the lowest rows of the plot have one of their own.
        n, (name, value, interval) = len(rows), self.difference
        place, bottom = n + 0.1, n + 1.2
        ax.set(ylim=(bottom, -0.6))
        ax.xaxis.set(label_position="top", ticks_position="top")
        ax.axhline(n - 0.5, color="0.5", linewidth=0.8)
        below = ax.inset_axes((0.0, (bottom - place - 0.5) / (bottom + 0.6), 1.0, 1 / (bottom + 0.6)))
        difference = Estimates([("", value, *interval)], "difference of the AUCs", 0.0)
        draw_chart(below, difference, {"color": "C1", **line_options})
        below.set(ylim=(0.5, -0.5), yticks=[])
        # Names are text, whatever signs of formulas they hold.
        ax.set_yticks([*range(n), place], [*(row[0] for row in rows), name], parse_math=False)
        ax.spines["bottom"].set_visible(False)
        self.difference_ax_ = below


# Forest rows ----------------------------------------------------------------------------------------------------------
#
# The rows of a forest plot: estimates with their intervals, each at its place on a common axis.


@dataclass(frozen=True)
class ForestRow:
    """One row of a forest plot: an estimate with its interval."""

    name: str
    value: float
    interval: Interval
    places: tuple[float, float, float]


@dataclass(frozen=True)
class Forest:
    """The rows of a forest plot that share one axis."""

    rows: list[ForestRow]
    start: float
    end: float
    reference: float

    @property
    def reference_place(self) -> float:
        """The position of the reference on the axis."""
        return (self.reference - self.start) / (self.end - self.start)

    @classmethod
    def of(cls, values: Sequence[tuple[str, float, Interval]], reference: float | None, *include: float) -> Forest:
        """Put values on an axis that holds their intervals, the reference and other numbers, in tenths."""
        ends = [*include, *(end for _, _, interval in values for end in interval)]
        reference = min(ends) if reference is None else reference
        start, end = floor(10 * min(*ends, reference)) / 10, ceil(10 * max(*ends, reference)) / 10

        def place(value: float) -> float:
            return min(1.0, max(0.0, (value - start) / (end - start)))

        rows = [
            ForestRow(name, value, interval, (place(interval.low), place(value), place(interval.high)))
            for name, value, interval in values
        ]
        return cls(rows, start, end, reference)

    @classmethod
    def of_differences(cls, values: Sequence[tuple[str, float, Interval]]) -> Forest:
        """Put differences on an axis with zero in its middle."""
        largest = max(0.1, *(abs(end) for _, value, interval in values for end in (value, *interval)))
        return cls.of(values, 0.0, -largest, largest)


@dataclass(frozen=True)
class ComparedAUCs:
    """Two AUCs on the same items and their difference, as a page shows them."""

    aucs: Forest
    difference: Forest
    pvalue: float

    @classmethod
    def of(cls, names: tuple[str, str], comparison: AUCComparison) -> ComparedAUCs:
        """Read what `compare_auc` returns."""
        first, second = names
        estimates = [(first, comparison.first), (second, comparison.second)]
        return cls(
            Forest.of([(name, found.auc, found.interval) for name, found in estimates], 0.5, 1.0),
            Forest.of_differences([(f"{first} − {second}", comparison.difference, comparison.interval)]),
            comparison.pvalue,
        )
