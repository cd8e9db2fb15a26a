"""Holding out with any estimator: by the exact shortcuts where there are any, by refitting elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index, is_structured, one_pool
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import verbosely
from kernelrank.base.sklearn_private import num_samples
from kernelrank.base.validation import check_pairs, check_weight, scores_or_times
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RankSVM, RLSClassifier
from kernelrank.estimators.base import check_alphas
from kernelrank.exact_cv import DifferingPairs, GivenPairs, PairHoldout
from kernelrank.model_selection.nested_search import NestedSearch, can_be_nested
from kernelrank.model_selection.refits import HoldoutData, check_classes, refit_on_map, refit_scores


def takes_shortcut(estimator: Any) -> bool:
    """Return whether hold-outs of this estimator need no refitting: RLS, RLSClassifier, RankRLS."""
    return type(estimator) in (RLS, RLSClassifier, RankRLS)


@one_pool
def holdout(
    estimator: Any,
    X: Any,
    y: Any,
    held_out: Sequence[Any],
    *,
    qid: Any = None,
    alphas: Any = None,
    sample_weight: Any = None,
    held_out_basis: str = "remove",
    event: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[Float]:
    """Predict held-out scores: each set of items is scored by a model trained without it.

    Parameters
    ----------
    estimator : estimator
        `RLS`, `RLSClassifier` and `RankRLS` take the shortcut, whatever their kernel: the first two for all sets;
        RankRLS, with ties included, for all sets of one ranking or of queries with ``query_weight="items"``; with any
        cost for whole queries. Other sets and every other scikit-learn estimator are refitted. Held-out items are
        removed from a basis.
    X : array-like, data frame or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
    y : array-like, shape (m,) or (m, outputs)
    held_out : list of lists of int, or of masks of m booleans
        The sets; they may overlap.
    qid : sequence, shape (m,), optional
        The query of each item.
    alphas : array-like of float, optional
        Values of alpha, all from one decomposition; that of the estimator unless given.
    sample_weight : array-like, shape (m,), optional
        Item weights.
    held_out_basis : {"remove", "keep"}, default="remove"
        Whether held-out items are removed from the basis. "remove" gives the scores of new items. "keep", the
        approximation of [CT04]_, is for comparison: it is too pessimistic if alpha is small. `RLS`
        and `RankRLS` only; without a basis both are the same.
    n_jobs : int, optional
        The number of parallel processes for refits.
    event : array-like of bool, shape (m,), optional
        Whether the event happened at the time in y, as in `RankRLS.fit`. Strata, as queries, have a shortcut;
        other sets are refitted.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    list of ndarray, each of shape (items of the set[, outputs][, alphas])
        What ``clone(estimator).fit(rest).predict(held out)`` returns; for a classifier its decision function, with one
        output per class if there are more than two. Scores are zero if the rest has nothing to compare.

    Notes
    -----
    One decomposition, O(m³) time for a kernel or O(m n² + n³) for n features, then O(u² s + u³) for a set of u items
    and each alpha, s being the smaller of m and n. Memory three m × m, or two m × n arrays. With a
    basis of r items O(m r² + r³) time, and then O((u + h)² r) for a set of u items with h basis items. The model is
    refitted for large sets, if that is cheaper.

    References
    ----------
    .. [CT04] Cawley and Talbot (2004). Fast exact leave-one-out cross-validation of sparse least-squares support vector
       machines. Neural Networks 17(10).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, holdout
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> [scores.round(2) for scores in holdout(RankRLS(), X, y, [[0, 3], [1]])]
    [array([0.5, 2. ]), array([1.87])]
    """
    if verbose:
        return verbosely(holdout, locals())
    sets, y = ItemSets.of(held_out, num_samples(X)), scores_or_times(y, event)
    scores = _scores(estimator, X, y, sets, qid, sample_weight, alphas, held_out_basis, n_jobs)
    return [scores[start:stop] for start, stop in zip(sets.bounds[:-1], sets.bounds[1:], strict=True)]


@one_pool
def leave_one_out(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    alphas: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    held_out_basis: str = "remove",
    event: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Float:
    """Predict held-out scores: each item is scored by a model trained without it.

    Parameters
    ----------
    estimator, X, y, qid, alphas, sample_weight, held_out_basis, n_jobs, event, verbose
        As in `holdout`.
    groups : sequence, shape (m,), optional
        Items that depend on each other: leaving an item out leaves out its group.

    Returns
    -------
    ndarray, shape (m[, outputs][, alphas])

    Notes
    -----
    One decomposition, as in `holdout`, and O(m s) time for each alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RLS, leave_one_out
    >>> leave_one_out(RLS(alpha=0.1), np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 3.0])).round(2)
    array([0.99, 1.98, 2.94])
    """
    if verbose:
        return verbosely(leave_one_out, locals())
    n_items, y = num_samples(X), scores_or_times(y, event)
    sets = ItemSets.singles(n_items)
    if groups is not None:
        sets = _each_query(Queries.from_labels(groups, n_items, name="groups"), "groups", "group")
    return _in_place(sets, _scores(estimator, X, y, sets, qid, sample_weight, alphas, held_out_basis, n_jobs))


@one_pool
def leave_query_out(
    estimator: Any,
    X: Any,
    y: Any,
    qid: Any,
    *,
    alphas: Any = None,
    sample_weight: Any = None,
    held_out_basis: str = "remove",
    event: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Float:
    """Predict held-out scores: each query is scored by a model trained without it.

    Parameters
    ----------
    estimator, X, y, qid, alphas, sample_weight, held_out_basis, n_jobs, event, verbose
        As in `holdout`. `RankRLS` takes the shortcut with every cost, and so does `RLS`.

    Returns
    -------
    ndarray, shape (m[, outputs][, alphas])

    Notes
    -----
    One decomposition, as in `holdout`, then O(m q s + m q²) time for each alpha and queries of q items. With
    ``cost="relative"`` and nearly equal scores, each small alpha needs its own factorisation, because an
    eigendecomposition would lose digits: up to seven times as long for twenty alphas.

    Examples
    --------
    >>> from kernelrank import RankRLS, leave_query_out, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, random_state=0)
    >>> leave_query_out(RankRLS(), X, y, qid, alphas=[0.1, 1.0, 10.0]).shape == (len(y), 3)
    True
    """
    if verbose:
        return verbosely(leave_query_out, locals())
    if qid is None:
        raise InvalidInputError(
            "leave_query_out needs qid, the query of each item. For data without queries use leave_pair_out"
        )
    sets, y = _each_query(Queries.from_labels(qid, num_samples(X)), "qid", "query"), scores_or_times(y, event)
    return _in_place(sets, _scores(estimator, X, y, sets, qid, sample_weight, alphas, held_out_basis, n_jobs))


@one_pool
def leave_pair_out(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    pairs: Any = None,
    alphas: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    differences: bool = True,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> PairHoldout:
    """Predict the order of each pair of items by a model trained without both items.

    The accuracy is an almost unbiased estimate of the probability that the model orders a new pair correctly; with two
    classes this is its AUC.

    Parameters
    ----------
    estimator, X, y, alphas, sample_weight, n_jobs, verbose
        As in `holdout`, with one query: pairs are compared across all items.
    pairs : array-like of int, shape (pairs, 2), optional
        The pairs; unless given, all whose true scores differ, the item with the higher score first. An item of weight
        zero is in none of them, as if it were not there; given pairs with one have no true difference (NaN) and do not
        count for the accuracy.
    groups : sequence, shape (m,), optional
        Items that depend on each other: leaving a pair out leaves out both of its groups.
    differences : bool, default=True
        Whether to keep the pairs and their differences, or only the accuracy.

    Returns
    -------
    PairHoldout

    Notes
    -----
    All pairs: one decomposition, then O(m² s) time for each alpha, s being m, or the number of features of a linear
    kernel if that is smaller, and O(m²) for each output. Without differences, only the decomposition of a kernel stores
    m × m numbers. With two classes only positive × negative pairs are held out. With a basis, s is its size, and
    held-out basis items are removed. RankRLS with ties left out, another cost or unequal item weights is solved pair by
    pair.

    A difference of at most 1e-10 times the true one is a tie: it is what rounding leaves of equal scores.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, leave_pair_out
    >>> X, y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> held_out = leave_pair_out(RankRLS(alpha=0.1), X, y)
    >>> held_out.first, held_out.second, held_out.accuracy
    (array([2, 2, 3, 3]), array([0, 1, 0, 1]), 1.0)
    """
    if verbose:
        return verbosely(leave_pair_out, locals())
    if is_structured(y):
        raise InvalidInputError(
            "Expected scores in leave_pair_out; got times with events. Hold out folds of items with holdout, or strata "
            "with leave_query_out."
        )
    chosen = None if pairs is None else check_pairs(pairs, num_samples(X))
    if chosen is not None and len(chosen) == 0:
        raise InvalidInputError("pairs is empty: nothing to hold out")
    values = None if alphas is None else np.array(check_alphas(alphas))
    held = held_from(estimator, X, y, sample_weight=sample_weight, nested=values is None)
    options = {"values": values, "sample_weight": sample_weight, "differences": differences, "n_jobs": n_jobs}
    return pairs_held_out(held, estimator, X, y, chosen, groups, **options)


def held_from(
    estimator: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, nested: bool = True, **options: Any
) -> HoldoutData | NestedSearch | None:
    """Return the data of an estimator with a shortcut, or of a search that may be nested; None for any other one."""
    if takes_shortcut(estimator):
        return HoldoutData(estimator, X, y, qid, sample_weight, **options)
    if nested and can_be_nested(estimator):
        return NestedSearch(estimator, X, y, qid, sample_weight)
    return None


def pairs_held_out(
    held: HoldoutData | NestedSearch | None,
    estimator: Any,
    X: Any,
    y: Any,
    pairs: Index | None,
    groups: Any,
    *,
    values: Float | None = None,
    sample_weight: Any = None,
    differences: bool = True,
    n_jobs: int | None = None,
) -> PairHoldout:
    """Compute what `leave_pair_out` returns, from data that may be prepared already; `values` are the alphas."""
    if held is None:
        truth = check_classes(estimator, y)
        one_output = truth.ndim == 1
        truth = truth.reshape(len(truth), -1)
        weight = check_weight(sample_weight, len(truth))
        if weight is not None:
            truth = np.where(weight[:, None] > 0, truth, np.nan)  # pairs of such items are left out
    else:
        truth, one_output = held.truth, held.one_output
    labels = None if groups is None else Queries.from_labels(groups, len(truth), name="groups")
    if isinstance(held, HoldoutData) and (labels is None or len(labels) == len(truth)):
        found = held.pairs(pairs, _alphas(estimator, values), differences=differences)
        return _squeeze_pairs(found, one_output=one_output, one_alpha=values is None)
    listed = DifferingPairs.of(truth) if pairs is None else GivenPairs(pairs, len(truth))
    first, second = listed.items()
    difference = None
    if isinstance(held, NestedSearch) and (labels is None or len(labels) == len(truth)):
        difference = held.differences(listed, n_jobs=n_jobs)
    if difference is None:
        sets, place_first, place_second = listed.sets(len(truth), labels)
        if isinstance(held, HoldoutData):
            scores = held.scores(sets, _alphas(estimator, values))
        elif held is not None:
            scores = held.scores(sets, n_jobs=n_jobs)
        else:
            scores = refit_scores(estimator, X, np.asarray(y), sets, sample_weight=weight, alphas=values, n_jobs=n_jobs)
        difference = scores[place_first] - scores[place_second]
    found = PairHoldout.of(first, second, difference, truth[first] - truth[second], differences=differences)
    return _squeeze_pairs(found, one_output=one_output, one_alpha=values is None)


def _scores(
    estimator: Any,
    X: Any,
    y: Any,
    sets: ItemSets,
    qid: Any,
    sample_weight: Any,
    alphas: Any,
    held_out_basis: str,
    n_jobs: int | None,
) -> Float:
    """Return the scores of all sets, shape (total[, outputs][, alphas])."""
    values = None if alphas is None else np.array(check_alphas(alphas))
    nested, basis = values is None and held_out_basis == "remove", {"held_out_basis": held_out_basis}
    held = held_from(estimator, X, y, qid=qid, sample_weight=sample_weight, nested=nested, **basis)
    if isinstance(held, HoldoutData):
        scores, one_output = held.scores(sets, _alphas(estimator, values)), held.one_output
    elif held is not None:
        scores, one_output = held.scores(sets, n_jobs=n_jobs), held.one_output
    else:
        if held_out_basis != "remove":
            raise InvalidInputError(
                f"held_out_basis={held_out_basis!r} is for RLS, RLSClassifier and RankRLS; "
                f"{type(estimator).__name__} is refitted without the held-out items. Leave it out"
            )
        labels = np.asarray(y)
        if labels.ndim == 0 or len(labels) != num_samples(X):
            entries = "no entries" if labels.ndim == 0 else f"{len(labels)} entries"
            raise InvalidInputError(f"y has {entries}, but X has {num_samples(X)} items")
        if not is_structured(labels):
            check_classes(estimator, labels)
        codes = None if qid is None else Queries.from_labels(qid, len(labels)).codes
        weight, found = check_weight(sample_weight, len(labels)), None
        if type(estimator) is RankSVM and estimator.basis is not None:
            found = refit_on_map(estimator, X, labels, sets, codes, weight, _alphas(estimator, values))
        if found is None:
            options: dict[str, Any] = {"sample_weight": weight, "alphas": values, "n_jobs": n_jobs}
            found = refit_scores(estimator, X, labels, sets, qid=codes, **options)
        scores, one_output = found, labels.ndim == 1
    if values is None:
        scores = scores[..., 0]
    return scores[:, 0] if one_output else scores


def _alphas(estimator: Any, values: Float | None) -> Float:
    return np.array([float(estimator.alpha)]) if values is None else values


def _each_query(queries: Queries, name: str, noun: str) -> ItemSets:
    if len(queries) < 2:
        raise InvalidInputError(f"{name} has only one {noun}: nothing would be left to train on")
    return ItemSets.of_queries(queries)


def _in_place(sets: ItemSets, scores: Float) -> Float:
    """Put the scores of sets that partition the items into the order of the items."""
    ordered = np.empty_like(scores)
    ordered[sets.items] = scores
    return ordered


def _squeeze_pairs(found: PairHoldout, *, one_output: bool, one_alpha: bool) -> PairHoldout:
    """Drop the axes that were not requested."""
    place: tuple[Any, ...] = (0 if one_output else slice(None), 0 if one_alpha else slice(None))
    accuracy = np.asarray(found.accuracy)[place]
    return PairHoldout(
        found.first,
        found.second,
        found.difference[(slice(None), *place)],
        found.truth[:, 0] if one_output else found.truth,
        float(accuracy) if accuracy.ndim == 0 else accuracy,
        found.n_pairs,
    )
