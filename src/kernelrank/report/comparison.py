"""The report of a comparison: several models on the same queries, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, Labels
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Measure, get_measure
from kernelrank.report.baselines import random_order
from kernelrank.report.compared_models import ComparedModels
from kernelrank.report.page import Page, render
from kernelrank.report.picture import Picture, drawing
from kernelrank.report.writing import counted, with_decimals

__all__ = ["comparison_page", "comparison_report"]

N_QUERIES = 10
"""How many queries are listed in which two models differ most."""


def comparison_report(
    scores: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    qid: Labels,
    measures: Sequence[str | Measure] = ("ndcg@10", "map", "pairwise_accuracy"),
    confidence: float = 0.95,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Compare several models on the same test queries, on one self-contained HTML page.

    Parameters
    ----------
    scores : mapping of str to array-like, shape (m,)
        The predictions of each model, by its name: two models at least.
    y : array-like, shape (m,)
        True scores.
    qid : sequence, shape (m,)
        The query of each item.
    measures : sequence of str or Measure, default=("ndcg@10", "map", "pairwise_accuracy")
        The first is shown query by query.
    confidence : float, default=0.95
        Confidence level of the intervals.
    title, command, notes
        As in `ranking_report`.
    random_state : int or None, default=0
        Random seed for resampled queries and sign flips.

    Returns
    -------
    Page

    Raises
    ------
    MissingExtraError
        If matplotlib or jinja2 is not installed.

    Notes
    -----
    For k models O(k m log m) time, and 10,000 sign flips and resamples of the queries for each pair of models. p-values
    are corrected for all tests of the page by Holm's method.

    Examples
    --------
    >>> from kernelrank import RankRLS, RankSVM, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, n_levels=3, random_state=0)
    >>> train, test = qid < 10, qid >= 10
    >>> models = [kind().fit(X[train], y[train], qid=qid[train]) for kind in (RankRLS, RankSVM)]
    >>> scores = {type(model).__name__: model.predict(X[test]) for model in models}
    >>> page = comparison_report(scores, y[test], qid=qid[test], measures=["ndcg@5"], title="Two losses")
    >>> "<h1>Two losses</h1>" in page.html
    True
    """
    truth = check_scores(y, len(np.asarray(y))).reshape(-1)
    predicted = {str(name): check_scores(values, len(truth)).reshape(-1) for name, values in scores.items()}
    found, problems = [], []
    for measure in dict.fromkeys(get_measure(name) for name in measures):
        try:
            chance = random_order(measure, truth, qid)
            results = {name: measure(truth, values, qid=qid) for name, values in predicted.items()}
        except InvalidInputError as error:
            problems.append(str(error))
            continue
        found.append((measure.name, measure.higher_is_better, results, chance))
    if not found:
        raise InvalidInputError(f"No measure fits these scores: {problems[0] if problems else 'none was given'}")
    compared = ComparedModels.all_of(found, confidence=confidence, random_state=random_state)
    notes = [*notes, *(f"left out: {problem}" for problem in problems)]
    return comparison_page(compared, n_items=len(truth), title=title, command=command, notes=notes)


def comparison_page(
    compared: Sequence[ComparedModels],
    *,
    n_items: int | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write models that were compared already on a page; the other arguments are those of `comparison_report`."""
    first = compared[0]
    (best, best_result), (second, second_result) = first.results[:2]
    content: dict[str, Any] = {
        "title": title or f"Comparison of {len(first.results)} models",
        "compared": list(compared),
        "first": first,
        "best": best,
        "second": second,
        "n_items": n_items,
        "n_tests": sum(len(one.pairs) for one in compared),
        "warnings": _warnings(first),
        "notes": list(notes),
        "command": command,
    }
    place = {query: number for number, query in enumerate(second_result.queries.tolist())}
    others = second_result.values[[place[query] for query in best_result.queries.tolist()]]
    differences = best_result.values - others
    content["query_picture"] = _difference_picture(first.name, differences)
    order = np.argsort(-np.abs(differences), kind="stable")[:N_QUERIES]
    content["queries"] = [
        (best_result.queries[q], float(best_result.values[q]), float(others[q]), float(differences[q]))
        for q in order
        if differences[q]
    ]
    return render("comparison.html.j2", content)


def _warnings(compared: ComparedModels) -> list[str]:
    if compared.n_queries >= 20:
        return []
    return [f"{counted(compared.n_queries, 'query')} are few: intervals and p-values are rough."]


def _difference_picture(measure: str, differences: Float) -> Picture:
    """Draw the differences of two models over the queries, in ascending order."""
    values = np.sort(differences)
    with drawing("differences", height=2.8) as canvas:
        share = 100.0 * (np.arange(len(values)) + 0.5) / len(values)
        canvas.ax.vlines(
            share[values >= 0], 0.0, values[values >= 0], color="C0", linewidth=max(0.6, min(6.0, 240 / len(values)))
        )
        canvas.ax.vlines(
            share[values < 0], 0.0, values[values < 0], color="C1", linewidth=max(0.6, min(6.0, 240 / len(values)))
        )
        canvas.ax.axhline(0.0, color="0.4", linewidth=0.8)
        canvas.ax.set(xlabel="percent of queries", ylabel="difference", xlim=(0, 100))
        higher, lower = int(np.sum(values > 0)), int(np.sum(values < 0))
        alt = (
            f"Differences of {measure} between the first two models for {counted(len(values), 'query')} in ascending "
            f"order, from {with_decimals(values[0])} to {with_decimals(values[-1])}: {higher:,} above zero, {lower:,} "
            f"below, {len(values) - higher - lower:,} equal."
        )
        return canvas.picture(alt, "One line for each query, in ascending order. Above zero the first model is higher.")
