"""Compiled loops: numba, imported when the first loop runs rather than with the package."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

__all__ = ["compiled"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop at its first call, keep the machine code on disk, and release the GIL while it runs.

    Only for what neither BLAS nor a sorted sweep of NumPy can do. A loop stands alone: it calls no other one.

    Examples
    --------
    >>> @compiled
    ... def total(values):
    ...     s = 0.0
    ...     for v in values:
    ...         s += v
    ...     return s
    >>> total.__name__
    'total'
    """

    @functools.cache
    def machine_code() -> Callable[P, R]:
        import numba

        return cast(Callable[P, R], numba.njit(cache=True, nogil=True)(function))

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return machine_code()(*args, **kwargs)
        except SystemError as error:
            # Ctrl-C while numba looks at the arguments: its dispatcher returns a result beside the exception.
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise

    return call
