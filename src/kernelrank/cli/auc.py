"""``kernelrank auc``: estimate the AUC of two classes, with an interval and a p-value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.base.progress import working
from kernelrank.base.text import pvalue
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    METRIC,
    Answer,
    LearnerOptions,
    check_page,
    counted,
    grouped,
    only,
    read_alphas,
    scaled,
    without,
)
from kernelrank.cli.sources import SourceFile, command_line, speaking_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelrank.data import Items
    from kernelrank.metrics import Interval, RateEstimate
    from kernelrank.model_selection import (
        AUCComparison,
        AUCEstimate,
        LearningCurve,
        PermutationTest,
        TournamentROC,
    )
    from kernelrank.selection import GreedyRankRLS

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

MOST_COMPARISONS = 40_000_000_000
"""Up to so many pairs are compared inside what remains without each pair, for all alphas together: a minute or two."""


@app.command()
@grouped
def auc(
    *,
    data: Annotated[
        Path, typer.Argument(help="Data file: one row per item, with a target of two classes. - is standard input.")
    ],
    alpha: shared.NestedAlpha = None,
    alphas: shared.NestedAlphas = "auto",
    learner: Annotated[LearnerOptions, only("kernel", "gamma", "degree", "coef0", "scale", "seed")],
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
    with_learning_curve: Annotated[
        bool,
        typer.Option(
            "--learning-curve",
            help="Also estimate the AUC of growing subsets, and how many items a higher AUC, and a validation, need.",
        ),
    ] = False,
    roc: Annotated[
        bool, typer.Option("--roc/--no-roc", help="Compute the ROC curve (tournament leave-pair-out).")
    ] = True,
    report: shared.Report = None,
    confidence: shared.Confidence = 0.95,
    jobs: shared.Jobs = 1,
    source: Annotated[
        SourceFile,
        without("time", "event", "happened", "drop_incomplete", "strata", "query", "weight"),
    ],
    as_json: shared.AsJSON = False,
) -> None:
    """Estimate the AUC of a classifier, with a confidence interval and a p-value.

    This estimates the AUC, on new items, of the model trained on all given items. The choice of alpha does not use the
    held-out pairs (or folds).

    kernelrank auc patients.csv --target outcome --groups patient --scale

    kernelrank auc patients.csv --target outcome --alpha 10 --report auc.html

    kernelrank auc patients.csv --target outcome --covariates age,sex
    """
    import numpy as np

    from kernelrank.errors import InvalidInputError
    from kernelrank.model_selection.refits import settled

    answer = Answer("auc", as_json=as_json)
    check_page(report, [data])
    learner.check_kernel()
    grid = read_alphas(alphas)
    rivals = Rivals.read(versus, covariates)
    source = replace(source, path=data, features=rivals.features(source.features))
    items, marker = rivals.take_marker(source.read_groups(answer))
    cohort = Cohort.of(items, learner, answer)
    if select is not None:
        roc, permutations = _check_selection(
            answer, learner.kernel, permutations, grouped=cohort.groups is not None, roc=roc
        )
    if inside and cv not in ("auto", "leave_pair_out"):
        raise InvalidInputError("--inside uses leave-pair-out: remove --cv, or set it to leave_pair_out")
    if learner.scale and not inside:
        answer.note("columns were scaled once, on all items; the classes were not used for that")

    def estimator_of(X: Any) -> Any:
        """Make the model, with the same alphas and gamma for all hold-outs and permutations."""
        if select is not None:
            return settled(_selector(select, alpha, grid, X.shape[1]), X)
        return settled(learner.search(grid) if alpha is None else learner.estimator(alpha), X)

    estimator = estimator_of(cohort.X)
    learnt = learner.kernel == METRIC
    if learnt:
        roc, permutations = _check_metric(answer, cv, permutations, inside=inside)
    n_alphas = 0 if alpha is not None or select is not None or learnt else np.size(estimator.alphas)
    roc = roc and cohort.can_be_drawn(answer)
    method = "averaged" if learnt else _method(answer, cv, cohort, n_alphas)
    rivals.require_pairs(method, cohort.n_pairs)
    common = {"groups": cohort.groups, "pos_label": cohort.positive, "confidence": confidence, "n_jobs": jobs}
    with answer.noting_warnings(), speaking_of(items):
        if inside:
            estimate, curve = estimated_inside(answer, items, learner, estimator, cohort, common, with_roc=roc)
        else:
            estimate, curve = _estimated(
                answer, estimator, cohort, method, n_alphas, common, learner.seed, with_roc=roc
            )
        n_permutations = 1000 if permutations is None else permutations
        nested = nested_permutations or select is not None or learnt
        test = _tested(answer, estimator, cohort, n_permutations, learner.seed, nested=nested)
        learnt_by_size = _learning_curve(estimator, cohort, confidence, learner.seed) if with_learning_curve else None
        comparisons = rivals.compare(estimator_of, cohort.X, cohort.y, items, marker, **common)
        model = estimator.fit(cohort.X, cohort.y01) if report is not None or select is not None else None
    if report is not None:
        with working("drawing the page"):
            auc_page(answer, estimate, curve, test, model, cohort, items, comparisons).save(report)
    answer_auc(answer, estimate, curve, test, cohort, items, nested=alpha is None)
    if learnt_by_size is not None:
        _show_learning_curve(answer, learnt_by_size)
    if select is not None and model is not None:
        _show_selected(answer, model, items)
    for comparison in comparisons:
        comparison.show(answer)
    answer.saved(report=report)
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
    from kernelrank.model_selection import permutation_test

    if not permutations or not cohort.can_be_permuted(answer):
        return None
    common: dict[str, Any] = {"groups": cohort.groups, "n_permutations": permutations, "random_state": seed}
    if nested:
        with working(f"permuting {permutations:,} times, alpha chosen inside"):
            return permutation_test(estimator, cohort.X, cohort.y01, **common)
    with working(f"permuting {permutations:,} times"):
        if alpha_is_chosen := hasattr(estimator, "alphas"):
            settings = estimator._settings()
            tried = [estimator._learner(setting) for setting in settings]
            alphas = estimator._given_alphas(len(settings))
        tests = [
            permutation_test(
                learner, cohort.X, cohort.y01, alphas=alphas[number] if alpha_is_chosen else None, **common
            )
            for number, learner in enumerate(tried if alpha_is_chosen else [estimator])
        ]
    return tests[0] if len(tests) == 1 else _best_of(tests)


def _best_of(tests: list[PermutationTest]) -> PermutationTest:
    """Return the test of the best kernel: of the same permutations, each with the kernel that is best for it."""
    import numpy as np

    from kernelrank.model_selection import PermutationTest

    statistic = max(test.statistic for test in tests)
    null = np.max([test.null for test in tests], axis=0)
    share = (1 + int(np.sum(null >= statistic - 1e-12))) / (1 + len(null))
    return PermutationTest(statistic, null, share, f"{tests[0].name} and {len(tests)} kernels", tests[0].permuted)


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


def _check_metric(answer: Answer, cv: str, permutations: int | None, *, inside: bool) -> tuple[bool, int]:
    """Check what a learnt metric is combined with; return no curve, and the number of permutations."""
    from kernelrank.errors import InvalidInputError

    if inside or cv not in ("auto", "averaged"):
        raise InvalidInputError(
            "--kernel metric is learnt again for each of ten folds: remove --inside, and --cv unless it is averaged"
        )
    answer.note("no ROC curve: a metric would be learnt again for every held-out pair")
    if permutations is None:
        answer.note("no p-value: each permutation learns ten metrics. Use --permutations 100 to compute it")
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


def _learning_curve(estimator: Any, cohort: Cohort, confidence: float, seed: int) -> LearningCurve:
    from kernelrank.model_selection import learning_curve

    options: dict[str, Any] = {"pos_label": cohort.positive, "confidence": confidence, "random_state": seed}
    with working("estimating growing subsets"):
        return learning_curve(estimator, cohort.X, cohort.y, groups=cohort.groups, **options)


def _show_learning_curve(answer: Answer, curve: LearningCurve) -> None:
    """Add the AUC by the number of items, and how many are needed."""
    level = f"{100 * curve.confidence:.4g}% interval"
    size = int(curve.sizes[-1])
    more = [2 * size, 4 * size]
    low, high = curve.band([*curve.sizes, *more])
    fitted = curve.predict([*curve.sizes, *more])
    measured = [f"{value:.3f}" for value in curve.values] + ["", ""]
    told = zip([*curve.sizes.tolist(), *more], measured, fitted, low, high, strict=True)
    rows = [(f"{n:,}", value, f"{law:.3f}", f"{a:.3f} to {b:.3f}") for n, value, law, a, b in told]
    answer.table("Learning curve", (curve.unit, "held-out AUC", "power law", level), rows)
    goal = min(0.99, round(float(curve.predict([4 * size])[0]), 2))
    needed, validation = curve.items_needed(auc=goal), curve.validation_items(auc=max(0.5, float(curve.values[-1])))
    answer.line(f"To develop a model with an AUC of {goal:g}: {needed}.")
    answer.line(f"To validate a finished model with an interval of ± 0.05: {counted(validation, 'new item')}.")
    rows_of = zip(curve.sizes.tolist(), curve.values.tolist(), strict=True)
    facts: dict[str, Any] = {"unit": curve.unit, "values": [{"size": n, "auc": value} for n, value in rows_of]}
    facts |= {"law": dict(zip("abc", curve.law, strict=True)), "validation_items": validation}
    ends = {name: value if value < float("inf") else None for name, value in vars(needed).items() if name != "unit"}
    answer.fact("learning_curve", {**facts, "needed": {"auc": goal, **ends}})


# AUC answer -----------------------------------------------------------------------------------------------------------
#
# The output of ``kernelrank auc``: facts, a table, a page.

SPECIFICITIES = (0.9, 0.95)
"""Where the sensitivity is given."""


def auc_page(
    answer: Answer,
    estimate: AUCEstimate,
    curve: TournamentROC | None,
    test: PermutationTest | None,
    model: Any,
    cohort: Cohort,
    items: Items,
    comparisons: list[NamedComparison],
) -> Any:
    """Make the page of an estimate."""
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


def answer_auc(
    answer: Answer,
    estimate: AUCEstimate,
    curve: TournamentROC | None,
    test: PermutationTest | None,
    cohort: Cohort,
    items: Items,
    *,
    nested: bool,
) -> None:
    """Add an AUC estimate, its permutation test and its ROC curve to the answer."""
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
        rows.append(("p-value", f"{pvalue(test.pvalue)} ({how})"))
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
        ("alpha", "chosen in every training set" if nested else "as given"),
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


# AUC rivals -----------------------------------------------------------------------------------------------------------
#
# What ``kernelrank auc`` compares its model with: a marker of the table, or a model of some covariates.


@dataclass(frozen=True, eq=False)
class NamedComparison:
    """A comparison of two AUCs, with the names of both sides."""

    option: str
    first: str
    second: str
    found: AUCComparison

    def show(self, answer: Answer) -> None:
        """Add the comparison to an answer, as a table and as facts."""
        found = self.found
        sides = ((self.first, found.first), (self.second, found.second))
        low, high = found.interval
        level, _ = found.interval._fact()
        rows = [(name, f"{side.auc:.3f}", side.interval._fact()[1], "") for name, side in sides]
        rows.append(("difference", f"{found.difference:+.3f}", f"{low:+.3f} to {high:+.3f}", pvalue(found.pvalue)))
        answer.table(f"{self.first} versus {self.second}", ("", "AUC", level, "p"), rows)
        facts: dict[str, Any] = {
            place: {"name": name, "auc": side.auc, "low": side.interval.low, "high": side.interval.high}
            for place, (name, side) in zip(("first", "second"), sides, strict=True)
        }
        facts |= {"difference": found.difference, "low": low, "high": high, "confidence": found.interval.level}
        if self.option == "versus" and found.second.auc < 0.5:
            turned = self.second[1:] if self.second.startswith("-") else f"-{self.second}"
            answer.note(
                f"high values of {self.second} go with the negative class here. If you expected that before "
                f"seeing the data, --versus={turned} compares its low values"
            )
        answer.fact(self.option, facts | {"pvalue": found.pvalue, "interval": found.interval.method})


@dataclass(frozen=True)
class Rivals:
    """The options --versus and --covariates."""

    marker: str | None = None
    covariates: tuple[str, ...] = ()

    @classmethod
    def read(cls, versus: str | None, covariates: str | None) -> Rivals:
        """Parse the options --versus and --covariates."""
        from kernelrank.errors import InvalidInputError

        names = tuple(name.strip() for name in (covariates or "").split(",") if name.strip())
        if covariates is not None and not names:
            raise InvalidInputError("--covariates: expected columns separated by commas, such as age,sex; got nothing")
        if versus is not None and not versus.strip():
            raise InvalidInputError("--versus: expected the name of a column; got nothing")
        return cls(versus, names)

    def __bool__(self) -> bool:
        return self.marker is not None or bool(self.covariates)

    def features(self, features: str | None) -> str | None:
        """Return the value of --features, extended by the columns that the model is compared with."""
        if features is None or all(name.strip().startswith("!") for name in features.split(",")):
            return features
        named = [name.strip() for name in features.split(",")]
        wanted = [*self.covariates, *([] if self.marker is None else [self.marker.removeprefix("-")])]
        return ",".join([*named, *(name for name in wanted if name not in named)])

    def take_marker(self, items: Items) -> tuple[Items, Any]:
        """Return the items without the column of the marker, and its values; None if there is none."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        if self.marker is None:
            return items, None
        sign = 1.0
        name = self.marker
        if name not in items.column_names and name.startswith("-"):
            sign, name = -1.0, name[1:]
        column = _column(items, name, "--versus")
        if items.n_features == len(column):
            raise InvalidInputError(
                f"{items.path}: no feature column is left after removing the column {name!r} of --versus"
            )
        if name not in items.column_names:
            raise InvalidInputError(f"{items.path}: --versus: expected a column of numbers; {name!r} has categories")
        values = items.X[:, [items.column_names.index(name)]]
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64).ravel()
        kept = np.setdiff1d(np.arange(items.n_features), column)
        names = tuple(items.column_names[number] for number in kept)
        filled = None if items.filled is None else items.filled[:, kept]
        return replace(items, X=items.X[:, kept], feature_names=names, filled=filled), sign * values

    def require_pairs(self, method: str, n_pairs: int) -> None:
        """Raise an error for a comparison where the pairs are not held out."""
        from kernelrank.errors import InvalidInputError

        if self and method != "leave_pair_out":
            option = "--covariates" if self.marker is None else "--versus"
            raise InvalidInputError(
                f"{option} needs leave-pair-out, which is slow with a choice of alpha for "
                f"{counted(n_pairs, 'pair')}. Give one --alpha, or --cv leave_pair_out if you can wait"
            )

    def compare(
        self,
        estimator_of: Callable[[Any], Any],
        X: Any,
        y: Any,
        items: Items,
        marker: Any,
        **options: Any,
    ) -> list[NamedComparison]:
        """Compare the model of all columns with the marker, and with a model of the covariates.

        Shapes: marker (m,).
        """
        from kernelrank.errors import InvalidInputError
        from kernelrank.model_selection import compare_auc

        found = []
        if self.marker is not None:
            with working(f"comparing with {self.marker}"):
                comparison = compare_auc(estimator_of(X), marker, X, y, **options)
            found.append(NamedComparison("versus", "model", self.marker, comparison))
        if self.covariates:
            columns = sorted({number for name in self.covariates for number in _column(items, name, "--covariates")})
            if len(columns) == items.n_features:
                raise InvalidInputError(
                    f"{items.path}: --covariates names all feature columns: leave at least one out, so that "
                    "there is something to compare"
                )
            part = X[:, columns]
            with working("comparing with the covariates alone"):
                comparison = compare_auc(estimator_of(X), estimator_of(part), (X, part), y, **options)
            found.append(NamedComparison("covariates", "model", f"model of {', '.join(self.covariates)}", comparison))
        return found


