"""An AUC that was estimated on held-out items only, with an interval."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from kernelrank.base.arrays import Float, one_pool
from kernelrank.base.progress import verbosely
from kernelrank.errors import InvalidInputError, PooledAUCWarning
from kernelrank.metrics.auc_interval import score_interval
from kernelrank.metrics.interval import Interval, check_confidence
from kernelrank.metrics.two_classes import TwoClasses, check_groups, shared_groups
from kernelrank.model_selection.auc_estimate import AUCEstimate
from kernelrank.model_selection.auc_folds import auc_folds
from kernelrank.model_selection.auc_methods import GIVEN, METHODS, Found, Task, of_scores
from kernelrank.model_selection.estimator_refit import settled

__all__ = ["GIVEN_SCORES", "INTERVALS", "check_scores", "estimate_auc", "to_estimate"]

INTERVALS = ("auto", "components", "jackknife")
FOLDS = ("averaged", "pooled")
GIVEN_SCORES = "given scores"
"""What the method is called where nothing is held out."""


@one_pool
def estimate_auc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    method: str = "leave_pair_out",
    cv: Any = None,
    groups: Any = None,
    pos_label: Any = None,
    confidence: float = 0.95,
    interval: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
) -> AUCEstimate:
    """Estimate the AUC of an estimator on new data, or the AUC of given scores, with a confidence interval.

    What is estimated is the expected AUC, on new items, of the whole procedure: of what is chosen and trained on as
    many items as these. This is what the interval is for. The AUC of the one model that is trained on these items (the
    *conditional* performance of [Air11]_, 5.4) varies a little around it.

    Where alpha or anything else is to be chosen, pass an estimator that chooses inside its `fit`, such as `RankRLSCV`
    or scikit-learn's `GridSearchCV`: it then chooses in every training set, and the held-out items have no influence on
    the choice. Quantities that the learners of kernelrank compute from the items without their labels are the same in
    every training set: the alphas of ``alphas="auto"``, gamma, and a basis.

    Parameters
    ----------
    estimator : estimator, or array-like of shape (m,)
        Any classifier or ranker: scored by `decision_function`, the second column of `predict_proba`, or `predict`. Or
        given scores, such as a marker, or those of a model on items that it was not trained on; higher
        scores indicate the positive class. Then nothing is held out, and `method` is "given scores".
    X : array-like or sparse matrix, shape (m, n_features), or (m, m) for a precomputed kernel
        None with given scores.
    y : array-like, shape (m,)
        Any two labels. A regressor or ranker is fitted to the numbers, or to ±1 if the labels are not numbers.
    method : {"leave_pair_out", "averaged", "pooled", "balanced_leave_pair_out"}, default="leave_pair_out"
        * "leave_pair_out": every pair of a positive and a negative item is scored by the model trained without both.
          Nearly unbiased, with the smallest variance.
        * "averaged": the mean AUC of stratified folds; folds with one class only are left out and counted. Unbiased,
          with a larger variance unless there are hundreds of items.
        * "pooled": the scores of all folds in one AUC. Biased low; warns.
        * "balanced_leave_pair_out": every item is scored by the model trained without it and one item of the other
          class, drawn at random so that their counts differ by at most one; all scores in one AUC. A compromise: m
          models rather than P N for P positive and N negative items, and little bias.
    cv : int, "leave_one_out", splitter or iterable, optional
        The folds of "averaged" and "pooled": ten unless given.
    groups : sequence, shape (m,), optional
        Items that must not be split, such as those of one patient or document: all items of a group are held out
        together, and the interval is by group. Groups of one item each change nothing.
    pos_label : label, optional
        The positive class; the one that sorts last, as in scikit-learn, unless given.
    confidence : float, default=0.95
        Confidence level of the interval.
    interval : {"auto", "components", "jackknife"}, default="auto"
        What the interval of leave-pair-out is computed from: the win rates of the items, or also the delete-half
        jackknife, which repeats the estimate on 40 random halves of the items; see
        `kernelrank.model_selection.auc_halves`. "auto" takes the jackknife for RLS and RankRLS with a shortcut, and
        searches of them, if it takes less than about 20 seconds: up to about 1,000 items for a search, 3,400 otherwise.
    n_jobs : int, optional
        The number of parallel refits.
    random_state : int, RandomState or None, default=None
        Random seed of the folds, and of the items that are left out together.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    AUCEstimate

    Warns
    -----
    PooledAUCWarning
        If the scores are pooled.

    Notes
    -----
    Leave-pair-out takes one decomposition and O(m²) time for RLS and RankRLS, O(P N) memory; the jackknife takes that
    of half the items 40 times. Other estimators are refitted P N times. The
    other methods take one fit for each fold or item, or one decomposition. Given scores take O(m log m) time: DeLong's
    variance, with groups Obuchowski's.

    ``benchmarks/auc_intervals_are_narrow_and_cover.py`` measures how often the intervals hold the expected AUC, and how
    wide they are; ``benchmarks/auc_intervals_hold_with_groups.py`` the same with groups, and
    ``benchmarks/clustered_auc_intervals_cover.py`` for given scores. Those from components alone cover in 79 to 96 %,
    less often with weak signal and few items, and those of folds in 80 to 96 %
    (``studies/auc_estimators_compared.py``).

    References
    ----------
    .. [Air11] Airola (2011). Kernel-based ranking: methods for learning and performance estimation. University of
       Turku.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, estimate_auc
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["well", "ill"], 15)
    >>> X = rng.standard_normal((30, 5)) + (y == "ill")[:, None]
    >>> found = estimate_auc(RankRLS(), X, y, pos_label="ill")
    >>> round(found.auc, 2), [round(end, 2) for end in found.interval], found.n_pairs
    (0.89, [0.67, 0.97], 225)
    >>> round(estimate_auc(X[:, 0], None, y, pos_label="ill").auc, 2)  # one column as a marker
    0.85
    """
    if verbose:
        return verbosely(estimate_auc, locals())
    if method not in METHODS:
        raise InvalidInputError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if interval not in INTERVALS:
        raise InvalidInputError(f"interval must be one of {', '.join(map(repr, INTERVALS))}, got {interval!r}")
    if interval == "jackknife" and method != "leave_pair_out":
        raise InvalidInputError(f"interval='jackknife' is for leave-pair-out, not for method={method!r}")
    if cv is not None and method not in FOLDS:
        raise InvalidInputError(f"cv is used by method='averaged' and 'pooled' only; got method={method!r}")
    check_confidence(confidence)
    if not hasattr(estimator, "fit"):
        if method != "leave_pair_out" or interval == "jackknife":
            raise InvalidInputError(
                "method, cv and interval need an estimator; got scores. Remove them, or pass an estimator"
            )
        scores = check_scores(estimator, X)
        classes = TwoClasses.read(y, len(scores), pos_label=pos_label)
        task = Task(None, None, classes, shared_groups(check_groups(groups, classes)))
        return to_estimate(of_scores(task, scores, GIVEN), task, GIVEN_SCORES, confidence)
    classes = TwoClasses.read(y, _num_samples(X), pos_label=pos_label)
    codes = check_groups(groups, classes)
    folds = auc_folds(10 if cv is None else cv, X, classes, codes, random_state) if method in FOLDS else []
    estimator = settled(estimator, X)
    task = Task(estimator, X, classes, shared_groups(codes), folds, interval, random_state, {"n_jobs": n_jobs})
    found = METHODS[method](task)
    if method == "pooled":
        warnings.warn(found.warnings[0], PooledAUCWarning, stacklevel=3)
    return to_estimate(found, task, method, confidence)


def check_scores(scores: Any, X: Any = None, name: str = "the scores") -> Float:
    """Return given scores as numbers, one for each item; check their number if X is given.

    Parameters
    ----------
    scores : array-like, shape (m,)
    X : array-like or sparse matrix, shape (m, n_features), or None
    name : str
        What an error calls them.

    Returns
    -------
    ndarray, shape (m,)
    """
    try:
        found = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"expected an estimator with a fit method, or one score for each item, got {type(scores).__name__}"
        ) from None
    if found.ndim != 1:
        raise InvalidInputError(f"{name} must be one number for each item, got the shape {found.shape}")
    if not np.isfinite(found).all():
        raise InvalidInputError(f"{name} must be finite, and item {int(np.argmin(np.isfinite(found)))} is not")
    if X is not None and _num_samples(X) != len(found):
        raise InvalidInputError(f"{name} have {len(found)} entries, but X has {_num_samples(X)} items")
    return found


def to_estimate(found: Found, task: Task, method: str, confidence: float) -> AUCEstimate:
    """Add the interval to an estimate; without a variance, its width follows from the number of items or groups."""
    classes = task.classes
    positive, negative = len(classes.positives), len(classes.negatives)
    n_negative, n_positive = classes.counts(task.groups)
    ends = score_interval(found.auc, found.variance, confidence, n_positive, n_negative, found.degrees)
    return AUCEstimate(
        auc=found.auc,
        interval=Interval(*ends, confidence, found.what_varies),
        method=method,
        n_pairs=found.n_pairs,
        n_positive=positive,
        n_negative=negative,
        classes=classes.names,
        warnings=found.warnings,
    )
