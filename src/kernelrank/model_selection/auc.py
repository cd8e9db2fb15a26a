"""An AUC that was estimated on held-out items only, with an interval."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, RandomStateLike, one_pool
from kernelrank.base.progress import verbosely
from kernelrank.base.results import Estimates, Result
from kernelrank.base.sklearn_private import num_samples
from kernelrank.base.validation import check_confidence, check_option
from kernelrank.errors import InvalidInputError, PooledAUCWarning
from kernelrank.metrics.intervals import Interval
from kernelrank.metrics.roc import (
    Components,
    TwoClasses,
    check_groups,
    interval_of_factor,
    normal_variance,
    score_interval,
    shared_groups,
)
from kernelrank.model_selection.auc_halves import INTERVALS, Halves, are_cheap, hold_out_halves, least_units
from kernelrank.model_selection.holdout import held_from, holdout, pairs_held_out
from kernelrank.model_selection.nested_search import NestedSearch
from kernelrank.model_selection.refits import HoldoutData, settled

FOLDS = ("averaged", "pooled")


@one_pool
def estimate_auc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    method: str = "leave_pair_out",
    cv: Any = None,
    weight: str | None = None,
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
    weight : {"folds", "pairs"}, optional
        How "averaged" weighs the folds: all the same, unless given, or by their numbers of pairs of a positive and a
        negative item, as in [Air11]_, 5.4. The two differ where folds do.
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
    (0.89, [0.69, 0.96], 225)
    >>> round(estimate_auc(X[:, 0], None, y, pos_label="ill").auc, 2)  # one column as a marker
    0.85
    """
    if verbose:
        return verbosely(estimate_auc, locals())
    check_option("method", method, list(METHODS))
    check_option("interval", interval, INTERVALS)
    if interval == "jackknife" and method != "leave_pair_out":
        raise InvalidInputError(f"interval='jackknife' is for leave-pair-out, not for method={method!r}")
    if cv is not None and method not in FOLDS:
        raise InvalidInputError(f"cv is used by method='averaged' and 'pooled' only; got method={method!r}")
    if weight is not None:
        check_option("weight", weight, FOLD_WEIGHTS)
        if method != "averaged":
            raise InvalidInputError(f"weight is used by method='averaged' only; got method={method!r}")
    check_confidence(confidence)
    if not hasattr(estimator, "fit"):
        if method != "leave_pair_out" or interval == "jackknife":
            raise InvalidInputError(
                "method, cv and interval need an estimator; got scores. Remove them, or pass an estimator"
            )
        scores = check_scores(estimator, X)
        classes = TwoClasses.read(y, len(scores), pos_label=pos_label)
        task = Task(None, None, classes, shared_groups(check_groups(groups, classes)))
        return to_estimate(of_scores(task, scores, GIVEN), task, "given scores", confidence)
    classes = TwoClasses.read(y, num_samples(X), pos_label=pos_label)
    codes = check_groups(groups, classes)
    folds = auc_folds(10 if cv is None else cv, X, classes, codes, random_state) if method in FOLDS else []
    estimator = settled(estimator, X)
    task = Task(estimator, X, classes, shared_groups(codes), folds, interval, random_state, {"n_jobs": n_jobs})
    if method == "averaged":
        weight = weight or "folds"
        return replace(to_estimate(_averaged(task, weight), task, method, confidence), weight=weight)
    found = METHODS[method](task)
    if method == "pooled":
        warnings.warn(found.warnings[0], PooledAUCWarning, stacklevel=3)
    return to_estimate(found, task, method, confidence)


