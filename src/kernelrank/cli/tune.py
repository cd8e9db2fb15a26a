"""``kernelrank tune``: choose alpha and kernel parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from kernelrank import persistence
from kernelrank.base.progress import working
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    AUTO,
    DEFAULT_MEASURES,
    KERNELS_WITH,
    METRIC,
    REFITTED,
    Answer,
    LearnerOptions,
    MeasureRules,
    check_file,
    check_kernel_options,
    check_page,
    counted,
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
    setting_rows,
    without,
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
from kernelrank.cli.unscored import UnscoredFile, tune_unscored, with_unscored
from kernelrank.cli.vote_effects import answer_effects

if TYPE_CHECKING:
    from kernelrank.data import Items, Preferences
    from kernelrank.metrics import Measure
    from kernelrank.model_selection import ConcordanceEstimate
    from kernelrank.model_selection.preferences import PreferenceHoldout

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
    kernels: Annotated[
        str,
        typer.Option(
            "--kernels",
            help="Kernels to try, separated by commas. auto: linear, Gaussian and Laplacian ones of standardised "
            "columns, each with some gammas. metric: the same, with weights of the columns that are learnt.",
        ),
    ] = "linear",
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
    report: shared.Report = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="File of preferences (A is better than B) to learn from instead of scores. Judges, if there are any, "
            "are held out one at a time.",
        ),
    ] = None,
    votes: PreferenceFile,
    unscored: UnscoredFile = None,
    learner: Annotated[LearnerOptions, without("kernel", "gamma", "degree", "scale")],
    scale: Annotated[
        Literal["columns", "query"] | None,
        shared.option("Model")(
            "Standardise the columns (--scale alone does this too; the scaler is saved with the model), or scale "
            "them to 0 to 1 inside each query, as for LETOR."
        ),
    ] = None,
    rules: Annotated[MeasureRules, only("discount", "empty", "relevant_from", "trec")],
    source: SourceFile,
    as_json: shared.AsJSON = False,
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
    if unscored is not None:
        others = {"--pairs": pairs, "--time": source.event, "--nested": nested, "--report": report}
        plan = with_unscored(plan, unscored, {**others, "a folder": train.is_dir(), "--scale query": plan.by_query})
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
    if plan.unscored is not None:
        how, candidates, items, model = tune_unscored(answer, plan, source, plan.unscored)
        found, test = Search(how, _score_name(plan.measure), candidates, persistence.final_step(model)), None
    elif is_fold(source.path):
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
    if plan.settings == [{"kernel": "linear"}] and items.column_names is not None and source.event is None:
        answer.note("only a linear kernel was tried; --kernels auto also tries Gaussian and Laplacian ones")
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
    unscored: Path | None = None

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
        return search_by_folds(self.learner, X, items, self.alphas, self.settings, folds=folds, measure=self.measure)

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


# Searches -------------------------------------------------------------------------------------------------------------
#
# The search for alpha and kernel parameters: by exact hold-out, by refitting folds, or on a validation file.


@dataclass
class Search:
    """All candidates with their scores, the best one, and its model fitted to all training items."""

    how: str
    measure: str
    candidates: list[dict[str, Any]] = field(default_factory=list)
    model: Any = None
    chosen: dict[str, Any] | None = None

    @property
    def best(self) -> dict[str, Any]:
        """The candidate that was chosen: unless given that with the highest score, the first of equals."""
        return self.chosen or max(self.candidates, key=lambda candidate: candidate["score"])


def kernel_settings(kernels: Sequence[str], gammas: Sequence[Any], degrees: Sequence[float]) -> list[dict[str, Any]]:
    """List the kernels to try, each with the parameters that it has."""
    settings = []
    for kernel in kernels:
        own_gammas = [{"gamma": gamma} for gamma in gammas] if kernel in KERNELS_WITH["gamma"] else []
        own_degrees = [{"degree": degree} for degree in degrees] if kernel in KERNELS_WITH["degree"] else []
        settings += [
            {"kernel": kernel, **gamma, **degree} for gamma in own_gammas or [{}] for degree in own_degrees or [{}]
        ]
    return settings


def search_exactly(
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    *,
    cv: str | int,
    scoring: str | Measure | None,
) -> Search:
    """Choose by an exact hold-out: RankRLSCV, RLSCV and RLSClassifierCV."""
    import numpy as np

    from kernelrank.errors import InvalidInputError

    learner = learner.of_items(items)
    folds = _folds_of_groups(items, cv if isinstance(cv, int) else 5) if cv == "auto" or isinstance(cv, int) else None
    given: dict[str, Any] = {} if scoring is None else {"scoring": scoring}
    learnt = {"kernel": METRIC} in settings
    if learnt and cv == "auto":
        cv = 5
    if learnt and not isinstance(cv, int):
        raise InvalidInputError(f"--kernels metric is judged by folds, without a shortcut: give --cv 5, not {cv}")
    model = learner.search(alphas, settings, cv=folds or cv, **given)
    model.fit(X, items.y, qid=items.qid, sample_weight=items.weight)
    results = model.cv_results_
    how = _words(cv, items, learner.method) if folds is None else f"{len(folds)} folds of groups held out exactly"
    if learnt:
        how = f"{len(folds or range(int(cv)))} folds, each with a metric that was learnt without it"
        if model.n_search_items_ < int(X.shape[0]):
            how += f", of {model.n_search_items_:,} items; then alpha and the basis by other items"
    loss = "wrong classes, negative" if learner.classes else "squared error, negative"
    found = Search(how, loss if scoring is None else _score_name(scoring), model=model)
    if learnt:  # a later round is chosen only where it is better by more than its standard error
        found.chosen = {**model.best_params_, "score": model.best_score_}
    for parameters, score in zip(results["params"], np.asarray(results["mean_test_score"]).tolist(), strict=True):
        found.candidates.append({**(settings[0] if len(settings) == 1 else {}), **parameters, "score": score})
    return found


def candidates_for(learner: LearnerOptions, X: Any, settings: list[dict[str, Any]]) -> tuple[Any, list[dict[str, Any]]]:
    """Return an estimator of one alpha and the kernels to try with it: those of auto for these items, by name."""
    from kernelrank.errors import InvalidInputError
    from kernelrank.kernels import Kernel
    from kernelrank.model_selection.search import auto_settings

    names, estimator = [one["kernel"] for one in settings], learner.estimator(1.0)
    if METRIC in names:
        raise InvalidInputError(
            "--kernels metric needs --method rankrls or rls, and chooses by folds of the training items; got another "
            "method, or a folder with vali.txt. Give train.txt, or --kernels auto"
        )
    if AUTO not in names:
        return estimator, settings
    kernel = Kernel("linear", root="variance").fixed(X)
    own = auto_settings(kernel, X, learner.seed)
    others = [one for one in settings if one["kernel"] != AUTO]
    return estimator.set_params(metric="variance"), [*own, *others]


def _folds_of_groups(items: Items, number: int) -> list[Any] | None:
    """Deal groups into folds, where there are groups and no queries; None elsewhere. Two classes go into every fold."""
    import numpy as np
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if items.groups is None or items.qid is not None or number < 2:
        return None
    y: Any = items.y
    classes = np.unique(y)
    if len(classes) != 2:
        number = min(number, len(np.unique(items.groups)))
        return list(GroupKFold(number).split(items.X, groups=items.groups))
    number = min(number, *(len(np.unique(items.groups[y == value])) for value in classes))
    return list(StratifiedGroupKFold(max(2, number)).split(items.X, y, groups=items.groups))


def _words(cv: str | int, items: Items, method: str) -> str:
    if isinstance(cv, int):
        return f"{cv} folds held out exactly"
    if cv == "auto":
        pairs = "leave_one_out" if method == "rls" else "leave_pair_out"
        cv = pairs if items.qid is None else "leave_query_out"
    return {
        "leave_pair_out": "every pair held out exactly",
        "leave_query_out": "every query held out exactly",
        "leave_one_out": "every item held out exactly",
    }[cv]


def search_by_folds(
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    *,
    folds: int,
    measure: Measure,
) -> Search:
    """Choose by refitting without each fold, for learners without a shortcut; queries, or else groups, stay whole."""
    from sklearn.model_selection import KFold

    from kernelrank.model_selection import QueryKFold, search_folds

    of_groups = _folds_of_groups(items, folds)
    if items.qid is not None:
        splits, noun = QueryKFold(min(folds, len(set(items.qid.tolist())))).split(X, groups=items.qid), "queries"
    elif of_groups is not None:
        splits, noun = iter(of_groups), "groups"
    else:
        splits, noun = KFold(folds, shuffle=True, random_state=learner.seed).split(X), "items"
    sets = [held for _, held in splits]
    known: dict[str, Any] = {"alphas": alphas, "qid": items.qid, "sample_weight": items.weight}
    estimator, settings = candidates_for(learner, X, settings)
    found = search_folds(estimator, X, items.y, sets, settings, measure=measure, **known)
    return Search(f"{len(sets)} folds of {noun}, refitted", _score_name(measure), found.candidates, found.model)


def search_on_file(
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    *,
    name: str,
    measure: Measure,
    score: Callable[[Any], Any],
) -> Search:
    """Choose by the measure on a validation file, such as LETOR's vali.txt; `score` takes a fitted model."""
    from kernelrank.model_selection import search_on_data

    known: dict[str, Any] = {"alphas": alphas, "qid": items.qid, "sample_weight": items.weight}
    estimator, settings = candidates_for(learner, X, settings)
    found = search_on_data(estimator, X, items.y, settings, score=score, **known)
    return Search(f"on {name}", _score_name(measure), found.candidates, found.model)


