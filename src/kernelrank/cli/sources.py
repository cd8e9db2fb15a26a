"""Files of items as a command reads them: notes list what was guessed, errors name what is wrong."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from kernelrank import persistence
from kernelrank.cli.shared import InputFormat, MeasureRules, PairWeight, counted, option, scaled

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.cli.shared import Answer, LearnerOptions
    from kernelrank.data import Items, Preferences, TablePreparation
    from kernelrank.data.readers import StoredTable
    from kernelrank.data.table import ColumnRequest
    from kernelrank.metrics import JudgedRun, Measure, MeasureResult


LARGE_BYTES = 1 << 27
"""From this size of X on, `fit` reads a file in batches: below it, memory is no concern."""

NO_CHECKPOINT = (
    "--checkpoint is for fits in batches: expected a Parquet, CSV or TSV file with a target of numbers, without "
    "weights, and a linear kernel or --basis with a number for --gamma"
)

_data = option("Reading the data file")


def _column(what: str) -> Any:
    return _data(what, metavar="COLUMN")


@dataclass(frozen=True)
class SourceFile:
    """A file and how it is to be read: by the options, and as a model expects it."""

    path: Path = Path("-")
    input_format: InputFormat = None
    target: Annotated[
        str | None, _column("Target column: scores, grades or classes. Guessed from its name if omitted.")
    ] = None
    time: Annotated[str | None, _column("Column of survival times, to learn from instead of --target.")] = None
    event: Annotated[
        str | None,
        _column(
            "With --time: column that says whether the event happened (1, true) or the time is censored (0, false)."
        ),
    ] = None
    happened: Annotated[
        str | None,
        option()("The value of the --event column that means an event, if it is not 1 or true.", metavar="WORD"),
    ] = None
    drop_incomplete: Annotated[
        bool,
        option()("With --time: leave out items whose time is negative or whose event is missing.", "--drop-incomplete"),
    ] = False
    strata: Annotated[str | None, _column("With --time: column of strata; only items of one stratum are compared.")] = (
        None
    )
    positive: Annotated[
        str | None,
        _data(
            "The positive class, which should rank high. If omitted, it is guessed from the words (case/control, "
            "yes/no, died/survived, ...), else the rarer class; the output says which class it is and why.",
            metavar="CLASS",
        ),
    ] = None
    query: Annotated[
        str | None,
        _column("Query column: only items of the same query are compared. Guessed from its name if omitted."),
    ] = None
    id: Annotated[str | None, _column("Column of item names. Guessed from its name if omitted.")] = None
    weight: Annotated[str | None, _column("Column of sample weights. Guessed from its name if omitted.")] = None
    groups: Annotated[
        str | None,
        _column(
            "Group column, such as the patient: rows of one group are held out together. Guessed from its name if "
            "omitted."
        ),
    ] = None
    features: Annotated[
        str | None,
        _data("Feature columns, separated by commas. Default: all other columns.", metavar="COLUMNS"),
    ] = None
    exclude: Annotated[
        str | None,
        _data(
            "Columns not to use as features, separated by commas; gene* means all that begin with gene.",
            metavar="COLUMNS",
        ),
    ] = None
    missing: Annotated[
        Literal["median", "mean", "drop", "error"],
        _data(
            "Missing numbers. median, mean: impute by column, computed once on all rows. drop: remove the row. error: "
            "list them and stop."
        ),
    ] = "median"
    missing_values: Annotated[
        str | None,
        _data(
            "Codes for a missing cell, separated by commas, such as -9,999,unknown. The usual words (NA, n/a, #N/A, "
            "null, ?, ...) are known.",
            metavar="CODES",
        ),
    ] = None
    missing_indicator: Annotated[
        bool,
        _data("Add an indicator column (1 = missing) for each column with missing values.", "--missing-indicator"),
    ] = False
    ordinal: Annotated[
        list[str] | None,
        _data(
            "Ordinal column with its values from lowest to highest: stage=I,II,III becomes 0, 1, 2. May be repeated. "
            "Other text columns are one-hot encoded.",
            metavar="COLUMN=WORDS",
        ),
    ] = None
    no_header: Annotated[
        bool, _data("The table has no row with names: its columns are called x1, x2, ...", "--no-header")
    ] = False
    skip_rows: Annotated[int, _data("Rows to leave out at the beginning.", min=0)] = 0
    header_row: Annotated[
        int | None, _data("The row with the names of the columns, from 1; rows above it are left out.", min=1)
    ] = None
    sheet: Annotated[str | None, _data("Sheet of an Excel file. Default: the first.", metavar="NAME")] = None
    names: tuple[str, ...] | None = None
    n_features: int | None = None
    preparation: Any = None
    strict: bool = False

    @property
    def _has_layout(self) -> bool:
        """Whether the options say where the table begins."""
        return self.no_header or self.skip_rows > 0 or self.sheet is not None or self.header_row is not None

    def at(self, path: Path) -> SourceFile:
        """Return a copy for another path, with the same options."""
        return replace(self, path=path)

    def with_times(self) -> SourceFile:
        """Return a copy whose targets are the times and whose queries are the strata, if there are times."""
        from kernelrank.errors import InvalidInputError

        if self.time is None and self.event is None and self.strata is None:
            return self
        if self.time is None or self.event is None:
            raise InvalidInputError("Expected --time and --event together; got one of them. --strata goes with both.")
        if self.target is not None or self.query is not None:
            raise InvalidInputError("Expected --time and --strata instead of --target and --query; got both kinds.")
        return replace(self, target=self.time, query=self.strata or "")

    def may_be_large(self, *, any_size: bool) -> bool:
        """Whether the file may be too large for memory; for Parquet this depends on its content."""
        from kernelrank.data.text import file_format

        is_there = self.path.is_file() or self.path.is_dir()
        if not is_there or self.missing_values is not None or self._has_layout:
            return False
        kind = file_format(str(self.path), self.input_format)
        return kind == "parquet" or (kind != "svmlight" and (any_size or self.path.stat().st_size >= LARGE_BYTES))

    def has_no_names(self) -> bool:
        """Whether the columns are known by number alone; standard input is not looked at before it is read."""
        from kernelrank.data.text import file_format

        looked_at = self.input_format is not None or self.path.is_file()
        return looked_at and file_format(str(self.path), self.input_format) == "svmlight"

    def read(self, answer: Answer, *, needs_target: bool = True) -> Items:
        """Read the file, and note what was guessed."""
        from kernelrank.data import read_items, read_table
        from kernelrank.data.text import SUFFIXES
        from kernelrank.errors import InvalidInputError

        if self.header_row is not None and (self.no_header or self.skip_rows):
            raise InvalidInputError("--header-row says where the names are: leave --no-header and --skip-rows out")
        skip = self.skip_rows if self.header_row is None else self.header_row - 1
        layout: dict[str, Any] = {"header": not self.no_header, "skip_rows": skip, "sheet": self.sheet}
        options = {"format": self.input_format, **self._columns(), "needs_target": needs_target}
        is_workbook = "xlsx" in (self.input_format, SUFFIXES.get(self.path.suffix.lower()))
        if self.strict and not self._has_layout and not is_workbook:
            items = read_items(str(self.path), **options)
        else:
            items = read_table(
                str(self.path),
                **options,
                missing="error" if self.strict else self.missing,
                missing_values=[] if self.missing_values is None else self.missing_values.split(","),
                missing_indicator=self.missing_indicator,
                ordinal=read_ordinal(self.ordinal or ()),
                preparation=self.preparation,
                **layout,
            )
        if items.notes:
            answer.note(f"{items.path}: {'; '.join(items.notes)}")
        return _named_by_groups(items) if self.event is None else self._with_events(items, answer)

    def _with_events(self, items: Items, answer: Answer) -> Items:
        """Return the items with times and events for their targets."""
        import numpy as np

        from kernelrank.base.labels import event_times
        from kernelrank.data.table import is_missing
        from kernelrank.data.text import first_of
        from kernelrank.errors import InvalidInputError

        assert self.event is not None
        assert items.groups is not None
        assert items.y is not None
        faults = {
            "a negative time": items.y < 0,
            "a missing event": np.array([is_missing(str(word).strip()) for word in items.groups], dtype=np.bool_),
        }
        told = [
            f"{counted(int(wrong.sum()), 'item')} with {what} ({first_of(np.array(items.places)[wrong].tolist())})"
            for what, wrong in faults.items()
            if wrong.any()
        ]
        if told and not self.drop_incomplete:
            message = (
                f"{items.path}: expected a time of zero or more and an event for each item; got {' and '.join(told)}."
            )
            raise InvalidInputError(f"{message} --drop-incomplete leaves them out")
        if told:
            answer.note(f"{items.path}: left out: {' and '.join(told)}")
            items = items.chosen(~np.any(list(faults.values()), axis=0))
        events = read_events(items, self.event, self.happened, answer)
        return replace(items, y=event_times(items.y, events), groups=None)

    def request(self) -> ColumnRequest:
        """Return which columns the options name, and as what."""
        from kernelrank.data.table import ColumnRequest

        return ColumnRequest(**self._columns())

    def _columns(self) -> dict[str, Any]:
        names = self.names if self.features is None else [name.strip() for name in self.features.split(",")]
        return {
            "target": self.target,
            "query": self.query,
            "id": self.id,
            "weight": self.weight,
            # The reader keeps labels that are no features as groups: here they are the words of the events.
            "groups": self.groups if self.event is None else self.event,
            "missing_groups": self.event is not None,
            "features": None if names is None else list(names),
            "exclude": [] if self.exclude is None else [name.strip() for name in self.exclude.split(",")],
            "n_features": self.n_features,
            "pos_label": self.positive,
            "guess_positive": True,
        }

    def read_groups(self, answer: Answer) -> Items:
        """Read the file; if each group has one row, groups are dropped with a note, because they have no effect."""
        import numpy as np

        items = self.read(answer)
        if items.groups is None or len(np.unique(items.groups)) < len(items):
            return items
        answer.note(f"{items.path}: every group has one row, so the groups have no effect")
        return replace(items, groups=None)


def _named_by_groups(items: Items) -> Items:
    """Return the items with their groups as ids if they have none, and a group for each row: such labels are names."""
    import numpy as np

    if items.ids is not None or items.groups is None or len(np.unique(items.groups)) < len(items):
        return items
    return replace(items, ids=np.array([str(label) for label in items.groups], dtype=object))


def read_events(items: Items, column: str, happened: str | None, answer: Answer) -> Any:
    """Return events from the labels of a column: 0 and 1, words such as dead and censored, or a word that was named."""
    import numpy as np

    from kernelrank.data.table import opposed
    from kernelrank.errors import InvalidInputError

    assert items.groups is not None  # the column was named
    words = np.array([str(label).strip() for label in items.groups])
    known = np.unique(words)
    if happened is not None:
        if happened not in known:
            shown = ", ".join(map(repr, known[:5].tolist()))
            raise InvalidInputError(f"{items.path}: Expected {happened!r} in the column {column!r}; it has {shown}.")
        return words == happened
    lower = np.char.lower(words)
    for yes, no in (("1", "0"), ("1.0", "0.0"), ("true", "false"), ("yes", "no")):
        if np.all((lower == yes) | (lower == no)):
            return lower == yes
    for no, yes in (known.tolist(), known[::-1].tolist()) if len(known) == 2 else ():
        if opposed(no.casefold(), yes.casefold()):
            meant = f"{yes!r} is an event and {no!r} is none, by their meaning"
            answer.note(f"{items.path}: {meant} (--happened {no} reverses it)")
            return words == yes
    shown = ", ".join(map(repr, known[:5].tolist()))
    raise InvalidInputError(
        f"{items.path}: Expected 0 and 1, or true and false, in the column {column!r}; got {shown}. Give "
        f"the value that means an event, such as --happened {known[-1]}."
    )


def read_ordinal(options: Sequence[str]) -> dict[str, list[str]]:
    """Parse --ordinal: columns with their values in ascending order."""
    from kernelrank.errors import InvalidInputError

    found = {}
    for given in options:
        name, _, words = given.partition("=")
        levels = [word.strip() for word in words.split(",") if word.strip()]
        if not name.strip() or len(set(levels)) < max(2, len(levels)):
            raise InvalidInputError(
                f"--ordinal {given!r}: expected a column and its words from the lowest on, such as stage=I,II,III"
            )
        found[name.strip()] = levels
    return found


@contextmanager
def speaking_of(items: Items) -> Iterator[None]:
    """Put the name of the file before error messages about its items."""
    from kernelrank.base.sklearn_private import InvalidParameterError
    from kernelrank.errors import FileFormatError, InvalidInputError

    try:
        yield
    except FileFormatError:
        # It names its own file, which may be another one.
        raise
    except InvalidInputError as error:
        if str(error).startswith(items.path):
            raise
        raise InvalidInputError(f"{items.path}: {error}") from error
    except InvalidParameterError as error:
        # An option is wrong, whatever the file holds.
        raise InvalidInputError(str(error)) from error
    except ValueError as error:
        # scikit-learn's sentences speak of X and y alone.
        raise InvalidInputError(f"{items.path}: {error}") from error


def is_fold(path: Path) -> bool:
    """Whether this is a folder with a training file, as LETOR's folds are."""
    return path.is_dir() and fold_file(path, "train") is not None


