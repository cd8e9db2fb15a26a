"""Names of items as numbers: in the order of a list, or as they first occur."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.line import shown
from kernelrank.data.words import as_strings
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["ItemCodes"]

INTEGER = re.compile(r"0|-?[1-9][0-9]*")
LARGEST_ITEM = 2**63 - 1


class ItemCodes:
    """The numbers of items that a file calls by name.

    Parameters
    ----------
    items : iterable, optional
        The names of all items, which fixes their numbers: any other name is an error. Otherwise names are numbered as
        they first occur.
    kind : str, default="items"
        What messages call them all.

    Examples
    --------
    >>> codes = ItemCodes()
    >>> codes.code("tea", 1, ValueError), codes.code("coffee", 1, ValueError), codes.code("tea", 2, ValueError)
    (0, 1, 0)
    """

    def __init__(self, items: Iterable[object] | None = None, kind: str = "items") -> None:
        self.kind = kind
        self.fixed = items is not None
        names = [str(item) for item in (() if items is None else items)]
        self.code_of = {name: code for code, name in enumerate(names)}
        if len(self.code_of) < len(names):
            twice = next(name for code, name in enumerate(names) if self.code_of[name] != code)
            raise InvalidInputError(f"{kind} has {twice!r} twice")
        self.first_places: list[Any] = []

    def code(self, name: str, place: Any, error: Callable[[str, Any], Exception]) -> int:
        """Return the number of a name; `error` makes the exception that names the place of an unknown one."""
        code = self.code_of.get(name)
        if code is None:
            if self.fixed:
                raise error(f"{shown(name)} is not among the {self.kind}{self._nearest(name)}", place)
            code = self.code_of[name] = len(self.code_of)
            self.first_places.append(place)
        return code

    def _nearest(self, name: str) -> str:
        """Return the known names that are spelt like an unknown one, as the end of a message."""
        by_small = {known.lower(): known for known in self.code_of}
        near = difflib.get_close_matches(name.lower()[:200], by_small, n=3) if len(by_small) <= 10**5 else []
        if not near:
            some = ", ".join(shown(known) for known in list(self.code_of)[:3])
            return f", which have names such as {some}" if some else ", of which there are none"
        return f": did you mean {' or '.join(shown(by_small[known]) for known in near)}?"

    def names(self) -> NDArray[np.object_]:
        """Return the names, in the order of their numbers."""
        return as_strings(self.code_of)

    def all_integers(self) -> bool:
        """Return whether no list fixes the items and each name is an integer, as Python writes it."""
        return not self.fixed and all(INTEGER.fullmatch(name) for name in self.code_of)

    def are_integers(self) -> NDArray[np.bool_]:
        """Return for each name whether it is an integer, as Python writes it."""
        return np.array([INTEGER.fullmatch(name) is not None for name in self.code_of])

    def item_numbers(self, error: Callable[[str, Any], FileFormatError]) -> NDArray[np.int64]:
        """Return the names as numbers, where `all_integers`."""
        for name, place in zip(self.code_of, self.first_places, strict=True):
            if name.startswith("-"):
                raise error(f"the item number {shown(name)} is negative", place)
            if len(name) > 19 or int(name) > LARGEST_ITEM:
                raise error(f"the item number {shown(name)} is too large", place)
        return np.array([int(name) for name in self.code_of], dtype=np.int64)
