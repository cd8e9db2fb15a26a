"""The report of an estimated AUC: the number with its interval, the curve, and whether chance could do as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelrank.argument_types import Labels
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection import AUCEstimate, PermutationTest, TournamentROC
from kernelrank.report.contributions import Contributions, has_contributions
from kernelrank.report.environment import parameters_of, versions
from kernelrank.report.influence import Influence
from kernelrank.report.model_description import describe_kernel
from kernelrank.report.page import Page, render
from kernelrank.report.picture import Picture
from kernelrank.report.pictures import null_picture, roc_picture
from kernelrank.report.roc import ROCDisplay

__all__ = ["auc_report"]

N_HARDEST = 5
FEW_ITEMS = 10


def auc_report(
    estimate: AUCEstimate,
    curve: TournamentROC | None = None,
    permutation: PermutationTest | None = None,
    *,
    model: BaseEstimator | None = None,
    X: Any = None,
    ids: Labels | None = None,
    feature_names: Labels | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Write an estimated AUC, its ROC curve and its permutation test on one self-contained HTML page.

    Parameters
    ----------
    estimate : AUCEstimate
        What `estimate_auc` returns.
    curve : TournamentROC, optional
        What `tournament_roc` returns.
    permutation : PermutationTest, optional
        What `permutation_test` returns.
    model : estimator, optional
        The estimator; fitted to all items, its largest weights are shown if X is given too.
    X : array-like or sparse matrix, shape (m, n_features), optional
        All items.
    ids : sequence, shape (m,), optional
        What the items are called; their row numbers, counted from 0, unless given.
    feature_names : sequence of str, optional
        Those of the columns of X.
    title, command, notes
        As in `ranking_report`.
    random_state : int or None, default=0
        Resamples items for the band of the curve.

    Returns
    -------
    Page
        The same input makes the same page.

    Notes
    -----
    O(m) time for each of a thousand resamples of the curve.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, estimate_auc, tournament_roc
    >>> from kernelrank.report import auc_report
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["well", "ill"], 15)
    >>> X = rng.standard_normal((30, 5)) + (y == "ill")[:, None]
    >>> found = estimate_auc(RankRLS(), X, y, pos_label="ill")
    >>> page = auc_report(found, tournament_roc(RankRLS(), X, y, pos_label="ill"))
    >>> "0.89" in page.html
    True
    """
    if ids is not None and curve is not None and len(ids) != len(curve.scores):
        raise InvalidInputError(f"ids has {len(ids)} entries, but the curve has {len(curve.scores)} items")
    influence = None
    if model is not None and X is not None and has_contributions(model):
        influence = Influence.of(Contributions.of(model, feature_names=feature_names, training_ids=ids), X)
    content = {
        "title": title or "AUC report",
        "estimate": estimate,
        "curve": curve,
        "roc_picture": None if curve is None else _roc(curve, random_state),
        "hardest": [] if curve is None else _hardest(curve, ids),
        "permutation": permutation,
        "null_picture": None if permutation is None else null_picture(permutation.statistic, permutation.null),
        "influence": influence,
        "learner": None if model is None else type(_learner(model)).__name__,
        "kernel": None if model is None else describe_kernel(_learner(model)),
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _warnings(estimate, permutation),
        "notes": list(notes),
        "command": command,
        "versions": versions(),
    }
    return render("auc.html.j2", content)


def _learner(model: BaseEstimator) -> BaseEstimator:
    """Return the estimator that scores, whether it is fitted or not."""
    return model[-1] if hasattr(model, "steps") else model


def _roc(curve: TournamentROC, random_state: int | None) -> Picture:
    caption = (
        "Every pair of items plays, scored by the model trained without both; an item's score is its number of wins. "
        f"The area is {curve.auc:.3f}. The band resamples items."
    )
    return roc_picture(ROCDisplay.of_tournament(curve, random_state=random_state), caption)


def _hardest(curve: TournamentROC, ids: Labels | None) -> list[tuple[Any, Any, float]]:
    """Return the items of each class that stand farthest on the side of the other: name, class, share of wins."""
    positive = np.asarray(curve.labels == curve.estimate.classes[1])
    share = curve.scores / (len(curve.scores) - 1)
    low = [item for item in np.argsort(share, kind="stable").tolist() if positive[item]][:N_HARDEST]
    high = [item for item in np.argsort(-share, kind="stable").tolist() if not positive[item]][:N_HARDEST]
    negative_name, positive_name = curve.estimate.classes
    names = [f"item {number}" for number in range(len(share))] if ids is None else list(ids)
    return [(names[i], positive_name, float(share[i])) for i in low] + [
        (names[i], negative_name, float(share[i])) for i in high
    ]


def _warnings(estimate: AUCEstimate, permutation: PermutationTest | None) -> list[str]:
    found = [text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") for text in estimate.warnings]
    fewest = min(estimate.n_positive, estimate.n_negative)
    if fewest < FEW_ITEMS:
        found.append(f"One class has {fewest} items only: whatever is estimated from so few varies widely.")
    low, high = estimate.interval
    if low <= 0.5 <= high:
        found.append("The interval holds 0.5: the items do not show that the model ranks better than chance.")
    if permutation is not None and len(permutation.null) < 100:
        found.append(
            f"With {len(permutation.null)} permutations no p-value can be below {1 / (len(permutation.null) + 1):.2g}."
        )
    return found