def folds_in(path: Path) -> list[Path]:
    """Return the subfolders that are LETOR folds, sorted by number; an empty list for a file."""
    from kernelrank.data.letor import fold_order

    return sorted(filter(is_fold, path.iterdir()), key=fold_order) if path.is_dir() else []


def fold_file(fold: Path, part: str) -> Path | None:
    """Return the file of a fold, train, vali or test, compressed or not; None without one."""
    from kernelrank.data.letor import find_part

    return find_part(fold, part)


def fold_part(path: Path, part: str) -> Path:
    """Return the train, vali or test file of a fold; other files and Parquet folders are returned unchanged."""
    from kernelrank.data.text import is_parquet

    if not path.is_dir() or any(map(is_parquet, path.iterdir())):
        return path
    from kernelrank.errors import InvalidInputError

    file = fold_file(path, part)
    if file is not None:
        return file
    folds = folds_in(path)
    if folds:
        raise InvalidInputError(
            f"{path}: a folder of {len(folds)} folds; give one of them, such as {folds[0]}, or use kernelrank "
            "tune, which measures all"
        )
    raise InvalidInputError(f"{path}: the folder has no {part}.txt; give a file or a LETOR fold")


# Preference file ------------------------------------------------------------------------------------------------------
#
# A file of preferences as a command reads it: which columns are what, and which items they compare.


