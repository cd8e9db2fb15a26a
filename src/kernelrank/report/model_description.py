"""A model in words: its kernel, its hold-out, its measure and its choice of alpha."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.kernels import Kernel
from kernelrank.metrics import Measure, get_measure
from kernelrank.model_selection import RLSCV, RLSClassifierCV
from kernelrank.report.alpha_curve import AlphaCurveDisplay
from kernelrank.report.writing import counted, with_digits

__all__ = ["alpha_curve_of", "describe_holdout", "describe_kernel", "describe_scoring"]

HOLDOUTS = {
    "leave_query_out": "leave-query-out, exact",
    "leave_pair_out": "leave-pair-out, exact",
    "leave_one_out": "leave-one-out, exact",
}


def describe_holdout(model: BaseEstimator, *, queries: bool) -> str:
    """Describe what a search held out.

    Parameters
    ----------
    model : estimator
        A search.
    queries : bool
        Whether it was fitted to several queries.

    Returns
    -------
    str

    Examples
    --------
    >>> from kernelrank import RankRLSCV
    >>> describe_holdout(RankRLSCV(), queries=False)
    'leave-pair-out, exact'
    """
    cv = getattr(model, "cv", None)
    if isinstance(cv, int):
        return counted(cv, "fold")
    if cv == "auto":
        cv = "leave_query_out" if queries else model._without_queries
    return HOLDOUTS.get(cv, "folds") if isinstance(cv, str) else "folds"


def describe_kernel(learner: BaseEstimator) -> str | None:
    """Name the kernel of a learner, with the parameters that it has; None for one that has no kernel.

    Examples
    --------
    >>> from kernelrank import RankRLS
    >>> describe_kernel(RankRLS()), describe_kernel(RankRLS(kernel="rbf", gamma=0.5))
    ('linear', 'rbf (gamma 0.5)')
    """
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
    """Name the measure of a search.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, RLSCV
    >>> describe_scoring(RankRLSCV()), describe_scoring(RLSCV())
    ('pairwise accuracy', 'score (minus the mean squared error)')
    """
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
