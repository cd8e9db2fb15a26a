"""From an RLS or RankRLS estimator and its data to the problems that are held out from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import safe_split
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankSVM
from kernelrank.estimators.base import KernelLearner
from kernelrank.exact_cv import DifferingPairs, GivenPairs, PairHoldout, Problem, leave_pair_out, leave_sets_out
from kernelrank.exact_cv.sets import settle_ties
from kernelrank.features import ExplicitFeatures, FullKernel, ReducedSet, lose_the_basis
from kernelrank.solvers.precision import check_finite, check_range, one_warning, overflow_is_checked

HELD_OUT_BASIS = ("remove", "keep")
"""What may become of basis items that are held out."""

SHARED_BYTES = 2**29
"""Up to this size distances of all items are kept for other values of gamma."""


class HoldoutData:
    """Training data of a learner, from which items are held out."""

    def __init__(
        self,
        learner: KernelLearner,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        *,
        held_out_basis: str = "remove",
        distances: dict[str, Float] | None = None,
    ) -> None:
        self.learner: Any = clone(learner)
        self.learner._validate_params()
        X = self.learner._check_items(X, reset=True)
        graphs, self.one_output = self.learner._compare(X, y, qid, sample_weight)
        self._read(X, graphs, held_out_basis, distances=distances)

    @classmethod
    def of(
        cls,
        learner: KernelLearner,
        X: Any,
        graphs: list[OutputGraph],
        *,
        one_output: bool,
        held_out_basis: str = "remove",
        keep_spectra: bool = False,
        distances: dict[str, Float] | None = None,
    ) -> HoldoutData:
        """Hold out from data that are validated and compared already.

        Decompositions are kept for further alphas with `keep_spectra`; they are let go otherwise. Kernels that differ
        in gamma only share the `distances` of the items.
        """
        data = cls.__new__(cls)
        data.learner, data.one_output = learner, one_output
        data._read(X, graphs, held_out_basis, keep_spectra=keep_spectra, distances=distances)
        return data

    def _read(
        self,
        X: Any,
        graphs: list[OutputGraph],
        held_out_basis: str,
        *,
        keep_spectra: bool = False,
        distances: dict[str, Float] | None = None,
    ) -> None:
        if held_out_basis not in HELD_OUT_BASIS:
            raise InvalidInputError(f"held_out_basis must be 'remove' or 'keep', got {held_out_basis!r}")
        # A basis is drawn once: what is held out loses its basis items, and the others stay.
        self.learner = self.learner._settled(X)
        features = self.features = self.learner._features(X)
        if isinstance(features, FullKernel) and 8 * features.n_items**2 <= SHARED_BYTES:
            features.distances = distances
        check_range(features, (graph for _, graph in graphs))
        keep = features.basis is not None and held_out_basis == "keep"
        self.n_items: int = X.shape[0]
        self.n_outputs = sum(len(columns) for columns, _ in graphs)
        self.truth: Float = np.empty((self.n_items, self.n_outputs))
        for columns, graph in graphs:
            self.truth[:, columns] = np.where(graph.weight[:, None] > 0, graph.scores, np.nan)
        self.problems: list[tuple[Index, Problem]] = [
            (columns, Problem(features, graph, keep, {} if keep_spectra else None)) for columns, graph in graphs
        ]

    @one_warning("held-out scores")
    def scores(self, sets: ItemSets, alphas: Float) -> Float:
        """Return the scores of each set by the model trained without it, shape (total, outputs, alphas)."""
        scores = np.empty((len(sets.items), self.n_outputs, len(alphas)))
        for columns, problem in self.problems:
            with overflow_is_checked():
                scores[:, columns] = leave_sets_out(problem, sets, alphas)
        check_finite(scores, "scores of items held out")
        return scores

    @one_warning("held-out differences")
    def pairs(self, pairs: Index | DifferingPairs | None, alphas: Float, *, differences: bool = True) -> PairHoldout:
        """Hold out pairs: all whose scores differ, or those given; every axis is kept.

        Shapes: pairs (pairs, 2), alphas (n,).
        """
        chosen: DifferingPairs | GivenPairs
        if pairs is None or isinstance(pairs, DifferingPairs):
            chosen = DifferingPairs.of(self.truth) if pairs is None else pairs
        else:
            chosen = GivenPairs(pairs, self.n_items)
        difference = np.empty((self.n_outputs, len(alphas), chosen.n_pairs if differences else 0))
        accuracy = np.empty((self.n_outputs, len(alphas)))
        for columns, problem in self.problems:
            with overflow_is_checked():
                found, accuracy[columns] = leave_pair_out(problem, chosen, alphas, differences=differences)
            check_finite(found, "scores of pairs held out")
            difference = found if len(self.problems) == 1 else difference
            difference[columns] = found
        first = second = np.zeros(0, dtype=np.int64)
        if differences:
            first, second = chosen.items()
        truth = self.truth[first] - self.truth[second]
        return PairHoldout(first, second, difference.transpose(2, 0, 1), truth, accuracy, chosen.n_pairs)


# Estimator refit ------------------------------------------------------------------------------------------------------
#
# Refitting for each set of items held out: any scikit-learn estimator, and kernel RankSVM, whose basis loses items.


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
    read: Callable[[Any, Any], Float] | None = None,
) -> Float:
    """Return the scores of each set by a clone that was trained without it; `read` gives those of a model and X.

    Shapes: y (m,) or (m, outputs), qid, sample_weight (m,); returns (total, outputs, number of alphas).
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
        joblib.delayed(_refit_one)(estimator, X, y, held, values, extra, number, read or model_scores)
        for number, held in enumerate(sets)
    )
    scores = list(track(parallel(jobs), len(sets), f"refitting {type(estimator).__name__}"))
    found = np.concatenate(scores)
    if isinstance(estimator, KernelLearner):
        settle_ties(sets, found)
    return found