def _pair_column(what: str) -> Any:
    return option("Reading preferences")(what, metavar="COLUMN")


@dataclass(frozen=True)
class PreferenceFile:
    """A file of preferences and how it is to be read."""

    path: Path = Path("-")
    winner: Annotated[
        str | None,
        _pair_column(
            "Column of the winners, or the column that says which side won. Guessed from its name if omitted."
        ),
    ] = None
    loser: Annotated[str | None, _pair_column("Column of the losers. Guessed from its name if omitted.")] = None
    left: Annotated[
        str | None, _pair_column("Column of the first item (left, home, model A). Guessed from its name if omitted.")
    ] = None
    right: Annotated[
        str | None, _pair_column("Column of the second item (right, away, model B). Guessed from its name if omitted.")
    ] = None
    tie: Annotated[str | None, _pair_column("Column that marks ties. Guessed from its name if omitted.")] = None
    judge: Annotated[str | None, _pair_column("Column of the judges: who voted. Guessed from its name if omitted.")] = (
        None
    )
    pair_weight: PairWeight = None
    question: Annotated[
        str | None,
        option("Reading preferences")("Question whose votes are read, from a database of kernelrank collect."),
    ] = None
    skip_invalid: Annotated[
        bool,
        option("Reading preferences")("Leave out votes that cannot be read, and note how many.", "--skip-invalid"),
    ] = False

    def at(self, path: Path | None) -> PreferenceFile | None:
        """Return a copy for the file of --pairs; without one, None, and raise an error for columns that are named."""
        if path is not None:
            return replace(self, path=path)
        from kernelrank.errors import InvalidInputError

        if self.skip_invalid:
            raise InvalidInputError("--skip-invalid is for preferences: give their file by --pairs")
        for role, column in self._columns().items():
            if column is not None:
                flag = f"--{role.replace('_', '-')}"
                raise InvalidInputError(
                    f"{flag} names a column of preferences: give their file by --pairs, or remove {flag}"
                )
        return None

    def _columns(self) -> dict[str, str | None]:
        return {name: column for name, column in asdict(self).items() if name not in ("path", "skip_invalid")}

    def read(self, answer: Answer, items: list[object] | None = None, **more: Any) -> Preferences:
        """Read the file, and note what was guessed; `items` are the names that it may have."""
        from kernelrank.data import read_pairs
        from kernelrank.errors import InvalidInputError

        columns: dict[str, Any] = {**self._columns()}
        columns["weight"] = columns.pop("pair_weight")
        try:
            found = read_pairs(str(self.path), items=items, skip_invalid=self.skip_invalid, **columns, **more)
        except InvalidInputError as error:
            # An argument of `read_pairs` in a message is an option of the command.
            message = str(error).replace("; skip_invalid=True leaves", "; --skip-invalid leaves")
            error.args = (re.sub(rf"\b({'|'.join([*columns, *more])})=(?=[\s,;)]|$)", r"--\1", message),)
            raise
        if found.notes:
            answer.note(f"{self.path}: {'; '.join(found.notes)}")
        if found.weight is not None and not (found.weight > 0).any():
            raise InvalidInputError(
                f"{self.path}: every weight is zero: expected a vote with a weight above zero. An empty --pair-weight "
                "ignores weights"
            )
        return found

    def between(self, items: Items, answer: Answer, **more: Any) -> Preferences:
        """Read preferences between items: by name where they have names, by number, from 0, elsewhere."""
        from kernelrank.errors import InvalidInputError

        found = self.read(answer, None if items.ids is None else items.ids.tolist(), **more)
        if found.names is not None and items.ids is None:
            raise InvalidInputError(
                f"{self.path}: has names such as {str(found.names[0])!r}, but the items of {items.path} have no names: "
                "give --id"
            )
        largest = int(found.pairs.max())
        if largest >= len(items):
            raise InvalidInputError(
                f"{self.path}: has the item number {largest}, but the items of {items.path} go from 0 to "
                f"{len(items) - 1}"
            )
        return found

    def without_ties(self, found: Preferences, answer: Answer, reason: str) -> Preferences:
        """Leave the ties out, and note how many and why."""
        from kernelrank.errors import InvalidInputError

        if found.tie is None:
            return found
        if found.tie.all():
            raise InvalidInputError(f"{self.path}: has only ties, {reason}")
        answer.note(f"{self.path}: left out: {counted(int(found.tie.sum()), 'tie')}, {reason}")
        return found._replace(magnitude=_beside_ties(found)).chosen(~found.tie)

    def votes(self, found: Preferences, method: str) -> dict[str, Any]:
        """Return the arguments of `fit_pairs` for a method that does not support magnitudes."""
        from kernelrank.errors import InvalidInputError

        if _beside_ties(found) is not None:
            raise InvalidInputError(
                f"{self.path}: has magnitudes, which --method {method} does not support: use --method rankrls"
            )
        tie = None if found.tie is None or not found.tie.any() else found.tie
        given = {"pairs": found.pairs, "tie": tie, "weight": found.weight}
        return {name: value for name, value in given.items() if value is not None}

    def effects(self, found: Preferences, learner: LearnerOptions) -> dict[str, Any]:
        """Return what `fit_pairs` needs for a side bias and effects of judges; raise an error if the file lacks it."""
        from kernelrank.errors import InvalidInputError

        given: dict[str, Any] = {}
        if learner.side_bias or learner.judge_effect == "side":
            flag = "--side-bias" if learner.side_bias else "--judge-effect side"
            if found.side is None:
                raise InvalidInputError(
                    f"{self.path}: {flag} needs the side of each item: expected two columns of items, such as left and "
                    "right or model_a and model_b, and a column that says who won; found winners and losers. Name the "
                    f"columns with --left, --right and --winner, or remove {flag}"
                )
            given["side"] = found.side
        if learner.judge_effect is not None:
            flag = f"--judge-effect {learner.judge_effect}"
            if found.judge is None:
                raise InvalidInputError(
                    f"{self.path}: {flag} needs the judge of each vote: expected a column of judges; found none. Name "
                    f"it with --judge, or remove {flag}"
                )
            given["judge"] = found.judge
        return given

    def check_holdout(self, found: Preferences) -> None:
        """Raise an error if nothing can be learnt from some preferences and measured on others."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        counts = np.ones(len(found.pairs), dtype=np.bool_) if found.weight is None else found.weight > 0
        if found.tie is not None and found.tie[counts].all():
            raise InvalidInputError(
                f"{self.path}: has only ties, which neither order agrees with, so that alpha cannot be chosen"
            )
        if counts.sum() < 2:
            raise InvalidInputError(
                f"{self.path}: expected at least two votes to hold out; found {int(counts.sum())}. Use kernelrank fit "
                "with --alpha"
            )
        judges = None if found.judge is None else dict.fromkeys(found.judge[counts].tolist())
        if judges is not None and len(judges) < 2:
            raise InvalidInputError(
                f"{self.path}: expected at least two judges to hold out one at a time; found {next(iter(judges))!r} "
                "only. An empty --judge holds out votes instead"
            )


def _beside_ties(found: Preferences) -> Float | None:
    """Return the magnitudes, if they say more than which preferences are ties."""
    if found.magnitude is None or (found.tie is not None and not set(found.magnitude.tolist()) - {0.0, 1.0}):
        return None
    return found.magnitude


# Model file -----------------------------------------------------------------------------------------------------------
#
# Model files as the command writes and reads them: an estimator, and where it comes from.
#
# What a command needs besides the estimator, the names of the columns above all, stands in its fitted attribute
# `provenance_`, which `kernelrank.save` keeps like any other.

REMEMBERED = ("target", "query", "id", "positive")
"""What was said of the columns of a table when a model was fitted, and holds for tables that it meets later."""


def command_line() -> str:
    """Return the command line as it was typed."""
    import shlex

    return shlex.join(["kernelrank", *sys.argv[1:]])


def is_model_file(path: Path) -> bool:
    """Whether a file begins as model files do."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


