"""``kernelrank select``: a few features that rank well, and the cross-validated accuracy of the selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelrank.base.progress import working
from kernelrank.base.text import p_is
from kernelrank.cli import shared
from kernelrank.cli.shared import Answer, check_file, check_page, counted, grouped, joined, without
from kernelrank.cli.sources import SourceFile, command_line, fold_part, save_model, speaking_of

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.model_selection import PermutationTest
    from kernelrank.report import Page
    from kernelrank.selection import GreedyRankRLS, SelectionCurve, SelectionStability

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
@grouped
def select(
    *,
    train: Annotated[
        Path, typer.Argument(help="Training file: one row per item, with scores or two classes. - is standard input.")
    ],
    number: Annotated[
        int | None,
        typer.Option(
            "--number",
            "-k",
            min=1,
            help="Number of features to select.  \\[default: 10, or all if there are fewer]",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        str,
        typer.Option(
            "--alpha", help="Regularisation strength; auto chooses it at each step and takes about four times as long."
        ),
    ] = "auto",
    scale: Annotated[
        bool,
        typer.Option(
            "--scale/--no-scale",
            help="Standardise the columns inside every training set.",
        ),
    ] = True,
    cv: Annotated[
        str,
        typer.Option(
            "--cv",
            help="Outer cross-validation of the selection: a number of folds, leave_pair_out or leave_query_out.",
        ),
    ] = "10",
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            min=1,
            help="Number of repetitions of the folds. Default: 10, or 1 with queries.",
            show_default=False,
        ),
    ] = None,
    halves: Annotated[
        int,
        typer.Option("--halves", min=0, help="Number of random half-samples for selection stability; 0 to skip it."),
    ] = 100,
    permutations: Annotated[
        int,
        typer.Option("--permutations", min=0, help="Number of permutations for a p-value; each takes ten selections."),
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the model to this file.", show_default=False)
    ] = None,
    report: shared.Report = None,
    confidence: shared.Confidence = 0.95,
    jobs: shared.Jobs = 1,
    seed: shared.Seed = 0,
    source: Annotated[
        SourceFile,
        without("time", "event", "happened", "drop_incomplete", "strata", "weight", "groups"),
    ],
    as_json: shared.AsJSON = False,
) -> None:
    """Select a few features that rank well, and cross-validate the selection.

    Columns are added one at a time; each step adds the one with the lowest exact cross-validation error. That error is
    the lowest of many, so the selection is repeated inside every training set and measured on the held-out part.

    kernelrank select patients.csv --target outcome -k 20 --report page.html

    kernelrank select train.txt -k 10 -o model.kr
    """
    from kernelrank.model_selection import permutation_test
    from kernelrank.selection import selection_curve, selection_stability

    answer = Answer("select", as_json=as_json)
    train = fold_part(train, "train")
    check_page(report, [train])
    check_file(output, [train])
    source = source.at(train)
    held_out = read_cv(cv)
    strength = check_alpha(alpha)
    items = source.read(answer)
    if items.weight is not None:
        answer.note("sample weights are ignored by the selection")
    if items.groups is not None:
        answer.note(
            "groups are ignored: rows of one group may be in training and test folds, and the nested accuracy "
            "is then too high. kernelrank auc --select keeps groups together"
        )
    units, names = _units(items)
    number = min(10, len(set(units))) if number is None else number
    estimator = selection_model(number, strength, scale=scale, X=items.X, groups=units)
    common: dict[str, Any] = {"qid": items.qid, "n_jobs": jobs, "random_state": seed}
    with answer.noting_warnings(), speaking_of(items):
        with working("selecting columns"):
            scaler, selector = fitted_selection(estimator, items)
        curve = selection_curve(
            estimator, items.X, items.y, cv=held_out, n_repeats=repeats, confidence=confidence, **common
        )
        stability = selection_stability(estimator, items.X, items.y, n_subsamples=halves, **common) if halves else None
        test = None
        if permutations:
            prepared = items.X if scaler is None else scaler.transform(items.X)
            test = permutation_test(selector, prepared, items.y, n_permutations=permutations, **common)
    found = Selection(selector, items, names, curve, stability, test)
    if report is not None:
        with working("drawing the page"):
            _page(answer, found).save(report)
    if output is not None:
        save_model(joined(scaler, selector), output, items, source)
    _answer(answer, found)
    answer.saved(model=output, report=report)
    answer.show()


def read_cv(cv: str) -> int | str:
    """Read --cv: a number of folds, or the name of a hold-out."""
    return int(cv) if cv.strip().isdigit() else cv.strip()


def check_alpha(alpha: str) -> float | str:
    """Return one alpha, or "auto"."""
    from kernelrank.errors import InvalidInputError

    if alpha == "auto":
        return alpha
    try:
        value = float(alpha)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InvalidInputError(f"--alpha {alpha!r}: expected a positive number, or auto")
    return value


def selection_model(
    number: int, alpha: float | str, *, scale: bool, X: Any, groups: Sequence[int] | None = None
) -> Any:
    """Return a selector, behind a scaling of these columns if requested; groups of columns are selected together."""
    from scipy import sparse
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from kernelrank.selection import GreedyRankRLS

    together = None if groups is None or len(set(groups)) == len(groups) else list(groups)
    selector = GreedyRankRLS(number, alpha=alpha, feature_groups=together)
    if not scale:
        return selector
    return Pipeline([("scale", StandardScaler(with_mean=not sparse.issparse(X))), ("rank", selector)])


def fitted_selection(estimator: Any, items: Items) -> tuple[Any, Any]:
    """Fit to all items; return the scaling, or None, and the selector."""
    from sklearn.base import clone

    steps = getattr(estimator, "steps", None)
    if steps is None:
        return None, clone(estimator).fit(items.X, items.y, qid=items.qid)
    scaler = clone(steps[0][1]).fit(items.X)
    return scaler, clone(steps[1][1]).fit(scaler.transform(items.X), items.y, qid=items.qid)


def _units(items: Items) -> tuple[list[int], list[str]]:
    """Return the column of the table that each column of X is made of, and what each is called."""
    names = [str(name) for name in items.column_names]
    prepared = () if items.preparation is None else items.preparation.columns
    if sum(len(column.feature_names) for column in prepared) != len(names):
        return list(range(len(names))), names
    units = [number for number, column in enumerate(prepared) for _ in column.feature_names]
    sizes = Counter(units)
    return units, [prepared[unit].name if sizes[unit] > 1 else names[at] for at, unit in enumerate(units)]


@dataclass(frozen=True, eq=False)
class Selection:
    """The result of ``kernelrank select``: the selected columns, with their accuracy and stability."""

    selector: GreedyRankRLS
    items: Items
    names: list[str]
    curve: SelectionCurve
    stability: SelectionStability | None
    test: PermutationTest | None


def _page(answer: Answer, found: Selection) -> Page:
    from kernelrank.report import selection_report

    return selection_report(
        found.curve,
        found.stability,
        found.test,
        model=found.selector,
        feature_names=found.names,
        title=f"Selected columns of {found.items.path}",
        command=command_line(),
        notes=answer.notes,
    )


def _answer(answer: Answer, found: Selection) -> None:
    selector, items, names, curve, test = found.selector, found.items, found.names, found.curve, found.test
    chosen = [names[column] for column in curve.features]
    answer.fact("data", str(items.path))
    answer.fact("items", len(items))
    answer.fact("columns", len(set(names)))
    answer.fact("measure", curve.measure)
    answer.fact("held_out", curve.held_out)
    answer.fact("confidence", curve.level)
    answer.fact("interval", curve.interval_method)
    answer.fact("criterion", selector.criterion_)
    answer.fact("best", curve.best)
    columns = ("criterion", "inside", "nested", "low", "high")
    values = zip(*(getattr(curve, name).tolist() for name in columns), strict=True)
    steps = [
        {"features": k, "feature": name, **dict(zip(columns, row, strict=True))}
        for k, (name, row) in enumerate(zip(chosen, values, strict=True), start=1)
    ]
    answer.fact("steps", steps)
    columns_of_X = items.column_names
    answer.fact("coefficients", {str(columns_of_X[c]): float(selector.coef_[c]) for c in selector.selected_})
    rows = [
        (
            str(step["features"]),
            str(step["feature"]),
            f"{step['inside']:.3f}",
            f"{step['nested']:.3f}",
            f"{step['low']:.3f} to {step['high']:.3f}",
        )
        for step in steps
    ]
    answer.table(
        f"{curve.measure} of columns selected from {items.path}",
        ("columns", "added", "where selected", "nested", f"{100 * curve.level:.4g}% interval"),
        rows,
    )
    answer.line(
        f"Nested: selected in every training set, and measured on the held-out items ({curve.held_out}). "
        f"The highest is {curve.nested[curve.best - 1]:.3f}, with {counted(curve.best, 'column')}."
    )
    _show_stability(answer, found.stability, names)
    if test is not None:
        answer.fact("pvalue", test.pvalue)
        answer.fact("permutations", len(test.null))
        answer.line(f"p {p_is(test.pvalue)} ({test.name} {test.statistic:.3f}, {len(test.null)} permutations).")


def _show_stability(answer: Answer, stability: SelectionStability | None, names: list[str]) -> None:
    if stability is None:
        return
    frequent = [(names[column], share) for column, share in zip(stability.features, stability.frequency, strict=True)]
    expected = {str(share): stability.expected_false(share) for share in (0.6, 0.75, 0.9)}
    answer.fact(
        "stability",
        {"halves": stability.n_subsamples, "frequency": dict(frequent), "expected_false": expected},
    )
    answer.table(
        f"How often {counted(stability.n_subsamples, 'half', 'halves')} of the data selected a column",
        ("column", "share"),
        [(name, f"{100 * share:.0f}%") for name, share in frequent[:10]],
    )
    answer.line(
        f"Of the columns that at least 90% of the halves select, at most {expected['0.9']:.2g} are expected to be false"
    )
