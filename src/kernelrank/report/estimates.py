"""The report of an estimated AUC: the AUC with its interval, the ROC curve and the permutation test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Float, Labels
from kernelrank.base.labels import Lifetimes
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import AUC, DyadicConcordance, Interval, KaplanMeier, concordance, log_rank_pvalue
from kernelrank.model_selection import (
    AUCComparison,
    AUCEstimate,
    ConcordanceEstimate,
    PermutationTest,
    RiskCoefficients,
    TournamentROC,
)
from kernelrank.report.comparison import ComparedAUCs, Forest, ForestDisplay
from kernelrank.report.displays import (
    SelectionDisplay,
    alpha_curve_of,
    alpha_picture,
    null_picture,
    pair_standard_errors,
)
from kernelrank.report.explanations import Contributions, Influence, has_contributions
from kernelrank.report.ranking import BestColumn, describe_kernel
from kernelrank.report.roc import ROCDisplay, roc_picture
from kernelrank.report.writing import (
    Page,
    Picture,
    counted,
    drawing,
    parameters_of,
    render,
    with_commas,
    with_decimals,
    with_digits,
)
from kernelrank.selection import SelectionCurve, SelectionStability
from kernelrank.votes import Leaderboard

HELD_OUT = {
    "leave_pair_out": "by leave-pair-out cross-validation: each of the {} pairs of one item of each class was compared "
    "by a model that was trained without both items.",
    "averaged": "by cross-validation: the AUC of each fold is that of a model that was trained without the fold, and "
    "the AUCs of the folds were averaged. In all, {} pairs of one item of each class were compared.",
    "pooled": "by cross-validation: each fold was scored by a model that was trained without it, and the scores of all "
    "folds were pooled. In all, {} pairs of one item of each class were compared.",
    "balanced_leave_pair_out": "by balanced leave-pair-out cross-validation: each item was scored by a model that was "
    "trained without it and without one item of the other class. In all, {} pairs of one item of each class were "
    "compared.",
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
        else [(rate, curve.sensitivity_at(rate, random_state=random_state)) for rate in (0.9, 0.95)],
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
    low = [item for item in np.argsort(share, kind="stable").tolist() if positive[item]][:5]
    high = [item for item in np.argsort(-share, kind="stable").tolist() if not positive[item]][:5]
    negative_name, positive_name = curve.estimate.classes
    names = [f"item {number}" for number in range(len(share))] if ids is None else list(ids)
    return [(names[i], positive_name, float(share[i])) for i in low] + [
        (names[i], negative_name, float(share[i])) for i in high
    ]


def _auc_warnings(estimate: AUCEstimate, permutation: PermutationTest | None) -> list[str]:
    found = [text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") for text in estimate.warnings]
    fewest = min(estimate.n_positive, estimate.n_negative)
    if fewest < 10:
        found.append(f"One class has only {counted(fewest, 'item')}: estimates from so few items vary widely.")
    low, high = estimate.interval
    if low <= 0.5 <= high:
        found.append(
            "The interval includes 0.5: these items do not show that the model orders new ones better than chance."
        )
    return found + _warn_of_few_permutations(permutation)


def _warn_of_few_permutations(permutation: PermutationTest | None) -> list[str]:
    if permutation is None or len(permutation.null) >= 100:
        return []
    n = len(permutation.null)
    return [f"With {n} permutations no p-value can be below {1 / (n + 1):.2g}."]


# Concordance report ---------------------------------------------------------------------------------------------------
#
# The report of a concordance: the index with its interval, and survival curves of held-out scores.


def concordance_report(
    estimate: ConcordanceEstimate,
    *,
    coefficients: RiskCoefficients | None = None,
    model: BaseEstimator | None = None,
    X: Any = None,
    feature_names: Labels | None = None,
    time_name: str = "time",
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of an estimated concordance, with survival curves of held-out scores.

    Parameters
    ----------
    estimate : ConcordanceEstimate
        What `estimate_concordance` returns.
    coefficients : RiskCoefficients, optional
        What `kernelrank.model_selection.risk_coefficients` returns; the 20 strongest are listed.
    model : estimator, optional
        Its parameters are listed.
    X : array-like or sparse matrix, shape (m, n_features), optional
        All items; with them, the best single feature stands beside the model. Leave it out if the estimate has strata
        or weights, which single features are measured without.
    feature_names : sequence of str, optional
        Those of the columns of X.
    time_name : str, default="time"
        What the times are called.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page

    Examples
    --------
    >>> from kernelrank import RankRLS, estimate_concordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> found = estimate_concordance(RankRLS(), X, np.exp(X[:, 0]), event=rng.random(60) < 0.7)
    >>> "Kaplan" in concordance_report(found).html
    True
    """
    third, lifetimes = estimate.thirds(), estimate.lifetimes
    curves = []
    for number, label in enumerate(THIRDS):
        part = third == number
        median = KaplanMeier.of(lifetimes.time[part], lifetimes.event[part]).median()
        curves.append(
            (label, int(part.sum()), int(lifetimes.event[part].sum()), median if np.isfinite(median) else None)
        )
    found = []
    low, high = estimate.interval
    if low <= 0.5 <= high:
        found.append(
            "The interval includes 0.5: these items do not show that the model ranks new ones better than chance."
        )
    if estimate.result.n_events < 20:
        found.append(f"There are only {estimate.result.n_events} events: estimates from so few vary widely.")
    content = {
        "title": title or "Concordance report",
        "estimate": estimate,
        "n_folds": int(estimate.folds.max()) + 1,
        "coefficients": coefficients,
        "curves": curves,
        "feature": None if X is None else _best_feature_by_concordance(estimate, X, feature_names),
        "pvalue": log_rank_pvalue(lifetimes.time, lifetimes.event, third),
        "survival_picture": survival_picture(lifetimes, third, time_name),
        "time_name": time_name,
        "parameters": [] if model is None else parameters_of(model),
        "warnings": found,
        "notes": list(notes),
        "command": command,
    }
    return render("concordance.html.j2", content)


