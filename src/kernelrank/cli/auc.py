"""``kernelrank auc``: an AUC for two classes that a reviewer believes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.auc_rivals import NamedComparison, Rivals
from kernelrank.cli.auc_selection import check_selection, selector, show_selected
from kernelrank.cli.learner import LearnerOptions, check_kernel_options, scaled
from kernelrank.cli.model_file import command_line
from kernelrank.cli.model_rows import counted
from kernelrank.cli.number_grid import read_alphas, read_gamma
from kernelrank.cli.output_file import check_page
from kernelrank.cli.source_files import SourceFile, speaking_of
from kernelrank.progress import working

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.metrics import RateEstimate
    from kernelrank.model_selection import AUCEstimate, PermutationTest, TournamentROC

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

MOST_COMPARISONS = 40_000_000_000
"""Up to so many pairs are compared inside what remains without each pair, for all alphas together: a minute or two."""

SPECIFICITIES = (0.9, 0.95)
"""Where the sensitivity is given."""


@app.command()
def auc(
    data: Annotated[
        Path, typer.Argument(help="Data file: one row per item, with a target of two classes. - is standard input.")
    ],
    target: options.Target = None,
    groups: options.Groups = None,
    positive: options.Positive = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            "--alpha",
            help="Regularisation strength. If omitted, alpha is chosen inside every training set (nested "
            "cross-validation).",
            callback=options.positive_number,
        ),
    ] = None,
    alphas: Annotated[str, typer.Option("--alphas", help="Values of alpha to try, as in kernelrank tune.")] = "auto",
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

    What is estimated is the AUC, on new items, of the model trained on all of these. Pairs (or folds) that are held out
    take no part in the choice of alpha.

    kernelrank auc patients.csv --target outcome --groups patient --scale

    kernelrank auc patients.csv --target outcome --alpha 10 --report auc.html

    kernelrank auc patients.csv --target outcome --covariates age,sex
    """
    from kernelrank.cli.inside import estimated_inside, prepared_inside
    from kernelrank.errors import InvalidInputError
    from kernelrank.model_selection import estimate_auc
    from kernelrank.model_selection.estimator_refit import settled

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
    for what, values in (("queries", items.qid), ("weights of items", items.weight)):
        if values is not None:
            answer.note(f"{what} take no part: every positive item is compared with every negative one, once")
    cohort = Cohort.of(items, learner)
    if select is not None:
        roc, permutations = check_selection(answer, kernel, permutations, grouped=cohort.groups is not None, roc=roc)
    if inside and cv not in ("auto", "leave_pair_out"):
        raise InvalidInputError("--inside holds out every pair: give no other --cv")
    if scale and not inside:
        answer.note("columns were scaled once, by all items; their classes take no part in that")

    def estimator_of(X: Any) -> Any:
        """Make the model, with one grid and one gamma for whatever is held out and permuted."""
        if select is not None:
            return settled(selector(select, alpha, grid, X), X)
        return settled(learner.search(grid) if alpha is None else learner.estimator(alpha), X)

    estimator = estimator_of(cohort.X)
    n_alphas = 0 if alpha is not None or select is not None else len(estimator.alphas)
    roc = roc and cohort.can_be_drawn(answer)
    method = _method(answer, cv, cohort, n_alphas)
    rivals.require_pairs(method, cohort.n_pairs)
    common = {"groups": cohort.groups, "pos_label": cohort.positive, "confidence": confidence, "n_jobs": jobs}
    with answer.noting_warnings(), speaking_of(items):
        if inside:
            pipeline, unprepared = prepared_inside(items, learner, estimator)
            once = estimate_auc(estimator, cohort.X, cohort.y, **common)
            answer.note(
                "for the AUC and its curve, missing numbers and scales of columns were computed anew in every training "
                "set; permutations and comparisons take them computed once"
            )
            estimate, curve = estimated_inside(pipeline, unprepared, cohort.y, once, common, with_roc=roc)
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
            _page(answer, estimate, curve, test, model, cohort, items, comparisons).save(report)
    _answer(answer, estimate, curve, test, cohort, items, nested=alpha is None)
    if select is not None:
        show_selected(answer, model, items)
    for comparison in comparisons:
        comparison.show(answer)
    answer.fact("report", None if report is None else str(report))
    if report is not None:
        answer.line(f"The report is in {report}.")
    answer.show()


@dataclass(frozen=True, eq=False)
class Cohort:
    """Two classes of items.

    Parameters
    ----------
    X : array or sparse matrix, shape (m, n_features)
    y : ndarray, shape (m,)
        The classes by name, if they have names.
    y01 : ndarray, shape (m,)
        The same as numbers.
    groups : ndarray, shape (m,), or None
    positive : label
    reason : str
        Why this class is positive.
    """

    X: Any
    y: Any
    y01: Any
    groups: Any
    positive: Any
    reason: str

    @classmethod
    def of(cls, items: Items, learner: LearnerOptions) -> Cohort:
        """Scale the columns if asked for, and give the classes their names."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        y: Any = items.y
        levels = np.unique(y)
        if len(levels) != 2:
            some = ", ".join(f"{level:g}" for level in levels[:5])
            raise InvalidInputError(
                f"{items.path}: an AUC needs two classes, and the target has {counted(len(levels), 'value')} ({some}"
                f"{', ...' if len(levels) > 5 else ''})"
            )
        y01 = (y == levels[1]).astype(float)
        if items.classes is not None:
            y = np.array(items.classes)[y.astype(int)]
        elif np.all(levels == np.rint(levels)):
            y = y.astype(np.int64)  # classes are called 0 and 1, as in the file
        positive = y[y01 == 1][0].item()
        X = scaled(learner.scaler(items.X), items.X)
        return cls(X, y, y01, items.groups, positive, items.positive_reason or "the larger number")

    def can_be_permuted(self, answer: Answer) -> bool:
        """Whether groups can exchange their classes: some must have the same number of items."""
        import numpy as np

        if self.groups is None:
            return True
        sizes = np.unique(self.groups, return_counts=True)[1]
        if len(np.unique(sizes)) < len(sizes):
            return True
        answer.note("no p-value: no two groups have the same number of items, so that none can exchange classes")
        return False

    def can_be_drawn(self, answer: Answer) -> bool:
        """Whether the tournament can be played: with three items, or groups, of each class."""
        from kernelrank.metrics.two_classes import TwoClasses, check_groups, shared_groups

        classes = TwoClasses.read(self.y, len(self.y), pos_label=self.positive)
        groups = shared_groups(check_groups(self.groups, classes))
        if classes.has(3, groups):
            return True
        noun = "items" if groups is None else "groups"
        answer.note(f"no ROC curve: the tournament needs three {noun} of each class")
        return False

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a positive and a negative item."""
        positives = int(self.y01.sum())
        return positives * (len(self.y01) - positives)


