r"""OrdinalRanker: levels from the scores of a ranker, by thresholds that are learnt from held-out scores.

Scores on training items are further apart than those of new items, so thresholds and probabilities are learnt from
scores of items that the model has not seen. Models that were trained without different folds have no common origin: a
ranker may add any constant. In feature space, let φ̄ be the mean of all items. RankRLS looks at differences only: with
``φ - φ̄`` in place of φ no model changes, but each has the origin ``f(φ̄) = 0``. Held-out scores of centred features
may therefore be pooled, and all come from one factorisation (`kernelrank.exact_cv.sets`). They are those of a model
that is trained without the fold, minus the mean of its scores of all items.

The ordered logistic model [McC80] gives an item with the score s one of k levels:

.. math:: P(\text{level} \le j) = \sigma(\theta_j - \beta s), \qquad \theta_1 < \dots < \theta_{k-1}, \quad \beta \ge 0.

With ``u = θ_j - βs`` and ``l = θ_{j-1} - βs``, an item of level j has the log-likelihood

    ``log(σ(u) - σ(l)) = log σ(u) + log σ(-l) + log(1 - exp(θ_{j-1} - θ_j))``,

which is concave in θ and β, term by term, and Newton's method finds its maximum. Scores that separate the levels have
no finite maximum; so each level gets 1/k of one more item, with the mean score. The median level of an item is the
first j with ``s ≤ θ_j / β``: these thresholds have the smallest expected absolute error, and no search.

References
----------
.. [McC80] McCullagh (1980). Regression models for ordinal data. Journal of the Royal Statistical Society B 42.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, is_sparse
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.sklearn_private import DocumentationLink, Interval, fit_context, num_samples
from kernelrank.base.validation import check_scores, check_weight
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS
from kernelrank.estimators.base import keep_parameters, whole_or_not_at_all
from kernelrank.metrics.levels import QuadraticWeightedKappa
from kernelrank.model_selection.calibration import ScoreUnits, comparable_scores
from kernelrank.model_selection.refits import HoldoutData, model_scores
from kernelrank.model_selection.searches import RankRLSCV

MOST_LEVELS = 100
"""More levels than this are taken for numbers that were meant for a regression."""

FOLDS, REFITTED_FOLDS = 20, 5
"""How many folds are held out: with a shortcut, and where each is trained anew."""

CENTRED_ITEMS = 5_000
"""Up to so many items the matrix of a kernel is centred."""

Centred: TypeAlias = tuple[RankRLS, Float]


class OrdinalRanker(DocumentationLink, MetaEstimatorMixin, BaseEstimator):
    """Predict levels, such as stages or stars, from the scores of a ranker.

    Parameters
    ----------
    ranker : estimator, optional
        What scores the items; ``RankRLSCV()`` unless given. `RankRLS` and `RankRLSCV` have a shortcut; any other
        estimator is trained once for each fold.
    cv : int, optional
        The number of folds that are held out in turn: of items, with the levels shared out evenly, or of whole queries
        if qid has several. Unless given, 20 where the ranker has a shortcut, and 5 where each fold is trained anew:
        models that are trained with fewer items have smaller scores, and probabilities that are too sure follow.
    random_state : int, RandomState or None, default=0
        How items are dealt to folds.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    ranker_ : estimator
        The ranker, fitted to all items.
    levels_ : ndarray, shape (k,)
        The levels, ascending.
    thresholds_ : ndarray, shape (k - 1,)
        An item has the lowest level whose threshold is not below its score, or the last one. Infinite if scores say
        nothing about levels.
    slope_ : float
    intercepts_ : ndarray, shape (k - 1,)
        β and θ of the ordered logistic model.
    holdout_scores_ : ndarray, shape (m,)
        The held-out scores that thresholds and probabilities are learnt from, in the units of `decision_function`.
        Alpha was chosen with these items, so that they are a little too optimistic: measure levels on other data.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The cost of the ranker; for `RankRLS` and `RankRLSCV` one factorisation for the chosen alpha, and as many small
    systems as there are folds. A fold that is trained anew (another estimator, a basis, more than 5,000 items
    with a kernel or in a sparse matrix) costs one more training; a search chooses again in each.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import OrdinalRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> y = np.digitize(2 * X[:, 0] + rng.logistic(size=200), [-1, 1, 3])
    >>> model = OrdinalRanker().fit(X, y)
    >>> model.predict([[-3, 0, 0], [0, 0, 0], [3, 0, 0]])
    array([0., 1., 3.])
    >>> model.predict_proba([[0, 0, 0]]).round(1)
    array([[0.3, 0.4, 0.2, 0.1]])
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ranker": [None, BaseEstimator],
        "cv": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self, ranker: Any = None, *, cv: int | None = None, random_state: Any = 0, verbose: bool = False
    ) -> None:
        keep_parameters(self, locals())

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes: what its ranker does."""
        tags = super().__sklearn_tags__()
        if self.ranker is None or hasattr(self.ranker, "__sklearn_tags__"):
            tags.input_tags = get_tags(self._ranker()).input_tags
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags()  # because of predict_proba
        return tags

    def _ranker(self) -> Any:
        return RankRLSCV() if self.ranker is None else self.ranker

    @fit_context(prefer_skip_nested_validation=False)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit the ranker, hold folds out, and learn thresholds and probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
        y : array-like of numbers, shape (m,)
            Levels; larger is better. Only their order counts for the thresholds.
        qid : sequence, shape (m,), optional
            The query of each item: items of different queries are not compared. All queries share the thresholds.
        sample_weight : array-like, shape (m,), optional
            Item weights, if the ranker takes them.

        Returns
        -------
        self
        """
        y = check_scores(y, num_samples(X))
        if y.ndim != 1:
            raise InvalidInputError(f"Expected y with one level for each item; got the shape {y.shape}.")
        if len(y) < 2:
            raise InvalidInputError(f"Expected at least two items; got n_samples={len(y)}.")
        levels, codes = np.unique(y, return_inverse=True)
        if len(levels) < 2:
            raise NothingToCompareError(f"y has one level only, {levels[0]:g}: expected two or more")
        if len(levels) > MOST_LEVELS:
            raise InvalidInputError(
                f"y has {len(levels)} levels, expected at most {MOST_LEVELS}: use a ranker for numbers, or group them"
            )
        weight = check_weight(sample_weight, len(y))
        given = {name: value for name, value in (("qid", qid), ("sample_weight", weight)) if value is not None}
        self.ranker_ = clone(self._ranker()).fit(X, y, **given)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.ranker_, name):
                setattr(self, name, getattr(self.ranker_, name))
        centred = centred_problem(self.ranker_, X)
        n_folds = self.cv or (REFITTED_FOLDS if centred is None else FOLDS)
        sets = self._folds(codes, None if qid is None else Queries.from_labels(qid, len(y)), n_folds)
        self.holdout_scores_ = held_out_scores(self.ranker_, centred, X, y, sets, given)
        self.levels_ = levels
        fitted = OrderedLogistic.of(self.holdout_scores_, codes, np.ones(len(y)) if weight is None else weight)
        self.slope_, self.intercepts_, self.thresholds_ = fitted.slope, fitted.intercepts, fitted.thresholds
        return self

    def _folds(self, codes: Index, queries: Queries | None, n_folds: int) -> list[Index]:
        """Deal the items of each level, or whole queries, to the folds in turn."""
        random = np.random.RandomState(self.random_state) if self.random_state is None else self.random_state
        random = random if isinstance(random, np.random.RandomState) else np.random.RandomState(random)
        several = queries is not None and len(queries) > 1
        units = np.arange(len(queries)) if several and queries is not None else np.arange(len(codes))
        order = random.permutation(len(units)) if several else np.lexsort((random.rand(len(codes)), codes))
        fold = np.empty(len(units), dtype=np.int64)
        fold[order] = np.arange(len(units)) % min(n_folds, len(units))
        of_items = fold[queries.codes] if several and queries is not None else fold
        return [np.flatnonzero(of_items == number) for number in range(int(fold.max()) + 1)]

    def decision_function(self, X: Any) -> Float:
        """Return the scores of the ranker.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features)

        Returns
        -------
        ndarray, shape (t,)
        """
        check_is_fitted(self)
        return model_scores(self.ranker_, X)

    def predict(self, X: Any) -> Float:
        """Predict the median level of each item, which has the smallest expected absolute error.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features)

        Returns
        -------
        ndarray, shape (t,)
        """
        scores = self.decision_function(X)
        levels: Float = self.levels_[np.searchsorted(self.thresholds_, scores)]
        return levels

    def predict_proba(self, X: Any) -> Float:
        """Predict the probability of each level.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features)

        Returns
        -------
        ndarray, shape (t, k)
        """
        scores = self.decision_function(X)
        return OrderedLogistic(self.slope_, self.intercepts_).probabilities(scores)

    def score(self, X: Any, y: Any) -> float:
        """Return the quadratic weighted kappa of the predicted levels.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features)
        y : array-like, shape (t,)
            True levels.

        Returns
        -------
        float
        """
        return QuadraticWeightedKappa()(y, self.predict(X)).mean


