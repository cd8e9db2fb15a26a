"""``kernelrank tune``: choose alpha and kernel parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from kernelrank import persistence
from kernelrank.cli import options
from kernelrank.cli.answer import Answer, check_file, check_page, counted, setting_rows
from kernelrank.cli.options import (
    DEFAULT_MEASURES,
    REFITTED,
    LearnerOptions,
    MeasureRules,
    check_kernel_options,
    facts_of,
    grouped,
    interval_lines,
    joined,
    only,
    read_alphas,
    read_gammas,
    read_grid,
    row_of,
    scaled,
    without,
)
from kernelrank.cli.searches import (
    Search,
    answer_nested_times,
    for_times,
    kernel_settings,
    nested_times,
    search_exactly,
    search_folds,
    search_on_file,
    times_page,
    tune_preferences,
)
from kernelrank.cli.sources import (
    Judgement,
    PreferenceFile,
    SourceFile,
    command_line,
    fold_file,
    fold_part,
    folds_in,
    for_model,
    is_fold,
    measured,
    save_model,
    scores_of,
    speaking_of,
)

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.metrics import Measure

# Optional value -------------------------------------------------------------------------------------------------------
#
# An option whose value may be omitted: ``--scale`` is ``--scale columns``.

VALUES = ("columns", "query")


class ScaleCommand(TyperCommand):
    """A command whose ``--scale`` may omit its value, which is then the first one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default value after each ``--scale`` that has none."""
        given: list[str] = []
        for word, following in zip(args, [*args[1:], ""], strict=True):
            given.append(word)
            if word == "--scale" and following not in VALUES:
                given.append(VALUES[0])
        rest: list[str] = super().parse_args(ctx, given)
        return rest


# Tune -----------------------------------------------------------------------------------------------------------------

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command(cls=ScaleCommand)
@grouped
def tune(
    *,
    train: Annotated[
        Path,
        typer.Argument(
            help="Training file, a LETOR fold (tuned on its vali.txt), or a folder of folds (each is tuned)."
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Model file to write.")] = None,
    alphas: Annotated[
        str,
        typer.Option(
            "--alphas",
            help="Values of alpha to try: a list 0.1,1,10, a range 2^-15:2^15 or 0.01:1000:6, or auto (a grid that "
            "fits the scale of the data).",
        ),
    ] = "auto",
    kernels: Annotated[str, typer.Option("--kernels", help="Kernels to try, separated by commas.")] = "linear",
    gammas: Annotated[
        str | None,
        typer.Option(
            "--gammas", help="Values of gamma to try: numbers such as 0.01,0.1,1, or the rules scale and median."
        ),
    ] = None,
    degrees: Annotated[str | None, typer.Option("--degrees", help="Degrees of the polynomial kernel to try.")] = None,
    measure: Annotated[
        str, typer.Option("--scoring", "--measure", "-m", help="Measure to choose alpha by.")
    ] = "pairwise_accuracy",
    cv: Annotated[
        str,
        typer.Option(
            "--cv", help="Cross-validation: leave_query_out, leave_pair_out, leave_one_out, or a number of folds."
        ),
    ] = "auto",
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help="Also run nested cross-validation: alpha is chosen without the query that is measured, or with --time "
            "without each of five folds.",
        ),
    ] = False,
    report: options.Report = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="File of preferences (A is better than B) to learn from instead of scores. Judges, if there are any, "
            "are held out one at a time.",
        ),
    ] = None,
    votes: PreferenceFile,
    learner: Annotated[LearnerOptions, without("kernel", "gamma", "degree", "scale")],
    scale: Annotated[
        Literal["columns", "query"] | None,
        options.option("Model")(
            "Standardise the columns (--scale alone does this too; the scaler is saved with the model), or scale "
            "them to 0 to 1 inside each query, as for LETOR."
        ),
    ] = None,
    rules: Annotated[MeasureRules, only("discount", "empty", "relevant_from", "trec")],
    source: SourceFile,
    as_json: options.AsJSON = False,
) -> None:
    """Choose alpha and kernel parameters by cross-validation, and save the model.

    rankrls and rls hold out every query (or every pair, if there are no queries) exactly, for all alphas at the
    cost of about one training; ranksvm and bradley_terry refit folds. In a LETOR fold the model is chosen on
    vali.txt and measured on test.txt; a folder of folds gives the mean over all of them, and intervals over all test
    queries.

    kernelrank tune train.txt -o model.kr --report report.html

    kernelrank tune patients.csv --target outcome --kernels linear,rbf --scale

    kernelrank tune train.txt --nested

    kernelrank tune OHSUMED/ --measure ndcg@10

    kernelrank tune OHSUMED/ --scale query --measure map --report folds.html

    kernelrank tune items.csv --pairs votes.csv -o model.kr

    kernelrank tune patients.csv --time months --event died --nested
    """
    from kernelrank.errors import InvalidInputError

    answer = Answer("tune", as_json=as_json)
    check_file(output, [train])
    check_page(report, [train])
    if output is not None and report is not None and output.resolve() == report.resolve():
        raise InvalidInputError(f"{output}: is both the model and the report: give two different file names")
    source = source.with_times().at(train)
    if source.event is not None:
        measure, cv = for_times(measure, cv, learner.method, source.strata, pairs=pairs is not None)
    measures = list(dict.fromkeys(rules.measures([measure, *DEFAULT_MEASURES])))
    if scale == "query" and (output is not None or pairs is not None):
        raise InvalidInputError(
            "Expected --scale query without --output and --pairs; got one of them. A model cannot scale new items by "
            "their query: scale the file first to save a model."
        )
    names = [name.strip() for name in kernels.split(",")]
    check_kernel_options(names, gammas=gammas, degrees=degrees, coef0=learner.coef0)
    plan = Plan(
        replace(learner, scale=scale == "columns"),
        read_alphas(alphas),
        kernel_settings(
            names,
            read_gammas(gammas),
            [] if degrees is None else read_grid(degrees, "--degrees"),
        ),
        rules,
        measures,
        measure,
        int(cv) if cv.isdecimal() else cv,
        scale == "query",
    )
    plan.learner.parameters()
    file = votes.at(pairs)
    plan.learner.check_votes(pairs=pairs is not None, judge=False)
    if file is not None:
        if nested or report is not None or cv != "auto" or measure != "pairwise_accuracy":
            raise InvalidInputError(
                "--pairs is evaluated on held-out preferences: remove --cv, --measure, --nested and --report"
            )
        found = tune_preferences(answer, plan.learner, plan.alphas, plan.settings, source, file, output)
        answer_candidates(answer, found)
        if output is None:
            answer.line("No model was saved; --output saves it.")
        answer.saved(model=output)
        answer.show()
        return
    _tune_files(answer, plan, source, output, report, nested=nested)
    answer.show()


def _tune_files(
    answer: Answer, plan: Plan, source: SourceFile, output: Path | None, report: Path | None, *, nested: bool
) -> None:
    """Choose on one file, or in every fold of a folder."""
    from kernelrank.errors import InvalidInputError

    folds = folds_in(source.path)
    if nested and (folds or plan.learner.method in REFITTED or (isinstance(plan.cv, int) and source.event is None)):
        raise InvalidInputError(
            "--nested needs --method rankrls or rls and one data file, with leave-query-out, leave-pair-out or "
            "leave-one-out; LETOR folds have their own test set"
        )
    if folds and not is_fold(source.path):
        if output is not None:
            raise InvalidInputError(
                f"{source.path}: a folder of folds gives one model per fold: give one fold to save its model"
            )
        _tune_folds(answer, plan, source, folds, report)
    else:
        _tune_one(answer, plan, source, output, report, nested=nested)


def _tune_one(
    answer: Answer, plan: Plan, source: SourceFile, output: Path | None, report: Path | None, *, nested: bool
) -> None:
    """Choose on one file or one fold."""
    inside: Any = None
    if is_fold(source.path):
        found, items, model, test = _tune_fold(answer, plan, source)
    else:
        items, test = plan.scaled(source.at(fold_part(source.path, "train")).read_groups(answer)), None
        scaler = plan.learner.scaler(items.X)
        if items.groups is not None and items.qid is None and plan.cv in ("leave_pair_out", "leave_one_out"):
            answer.note(f"--cv {plan.cv} ignores groups; a number of folds keeps groups together")
        with answer.noting_warnings(), speaking_of(items):
            found = plan.search(scaled(scaler, items.X), items)
            if source.event is not None and (nested or report is not None):
                inside = nested_times(found.model, scaled(scaler, items.X), items, plan.learner.seed)
            elif nested:
                inside = plan.nested(found, scaled(scaler, items.X), items)
        model = joined(scaler, found.model)
    page = None
    if report is not None:
        timed = source.event is not None and test is None
        page = (
            times_page(answer, inside, found.model, items, source.target or "time")
            if timed
            else tuning_page(answer, found, model, items, test, plan)
        )
    if output is not None:
        save_model(model, output, items, source, chosen=found.how, candidates=len(found.candidates))
    if report is not None and page is not None:
        page.save(report)
    answer.fact("data", str(items.path))
    answer.fact("held_out", found.how)
    answer.fact("measure", found.measure)
    answer.table("Chosen", ("", ""), setting_rows(model, items))
    answer_candidates(answer, found)
    if source.event is not None and inside is not None:
        answer_nested_times(answer, inside)
    elif isinstance(inside, float):
        answer.fact("nested", {"measure": "pairwise accuracy", "mean": inside})
        answer.line(f"Nested, alpha chosen without each pair: {inside:.4f} of the pairs in the right order.")
    elif inside is not None:
        what = "query" if items.qid is not None else "item"
        title = f"Nested: alpha chosen without each {what}"
        answer_tests(answer, plan, title, [(str(items.path), items, inside)], name="nested")
    if test is not None:
        answer.fact("test", plan.value(model, test))
        answer_tests(answer, plan, f"Test queries of {test.path}", [(items.path, test, scores_of(model, test.X))])
    if output is None:
        answer.line("No model was saved; --output saves it.")
    answer.saved(model=output, report=report)


def _tune_fold(answer: Answer, plan: Plan, source: SourceFile) -> tuple[Search, Items, Any, Items | None]:
    """Choose on the vali.txt of a fold; without one, by holding out from its train.txt."""
    fold = source.path
    items = plan.scaled(source.at(fold_part(fold, "train")).read_groups(answer))
    scaler = plan.learner.scaler(items.X)
    X = scaled(scaler, items.X)
    with answer.noting_warnings(), speaking_of(items):
        vali = fold_file(fold, "vali")
        if vali is not None:
            found = _search_on_vali(answer, plan, source.at(vali), items, scaler)
        else:
            found = plan.search(X, items)
    model = joined(scaler, found.model)
    test, file = None, fold_file(fold, "test")
    if file is not None:
        test = plan.scaled(for_model(replace(source.at(file), preparation=items.preparation), model).read(answer))
    return found, items, model, test


def _search_on_vali(answer: Answer, plan: Plan, source: SourceFile, items: Items, scaler: Any) -> Search:
    vali = plan.scaled(replace(source, n_features=items.n_features, preparation=items.preparation).read(answer))
    X_vali = scaled(scaler, vali.X)

    def score(model: Any) -> float:
        return plan.sign * plan.value(model, vali, X_vali)

    return search_on_file(
        plan.learner,
        scaled(scaler, items.X),
        items,
        plan.alphas,
        plan.settings,
        name=source.path.name,
        measure=plan.measure,
        score=score,
    )


def _tune_folds(answer: Answer, plan: Plan, source: SourceFile, folds: list[Path], report: Path | None) -> None:
    """Choose in every fold of a folder, and average what the test sets say."""
    import numpy as np

    from kernelrank.base.progress import track

    found, chosen, tests = [], [], []
    for fold in track(folds, len(folds), "folds"):
        search, _, model, test = _tune_fold(answer, plan, source.at(fold))
        value = None
        if test is not None:
            value = plan.value(model, test)
            tests.append((fold.name, test, scores_of(model, test.X)))
        chosen.append(search.best)
        found.append({"fold": fold.name, **search.best, "how": search.how, "test": value})
    answer.fact("measure", plan.measure.name)
    answer.fact("folds", found)
    tested = [one["test"] for one in found if one["test"] is not None]
    columns = parameter_names(chosen)
    rows = [
        [
            one["fold"],
            *(shown_value(one.get(name)) for name in columns),
            f"{one['score']:.4f}",
            shown_or_dash(one["test"]),
        ]
        for one in found
    ]
    held = found[0]["how"]
    answer.table(plan.rules.label_of(plan.measure), ("fold", *columns, held, "test.txt"), rows)
    if tested:
        answer.fact("mean", float(np.mean(tested)))
        answer.line(f"Mean over the test sets of {len(tested)} folds: {np.mean(tested):.4f}")
        answer_tests(answer, plan, f"Test queries of {counted(len(tested), 'fold')} together", tests)
    if report is not None:
        fold_page(answer, plan, source, found, tests).save(report)
        answer.saved(report=report)


# Tuning plan ----------------------------------------------------------------------------------------------------------
#
# The plan of ``kernelrank tune``: which learners are tried, how they are held out and measured.


@dataclass(frozen=True)
class Plan:
    """Which candidates are tried, and how they are measured."""

    learner: LearnerOptions
    alphas: str | list[float]
    settings: list[dict[str, Any]]
    rules: MeasureRules
    measures: list[Measure]
    measure_name: str
    cv: str | int
    by_query: bool = False

    @property
    def measure(self) -> Measure:
        """The measure by which candidates are compared."""
        return self.measures[0]

    def scaled(self, items: Items) -> Items:
        """Return the items with their columns scaled inside queries, if requested."""
        from kernelrank.data.letor import scale_items_by_query

        return scale_items_by_query(items) if self.by_query else items

    def value(self, model: Any, items: Items, X: Any = None) -> float:
        """Measure a model on scored items, or on their columns as they are given."""
        from kernelrank.errors import FileFormatError, InvalidInputError

        scores = scores_of(model, items.X if X is None else X)
        judgement = Judgement(str(items.path), items.y, scores, items.qid, items.ids)
        try:
            return float(judgement.measure(self.measure, self.rules).mean)
        except InvalidInputError as error:
            raise FileFormatError(str(error), items.path) from error

    @property
    def sign(self) -> int:
        """The factor that makes higher values better: -1 for an error measure."""
        return 1 if self.measure.higher_is_better else -1

    def search(self, X: Any, items: Items) -> Search:
        """Choose by cross-validation on one file."""
        from kernelrank.errors import InvalidInputError

        if self.learner.method not in REFITTED:
            by_query = self.cv == "leave_query_out" or (self.cv == "auto" and items.qid is not None)
            if by_query and (items.n_queries or 0) < 2:
                raise InvalidInputError(
                    f"Expected at least two queries to hold out one at a time; got {items.n_queries or 'none'}. Name "
                    "the column of the queries by --query, or use --cv leave_pair_out."
                )
            squares = self.learner.method == "rls" and self.measure_name == "pairwise_accuracy"
            scoring = None if squares else self.measure
            found = search_exactly(self.learner, X, items, self.alphas, self.settings, cv=self.cv, scoring=scoring)
            if not squares:
                found.model.set_params(scoring=self.measure_name)  # a model file holds names, not measures
            return found
        folds = 5 if self.cv == "auto" else self.cv
        if not isinstance(folds, int):
            raise InvalidInputError(
                f"--cv {folds} is exact for rankrls and rls; for {self.learner.method} give a number of folds"
            )
        return search_folds(self.learner, X, items, self.alphas, self.settings, folds=folds, measure=self.measure)

    def nested(self, found: Search, X: Any, items: Items) -> Any:
        """Run nested cross-validation: return held-out scores, or for pairs the share in the right order."""
        from sklearn.base import clone

        from kernelrank.errors import InvalidInputError
        from kernelrank.model_selection import leave_one_out, leave_pair_out, leave_query_out

        search = clone(found.model)
        if not isinstance(search.cv, str):
            raise InvalidInputError("--nested holds out queries, pairs or items; groups are held out in folds")
        if items.qid is not None and search.cv in ("auto", "leave_query_out"):
            return leave_query_out(search, X, items.y, items.qid, sample_weight=items.weight)
        if search.cv == "leave_pair_out" or (search.cv == "auto" and search._without_queries == "leave_pair_out"):
            return float(leave_pair_out(search, X, items.y, differences=False, sample_weight=items.weight).accuracy)
        return leave_one_out(search, X, items.y, sample_weight=items.weight)


# Tuning answer --------------------------------------------------------------------------------------------------------
#
# The output of ``kernelrank tune``: candidates, test sets, a page.

SHOWN = 12
"""How many candidates people see; programs see all."""

SCALED = "columns were scaled by the training items: weights, deviations and values are those of scaled columns"


def answer_candidates(answer: Answer, found: Search) -> None:
    """Add the best candidates of a search to the answer."""
    answer.fact("best", found.best)
    answer.fact("candidates", found.candidates)
    answer.table(f"The best of {len(found.candidates)}, {found.how}", *_candidate_table(found))


def _candidate_table(found: Search) -> tuple[list[str], list[list[str]]]:
    columns = parameter_names(found.candidates)
    best = sorted(found.candidates, key=lambda candidate: -candidate["score"])[:SHOWN]
    rows = [[*(shown_value(one.get(name)) for name in columns), f"{one['score']:.4f}"] for one in best]
    return [*columns, found.measure], rows


def parameter_names(candidates: list[dict[str, Any]]) -> list[str]:
    """Return the parameters that some candidate has, the kernel first and alpha last."""
    known = {name: None for candidate in candidates for name in candidate}
    between = [name for name in known if name not in ("kernel", "alpha", "score")]
    return [*(["kernel"] if "kernel" in known else []), *between, "alpha"]


def shown_value(value: Any) -> str:
    """Return a parameter for a table: four digits, large numbers to the unit."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.4g}"