def _score_name(measure: str | Measure) -> str:
    """Name what is to be high; an error, such as the disagreement, is taken with its sign changed."""
    from kernelrank.metrics import get_measure

    name = measure if isinstance(measure, str) else measure.name
    return name if get_measure(measure).higher_is_better else f"{name}, negative"


# Preference tuning ----------------------------------------------------------------------------------------------------
#
# Choose alpha and the kernel by preferences that are held out: ``kernelrank tune --pairs``.


def tune_preferences(
    answer: Answer,
    learner: LearnerOptions,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    source: SourceFile,
    file: PreferenceFile,
    output: Path | None,
) -> Search:
    """Choose by a hold-out of every preference, or of every judge, fit, and show the agreement."""
    from kernelrank.errors import InvalidInputError

    if learner.method not in ("rankrls", "bradley_terry"):
        raise InvalidInputError(
            f"--pairs is tuned with --method rankrls or bradley_terry; got {learner.method}. Use fit for it"
        )
    items = source.read(answer, needs_target=False)
    preferences = file.between(items, answer)
    file.check_holdout(preferences)
    scaler = learner.scaler(items.X)
    X = scaled(scaler, items.X)
    likely = learner.method == "bradley_terry"
    given = _with_magnitudes(preferences)
    if likely:
        given = {**file.votes(preferences, "bradley_terry"), **file.effects(preferences, learner)}
    with answer.noting_warnings(), speaking_of(items):
        hold_out = _hold_out_likelihood if likely else _hold_out_exactly
        found, held_out = hold_out(learner, X, given, preferences.judge, alphas, settings)
    agreement = held_out.agreement
    model = joined(scaler, found.model)
    if output is not None:
        save_model(
            model, output, items, source, preferences=str(file.path), chosen=found.how, candidates=len(found.candidates)
        )
    interval = agreement.interval
    answer.add({"data": str(items.path), "preferences": str(file.path), "held_out": found.how})
    answer.fact("agreement", {"value": agreement.value, "low": interval.low, "high": interval.high})
    answer.table("Chosen", ("", ""), setting_rows(model, items))
    answer_effects(answer, model)
    if held_out.log_loss is not None:
        answer.fact("log_loss", held_out.log_loss)
        answer.line(f"Held out: log-loss {held_out.log_loss:.4f}.")
    answer.line(f"Held out: {agreement}.")
    return found


