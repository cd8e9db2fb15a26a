"""Plots of a feature selection: its accuracy, its stability, and a permutation test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kernelrank.base.text import p_is
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection import PermutationTest
from kernelrank.report.displays import Display, legend_above
from kernelrank.selection import SelectionCurve, SelectionStability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SelectionDisplay"]

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
        if isinstance(self.result, SelectionCurve):
            _draw_curve(ax, self.result, line_options)
        elif isinstance(self.result, SelectionStability):
            _draw_stability(ax, self.result, self.n_shown, self.threshold, line_options)
        else:
            _draw_permutations(ax, self.result, line_options)


def _draw_curve(ax: Axes, curve: SelectionCurve, line_options: dict[str, Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    sizes = np.arange(1, len(curve.nested) + 1)
    options = {"marker": "o", "markersize": 4, "label": "selected anew in each training set", **line_options}
    (line,) = ax.plot(sizes, curve.nested, **options)
    ax.fill_between(sizes, curve.low, curve.high, color=line.get_color(), alpha=0.18, linewidth=0)
    ax.plot(sizes, curve.inside, "--", color="0.5", label="where the features were selected")
    ax.set(xlabel="number of features", ylabel=curve.measure)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_above(ax)


def _draw_stability(
    ax: Axes, found: SelectionStability, n_shown: int, threshold: float, line_options: dict[str, Any]
) -> None:
    names = [str(name) for name in found.features[:n_shown]]
    places = np.arange(len(names))
    ax.barh(places, found.frequency[: len(names)], **line_options)
    ax.set_yticks(places, [name if len(name) <= 24 else f"{name[:23]}…" for name in names], parse_math=False)
    ax.invert_yaxis()
    false = found.expected_false(threshold)
    ax.axvline(threshold, color="0.4", linestyle=":", label=f"at most {false:.2g} false ones beyond {threshold:g}")
    ax.set(xlim=(0, 1), xlabel=f"share of {found.n_subsamples} halves that select the feature")
    legend_above(ax)


def _draw_permutations(ax: Axes, test: PermutationTest, line_options: dict[str, Any]) -> None:
    ax.hist(test.null, bins=min(30, max(5, len(test.null) // 4)), **{"alpha": 0.7, "label": "permuted", **line_options})
    ax.axvline(test.statistic, color="0.2", label=f"observed {test.statistic:.3f}, p {p_is(test.pvalue)}")
    ax.set(xlabel=test.name.replace("_", "-"), ylabel="permutations")
    legend_above(ax)
