"""``kernelrank auc``: estimate the AUC of two classes, with an interval and a p-value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.base.progress import working
from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.auc_answer import answer_auc, auc_page
from kernelrank.cli.auc_rivals import Rivals
from kernelrank.cli.cohort import Cohort
from kernelrank.cli.learner import LearnerOptions, check_kernel_options
from kernelrank.cli.model_rows import counted
from kernelrank.cli.number_grid import read_alphas, read_gamma
from kernelrank.cli.output_file import check_page
from kernelrank.cli.sources import SourceFile, speaking_of

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.model_selection import AUCEstimate, PermutationTest, TournamentROC
    from kernelrank.selection import GreedyRankRLS

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

MOST_COMPARISONS = 40_000_000_000
"""Up to so many pairs are compared inside what remains without each pair, for all alphas together: a minute or two."""


@app.command()
def auc(
    data: Annotated[
        Path, typer.Argument(help="Data file: one row per item, with a target of two classes. - is standard input.")
    ],
    target: options.Target = None,
    groups: options.Groups = None,
    positive: options.Positive = None,
    alpha: options.NestedAlpha = None,
    alphas: options.NestedAlphas = "auto",
    kernel: options.KernelName = "linear",
    gamma: options.Gamma = None,
    degree: options.Degree = None,
    coef0: options.Coef0 = None,
    scale: options.Scale = False,
    select: Annotated[
        int | None,
        typer.Option(
            "--select",
            min=1,
            metavar="NUMBER",
            help="Select this many features inside every training set. With --permutations, each permutation takes "
            "ten selections.",
            show_default=False,
        ),
    ] = None,
    inside: Annotated[
        bool, typer.Option("--inside", help="Impute and scale inside every training set, not once on all items.")
    ] = False,
    cv: Annotated[
        Literal["auto", "leave_pair_out", "averaged", "balanced_leave_pair_out"],
        typer.Option("--cv", help="auto: leave-pair-out for small data, else the mean AUC of 10 folds."),
    ] = "auto",
    permutations: Annotated[
        int | None,
        typer.Option(
            "--permutations",
            min=0,
            help="Number of permutations for the p-value; 0 for no p-value.  \\[default: 1000, none with --select]",
            show_default=False,
        ),
    ] = None,
    nested_permutations: Annotated[
        bool,
        typer.Option(
            "--nested-permutations", help="Also choose alpha by nested cross-validation in each permutation (slower)."
        ),
    ] = False,
    versus: Annotated[
        str | None,
        typer.Option(
            "--versus",
            metavar="COLUMN",
            help="Compare the model with this single column (a biomarker), which the model then does not use. High "
            "values mean the positive class; use a minus sign if low values do: --versus=-albumin.",
            show_default=False,
        ),
    ] = None,
    covariates: Annotated[
        str | None,
        typer.Option(
            "--covariates",
            metavar="COLUMNS",
            help="Compare the model with a baseline model of these columns only, separated by commas: what do the "
            "other columns add?",
            show_default=False,
        ),
    ] = None,
    roc: Annotated[
        bool, typer.Option("--roc/--no-roc", help="Compute the ROC curve (tournament leave-pair-out).")
    ] = True,
    report: options.Report = None,
    confidence: options.Confidence = 0.95,
    jobs: Annotated[int, typer.Option("--jobs", help="Number of parallel processes.")] = 1,
    seed: options.Seed = 0,
    input_format: options.InputFormat = None,
    id: options.Id = None,
    features: options.Features = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "median",
    missing_indicator: options.MissingIndicator = False,
    ordinal: options.Ordinal = None,
    as_json: options.AsJSON = False,
) -> None:
    """Estimate the AUC of a classifier, with a confidence interval and a p-value.

    This estimates the AUC, on new items, of the model trained on all given items. The choice of alpha does not use the
    held-out pairs (or folds).

    kernelrank auc patients.csv --target outcome --groups patient --scale

    kernelrank auc patients.csv --target outcome --alpha 10 --report auc.html

    kernelrank auc patients.csv --target outcome --covariates age,sex
    """
    from kernelrank.cli.inside import estimated_inside
    from kernelrank.errors import InvalidInputError
    from kernelrank.model_selection.refits import settled

    answer = Answer("auc", as_json=as_json)
    check_page(report, [data])
    check_kernel_options([kernel], gamma=gamma, degree=degree, coef0=coef0)
    learner = LearnerOptions("rankrls", kernel, read_gamma(gamma), degree, coef0, scale=scale, seed=seed)
    grid = read_alphas(alphas)
    rivals = Rivals.read(versus, covariates)
    columns = rivals.features(features)
    source = SourceFile(
        data, input_format, target, None, id, None, groups, columns, positive, exclude=exclude
    ).preparing(missing, missing_indicator, ordinal)
    items, marker = rivals.take_marker(source.read_groups(answer))
    cohort = Cohort.of(items, learner, answer)
    if select is not None:
        roc, permutations = _check_selection(answer, kernel, permutations, grouped=cohort.groups is not None, roc=roc)
    if inside and cv not in ("auto", "leave_pair_out"):
        raise InvalidInputError("--inside uses leave-pair-out: remove --cv, or set it to leave_pair_out")
    if scale and not inside:
        answer.note("columns were scaled once, on all items; the classes were not used for that")

    def estimator_of(X: Any) -> Any:
        """Make the model, with the same alphas and gamma for all hold-outs and permutations."""
        if select is not None:
            return settled(_selector(select, alpha, grid, X.shape[1]), X)
        return settled(learner.search(grid) if alpha is None else learner.estimator(alpha), X)

    estimator = estimator_of(cohort.X)
    n_alphas = 0 if alpha is not None or select is not None else len(estimator.alphas)
    roc = roc and cohort.can_be_drawn(answer)
    method = _method(answer, cv, cohort, n_alphas)
    rivals.require_pairs(method, cohort.n_pairs)
    common = {"groups": cohort.groups, "pos_label": cohort.positive, "confidence": confidence, "n_jobs": jobs}
    with answer.noting_warnings(), speaking_of(items):
        if inside:
            estimate, curve = estimated_inside(answer, items, learner, estimator, cohort, common, with_roc=roc)
        else:
            estimate, curve = _estimated(answer, estimator, cohort, method, n_alphas, common, seed, with_roc=roc)
        n_permutations = 1000 if permutations is None else permutations
        test = _tested(
            answer, estimator, cohort, n_permutations, seed, nested=nested_permutations or select is not None
        )
        comparisons = rivals.compare(estimator_of, cohort.X, cohort.y, items, marker, **common)
        model = estimator.fit(cohort.X, cohort.y01) if report is not None or select is not None else None
    if report is not None:
        with working("drawing the page"):
            auc_page(answer, estimate, curve, test, model, cohort, items, comparisons).save(report)
    answer_auc(answer, estimate, curve, test, cohort, items, nested=alpha is None)
    if select is not None and model is not None:
        _show_selected(answer, model, items)
    for comparison in comparisons:
        comparison.show(answer)
    answer.fact("report", None if report is None else str(report))
    if report is not None:
        answer.line(f"The report is in {report}.")
    answer.show()


def _method(answer: Answer, cv: str, cohort: Cohort, n_alphas: int) -> str:
    if cv != "auto":
        return cv
    if n_alphas * cohort.n_pairs**2 > MOST_COMPARISONS:
        answer.note(
            f"{cohort.n_pairs:,} pairs are too many to choose alpha for each held-out pair, so the AUC is "
            "averaged over 10 folds. For leave-pair-out give one --alpha, or --cv leave_pair_out, which may "
            "take long"
        )
        return "averaged"
    return "leave_pair_out"


def _estimated(
    answer: Answer,
    estimator: Any,
    cohort: Cohort,
    method: str,
    n_alphas: int,
    common: dict[str, Any],
    seed: int,
    *,
    with_roc: bool,
) -> tuple[AUCEstimate, TournamentROC | None]:
    """Run the estimate and the tournament; where pairs are held out, both come from the same ones."""
    from kernelrank.model_selection import estimate_auc, tournament_roc

    m = len(cohort.y01)
    n_all = m * (m - 1) // 2
    if with_roc and n_alphas * n_all * cohort.n_pairs > MOST_COMPARISONS:
        answer.note(
            "no ROC curve: it would need a choice of alpha for every held-out pair. Give one --alpha to get the curve"
        )
        with_roc = False
    curve = None
    if with_roc:
        with working(f"holding out {counted(n_all, 'pair')} of items"):
            curve = tournament_roc(estimator, cohort.X, cohort.y, **common)
        if method == "leave_pair_out":
            return curve.leave_pair_out, curve
    with working(f"holding out {counted(cohort.n_pairs, 'pair')}" if "pair" in method else "holding out folds"):
        return estimate_auc(estimator, cohort.X, cohort.y, method=method, random_state=seed, **common), curve


def _tested(
    answer: Answer, estimator: Any, cohort: Cohort, permutations: int, seed: int, *, nested: bool
) -> PermutationTest | None:
    """Run the permutation test: with the best of all alphas where alpha is chosen, or with the choice inside."""
    from kernelrank.estimators import RankRLS
    from kernelrank.model_selection import permutation_test

    if not permutations or not cohort.can_be_permuted(answer):
        return None
    common: dict[str, Any] = {"groups": cohort.groups, "n_permutations": permutations, "random_state": seed}
    if nested:
        with working(f"permuting {permutations:,} times, alpha chosen inside"):
            return permutation_test(estimator, cohort.X, cohort.y01, **common)
    with working(f"permuting {permutations:,} times"):
        plain = RankRLS(**{**_plain_parameters(estimator), "alpha": getattr(estimator, "alpha", 1.0)})
        alphas = getattr(estimator, "alphas", None)
        return permutation_test(plain, cohort.X, cohort.y01, alphas=alphas, **common)


def _plain_parameters(estimator: Any) -> dict[str, Any]:
    from kernelrank.estimators import RankRLS

    known = RankRLS().get_params()
    return {name: value for name, value in estimator.get_params().items() if name in known}


def _check_selection(
    answer: Answer, kernel: str, permutations: int | None, *, grouped: bool, roc: bool
) -> tuple[bool, int]:
    """Check what --select is combined with; return whether to draw the curve, and the number of permutations."""
    from kernelrank.errors import InvalidInputError

    if kernel != "linear":
        raise InvalidInputError(f"--select works with the linear kernel only; got --kernel {kernel}")
    if permutations and grouped:
        raise InvalidInputError("--select cannot compute a p-value with groups: remove --permutations or --groups")
    if roc:
        answer.note("no ROC curve: with --select it would need one feature selection for every held-out pair")
    if permutations is None:
        answer.note(
            "no p-value: with --select each permutation takes ten feature selections. Use --permutations 100 to "
            "compute it"
        )
    return False, permutations or 0


def _selector(number: int, alpha: float | None, grid: Any, n_columns: int) -> GreedyRankRLS:
    """Return what selects so many columns, or all if there are fewer, with one alpha or one chosen at each step."""
    from kernelrank.selection import GreedyRankRLS

    return GreedyRankRLS(min(number, n_columns), alpha=grid if alpha is None else alpha)


def _show_selected(answer: Answer, model: GreedyRankRLS, items: Items) -> None:
    """Add the columns that are selected from all items to the answer."""
    names = items.column_names
    chosen = [f"column {number}" if names is None else str(names[number]) for number in model.selected_.tolist()]
    answer.fact("selected", chosen)
    answer.line(
        f"{counted(len(chosen), 'column')} selected in every training set; from all items: {', '.join(chosen)}."
    )
