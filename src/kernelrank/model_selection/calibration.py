"""Risks: held-out scores that may be pooled, and a classifier that turns the scores of a ranker into probabilities.

Scores of different models have no common origin and no common unit. A model trained without a positive item has fewer
positive items, so its intercept is lower, and the item that was left out gets a lower score: pooled leave-one-out has
an AUC far below ½ where there is no signal. And a search chooses another alpha for other items, which multiplies all
scores. So each held-out score is measured in the units of its own model,

    ``s = (f(x) - mean of f over its training items) / standard deviation of f over its training items``,

and the items are held out in folds that have the same share of each class as all items. A new item is scored by the
model of all items, in the units of that model. Lines through held-out scores as they are, or centred only, have median
slopes of 1.8 and 1.7 on new items where these units have 1.15 (60 items, 10 columns), and of 2.5 and 2.0 where they
have 1.0 (120 items, 500 columns): 60 draws each of ``benchmarks/risk_intervals_cover.py --rules``.

**Logistic calibration.** ``risk = 1 / (1 + exp(-(a + b s)))``. The slope b is that of the logistic likelihood with
Firth's penalty [Fir93]_, which is finite where the classes are separated, and at least zero. Its likelihood ratio χ²
against no slope says how much of it is noise: it is multiplied by ``max(0, 1 - (2 / χ²)²)``, which takes little from a
clear slope and all from one that chance explains. The mean risk of the held-out scores is the share of the positives.

**Isotonic calibration.** The nondecreasing step function with the least squared error [ZE02]_, drawn between its
steps. Half an item of the positive class below all scores, and half a negative one above them, keep risks off 0 and 1.

References
----------
.. [Fir93] Firth (1993). Bias reduction of maximum likelihood estimates. Biometrika 80.
.. [ZE02] Zadrozny and Elkan (2002). Transforming classifier scores into accurate multiclass probability estimates. KDD.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, xlogy
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import assert_all_finite, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import (
    DocumentationLink,
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    num_samples,
    safe_split,
)
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner, whole_or_not_at_all
from kernelrank.metrics.risks import newton_line
from kernelrank.metrics.roc import TwoClasses, check_groups
from kernelrank.model_selection.auc import auc_folds
from kernelrank.model_selection.refits import model_scores, settled, without_basis
from kernelrank.model_selection.searches import RankRLSCV


@dataclass(frozen=True)
class ScoreUnits:
    """The origin and the unit of the scores of one model: their mean and deviation over its training items."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: Float) -> ScoreUnits:
        """Measure the scores of the training items; where all are equal but for rounding, the unit is 1."""
        mean, deviation = float(np.mean(scores)), float(np.std(scores))
        rounded = 64.0 * float(np.finfo(np.float64).eps) * float(np.abs(scores).max(initial=0.0))
        return cls(mean, deviation if deviation > rounded else 1.0)

    def scale(self, scores: Float) -> Float:
        """Return scores of the same model in these units."""
        return (scores - self.mean) / self.deviation


def comparable_scores(
    estimator: Any, X: Any, y: Any, sets: Sequence[Index], *, n_jobs: int | None = None, **fit_arguments: Any
) -> Float:
    """Return held-out scores that may be pooled: each in the units of the model that was trained without its set.

    Every set is one training, choices included; a search chooses again in each. The sets must hold each item once, and
    should have the same share of each class (`deal_items`).

    Shapes: X (m, n_features), y (m,), `fit_arguments`, such as qid, (m,); returns (m,).
    """
    m = num_samples(X)
    held = ItemSets.of(sets, m)
    if len(held.items) != m or len(np.unique(held.items)) != m:
        raise InvalidInputError(f"Expected sets that hold each of the {m} items once.")
    estimator = settled(estimator, X)
    extra = {name: np.asarray(value) for name, value in fit_arguments.items() if value is not None}
    jobs = (joblib.delayed(_comparable)(estimator, X, np.asarray(y), items, extra) for items in held)
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    scores = np.empty(m)
    scores[held.items] = np.concatenate(list(track(parallel(jobs), len(held), "holding out folds")))
    return scores


def _comparable(estimator: Any, X: Any, y: Any, held: Index, extra: dict[str, Any]) -> Float:
    """Train without `held`, and score it in the units of that model; zero where nothing is left to compare."""
    kept = np.delete(np.arange(len(y)), held)
    if isinstance(estimator, KernelLearner):
        estimator = without_basis(estimator, kept)
    if estimator is None:
        return np.zeros(len(held))
    X_train, y_train = safe_split(estimator, X, y, kept)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)  # the training on all items warns
            model = clone(estimator).fit(X_train, y_train, **{name: value[kept] for name, value in extra.items()})
    except NothingToCompareError:
        return np.zeros(len(held))
    units = ScoreUnits.of(model_scores(model, X_train))
    return units.scale(model_scores(model, safe_split(estimator, X, y, held, kept)[0]))


# Calibration ----------------------------------------------------------------------------------------------------------


