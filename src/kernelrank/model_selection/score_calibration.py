"""The probability that one item is better than another, for rankers trained on scores: calibrated on held-out pairs."""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_scores
from kernelrank.comparisons.scored import list_score_pairs
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.posterior import ScorePosterior
from kernelrank.model_selection.holdout import leave_pair_out, leave_query_out
from kernelrank.model_selection.search import AlphaSearch

__all__ = ["calibrate_comparisons"]

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