def save_model(model: Any, path: Path, items: Items | LargeFile, source: SourceFile, **facts: Any) -> None:
    """Write a model with what is known of its data, atomically."""
    from kernelrank import __version__

    named = {name: getattr(source, name) for name in REMEMBERED}
    if items.classes is not None:
        # In another file another class may sort last.
        named["positive"] = items.classes[1]
    model.provenance_ = {
        "file": str(items.path),
        "items": len(items),
        "queries": items.n_queries,
        "feature_names": None if items.feature_names is None else [str(name) for name in items.feature_names],
        "first_index": items.first_index,
        "preparation": None if items.preparation is None else items.preparation.as_data(),
        "training_ids": items.ids if _keeps_items(model) else None,
        "named": named,
        "event": source.event,
        "command": command_line(),
        "version": __version__,
        **facts,
    }
    persistence.save(model, path)


def _keeps_items(model: Any) -> bool:
    """Whether a model is made of training items, whose names then say why it ranks as it does."""
    return hasattr(persistence.final_step(model), "dual_coef_")


def load_model(path: Path, *, or_dyads: bool = False) -> Any:
    """Load a model file; raise an error if it does not hold a ranker of items, or of dyads if they may be."""
    from kernelrank.errors import InvalidInputError

    model = persistence.load(path)
    if or_dyads and hasattr(model, "n_features_rows_in_"):
        return model
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{path}: holds a {type(model).__name__}, which does not rank")
    if not hasattr(model, "n_features_in_"):
        if hasattr(model, "n_features_rows_in_"):
            raise InvalidInputError(
                f"{path}: holds a {type(model).__name__}, which scores dyads; use kernelrank dyads predict"
            )
        raise InvalidInputError(
            f"{path}: holds a {type(model).__name__}, which does not rank rows of numbers. Use kernelrank "
            "relations extract for models of kernelrank relations train"
        )
    return model