def _column(items: Items, name: str, option: str) -> list[int]:
    """Return the numbers of the columns that a column of the file became: its categories, and where it is missing."""
    import difflib

    from kernelrank.errors import InvalidInputError

    own = (name, f"{name} is missing")
    known = items.column_names
    found = [number for number, made in enumerate(known) if made in own or made.startswith(f"{name}=")]
    if found:
        return found
    close = difflib.get_close_matches(name, items.column_names, n=1)
    hint = f" (is it {close[0]!r}?)" if close else ""
    shown = ", ".join(map(repr, items.column_names[:10])) + (", ..." if items.n_features > 10 else "")
    raise InvalidInputError(
        f"{items.path}: {option} names {name!r}, which is not a feature column{hint}; these are {shown}"
    )


# Cohort ---------------------------------------------------------------------------------------------------------------
#
# Two classes of items, as ``kernelrank auc`` reads them.


@dataclass(frozen=True, eq=False)
class Cohort:
    """Two classes of items.

    Shapes: X (m, n_features), y (m,), y01 (m,), groups (m,).
    """

    X: Any
    y: Any
    y01: Any
    groups: Any
    positive: Any
    reason: str

    @classmethod
    def of(cls, items: Items, learner: LearnerOptions, answer: Answer) -> Cohort:
        """Scale the columns if requested, and give the classes their names."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        for what, values in (("queries", items.qid), ("weights of items", items.weight)):
            if values is not None:
                answer.note(f"{what} are ignored: every positive item is compared once with every negative one")
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
        answer.note(
            "no p-value: a permutation exchanges classes between groups of the same size, and no two groups have "
            "the same size"
        )
        return False

    def can_be_drawn(self, answer: Answer) -> bool:
        """Whether the tournament can be played: with three items, or groups, of each class."""
        from kernelrank.metrics.roc import TwoClasses, check_groups, shared_groups

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


# Inside ---------------------------------------------------------------------------------------------------------------
#
# ``kernelrank auc --inside``: imputation and scaling are repeated in every training set.

AS_WIDE = "its width was computed with columns imputed and scaled once, for all training sets"


def _prepared_inside(items: Items, learner: LearnerOptions, estimator: BaseEstimator) -> tuple[Any, Any]:
    """Return a pipeline that fills, scales and learns, and the columns that it takes: NaN where a number is missing.

    A category that a training set does not have is a column of zeros there, so that categories need nothing anew.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline

    from kernelrank.errors import InvalidInputError

    steps: list[tuple[str, Any]] = []
    X = items.X
    if items.filled is not None and items.preparation is not None:
        steps.append(("fill", SimpleImputer(strategy=items.preparation.missing, keep_empty_features=True)))
        X = np.where(items.filled, np.nan, X)
    if learner.scale:
        steps.append(("scale", clone(learner.scaler(items.X))))
    if not steps:
        raise InvalidInputError(
            "--inside has no effect: there is nothing to impute or scale. Remove it, or add --scale"
        )
    return Pipeline([*steps, ("rank", estimator)]), X


