"""A file of preferences between the items of another file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelrank.data import Items, Preferences

__all__ = ["read_preferences"]


def read_preferences(items: Items, path: Path) -> Preferences:
    """Read preferences between items: by name where they have names, by number, from 0, elsewhere.

    Parameters
    ----------
    items : Items
    path : Path

    Returns
    -------
    Preferences
        Its pairs are row numbers of the items.
    """
    from kernelrank.data import read_pairs
    from kernelrank.errors import InvalidInputError

    found = read_pairs(str(path), items=None if items.ids is None else items.ids.tolist())
    if found.names is not None and items.ids is None:
        raise InvalidInputError(
            f"{path}: has names such as {str(found.names[0])!r}, but the items of {items.path} have none"
        )
    largest = int(found.pairs.max())
    if largest >= len(items):
        raise InvalidInputError(
            f"{path}: has the item number {largest}, but the items of {items.path} go from 0 to {len(items) - 1}"
        )
    return found