def trained_on(model: Any, path: Path, what: str = "file") -> bool:
    """Whether a model was fitted to this very file of items, or of "preferences"."""
    file = persistence.provenance(model).get(what)
    return file is not None and path.is_file() and Path(file).is_file() and path.samefile(file)


def for_model(source: SourceFile, model: Any, *, needs_target: bool = True) -> SourceFile:
    """Read a file as a model expects it: columns by name if the model has names, else by number."""
    known, names = persistence.provenance(model), persistence.feature_names(model)
    expected = getattr(model, "n_features_in_", None)
    if source.has_no_names():
        return replace(source, n_features=expected)
    from kernelrank.data import TablePreparation

    prepared = known.get("preparation")
    preparation = source.preparation if prepared is None else TablePreparation.from_data(prepared)
    # Without a preparation nothing is learnt from the file: its medians and words are not the model's.
    source = replace(
        source,
        names=None if names is None else tuple(names),
        n_features=expected,
        preparation=preparation,
        strict=preparation is None,
    )
    said = {name: word for name, word in known.get("named", {}).items() if getattr(source, name) is None}
    if not needs_target:
        # A target would be read for nothing, and its note could differ from the model.
        said = {name: word for name, word in said.items() if name not in ("target", "positive")}
        said |= {} if names is None else {"target": ""}
    return replace(source, **said)