def estimated_inside(
    answer: Answer,
    items: Items,
    learner: LearnerOptions,
    estimator: BaseEstimator,
    cohort: Cohort,
    common: dict[str, Any],
    *,
    with_roc: bool,
) -> tuple[AUCEstimate, TournamentROC | None]:
    """Refit a preparation and its learner without every pair.

    A jackknife of refits would take hours, so the interval is that of the estimate with columns that were prepared
    once, moved to this one.
    """
    from kernelrank.model_selection import estimate_auc, tournament_roc

    pipeline, X = _prepared_inside(items, learner, estimator)
    answer.note(
        "for the AUC and its curve, columns were imputed and scaled inside every training set; "
        "permutations and comparisons use columns imputed and scaled once"
    )
    once, y = estimate_auc(estimator, cohort.X, cohort.y, **common), cohort.y
    options = {**common, "interval": "components"}
    m = len(y)
    n_pairs = m * (m - 1) // 2 if with_roc else once.n_pairs
    with working(f"preparing columns and choosing alpha without {counted(n_pairs, 'pair')}"):
        if not with_roc:
            found = estimate_auc(pipeline, X, y, **options)
            return replace(found, interval=moved(once, found.auc)), None
        curve = tournament_roc(pipeline, X, y, **options)
    curve = replace(
        curve,
        estimate=replace(curve.estimate, interval=moved(once, curve.auc)),
        leave_pair_out=replace(curve.leave_pair_out, interval=moved(once, curve.leave_pair_out.auc)),
    )
    return curve.leave_pair_out, curve


def moved(once: AUCEstimate, auc: float) -> Interval:
    """Move an interval to another estimate, with the same width on the logit scale; unchanged at 0 and 1."""
    from scipy.special import expit, logit

    low, high = once.interval
    method = f"{once.interval.method}; {AS_WIDE}"
    if not 0.0 < low < once.auc < high < 1.0 or not 0.0 < auc < 1.0:
        return replace(once.interval, low=min(low, auc), high=max(high, auc), method=method)
    below, above = logit(low) - logit(once.auc), logit(high) - logit(once.auc)
    return replace(
        once.interval, low=float(expit(logit(auc) + below)), high=float(expit(logit(auc) + above)), method=method
    )
