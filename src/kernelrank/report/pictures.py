"""The pictures of a report, each with a description in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Float, RandomStateLike
from kernelrank.base.labels import Lifetimes
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.kernels import Kernel
from kernelrank.metrics import KaplanMeier, Measure, MeasureResult, get_measure
from kernelrank.model_selection import RLSCV, RLSClassifierCV
from kernelrank.report.displays import AlphaCurveDisplay, ImportanceDisplay, QueryScoreDisplay
from kernelrank.report.roc import ROCDisplay
from kernelrank.report.writing import Picture, counted, drawing, plural, with_decimals, with_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelrank.model_selection.permutation import PermutationImportance

MANY_QUERIES = 400
"""Beyond this many queries a line is drawn, for so many points would fill the page and the file."""

N_FEATURES = 20
"""How many features the picture of importances has at most."""

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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


def query_picture(result: MeasureResult, *, noun: str = "query", random_state: RandomStateLike = 0) -> Picture:
    """Draw how a measure is spread over the queries."""
    with drawing("queries") as canvas:
        # The worst are named in a table, where a label of any length has room.
        display = QueryScoreDisplay(result, n_worst=0, random_state=random_state)
        many = len(result) > MANY_QUERIES
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


def importance_picture(found: PermutationImportance) -> Picture:
    """Draw the permutation importances of the most important features."""
    shown = found.order[:N_FEATURES]
    with drawing("importance", height=1.2 + 0.26 * len(shown)) as canvas:
        ImportanceDisplay(found, k=N_FEATURES).plot(ax=canvas.ax)
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


def null_picture(statistic: float, null: Float) -> Picture:
    """Draw the accuracies of permuted classes, with that of the true ones."""
    with drawing("null", height=2.6) as canvas:
        canvas.ax.hist(null, bins=min(40, max(5, len(null) // 20)), alpha=0.7, label="permuted classes")
        canvas.ax.axvline(statistic, color=canvas.second, linewidth=2, label=f"observed classes, {statistic:.3f}")
        canvas.ax.set(xlabel="hold-out accuracy", ylabel="permutations")
        # Above the picture, where it hides nothing.
        canvas.ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize="small", borderaxespad=0)
        beyond = int(np.sum(null >= statistic))
        alt = (
            f"Histogram of the hold-out accuracy of {counted(len(null), 'permutation')} of the classes: between "
            f"{with_decimals(null.min())} and {with_decimals(null.max())}, mean {with_decimals(null.mean())}. That of "
            f"the observed classes, {with_decimals(statistic)}, is reached by {beyond:,} of them."
        )
        caption = "The accuracies that arise by chance, if the classes have nothing to do with the features."
        return canvas.picture(alt, caption)


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
    return f"10{str(exponent).translate(SUPERSCRIPTS)}" if not -3 <= exponent <= 4 else f"{value:,g}"


# Survival curves ------------------------------------------------------------------------------------------------------
#
# Survival curves: how long the items of each third of the scores last.

THIRDS = ("lowest third", "middle third", "highest third")
STYLES = ("-", "--", "-")


def survival_picture(lifetimes: Lifetimes, third: np.ndarray, time_name: str) -> Picture:
    """Draw the Kaplan–Meier curve of each third of the scores.

    Shapes: third (m,).
    """
    with drawing("survival") as canvas:
        told = []
        for number, (label, style, colour) in enumerate(zip(THIRDS, STYLES, (canvas.second, "0.5", "C0"), strict=True)):
            part = third == number
            curve = KaplanMeier.of(lifetimes.time[part], lifetimes.event[part])
            times, shares = np.append(0.0, curve.time), np.append(1.0, curve.survival)
            canvas.ax.step(times, shares, style, where="post", color=colour, label=label)
            told.append(f"the {label} ends at {with_decimals(shares[-1])}, {_median(curve)}")
        canvas.ax.set(xlabel=time_name, ylabel="share without the event", ylim=(0.0, 1.02), xlim=(0.0, None))
        canvas.ax.legend(title="held-out score")
        alt = f"Step plot of the share without the event over {time_name}, for thirds of the scores: {'; '.join(told)}."
        caption = (
            "Kaplan–Meier curves of the thirds of the held-out scores. Every item was scored by a model that was "
            "trained without its fold, and thirds are taken inside each fold."
        )
        return canvas.picture(alt, caption)


def _median(curve: KaplanMeier) -> str:
    median = curve.median()
    return "with no median time" if np.isinf(median) else f"with a median time of {with_digits(median)}"


# Model description ----------------------------------------------------------------------------------------------------
#
# A model in words: its kernel, its hold-out, its measure and its choice of alpha.

HOLDOUTS = {
    "leave_query_out": "leave-query-out, exact",
    "leave_pair_out": "leave-pair-out, exact",
    "leave_one_out": "leave-one-out, exact",
}


def describe_holdout(model: BaseEstimator, *, queries: bool) -> str:
    """Describe what a search held out."""
    cv = getattr(model, "cv", None)
    if isinstance(cv, int):
        return counted(cv, "fold")
    if cv == "auto":
        cv = "leave_query_out" if queries else model._without_queries
    return HOLDOUTS.get(cv, "folds") if isinstance(cv, str) else "folds"


def describe_kernel(learner: BaseEstimator) -> str | None:
    """Name the kernel of a learner, with the parameters that it has; None for one that has no kernel."""
    if not isinstance(learner, KernelLearner):
        return None
    views: list[Kernel] = getattr(learner, "kernels_", [learner._kernel()])
    return ", ".join(dict.fromkeys(_describe(kernel) for kernel in views))


def _describe(kernel: Kernel) -> str:
    if not isinstance(kernel.metric, str):
        return kernel.name
    given = {name: value for name, value in kernel.arguments().items() if isinstance(value, (int, float))}
    words = ", ".join(f"{name} {with_digits(value)}" for name, value in given.items())
    return f"{kernel.metric} ({words})" if words else kernel.metric


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
    """Return what a search over alpha found, named after its measure; None if there was no such search."""
    if not hasattr(model, "cv_results_"):
        return None
    try:
        display = AlphaCurveDisplay.of_search(model)
    except InvalidInputError:
        return None
    display.score_name = f"hold-out {describe_scoring(model)}"
    return display