def _refit_one(
    estimator: Any,
    X: Any,
    y: Any,
    held: Index,
    alphas: list[float | None],
    extra: dict[str, Any],
    number: int,
    read: Callable[[Any, Any], Float],
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
    X_train, y_train = safe_split(estimator, X, y, kept)
    X_held, _ = safe_split(estimator, X, y, held, kept)
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
        scores[:, :, column] = read(model, X_held).reshape(len(held), n_outputs)
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


def model_scores(model: Any, X: Any) -> Float:
    """Return the scores of a fitted model: its decision function, the risks of its last class, or its predictions."""
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

    O(m r²) time once; for each set O(m r h) for its h basis items, and one linear training for each alpha.

    Shapes: alphas (n,); returns (total, outputs, n).
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


# Query k fold ---------------------------------------------------------------------------------------------------------
#
# QueryKFold: folds that never split a query.


class QueryKFold(GroupKFold):
    """K-fold cross-validation that never splits a query; takes `qid` by metadata routing.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    shuffle : bool, default=False
        Whether queries are assigned to folds at random rather than by size.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from kernelrank import QueryKFold, RankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=12, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(RankRLS(), {"alpha": [0.1, 10.0]}, cv=QueryKFold(3)).fit(X, y, qid=qid)
    >>> bool(search.best_score_ > 0.5)
    True
    """

    __metadata_request__split: ClassVar = {"groups": "qid"}

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Yield the train and test items of each fold.

        Parameters
        ----------
        X : array-like
        y : ignored
        groups : sequence, shape (m,)
            The query of each item: any hashable labels in any order.

        Yields
        ------
        train, test : ndarray of int
        """
        if groups is None:
            raise InvalidInputError(
                "QueryKFold needs the queries: pass groups=qid to split, or qid=... to a search with metadata "
                "routing on"
            )
        n_items = X.shape[0] if hasattr(X, "shape") else len(X)
        yield from super().split(X, y, Queries.from_labels(groups, n_items).codes)


# Item folds -----------------------------------------------------------------------------------------------------------
#
# Folds of items, stratified by score.


def deal_items(y: Float, n_folds: int, random: np.random.RandomState) -> list[Index]:
    """Assign items to folds, stratified by score or class.

    Shapes: y (m,).
    """
    if not 2 <= n_folds <= len(y):
        raise InvalidInputError(f"Expected from 2 to {len(y)} folds, the number of items; got {n_folds}.")
    order = np.lexsort((random.permutation(len(y)), y))
    fold_of = np.empty(len(y), dtype=np.int64)
    for start in range(0, len(y), n_folds):
        block = order[start : start + n_folds]
        fold_of[block] = random.permutation(n_folds)[: len(block)]
    return [np.flatnonzero(fold_of == fold) for fold in range(n_folds)]
