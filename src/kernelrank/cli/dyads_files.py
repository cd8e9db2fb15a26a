"""The files of ``kernelrank dyads``: two tables of objects, and scores whose names are matched with theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kernelrank.cli.answer import Answer
    from kernelrank.data.named_tables import NamedTable

__all__ = ["DyadFiles", "Dyads", "read_side"]

SHOWN = 3


@dataclass(frozen=True)
class Dyads:
    """Objects of two sides and their scores.

    Parameters
    ----------
    rows, columns : NamedTable
        The same table if rows and columns are one set of objects.
    Y : ndarray, shape (len(rows), len(columns))
        NaN where unknown.
    one_set : bool
    scores : Path
        Where the scores come from.
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
    """The files of objects and scores, and how they are read.

    Parameters
    ----------
    rows, columns, scores : Path
        `columns` is None for one set of objects.
    similarity : {"rows", "columns", "both"} or None
        Which tables hold similarities rather than features.
    format : str or None
    """

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
