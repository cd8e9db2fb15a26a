"""The reader of items: files of every format, whole or in chunks."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from kernelrank.data.delimited import DelimitedTable
from kernelrank.data.file_format import FileFormat, file_format
from kernelrank.data.growing import GrowingArray
from kernelrank.data.item_rows import ItemRows, Survey
from kernelrank.data.items import Items
from kernelrank.data.parquet_table import ParquetTable
from kernelrank.data.ranking import Ranking, load_ranking
from kernelrank.data.roles import Wishes
from kernelrank.data.source import Source, readable, source_name
from kernelrank.data.table import Table
from kernelrank.errors import InvalidInputError

__all__ = ["read_items"]


def read_items(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | None = None,
    query: str | None = None,
    id: str | None = None,
    weight: str | None = None,
    groups: str | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    positive: str | None = None,
    needs_target: bool = True,
) -> Items:
    """Read the items of a file.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input.
    """
    wishes = Wishes(target, query, id, weight, groups, features, n_features, positive, needs_target)
    with readable(path) as source:
        kind = file_format(source, format)
        if kind == "svmlight":
            _refuse_names(wishes, source_name(source))
            return _items_of(load_ranking(source, n_features=n_features), source)
        return _read_table(_table(source, kind), wishes)


def _read_table(table: Table, wishes: Wishes) -> Items:
    survey = Survey.begun(table, wishes)
    values = GrowingArray(np.float64)
    pieces = []
    for rows in survey.read():
        values.append(rows.X.ravel())
        pieces.append(rows.part(0, len(rows)))
    X = values.taken().reshape(-1, len(survey.roles.features))
    return survey.items(ItemRows.joined(pieces, X))


def _table(source: Source, kind: FileFormat) -> Table:
    if kind == "parquet":
        return ParquetTable(source)
    return DelimitedTable(source, kind)


def _refuse_names(wishes: Wishes, path: str) -> None:
    for name in ("target", "query", "id", "weight", "groups", "features", "positive"):
        if getattr(wishes, name):
            message = f"{name}={getattr(wishes, name)!r}, but the columns of SVMlight files have no names"
            raise InvalidInputError(f"{path}: {message}")


def _items_of(ranking: Ranking, source: Source) -> Items:
    ids, notes = ranking.docid, ()
    return Items(
        ranking.X, ranking.y, ranking.qid, ids if ids.any() else None, None, None, None, source_name(source), notes
    )
