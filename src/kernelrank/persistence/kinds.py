"""Kinds of fitted attributes: numbers, texts, arrays whose axes have names, lists and records of these."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    pass

SPARSE = (sparse.sparray, sparse.spmatrix)


class Sizes:
    """The lengths of axes by name, each set by the first attribute that has the axis.

    A name that ends with ``*`` is another axis for each entry of a list.
    """

    def __init__(self, known: dict[str, int] | None = None, entry: int | None = None) -> None:
        self._known = {} if known is None else known
        self._entry = entry

    def within(self, entry: int) -> Sizes:
        """Return the same sizes, as an entry of a list sees them."""
        return Sizes(self._known, entry)

    def get(self, axis: str) -> int | None:
        """Return the length of an axis, if it is known."""
        return self._known.get(self._name(axis))

    def set(self, axis: str, length: int) -> bool:
        """Set the length of an axis; False if it has another one."""
        return self._known.setdefault(self._name(axis), length) == length

    def _name(self, axis: str) -> str:
        return f"{axis}{self._entry}" if axis.endswith("*") else axis


class Kind(ABC):
    """What an attribute must be."""

    @abstractmethod
    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Whether a value is of this kind; sets the sizes of axes that are met for the first time."""

    @abstractmethod
    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""


@dataclass(frozen=True)
class WholeNumber(Kind):
    """A whole number; `axis` is the axis whose length it is."""

    least: int = 0
    axis: str = ""

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value is a large enough whole number, and equals the length of its axis."""
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < self.least:
            return False
        return not self.axis or sizes.set(self.axis, int(value))

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        known = sizes.get(self.axis) if self.axis else None
        return f"a whole number from {self.least} on" if known is None else f"the whole number {known}"


@dataclass(frozen=True)
class Number(Kind):
    """A number; it must be finite unless infinite values are allowed."""

    finite: bool = True

    def accepts(self, value: object, sizes: Sizes) -> bool:  # noqa: ARG002
        """Return whether the value is a number."""
        return (
            isinstance(value, (Real, np.floating))
            and not isinstance(value, bool)
            and (not self.finite or math.isfinite(value))
        )

    def words(self, sizes: Sizes) -> str:  # noqa: ARG002
        """Describe the expected value, for an error message."""
        return "a finite number" if self.finite else "a number"


@dataclass(frozen=True)
class Text(Kind):
    """A string; if a list of choices is given, one of them."""

    choices: tuple[str, ...] = ()

    def accepts(self, value: object, sizes: Sizes) -> bool:  # noqa: ARG002
        """Return whether the value is a string, and one of the choices if there are any."""
        return isinstance(value, str) and (not self.choices or value in self.choices)

    def words(self, sizes: Sizes) -> str:  # noqa: ARG002
        """Describe the expected value, for an error message."""
        return f"one of {', '.join(self.choices)}" if self.choices else "a string"


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    def accepts(self, value: object, sizes: Sizes) -> bool:  # noqa: ARG002
        """Return whether the value is True or False."""
        return isinstance(value, (bool, np.bool_))

    def words(self, sizes: Sizes) -> str:  # noqa: ARG002
        """Describe the expected value, for an error message."""
        return "True or False"


class Array(Kind):
    """An array with one of the given shapes.

    finite: Whether NaN and infinities are refused.
    """

    def __init__(self, *shapes: tuple[str, ...], of: str = "floats", finite: bool = True, below: str = "") -> None:
        self.shapes = shapes
        self.of = of
        self.finite = finite
        self.below = below

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value is an array of the expected shape, type and range."""
        if not isinstance(value, np.ndarray) or not self._holds(value, sizes):
            return False
        return any(len(shape) == value.ndim and _fits(shape, value.shape, sizes) for shape in self.shapes)

    def _holds(self, value: NDArray[Any], sizes: Sizes) -> bool:
        if self.of == "indices":
            limit = sizes.get(self.below) if self.below else None
            if value.dtype.kind not in "iu" or np.any(value < 0):
                return False
            return limit is None or not np.any(value >= limit)
        if self.of == "labels":
            if value.dtype == object:
                return all(isinstance(label, str) for label in value.flat)
            return value.dtype.kind in "biuUS" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
        return value.dtype.kind == "f" and (not self.finite or bool(np.isfinite(value).all()))

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        limit = sizes.get(self.below) if self.below else None
        below = "" if limit is None else f" below {limit}"
        what = f"finite {self.of}" if self.of == "floats" and self.finite else f"{self.of}{below}"
        return f"an array of {what} of shape {' or '.join(_shape_words(shape, sizes) for shape in self.shapes)}"