def check_scores(scores: Any, X: Any = None, name: str = "the scores") -> Float:
    """Return given scores as numbers, one for each item; check their number if X is given.

    Shapes: scores (m,), X (m, n_features); returns (m,).
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
    if X is not None and num_samples(X) != len(found):
        raise InvalidInputError(f"{name} have {len(found)} entries, but X has {num_samples(X)} items")
    return found


def to_estimate(found: Found, task: Task, method: str, confidence: float) -> AUCEstimate:
    """Add the interval to an estimate; without a variance, its width follows from the number of items or groups."""
    classes = task.classes
    positive, negative = len(classes.positives), len(classes.negatives)
    n_negative, n_positive = classes.counts(task.groups)
    if found.factor is None:
        ends = score_interval(found.auc, found.variance, confidence, n_positive, n_negative, found.degrees)
    else:
        quantile = float(stdtrit(found.degrees, 0.5 + confidence / 2))
        ends = interval_of_factor(found.auc, found.factor, quantile, n_positive, n_negative, normal_variance)
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


_FOLDS_WEIGHED = {"folds": "equally weighted folds", "pairs": "folds weighted by their pairs"}
FOLD_WEIGHTS = tuple(_FOLDS_WEIGHED)


# AUC estimate ---------------------------------------------------------------------------------------------------------
#
# An estimated AUC, with its interval and how it was estimated.


@dataclass(frozen=True, repr=False)
class AUCEstimate(Result):
    """The estimated AUC of an estimator on new data, with its interval.

    Parameters
    ----------
    auc : float
        The estimate.
    interval : Interval
        Its ends, how often such intervals are meant to hold the AUC, and what it allows for.
    method : str
        How items were held out.
    n_pairs, n_positive, n_negative : int
        How many pairs of a positive and a negative item were compared, and how many items there are.
    classes : tuple
        The negative and the positive class.
    warnings : tuple of str, default=()
        What to know before the number is quoted.
    weight : {"folds", "pairs"}, optional
        How folds were weighed, if they were averaged.

    Examples
    --------
    >>> interval = Interval(0.5, 0.9, 0.95, "allows for other items being scored")
    >>> print(AUCEstimate(0.75, interval, "leave_pair_out", 100, 10, 10, (0, 1)))
    AUC 0.750, 95% interval [0.500, 0.900] (leave_pair_out, 100 pairs of 10 positive and 10 negative items; the interval
    allows for other items being scored)
    """

    auc: float
    interval: Interval
    method: str
    n_pairs: int
    n_positive: int
    n_negative: int
    classes: tuple[Any, Any]
    warnings: tuple[str, ...] = field(default=())
    weight: str | None = None

    def __float__(self) -> float:
        return self.auc

    @property
    def _averages(self) -> str:
        return "" if self.weight is None else f" over {_FOLDS_WEIGHED[self.weight]}"

    def __str__(self) -> str:
        low, high = self.interval
        line = (
            f"AUC {self.auc:.3f}, {100 * self.interval.level:.4g}% interval [{low:.3f}, {high:.3f}] "
            f"({self.method}{self._averages}, {self.n_pairs} pairs of {self.n_positive} positive and "
            f"{self.n_negative} negative items; "
            f"the interval {self.interval.method})"
        )
        return " ".join([line, *(f"Warning: {text}." for text in self.warnings)])

    def _facts(self) -> list[tuple[str, str]]:
        negative, positive = self.classes
        return [
            ("AUC", f"{self.auc:.3f}"),
            self.interval._fact(),
            ("about the interval", self.interval.method),
            ("held out", f"{self.method.replace('_', '-')}{self._averages}, {self.n_pairs:,} pairs"),
            ("positive class", f"{positive}: {self.n_positive:,} items"),
            ("negative class", f"{negative}: {self.n_negative:,} items"),
            *(("warning", text) for text in self.warnings),
        ]

    def _chart(self) -> Estimates:
        return Estimates([(self.method.replace("_", "-"), self.auc, *self.interval)], "AUC", 0.5)

    def _columns(self) -> dict[str, Any]:
        return {
            "auc": [self.auc],
            **self.interval._columns(),
            "method": [self.method],
            "n_pairs": [self.n_pairs],
            "n_positive": [self.n_positive],
            "n_negative": [self.n_negative],
        }


# AUC methods ----------------------------------------------------------------------------------------------------------
#
# The ways to hold out items for an AUC; each gives an estimate, its variance, and what the interval allows for.
#
# =========================  ================================================  =====================================
# method                     models                                            pairs that are compared
# =========================  ================================================  =====================================
# leave_pair_out             one for each pair of a positive and a negative    each by the model trained without it
#                            item: P N
# averaged                   one for each fold                                 those inside a fold
# balanced_leave_pair_out    one for each item, trained without that item      all, across models
#                            and one of the other class drawn at random
# pooled                     one for each fold                                 all, across models
# =========================  ================================================  =====================================
#
# Pooling compares scores of different models. A model trained without a positive item has fewer positive items, and its
# scores are slightly lower, also for the held-out item. So held-out positive items get lower scores and negative ones
# higher scores than they should, most of all in leave-one-out and without signal. The balanced form leaves one item of
# each class out of every model, which removes most of this bias. Bias and variance of all are compared in [APWBS11]_.
#
# References ---------- .. [APWBS11] Airola, Pahikkala, Waegeman, De Baets and Salakoski (2011). An experimental
# comparison of cross-validation techniques for estimating the area under the ROC curve. Computational Statistics & Data
# Analysis 55(4).

GIVEN = "allows for other {} being scored; the scores are taken as given"
SCORED = "allows for other {} being scored, not for others being trained on: too narrow where there is little signal"
TRAINED = "allows for other {} being scored and trained on"
CHOSEN = "allows for other {} being scored, trained on and used to choose alpha"


@dataclass(frozen=True)
class Task:
    """What is to be estimated, and how.

    Shapes: groups (m,).
    """

    estimator: Any
    X: Any
    classes: TwoClasses
    groups: Index | None = None
    folds: list[Index] = field(default_factory=list)
    interval: str = "auto"
    random_state: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def y(self) -> Any:
        """What the estimator is fitted to."""
        return self.classes.target(self.estimator)

    @cached_property
    def held(self) -> HoldoutData | NestedSearch | None:
        """The data for hold-outs without refits, computed once."""
        return held_from(self.estimator, self.X, self.y)

    def scores(self, sets: list[Index]) -> list[Float]:
        """Return scores that are higher for the positive class, one array for each set."""
        found = holdout(self.estimator, self.X, self.y, sets, **self.options)
        return [self.classes.sign * scores for scores in found]

    def what_varies(self, sentence: str) -> str:
        """Put items or groups into a sentence."""
        return sentence.format("items" if self.groups is None else "groups")

    def class_groups(self) -> tuple[Index | None, Index | None]:
        """Return the groups of the positive and of the negative items."""
        if self.groups is None:
            return None, None
        return self.groups[self.classes.positives], self.groups[self.classes.negatives]

    def on_halves(self) -> Halves | None:
        """Repeat leave-pair-out on halves of the items; None where that was not requested and would take long."""
        if self.interval == "jackknife":
            self.classes.require(least_units(self), "the jackknife", self.groups)
        elif self.interval == "components" or not are_cheap(self):
            return None
        found = hold_out_halves(self, held_out_components)
        if found is None and self.interval == "jackknife":
            raise InvalidInputError(
                "the jackknife needs two halves of the groups with items of both classes, and these groups have none; "
                "use interval='components'"
            )
        return found


@dataclass(frozen=True)
class Found:
    """An AUC with its variance, the degrees of freedom, and a sentence that describes them.

    `factor` is how many times that of normal scores the variance is, training included, where that was measured.
    """

    auc: float
    variance: float
    degrees: float
    what_varies: str
    n_pairs: int
    warnings: tuple[str, ...] = ()
    factor: float | None = None


def set_of(items: list[int], groups: Index | None) -> Index:
    """Return the items with all that share a group with them."""
    if groups is None:
        return np.asarray(items, dtype=np.int64)
    return np.flatnonzero(np.isin(groups, groups[items]))


def pair_components(first: Index, second: Index, difference: Float, classes: TwoClasses) -> Components:
    """Return the win rates of the items from held-out differences of all positive × negative pairs.

    Shapes: first, second (pairs,), difference (pairs,).
    """
    m, leads = len(classes.labels), classes.positive[first]
    wins = 0.5 + 0.5 * classes.sign * np.where(leads, np.sign(difference), -np.sign(difference))
    P, N = len(classes.positives), len(classes.negatives)
    rates = np.bincount(np.where(leads, first, second), weights=wins, minlength=m) / N
    beaten = np.bincount(np.where(leads, second, first), weights=wins, minlength=m) / P
    return Components(rates[classes.positives], beaten[classes.negatives])


def pair_found(task: Task, components: Components, halves: Halves | None) -> Found:
    """Return a leave-pair-out AUC; without `halves` its variance is that of the components alone."""
    variance, degrees = components.variance(*task.class_groups())
    auc = components.auc
    if halves is None:
        return Found(auc, variance, degrees, task.what_varies(SCORED), components.n_pairs)
    what = task.what_varies(CHOSEN if isinstance(task.held, NestedSearch) else TRAINED)
    n_negative, n_positive = task.classes.counts(task.groups)
    factor = halves.factor(auc, variance, (n_positive, n_negative))
    return Found(auc, variance, degrees, what, components.n_pairs, factor=factor)


def held_out_components(task: Task) -> Components:
    """Hold out every pair of a positive and a negative item."""
    task.classes.require(task.classes.pairs_need(task.groups), "leave-pair-out", task.groups)
    held = pairs_held_out(task.held, task.estimator, task.X, task.y, None, task.groups, **task.options)
    return pair_components(held.first, held.second, held.difference, task.classes)


def _leave_pair_out(task: Task) -> Found:
    return pair_found(task, held_out_components(task), task.on_halves())


def _balanced(task: Task) -> Found:
    task.classes.require(task.classes.pairs_need(task.groups), "balanced leave-pair-out", task.groups)
    random = check_random_state(task.random_state)
    partner = np.empty(len(task.classes.labels), dtype=np.int64)
    for items, others in (
        (task.classes.positives, task.classes.negatives),
        (task.classes.negatives, task.classes.positives),
    ):
        # Every item of the other class serves equally often, to one.
        partner[random.permutation(items)] = np.resize(random.permutation(others), len(items))
    sets = [set_of([item, int(other)], task.groups) for item, other in enumerate(partner)]
    held = task.scores(sets)
    scores = np.array([float(s[items == item][0]) for item, (items, s) in enumerate(zip(sets, held, strict=True))])
    return of_scores(task, scores)


def of_scores(task: Task, scores: Float, what: str = SCORED, warnings: tuple[str, ...] = ()) -> Found:
    """Return the AUC of given or held-out scores, with its variance and a description of it."""
    components = Components.of_scores(scores[task.classes.positives], scores[task.classes.negatives])
    variance, degrees = components.variance(*task.class_groups())
    return Found(components.auc, variance, degrees, task.what_varies(what), components.n_pairs, warnings)


def _pooled(task: Task) -> Found:
    items = np.concatenate(task.folds)
    if len(items) != len(task.classes.labels) or len(np.unique(items)) != len(items):
        raise InvalidInputError("method='pooled' needs every item in exactly one test fold; cv tests some items twice")
    scores = np.empty(len(items))
    scores[items] = np.concatenate(task.scores(task.folds))
    reason = (
        "pooling compares scores of different models, which are not on one scale: the estimate is biased low, most of "
        "all in leave-one-out and without signal; method='leave_pair_out' is not"
    )
    return of_scores(task, scores, warnings=(reason,))


def _averaged(task: Task, weight: str = "folds") -> Found:
    folds = task.folds
    usable = [fold for fold in folds if 0 < int(task.classes.positive[fold].sum()) < len(fold)]
    if not usable:
        raise InvalidInputError("no test fold has items of both classes: use fewer folds, or method='leave_pair_out'")
    aucs, pairs = [], []
    for fold, scores in zip(usable, task.scores(usable), strict=True):
        positive = task.classes.positive[fold]
        aucs.append(Components.of_scores(scores[positive], scores[~positive]).auc)
        pairs.append(int(positive.sum()) * int((~positive).sum()))
    left_out = len(folds) - len(usable)
    warnings = (f"{left_out} of {len(folds)} folds have one class only and were left out",) if left_out else ()
    shares = np.array(pairs) / sum(pairs) if weight == "pairs" else np.full(len(aucs), 1.0 / len(aucs))
    mean = float(shares @ aucs)
    squares = float(shares**2 @ (np.array(aucs) - mean) ** 2)
    variance = squares * len(aucs) / (len(aucs) - 1) if len(aucs) > 1 else np.inf
    what = f"the {len(aucs)} folds, as if independent; they share training items, and another split gives another AUC"
    return Found(mean, variance, max(1.0, len(aucs) - 1.0), what, sum(pairs), warnings)


METHODS = {
    "leave_pair_out": _leave_pair_out,
    "averaged": _averaged,
    "pooled": _pooled,
    "balanced_leave_pair_out": _balanced,
}


# AUC folds ------------------------------------------------------------------------------------------------------------
#
# Folds for an AUC: stratified by class, groups kept together.


def auc_folds(cv: Any, X: Any, classes: TwoClasses, groups: Index | None, random_state: RandomStateLike) -> list[Index]:
    """Return the items of each fold.

    Shapes: groups (m,).
    """
    m = len(classes.labels)
    units = np.arange(m) if groups is None else groups
    if isinstance(cv, str) and cv == "leave_one_out":
        folds = [np.flatnonzero(units == unit) for unit in range(int(units.max()) + 1)]
    elif isinstance(cv, Integral) and not isinstance(cv, bool):
        folds = _deal(int(cv), classes, shared_groups(groups), random_state)
    else:
        with warnings.catch_warnings():
            # Whether groups were kept whole is checked below, whatever the splitter does with them.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored", category=UserWarning)
            splits = check_cv(cv, classes.labels, classifier=True).split(X, classes.labels, groups)
            folds = [np.asarray(test, dtype=np.int64) for _, test in splits]
    for number, fold in enumerate(folds):
        kept = np.delete(classes.positive, fold)
        if kept.all() or not kept.any():
            raise InvalidInputError(f"fold {number} holds out all items of a class: use fewer or stratified folds")
        if groups is not None and set(groups[fold]) & set(np.delete(groups, fold)):
            raise InvalidInputError(
                f"fold {number} splits a group between training and test: use a splitter that keeps groups together"
            )
    return folds


def _deal(n_folds: int, classes: TwoClasses, groups: Index | None, random_state: RandomStateLike) -> list[Index]:
    m = len(classes.labels) if groups is None else int(groups.max()) + 1
    if not 2 <= n_folds <= m:
        raise InvalidInputError(f"cv must be at least 2 and at most {m}, the number of items or groups, got {n_folds}")
    if groups is None:
        random = check_random_state(random_state)
        order = np.concatenate([random.permutation(classes.positives), random.permutation(classes.negatives)])
        return [order[start::n_folds] for start in range(n_folds)]
    with warnings.catch_warnings():
        # A class with fewer items than folds is no mistake here: such folds are counted and left out, or pooled.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
        splits = list(splitter.split(np.zeros((len(groups), 1)), classes.positive, groups))
    return [test.astype(np.int64) for _, test in splits if len(test)]
