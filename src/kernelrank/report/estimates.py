"""The report of an estimated AUC: the AUC with its interval, the ROC curve and the permutation test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Labels
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import AUC
from kernelrank.model_selection import AUCComparison, AUCEstimate, PermutationTest, TournamentROC
from kernelrank.report.alpha_errors import pair_standard_errors
from kernelrank.report.baselines import BestColumn
from kernelrank.report.environment import parameters_of
from kernelrank.report.explanations import Contributions, has_contributions
from kernelrank.report.forest_rows import ComparedAUCs
from kernelrank.report.influence import Influence
from kernelrank.report.model_description import alpha_curve_of, describe_kernel
from kernelrank.report.page import Page, render
from kernelrank.report.picture import Picture
from kernelrank.report.pictures import alpha_picture, null_picture, roc_picture
from kernelrank.report.roc import ROCDisplay
from kernelrank.report.writing import counted, with_commas

__all__ = ["auc_report"]

N_HARDEST = 5
FEW_ITEMS = 10
SPECIFICITIES = (0.9, 0.95)
"""Where the sensitivity is given."""

COMPARED = "In all, {} pairs of one item of each class were compared."
HELD_OUT = {
    "leave_pair_out": "by leave-pair-out cross-validation: each of the {} pairs of one item of each class was compared "
    "by a model that was trained without both items.",
    "averaged": "by cross-validation: the AUC of each fold is that of a model that was trained without the fold, and "
    f"the AUCs of the folds were averaged. {COMPARED}",
    "pooled": "by cross-validation: each fold was scored by a model that was trained without it, and the scores of all "
    f"folds were pooled. {COMPARED}",
    "balanced_leave_pair_out": "by balanced leave-pair-out cross-validation: each item was scored by a model that was "
    f"trained without it and without one item of the other class. {COMPARED}",
}
"""How each method of `estimate_auc` held out."""


def auc_report(
    estimate: AUCEstimate,
    curve: TournamentROC | None = None,
    permutation: PermutationTest | None = None,
    *,
    model: BaseEstimator | None = None,
    X: Any = None,
    comparisons: Sequence[tuple[str, str, AUCComparison]] = (),
    ids: Labels | None = None,
    feature_names: Labels | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Write the HTML report of an estimated AUC, with ROC curve and permutation test.

    Parameters
    ----------
    estimate : AUCEstimate
        What `estimate_auc` returns.
    curve : TournamentROC, optional
        What `tournament_roc` returns.
    permutation : PermutationTest, optional
        What `permutation_test` returns.
    model : estimator, optional
        The estimator; fitted to all items, its largest weights are shown if X is given too. Of a search, the hold-out
        accuracy of each alpha is shown.
    X : array-like or sparse matrix, shape (m, n_features), optional
        All items, as the model was fitted to them.
    comparisons : sequence of tuple, default=()
        The names of two models, and the result of `compare_auc` for them; each is shown as a forest plot.
    ids : sequence, shape (m,), optional
        The names of the items; their row numbers, counted from 0, unless given.
    feature_names : sequence of str, optional
        The names of the columns of X.
    title, command, notes
        As in `ranking_report`.
    random_state : int or None, default=0
        Random seed for resampled items (band of the curve, intervals of the sensitivities).

    Returns
    -------
    Page
        The same input makes the same page on the same day.

    Notes
    -----
    O(m) time for each of a few thousand resamples of the curve. The standard errors over alpha cost what
    `leave_pair_out` does for these alphas.

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
    search = None if model is None else alpha_curve_of(model)
    if search is not None and curve is not None and X is not None:
        search.errors = pair_standard_errors(model, X, curve.labels, search.alphas, curve.groups)
    content = {
        "title": title or "AUC report",
        "estimate": estimate,
        "how": _how(estimate),
        "comparisons": [ComparedAUCs.of((first, second), found) for first, second, found in comparisons],
        "curve": curve,
        "feature": None if curve is None or X is None else _best_feature_by_auc(curve, X, feature_names),
        "sensitivities": []
        if curve is None
        else [(rate, curve.sensitivity_at(rate, random_state=random_state)) for rate in SPECIFICITIES],
        "alpha_display": search,
        "alpha_picture": None if search is None else alpha_picture(search),
        "roc_picture": None if curve is None else _roc(curve, random_state),
        "hardest": [] if curve is None else _hardest(curve, ids),
        "permutation": permutation,
        "null_picture": None if permutation is None else null_picture(permutation.statistic, permutation.null),
        "influence": influence,
        "learner": None if model is None else type(_learner(model)).__name__,
        "kernel": None if model is None else describe_kernel(_learner(model)),
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _auc_warnings(estimate, permutation),
        "notes": list(notes),
        "command": command,
    }
    return render("auc.html.j2", content)


def _how(estimate: AUCEstimate) -> str:
    how = HELD_OUT.get(estimate.method, "from {} pairs of one item of each class.")
    return f"It was estimated {how.format(with_commas(estimate.n_pairs))}"


def _learner(model: BaseEstimator) -> BaseEstimator:
    """Return the estimator that scores, whether it is fitted or not."""
    return model[-1] if hasattr(model, "steps") else model


def _roc(curve: TournamentROC, random_state: int | None) -> Picture:
    noun = "items" if curve.groups is None else "groups"
    caption = (
        "ROC curve of held-out scores (tournament leave-pair-out): every two items are compared by a model that was "
        "trained without both, and the score of an item is the number of comparisons that it wins. The area under the "
        f"curve is {curve.auc:.3f}. The band shows, at each false positive rate, where "
        f"{100 * curve.interval.level:.4g}% of the curves of resampled {noun} run; the models do not vary in it."
    )
    return roc_picture(ROCDisplay.of_tournament(curve, random_state=random_state), caption)


def _best_feature_by_auc(curve: TournamentROC, X: object, names: Labels | None) -> BestColumn | None:
    """Return the single feature with the highest AUC on all items."""
    positive = (curve.labels == curve.estimate.classes[1]).astype(np.float64)
    return BestColumn.of(X, lambda scores: float(AUC()(positive, scores).mean), names)


def _hardest(curve: TournamentROC, ids: Labels | None) -> list[tuple[Any, Any, float]]:
    """Return the items of each class that are most often ranked with the other class: name, class, share of wins."""
    positive = np.asarray(curve.labels == curve.estimate.classes[1])
    share = curve.scores / (len(curve.scores) - 1)
    low = [item for item in np.argsort(share, kind="stable").tolist() if positive[item]][:N_HARDEST]
    high = [item for item in np.argsort(-share, kind="stable").tolist() if not positive[item]][:N_HARDEST]
    negative_name, positive_name = curve.estimate.classes
    names = [f"item {number}" for number in range(len(share))] if ids is None else list(ids)
    return [(names[i], positive_name, float(share[i])) for i in low] + [
        (names[i], negative_name, float(share[i])) for i in high
    ]


def _auc_warnings(estimate: AUCEstimate, permutation: PermutationTest | None) -> list[str]:
    found = [text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") for text in estimate.warnings]
    fewest = min(estimate.n_positive, estimate.n_negative)
    if fewest < FEW_ITEMS:
        found.append(f"One class has only {counted(fewest, 'item')}: estimates from so few items vary widely.")
    low, high = estimate.interval
    if low <= 0.5 <= high:
        found.append(
            "The interval includes 0.5: these items do not show that the model orders new ones better than chance."
        )
    if permutation is not None and len(permutation.null) < 100:
        found.append(
            f"With {len(permutation.null)} permutations no p-value can be below {1 / (len(permutation.null) + 1):.2g}."
        )
    return found