def _method(answer: Answer, cv: str, cohort: Cohort, n_alphas: int) -> str:
    if cv != "auto":
        return cv
    if n_alphas * cohort.n_pairs**2 > MOST_COMPARISONS:
        answer.note(
            f"{cohort.n_pairs:,} pairs are too many to choose alpha without each: ten folds are averaged; "
            "--alpha holds out every pair with one alpha, --cv leave_pair_out waits"
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
        answer.note("no ROC curve: the tournament would choose alpha without every pair of items; --alpha allows it")
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


def _page(
    answer: Answer,
    estimate: AUCEstimate,
    curve: TournamentROC | None,
    test: PermutationTest | None,
    model: Any,
    cohort: Cohort,
    items: Items,
    comparisons: list[NamedComparison],
) -> Any:
    from kernelrank.report import auc_report

    return auc_report(
        estimate,
        curve,
        test,
        model=model,
        X=cohort.X,
        comparisons=[(one.first, one.second, one.found) for one in comparisons],
        ids=items.ids,
        feature_names=items.column_names,
        title=f"AUC of {items.path}",
        command=command_line(),
        notes=[f"the positive class is {cohort.positive}: {cohort.reason}", *answer.notes],
    )


def _answer(
    answer: Answer,
    estimate: AUCEstimate,
    curve: TournamentROC | None,
    test: PermutationTest | None,
    cohort: Cohort,
    items: Items,
    *,
    nested: bool,
) -> None:
    low, high = estimate.interval
    answer.fact("data", str(items.path))
    answer.fact("auc", estimate.auc)
    answer.fact("low", low)
    answer.fact("high", high)
    answer.fact("confidence", estimate.interval.level)
    answer.fact("method", estimate.method)
    answer.fact("alpha_chosen_inside", nested)
    answer.fact("interval", estimate.interval.method)
    answer.fact("positive_class", estimate.classes[1])
    answer.fact("positive_class_reason", cohort.reason)
    answer.fact("positive", estimate.n_positive)
    answer.fact("negative", estimate.n_negative)
    answer.fact("pairs", estimate.n_pairs)
    rows = [
        ("AUC", f"{estimate.auc:.3f}"),
        (f"{100 * estimate.interval.level:.4g}% interval", f"{low:.3f} to {high:.3f}"),
    ]
    if test is not None:
        answer.fact("pvalue", test.pvalue)
        answer.fact("permutations", len(test.null))
        answer.fact("permutation", _test_facts(test))
        how = f"{test.name}, {counted(len(test.null), 'permutation')} of {test.permuted}"
        rows.append(("p-value", f"{test.pvalue:.3g} ({how})"))
    if curve is not None:
        answer.fact("tournament_auc", curve.auc)
        answer.fact("roc", {"fpr": curve.fpr, "tpr": curve.tpr})
        rates = [curve.sensitivity_at(specificity) for specificity in SPECIFICITIES]
        answer.fact("sensitivity", [_rate_facts(*found) for found in zip(SPECIFICITIES, rates, strict=True)])
        for specificity, rate in zip(SPECIFICITIES, rates, strict=True):
            ends = f"{rate.interval.low:.3f} to {rate.interval.high:.3f}"
            rows.append((f"sensitivity at {100 * specificity:.0f}% specificity", f"{rate.value:.3f} ({ends})"))
    rows += [
        (
            "positive class",
            f"{estimate.classes[1]}: {estimate.n_positive} of {len(items)} items ({cohort.reason})",
        ),
        ("held out", f"{estimate.method}, {counted(estimate.n_pairs, 'pair')}"),
        ("alpha", "chosen anew in every training set" if nested else "as given"),
        ("the interval", estimate.interval.method),
    ]
    answer.table(f"AUC of {items.path}", ("", ""), rows)
    for warning in estimate.warnings:
        answer.note(warning)


def _test_facts(test: PermutationTest) -> dict[str, Any]:
    """Return a test as one fact: the mean of the permutations belongs to the statistic beside it, not to the AUC."""
    return {
        "statistic": test.name,
        "value": test.statistic,
        "null_mean": float(test.null.mean()),
        "pvalue": test.pvalue,
        "permutations": len(test.null),
        "permuted": test.permuted,
    }


def _rate_facts(specificity: float, rate: RateEstimate) -> dict[str, float]:
    low, high = rate.interval
    return {"specificity": specificity, "value": rate.value, "low": low, "high": high}
