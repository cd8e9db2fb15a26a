"""Compiled loops: numba, imported when the first loop runs rather than with the package.

The first call of a loop on a machine compiles it, later processes read it from disk. What is cheap to run is not always
cheap to compile, so loops take their arrays ready made, and fill them entry by entry: one slice that is assigned to
another takes numba 2.5 s, `max` of an array 0.7 s, a sort 1.5 s, and a plain loop 0.2 s.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index

P = ParamSpec("P")
R = TypeVar("R")

_seconds: defaultdict[str, float] = defaultdict(float)


def compiled(function: Callable[P, R], *, contract: bool = False) -> Callable[P, R]:
    """Compile a loop at its first call, keep the machine code on disk, and release the GIL while it runs.

    Only for what neither BLAS nor a sorted sweep of NumPy can do. A loop stands alone: it calls no other one. Division
    by zero gives infinity or NaN, as in NumPy: a check for it would keep the compiler from using vector instructions.
    With `contract` a product and a sum may become one instruction, which rounds once.
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


def compile_seconds() -> dict[str, float]:
    """Return the CPU seconds that compiling has taken in this process, by the names of the loops.

    What was read from disk is not among them.
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


# Sorting --------------------------------------------------------------------------------------------------------------
#
# Sorting: the items of every query in ascending order of their scores.

COMPILED = 4_000
"""From this many items on, a compiled sort pays for being compiled, if it is not the only one."""

SMALL = 1024
"""Up to this many items a query is sorted by merging, beyond by digits."""

DIGITS, BITS = 3, 11
"""How many digits of how many bits the scores of a large query are rounded to; insertion does the rest."""

NUMBER = 2**31 - 1
"""A key and the number of its item travel in one word: the number in its low 31 bits."""


def sort_queries(scores: Float, bounds: Index) -> Index:
    """Return the places of the items in ascending order of the scores, query by query.

    NumPy sorts a few items. Of many, the small queries are sorted in one compiled loop. In a large one the scores are
    first rounded to 33 bits between the least and the greatest, sorted by these in three passes, and put right by
    insertion. Where outliers leave the others too few bits for that, NumPy sorts.

    Time O(m), or O(m log n) at worst, for queries of n items; memory O(m).

    Shapes: scores (m,), bounds (n_queries + 1,); returns (m,).
    """
    if len(scores) <= COMPILED:
        keys = [scores] if len(bounds) == 2 else [scores, np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))]
        return np.lexsort(keys)
    order = np.arange(len(scores))
    _sort_small(scores, bounds, SMALL, 32, order, np.empty(SMALL, dtype=np.int64))
    for q in np.flatnonzero(np.diff(bounds) > SMALL):
        start, stop = bounds[q], bounds[q + 1]
        order[start:stop] = start + _sort_large(scores[start:stop])
    return order


def _sort_large(scores: Float) -> Index:
    low, spread = float(scores.min()), float(scores.max()) - float(scores.min())
    if not 1e-290 < spread < np.inf:  # nothing to tell apart, or nothing that 33 bits could
        return np.argsort(scores).astype(np.int64)
    keys = ((scores - low) * ((2.0 ** (DIGITS * BITS) - 1.0) / spread)).astype(np.int64)
    words = np.empty((2, len(scores)), dtype=np.int64)
    done = _sort_digits(scores, keys, DIGITS, BITS, np.zeros((DIGITS, 2**BITS + 1), dtype=np.int64), *words)
    return words[DIGITS % 2] & NUMBER if done else np.argsort(scores).astype(np.int64)


@compiled
def _sort_small(scores: Float, bounds: Index, largest: int, insertion: int, order: Index, room: Index) -> None:
    """Sort the queries of up to `largest` items by merging, and leave the others in their order.

    Runs of `insertion` items are sorted first; `room` is for the left one of two runs that are merged.
    """
    for q in range(len(bounds) - 1):
        start, stop = bounds[q], bounds[q + 1]
        if stop - start > largest:
            continue
        for first in range(start, stop, insertion):
            for i in range(first + 1, min(first + insertion, stop)):
                j, score = i, scores[i]
                while j > first and scores[order[j - 1]] > score:
                    order[j] = order[j - 1]
                    j -= 1
                order[j] = i
        width = insertion
        while width < stop - start:
            for first in range(start, stop - width, 2 * width):
                last = min(first + 2 * width, stop)
                for k in range(width):
                    room[k] = order[first + k]
                k, j, place = 0, first + width, first
                while k < width:  # after that, what is left of the right run stands where it belongs
                    if j < last and scores[order[j]] < scores[room[k]]:
                        order[place] = order[j]
                        j += 1
                    else:
                        order[place] = room[k]
                        k += 1
                    place += 1
            width *= 2


@compiled
def _sort_digits(
    scores: Float, keys: NDArray[np.int64], digits: int, bits: int, place: Index, order: Index, other: Index
) -> bool:
    """Sort by the digits of the keys, last one first, then equal keys by insertion; give up where that takes long.

    The words end in `order` if the number of digits is even, else in `other`. `place`, all zero, has a row for each
    digit.
    """
    m, mask = len(scores), (1 << bits) - 1
    for i in range(m):
        order[i] = (keys[i] << 31) | i
        for digit in range(digits):
            place[digit, ((keys[i] >> digit * bits) & mask) + 1] += 1
    for digit in range(digits):
        for k in range(mask):
            place[digit, k + 1] += place[digit, k]
        shift = 31 + digit * bits
        for i in range(m):
            k = (order[i] >> shift) & mask
            other[place[digit, k]] = order[i]
            place[digit, k] += 1
        order, other = other, order
    moves = 2 * m
    for i in range(1, m):
        word, j = order[i], i
        while j > 0 and order[j - 1] >> 31 == word >> 31 and scores[order[j - 1] & NUMBER] > scores[word & NUMBER]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = word
        moves -= i - j
        if moves < 0:
            return False
    return True
