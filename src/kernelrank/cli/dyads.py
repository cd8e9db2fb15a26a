"""``kernelrank dyads``: rank the objects of one table for each object of another."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from kernelrank import persistence
from kernelrank.base.progress import working
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    STANDARD_STREAM,
    Answer,
    check_file,
    check_output,
    check_page,
    counted,
    grouped,
    only,
    read_alphas,
    read_gamma,
    without,
)
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

_option, _learner = shared.option(), shared.option("Model")
Output = Annotated[Path, _option("Model file to write.", "--output", "-o")]
Alphas = Annotated[str, _learner("Values of alpha to try: 0.1,1,10 or 2^-5:2^5, or auto.")]
Folds = Annotated[
    int | None,
    _option(
        "Number of cross-validation folds. Default: leave one out, or 10 folds if scores are missing.", "--cv", min=2
    ),
]


# Dyads files ----------------------------------------------------------------------------------------------------------
#
# The files of ``kernelrank dyads``: two tables of objects, and scores whose names are matched with theirs.


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

    def facts(self) -> dict[str, Any]:
        """Return what JSON output says of the data."""
        sizes = {"rows": len(self.rows), "columns": len(self.columns), "scores": self.n_known}
        return {"data": str(self.scores), **sizes}

    @property
    def complete(self) -> bool:
        """Whether every dyad has a score."""
        return bool(self.n_known == self.Y.size)


@dataclass(frozen=True)
class DyadFiles:
    """The files of objects and scores, and how they are read."""

    rows: Annotated[Path, _option("Table of the row objects: names in the first column, features in the others.")]
    scores: Annotated[
        Path,
        _option(
            "Table of the scores: a matrix with names in the first row and column and empty cells where unknown, or a "
            "list of row, column and score."
        ),
    ]
    columns: Annotated[
        Path | None, _option("Table of the column objects, in the same form. Omit it with --relation.")
    ] = None
    similarity: Annotated[
        Literal["rows", "columns", "both"] | None,
        _option("Which tables hold similarities (a precomputed kernel matrix with names) instead of features."),
    ] = None
    repair: Annotated[
        Literal["clip", "shift", "no"],
        _option(
            "With --similarity: what becomes of tables that are not symmetric (their mean with the transpose), and of "
            "negative eigenvalues. clip: they become 0. shift: the lowest is subtracted from all. no: an error."
        ),
    ] = "clip"
    input_format: shared.InputFormat = None

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [path for path in (self.rows, self.scores, self.columns) if path is not None]

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
            str(self.scores), rows.names, columns.names, format=self.input_format, called=called, repeated=repeated
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
                more = ", ..." if len(left) > 3 else ""
                answer.note(
                    f"{table.path}: left out {len(left):,} of {len(table):,} objects, which have no score in "
                    f"{self.scores}: {', '.join(left[:3])}{more}"
                )
        rows = self._chosen(rows, used[0], "rows")
        columns = rows if one_set else self._chosen(columns, used[1], "columns")
        return Dyads(rows, columns, Y[np.ix_(*used)], one_set, self.scores)

    def _read(self, path: Path, side: str) -> NamedTable:
        from kernelrank.data.named_tables import read_named_table, read_objects

        if not self.given(side):
            table = read_objects(str(path), format=self.input_format)
            note = (
                f"has the same names in rows and columns: --similarity {side} if these are similarities, not features"
            )
            return replace(table, notes=(*table.notes, note)) if table.looks_square else table
        from kernelrank.kernels import repair_similarity

        table = read_named_table(str(path), format=self.input_format).square()
        if self.repair == "no":
            return table
        values, notes = repair_similarity(table.values, self.repair)
        more = ("the similarities of new objects are used as they are",) if notes else ()
        notes = tuple(note.removeprefix("S is ") for note in notes)
        return replace(table, values=values, notes=(*table.notes, *notes, *more))

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


@dataclass(frozen=True)
class DyadLearner:
    """What is learnt."""

    method: Annotated[
        Literal["rankrls", "rls", "two-step"],
        _learner(
            "rankrls: rank the columns for each row. rls: predict scores. two-step: predict scores with one alpha for "
            "rows and one for columns."
        ),
    ] = "rankrls"
    rank: Annotated[
        Literal["columns", "rows"],
        _learner("With --method rankrls: rank the columns for each row, or the rows for each column."),
    ] = "columns"
    relation: Annotated[
        Literal["symmetric", "reciprocal", "any"] | None,
        _learner(
            "Rows and columns are the same objects. symmetric: f(a, b) = f(b, a). reciprocal: f(a, b) = -f(b, a). any: "
            "neither."
        ),
    ] = None
    kernel_rows: Annotated[str | None, _learner("Kernel of the rows: linear (default), rbf, poly, ...")] = None
    kernel_columns: Annotated[str | None, _learner("Kernel of the columns, as for the rows.")] = None
    gamma_rows: Annotated[str | None, _learner("Gamma of the kernel of the rows: a number, scale or median.")] = None
    gamma_columns: Annotated[str | None, _learner("Gamma of the kernel of the columns: a number, scale or median.")] = (
        None
    )
    seed: shared.Seed = 0
    similarity: str | None = None

    @property
    def per(self) -> Any:
        """Which dyads are compared: those of an object that others are ranked for, else all."""
        if self.method != "rankrls":
            return "overall"
        return "row" if self.rank == "columns" else "column"

    def of(self, files: DyadFiles) -> DyadLearner:
        """Return the learner for these files; raise an error for options that contradict each other."""
        from kernelrank.errors import InvalidInputError

        if self.relation is None and files.columns is None:
            raise InvalidInputError(
                "--columns is missing: give the table of the column objects, or --relation if rows and columns are one "
                "set of objects"
            )
        if self.relation is not None and files.columns is not None:
            raise InvalidInputError(f"--relation {self.relation} means one set of objects: leave --columns out")
        for side in ("rows", "columns"):
            if getattr(self, f"kernel_{side}") is not None and files.given(side):
                raise InvalidInputError(f"--kernel-{side} and --similarity {files.similarity}: give one of the two")
        return replace(self, similarity=files.similarity)

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
        for side in ("rows", "columns") if self.relation is None else ("rows",):
            given = self.similarity in (side, "both")
            found[f"kernel_{side}"] = "precomputed" if given else getattr(self, f"kernel_{side}") or "linear"
            found[f"gamma_{side}"] = read_gamma(getattr(self, f"gamma_{side}"))
        if self.method == "rankrls":
            found["rank"] = self.rank
        return found


def folds_of(cv: int | None, dyads: Dyads) -> int | None:
    """Return how many folds to hold out."""
    # Where scores are missing, each fold is a training of its own.
    return min(10, *dyads.Y.shape) if cv is None and not dyads.complete else cv


def strengths(model: Any) -> dict[str, float]:
    """Return the regularisation strengths of a learner or a search, by name."""
    found = getattr(model, "best_params_", None)
    if found is None:
        found = {name: value for name, value in model.get_params().items() if name.startswith("alpha")}
    return {name: float(value) for name, value in found.items()}


# Commands -------------------------------------------------------------------------------------------------------------


@app.command()
@grouped
def fit(
    *,
    files: DyadFiles,
    learner: Annotated[DyadLearner, without("seed")],
    output: Output = Path("dyads.kr"),
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            help="Regularisation strength; with --method two-step, of the rows.",
            callback=shared.positive_number,
        ),
    ] = 1.0,
    alpha_columns: Annotated[
        float | None,
        typer.Option(
            "--alpha-columns",
            help="Regularisation strength of the columns, for --method two-step. Default: the value of --alpha.",
            callback=shared.positive_number,
            show_default=False,
        ),
    ] = None,
    as_json: shared.AsJSON = False,
) -> None:
    """Fit a model with a given regularisation strength, and save it.

    kernelrank dyads fit --rows drugs.csv --columns targets.csv --scores scores.csv --alpha 10 -o model.kr
    """
    answer = Answer("dyads fit", as_json=as_json)
    learner = learner.of(files)
    check_file(output, files.paths)
    dyads = files.read(answer)
    with answer.noting_warnings(), files.named(), working("fitting"):
        model = learner.make(alpha, alpha_columns).fit(dyads.rows.values, dyads.column_values, dyads.Y)
    save_dyad_model(model, output, dyads, files)
    _describe(answer, model, dyads)
    answer.saved(model=output)
    answer.show()


@app.command()
@grouped
def tune(
    *,
    files: DyadFiles,
    learner: DyadLearner,
    output: Output = Path("dyads.kr"),
    setting: Annotated[
        Literal["cell", "row", "column", "both"],
        _option("What will be new when the model is used; alpha is chosen for this setting."),
    ] = "cell",
    alphas: Alphas = "auto",
    cv: Folds = None,
    report: shared.Report = None,
    confidence: shared.Confidence = 0.95,
    as_json: shared.AsJSON = False,
) -> None:
    """Choose alpha by exact hold-out for one setting, and save the model.

    The best alpha depends on what will be new when the model is used.

    kernelrank dyads tune --rows a.csv --columns b.csv --scores y.csv --setting row

    kernelrank dyads tune --rows a.csv --columns b.csv --scores y.csv --cv 5
    """
    answer = Answer("dyads tune", as_json=as_json)
    learner = learner.of(files)
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
    answer.saved(model=output)
    _report(answer, report, {setting: (concordance, model)}, dyads, f"Setting {setting} of {files.scores}")
    answer.show()


@app.command()
@grouped
def predict(
    *,
    model: shared.Model,
    files: Annotated[DyadFiles, only("rows", "columns", "input_format")],
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
    as_json: shared.AsJSON = False,
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
    check_output(output, [model, *files.paths])
    loaded = load_dyad_model(model)
    of_rows, of_columns = objects(loaded, files, answer)
    found = loaded.predict(of_rows.values, None if files.columns is None else of_columns.values)
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
@grouped
def evaluate(
    *,
    files: DyadFiles,
    learner: DyadLearner,
    alphas: Alphas = "auto",
    cv: Folds = None,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help="Choose alpha without the held-out scores (nested cross-validation), in 5 folds; otherwise "
            "by the scores that are measured.",
        ),
    ] = False,
    report: shared.Report = None,
    confidence: shared.Confidence = 0.95,
    as_json: shared.AsJSON = False,
) -> None:
    """Measure the four settings: a new score, a new row, a new column, both new.

    Every dyad is predicted by a model trained without its score, its row, its column, or both.

    kernelrank dyads evaluate --rows a.csv --columns b.csv --scores y.csv

    kernelrank dyads evaluate --rows a.csv --relation symmetric --scores y.csv
    """
    answer = Answer("dyads evaluate", as_json=as_json)
    learner = learner.of(files)
    read_alphas(alphas)
    check_page(report, files.paths)
    dyads = files.read(answer)
    with answer.noting_warnings(), files.named():
        found = measure_settings(dyads, learner, alphas, folds_of(cv, dyads), confidence, nested=nested)
    setting_table(answer, found, dyads, learner, nested=nested)
    _report(answer, report, found, dyads, f"Four settings of {files.scores}")
    answer.show()


def _report(answer: Answer, report: Path | None, found: Measured, dyads: Dyads, title: str) -> None:
    """Write the page of one setting or more, if requested."""
    if report is None:
        answer.saved(report=None)
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
    answer.saved(report=report)


def measure_name(learner: DyadLearner) -> str:
    """Return what a concordance is called."""
    return "concordance" if learner.per == "overall" else f"concordance of each {learner.per}"


def _describe(answer: Answer, model: Any, dyads: Dyads) -> None:
    chosen = strengths(model)
    answer.add(dyads.facts() | {"learner": type(model).__name__})
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


# Dyads evaluation -----------------------------------------------------------------------------------------------------
#
# The four settings of ``kernelrank dyads evaluate``, measured and shown.

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
                inner = min(10, *dyads.Y.shape) if setting == "cell" and cv is None else cv
                search, outer = learner.search(alphas, setting, inner), min(5, *dyads.Y.shape)
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
    each = "" if learner.per == "overall" else f" of each {learner.per}"
    some, searched = found["cell"]
    answer.add(dyads.facts() | {"learner": type(searched).__name__})
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
    tried = len(searched.alphas_)
    if nested:
        answer.note("alpha was chosen without each fold that is measured; the alpha shown was chosen from all scores")
    elif tried > 1:
        answer.note(
            "each alpha was chosen by the held-out scores of its setting, so the concordances are a little too high; "
            "--nested chooses it without them"
        )


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
            "repair": [note for note in table.notes if files.given(name)],
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


def objects(model: DyadicLearner, files: DyadFiles, answer: Answer) -> tuple[NamedTable, NamedTable]:
    """Read the objects to predict for, as the model expects them."""
    from kernelrank.errors import InvalidInputError

    known = persistence.provenance(model)
    if "rows" not in known:
        raise InvalidInputError("the model was saved in Python without column names: use its predict method in Python")
    if files.columns is None and model.relation is None:
        raise InvalidInputError("--columns is missing: the model was fitted to two sets of objects")
    of_rows = read_side(files.rows, known["rows"], answer, files.input_format)
    if files.columns is None:
        return of_rows, of_rows
    of_columns = read_side(files.columns, known["columns"], answer, files.input_format)
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