def held_out_scores(
    ranker: Any, centred: Centred | None, X: Any, y: Float, sets: list[Index], given: dict[str, Any]
) -> Float:
    """Return the scores of each set by the model that was trained without it, with a common origin, shape (m,).

    Those of a fitted `RankRLS` or `RankRLSCV` keep its alpha and kernel.
    """
    scores = model_scores(ranker, X)
    if centred is None:
        units = ScoreUnits.of(scores)
        learner = _plain(ranker) or clone(ranker)
        return units.mean + units.deviation * comparable_scores(learner, X, y, sets, **given)
    held = ItemSets.of(sets, len(y))
    data = HoldoutData(*centred, y, given.get("qid"), given.get("sample_weight"))
    found = np.empty(len(y))
    found[held.items] = data.scores(held, np.array([centred[0].alpha]))[:, 0, 0]
    return found + float(np.mean(scores))


def _plain(ranker: Any) -> RankRLS | None:
    """Return a `RankRLS` with what a fitted ranker has chosen; None for any other one."""
    if type(ranker) is RankRLS:
        same: RankRLS = clone(ranker)
        return same
    if type(ranker) is not RankRLSCV:
        return None
    chosen = {name: value for name, value in ranker.best_params_.items() if name != "alpha"}
    plain: RankRLS = clone(ranker._learner(chosen)).set_params(alpha=float(ranker.alpha_))
    return plain


