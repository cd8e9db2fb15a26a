"""The four settings: which dyads are held out together, and which of them are predicted.

=========== =============================================== ===========================
setting     leaves                                          is predicted
=========== =============================================== ===========================
``cell``    cells: the score alone is unknown               the same cells
``row``     rows: objects that were never seen              the scores of these rows
``column``  columns                                         the scores of these columns
``both``    rows and columns: both objects were never seen  where they cross
=========== =============================================== ===========================

With one set of objects a cell leaves together with its mirror, and an object with its row and its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, check_cv

from kernelrank.base.arrays import Index, RandomStateLike
from kernelrank.errors import InvalidInputError

Setting: TypeAlias = Literal["cell", "row", "column", "both"]
SETTINGS: tuple[Setting, ...] = ("cell", "row", "column", "both")
TURNED: dict[Setting, Setting] = {"cell": "cell", "row": "column", "column": "row", "both": "both"}

NOTHING: Index = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class LeavingDyads:
    """The dyads that are held out together."""

    rows: Index
    columns: Index
    cells: Index
    predicted: Index

    def mask(self, shape: tuple[int, int]) -> NDArray[np.bool_]:
        """Return which cells are held out, (m₁, m₂)."""
        leaving = np.zeros(shape, dtype=np.bool_)
        leaving[self.rows] = True
        leaving[:, self.columns] = True
        leaving.ravel()[self.cells] = True
        return leaving

    def crossing(self, shape: tuple[int, int]) -> tuple[tuple[Index, Index], tuple[Index, Index], tuple[Index, Index]]:
        """Return the cells that are predicted, the objects that these need, and where among them the cells are."""
        rows, columns = np.divmod(self.predicted, shape[1])
        row_objects, row_places = np.unique(rows, return_inverse=True)
        column_objects, column_places = np.unique(columns, return_inverse=True)
        return (rows, columns), (row_objects, column_objects), (row_places, column_places)


@dataclass(frozen=True)
class DyadicFolds:
    """The folds of dyads: which are held out together."""

    setting: Setting
    shape: tuple[int, int]
    one_set: bool
    rows: tuple[Index, ...] | None = None
    columns: tuple[Index, ...] | None = None
    cells: tuple[Index, ...] | None = None

    @classmethod
    def of(
        cls, setting: Setting, cv: Any, known: NDArray[np.bool_], *, one_set: bool, random_state: Any = 0
    ) -> DyadicFolds:
        """Read the arguments `setting` and `cv`.

        Shapes: known (m1, m2).
        """
        shape = known.shape[0], known.shape[1]
        if setting not in SETTINGS:
            raise InvalidInputError(f"setting must be one of {', '.join(map(repr, SETTINGS))}, got {setting!r}")
        if setting == "cell":
            return cls(setting, shape, one_set, cells=_cell_folds(cv, known, one_set, random_state))
        pair = cv if setting == "both" and isinstance(cv, tuple) and len(cv) == 2 else (cv, cv)
        if one_set and pair[0] is not pair[1]:
            raise InvalidInputError("cv is a pair, but rows and columns are one set of objects: give one cv")
        noun = ("objects", "objects") if one_set else ("rows", "columns")
        rows = _folds(pair[0], shape[0], noun[0], random_state) if setting != "column" or one_set else None
        if one_set:
            return cls(setting, shape, one_set, rows, rows)
        columns = _folds(pair[1], shape[1], noun[1], random_state) if setting != "row" else None
        return cls(setting, shape, one_set, rows, columns)

    def turned(self) -> DyadicFolds:
        """Return the folds of the transposed scores."""
        cells = None if self.cells is None else tuple(mirrored(cells, self.shape) for cells in self.cells)
        return DyadicFolds(TURNED[self.setting], self.shape[::-1], self.one_set, self.columns, self.rows, cells)

    def object_folds(self, side: int) -> Sequence[Index]:
        """Return the folds of the rows (0) or columns (1), single ones included."""
        folds = (self.rows, self.columns)[side]
        return list(np.arange(self.shape[side])[:, None]) if folds is None else folds

    def leaving(self, known: NDArray[np.bool_]) -> Iterator[LeavingDyads]:
        """Return the held-out dyads, fold by fold; of single cells only the known ones."""
        if self.setting == "cell":
            for cells in self._single_cells(known) if self.cells is None else self.cells:
                yield LeavingDyads(NOTHING, NOTHING, cells, cells)
            return
        if self.setting == "both":
            yield from self._crossings()
            return
        side = 0 if self.setting == "row" else 1
        for fold in self.object_folds(side):
            predicted = self._grid(fold, None) if side == 0 else self._grid(None, fold)
            if self.one_set:
                yield LeavingDyads(fold, fold, NOTHING, predicted)
            else:
                yield LeavingDyads(*((fold, NOTHING) if side == 0 else (NOTHING, fold)), NOTHING, predicted)

    def _crossings(self) -> Iterator[LeavingDyads]:
        rows, columns = self.object_folds(0), self.object_folds(1)
        for number, first in enumerate(rows):
            for other, second in enumerate(columns):
                if not self.one_set:
                    yield LeavingDyads(first, second, NOTHING, self._grid(first, second))
                elif other <= number:
                    both = np.union1d(first, second)
                    predicted = np.union1d(self._grid(first, second), self._grid(second, first))
                    yield LeavingDyads(both, both, NOTHING, predicted)

    def _grid(self, rows: Index | None, columns: Index | None) -> Index:
        """Return the cells of some rows and some columns; None stands for all."""
        rows = np.arange(self.shape[0]) if rows is None else rows
        columns = np.arange(self.shape[1]) if columns is None else columns
        return np.asarray((rows[:, None] * self.shape[1] + columns).ravel())

    def _single_cells(self, known: NDArray[np.bool_]) -> Iterator[Index]:
        for cell in np.flatnonzero(_units(known, self.one_set)):
            yield np.unique([cell, *mirrored(np.array([cell]), self.shape)]) if self.one_set else np.array([cell])


def mirrored(cells: Index, shape: tuple[int, int]) -> Index:
    """Return the numbers of the cells (b, a) of the transposed matrix for cells (a, b)."""
    return np.asarray((cells % shape[1]) * shape[0] + cells // shape[1])


def _units(known: NDArray[np.bool_], one_set: bool) -> NDArray[np.bool_]:
    """Return the known cells; with one set of objects one of each pair of mirrored cells."""
    return np.triu(known | known.T) if one_set else known


def _cell_folds(
    cv: Any, known: NDArray[np.bool_], one_set: bool, random_state: RandomStateLike
) -> tuple[Index, ...] | None:
    shape = known.shape[0], known.shape[1]
    units = np.flatnonzero(_units(known, one_set))
    folds = _folds(cv, len(units), "known cells", random_state)
    if folds is None:
        return None
    cells = [units[fold] for fold in folds]
    return tuple(np.union1d(fold, mirrored(fold, shape)) for fold in cells) if one_set else tuple(cells)


def _folds(cv: Any, size: int, noun: str, random_state: RandomStateLike) -> tuple[Index, ...] | None:
    """Return what each split holds out; None if each leaves alone."""
    if size < 2:
        raise InvalidInputError(f"Expected at least two {noun}, so that one can be held out; got {size}")
    if cv is None:
        return None
    if isinstance(cv, Integral):
        if not 2 <= int(cv) <= size:
            raise InvalidInputError(f"Expected cv between 2 and {size}, the number of {noun}; got {cv}.")
        cv = KFold(int(cv), shuffle=True, random_state=random_state)
    folds, seen = [], np.zeros(size, dtype=np.int64)
    for number, (train, test) in enumerate(check_cv(cv).split(np.zeros((size, 1)))):
        taking_part = np.bincount(np.concatenate([train, test]), minlength=size)
        if len(taking_part) != size or np.any(taking_part != 1) or len(test) == 0 or len(train) == 0:
            raise InvalidInputError(
                f"split {number} of cv must put each of the {size} {noun} either into its training part or into its "
                "test part, and leave neither part empty"
            )
        folds.append(np.sort(np.asarray(test, dtype=np.int64)))
        seen[test] += 1
    if np.any(seen > 1):
        raise InvalidInputError(f"cv tests {noun[:-1]} {int(np.argmax(seen > 1))} more than once: use disjoint folds")
    return tuple(folds)
