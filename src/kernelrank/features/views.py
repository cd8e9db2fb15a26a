"""A view: one of several representations of the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.linalg import qr

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.errors import InvalidInputError
from kernelrank.features.kernels import KernelMap
from kernelrank.kernels import GammaLike, Kernel, KernelLike, check_precomputed


@dataclass(frozen=True, eq=False)
class View:
    """A view of the items: a kernel on some of the columns, with a basis.

    Parameters
    ----------
    kernel : str, callable or kernel object, optional
        The kernel of this view. "precomputed" stands for columns of X that hold kernels: one column for each item,
        scored or not, in their order.
    gamma : float, "scale" or "median", optional
        A parameter of the kernel, as in `RankRLS`; "scale" and "median" use the basis items and columns of this view.
    degree, coef0 : float, optional
        Parameters of the kernel.
    kernel_params : dict, optional
        Further keyword arguments of the kernel function.
    columns : slice or sequence of int, bool or str, optional
        The columns that the kernel uses, by number, mask or name; all of them unless given.
    basis : int, "all", sequence of int or array of shape (r, n_features), optional
        A number of basis items to draw, all items if there are fewer; all items; their numbers (unscored items are
        numbered after the scored ones if they are passed separately); or the basis items themselves, with all columns.

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
        return Kernel(
            default.metric if self.kernel is None else self.kernel,
            default.gamma if self.gamma is None else self.gamma,
            default.degree if self.degree is None else self.degree,
            default.coef0 if self.coef0 is None else self.coef0,
            parameters,
        )

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


def basis_columns(columns: Index | None, basis: Index | None, n_features: int, n_items: int) -> Index:
    """Return those columns of a precomputed kernel that belong to the basis items."""
    if basis is None:
        raise InvalidInputError("the basis of a precomputed kernel is a number, 'all' or numbers of items, not items")
    own = np.arange(n_features) if columns is None else columns
    if len(own) != n_items:
        raise InvalidInputError(
            f"Expected one column of a precomputed kernel for each of the {n_items} items, scored and unscored; "
            f"got {len(own)} columns."
        )
    return own[basis]


def _numbers_of(columns: list[Any], names: Sequence[str] | None) -> Index:
    """Turn names of columns into their numbers."""
    if names is None:
        raise InvalidInputError("a view has names of columns, but X has none: fit a data frame, or give numbers")
    known = {name: number for number, name in enumerate(names)}
    for name in columns:
        if name not in known:
            raise InvalidInputError(f"a view has the column {name!r}, which is not in X: {', '.join(map(str, names))}")
    return np.array([known[name] for name in columns], dtype=np.int64)


# View map -------------------------------------------------------------------------------------------------------------
#
# The feature map of a view: its columns, its kernel and its basis; and those of several views side by side.


@dataclass(frozen=True)
class ViewMap:
    """The empirical kernel map of a basis, on some of the columns.

    O(r² n + r³) time to build, and O(t r n + t r²) for the features of t items.

    Shapes: items (r, n).
    """

    kernel: Kernel
    columns: Index | None
    items: Matrix
    map: KernelMap

    @classmethod
    def of(cls, kernel: Kernel, columns: Index | None, basis_items: Matrix) -> ViewMap:
        """Factorise the kernel of basis items, which come with all columns."""
        items = basis_items if columns is None else basis_items[:, columns]
        if kernel.precomputed:
            check_precomputed(items)
        return cls(kernel, columns, items, KernelMap.of(kernel, kernel.matrix(items)))

    @property
    def rank(self) -> int:
        """The number of features."""
        return self.map.rank

    @property
    def kernel_scale(self) -> float:
        """The largest k(x, x) of the basis items taken."""
        return float((self.map.U**2).sum(axis=0).max())

    def features(self, X: Matrix) -> Float:
        """Return the features of some items (t × rank), in a fresh array."""
        return self.map.features(self._kernels(self._seen(X)))

    def _kernels(self, seen: Matrix) -> Float:
        """Return the kernels of some items with the basis items that have a column of their own."""
        taken = self.map.taken
        return self.kernel.matrix(seen[:, taken] if self.kernel.precomputed else seen, self.items[taken])

    def energy(self, X: Matrix) -> float:
        """Return the sum of k(x, x) over some items; infinite if it overflows."""
        if self.kernel.precomputed:
            return float((self.features(X) ** 2).sum())
        return float(np.abs(self.kernel.diagonal(self._seen(X))).sum())

    def _seen(self, X: Matrix) -> Matrix:
        return X if self.columns is None else X[:, self.columns]

    def without(self, places: Index) -> Float:
        """Return Q with orthonormal columns, such that ``Φ Q`` are features of the basis without some of its items.

        A model ``f = Φ w`` is made of the items left when w is a combination of their features, and its norm is that of
        w. So Q spans these features: a QR decomposition with pivots that ends where rounding is all that is left, as
        the factorisation of the map does. Items without a column of their own may take the place of those that leave.

        O(r³) time, whatever the number of items.

        Shapes: returns (rank, rank of what is left).
        """
        left = np.setdiff1d(np.arange(self.map.size), places)
        if len(left) == self.map.size:
            return np.eye(self.rank)
        if len(left) == 0:
            return np.zeros((self.rank, 0))
        Q, R, _ = qr(self.features_of_basis()[left].T, mode="economic", pivoting=True, check_finite=False)
        squares = np.diagonal(R) ** 2
        kept = int((squares > self.map.size * np.finfo(np.float64).eps * squares[0]).sum())
        basis: Float = Q[:, :kept]
        return basis

    def features_of_basis(self) -> Float:
        """Return the features of the basis items themselves (r × rank): columns of the factor for those taken."""
        Phi = self.map.features(self._kernels(self.items))
        Phi[self.map.taken] = self.map.U.T
        return Phi


class JointRows:
    """The features of several views side by side, computed on demand and never stored.

    Shapes: X (m, n).
    """

    dtype = np.dtype(np.float64)

    def __init__(self, views: Sequence[ViewMap], X: Matrix) -> None:
        self.views = views
        self.X = X
        self.shape = (X.shape[0], sum(view.rank for view in views))

    def __getitem__(self, rows: slice | Index) -> Float:
        """Return the features of some items, shape (t, Σ rank), in a fresh array."""
        items = self.X[rows]
        return np.hstack([view.features(items) for view in self.views])
