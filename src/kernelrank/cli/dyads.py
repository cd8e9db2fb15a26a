"""``kernelrank dyads``: rank the objects of one table for each object of another."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from kernelrank import persistence
from kernelrank.base.progress import working
from kernelrank.cli import options
from kernelrank.cli.answer import STANDARD_STREAM, Answer, check_file, check_output, check_page, counted
from kernelrank.cli.options import read_alphas, read_gamma
from kernelrank.cli.sources import command_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kernelrank.base.arrays import Float
    from kernelrank.data.named_tables import NamedTable
    from kernelrank.dyads.estimators import DyadicLearner
    from kernelrank.metrics import DyadicConcordance

app = typer.Typer(
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Rank the objects of one table for each object of another.",
    add_completion=False,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")]


@app.command()
def fit(
    rows: Rows,
    scores: Scores,
    columns: Columns = None,
    output: Output = Path("dyads.kr"),
    similarity: Similarity = None,
    method: Method = "rankrls",
    rank: Ranked = "columns",
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            help="Regularisation strength; with --method two-step, of the rows.",
            callback=options.positive_number,
        ),
    ] = 1.0,
    alpha_columns: Annotated[
        float | None,
        typer.Option(
            "--alpha-columns",
            help="Regularisation strength of the columns, for --method two-step. Default: the value of --alpha.",
            callback=options.positive_number,
            show_default=False,
        ),
    ] = None,
    relation: Relation = None,
    kernel_rows: KernelRows = None,
    kernel_columns: KernelColumns = None,
    gamma_rows: GammaRows = None,
    gamma_columns: GammaColumns = None,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Fit a model with a given regularisation strength, and save it.

    kernelrank dyads fit --rows drugs.csv --columns targets.csv --scores scores.csv --alpha 10 -o model.kr
    """
    answer = Answer("dyads fit", as_json=as_json)
    files = DyadFiles(rows, columns, scores, similarity, input_format)
    kernels, gammas = (kernel_rows, kernel_columns), (gamma_rows, gamma_columns)
    learner = DyadLearner(method, rank, relation, kernels, gammas, similarity)
    learner.check(columns)
    check_file(output, files.paths)
    dyads = files.read(answer)
    with answer.noting_warnings(), files.named(), working("fitting"):
        model = learner.make(alpha, alpha_columns).fit(dyads.rows.values, dyads.column_values, dyads.Y)
    save_dyad_model(model, output, dyads, files)
    _describe(answer, model, dyads)
    _saved(answer, output)
    answer.show()