def answer_tests(
    answer: Answer, plan: Plan, title: str, tests: list[tuple[str, Items, Any]], name: str = "test_measures"
) -> None:
    """Measure the queries of all test sets by the measure that chose alpha and by the usual ones."""
    judgement, rules = Judgement.of_sets(tests), plan.rules
    pairs = measured(answer, plan.measures, lambda one: judgement.measure(one, rules), asked=False)
    found = [
        facts_of(result, one, confidence=0.95, seed=plan.learner.seed, by_query=False, rules=rules)
        for one, result in pairs
    ]
    answer.fact(name, found)
    answer.table(title, ("measure", "mean", "95% interval", "queries", "left out"), [row_of(one) for one in found])
    for one, _ in pairs:
        answer.line(rules.label_of(one), style="dim")
    for line in interval_lines(found):
        answer.line(line, style="dim")
    labels = [label for _, items, _ in tests for label in set([] if items.qid is None else items.qid.tolist())]
    if len(set(labels)) < len(labels):
        answer.note("several test sets have queries with the same name; the intervals treat them as different queries")


def shown_or_dash(value: float | None) -> str:
    """Return a measured value for a table."""
    return "-" if value is None else f"{value:.4f}"


def fold_page(answer: Answer, plan: Plan, source: SourceFile, found: list[dict[str, Any]], tests: Any) -> Any:
    """Make the page of the folds of a folder."""
    from kernelrank.errors import InvalidInputError
    from kernelrank.report import folds_report

    if not tests:
        raise InvalidInputError(f"{source.path}: Expected a test.txt in at least one fold for --report; found none.")
    judgement = Judgement.of_sets(tests).placed(plan.rules)
    notes = [*answer.notes]
    if plan.by_query:
        notes.append("columns were scaled to 0 to 1 inside each query")
    if plan.rules.trec:
        notes.append("items were first sorted by descending item name, as trec_eval orders tied items")
    with answer.noting_warnings():
        return folds_report(
            found,
            judgement.y,
            judgement.scores,
            qid=judgement.qid,
            X=_features_of([items for _, items, _ in tests]),
            feature_names=tests[0][1].column_names,
            measures=plan.measures,
            title=f"Ranking of {source.path}",
            command=command_line(),
            notes=notes,
            random_state=plan.learner.seed,
        )