# Large file -----------------------------------------------------------------------------------------------------------
#
# Large files: ``kernelrank fit`` learns from a large Parquet, CSV or TSV file in batches, if the learner supports it.
#
# The model is that of all items in memory, but it knows medians only of columns that lacked a value. What needs all
# items at once is read into memory as any other file: a target that is a class, weights, ids without queries, queries
# whose rows are not contiguous. So is a file with a fault, so that the error is the same, however large the file is.


@dataclass(frozen=True)
class LargeFile:
    """A file that was learnt in batches, and what is known of its items."""

    stored: StoredTable
    n_queries: int | None
    preparation: TablePreparation | None = None
    ids: None = None
    classes: None = None
    first_index: int = 1

    def __len__(self) -> int:
        return self.stored.n_items

    @property
    def path(self) -> str:
        """What messages call the file."""
        return self.stored.path

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.stored.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """What the columns are called."""
        return None if self.stored.names is None else tuple(self.stored.names)


def fit_large_file(
    source: SourceFile, learner: LearnerOptions, alpha: float | None, checkpoint: Path | None, answer: Answer
) -> tuple[Any, Any, LargeFile] | None:
    """Return the scaling, the fitted ranker and its data; None if the file has to be read into memory.

    Medians or means are learnt, in one more reading, once a missing cell is found; with a checkpoint at once.
    """
    from kernelrank.errors import InvalidInputError, KernelRankError
    from kernelrank.estimators.streams import fit_stored

    rules = [source.missing if source.missing in ("median", "mean") else None]
    for impute in rules if checkpoint is not None else dict.fromkeys([None, *rules]):
        try:
            stored = _opened(source, learner, impute, any_size=checkpoint is not None)
            if stored is None:
                break
            ranker = learner.estimator(alpha)
            if not hasattr(ranker, "fit_stream") or (stored.has_queries and not ranker.compares_queries):
                break
            scaler = _scaler(stored) if learner.scale else None
            stored.transform = None if scaler is None else partial(scaled, scaler)
            with answer.noting_warnings():
                fit_stored(ranker, stored, "whole", checkpoint)
        except KernelRankError:
            if checkpoint is not None:
                raise
            continue
        answer.note(f"{stored.path}: {'; '.join(stored.notes)}")
        preparation = None if stored.fills is None else _preparation(stored, impute)
        return scaler, ranker, LargeFile(stored, ranker.n_queries_ if stored.has_queries else None, preparation)
    if checkpoint is not None:
        raise InvalidInputError(NO_CHECKPOINT)
    return None