def centred_problem(ranker: Any, X: Any) -> Centred | None:
    """Return the learner and the items with φ - φ̄ in place of φ; None where that takes memory or digits."""
    plain = _plain(ranker)
    if plain is None or plain.basis is not None:
        return None
    items, kernel = ranker._check_items(X, reset=False), ranker.kernel_
    m, n = items.shape
    dense = kernel.metric == "linear" and not is_sparse(items)
    Phi = np.asarray(kernel.mapped(items), dtype=np.float64) if dense else np.empty(0)
    Phi = Phi - Phi.mean(axis=0) if dense else Phi
    if dense and n <= m:
        return clone(plain).set_params(metric=None), Phi
    if m > CENTRED_ITEMS:
        return None
    if dense:
        K = Phi @ Phi.T
    else:
        K = kernel.matrix(items)
        means, largest = K.mean(axis=0), K.diagonal().max()
        K -= means
        K -= (means - means.mean())[:, None]
        if largest > 10 * K.diagonal().max():
            return None
    return clone(plain).set_params(kernel="precomputed", gamma=None, kernel_params=None, metric=None), K


# Ordered logistic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OrderedLogistic:
    """Probabilities of k levels, given a score: the slope β and the intercepts θ (k - 1,)."""

    slope: float
    intercepts: Float

    @classmethod
    def of(cls, scores: Float, codes: Index, weight: Float) -> OrderedLogistic:
        """Maximise the likelihood. O(m + k³) time for each of some ten steps.

        Shapes: scores, codes, weight (m,).
        """
        k, mean = int(codes.max()) + 1, float(np.average(scores, weights=weight))
        deviation = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight))) or 1.0
        z = np.append((scores - mean) / deviation, np.zeros(k))
        codes, weight = np.append(codes, np.arange(k)), np.append(weight, np.full(k, 1 / k))
        best = _maximise(z, codes, weight)
        if best[-1] <= 0:  # larger scores would mean lower levels: they say nothing
            best = np.append(_maximise(np.zeros(len(z)), codes, weight)[:-1], 0.0)
        return cls(float(best[-1] / deviation), best[:-1] + best[-1] * mean / deviation)

    @property
    def thresholds(self) -> Float:
        """The scores at which the median level changes, shape (k - 1,)."""
        if self.slope == 0:
            return np.where(self.intercepts >= 0, np.inf, -np.inf)
        return self.intercepts / self.slope

    def probabilities(self, scores: Float) -> Float:
        """Return the probabilities of the levels, shape (t, k)."""
        d = self.intercepts - self.slope * np.asarray(scores)[:, None]
        # Of both tails, the difference of the smaller ones has more digits.
        ends = np.ones((len(d), 1))
        below, above = np.hstack([0 * ends, expit(d), ends]), np.hstack([ends, expit(-d), 0 * ends])
        found: Float = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
        return found


