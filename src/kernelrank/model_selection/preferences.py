"""Preferences held out: one by one, by judge or query, or with both of their items."""

from __future__ import annotations

import inspect
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, one_pool
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Curves, Histogram, Result
from kernelrank.base.sklearn_private import num_samples
from kernelrank.base.validation import check_confidence, check_pair_values, check_pairs, check_scores, check_ties
from kernelrank.comparisons import PreferenceGraph
from kernelrank.comparisons.costs import CostOption, compare_pairs, resolved_cost
from kernelrank.comparisons.scored import list_score_pairs
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.estimators.base import KernelLearner, check_alphas
from kernelrank.estimators.posterior import ScorePosterior
from kernelrank.exact_cv.preferences import PreferenceProblem, leave_items_out
from kernelrank.features import Features
from kernelrank.metrics.intervals import PreferenceAgreement, agreement_of
from kernelrank.model_selection.alpha_grid import mean_eigenvalue
from kernelrank.model_selection.holdout import leave_pair_out, leave_query_out
from kernelrank.model_selection.search import AlphaSearch, Measured
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.votes import BradleyTerry
from kernelrank.votes.likelihood import observed_probabilities


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceHoldout(Result):
    """Preferences, each predicted by a model that did not see it.

    Parameters
    ----------
    pairs : ndarray of int64, shape (l, 2)
        The preferences: the item of column 0 is preferred to that of column 1.
    difference : ndarray, shape (l,) or (l, alphas)
        By how much the first item is scored above the second.
    weight : ndarray, shape (l,)
    alphas : ndarray or None
        The alphas, if they were given.
    what : str
        What was held out together.
    probability : ndarray, shape (l,) or (l, alphas), or None
        How probable the model found what was observed, where it predicts probabilities. A tie that counts as half a
        vote for each item has the geometric mean of the two probabilities.
    tie : ndarray of bool, shape (l,), or None
        Which votes are ties, or have the magnitude zero, which is one with ``cost="unit"``. The agreement leaves them
        out.

    Examples
    --------
    >>> found = PreferenceHoldout(np.array([[0, 1], [1, 2]]), np.array([0.4, -0.1]), np.ones(2), None, "one preference")
    >>> found.agreement.value
    0.5
    """

    pairs: Index
    difference: Float
    weight: Float
    alphas: Float | None
    what: str
    probability: Float | None = None
    tie: NDArray[np.bool_] | None = None

    @property
    def agreement(self) -> Any:
        """The share of the preferences that the held-out differences agree with: a list of them if alphas were given.

        Its interval allows for preferences that share items.
        """
        return self.agreements()

    def agreements(self, confidence: float = 0.95) -> PreferenceAgreement | list[PreferenceAgreement]:
        """Return the agreement, with an interval of this confidence."""
        check_confidence(confidence)
        counts = self.weight if self.tie is None else np.where(self.tie, 0.0, self.weight)
        if self.alphas is None:
            return agreement_of(self.pairs, self.difference, counts, confidence)
        return [agreement_of(self.pairs, column, counts, confidence) for column in self.difference.T]

    @property
    def log_loss(self) -> Any:
        """The mean of ``-log(probability)``, weighted: a list if alphas were given; None without probabilities."""
        if self.probability is None:
            return None
        mean = -np.average(np.log(self.probability), axis=0, weights=self.weight)
        return float(mean) if self.alphas is None else [float(value) for value in mean]

    def __str__(self) -> str:
        found, loss = self.agreements(), self.log_loss
        values = [one.value for one in (found if isinstance(found, list) else [found])]
        text = f"{len(self.pairs):,} preferences held out ({self.what} at a time), agreement {_span(values)}"
        return text if loss is None else f"{text}, log-loss {_span(np.atleast_1d(loss).tolist())}"

    def _facts(self) -> list[tuple[str, str]]:
        found, loss = self.agreements(), self.log_loss
        rows: list[tuple[str, str]] = [("held out at a time", self.what)]
        if isinstance(found, list):
            assert self.alphas is not None
            for number, (alpha, one) in enumerate(zip(self.alphas, found, strict=True)):
                rows.append((f"agreement, alpha {alpha:.3g}", f"{one.value:.4f}"))
                if loss is not None:
                    rows.append((f"log-loss, alpha {alpha:.3g}", f"{loss[number]:.4f}"))
            return rows
        return [*rows, *found._facts(), *([] if loss is None else [("log-loss", f"{loss:.4f}")])]

    def _chart(self) -> Curves | Histogram:
        found = self.agreements()
        if isinstance(found, list):
            assert self.alphas is not None
            low, high = (np.array(ends) for ends in zip(*(one.interval for one in found), strict=True))
            values = {"agreement": np.array([one.value for one in found])}
            bands = {"agreement": (low, high)}
            return Curves(self.alphas, values, "alpha", "agreement with held-out preferences", bands, logarithmic=True)
        label = "held-out difference: above zero if it agrees with the preference"
        return Histogram(self.difference, label, "preferences", 0.0, f"agreement {found.value:.3f}")

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"preferred": self.pairs[:, 0], "other": self.pairs[:, 1], "weight": self.weight}
        if self.tie is not None:
            columns["tie"] = self.tie
        for name, values in (("difference", self.difference), ("probability", self.probability)):
            if values is not None and self.alphas is None:
                columns[name] = values
            elif values is not None:
                columns.update({f"{name}_{k}": column for k, column in enumerate(values.T)})
        return columns