def _opened(source: SourceFile, learner: LearnerOptions, impute: str | None, *, any_size: bool) -> StoredTable | None:
    import numpy as np

    from kernelrank.data.readers import StoredTable, open_table
    from kernelrank.data.text import file_format

    needs_all = learner.kernel != "linear" and (learner.basis is None or learner.gamma in ("auto", "median"))
    if source.positive is not None or source.ordinal or needs_all:
        return None
    table = open_table(str(source.path), file_format(str(source.path), source.input_format))
    # A number takes about as many bytes in text as in memory.
    size = source.path.stat().st_size if table.n_rows is None else 8 * table.n_rows * len(table.names)
    if size < LARGE_BYTES and not any_size:
        return None
    stored = StoredTable(table, source.request(), dtype=np.dtype(np.float64), impute=impute)
    roles = stored.reader.roles
    return None if roles.weight is not None or (roles.id is not None and roles.query is None) else stored


def _preparation(stored: StoredTable, rule: Any) -> TablePreparation:
    from kernelrank.data.preparation import PreparedColumn, TablePreparation

    assert stored.fills is not None
    named = zip(stored.names or (), stored.fills.tolist(), strict=True)
    return TablePreparation(tuple(PreparedColumn(name, "number", fill) for name, fill in named), rule)


def _scaler(stored: StoredTable) -> Any:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    for chunk in stored.chunks(whole_queries=False):
        scaler.partial_fit(chunk.X)
    return scaler


# Judgement ------------------------------------------------------------------------------------------------------------
#
# What is measured: the scores of a model on a file, or a run against qrels.

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Judgement:
    """Predicted scores with true scores, ready to be measured."""

    name: str
    y: Any = None
    scores: Any = None
    qid: Any = None
    ids: Any = None
    run: JudgedRun | None = None
    levels: Any = None

    @classmethod
    def of_sets(cls, sets: Sequence[tuple[str, Items, Any]]) -> Judgement:
        """Combine test sets (name, items, predicted scores); queries of different sets stay different."""
        import numpy as np

        names = [name for name, _, _ in sets]
        if len(sets) == 1:
            _, items, scores = sets[0]
            return cls(names[0], items.y, scores, items.qid, items.ids)
        truth: list[Any] = [items.y for _, items, _ in sets]
        queries = [
            f"{name}: {query}"
            for name, items, _ in sets
            for query in (["all"] * len(items) if items.qid is None else items.qid.tolist())
        ]
        scores = np.concatenate([scores for _, _, scores in sets])
        ids = [items.ids for _, items, _ in sets]
        known = None if any(one is None for one in ids) else np.concatenate([one for one in ids if one is not None])
        return cls(", ".join(names), np.concatenate(truth), scores, np.array(queries), known)

    def measure(self, measure: Measure, rules: MeasureRules) -> MeasureResult:
        """Compute a measure; the rules decide the order of tied items."""
        if self.run is not None:
            return self.run.measure(measure, order=rules.order(self.run.ids))
        placed = self.placed(rules)
        if measure.takes_levels and self.levels is None:
            from kernelrank.errors import InvalidInputError

            raise InvalidInputError(
                f"{measure.name} measures levels, and {self.name} predicts scores: fit with --levels"
            )
        return measure(placed.y, placed.levels if measure.takes_levels else placed.scores, qid=placed.qid)

    def placed(self, rules: MeasureRules) -> Judgement:
        """Return the items of a model on a file in the order in which the rules place tied ones."""
        order = rules.order(self.ids)
        if order is None:
            return self
        given = (self.y, self.scores, self.qid, self.ids, self.levels)
        y, scores, qid, ids, levels = (None if column is None else column[order] for column in given)
        return Judgement(self.name, y, scores, qid, ids, levels=levels)


def measured(
    answer: Answer, measures: Sequence[Measure], find: Callable[[Measure], Found], *, asked: bool
) -> list[tuple[Measure, Found]]:
    """Compute the measures; default measures that do not apply to the scores are left out, with a note.

    asked: Whether these very measures were asked for, so that each must fit.
    """
    from kernelrank.errors import InvalidInputError

    found, problems = [], []
    for measure in measures:
        try:
            found.append((measure, find(measure)))
        except InvalidInputError as error:
            if asked:
                raise
            problems.append(error)
    if not found:
        raise problems[0]
    for problem in problems:
        answer.note(f"left out: {problem}")
    return found


