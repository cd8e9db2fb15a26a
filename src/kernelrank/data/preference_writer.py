"""The writer of preference files: lines of winner and loser, with a magnitude and a weight."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.output_stream import opened_output
from kernelrank.errors import InvalidInputError

__all__ = ["write_pairs"]

NOT_A_WORD = re.compile(r"[\x00-\x20\x7f,#]")


def write_pairs(
    path: str | os.PathLike[str], pairs: Any, *, magnitude: Any = None, weight: Any = None, names: Any = None
) -> None:
    """Write a preference file that `read_pairs` reads back exactly.

    Time and memory O(l); the write is atomic.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
    pairs : array-like of int, shape (l, 2)
        Item numbers: winner, loser.
    magnitude : array-like, shape (l,), optional
        By how much. Needed if there are weights, because the weight is the last column of the file.
    weight : array-like, shape (l,), optional
        How much each pair counts.
    names : sequence of str, optional
        The names of the items; the file then has names instead of numbers. Pass the same names when you read it to get
        the same numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "preferences.txt"
    ...     write_pairs(path, [[1, 0]], magnitude=[0.5], names=["coffee", "tea"])
    ...     print(path.read_text(), end="")
    tea coffee 0.5
    """
    items = np.asarray(pairs)
    if items.ndim != 2 or items.shape[1] != 2 or len(items) == 0:
        raise InvalidInputError(f"pairs must have shape (l, 2), with l at least 1; got {items.shape}")
    if items.dtype.kind not in "iu":
        raise InvalidInputError(f"pairs must hold item numbers, got {items.dtype}")
    if items.min() < 0:
        raise InvalidInputError(f"pairs[{int(np.argmax(items.min(axis=1) < 0))}] has a negative item number")
    if np.any(items[:, 0] == items[:, 1]):
        row = int(np.argmax(items[:, 0] == items[:, 1]))
        raise InvalidInputError(f"pairs[{row}]: item {int(items[row, 0])} is preferred to itself")
    if weight is not None and magnitude is None:
        raise InvalidInputError("weight needs magnitude: in a preference file the magnitude comes before the weight")
    numbers = [
        _numbers(values, name, len(items))
        for name, values in (("magnitude", magnitude), ("weight", weight))
        if values is not None
    ]
    words = None if names is None else _words(names, int(items.max()))
    with opened_output(path) as file:
        for winner, loser, *rest in zip(*items.T.tolist(), *numbers, strict=True):
            pair = [str(winner), str(loser)] if words is None else [words[winner], words[loser]]
            file.write((" ".join([*pair, *(repr(value).removesuffix(".0") for value in rest)]) + "\n").encode())


def _numbers(values: Any, name: str, length: int) -> list[float]:
    numbers: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if numbers.shape != (length,):
        raise InvalidInputError(f"{name} has shape {numbers.shape}, but there are {length} pairs")
    good = np.isfinite(numbers) & (numbers >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInputError(f"{name}[{row}] is {float(numbers[row])!r}: expected a finite number, zero or more")
    result: list[float] = numbers.tolist()
    return result


def _words(names: Any, largest: int) -> list[str]:
    words = [str(name) for name in names]
    if largest >= len(words):
        raise InvalidInputError(f"pairs has item {largest}, but there are {len(words)} names")
    for word in words:
        if not word or NOT_A_WORD.search(word):
            raise InvalidInputError(
                f"the name {word!r} is empty or has white space, a comma or a #, and cannot be written"
            )
    if len(set(words)) < len(words):
        twice = next(word for number, word in enumerate(words) if word in words[:number])
        raise InvalidInputError(f"two items are called {twice!r}")
    return words