@dataclass(frozen=True)
class Items(Kind):
    """Rows of finite numbers, dense or sparse."""

    rows: str
    columns: str

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value has the expected shape and finite entries."""
        if not isinstance(value, (np.ndarray, *SPARSE)) or value.ndim != 2:
            return False
        entries = value if isinstance(value, np.ndarray) else value.data
        if entries.dtype.kind != "f" or not np.isfinite(entries).all():
            return False
        return _fits((self.rows, self.columns), value.shape, sizes)

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        return f"a dense or sparse matrix of finite floats of shape {_shape_words((self.rows, self.columns), sizes)}"


class NoneOr(Kind):
    """None, or a value of another kind; if it is None, two axes must have the same length."""

    def __init__(self, kind: Kind, *, equal: tuple[str, str] | None = None) -> None:
        self.kind = kind
        self.equal = equal

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value is None or of the other kind."""
        if value is not None:
            return self.kind.accepts(value, sizes)
        length = sizes.get(self.equal[1]) if self.equal else None
        return self.equal is None or (length is not None and sizes.set(self.equal[0], length))

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        return f"None or {self.kind.words(sizes)}"


@dataclass(frozen=True)
class ListOf(Kind):
    """A list or tuple with as many entries as an axis is long."""

    kind: Kind
    axis: str

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value has the expected length, and every entry is of the expected kind."""
        return (
            isinstance(value, (list, tuple))
            and sizes.set(self.axis, len(value))
            and all(self.kind.accepts(entry, sizes.within(number)) for number, entry in enumerate(value))
        )

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        return f"a list of {_length_words(self.axis, sizes)}, each of them {self.kind.words(sizes.within(0))}"


@dataclass(frozen=True)
class Nested(Kind):
    """An estimator of a given class; `sizes` maps its attributes to the axes whose lengths they must have."""

    names: tuple[str, ...]
    sizes: Mapping[str, str] = field(default_factory=dict)

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value is an estimator of one of the classes, with the expected sizes."""
        return type(value).__name__ in self.names and all(
            sizes.set(axis, getattr(value, attribute)) for attribute, axis in self.sizes.items()
        )

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        lengths = [f"{attribute} {sizes.get(axis)}" for attribute, axis in self.sizes.items() if sizes.get(axis)]
        return f"a {' or a '.join(self.names)}" + (f" with {', '.join(lengths)}" if lengths else "")


@dataclass(frozen=True)
class Record(Kind):
    """A dict with string keys; each named value must be of the kind given for it."""

    values: Mapping[str, Kind] = field(default_factory=dict)

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value is a dict whose named values are of their kinds."""
        return (
            isinstance(value, dict)
            and all(isinstance(key, str) for key in value)
            and all(kind.accepts(value[key], sizes) for key, kind in self.values.items() if key in value)
        )

    def words(self, sizes: Sizes) -> str:
        """Describe the expected value, for an error message."""
        named = "; ".join(f"{key!r}: {kind.words(sizes)}" for key, kind in self.values.items())
        return f"a dict with {named}" if named else "a dict"


@dataclass(frozen=True)
class KernelValue(Kind):
    """A kernel whose parameters are finite numbers; `model_laws` checks that it accepts the items."""

    def accepts(self, value: object, sizes: Sizes) -> bool:
        """Return whether the value is a kernel with finite parameters."""
        if type(value).__name__ != "Kernel":
            return False
        held, number = vars(value), Number()
        gamma = held["gamma"]
        gamma_is_right = gamma is None or isinstance(gamma, str) or (number.accepts(gamma, sizes) and gamma >= 0)
        return (
            isinstance(held["parameters"], Mapping)
            and gamma_is_right
            and number.accepts(held["degree"], sizes)
            and number.accepts(held["coef0"], sizes)
        )

    def words(self, sizes: Sizes) -> str:  # noqa: ARG002
        """Describe the expected value, for an error message."""
        return "a kernel with finite parameters"


def _fits(axes: tuple[str, ...], shape: tuple[int, ...], sizes: Sizes) -> bool:
    for axis, length in zip(axes, shape, strict=True):
        name, more = axis.removesuffix("+1"), axis.endswith("+1")
        if length < more or not sizes.set(name, length - more):
            return False
    return True


def _shape_words(axes: tuple[str, ...], sizes: Sizes) -> str:
    lengths = []
    for axis in axes:
        name, more = axis.removesuffix("+1"), axis.endswith("+1")
        known = sizes.get(name)
        lengths.append(axis if known is None else str(known + more))
    return f"({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"


def _length_words(axis: str, sizes: Sizes) -> str:
    return axis if sizes.get(axis) is None else str(sizes.get(axis))
