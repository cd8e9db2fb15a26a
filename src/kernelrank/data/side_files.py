"""Side files of LightGBM and XGBoost: queries and weights in files next to a file of items.

Beside ``train.txt`` they are called ``train.txt.query`` or ``train.txt.group`` (the sizes of consecutive queries, one a
line) and ``train.txt.weight`` (one number a line, for each item or for each query); ``train.query`` and the like are
found, too. They are read where the file of items has no queries, or no weights, of its own.
"""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.items import Items
from kernelrank.data.line import shown
from kernelrank.data.text import DECOMPRESSORS
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["refuse_side_queries", "with_side_files"]

QUERIES = (".query", ".group")
WEIGHTS = (".weight",)


def with_side_files(items: Items, path: str | os.PathLike[str]) -> Items:
    r"""Add the queries and the weights of side files, if there are any.

    Time O(lines).

    Parameters
    ----------
    items : Items
        All rows of the file, in its order.
    path : path
        The file of the items.

    Returns
    -------
    Items

    Examples
    --------
    >>> import tempfile
    >>> from kernelrank.data import read_items
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "train.txt"
    ...     _ = path.write_text("2 1:1\n0 1:2\n1 1:3\n")
    ...     _ = Path(f"{path}.query").write_text("2\n1\n")
    ...     read_items(path).qid.tolist()
    [1, 1, 2]
    """
    file = _found(Path(path), QUERIES)
    if file is not None:
        if items.qid is None:
            items = dataclasses.replace(items, qid=_queries(file, len(items)))
            items = _noted(items, f"the queries are in {file.name}")
        else:
            items = _noted(items, f"{file.name} was ignored, because the data file has queries itself")
    file = _found(Path(path), WEIGHTS)
    if file is not None:
        if items.weight is None:
            items = dataclasses.replace(items, weight=_weights(file, items))
            items = _noted(items, f"the weights are in {file.name}")
        else:
            items = _noted(items, f"{file.name} was ignored, because the data file has weights itself")
    return items


def refuse_side_queries(path: str | os.PathLike[str]) -> None:
    """Raise an error for a file that is read in batches if its queries are in a side file.

    Raises
    ------
    InvalidInputError
        With what to do.
    """
    side = _found(Path(path), QUERIES)
    if side is not None:
        name = os.fspath(path)
        raise InvalidInputError(
            f"{name}: Expected queries in the file itself, which is read in batches; they are in {side.name}. "
            f"Join the two: kernelrank convert {name} {Path(path).stem}.parquet."
        )


def _noted(items: Items, note: str) -> Items:
    return dataclasses.replace(items, notes=(*items.notes, note))


def _found(path: Path, endings: tuple[str, ...]) -> Path | None:
    """Return the side file of a file, with the whole name of that or without its suffix."""
    plain = path.with_suffix("") if path.suffix in DECOMPRESSORS else path
    for place in (path, plain, plain.with_suffix("")):
        for ending in endings:
            side = place.with_name(place.name + ending)
            if side != path and side.is_file():
                return side
    return None


def _numbers(file: Path, what: str) -> list[float]:
    """Read one finite number that is not negative from each line; blank lines are skipped."""
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise FileFormatError(f"expected {what}, got {shown(word)}", str(file), number)
        found.append(value)
    return found


def _queries(file: Path, n_items: int) -> NDArray[np.int64]:
    sizes = np.array(_numbers(file, "the size of a query"))
    if np.any(sizes != np.rint(sizes)):
        raise FileFormatError("expected whole numbers, the sizes of queries", str(file))
    if sizes.sum() != n_items:
        raise FileFormatError(
            f"expected sizes of queries that add up to the {n_items:,} items; they add up to {sizes.sum():,.0f}",
            str(file),
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes.astype(np.int64))


def _weights(file: Path, items: Items) -> NDArray[np.float64]:
    weights = np.array(_numbers(file, "a weight"))
    if len(weights) == len(items):
        return weights
    if items.qid is not None:
        numbers = np.unique(items.qid, return_inverse=True)[1]
        # XGBoost has one weight for each query, in the order of the file.
        first = np.unique(numbers, return_index=True)[1]
        if len(weights) == len(first):
            place = np.empty(len(first), dtype=np.int64)
            place[np.argsort(first)] = np.arange(len(first))
            return np.asarray(weights[place[numbers]])
    queries = "" if items.qid is None else f", or each of the {len(np.unique(items.qid)):,} queries"
    raise FileFormatError(
        f"expected a weight for each of the {len(items):,} items{queries}; it has {len(weights):,}", str(file)
    )