def logistic_line(scores: Float, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the intercept a and the slope b of the risks, as the head of this file says.

    Shapes: scores, positive (m,).
    """
    y = positive.astype(np.float64)
    share = float(y.mean())
    nothing = float(logit(share)), 0.0
    unit = float(scores.std())
    if unit == 0.0:
        return nothing
    s = scores / unit
    a, b = newton_line(s, y[None], firth=True)
    risk = expit(a[0] + b[0] * s)
    chi = 2.0 * float(np.sum(xlogy(y, risk / share) + xlogy(1.0 - y, (1.0 - risk) / (1.0 - share))))
    if b[0] <= 0.0 or chi <= 2.0:
        return nothing
    slope = float(b[0]) * (1.0 - (2.0 / chi) ** 2)
    intercept = newton_line(np.zeros(len(y)), y[None], offset=slope * s)[0]
    return float(intercept[0]), slope / unit


def isotonic_steps(scores: Float, positive: NDArray[np.bool_]) -> tuple[Float, Float]:
    """Return scores in ascending order, and the risk at each; risks between them lie on straight lines."""
    values = np.concatenate([[scores.min()], scores, [scores.max()]])
    weight = np.concatenate([[0.5], np.ones(len(scores)), [0.5]])
    fitted = IsotonicRegression(out_of_bounds="clip").fit(values, np.concatenate([[1.0], positive, [0.0]]), weight)
    return np.asarray(fitted.X_thresholds_, dtype=np.float64), np.asarray(fitted.y_thresholds_, dtype=np.float64)


class CalibratedRanker(DocumentationLink, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Predict the risk of a class from the scores of a ranker.

    The ranker is fitted to all items, and the calibration to held-out scores: each item is scored by a ranker that was
    trained, and whose alpha was chosen, without its fold. `kernelrank.model_selection.calibration` says how scores of
    different models are made comparable.

    Parameters
    ----------
    estimator : estimator, optional
        Any ranker, regressor or classifier: scored by `decision_function`, the second column of `predict_proba`, or
        `predict`. `RankRLSCV` unless given.
    calibration : {"logistic", "isotonic"}, default="logistic"
        The form of the risk as a function of the score. "logistic" has two parameters and suits small data; "isotonic"
        is any nondecreasing function, and needs some hundred items of the smaller class.
    cv : int, default=10
        The number of folds, at most the number of items of the smaller class. They are stratified by class.
    n_jobs : int, optional
        The number of parallel fits.
    random_state : int, RandomState or None, default=0
        Random seed of the folds.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    estimator_ : estimator
        Fitted to all items.
    score_mean_, score_deviation_ : float
        Origin and unit of its scores.
    intercept_, slope_ : float
        Of logistic calibration: the log-odds are ``intercept_ + slope_ * (score - score_mean_) / score_deviation_``.
    step_scores_, step_risks_ : ndarray, shape (n_steps,)
        Of isotonic calibration.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If the ranker knows them.

    See Also
    --------
    kernelrank.estimate_auc : An AUC that was estimated on held-out items.

    Notes
    -----
    One training for each fold, and one more, choices included.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import CalibratedRanker
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["well", "ill"], 40)
    >>> X = rng.standard_normal((80, 5)) + (y == "ill")[:, None]
    >>> model = CalibratedRanker().fit(X, y == "ill")
    >>> model.predict_proba([[-1.0] * 5, [0.5] * 5, [2.0] * 5])[:, 1].round(2)
    array([0.  , 0.55, 1.  ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "calibration": [StrOptions({"logistic", "isotonic"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str = "logistic",
        cv: int = 10,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Fit the ranker to all items, and the calibration to held-out scores.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
        y : array-like, shape (m,)
            Two classes, each with two items at least.
        groups : sequence, shape (m,), optional
            Items that must not be split between folds, such as those of one patient.

        Returns
        -------
        self
        """
        if y is None:
            raise InvalidInputError("CalibratedRanker requires y to be passed, but the target y is None")
        (X,) = indexable(X)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if len(np.unique(y)) > 2:
            raise InvalidInputError("Only binary classification is supported. The type of the target is multiclass.")
        ranker = RankRLSCV() if self.estimator is None else self.estimator
        classes = TwoClasses.read(y, num_samples(X))
        target = classes.target(ranker)
        model = clone(ranker).fit(X, target)
        units = ScoreUnits.of(model_scores(model, X))
        codes = check_groups(groups, classes)
        folds = calibration_folds(self.cv, X, classes, codes, self.random_state)
        scores = comparable_scores(ranker, X, target, folds, n_jobs=self.n_jobs)
        for name in ("intercept_", "slope_", "step_scores_", "step_risks_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if self.calibration == "logistic":
            self.intercept_, self.slope_ = logistic_line(scores, classes.positive)
        else:
            self.step_scores_, self.step_risks_ = isotonic_steps(scores, classes.positive)
        self.classes_ = np.unique(y)
        self.estimator_, self.score_mean_, self.score_deviation_ = model, units.mean, units.deviation
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def predict_proba(self, X: Any) -> Float:
        """Predict the risks of both classes.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray, shape (t, 2)
            The second column is the risk of ``classes_[1]``.
        """
        check_is_fitted(self)
        units = ScoreUnits(self.score_mean_, self.score_deviation_)
        scores = units.scale(model_scores(self.estimator_, X))
        if hasattr(self, "slope_"):
            risk = expit(self.intercept_ + self.slope_ * scores)
        else:
            risk = np.interp(scores, self.step_scores_, self.step_risks_)
        return np.column_stack([1.0 - risk, risk])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the higher risk; the first one where both are equal.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray, shape (t,)
        """
        check_is_fitted(self)
        found: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(RankRLSCV() if self.estimator is None else self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags = own.input_tags
        return tags


def calibration_folds(cv: int, X: Any, classes: TwoClasses, groups: Index | None, random_state: Any = 0) -> list[Index]:
    """Return stratified folds, at most as many as items, or groups, of the smaller class."""
    counts = min(classes.counts(groups))
    if counts < 2:
        noun = "items" if groups is None else "groups"
        raise InvalidInputError(f"Calibration needs two {noun} of each class at least; the smaller class has {counts}.")
    return auc_folds(min(cv, counts), X, classes, groups, random_state)
