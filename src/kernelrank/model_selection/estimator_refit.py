"""Refitting for each set of items held out: any scikit-learn estimator, and kernel RankSVM, whose basis loses items."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets
from kernelrank.base.progress import track
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankSVM
from kernelrank.estimators.base import KernelLearner
from kernelrank.exact_cv.sets import settle_ties
from kernelrank.features import ExplicitFeatures, ReducedSet, lose_the_basis

__all__ = ["check_classes", "refit_on_map", "refit_scores", "settled", "without_basis"]


def refit_scores(
    estimator: Any,
    X: Any,
    y: Any,
    sets: ItemSets,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    alphas: Float | None = None,
    n_jobs: int | None = None,
) -> Float:
    """Return the scores of each set by a clone that was trained without it.

    Parameters
    ----------
    estimator : estimator
        A regressor or ranker, or a classifier of two classes, which is scored by its decision function or by the
        probability of the second class.
    X : array-like, data frame or sparse matrix
    y : ndarray, shape (m,) or (m, outputs)
    sets : ItemSets
    qid, sample_weight : ndarray, shape (m,), optional
        Passed to `fit` of an estimator that takes them.
    alphas : ndarray, optional
        Values of the parameter `alpha`; its own unless given.
    n_jobs : int, optional
        The number of processes, as in joblib.

    Returns
    -------
    ndarray, shape (total, outputs, number of alphas)

    Notes
    -----
    One training for each set and alpha.
    """
    extra = _fit_arguments(estimator, {"qid": qid, "sample_weight": sample_weight})
    values: list[float | None] = [None] if alphas is None else [float(alpha) for alpha in alphas]
    if alphas is not None and "alpha" not in estimator.get_params(deep=False):
        raise InvalidInputError(
            f"alphas needs an estimator with a parameter alpha; {type(estimator).__name__} has none"
        )
    estimator = settled(estimator, X, qid, sample_weight)
    if isinstance(estimator, KernelLearner) and np.ndim(estimator.basis) == 1:
        lose_the_basis(sets, np.asarray(estimator.basis))
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (
        joblib.delayed(_refit_one)(estimator, X, y, held, values, extra, number) for number, held in enumerate(sets)
    )
    scores = list(track(parallel(jobs), len(sets), f"refitting {type(estimator).__name__}"))
    found = np.concatenate(scores)
    if isinstance(estimator, KernelLearner):
        settle_ties(sets, found)
    return found


def _refit_one(
    estimator: Any, X: Any, y: Any, held: Index, alphas: list[float | None], extra: dict[str, Any], number: int
) -> Float:
    """Train without `held` and score it, for each alpha."""
    mask = np.ones(len(y), dtype=bool)
    mask[held] = False
    kept = np.flatnonzero(mask)
    n_outputs = 1 if y.ndim == 1 else y.shape[1]
    scores = np.zeros((len(held), n_outputs, len(alphas)))
    left = without_basis(estimator, kept)
    if left is None:
        return scores  # no basis item is left, and the model is zero
    estimator = left
    X_train, y_train = _safe_split(estimator, X, y, kept)
    X_held, _ = _safe_split(estimator, X, y, held, kept)
    for column, alpha in enumerate(alphas):
        model = clone(estimator)
        if alpha is not None:
            model.set_params(alpha=alpha)
        try:
            model.fit(X_train, y_train, **{name: value[kept] for name, value in extra.items()})
        except NothingToCompareError:
            continue  # the best model is zero then, as in the shortcuts
        except ValueError as error:
            raise InvalidInputError(
                f"{type(estimator).__name__} cannot be trained without held-out set {number} ({_listed(held)}): {error}"
            ) from error
        scores[:, :, column] = _score(model, X_held).reshape(len(held), n_outputs)
    return scores


def settled(estimator: Any, X: Any, qid: Any = None, sample_weight: Any = None) -> Any:
    """Fix gamma, the basis and the grid of alphas, which use no labels, so that all hold-outs share them.

    That is a rule for gamma, a basis, of which each set takes its own items away and no others, and the alphas of a
    search, ``alphas="auto"``. Any other estimator, a pipeline too, chooses anew in each training set.
    """
    if not isinstance(estimator, KernelLearner):
        return estimator
    return estimator._settled(X, qid=qid, sample_weight=sample_weight)


def without_basis(estimator: Any, kept: Index) -> Any | None:
    """Return the basis items that are kept their new numbers; None if there are none."""
    if not isinstance(estimator, KernelLearner) or np.ndim(estimator.basis) != 1:
        return estimator
    left = np.intersect1d(np.asarray(estimator.basis), kept)
    if len(left) == 0:
        return None
    return clone(estimator).set_params(basis=np.searchsorted(kept, left))


def _score(model: Any, X: Any) -> Float:
    if is_classifier(model) and hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    if is_classifier(model) and hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    return np.asarray(model.predict(X), dtype=np.float64)


def _listed(held: Index) -> str:
    shown = ", ".join(map(str, held[:5].tolist()))
    return f"items {shown}, ..." if len(held) > 5 else f"items {shown}"


def _fit_arguments(estimator: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what `fit` takes; weights that it does not take and queries that do not reach a step are errors."""
    arguments = {}
    for name, value in wanted.items():
        if value is None:
            continue
        if has_fit_parameter(estimator, name) or _routes(estimator, name):
            arguments[name] = value
        elif name == "sample_weight":
            raise InvalidInputError(f"{type(estimator).__name__} does not support sample_weight")
        elif any(has_fit_parameter(step, name) for step in _steps(estimator)):
            raise InvalidInputError(
                f"a step of {type(estimator).__name__} uses {name}, which is not passed on to it: turn metadata "
                "routing on, sklearn.set_config(enable_metadata_routing=True)"
            )
    return arguments


