"""Compiled loops: numba, imported when the first loop runs rather than with the package.

The first call of a loop on a machine compiles it, later processes read it from disk. What is cheap to run is not always
cheap to compile, so loops take their arrays ready made, and fill them entry by entry: one slice that is assigned to
another takes numba 2.5 s, `max` of an array 0.7 s, a sort 1.5 s, and a plain loop 0.2 s.
"""

from __future__ import annotations

import functools
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

__all__ = ["CompilingPays", "compile_seconds", "compiled"]

P = ParamSpec("P")
R = TypeVar("R")

_seconds: defaultdict[str, float] = defaultdict(float)


def compiled(function: Callable[P, R], *, contract: bool = False) -> Callable[P, R]:
    """Compile a loop at its first call, keep the machine code on disk, and release the GIL while it runs.

    Only for what neither BLAS nor a sorted sweep of NumPy can do. A loop stands alone: it calls no other one. Division
    by zero gives infinity or NaN, as in NumPy: a check for it would keep the compiler from using vector instructions.
    With `contract` a product and a sum may become one instruction, which rounds once.

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

        _measure_compilation()
        compile_loop = numba.njit(
            cache=True, nogil=True, error_model="numpy", fastmath={"contract"} if contract else False
        )
        return cast(Callable[P, R], compile_loop(function))

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


class CompilingPays:
    """Decide between NumPy and a compiled loop: NumPy, until its work would have paid for compiling the loop.

    Both give the same result.

    Parameters
    ----------
    at_once : int
        The loop pays in one call with more items than this.
    in_all : int
        The loop pays from the call on in which the items of all calls of this process exceed this.
    loaded : int, default=1
        By what both are divided where numba is loaded already.

    Examples
    --------
    >>> pays = CompilingPays(at_once=100, in_all=250)
    >>> pays(90), pays(101), pays(90), pays(1)
    (False, True, True, True)
    """

    def __init__(self, at_once: int, in_all: int, *, loaded: int = 1) -> None:
        self.at_once, self.in_all, self.loaded, self.seen = at_once, in_all, loaded, 0

    def __call__(self, n_items: int) -> bool:
        """Count a call with so many items, and return whether the loop is to do it."""
        self.seen += n_items
        share = self.loaded if "numba" in sys.modules else 1
        return share * n_items > self.at_once or share * self.seen > self.in_all


def compile_seconds() -> dict[str, float]:
    """Return the CPU seconds that compiling has taken in this process, by the names of the loops.

    What was read from disk is not among them.

    Examples
    --------
    >>> all(name.startswith("kernelrank.") for name in compile_seconds())
    True
    """
    return dict(_seconds)


@functools.cache
def _measure_compilation() -> None:
    """Let numba tell when it begins and ends to compile one of our loops."""
    from numba.core import event

    class Stopwatch(event.Listener):
        def on_start(self, happening: event.Event) -> None:
            self.count(happening, -time.process_time())

        def on_end(self, happening: event.Event) -> None:
            self.count(happening, time.process_time())

        def count(self, happening: event.Event, seconds: float) -> None:
            function = happening.data["dispatcher"].py_func
            if function.__module__.startswith("kernelrank."):
                _seconds[f"{function.__module__}.{function.__name__}"] += seconds

    event.register("numba:compile", Stopwatch())  # type: ignore[no-untyped-call]
