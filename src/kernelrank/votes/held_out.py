"""Votes held out: how surprising they are to a leaderboard of other votes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries, label_vector
from kernelrank.base.validation import check_ties
from kernelrank.errors import UnconnectedVotesWarning
from kernelrank.votes.likelihood import DavidsonVotes
from kernelrank.votes.votes import covariate_values, time_values

if TYPE_CHECKING:
    from kernelrank.votes.leaderboard import RankedItems


def held_out_losses(
    board: RankedItems,
    winners: Any,
    losers: Any,
    tie: Any,
    features: Any,
    groups: Any,
    n_folds: int,
    about: Mapping[str, Any],
) -> Float:
    """Fit to the votes of all folds but one at a time, and return the losses of the votes of that one."""
    first, second = label_vector(winners, "winners"), label_vector(losers, "losers")
    n = len(first)
    given: dict[str, Any] = {name: values for name, values in about.items() if values is not None}
    if isinstance(given.get("judge_kind"), Mapping):
        kind = given["judge_kind"]
        given["judge_kind"] = [kind.get(one, "human") for one in given["judge"]]
    if "covariates" in given:
        given["covariates"] = covariate_values(given["covariates"], n)[1]
    if "time" in given:
        given["time"] = time_values(given["time"], n)[0]
    given["tie"] = np.zeros(n, dtype=np.bool_) if tie is None else check_ties(tie, n)
    given |= {name: label_vector(given[name], name) for name in ("judge", "category", "judge_kind") if name in given}
    own = np.arange(n) if groups is None else Queries.from_labels(groups, n, name="groups").codes
    fold = (np.random.default_rng(board.random_state).permutation(int(own.max()) + 1) % n_folds)[own]
    found = np.full(n, np.nan)
    for number in range(n_folds):
        rows, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnconnectedVotesWarning)
            fitted: Any = clone(board).set_params(anchor=None)
            fitted.fit(first[others], second[others], features=features, **_part(given, others))
        found[rows] = _losses(fitted, first[rows], second[rows], _part(given, rows))
    return found


def _part(given: Mapping[str, Any], rows: Index) -> dict[str, Any]:
    return {name: np.asarray(values)[rows] for name, values in given.items()}


def _losses(board: Any, first: NDArray[Any], second: NDArray[Any], given: dict[str, Any]) -> Float:
    """Return minus the logarithms of the probabilities of votes; an item without a vote wins as often as not."""
    n, m = len(first), len(board.items_)
    places = np.array([[board._numbers.get(item, m) for item in items.tolist()] for items in (first, second)])
    d, variance, contexts = np.zeros(n), np.zeros(n), _contexts(board, given, n)
    for context in np.unique(contexts, axis=0):
        rows = np.flatnonzero((contexts == context).all(axis=1) & (places < m).all(axis=0))
        for board_number, sign in zip(context, (1.0, 1.0, -1.0), strict=True):
            if board_number >= 0:
                posterior = board.posterior if board.board_scores_ is None else board._board(board_number)
                difference, std = posterior.difference(*places[:, rows])
                d[rows] += sign * difference
                variance[rows] = np.maximum(variance[rows], std**2)
    if board.covariate_effects_ is not None:
        C = given["covariates"]
        d += C @ board.covariate_effects_
        variance += ((C @ board.covariate_covariance_) * C).sum(axis=1)
    model = board.posterior.estimate.model
    if isinstance(model, DavidsonVotes):
        p, p_tie = model.outcomes(d, variance).T[[0, 2]]
    else:
        p = model.probability(d, variance)
        p_tie = np.sqrt(p * (1.0 - p))
    found = -np.log(np.maximum(np.where(given["tie"], p_tie, p), 1e-300))
    if board.machines_ is not None:
        found[given["judge_kind"] == "machine"] = np.nan
    return np.where(first == second, np.nan, found)


def _contexts(board: Any, given: dict[str, Any], n: int) -> Index:
    """Return boards whose differences make that of each vote, shape (n, 3), -1 for none: two are added, one taken away.

    Boards of categories are of the present; so a vote of another time has the board of its category, and what scores
    have changed since then.
    """
    found = np.full((n, 3), -1)
    n_times = 1 if board.times_ is None else len(board.times_)
    found[:, 0] = n_times - 1
    if board.times_ is not None:
        found[:, 0] = np.argmin(np.abs(given["time"][:, None] - board.times_), axis=1)
    if board.categories_ is not None:
        number = {label: place for place, label in enumerate(board.categories_.tolist())}
        category = np.array([number.get(label, -1) for label in given["category"].tolist()])
        found[category >= 0, 1] = n_times + category[category >= 0]
        found[category >= 0, 2] = n_times - 1
    return found
