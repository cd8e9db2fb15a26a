"""Versioned dictionaries: a batch makes a new version in the time that the batch takes, and the old one stays.

The entries lie in layers, each an ordinary dictionary that nobody changes any more, and versions share layers. A new
layer is joined with those before it that are not more than twice as large, so sizes more than double from layer to
layer. Hence there are O(log n) layers, and each entry is copied O(log n) times in all, however small the batches are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

__all__ = ["VersionedDict"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class VersionedDict(Mapping[Key, Value]):
    """A dictionary that is never changed: `updated` and `without` return the next version.

    Examples
    --------
    >>> first = VersionedDict().updated({"a": 1})
    >>> second = first.updated({"a": 2, "b": 3})
    >>> first.get("a"), second.get("a"), len(first), len(second), "b" in first
    (1, 2, 1, 2, False)
    """

    def __init__(self) -> None:
        self._layers: tuple[dict[Key, Value], ...] = ()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: object) -> bool:
        return any(key in layer for layer in self._layers)

    def __getitem__(self, key: Key) -> Value:
        for layer in reversed(self._layers):
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(dict.fromkeys(key for layer in self._layers for key in layer))

    def updated(self, entries: Mapping[Key, Value]) -> VersionedDict[Key, Value]:
        """Return a version with further entries, or other values of known keys; O(len(entries) log n) on average."""
        new: VersionedDict[Key, Value] = VersionedDict()
        new._size = self._size + sum(key not in self for key in entries)
        layers, last = list(self._layers), dict(entries)
        while layers and len(layers[-1]) <= 2 * len(last):
            last = {**layers.pop(), **last}
        new._layers = (*layers, last)
        return new

    def without(self, keys: Collection[Key]) -> VersionedDict[Key, Value]:
        """Return a version without some keys; O(n)."""
        left = {key: value for layer in self._layers for key, value in layer.items() if key not in keys}
        return VersionedDict[Key, Value]().updated(left)