def _maximise(z: Float, codes: Index, weight: Float) -> Float:
    """Return θ and β, shape (k,), at the maximum of the likelihood: Newton's method with halved steps."""
    counts = np.bincount(codes, weights=weight)
    shares = np.cumsum(counts)[:-1] / counts.sum()
    x = np.append(np.log(shares / (1 - shares)), 0.0)
    value, gradient, hessian = _likelihood(x, z, codes, weight)
    for _ in range(100):
        hessian[-1, -1] += float(not z.any())  # without scores, β is not determined and stays at zero
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while length > 1e-12:
            new = _likelihood(x + length * step, z, codes, weight)
            if new[0] > value - 1e-13 * abs(value):
                break
            length /= 2
        x = x + length * step
        value, gradient, hessian = new
        if float(np.abs(length * step).max()) < 1e-12 * (1 + float(np.abs(x).max())):
            break
    return x


def _likelihood(x: Float, z: Float, codes: Index, weight: Float) -> tuple[float, Float, Float]:
    """Return the log-likelihood, its gradient (k,), and minus its second derivatives (k, k)."""
    k = len(x)
    gaps = np.diff(x[:-1])
    if (gaps <= 0).any():
        return -np.inf, x, np.eye(k)
    theta = np.concatenate([[-np.inf], x[:-1], [np.inf]])
    u, low = theta[codes + 1] - x[-1] * z, theta[codes] - x[-1] * z
    counts = np.bincount(codes, weights=weight, minlength=k)
    value = float(weight @ (log_expit(u) + log_expit(-low)) + counts[1:-1] @ np.log(-np.expm1(-gaps)))

    def by_threshold(of_upper: Float, of_lower: Float) -> Float:
        """Add what items say of the threshold above them and of the one below."""
        upper = np.bincount(codes, weights=weight * of_upper, minlength=k)[:-1]
        lower = np.bincount(codes, weights=weight * of_lower, minlength=k)[1:]
        return np.asarray(upper + lower, dtype=np.float64)

    above, below = expit(-u), expit(low)
    a, b = above * (1 - above), below * (1 - below)
    slope = counts[1:-1] / np.expm1(gaps)
    gradient = np.append(by_threshold(above, -below), weight @ (z * (below - above)))
    gradient[1:-1] += slope
    gradient[:-2] -= slope
    hessian = np.zeros((k, k))
    hessian[np.arange(k - 1), np.arange(k - 1)] = by_threshold(a, b)
    hessian[:-1, -1] = hessian[-1, :-1] = -by_threshold(a * z, b * z)
    hessian[-1, -1] = weight @ ((a + b) * z**2)
    bend = slope * (1 + 1 / np.expm1(gaps))
    for j, value_of_gap in enumerate(bend):
        hessian[j : j + 2, j : j + 2] += value_of_gap * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return value, gradient, hessian
