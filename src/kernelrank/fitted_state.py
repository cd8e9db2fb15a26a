"""The state of a fitted estimator: which attributes it has, of which kinds and shapes, written down as data.

A model file can be forged by anyone. What it holds is compared with this before it is a model, so that `load` says
whatever is wrong, and no compiled loop follows an index out of its array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from kernelrank.attribute_kinds import SPARSE, Kind, Sizes

__all__ = ["FittedState"]


@dataclass(frozen=True)
class FittedState:
    """What a fitted estimator of one class consists of.

    Parameters
    ----------
    needed : mapping of str to Kind
        The attributes that it always has. Axes get their lengths in this order.
    one_of : tuple of mappings, optional
        Sets of attributes of which it has exactly one.
    optional : mapping of str to Kind
        Attributes that it may have.
    laws : tuple of (str, callable)
        What else holds: a sentence, and the function of the estimator that says so.
    outputs : str, optional
        The attribute that says how many columns a transformer returns.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from kernelrank.attribute_kinds import Array, WholeNumber
    >>> state = FittedState({"n_features_in_": WholeNumber(1, "features"), "mean_": Array(("features",))})
    >>> state.fault(SimpleNamespace(n_features_in_=2, mean_=np.zeros(3)))
    'mean_: expected an array of finite floats of shape (2,), got an array of float64 of shape (3,)'
    """

    needed: Mapping[str, Kind]
    one_of: tuple[Mapping[str, Kind], ...] = ()
    optional: Mapping[str, Kind] = field(default_factory=dict)
    laws: tuple[tuple[str, Callable[[Any], bool]], ...] = ()
    outputs: str = ""

    def with_optional(self, **kinds: Kind) -> FittedState:
        """Return the same state with further attributes that it may have."""
        return FittedState(self.needed, self.one_of, {**self.optional, **kinds}, self.laws, self.outputs)

    def fault(self, estimator: object) -> str | None:
        """Return what is wrong with a fitted estimator; None if nothing is. Time O(bytes)."""
        held, sizes = vars(estimator), Sizes()
        kinds = dict(self.needed)
        if self.one_of:
            chosen = [kinds_of_one for kinds_of_one in self.one_of if kinds_of_one.keys() <= held.keys()]
            mixed = {name for kinds_of_one in self.one_of for name in kinds_of_one} & held.keys()
            if len(chosen) != 1 or mixed != chosen[0].keys():
                sets = " or ".join(" and ".join(kinds_of_one) for kinds_of_one in self.one_of)
                return f"expected {sets}, got {', '.join(sorted(mixed)) or 'neither'}"
            kinds |= chosen[0]
        for name in kinds:
            if name not in held:
                return f"{name} is missing"
        kinds |= {name: kind for name, kind in self.optional.items() if name in held}
        for name, kind in kinds.items():
            if not kind.accepts(held[name], sizes):
                return f"{name}: expected {kind.words(sizes)}, got {_found(held[name])}"
        for sentence, law in self.laws:
            if not _holds(law, estimator):
                return f"expected {sentence}"
        return None


def _holds(law: Callable[[Any], bool], estimator: object) -> bool:
    try:
        return bool(law(estimator))
    except Exception:  # what a forged value makes of a law is up to the forger
        return False


def _found(value: object) -> str:
    """Describe a value for a message, in which it has no place itself."""
    if isinstance(value, (np.ndarray, *SPARSE)):
        entries = value if isinstance(value, np.ndarray) else value.data
        what = f"{'an array' if entries is value else 'a sparse matrix'} of {entries.dtype} of shape {value.shape}"
        if entries.dtype.kind == "f" and not np.isfinite(entries).all():
            return f"{what} that is not finite"
        return what
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, Real)):
        return repr(value)
    return f"a {type(value).__name__}"