def _with_magnitudes(found: Preferences) -> dict[str, Any]:
    return {"pairs": found.pairs, "magnitude": found.magnitude, "weight": found.weight}


def _hold_out_exactly(
    learner: LearnerOptions,
    X: Any,
    given: dict[str, Any],
    judge: Any,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
) -> tuple[Search, PreferenceHoldout]:
    """Choose by the agreement with preferences that are held out, without refitting unless a metric is learnt."""
    import numpy as np
    from sklearn.base import clone

    from kernelrank.model_selection import leave_preferences_out

    search = learner.search(alphas, settings)
    search.fit_pairs(X, groups=judge, **given)
    how, learnt = f"every {'preference' if judge is None else 'judge'} held out", {"kernel": METRIC} in settings
    if learnt:  # nothing here has a shortcut: folds are held out by a search without them
        codes = np.arange(len(given["pairs"])) if judge is None else np.unique(judge, return_inverse=True)[1]
        folds = np.random.default_rng(learner.seed).permutation(codes.max() + 1)[codes] % 5
        held_out = leave_preferences_out(clone(search), X, groups=folds, **given)
        how = f"5 folds of {'preferences' if judge is None else 'judges'}, each with a metric learnt without it"
    else:
        chosen = search._learner({name: value for name, value in search.best_params_.items() if name != "alpha"})
        held_out = leave_preferences_out(chosen.set_params(alpha=search.alpha_), X, groups=judge, **given)
    table = search.cv_results_
    candidates = [
        {**setting, "score": float(score)}
        for setting, score in zip(table["params"], table["mean_test_score"], strict=True)
    ]
    best = {**search.best_params_, "score": search.best_score_} if learnt else None
    return Search(how, "agreement", candidates, search, best), held_out