def _best_feature_by_concordance(estimate: ConcordanceEstimate, X: object, names: Labels | None) -> BestColumn | None:
    """Return the single feature with the highest concordance over the pairs inside folds."""
    time, event = estimate.lifetimes.time, estimate.lifetimes.event
    return BestColumn.of(X, lambda scores: concordance(time, scores, event=event, qid=estimate.folds), names)


THIRDS = ("lowest third", "middle third", "highest third")
STYLES = ("-", "--", "-")


def survival_picture(lifetimes: Lifetimes, third: np.ndarray, time_name: str) -> Picture:
    """Draw the Kaplan–Meier curve of each third of the scores.

    Shapes: third (m,).
    """
    with drawing("survival") as canvas:
        told = []
        for number, (label, style, colour) in enumerate(zip(THIRDS, STYLES, ("C1", "0.5", "C0"), strict=True)):
            part = third == number
            curve = KaplanMeier.of(lifetimes.time[part], lifetimes.event[part])
            times, shares = np.append(0.0, curve.time), np.append(1.0, curve.survival)
            canvas.ax.step(times, shares, style, where="post", color=colour, label=label)
            told.append(f"the {label} ends at {with_decimals(shares[-1])}, {_median(curve)}")
        canvas.ax.set(xlabel=time_name, ylabel="share without the event", ylim=(0.0, 1.02), xlim=(0.0, None))
        canvas.ax.legend(title="held-out score")
        alt = f"Step plot of the share without the event over {time_name}, for thirds of the scores: {'; '.join(told)}."
        caption = (
            "Kaplan–Meier curves of the thirds of the held-out scores. Every item was scored by a model that was "
            "trained without its fold, and thirds are taken inside each fold."
        )
        return canvas.picture(alt, caption)


def _median(curve: KaplanMeier) -> str:
    median = curve.median()
    return "with no median time" if np.isinf(median) else f"with a median time of {with_digits(median)}"


# Selection report -----------------------------------------------------------------------------------------------------
#
# The report of a feature selection: the selected features, their accuracy on held-out items, and the stability.