def judge(answer: Answer, judged: Path, truth: SourceFile) -> Judgement:
    """Pair predictions with true scores: those of a model (also of RankLib or SVM-rank) or of a TREC run."""
    from kernelrank.data.trec import is_linear_model_file, read_linear_model
    from kernelrank.errors import FileFormatError, InvalidInputError

    if str(judged) != "-" and is_model_file(judged):
        model = load_model(judged)
        known = persistence.provenance(model)
        if known.get("event") is not None and truth.event is None and truth.target is None:
            raise InvalidInputError(
                f"{judged}: was fitted to times and events: add --time {known['named']['target']} "
                f"--event {known['event']}, or name scores by --target"
            )
        items = for_model(truth, model).read(answer)
        if trained_on(model, truth.path):
            answer.note(f"{judged} was trained on {truth.path}: the measures are too optimistic for new items")
        with speaking_of(items):
            scores = scores_of(model, items.X)
            levels = None if persistence.levels_of(model) is None else scores_of(model, items.X, levels=True)
        return Judgement(str(judged), items.y, scores, items.qid, items.ids, levels=levels)
    if str(judged) != "-" and is_linear_model_file(judged):
        linear, items = read_linear_model(judged), truth.read(answer)
        answer.note(f"{judged}: a model of {linear.program} ({linear.method}), with features by their numbers")
        return Judgement(str(judged), items.y, linear.scores(items.X, items.first_index), items.qid, items.ids)
    from kernelrank.data.readers import holds_scores

    if str(judged) != "-" and judged.is_file() and holds_scores(str(judged)):
        return _judge_scores(judged, truth.read(answer))
    try:
        return _judge_run(answer, judged, truth.path)
    except FileFormatError as error:
        if error.path != str(judged):
            raise
        kinds = "a model file, a run, or scores: one in each line, or in a column called score"
        raise InvalidInputError(f"{error}; expected {kinds}") from error


def _judge_scores(path: Path, items: Items) -> Judgement:
    """Pair the scores of another program with the items of a file, in their order."""
    import numpy as np

    from kernelrank.data import read_scores
    from kernelrank.errors import InvalidInputError

    scores, ids = read_scores(str(path))
    if len(scores) != len(items):
        raise InvalidInputError(
            f"{path}: expected one score for each of the {len(items):,} items of {items.path}; got {len(scores):,}"
        )
    if ids is not None and items.ids is not None and not np.array_equal(ids, items.ids):
        row = int(np.argmax(ids != items.ids))
        raise InvalidInputError(
            f"{path}: expected the items of {items.path} in their order; item {row + 1} is {str(ids[row])!r} here and "
            f"{str(items.ids[row])!r} there"
        )
    return Judgement(str(path), items.y, scores, items.qid, items.ids)


def _judge_run(answer: Answer, path: Path, qrels_path: Path) -> Judgement:
    from kernelrank.data import read_qrels, read_run
    from kernelrank.metrics import JudgedRun

    run, qrels = read_run(str(path)), read_qrels(str(qrels_path))
    judged = JudgedRun.of((run.qid, run.ids, run.scores), (qrels.qid, qrels.ids, qrels.grades))
    if judged.unjudged_queries:
        number = len(judged.unjudged_queries)
        answer.note(f"{path}: {counted(number, 'query', 'queries')} without a judgement left out")
    if judged.unanswered_queries:
        number = len(judged.unanswered_queries)
        answer.note(
            f"{path}: {counted(number, 'judged query', 'judged queries')} missing from the run: they count as empty "
            "rankings"
        )
    if judged.n_unjudged:
        answer.note(f"{path}: {counted(judged.n_unjudged, 'item')} without a judgement count as not relevant")
    return Judgement(str(path), run=judged)


# Scoring --------------------------------------------------------------------------------------------------------------
#
# The scores of items by a model, with an error message if the two do not match.


@contextmanager
def columns_matched() -> Iterator[None]:
    """Allow a model fitted to a data frame to take an array whose columns were matched by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def scores_of(model: Any, X: Any, *, levels: bool = False) -> Float:
    """Score items; a classifier by its decision function. With `levels`, predict levels if the model does.

    Shapes: X (m, n_features); returns (m,).
    """
    import numpy as np
    from scipy import sparse

    from kernelrank.errors import InvalidInputError

    expected = model.n_features_in_
    if X.shape[1] != expected:
        raise InvalidInputError(
            f"expected {expected} feature columns, as in the training data; the file has {X.shape[1]}"
        )
    if sparse.issparse(X) and not model.__sklearn_tags__().input_tags.sparse:
        X = X.toarray()
    with columns_matched():
        scored = hasattr(model, "decision_function") and not (levels and persistence.levels_of(model) is not None)
        scores = model.decision_function(X) if scored else model.predict(X)
    if np.ndim(scores) != 1:
        raise InvalidInputError(f"the model has {np.shape(scores)[1]} outputs; the command supports one")
    return np.asarray(scores, dtype=np.float64)
