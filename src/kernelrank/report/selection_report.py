"""The report of a feature selection: the selected features, their accuracy on held-out items, and the stability."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Labels
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection import PermutationTest
from kernelrank.report.environment import parameters_of
from kernelrank.report.page import Page, render
from kernelrank.report.picture import Picture, drawing
from kernelrank.report.pictures import null_picture
from kernelrank.report.selection import SelectionDisplay
from kernelrank.report.writing import counted, with_decimals
from kernelrank.selection import SelectionCurve, SelectionStability

__all__ = ["selection_report"]

MOST_FREQUENT = 30
"""How many features the table of stability has at most."""

THRESHOLDS = (0.9, 0.75, 0.6)


def selection_report(
    curve: SelectionCurve,
    stability: SelectionStability | None = None,
    permutation: PermutationTest | None = None,
    *,
    model: BaseEstimator | None = None,
    feature_names: Labels | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of a feature selection.

    Parameters
    ----------
    curve : SelectionCurve
        What `selection_curve` returns.
    stability : SelectionStability, optional
        What `selection_stability` returns.
    permutation : PermutationTest, optional
        What `permutation_test` returns.
    model : GreedyRankRLS or GreedyRLS, optional
        Fitted to all items; its weights are shown.
    feature_names : sequence of str, optional
        The names of the columns, if `curve` has only their numbers.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRankRLS, selection_curve
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> y = X[:, 2] > 0
    >>> page = selection_report(selection_curve(GreedyRankRLS(2), X, y.astype(int), n_repeats=1, random_state=0))
    >>> "repeated in every training set" in page.html
    True
    """
    names = None if feature_names is None else [str(name) for name in feature_names]
    weights = {} if model is None else dict(zip(model.selected_.tolist(), model.coef_[model.selected_], strict=True))
    frequency = {} if stability is None else dict(zip(stability.features, stability.frequency, strict=True))
    rows = [
        {
            "number": number + 1,
            "name": _named(feature, names),
            "weight": weights.get(feature),
            "inside": curve.inside[number],
            "nested": curve.nested[number],
            "low": curve.low[number],
            "high": curve.high[number],
            "frequency": frequency.get(feature, 0.0),
        }
        for number, feature in enumerate(curve.features)
    ]
    content = {
        "title": title or "Feature selection",
        "curve": curve,
        "rows": rows,
        "has_weights": len(weights) > 0,
        "curve_picture": _curve_picture(curve),
        "stability": stability,
        "frequent": [] if stability is None else _frequent(stability, names),
        "thresholds": []
        if stability is None
        else [(share, len(stability.stable(share)), stability.expected_false(share)) for share in THRESHOLDS],
        "permutation": permutation,
        "null_picture": None if permutation is None else null_picture(permutation.statistic, permutation.null),
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _warnings(curve, permutation),
        "notes": list(notes),
        "command": command,
    }
    return render("selection.html.j2", content)


def _named(feature: int | str, names: list[str] | None) -> str:
    if names is None or not isinstance(feature, int):
        return f"column {feature}" if isinstance(feature, int) else str(feature)
    if not 0 <= feature < len(names):
        raise InvalidInputError(f"Expected a name for column {feature}; got {len(names)} feature_names.")
    return names[feature]


def _frequent(stability: SelectionStability, names: list[str] | None) -> list[tuple[str, float]]:
    shown = zip(stability.features[:MOST_FREQUENT], stability.frequency[:MOST_FREQUENT].tolist(), strict=True)
    return [(_named(feature, names), share) for feature, share in shown]


def _curve_picture(curve: SelectionCurve) -> Picture:
    with drawing("selection") as canvas:
        SelectionDisplay(curve).plot(ax=canvas.ax)
        # Above the picture, where it hides nothing.
        canvas.ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1, fontsize="small", borderaxespad=0)
        at = curve.best - 1
        alt = (
            f"The {curve.measure} over the number of features, from 1 to {len(curve.nested)}. Selected anew in each "
            f"training set it is highest with {counted(curve.best, 'feature')}, {with_decimals(curve.nested[at])}, and "
            f"ends at {with_decimals(curve.nested[-1])}; where the features were selected it ends at "
            f"{with_decimals(curve.inside[-1])}."
        )
        caption = (
            "The gap between the two lines shows how optimistic the data used for selection are. The band shows the "
            f"{100 * curve.level:.4g}% intervals; each {curve.interval_method}."
        )
        return canvas.picture(alt, caption)


def _warnings(curve: SelectionCurve, permutation: PermutationTest | None) -> list[str]:
    found = []
    at = curve.best - 1
    if curve.low[at] <= 0.5:
        found.append(
            "The interval includes 0.5 even for the best number of features: these items do not show that the "
            "selected features order new ones better than chance."
        )
    if permutation is not None and len(permutation.null) < 100:
        found.append(
            f"With {len(permutation.null)} permutations no p-value can be below {1 / (len(permutation.null) + 1):.2g}."
        )
    return found