def _routes(estimator: Any, name: str) -> bool:
    if not get_config()["enable_metadata_routing"]:
        return False
    return name in get_routing_for_object(estimator).consumes("fit", [name])


def _steps(estimator: Any) -> list[Any]:
    return [value for value in estimator.get_params(deep=True).values() if hasattr(value, "fit")]


def check_classes(estimator: Any, y: Any) -> Float:
    """Return y as scores; the two classes of a classifier become 0 and 1."""
    values = np.asarray(y)
    if not is_classifier(estimator):
        return values.astype(np.float64)
    classes, codes = np.unique(values, return_inverse=True)
    if values.ndim != 1 or len(classes) != 2:
        raise InvalidInputError(
            f"hold-outs of a classifier need y with two classes in one column; got {len(classes)} classes"
        )
    return codes.astype(np.float64)


def refit_on_map(
    estimator: RankSVM, X: Any, y: Any, sets: ItemSets, qid: Any, sample_weight: Any, alphas: Float
) -> Float | None:
    """Return the scores of each set by a RankSVM trained without it and without its basis items.

    The map of the whole basis is made once; each set turns it, so that the columns of its basis items fall away, and
    the linear problem on what is left is solved from the start.

    Parameters
    ----------
    estimator : RankSVM
        With a basis.
    X, y, qid, sample_weight
        As in its `fit`.
    sets : ItemSets
    alphas : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (total, outputs, n), or None
        None where the basis is so close to singular that the map cannot be turned.

    Notes
    -----
    O(m r²) time once; for each set O(m r h) for its h basis items, and one linear training for each alpha.
    """
    learner: Any = clone(estimator)
    learner._validate_params()
    items = learner._check_items(X, reset=True)
    graphs, _ = learner._compare(items, y, qid, sample_weight)
    features = learner._features(items)
    if not isinstance(features, ReducedSet):
        return None
    Phi = features.rows(np.arange(features.n_items))
    scores = np.zeros((len(sets.items), sum(len(columns) for columns, _ in graphs), len(alphas)))
    lose_the_basis(sets, features.basis)
    for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
        turn = features.map.without(np.flatnonzero(np.isin(features.basis, held)))
        if turn is None:
            return None
        turned = turn(Phi)
        if turned.shape[1] == 0:
            continue  # no basis item is left, and the model is zero
        kept = np.ascontiguousarray(np.delete(turned, held, axis=0))
        for columns, graph in graphs:
            rest = graph.without(held)
            if rest.n_pairs == 0:
                continue
            linear = ExplicitFeatures(kept)
            solver = learner._solver(linear, rest)
            state = solver.prepare(linear, rest)
            for number, alpha in enumerate(alphas):
                w = solver.solve(state, float(alpha)).coefficients
                scores[start:stop, columns, number] = turned[held] @ w
    return scores