def _features_of(sets: list[Items]) -> Any:
    """Put the features of several sets below each other; None where their numbers of columns differ."""
    import numpy as np
    from scipy.sparse import issparse, vstack

    matrices = [items.X for items in sets]
    if len({matrix.shape[1] for matrix in matrices}) > 1:
        return None
    return vstack(matrices, format="csc") if issparse(matrices[0]) else np.concatenate(matrices)


def tuning_page(answer: Answer, found: Search, model: Any, items: Items, test: Items | None, plan: Plan) -> Any:
    """Make the page of a search."""
    from kernelrank.report import ranking_report

    if items.groups is not None and items.qid is None and test is None:
        answer.note("the report uses leave-pair-out and ignores groups; kernelrank auc keeps groups together")
    # The ranker alone, on scaled columns, has exact hold-outs; a pipeline would be refitted.
    scaler = model.steps[0][1] if hasattr(model, "steps") else None
    with answer.noting_warnings():
        return ranking_report(
            persistence.final_step(model),
            scaled(scaler, items.X),
            items.y,
            qid=items.qid,
            ids=items.ids,
            feature_names=items.column_names,
            test=None if test is None else (scaled(scaler, test.X), test.y, test.qid, test.ids),
            alpha_curve=_curve(found),
            measures=plan.measures,
            title=f"Ranking of {items.path}",
            command=command_line(),
            notes=[*answer.notes, *([] if scaler is None else [SCALED])],
        )


def _curve(found: Search) -> Any:
    """Return the scores over alpha of the kernel that was chosen; None where the model keeps them, or there is one."""
    from kernelrank.report import AlphaCurveDisplay

    if hasattr(found.model, "cv_results_"):
        return None
    varied = ("alpha", "score")
    kernel = {name: value for name, value in found.best.items() if name not in varied}
    alike = [one for one in found.candidates if {k: v for k, v in one.items() if k not in varied} == kernel]
    if len(alike) < 2:
        return None
    return AlphaCurveDisplay(
        [one["alpha"] for one in alike],
        [one["score"] for one in alike],
        name=found.how if found.how.startswith("on ") else f"by {found.how}",
        score_name=f"{found.measure} {found.how}" if found.how.startswith("on ") else f"hold-out {found.measure}",
        best_alpha=found.best["alpha"],
    )