def _span(values: list[float]) -> str:
    return f"{values[0]:.4f}" if len(values) == 1 else f"{min(values):.4f} to {max(values):.4f}"


@one_pool
def leave_preferences_out(
    estimator: Any,
    X: Any,
    pairs: Any,
    *,
    groups: Any = None,
    items: bool = False,
    alphas: Any = None,
    magnitude: Any = None,
    weight: Any = None,
    tie: Any = None,
    side: Any = None,
    judge: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> PreferenceHoldout:
    """Predict each preference by a model trained without it.

    Parameters
    ----------
    estimator : estimator with `fit_pairs`
        `RankRLS` takes the shortcut, whatever its kernel and basis. Others are refitted.
    X : array-like or sparse matrix, shape (m, n_features), or (m, m) for a precomputed kernel
        The items.
    pairs : array-like of int, shape (l, 2)
        Column 0 is preferred to column 1; a pair may occur many times, and in both directions.
    groups : sequence, shape (l,), optional
        One label for each preference, such as its judge, query or day: all of a group are held out together.
    items : bool, default=False
        Whether to hold out all preferences that involve either of the two items, so that both items are new to the
        model. They are removed from its basis too.
    alphas : array-like of float, optional
        Values of alpha, all from one decomposition; that of the estimator unless given.
    magnitude, weight : array-like, shape (l,), optional
        As in `RankRLS.fit_pairs`.
    tie, side, judge : array-like, shape (l,), optional
        As in `BradleyTerry.fit_pairs`, for estimators that take them. Effects of judges are learnt, but not used in
        predictions.
    n_jobs : int, optional
        The number of parallel processes for refits.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    PreferenceHoldout
        Differences are zero where nothing is left to train on. `BradleyTerry` gives probabilities and a log-loss too.

    Notes
    -----
    One decomposition, O(m n² + n³) time for n features or O(m³) for a kernel of m items; then O(s) for each preference
    and alpha, s being n or m. A group of u preferences takes O(u² s) for each alpha, or, if u is large, O(u s²) once
    and O(s²) for each alpha. A fit takes O(s) for each preference, so that groups cost more than a few fits. With
    `items` it is O(s²) for every compared pair of items and each alpha, with about six products each. The model is
    refitted for a set that alone determines a direction of the features. Other estimators are refitted once for each
    group, for each compared pair of items, or for each distinct preference.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, leave_preferences_out
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> held_out = leave_preferences_out(RankRLS(), X, [[1, 0], [2, 1], [3, 2], [3, 0]])
    >>> held_out.difference.round(2), held_out.agreement.value
    (array([0.42, 0.42, 0.42, 2.25]), 1.0)
    """
    if verbose:
        return verbosely(leave_preferences_out, locals())
    m = num_samples(X)
    listed = check_pairs(pairs, m)
    if len(listed) == 0:
        raise InvalidInputError("pairs is empty: nothing to hold out")
    if groups is not None and items:
        raise InvalidInputError("give groups or items=True, not both")
    values = None if alphas is None else np.array(check_alphas(alphas))
    given = {
        "magnitude": check_pair_values(magnitude, len(listed), name="magnitude"),
        "weight": check_pair_values(weight, len(listed), name="weight"),
        "tie": check_ties(tie, len(listed)),
        "side": side,
        "judge": judge,
    }
    given = {name: value for name, value in given.items() if value is not None}
    _check_fit_pairs(estimator, given)
    settled = KernelLearner._settled(estimator, X) if isinstance(estimator, KernelLearner) else estimator
    refits = Refits(settled, X, listed, given, groups, items, values)
    probability = None
    features = _features(settled, X) if type(estimator) is RankRLS else None
    if features is None or features.size > DIRECT_LIMIT:
        found, probability = refits.run(n_jobs)
    else:
        named = {name: given.get(name) for name in ("magnitude", "weight")}
        problem = PreferenceProblem(features, compare_pairs(m, listed, cost=resolved_cost(settled.cost), **named))
        tried = np.array([float(estimator.alpha)]) if values is None else values
        found = refits.completed(exact_differences(problem, features, groups, tried, items=items), n_jobs)
    counts = given.get("weight", np.ones(len(listed)))
    one = values is None
    return PreferenceHoldout(
        listed,
        found[:, 0] if one else found,
        counts,
        values,
        "one group" if groups is not None else ("both items of a preference" if items else "one preference"),
        probability[:, 0] if one and probability is not None else probability,
        _ties(given, getattr(settled, "cost", "magnitude")),
    )


def _ties(given: dict[str, Any], cost: CostOption) -> NDArray[np.bool_] | None:
    """Return which preferences have no order: ties, and magnitudes of zero if the cost uses magnitudes."""
    magnitude = None if resolved_cost(cost) == "unit" else given.get("magnitude")
    if magnitude is not None and np.any(magnitude == 0.0):
        return np.asarray(magnitude == 0.0, dtype=np.bool_)
    return given.get("tie")


def _check_fit_pairs(estimator: Any, given: dict[str, Any]) -> None:
    if not hasattr(estimator, "fit_pairs"):
        raise InvalidInputError(f"{type(estimator).__name__} has no fit_pairs: it cannot learn from preferences")
    taken = inspect.signature(estimator.fit_pairs).parameters
    unknown = [name for name in given if name not in taken and not any(p.kind == p.VAR_KEYWORD for p in taken.values())]
    if unknown:
        raise InvalidInputError(f"{type(estimator).__name__}.fit_pairs takes no {', '.join(unknown)}: leave it out")


def _features(estimator: RankRLS, X: Any) -> Features:
    learner: Any = clone(estimator)
    learner._validate_params()
    return cast(Features, learner._features(learner._check_items(X, reset=True)))


def exact_differences(
    problem: PreferenceProblem, features: Features, groups: Any, alphas: Float, *, items: bool = False
) -> Float:
    """Return the held-out differences of preferences, NaN where digits are lost.

    Shapes: groups (l,), alphas (n,); returns (l, n).
    """
    if items:
        return leave_items_out(problem, features, alphas)
    if groups is None:
        return problem.singles(alphas)
    sets = ItemSets.of_queries(Queries.from_labels(groups, problem.graph.n_pairs, name="groups"))
    return problem.sets(sets, alphas)


class Refits:
    """Refits where there is no shortcut: one model for all preferences that are held out together.

    Shapes: X (m, n_features), pairs (l, 2).
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        pairs: Index,
        given: dict[str, Any],
        groups: Any,
        items: bool,
        alphas: Float | None,
    ) -> None:
        self.estimator, self.X, self.pairs, self.given = estimator, X, pairs, given
        self.groups, self.items = groups, items
        self.tried: list[float | None] = [None] if alphas is None else [float(alpha) for alpha in alphas]

    def _alike(self) -> Queries:
        """Return which preferences share a model."""
        if self.groups is not None:
            return Queries.from_labels(self.groups, len(self.pairs), name="groups")
        columns = [np.sort(self.pairs, axis=1)] if self.items else [self.pairs]
        for value in () if self.items else self.given.values():
            codes = Queries.from_labels(np.asarray(value).tolist(), len(self.pairs), name="a value of the preferences")
            columns.append(codes.codes[:, None])
        _, alike = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
        return Queries.from_labels(alike.ravel(), len(self.pairs))

    def run(self, n_jobs: int | None, wanted: NDArray[np.bool_] | None = None) -> tuple[Float, Float | None]:
        """Return the differences and probabilities, each (l, n), of wanted preferences and of those like them."""
        sets = ItemSets.of_queries(self._alike())
        scored = [own for own in sets if wanted is None or wanted[own].any()]
        jobs = (joblib.delayed(self._without)(own) for own in scored)
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
        found = np.full((len(self.pairs), len(self.tried)), np.nan)
        probability = np.full_like(found, np.nan) if isinstance(self.estimator, BradleyTerry) else None
        for own, scores in zip(scored, track(parallel(jobs), len(scored), "refitting"), strict=True):
            found[own] = scores[0]
            if probability is not None:
                probability[own] = scores[1]
        return found, probability

    def completed(self, found: Float, n_jobs: int | None = None) -> Float:
        """Refit where a shortcut returned NaN because it lost precision."""
        if np.isnan(found.min()):
            lost = np.asarray(np.isnan(found).any(axis=1), dtype=np.bool_)
            found[lost] = self.run(n_jobs, lost)[0][lost]
        return found

    def _without(self, own: Index) -> tuple[Float, Float]:
        """Train without a held-out set of preferences; return their differences and probabilities, each (u, n)."""
        pairs, kept = self.pairs, np.ones(len(self.pairs), dtype=bool)
        if self.items:
            kept[np.isin(pairs, pairs[own[0]]).any(axis=1)] = False
        else:
            kept[own if self.groups is not None else own[:1]] = False
        given = {name: np.asarray(value)[kept] for name, value in self.given.items()}
        found, probability = np.zeros((len(own), len(self.tried))), np.full((len(own), len(self.tried)), 0.5)
        model = clone(self.estimator)
        if self.items and getattr(model, "basis", None) is not None:
            model.set_params(basis=np.setdiff1d(model.basis, pairs[own[0]]))
        nothing = not kept.any() or ("weight" in given and not np.any(given["weight"] > 0))
        if nothing or (getattr(model, "basis", None) is not None and len(model.basis) == 0):
            return found, probability
        for number, alpha in enumerate(self.tried):
            model = clone(model) if alpha is None else clone(model).set_params(alpha=alpha)
            model.fit_pairs(self.X, pairs[kept], **given)
            if isinstance(model, BradleyTerry):
                found[:, number] = model._differences(self.X, pairs[own])
                probability[:, number] = self._observed(model, own)
            else:
                scores = model.predict(self.X)
                found[:, number] = scores[pairs[own, 0]] - scores[pairs[own, 1]]
        return found, probability

    def _observed(self, model: BradleyTerry, own: Index) -> Float:
        """Return how probable a model finds what was observed."""
        side = None if "side" not in self.given else np.asarray(self.given["side"])[own]
        outcomes = model.predict_proba(self.X, self.pairs[own], side=side)
        tied = self.given.get("tie")
        return observed_probabilities(outcomes, None if tied is None else tied[own])


# Preference search ----------------------------------------------------------------------------------------------------
#
# The measure of alphas by held-out preferences.


def check_search(cv: Any, scoring: Any) -> None:
    """Raise an error for a hold-out or a measure that is not for preferences."""
    if not isinstance(cv, str) or cv != "auto":
        raise InvalidInputError(f"fit_pairs holds out preferences. Expected cv='auto'; got {cv!r}. Give groups instead")
    if scoring not in ("pairwise_accuracy", "auc"):
        raise InvalidInputError(
            "fit_pairs chooses by the agreement with preferences. Expected scoring='pairwise_accuracy'; got "
            f"{scoring!r}. Leave it out"
        )


def check_groups(groups: Any, n_pairs: int) -> None:
    """Raise an error if everything would be held out at once, so that nothing is left to train on."""
    if groups is not None and len(Queries.from_labels(groups, n_pairs, name="groups")) < 2:
        raise InvalidInputError(
            "Expected at least two groups to hold out one at a time; got one. Leave groups out to hold out single "
            "preferences"
        )
    if n_pairs < 2:
        raise InvalidInputError("Expected at least two preferences to hold out one; got one. Use RankRLS with an alpha")


@dataclass(frozen=True)
class PreferenceMeasure:
    """Measures alphas by the share of held-out preferences that agree.

    Shapes: X (m, n_features).
    """

    problem: PreferenceProblem
    features: Features
    groups: Any
    given: dict[str, Float]
    learner: KernelLearner
    X: Matrix

    @classmethod
    def of(
        cls, learner: KernelLearner, X: Matrix, graph: PreferenceGraph, groups: Any, given: dict[str, Float]
    ) -> Self:
        """Decompose the problem of a learner, not fitted, whose basis and gamma are fixed."""
        X = learner._check_items(X, reset=True)
        features = learner._features(X)
        if features.size > DIRECT_LIMIT:
            raise InvalidInputError(
                f"Expected at most {DIRECT_LIMIT:,} features or items, for a decomposition; got {features.size:,}. "
                "Give a basis, or choose alpha by preferences that you hold out yourself"
            )
        return cls(PreferenceProblem(features, graph), features, groups, given, learner, X)

    @property
    def scale(self) -> float:
        """The mean of the eigenvalues that are not zero."""
        values = self.problem.values
        known = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
        return mean_eigenvalue(float(values.sum()), int(known.sum()))

    def __call__(self, alphas: Float) -> Measured:
        """Hold preferences out for some alphas, and return the agreement of each."""
        graph = self.problem.graph
        step = max(1, 2**25 // max(1, graph.n_pairs))  # so many held-out differences are kept at once: 256 MiB
        parts = [self._agreement(alphas[start : start + step]) for start in range(0, len(alphas), step)]
        mean = np.concatenate(parts)[None]
        return Measured(mean, np.full(mean.shape, np.nan), None, None)

    def _agreement(self, alphas: Float) -> Float:
        graph = self.problem.graph
        refits = Refits(self.learner, self.X, graph.pairs, self.given, self.groups, False, alphas)
        found = refits.completed(exact_differences(self.problem, self.features, self.groups, alphas))
        counts = np.where(graph.magnitude > 0.0, self.given.get("weight", np.ones(graph.n_pairs)), 0.0)
        if not counts.any():
            raise InvalidInputError("every preference has zero weight or magnitude, so alpha cannot be chosen")
        agreed = (found > 0.0).astype(np.float64)
        agreed[found == 0.0] = 0.5
        return np.asarray(counts @ agreed / counts.sum())


# Score calibration ----------------------------------------------------------------------------------------------------
#
# The probability that one item is better than another, for rankers trained on scores: calibrated on held-out pairs.

Model = TypeVar("Model", bound=ScorePosterior)


def calibrate_comparisons(model: Model, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Model:
    """Calibrate the probabilities of `compare` on held-out pairs of the training items.

    Every query is held out, or every pair if there is one query, exactly and without refits for `RankRLS` and
    `RankRLSCV`, whose alpha stays as it was chosen. The probability that the first of two items has the higher score is
    then ``1 / (1 + exp(-κ d))`` for a difference d of predictions, with the κ that makes the orders of the held-out
    pairs most likely. The standard deviation is the root mean square error of the held-out differences.

    Parameters
    ----------
    model : RankRLS, RankRLSCV or BradleyTerry
        Fitted to scores.
    X, y, qid, sample_weight
        What it was fitted to; y has one output.

    Returns
    -------
    model
        A copy of the model, whose `compare` is calibrated. `comparison_scale_` is κ, `comparison_std_` the standard
        deviation, `comparison_pairs_` the number of pairs, and `comparison_holdout_` how they were held out.

    Notes
    -----
    The time and memory of `leave_query_out` or `leave_pair_out`, and of a list of all pairs: at most 20 million. One
    pair in the wrong order, with an average difference, is added, so that κ is finite. The probabilities do not depend
    on the correlation of pairs that share items.

    Examples
    --------
    >>> from kernelrank import RankRLS, calibrate_comparisons, make_ranking
    >>> X, y, qid = make_ranking(n_queries=30, random_state=0)
    >>> model = calibrate_comparisons(RankRLS().fit(X, y, qid=qid), X, y, qid=qid)
    >>> model.compare(X[:2], X[2:4]).basis.startswith("calibrated on"), model.comparison_holdout_
    (True, 'leave-query-out')
    """
    check_is_fitted(model)
    if not isinstance(model, ScorePosterior):
        raise InvalidInputError(f"Expected a RankRLS, RankRLSCV or BradleyTerry; got a {type(model).__name__}")
    scores = check_scores(y, len(y))
    if scores.ndim != 1:
        raise InvalidInputError(f"Expected one column of scores; got y of shape {scores.shape}. Fit one output alone")
    queries = Queries.from_labels(qid, len(scores))
    plain = _plain(model)
    if len(queries) > 1:
        held_out = leave_query_out(plain, X, scores, qid, sample_weight=sample_weight)
        pairs, _ = list_score_pairs(scores, queries, None)
        first, second = pairs[:, 0], pairs[:, 1]
        difference, how = np.asarray(held_out[first] - held_out[second]), "leave-query-out"
    else:
        found = leave_pair_out(plain, X, scores, sample_weight=sample_weight)
        first, second, difference, how = found.first, found.second, np.asarray(found.difference), "leave-pair-out"
    magnitude = scores[first] - scores[second]
    difference, magnitude = (np.where(magnitude < 0, -values, values) for values in (difference, magnitude))
    differ = magnitude > 0
    calibrated = copy(model)
    calibrated.comparison_scale_ = _scale(difference[differ])
    calibrated.comparison_std_ = float(np.sqrt(np.mean((magnitude - difference) ** 2)))
    calibrated.comparison_pairs_ = int(differ.sum())
    calibrated.comparison_holdout_ = how
    return calibrated


def _plain(model: Any) -> Any:
    """Return the learner, not fitted, with what a search chose."""
    if not isinstance(model, AlphaSearch):
        return clone(model)
    setting = {name: value for name, value in model.best_params_.items() if name != "alpha"}
    return model._learner(setting).set_params(alpha=float(model.alpha_))


def _scale(difference: Float) -> float:
    """Return the κ that maximises ``Σ log(1 / (1 + exp(-κ d)))`` over pairs in their true order, and a wrong one."""
    from scipy.optimize import brentq

    size = float(np.abs(difference).mean())
    if size == 0.0:
        return 0.0
    d = np.append(difference, -size) / size

    def slope(kappa: float) -> float:
        return float(np.sum(d * expit(-kappa * d)))

    if slope(0.0) <= 0.0:
        return 0.0  # no better than chance
    high = 1.0
    while slope(high) > 0.0:
        high *= 2.0
    return float(brentq(slope, 0.0, high, xtol=1e-12, rtol=1e-12)) / size