def _hold_out_likelihood(
    learner: LearnerOptions,
    X: Any,
    given: dict[str, Any],
    judge: Any,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
) -> tuple[Search, PreferenceHoldout]:
    """Choose by the log-loss of preferences that are held out by refitting: judges, or ten folds."""
    import numpy as np

    from kernelrank.model_selection import leave_preferences_out, search_preferences

    groups, how, noun = judge, "every judge held out, refitted", "judge"
    if judge is None:
        groups = np.random.default_rng(learner.seed).permutation(len(given["pairs"])) % 10
        how, noun = "10 folds of preferences, refitted", "fold"
    if learner.ties == "davidson" and "tie" in given:
        _check_ties_remain(given, groups, noun)
    estimator, settings = candidates_for(learner, X, settings)
    found = search_preferences(estimator, X, groups=groups, settings=settings, alphas=alphas, **given)
    held_out = leave_preferences_out(found.best_of(estimator), X, groups=groups, **given)
    return Search(how, "log-loss, negative", found.candidates, found.model), held_out


def _check_ties_remain(given: dict[str, Any], groups: Any, noun: str) -> None:
    """Raise an error if all ties are held out together: a model that saw no tie gives them a probability of zero."""
    import numpy as np

    from kernelrank.errors import InvalidInputError

    counted = given["tie"] & (given["weight"] > 0) if "weight" in given else given["tie"]
    if len(set(np.asarray(groups)[counted].tolist())) == 1:
        raise InvalidInputError(
            f"--ties davidson needs ties of at least two {noun}s; found {int(counted.sum()):,}, of one {noun}, without "
            "which ties have a probability of zero. Use --ties half"
        )


# Survival tuning ------------------------------------------------------------------------------------------------------
#
# What ``kernelrank tune`` adds for censored times: a nested estimate of the concordance, and its page.


def for_times(measure: str, cv: str, method: str, strata: str | None, *, pairs: bool) -> tuple[str, str]:
    """Return the measure and the hold-out of censored times: the concordance, by strata or by ten folds of items."""
    from kernelrank.errors import InvalidInputError

    if method != "rankrls" or pairs:
        raise InvalidInputError(
            "Censored times need --method rankrls and no --pairs; got "
            f"{'--pairs' if pairs else f'--method {method}'}. Remove it."
        )
    folds = "10" if cv == "auto" and strata is None else cv
    return ("concordance" if measure == "pairwise_accuracy" else measure), folds


def nested_times(search: Any, X: Any, items: Items, seed: int) -> ConcordanceEstimate:
    """Run nested cross-validation with five folds of items, as ``kernelrank concordance`` does."""
    from sklearn.base import clone

    from kernelrank.model_selection import estimate_concordance

    with working("choosing alpha without each fold"):
        return estimate_concordance(
            clone(search), X, items.y, qid=items.qid, sample_weight=items.weight, random_state=seed
        )


def answer_nested_times(answer: Answer, estimate: ConcordanceEstimate) -> None:
    """Show a nested concordance with its interval."""
    low, high = estimate.interval
    level, n_folds = estimate.interval.level, int(estimate.folds.max()) + 1
    facts = {"measure": "concordance", "mean": estimate.concordance, "low": low, "high": high}
    answer.fact("nested", {**facts, "confidence": level, "interval": estimate.interval.method, "folds": n_folds})
    answer.line(
        f"Nested, alpha chosen without each of {counted(n_folds, 'fold')}: concordance "
        f"{estimate.concordance:.3f}, {100 * level:.4g}% interval {low:.3f} to {high:.3f}."
    )


def times_page(answer: Answer, estimate: ConcordanceEstimate, model: Any, items: Items, time: str) -> Any:
    """Return the page of the nested estimate, with the parameters of the model that was chosen."""
    from kernelrank.report.estimates import concordance_report

    with working("drawing the page"):
        return concordance_report(
            estimate,
            model=model,
            X=items.X if items.qid is None and items.weight is None else None,
            feature_names=items.column_names,
            time_name=time,
            title=f"Concordance of {items.path}",
            command=command_line(),
            notes=answer.notes,
        )


# Tuning answer --------------------------------------------------------------------------------------------------------
#
# The output of ``kernelrank tune``: candidates, test sets, a page.


def answer_candidates(answer: Answer, found: Search) -> None:
    """Add the best candidates of a search to the answer."""
    answer.fact("best", found.best)
    answer.fact("candidates", found.candidates)
    answer.table(f"The best of {len(found.candidates)}, {found.how}", *_candidate_table(found))


def _candidate_table(found: Search) -> tuple[list[str], list[list[str]]]:
    columns = parameter_names(found.candidates)
    best = sorted(found.candidates, key=lambda candidate: -candidate["score"])[:12]  # programs see all
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
    notes = list(answer.notes)
    if scaler is not None:
        notes.append(
            "columns were scaled by the training items: weights, deviations and values are those of scaled columns"
        )
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
            notes=notes,
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
