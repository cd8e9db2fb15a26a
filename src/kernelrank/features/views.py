"""A view: one of several representations of the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kernelrank.base.arrays import Index
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import GammaLike, Kernel, KernelLike

__all__ = ["View"]


@dataclass(frozen=True, eq=False)
class View:
    """A view of the items: a kernel on some of the columns, with a basis.

    Parameters
    ----------
    kernel : str, callable or kernel object, optional
        The kernel of this view.
    gamma : float, "scale" or "median", optional
        A parameter of the kernel, as in `RankRLS`; "scale" and "median" use the basis items and columns of this view.
    degree, coef0 : float, optional
        Parameters of the kernel.
    kernel_params : dict, optional
        Further keyword arguments of the kernel function.
    columns : slice or sequence of int, bool or str, optional
        The columns that the kernel uses, by number, mask or name; all of them unless given.
    basis : int, "all", sequence of int or array of shape (r, n_features), optional
        A number of basis items to draw; all items; their numbers (unscored items are numbered after the scored ones if
        they are passed separately); or the basis items themselves, with all columns.

    Examples
    --------
    >>> View("rbf", gamma=0.5, columns=[0, 2]).column_numbers(3)
    array([0, 2])
    """

    kernel: KernelLike | None = None
    gamma: GammaLike = None
    degree: float | None = None
    coef0: float | None = None
    kernel_params: dict[str, Any] | None = None
    columns: Any = None
    basis: Any = None

    def __repr__(self) -> str:
        given = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)]
        return f"View({', '.join(text for text in given if not text.endswith('=None'))})"

    @classmethod
    def read(cls, value: object) -> View:
        """Read one entry of `views`: a view, a dict of its parameters, or a kernel."""
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            known = [field.name for field in fields(cls)]
            unknown = [name for name in value if name not in known]
            if unknown:
                raise InvalidInputError(f"a view has no parameter {unknown[0]!r}; it has {', '.join(known)}")
            return cls(**value)
        if isinstance(value, str) or callable(value):
            return cls(kernel=value)
        raise InvalidInputError(f"a view is a View, a dict of its parameters or a kernel, got {type(value).__name__}")

    def kernel_of(self, default: Kernel) -> Kernel:
        """Return the kernel of this view, with parameters of the default where it has none of its own."""
        parameters = self.kernel_params
        if parameters is None:
            parameters = dict(default.parameters) if self.kernel is None else {}
        kernel = Kernel(
            default.metric if self.kernel is None else self.kernel,
            default.gamma if self.gamma is None else self.gamma,
            default.degree if self.degree is None else self.degree,
            default.coef0 if self.coef0 is None else self.coef0,
            parameters,
        )
        if kernel.precomputed:
            raise InvalidInputError(
                "a view cannot have a precomputed kernel: kernels of unscored items are computed block by block"
            )
        return kernel

    def column_numbers(self, n_features: int, names: Sequence[str] | None = None) -> Index | None:
        """Return the numbers of the columns, or None for all of them.

        Parameters
        ----------
        n_features : int
        names : sequence of str, optional
            The names of the columns, if they have names.

        Returns
        -------
        ndarray of int64, or None
        """
        if self.columns is None:
            return None
        if isinstance(self.columns, slice):
            chosen = np.arange(n_features)[self.columns]
        else:
            chosen = np.atleast_1d(np.asarray(self.columns))
            if chosen.dtype.kind in "UO":
                chosen = _numbers_of(chosen.tolist(), names)
            elif chosen.dtype == bool and chosen.shape == (n_features,):
                chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or len(chosen) == 0 or chosen.dtype.kind not in "iu":
            raise InvalidInputError(f"the columns of a view must be numbers or names of columns, got {self.columns!r}")
        if chosen.min() < 0 or chosen.max() >= n_features:
            wrong = chosen[(chosen < 0) | (chosen >= n_features)][0]
            raise InvalidInputError(f"a view has the column {wrong}, but the columns go from 0 to {n_features - 1}")
        if len(np.unique(chosen)) != len(chosen):
            raise InvalidInputError("a view names a column twice")
        return chosen.astype(np.int64)


def _numbers_of(columns: list[Any], names: Sequence[str] | None) -> Index:
    """Turn names of columns into their numbers."""
    if names is None:
        raise InvalidInputError("a view has names of columns, but X has none: fit a data frame, or give numbers")
    known = {name: number for number, name in enumerate(names)}
    for name in columns:
        if name not in known:
            raise InvalidInputError(f"a view has the column {name!r}, which is not in X: {', '.join(map(str, names))}")
    return np.array([known[name] for name in columns], dtype=np.int64)
