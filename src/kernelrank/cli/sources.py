"""Files of items as a command reads them: notes list what was guessed, errors name what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.data import Items, TablePreparation
    from kernelrank.data.columns import ColumnRequest

__all__ = [
    "SourceFile",
    "fold_file",
    "fold_part",
    "folds_in",
    "is_fold",
    "read_events",
    "read_ordinal",
    "speaking_of",
    "survival_columns",
]


LARGE_BYTES = 1 << 27
"""From this size of X on, `fit` reads a file in batches: below it, memory is no concern."""


@dataclass(frozen=True)
class SourceFile:
    """A file and how it is to be read.

    Parameters
    ----------
    path : Path
        "-" is standard input.
    format, target, query, id, weight, groups, features : str or None
        As the options say; None lets the reader guess.
    positive : str or None
        The class that counts as 1; guessed from the words unless given.
    names : tuple of str, or None
        The column names of a model.
    n_features : int or None
        How many columns a model expects.
    exclude : str or None
        Columns to leave out, with commas between.
    missing, missing_indicator, ordinal
        As the options say.
    preparation : TablePreparation or None
        The preparation of the columns that a model stores; learnt from the file unless given.
    strict : bool
        Whether cells that are no numbers are errors, and nothing is prepared.
    event, happened : str or None
        The column that tells which targets are times of an event, and its word for one.
    """

    path: Path
    format: str | None = None
    target: str | None = None
    query: str | None = None
    id: str | None = None
    weight: str | None = None
    groups: str | None = None
    features: str | None = None
    positive: str | None = None
    names: tuple[str, ...] | None = None
    n_features: int | None = None
    exclude: str | None = None
    missing: Literal["median", "mean", "drop", "error"] = "median"
    missing_indicator: bool = False
    ordinal: Sequence[str] = ()
    preparation: TablePreparation | None = None
    strict: bool = False
    event: str | None = None
    happened: str | None = None

    def at(self, path: Path) -> SourceFile:
        """Return a copy for another path, with the same options."""
        return replace(self, path=path)

    def preparing(
        self,
        missing: Literal["median", "mean", "drop", "error"],
        missing_indicator: bool,
        ordinal: Sequence[str] | None,
        *,
        event: str | None = None,
        happened: str | None = None,
    ) -> SourceFile:
        """Return a copy with the options for missing cells, ordinal columns and events."""
        return replace(
            self,
            missing=missing,
            missing_indicator=missing_indicator,
            ordinal=ordinal or (),
            event=event,
            happened=happened,
        )

    def may_be_large(self) -> bool:
        """Whether the file may be too large for memory; for Parquet this depends on its content."""
        from kernelrank.data.text import file_format

        if not self.path.is_file():
            return False
        kind = file_format(str(self.path), self.format)
        return kind == "parquet" or (kind != "svmlight" and self.path.stat().st_size >= LARGE_BYTES)

    def has_no_names(self) -> bool:
        """Whether the columns are known by number alone; standard input is not looked at before it is read."""
        from kernelrank.data.text import file_format

        looked_at = self.format is not None or self.path.is_file()
        return looked_at and file_format(str(self.path), self.format) == "svmlight"

    def read(self, answer: Answer, *, needs_target: bool = True) -> Items:
        """Read the file, and note what was guessed."""
        from kernelrank.data import read_items, read_table

        options = {"format": self.format, **self._columns(), "needs_target": needs_target}
        if self.strict:
            items = read_items(str(self.path), **options)
        else:
            items = read_table(
                str(self.path),
                **options,
                missing=self.missing,
                missing_indicator=self.missing_indicator,
                ordinal=read_ordinal(self.ordinal),
                preparation=self.preparation,
            )
        if items.notes:
            answer.note(f"{items.path}: {'; '.join(items.notes)}")
        return _named_by_groups(items) if self.event is None else self._with_events(items)

    def _with_events(self, items: Items) -> Items:
        """Return the items with times and events for their targets."""
        from kernelrank.base.labels import event_times

        assert self.event is not None
        events = read_events(items, self.event, self.happened)
        return replace(items, y=event_times(items.y, events), groups=None)

    def request(self) -> ColumnRequest:
        """Return which columns the options name, and as what."""
        from kernelrank.data.columns import ColumnRequest

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


def read_events(items: Items, column: str, happened: str | None) -> Any:
    """Return events from the labels of a column: 0 and 1, true and false, or a word that was named."""
    import numpy as np

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
    shown = ", ".join(map(repr, known[:5].tolist()))
    raise InvalidInputError(
        f"{items.path}: Expected 0 and 1, or true and false, in the column {column!r}; got {shown}. Give "
        f"the value that means an event, such as --happened {known[-1]}."
    )


def survival_columns(
    target: str | None, query: str | None, time: str | None, event: str | None, strata: str | None
) -> tuple[str | None, str | None]:
    """Return the columns of targets and queries: times are targets, and strata are queries."""
    from kernelrank.errors import InvalidInputError

    if time is None and event is None and strata is None:
        return target, query
    if time is None or event is None:
        raise InvalidInputError("Expected --time and --event together; got one of them. --strata goes with both.")
    if target is not None or query is not None:
        raise InvalidInputError("Expected --time and --strata instead of --target and --query; got both kinds.")
    return time, strata or ""


def read_ordinal(options: Sequence[str]) -> dict[str, list[str]]:
    """Parse --ordinal: columns with their values in ascending order.

    Examples
    --------
    >>> read_ordinal(["stage=I, II, III"])
    {'stage': ['I', 'II', 'III']}
    """
    from kernelrank.errors import InvalidInputError

    found = {}
    for option in options:
        name, _, words = option.partition("=")
        levels = [word.strip() for word in words.split(",") if word.strip()]
        if not name.strip() or len(set(levels)) < max(2, len(levels)):
            raise InvalidInputError(
                f"--ordinal {option!r}: expected a column and its words from the lowest on, such as stage=I,II,III"
            )
        found[name.strip()] = levels
    return found


@contextmanager
def speaking_of(items: Items) -> Iterator[None]:
    """Put the name of the file before error messages about its items."""
    from sklearn.utils._param_validation import InvalidParameterError

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
