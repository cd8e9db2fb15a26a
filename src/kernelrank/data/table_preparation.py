"""The preparation of a table: how cells of text become columns of numbers.

It is learnt from all rows of a table, without their labels, and applied to any table that has the same columns:

- numbers stay; a missing one becomes the median (or the mean) of its column;
- a column of words becomes one column of 0 and 1 for each word; a missing or an unknown word is 0 in all of them;
- an ordinal column, whose words have an order, becomes 0, 1, 2, ...

Dates, ids and free text are left out. What is wrong with the cells is collected, so that all of it is said at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.decimals import read_decimal
from kernelrank.data.line import shown
from kernelrank.data.table import Table, number_fault
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["CellColumn", "Faults", "MissingRule", "PreparedColumn", "TablePreparation"]

ColumnKind: TypeAlias = Literal["number", "category", "ordinal"]
MissingRule: TypeAlias = Literal["median", "mean", "drop", "error"]
MISSING_RULES = ("median", "mean", "drop", "error")
MISSING_WORDS = frozenset({"", "na", "n/a", "<na>", "nan", "null", "none", "?", "."})
DATE = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}-\w{3}-\d{2,4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
MOST_FAULTS = 20
MOST_PLACES = 5
CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class CellColumn:
    """The cells of one column, as text.

    Parameters
    ----------
    name : str
    words : ndarray of str, shape (m,)
    """

    name: str
    words: NDArray[np.object_]
    missing: NDArray[np.bool_] = field(init=False)
    values: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        try:
            values = self.words.astype(np.float64)
            missing = np.isnan(values)
            plain = "".join(self.words.tolist())
            if "_" in plain or not plain.isascii():
                raise ValueError  # Python takes 1_000 for a number, and digits of other scripts
        except ValueError:
            words = self.words.tolist()
            missing = np.array([word.lower() in MISSING_WORDS for word in words], dtype=np.bool_)
            read = [read_decimal(word.encode()) for word in words]
            values = np.array([math.nan if value is None else value for value in read], dtype=np.float64)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "values", values)

    @property
    def known(self) -> list[str]:
        """The words that are not missing."""
        known: list[str] = self.words[~self.missing].tolist()
        return known

    @property
    def no_numbers(self) -> NDArray[np.bool_]:
        """Which cells hold something that is not a finite number."""
        return ~self.missing & ~np.isfinite(self.values)


@dataclass
class Faults:
    """What is wrong with a table, all of it.

    Parameters
    ----------
    table : Table
    """

    table: Table
    found: list[tuple[str, int | None, str | None]] = field(default_factory=list)
    errors: list[FileFormatError] = field(default_factory=list)

    def add(self, message: str, position: int | None = None, column: str | None = None) -> None:
        """Add one faulty cell to the list of problems."""
        self.found.append((message, position, column))

    def add_error(self, error: FileFormatError) -> None:
        """Add a problem that was raised as an error."""
        message = str(error).removeprefix(self.table.path).lstrip(",: ")
        self.found.append((message, None, None))
        self.errors.append(error)

    def raise_all(self) -> None:
        """Raise one error for all problems, if there are any; equal problems of a column are grouped."""
        if len(self.found) == 1:
            for error in self.errors:
                raise error
            ((message, position, column),) = self.found
            raise self.table.error(message, position, None if column is None else self.table.names.index(column))
        if not self.found:
            return
        alike: dict[tuple[str | None, str], list[int]] = {}
        for message, position, column in self.found:
            places = alike.setdefault((column, message), [])
            if position is not None:
                places.append(position)
        told = [self._told(column, message, places) for (column, message), places in alike.items()]
        if len(told) > MOST_FAULTS:
            told[MOST_FAULTS:] = [f"and {len(told) - MOST_FAULTS:,} more"]
        raise FileFormatError(f"{len(self.found):,} problems: {'; '.join(told)}", self.table.path)

    def _told(self, column: str | None, message: str, positions: list[int]) -> str:
        places = [] if column is None else [f"column {column!r}"]
        places += [self.table.place_in_words(position) for position in positions[:MOST_PLACES]]
        places += [f"and {len(positions) - MOST_PLACES:,} more"] if len(positions) > MOST_PLACES else []
        return f"{', '.join(places)}: {message}" if places else message


@dataclass(frozen=True)
class PreparedColumn:
    """How one column becomes numbers.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "ordinal"}
    fill : float
        What a missing number becomes; NaN if it may not be missing.
    levels : tuple of str
        The words of a category, or of an ordinal column in their order.
    indicator : bool
        Whether one more column says where a cell is missing.
    """

    name: str
    kind: ColumnKind
    fill: float = math.nan
    levels: tuple[str, ...] = ()
    indicator: bool = False

    @property
    def feature_names(self) -> list[str]:
        """What its columns of numbers are called."""
        names = [f"{self.name}={level}" for level in self.levels] if self.kind == "category" else [self.name]
        return [*names, f"{self.name} is missing"] if self.indicator else names

    def values(self, column: CellColumn) -> NDArray[np.float64]:
        """Return the numbers of a column, shape (m,), NaN where a cell is missing or no number or level."""
        if self.kind == "number":
            return np.where(np.isfinite(column.values), column.values, math.nan)
        place = {level: number for number, level in enumerate(self.levels)}
        return np.array([place.get(word, math.nan) for word in column.words.tolist()], dtype=np.float64)

    def matrix(self, column: CellColumn) -> NDArray[np.float64]:
        """Return the columns of numbers, shape (m, len(feature_names))."""
        values = self.values(column)[:, None]
        if self.kind == "category":
            values = (values == np.arange(len(self.levels))).astype(np.float64)
        else:
            values = np.where(np.isnan(values), self.fill, values)
        return np.hstack([values, column.missing[:, None]]) if self.indicator else values


@dataclass(frozen=True)
class TablePreparation:
    """Encoding and imputation of table columns, learnt from one table and applied to others.

    Parameters
    ----------
    columns : tuple of PreparedColumn
    missing : {"median", "mean", "drop", "error"}
        What becomes of missing numbers.

    Examples
    --------
    >>> age = PreparedColumn("age", "number", fill=40.0)
    >>> sex = PreparedColumn("sex", "category", levels=("f", "m"))
    >>> preparation = TablePreparation((age, sex))
    >>> preparation.feature_names
    ('age', 'sex=f', 'sex=m')
    >>> cells = {"age": CellColumn("age", np.array(["30", "NA"])), "sex": CellColumn("sex", np.array(["m", "x"]))}
    >>> preparation.apply(cells)[0].tolist()
    [[30.0, 0.0, 1.0], [40.0, 0.0, 0.0]]
    """

    columns: tuple[PreparedColumn, ...]
    missing: MissingRule = "median"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are used."""
        return tuple(column.name for column in self.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of numbers that are made of them."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def only_numbers(self) -> bool:
        """Whether all columns are numbers, so that a table without missing values is unchanged."""
        return all(column.kind == "number" and not column.indicator for column in self.columns)

    @classmethod
    def of_numbers(cls, names: Sequence[str], X: NDArray[Any], missing: MissingRule = "median") -> TablePreparation:
        """Learn from a table of numbers without missing values. Time O(size), memory O(1) beyond X."""
        fills = np.full(X.shape[1], math.nan)
        if missing in ("median", "mean"):
            step = max(1, CHUNK_CELLS // max(1, len(X)))
            average = np.median if missing == "median" else np.mean
            for start in range(0, X.shape[1], step):
                fills[start : start + step] = average(X[:, start : start + step], axis=0)
        pairs = zip(names, fills.tolist(), strict=True)
        return cls(tuple(PreparedColumn(name, "number", fill) for name, fill in pairs), missing)

    def apply(self, cells: Mapping[str, CellColumn]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """Return the numbers of a table, shape (m, n_features), and what their columns are called.

        A missing number that has no fill is NaN. Time and memory O(result).
        """
        matrices = [column.matrix(cells[column.name]) for column in self.columns]
        return np.hstack(matrices), self.feature_names

    def filled(self, cells: Mapping[str, CellColumn]) -> NDArray[np.bool_]:
        """Return where `apply` puts a median or a mean, shape (m, n_features)."""
        masks = []
        for prepared in self.columns:
            missing = cells[prepared.name].missing[:, None]
            mask = np.zeros((len(missing), len(prepared.feature_names)), dtype=np.bool_)
            if prepared.kind != "category":
                mask[:, :1] = missing
            masks.append(mask)
        return np.hstack(masks)

    def check(self, cells: Mapping[str, CellColumn], positions: NDArray[np.int64], faults: Faults) -> list[str]:
        """Collect the cells that cannot be used, and return notes on what was filled and what is unknown."""
        filled: list[str] = []
        notes: list[str] = []
        for prepared in self.columns:
            column = cells.get(prepared.name)
            if column is None:  # which is a fault already
                continue
            values = prepared.values(column)
            strange = np.isnan(values) & ~column.missing
            if prepared.kind == "category":
                unknown = sorted(set(column.words[strange].tolist()))
                if unknown:
                    listed = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
                    notes.append(f"column {prepared.name!r} has words that the model does not know ({listed})")
                continue
            for row in np.flatnonzero(strange).tolist():
                faults.add(self._fault(prepared, column.words[row]), int(positions[row]), prepared.name)
            if column.missing.any() and math.isnan(prepared.fill) and self.missing != "drop":
                for row in np.flatnonzero(column.missing).tolist():
                    faults.add("the cell is missing: expected a number", int(positions[row]), prepared.name)
            elif column.missing.any():
                filled.append(f"{prepared.name!r} {np.count_nonzero(column.missing):,}")
        if filled and self.missing in ("median", "mean"):
            listed = ", ".join(filled[:5]) + (", ..." if len(filled) > 5 else "")
            notes.append(f"missing cells became the {self.missing} of their column ({listed})")
        return notes

    @staticmethod
    def _fault(prepared: PreparedColumn, word: str) -> str:
        if prepared.kind == "ordinal":
            return f"{shown(word.encode())} is not a level of {prepared.name!r}: expected {', '.join(prepared.levels)}"
        return number_fault(word.encode()) + "; leave the column out with exclude"

    def as_data(self) -> dict[str, Any]:
        """Return a representation of numbers, strings and lists, for saving."""
        columns = self.columns
        return {
            "missing": self.missing,
            "names": [column.name for column in columns],
            "kinds": [column.kind for column in columns],
            "fills": [column.fill for column in columns],
            "levels": {column.name: list(column.levels) for column in columns if column.levels},
            "indicators": [column.name for column in columns if column.indicator],
        }

    @classmethod
    def from_data(cls, data: Any) -> TablePreparation:
        """Build from the result of `as_data`; anything else is an error.

        Examples
        --------
        >>> preparation = TablePreparation((PreparedColumn("sex", "category", levels=("f", "m")),))
        >>> TablePreparation.from_data(preparation.as_data()).feature_names
        ('sex=f', 'sex=m')
        """
        try:
            missing, levels, indicators = data["missing"], data["levels"], set(data["indicators"])
            columns = tuple(
                _checked_column(name, kind, float(fill), tuple(levels.get(name, ())), name in indicators)
                for name, kind, fill in zip(data["names"], data["kinds"], data["fills"], strict=True)
            )
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise InvalidInputError(f"the preparation of the table is damaged: {error}") from None
        if missing not in MISSING_RULES:
            known = ", ".join(MISSING_RULES)
            raise InvalidInputError(f"the table preparation is damaged: missing is {missing!r}, not one of {known}")
        return cls(columns, missing)


def _checked_column(
    name: str, kind: ColumnKind, fill: float, levels: tuple[str, ...], indicator: bool
) -> PreparedColumn:
    if kind not in ("number", "category", "ordinal") or not all(isinstance(word, str) for word in (name, *levels)):
        raise ValueError(f"column {name!r}")
    return PreparedColumn(name, kind, fill, levels, indicator)