def selection_report(
    curve: SelectionCurve,
    stability: SelectionStability | None = None,
    permutation: PermutationTest | None = None,
    *,
    model: BaseEstimator | None = None,
    feature_names: Labels | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of a feature selection.

    Parameters
    ----------
    curve : SelectionCurve
        What `selection_curve` returns.
    stability : SelectionStability, optional
        What `selection_stability` returns.
    permutation : PermutationTest, optional
        What `permutation_test` returns.
    model : GreedyRankRLS or GreedyRLS, optional
        Fitted to all items; its weights are shown.
    feature_names : sequence of str, optional
        The names of the columns, if `curve` has only their numbers.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRankRLS, selection_curve
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> y = X[:, 2] > 0
    >>> page = selection_report(selection_curve(GreedyRankRLS(2), X, y.astype(int), n_repeats=1, random_state=0))
    >>> "repeated in every training set" in page.html
    True
    """
    names = None if feature_names is None else [str(name) for name in feature_names]
    weights = {} if model is None else dict(zip(model.selected_.tolist(), model.coef_[model.selected_], strict=True))
    frequency = {} if stability is None else dict(zip(stability.features, stability.frequency, strict=True))
    rows = [
        {
            "number": number + 1,
            "name": _named(feature, names),
            "weight": weights.get(feature),
            "inside": curve.inside[number],
            "nested": curve.nested[number],
            "low": curve.low[number],
            "high": curve.high[number],
            "frequency": frequency.get(feature, 0.0),
        }
        for number, feature in enumerate(curve.features)
    ]
    content = {
        "title": title or "Feature selection",
        "curve": curve,
        "rows": rows,
        "has_weights": len(weights) > 0,
        "curve_picture": _curve_picture(curve),
        "stability": stability,
        "frequent": [] if stability is None else _frequent(stability, names),
        "thresholds": []
        if stability is None
        else [(share, len(stability.stable(share)), stability.expected_false(share)) for share in (0.9, 0.75, 0.6)],
        "permutation": permutation,
        "null_picture": None if permutation is None else null_picture(permutation.statistic, permutation.null),
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _selection_warnings(curve, permutation),
        "notes": list(notes),
        "command": command,
    }
    return render("selection.html.j2", content)


def _named(feature: int | str, names: list[str] | None) -> str:
    if names is None or not isinstance(feature, int):
        return f"column {feature}" if isinstance(feature, int) else str(feature)
    if not 0 <= feature < len(names):
        raise InvalidInputError(f"Expected a name for column {feature}; got {len(names)} feature_names.")
    return names[feature]


def _frequent(stability: SelectionStability, names: list[str] | None) -> list[tuple[str, float]]:
    shown = zip(stability.features[:30], stability.frequency[:30].tolist(), strict=True)
    return [(_named(feature, names), share) for feature, share in shown]


def _curve_picture(curve: SelectionCurve) -> Picture:
    with drawing("selection") as canvas:
        SelectionDisplay(curve).plot(ax=canvas.ax)
        # Above the picture, where it hides nothing.
        canvas.ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1, fontsize="small", borderaxespad=0)
        at = curve.best - 1
        alt = (
            f"The {curve.measure} over the number of features, from 1 to {len(curve.nested)}. Selected anew in each "
            f"training set it is highest with {counted(curve.best, 'feature')}, {with_decimals(curve.nested[at])}, and "
            f"ends at {with_decimals(curve.nested[-1])}; where the features were selected it ends at "
            f"{with_decimals(curve.inside[-1])}."
        )
        caption = (
            "The gap between the two lines shows how optimistic the data used for selection are. The band shows the "
            f"{100 * curve.level:.4g}% intervals; each {curve.interval_method}."
        )
        return canvas.picture(alt, caption)


def _selection_warnings(curve: SelectionCurve, permutation: PermutationTest | None) -> list[str]:
    found = [
        "The interval includes 0.5 even for the best number of features: these items do not show that the "
        "selected features order new ones better than chance."
    ]
    return (found if curve.low[curve.best - 1] <= 0.5 else []) + _warn_of_few_permutations(permutation)


# Dyads report ---------------------------------------------------------------------------------------------------------
#
# The report of dyads: a comparison of the four settings.

SETTINGS = {
    "cell": ("new score", "the score alone: row and column are known by other scores"),
    "row": ("new row", "the object of the row, with all its scores"),
    "column": ("new column", "the object of the column, with all its scores"),
    "both": ("both new", "both objects, with all their scores"),
}
"""The name of each setting, and what is held out."""


def dyads_report(
    concordances: Mapping[str, DyadicConcordance],
    alphas: Mapping[str, Mapping[str, float]] | None = None,
    *,
    model: BaseEstimator | None = None,
    shape: tuple[int, int] | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of held-out concordances in the four settings of dyads.

    Parameters
    ----------
    concordances : mapping from {"cell", "row", "column", "both"} to DyadicConcordance
        What `dyadic_concordance` returns for the held-out scores of `dyadic_holdout`.
    alphas : mapping from setting to mapping from str to float, optional
        The regularisation strengths of each setting, by name.
    model : estimator, optional
        Its parameters are listed.
    shape : tuple of int, optional
        The number of rows and of columns.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLS, dyadic_holdout
    >>> from kernelrank.metrics import dyadic_concordance
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((8, 2)), rng.standard_normal((6, 2))
    >>> Y = drugs @ targets.T + rng.standard_normal((8, 6))
    >>> held_out = dyadic_holdout(KroneckerRLS(), drugs, targets, Y, setting=["cell", "both"])
    >>> page = dyads_report({name: dyadic_concordance(Y, scores) for name, scores in held_out.items()})
    >>> "both new" in page.html
    True
    """
    unknown = [setting for setting in concordances if setting not in SETTINGS]
    if unknown or not concordances:
        raise InvalidInputError(
            f"Expected concordances of the settings {', '.join(SETTINGS)}; got {', '.join(unknown) or 'none'}."
        )
    settings = [setting for setting in SETTINGS if setting in concordances]
    some = concordances[settings[0]]
    strengths = {} if alphas is None else alphas
    rows = [
        {
            "name": SETTINGS[name][0],
            "option": name,
            "what": SETTINGS[name][1],
            "value": concordances[name].value,
            "interval": concordances[name].interval,
            "alpha": ", ".join(with_digits(value, 3) for value in strengths.get(name, {}).values()),
        }
        for name in settings
    ]
    content = {
        "title": title or "Dyads: the four settings",
        "rows": rows,
        "picture": _picture([(SETTINGS[name][0], concordances[name]) for name in settings]),
        "has_alphas": len(strengths) > 0,
        "some": some,
        "each": "" if some.per == "overall" else f" of each {some.per}",
        "shape": shape,
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _dyads_warnings({SETTINGS[name][0]: concordances[name] for name in settings}),
        "notes": list(notes),
        "command": command,
    }
    return render("dyads.html.j2", content)


def _picture(named: Sequence[tuple[str, DyadicConcordance]]) -> Picture:
    with drawing("settings", height=0.9 + 0.4 * len(named)) as canvas:
        ForestDisplay(named).plot(ax=canvas.ax)
        values = ", ".join(f"{name} {with_decimals(found.value)}" for name, found in named)
        caption = (
            "Squares are concordances, lines their intervals, and the dotted line is chance. The intervals allow for "
            f"dyads that share an object: {named[0][1].interval.method}."
        )
        return canvas.picture(f"The concordance of each setting with its interval: {values}.", caption)


def _dyads_warnings(concordances: Mapping[str, DyadicConcordance]) -> list[str]:
    return [
        f"The interval of “{name}” includes 0.5, from {with_decimals(found.interval.low)} to "
        f"{with_decimals(found.interval.high)}: these scores do not show that it orders better than chance."
        for name, found in concordances.items()
        if found.interval.low <= 0.5
    ]


# Leaderboard report ---------------------------------------------------------------------------------------------------
#
# The report of a leaderboard: scores with intervals, separable items, judges, and the next votes.

MOST_ITEMS, MOST_NEIGHBOURS, MOST_IN_MATRIX, MOST_JUDGES = 100, 30, 12, 10
"""How many rows tables have at most, and how many items the matrix of probabilities."""


def leaderboard_report(
    board: Leaderboard,
    *,
    n_pairs: int = 5,
    power: float = 0.8,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    plain: Leaderboard | None = None,
) -> Page:
    """Write the HTML report of a leaderboard.

    Parameters
    ----------
    board : Leaderboard
        Fitted.
    n_pairs : int, default=5
        How many pairs to ask next.
    power : float, default=0.8
        As in `Leaderboard.votes_needed`.
    title, command, notes
        As in `ranking_report`.
    plain : Leaderboard, optional
        A board of the same votes without covariates, whose ranks are shown beside.

    Returns
    -------
    Page
        The same input makes the same page on the same day. The first 100 items are shown.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.

    Examples
    --------
    >>> from kernelrank import Leaderboard
    >>> page = leaderboard_report(Leaderboard().fit(["tea", "tea", "mate"], ["mate", "milk", "milk"]))
    >>> "tea" in page.html
    True
    """
    table = board.table()
    names = [str(item) for item in table["item"]]
    neighbours = neighbours_of(board, power)
    judges = [] if board.judges_ is None else rows_of(board.judges())
    content = {
        "title": title or "Leaderboard",
        "board": board,
        "n_items": len(names),
        "forest": _forest(board, table),
        "size": 0 if board.scale == "elo" else 2,
        "table": rows_of(table)[:MOST_ITEMS],
        **_contexts(board, table, plain),
        "n_groups": len(board.separable_groups()),
        "neighbours": neighbours[:MOST_NEIGHBOURS],
        "n_apart": sum(pair["apart"] for pair in neighbours),
        "n_neighbours": len(neighbours),
        "power": power,
        "matrix_names": names[:MOST_IN_MATRIX],
        "matrix": _matrix(board, list(table["item"])[:MOST_IN_MATRIX]),
        "judges": judges[: max(MOST_JUDGES, sum(bool(judge["flagged"]) for judge in judges))],
        "n_judges": len(judges),
        "n_flagged": sum(bool(judge["flagged"]) for judge in judges),
        "next_pairs": [(str(a), str(b), board.probability(a, b)) for a, b in board.next_pair(n_pairs)],
        "parameters": parameters_of(board),
        "warnings": list(board.notes_),
        "notes": list(notes),
        "command": command,
    }
    return render("leaderboard.html.j2", content)


def _contexts(board: Leaderboard, table: Any, plain: Leaderboard | None) -> dict[str, Any]:
    """Return the effects of covariates, the ranks in categories, and how scores moved."""
    items = list(table["item"])[:MOST_ITEMS]
    plain_ranks = [] if plain is None else _ranks(plain.table(), items)
    covariates = [] if board.covariate_names_ is None else rows_of(board.covariates_)
    categories, apart, moved = [], [], []
    if board.categories_ is not None:
        labels = board.categories_.tolist()[:MOST_IN_MATRIX]
        categories = [(str(label), _ranks(board.table(category=label), items)) for label in labels]
        apart = [row for row in rows_of(board.category_differences()) if row["differs"]][:MOST_NEIGHBOURS]
    if board.times_ is not None:
        rows = rows_of(board.trajectories())
        size = len(board.items_)
        first, last = ({row["item"]: row for row in part} for part in (rows[:size], rows[-size:]))
        moved = [(str(item), first[item], last[item]) for item in items[:MOST_NEIGHBOURS]]
    variation = [] if board.deviation_names_ is None else rows_of(board.variation())
    found = {"plain_ranks": plain_ranks, "covariates": covariates, "categories": categories, "category_apart": apart}
    found["machines"] = [] if board.machines_ is None else rows_of(board.machine_judges())
    return {**found, "moved": moved, "variation": variation, "item_names": [str(item) for item in items]}


def _ranks(table: Any, items: list[Any]) -> list[int]:
    rank_of = dict(zip(table["item"], table["rank"], strict=True))
    return [int(rank_of[item]) for item in items]


def neighbours_of(board: Leaderboard, power: float) -> list[dict[str, Any]]:
    """Return each item and the next one in the ranking, by the names of their JSON."""
    limit = board.posterior.quantile(board.confidence)
    found: list[dict[str, Any]] = []
    for row in rows_of(board.votes_needed(power)):
        difference, error = row["difference"], row["std_error"]
        apart = bool(difference > limit * error)
        found.append(
            {
                "above": str(row["above"]),
                "below": str(row["below"]),
                "difference": float(difference),
                "probability": float(ndtr(difference / error)),
                "apart": apart,
                "votes": 0.0 if apart else float(row["votes"]),
            }
        )
    return found


def _forest(board: Leaderboard, table: Any) -> Forest:
    columns = [np.asarray(table[name])[:MOST_ITEMS].tolist() for name in ("item", "score", "low", "high")]
    intervals = [Interval(low, high, board.confidence, "") for low, high in zip(*columns[2:], strict=True)]
    middle = round(float(np.mean(table["score"]))) if board.anchor else 0.0
    return Forest.of(list(zip(map(str, columns[0]), columns[1], intervals, strict=True)), middle, middle + 0.5)


def _matrix(board: Leaderboard, items: list[Any]) -> list[list[float | None]]:
    """Return the probability that each item beats each other; None for an item and itself."""
    found: Float = board.probabilities(items, items)
    size = range(len(items))
    return [[None if i == j else float(found[i, j]) for j in size] for i in size]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return a data frame as one dict for each row."""
    names = list(table.columns) if hasattr(table, "columns") else list(table)
    columns = [list(table[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
