"""The hold-out score over alpha: whether the best value is a peak, on a plateau or at the edge of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Index, Labels
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection.alpha_grid import edge_of
from kernelrank.report.alpha_errors import standard_errors
from kernelrank.report.displays import Display
from kernelrank.report.writing import with_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["AlphaCurveDisplay"]


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
        mean = self.scores if self.scores.ndim == 1 else self.scores.mean(axis=1)
        self.best_alpha = float(self.alphas[np.argmax(mean)] if best_alpha is None else best_alpha)

    @property
    def at_the_edge(self) -> bool:
        """Whether an alpha at the edge of the grid is better than every one inside."""
        mean = self.scores if self.scores.ndim == 1 else self.scores.mean(axis=1)
        return edge_of(self.alphas, mean) != 0

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
            colour = self.lines_[0].get_color()
            ax.errorbar(
                self.alphas,
                self.scores,
                yerr=self.errors,
                fmt="none",
                ecolor=colour,
                elinewidth=1.2,
                capsize=2.5,
                alpha=0.55,
            )
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