@app.command()
def tune(
    rows: Rows,
    scores: Scores,
    columns: Columns = None,
    output: Output = Path("dyads.kr"),
    setting: Setting = "cell",
    alphas: Alphas = "auto",
    cv: Folds = None,
    similarity: Similarity = None,
    method: Method = "rankrls",
    rank: Ranked = "columns",
    relation: Relation = None,
    kernel_rows: KernelRows = None,
    kernel_columns: KernelColumns = None,
    gamma_rows: GammaRows = None,
    gamma_columns: GammaColumns = None,
    report: options.Report = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Choose alpha by exact hold-out for one setting, and save the model.

    The best alpha depends on what will be new when the model is used.

    kernelrank dyads tune --rows a.csv --columns b.csv --scores y.csv --setting row

    kernelrank dyads tune --rows a.csv --columns b.csv --scores y.csv --cv 5
    """
    answer = Answer("dyads tune", as_json=as_json)
    files = DyadFiles(rows, columns, scores, similarity, input_format)
    kernels, gammas = (kernel_rows, kernel_columns), (gamma_rows, gamma_columns)
    learner = DyadLearner(method, rank, relation, kernels, gammas, similarity, seed)
    learner.check(columns)
    check_file(output, files.paths)
    check_page(report, [*files.paths, output])
    dyads = files.read(answer)
    model = learner.search(alphas, setting, folds_of(cv, dyads))
    with answer.noting_warnings(), files.named(), working("holding out"):
        model.fit(dyads.rows.values, dyads.column_values, dyads.Y)
    concordance = measured(dyads, model.holdout_scores_, learner, confidence)
    save_dyad_model(model, output, dyads, files)
    _describe(answer, model, dyads)
    results = {name: values for name, values in model.cv_results_.items() if name != "params"}
    answer.fact("setting", setting)
    answer.fact("tried", results)
    answer.fact("concordance", setting_facts(concordance))
    n_tried = len(model.cv_results_["params"])
    low, high = concordance.interval
    answer.line(
        f"Setting {setting}, what is new: {SETTINGS[setting]}. Held-out {measure_name(learner)} "
        f"{concordance.value:.3f}, {100 * confidence:.4g}% interval {low:.3f} to {high:.3f}. It is the best "
        f"of {n_tried}, and therefore a little too high; dyads evaluate --nested measures without that."
    )
    _saved(answer, output)
    _report(answer, report, {setting: (concordance, model)}, dyads, f"Setting {setting} of {scores}")
    answer.show()


@app.command()
def predict(
    model: options.Model,
    rows: Rows,
    columns: Columns = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file. - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    format: Annotated[
        Literal["list", "matrix"],
        typer.Option(
            "--format", "-f", help="list: one line per row, column and score, best first. matrix: a table with names."
        ),
    ] = "list",
    top: Annotated[
        int | None,
        typer.Option(
            "--top", min=1, help="Number of best objects to list for each object. Default: all.", show_default=False
        ),
    ] = None,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Score every dyad of some rows and some columns, known or new ones.

    With --similarity in training, a table here has the similarities of its objects (rows) to the training objects
    (columns).

    kernelrank dyads predict model.kr --rows new_drugs.csv --columns targets.csv --top 5
    """
    from kernelrank.errors import InvalidInputError

    to_stdout = str(output) == STANDARD_STREAM
    if format == "matrix" and top is not None:
        raise InvalidInputError("--top is for --format list: a matrix holds all scores")
    answer = Answer("dyads predict", as_json=as_json, quiet=to_stdout and not as_json)
    check_output(output, [model, rows, *([] if columns is None else [columns])])
    loaded = load_dyad_model(model)
    of_rows, of_columns = objects(loaded, rows, columns, answer, input_format)
    found = loaded.predict(of_rows.values, None if columns is None else of_columns.values)
    answer.fact("rows", len(of_rows))
    answer.fact("columns", len(of_columns))
    if as_json and to_stdout:
        answer.fact("row_names", of_rows.names)
        answer.fact("column_names", of_columns.names)
        answer.fact("scores", found)
    else:
        n_written = write_ranking(output, found, of_rows, of_columns, loaded.rank, format=format, top=top)
        answer.fact("output", str(output))
        if not to_stdout:
            answer.line(f"{n_written:,} scores are in {output}.")
    answer.show()


@app.command()
def evaluate(
    rows: Rows,
    scores: Scores,
    columns: Columns = None,
    alphas: Alphas = "auto",
    cv: Folds = None,
    similarity: Similarity = None,
    method: Method = "rankrls",
    rank: Ranked = "columns",
    relation: Relation = None,
    kernel_rows: KernelRows = None,
    kernel_columns: KernelColumns = None,
    gamma_rows: GammaRows = None,
    gamma_columns: GammaColumns = None,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help=f"Choose alpha without the held-out scores (nested cross-validation), in {OUTER} folds; otherwise "
            "by the scores that are measured.",
        ),
    ] = False,
    report: options.Report = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Measure the four settings: a new score, a new row, a new column, both new.

    Every dyad is predicted by a model trained without its score, its row, its column, or both.

    kernelrank dyads evaluate --rows a.csv --columns b.csv --scores y.csv

    kernelrank dyads evaluate --rows a.csv --relation symmetric --scores y.csv
    """
    answer = Answer("dyads evaluate", as_json=as_json)
    files = DyadFiles(rows, columns, scores, similarity, input_format)
    kernels, gammas = (kernel_rows, kernel_columns), (gamma_rows, gamma_columns)
    learner = DyadLearner(method, rank, relation, kernels, gammas, similarity, seed)
    learner.check(columns)
    read_alphas(alphas)
    check_page(report, files.paths)
    dyads = files.read(answer)
    with answer.noting_warnings(), files.named():
        found = measure_settings(dyads, learner, alphas, folds_of(cv, dyads), confidence, nested=nested)
    setting_table(answer, found, dyads, learner, nested=nested)
    _report(answer, report, found, dyads, f"Four settings of {scores}")
    answer.show()


def _report(answer: Answer, report: Path | None, found: Measured, dyads: Dyads, title: str) -> None:
    """Write the page of one setting or more, if requested."""
    answer.fact("report", None if report is None else str(report))
    if report is None:
        return
    from kernelrank.report import dyads_report

    with working("drawing the page"):
        dyads_report(
            {setting: concordance for setting, (concordance, _) in found.items()},
            {setting: strengths(model) for setting, (_, model) in found.items()},
            model=next(iter(found.values()))[1],
            shape=(len(dyads.rows), len(dyads.columns)),
            title=title,
            command=command_line(),
            notes=answer.notes,
        ).save(report)
    answer.line(f"The report is in {report}.")


def measure_name(learner: DyadLearner) -> str:
    """Return what a concordance is called."""
    return "concordance" if learner.per == "overall" else f"concordance of each {learner.per}"


def _describe(answer: Answer, model: Any, dyads: Dyads) -> None:
    chosen = strengths(model)
    answer.fact("data", str(dyads.scores))
    answer.fact("rows", len(dyads.rows))
    answer.fact("columns", len(dyads.columns))
    answer.fact("scores", dyads.n_known)
    answer.fact("learner", type(model).__name__)
    answer.fact("alpha", chosen)
    answer.fact("solver", model.solver_)
    sizes = f"{counted(len(dyads.rows), 'row')}, {counted(len(dyads.columns), 'column')}"
    share = 100 * dyads.n_known / dyads.Y.size
    sheet = [
        ("model", type(model).__name__),
        *((name.replace("_", " "), f"{value:.6g}") for name, value in chosen.items()),
        ("data", f"{sizes}, {counted(dyads.n_known, 'score')} ({share:.3g}% of the dyads) of {dyads.scores}"),
        ("solved by", model.solver_),
    ]
    answer.table("", ("", ""), sheet)


def _saved(answer: Answer, output: Path) -> None:
    answer.fact("model", str(output))
    answer.line(f"The model is in {output}.")


# Dyads evaluation -----------------------------------------------------------------------------------------------------
#
# The four settings of ``kernelrank dyads evaluate``, measured and shown.

OUTER = 5
"""How many folds are held out where alpha is chosen without each of them."""

Measured: TypeAlias = "dict[str, tuple[DyadicConcordance, Any]]"
"""The concordance of each setting, and the model whose alpha was chosen by it."""


def measured(dyads: Dyads, held_out: Any, learner: DyadLearner, confidence: float) -> DyadicConcordance:
    """Measure held-out scores; in a reciprocal relation, scores of an object with itself are left out."""
    import numpy as np

    from kernelrank.metrics import dyadic_concordance

    truth = dyads.Y
    if learner.relation == "reciprocal":
        truth = truth.copy()
        np.fill_diagonal(truth, np.nan)
    return dyadic_concordance(truth, held_out, per=learner.per, one_set=dyads.one_set, confidence=confidence)


def measure_settings(
    dyads: Dyads, learner: DyadLearner, alphas: str, cv: int | None, confidence: float, *, nested: bool = False
) -> Measured:
    """Return the concordance of each setting, with the model whose alpha was chosen by it.

    With `nested`, held-out scores come from models whose alpha was chosen without them.
    """
    from kernelrank.dyads import dyadic_holdout
    from kernelrank.errors import EdgeOfGridWarning

    found: Measured = {}
    data = dyads.rows.values, dyads.column_values, dyads.Y
    setting: Any
    for setting in SETTINGS:
        model = learner.search(alphas, setting, cv)
        with working(f"holding out: {setting}"):
            model.fit(*data)
            held_out = model.holdout_scores_
            if nested:
                # Without some cells, the scores are not complete.
                inner = min(FOLDS, *dyads.Y.shape) if setting == "cell" and cv is None else cv
                search, outer = learner.search(alphas, setting, inner), min(OUTER, *dyads.Y.shape)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", EdgeOfGridWarning)  # the search with all scores says so once
                    held_out = dyadic_holdout(search, *data, setting=setting, cv=outer)
        found[setting] = measured(dyads, held_out, learner, confidence), model
    return found


def setting_facts(concordance: DyadicConcordance) -> dict[str, Any]:
    """Return a concordance as values for JSON."""
    low, high = concordance.interval
    return {"value": concordance.value, "low": low, "high": high, "per": concordance.per, "dyads": concordance.n_dyads}


def setting_table(answer: Answer, found: Measured, dyads: Dyads, learner: DyadLearner, *, nested: bool = False) -> None:
    """Add a table to the answer with one row for each of the four settings."""
    some, _ = found["cell"]
    each = "" if learner.per == "overall" else f" of each {learner.per}"
    answer.fact("data", str(dyads.scores))
    answer.fact("rows", len(dyads.rows))
    answer.fact("columns", len(dyads.columns))
    answer.fact("scores", dyads.n_known)
    answer.fact("learner", type(found["cell"][1]).__name__)
    answer.fact("per", learner.per)
    answer.fact("alpha_chosen_inside", nested)
    answer.fact("confidence", some.interval.level)
    answer.fact("interval", some.interval.method)
    facts, rows = {}, []
    for setting, (concordance, model) in found.items():
        chosen = strengths(model)
        facts[setting] = {**setting_facts(concordance), "alpha": chosen}
        low, high = concordance.interval
        written = ", ".join(f"{value:.3g}" for value in chosen.values())
        rows.append((setting, SETTINGS[setting], f"{concordance.value:.3f}", f"{low:.3f} to {high:.3f}", written))
    answer.fact("settings", facts)
    answer.table(
        f"Concordance{each}: {len(dyads.rows):,} × {len(dyads.columns):,} dyads of {dyads.scores}",
        ("setting", "what is new", "concordance", f"{100 * some.interval.level:.4g}% interval", "alpha"),
        rows,
    )
    answer.line("Use the setting in which the model will be applied; choose its alpha with dyads tune --setting.")
    tried = len(found["cell"][1].alphas_)
    if nested:
        answer.note("alpha was chosen without each fold that is measured; the alpha shown was chosen from all scores")
    elif tried > 1:
        answer.note(
            "each alpha was chosen by the held-out scores of its setting, so the concordances are a little too high; "
            "--nested chooses it without them"
        )


# Dyads files ----------------------------------------------------------------------------------------------------------
#
# The files of ``kernelrank dyads``: two tables of objects, and scores whose names are matched with theirs.

SHOWN = 3


@dataclass(frozen=True)
class Dyads:
    """Objects of two sides and their scores.

    Y: NaN where unknown.
    """

    rows: NamedTable
    columns: NamedTable
    Y: Any
    one_set: bool
    scores: Path

    @property
    def column_values(self) -> Any:
        """What `fit` takes for the columns."""
        return None if self.one_set else self.columns.values

    @property
    def n_known(self) -> int:
        """How many dyads have a score."""
        import numpy as np

        return int(np.count_nonzero(~np.isnan(self.Y)))

    @property
    def complete(self) -> bool:
        """Whether every dyad has a score."""
        return bool(self.n_known == self.Y.size)


@dataclass(frozen=True)
class DyadFiles:
    """The files of objects and scores, and how they are read."""

    rows: Path
    columns: Path | None
    scores: Path
    similarity: str | None = None
    format: str | None = None

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [self.rows, self.scores, *([] if self.columns is None else [self.columns])]

    def given(self, side: str) -> bool:
        """Whether the table of a side holds similarities."""
        return self.similarity in (side, "both")

    def read(self, answer: Answer) -> Dyads:
        """Read the files; objects without a score are left out, and that is noted."""
        import numpy as np

        from kernelrank.data.named_tables import read_score_matrix
        from kernelrank.errors import InvalidInputError

        one_set = self.columns is None
        rows = self._read(self.rows, "rows")
        columns = rows if self.columns is None else self._read(self.columns, "columns")
        for table in (rows,) if one_set else (rows, columns):
            for note in table.notes:
                answer.note(f"{table.path}: {note}")
        called = (f"rows of {rows.path}", f"rows of {columns.path}")

        def repeated(count: int) -> None:
            answer.note(f"{self.scores}: {count:,} dyads are listed several times; each has its mean score")

        Y = read_score_matrix(
            str(self.scores), rows.names, columns.names, format=self.format, called=called, repeated=repeated
        )
        known = ~np.isnan(Y)
        if not known.any():
            raise InvalidInputError(f"{self.scores}: expected scores; the table has none")
        used: list[Any] = [known.any(axis=1), known.any(axis=0)]
        if one_set:
            used = [used[0] | used[1]] * 2
        for table, kept in ((rows, used[0]), *([] if one_set else [(columns, used[1])])):
            if not kept.all():
                left = [name for name, keep in zip(table.names, kept.tolist(), strict=True) if not keep]
                more = ", ..." if len(left) > SHOWN else ""
                answer.note(
                    f"{table.path}: left out {len(left):,} of {len(table):,} objects, which have no score in "
                    f"{self.scores}: {', '.join(left[:SHOWN])}{more}"
                )
        rows = self._chosen(rows, used[0], "rows")
        columns = rows if one_set else self._chosen(columns, used[1], "columns")
        return Dyads(rows, columns, Y[np.ix_(*used)], one_set, self.scores)

    def _read(self, path: Path, side: str) -> NamedTable:
        from kernelrank.data.named_tables import read_named_table, read_objects

        if self.given(side):
            return read_named_table(str(path), format=self.format).square()
        return read_objects(str(path), format=self.format)

    def _chosen(self, table: NamedTable, kept: NDArray[np.bool_], side: str) -> NamedTable:
        chosen = table.chosen(kept)
        return chosen.with_columns(chosen.names) if self.given(side) else chosen

    @contextmanager
    def named(self) -> Iterator[None]:
        """Rewrite error messages of learners to name files and options instead of Python arguments."""
        from kernelrank.errors import InvalidInputError

        try:
            yield
        except InvalidInputError as error:
            message, shown = str(error), {"X_rows": self.rows, "X_columns": self.columns or self.rows, "Y": self.scores}
            for name, path in shown.items():
                message = re.sub(rf"\b{name}\b", str(path), message)
            message = re.sub(r"\b(kernel|gamma|alpha)_(rows|columns)\b", r"--\1-\2", message)
            message = re.sub(r"\bcv=(\d+)", r"--cv \1:", message)
            raise type(error)(message) from error


def read_side(path: Path, known: dict[str, Any], answer: Answer, format: str | None) -> NamedTable:
    """Read objects as a model expects them: the columns that it knows by name, in its order."""
    from kernelrank.data.named_tables import read_named_table, read_objects
    from kernelrank.data.preparation import TablePreparation

    if known.get("preparation") is not None:
        return read_objects(str(path), format=format, preparation=TablePreparation.from_data(known["preparation"]))
    columns = known["columns"]
    table = read_named_table(str(path), format=format)
    found = table.with_columns(columns)
    left = len(table.columns) - len(columns)
    if left:
        answer.note(f"{table.path}: left out {left:,} column{'s' * (left > 1)} that the model does not know")
    return found


# Dyads learner --------------------------------------------------------------------------------------------------------
#
# The options of ``kernelrank dyads``, and the learner that they describe.

SETTINGS = {
    "cell": "the score only",
    "row": "the row object",
    "column": "the column object",
    "both": "both objects",
}
"""What is new in each setting."""

FOLDS = 10
"""How many folds are held out where scores are missing: each is a training of its own."""

MethodName = Literal["rankrls", "rls", "two-step"]
SettingName = Literal["cell", "row", "column", "both"]

Rows = Annotated[
    Path,
    typer.Option(
        "--rows",
        help="Table of the row objects: names in the first column, features in the others.",
        show_default=False,
    ),
]
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns", help="Table of the column objects, in the same form. Omit it with --relation.", show_default=False
    ),
]
Scores = Annotated[
    Path,
    typer.Option(
        "--scores",
        help="Table of the scores: a matrix with names in the first row and column and empty cells where unknown, "
        "or a list of row, column and score.",
        show_default=False,
    ),
]
Similarity = Annotated[
    Literal["rows", "columns", "both"] | None,
    typer.Option(
        "--similarity",
        help="Which tables hold similarities (a precomputed kernel matrix with names) instead of features.",
        show_default=False,
    ),
]
Method = Annotated[
    MethodName,
    typer.Option(
        "--method",
        help="rankrls: rank the columns for each row. rls: predict scores. two-step: predict scores with one alpha "
        "for rows and one for columns.",
        rich_help_panel="Model",
    ),
]
Ranked = Annotated[
    Literal["columns", "rows"],
    typer.Option(
        "--rank",
        help="With --method rankrls: rank the columns for each row, or the rows for each column.",
        rich_help_panel="Model",
    ),
]
Relation = Annotated[
    Literal["symmetric", "reciprocal", "any"] | None,
    typer.Option(
        "--relation",
        help="Rows and columns are the same objects. symmetric: f(a, b) = f(b, a). reciprocal: f(a, b) = -f(b, a). "
        "any: neither.",
        rich_help_panel="Model",
        show_default=False,
    ),
]


def _learner_option(flag: str, what: str) -> Any:
    return typer.Option(flag, help=what, rich_help_panel="Model", show_default=False)


KernelRows = Annotated[
    str | None, _learner_option("--kernel-rows", "Kernel of the rows: linear (default), rbf, poly, ...")
]
KernelColumns = Annotated[str | None, _learner_option("--kernel-columns", "Kernel of the columns, as for the rows.")]
GammaRows = Annotated[
    str | None, _learner_option("--gamma-rows", "Gamma of the kernel of the rows: a number, scale or median.")
]
GammaColumns = Annotated[
    str | None, _learner_option("--gamma-columns", "Gamma of the kernel of the columns: a number, scale or median.")
]
Alphas = Annotated[
    str,
    typer.Option("--alphas", help="Values of alpha to try: 0.1,1,10 or 2^-5:2^5, or auto.", rich_help_panel="Model"),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--cv",
        min=2,
        help=f"Number of cross-validation folds. Default: leave one out, or {FOLDS} folds if scores are missing.",
        show_default=False,
    ),
]
Setting = Annotated[
    SettingName,
    typer.Option("--setting", help="What will be new when the model is used; alpha is chosen for this setting."),
]


@dataclass(frozen=True)
class DyadLearner:
    """What is learnt."""

    method: str
    rank: str
    relation: str | None
    kernels: tuple[str | None, str | None]
    gammas: tuple[str | None, str | None]
    similarity: str | None
    seed: int = 0

    @property
    def per(self) -> Any:
        """Which dyads are compared: those of an object that others are ranked for, else all."""
        if self.method != "rankrls":
            return "overall"
        return "row" if self.rank == "columns" else "column"

    def check(self, columns: Path | None) -> None:
        """Raise an error for options that contradict each other, before any file is read."""
        from kernelrank.errors import InvalidInputError

        if self.relation is None and columns is None:
            raise InvalidInputError(
                "--columns is missing: give the table of the column objects, or --relation if rows and columns are one "
                "set of objects"
            )
        if self.relation is not None and columns is not None:
            raise InvalidInputError(f"--relation {self.relation} means one set of objects: leave --columns out")
        for side, kernel in zip(("rows", "columns"), self.kernels, strict=True):
            if kernel is not None and self.similarity in (side, "both"):
                raise InvalidInputError(f"--kernel-{side} and --similarity {self.similarity}: give one of the two")

    def make(self, alpha: float, alpha_columns: float | None = None) -> Any:
        """Return a learner with a given strength, for `TwoStepRLS` one of each side."""
        from kernelrank.dyads import KroneckerRankRLS, KroneckerRLS, TwoStepRLS

        if self.method == "two-step":
            other = alpha if alpha_columns is None else alpha_columns
            return TwoStepRLS(alpha_rows=alpha, alpha_columns=other, **self._parameters())
        kind = KroneckerRankRLS if self.method == "rankrls" else KroneckerRLS
        return kind(alpha, **self._parameters())

    def search(self, alphas: str, setting: str, cv: int | None) -> Any:
        """Return a learner that chooses its strength by one of the settings."""
        from kernelrank.dyads import KroneckerRankRLSCV, KroneckerRLSCV, TwoStepRLSCV

        kinds: dict[str, Any] = {"rankrls": KroneckerRankRLSCV, "rls": KroneckerRLSCV, "two-step": TwoStepRLSCV}
        kind = kinds[self.method]
        return kind(read_alphas(alphas), setting=setting, cv=cv, **self._parameters())

    def _parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {"relation": self.relation, "random_state": self.seed}
        for side, kernel, gamma in zip(("rows", "columns"), self.kernels, self.gammas, strict=True):
            if side == "columns" and self.relation is not None:
                continue
            given = self.similarity in (side, "both")
            found[f"kernel_{side}"] = "precomputed" if given else kernel or "linear"
            found[f"gamma_{side}"] = read_gamma(gamma)
        if self.method == "rankrls":
            found["rank"] = self.rank
        return found


def folds_of(cv: int | None, dyads: Dyads) -> int | None:
    """Return how many folds to hold out."""
    return min(FOLDS, *dyads.Y.shape) if cv is None and not dyads.complete else cv


def strengths(model: Any) -> dict[str, float]:
    """Return the regularisation strengths of a learner or a search, by name."""
    found = getattr(model, "best_params_", None)
    if found is None:
        found = {name: value for name, value in model.get_params().items() if name.startswith("alpha")}
    return {name: float(value) for name, value in found.items()}


# Dyads prediction -----------------------------------------------------------------------------------------------------
#
# Models of dyads as files, and the rankings that they write.


def save_dyad_model(model: DyadicLearner, path: Path, dyads: Dyads, files: DyadFiles) -> None:
    """Write a model with the names that predictions need, atomically."""
    from kernelrank import __version__

    def side(name: str, table: NamedTable) -> dict[str, Any]:
        return {
            "file": table.path,
            "names": list(table.names),
            "columns": list(table.columns),
            "similarity": files.given(name),
            "preparation": None if table.preparation is None else table.preparation.as_data(),
        }

    model.provenance_ = {
        "rows": side("rows", dyads.rows),
        "columns": side("columns", dyads.columns),
        "scores": str(dyads.scores),
        "command": command_line(),
        "version": __version__,
    }
    persistence.save(model, path)


def load_dyad_model(path: Path) -> Any:
    """Load a model file; raise an error if the model is not for dyads."""
    from kernelrank.dyads.estimators import DyadicLearner
    from kernelrank.errors import InvalidInputError

    model = persistence.load(path)
    if not isinstance(model, DyadicLearner):
        raise InvalidInputError(f"{path}: expected a model of kernelrank dyads; got a {type(model).__name__}")
    return model


def objects(
    model: DyadicLearner, rows: Path, columns: Path | None, answer: Answer, format: str | None
) -> tuple[NamedTable, NamedTable]:
    """Read the objects to predict for, as the model expects them."""
    from kernelrank.errors import InvalidInputError

    known = persistence.provenance(model)
    if "rows" not in known:
        raise InvalidInputError("the model was saved in Python without column names: use its predict method in Python")
    if columns is None and model.relation is None:
        raise InvalidInputError("--columns is missing: the model was fitted to two sets of objects")
    of_rows = read_side(rows, known["rows"], answer, format)
    of_columns = of_rows if columns is None else read_side(columns, known["columns"], answer, format)
    return of_rows, of_columns


def write_ranking(
    output: Path,
    scores: Float,
    rows: NamedTable,
    columns: NamedTable,
    ranked: str | None,
    *,
    format: str,
    top: int | None,
) -> int:
    """Write scores as a matrix, or as a list with the best first for each object; return how many."""
    import numpy as np

    from kernelrank.data.text import as_strings
    from kernelrank.data.writers import write_delimited

    of_rows, of_columns = as_strings(rows.names), as_strings(columns.names)
    if format == "matrix":
        write_delimited({"row": of_rows}, str(output), matrix=scores, matrix_names=columns.names)
        return int(scores.size)
    turned = ranked == "rows"
    by_query = scores.T if turned else scores
    best = np.argsort(-by_query, axis=1, kind="stable")[:, :top]
    queries = np.repeat(np.arange(len(best)), best.shape[1])
    row, column = (best.ravel(), queries) if turned else (queries, best.ravel())
    write_delimited({"row": of_rows[row], "column": of_columns[column], "score": scores[row, column]}, str(output))
    return len(row)
