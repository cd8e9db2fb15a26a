"""Types of arguments that users pass in several forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

__all__ = ["ItemsLike", "Labels", "RandomStateLike"]

ItemsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
"""Items with their features as users pass them: an array, rows of numbers, a data frame or a sparse matrix."""

RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""A random seed, a generator of random numbers, or None for a new seed in each call."""


class Labels(Protocol):
    """One label for each item, feature or query: a list, an array or a column of a data frame."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...
