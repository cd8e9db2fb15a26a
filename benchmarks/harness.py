"""How benchmarks measure: in one run, interleaved, best of several, as ratios; memory in a fresh process."""

from __future__ import annotations

import importlib.util
import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["peak_megabytes", "report", "rlscore_available", "run_alone", "time_interleaved"]


def time_interleaved(
    runs: Mapping[str, Callable[[], Any]], repeats: int = 5, threads: int | None = None
) -> dict[str, float]:
    """Return the best seconds of each run; every run is called once before to warm up.

    With `threads` BLAS is limited to them; one thread is measured in CPU seconds, which other work on the machine
    does not lengthen, and any other number in wall-clock seconds. Every second round is in reverse order: a large
    array takes memory that the run before has freed at once, and waits for new memory after a run that freed none.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    best = dict.fromkeys(runs, float("inf"))
    with threadpool_limits(threads):
        for run in runs.values():
            run()
        for turn in range(repeats):
            for name, run in list(runs.items())[:: 1 if turn % 2 == 0 else -1]:
                start = clock()
                run()
                best[name] = min(best[name], clock() - start)
    return best


def report(title: str, seconds: Mapping[str, float], reference: str, limit: float | None = None) -> None:
    """Print the times and the ratios to the reference."""
    print(f"\n{title}")
    for name, value in seconds.items():
        ratio = "reference" if name == reference else f"{value / seconds[reference]:7.2f} ×"
        print(f"  {name:<52}{value:9.3f} s   {ratio}")
    if limit is not None:
        print(f"  claimed: at most {limit:g} × the reference")


def _measure(function: Callable[..., Any], arguments: tuple[Any, ...], pipe: Any) -> None:
    result = function(*arguments)
    pipe.send((result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
    pipe.close()


def peak_megabytes(function: Callable[..., Any], *arguments: Any) -> float:
    """Run a function of this module's caller in a fresh process and return its peak resident memory."""
    return run_alone(function, *arguments)[1]


def run_alone(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Run a function in a fresh process; return its result, which should be small, and its peak resident memory.

    A new process begins with the peak of the one that starts it: measure memory before making anything large.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(function, arguments, sender))
    process.start()
    sender.close()
    try:
        result, megabytes = receiver.recv()
        return result, float(megabytes)
    finally:
        process.join()


def rlscore_available() -> bool:
    """Whether the user has RLScore installed, from a checkout; it is an optional column."""
    return importlib.util.find_spec("rlscore") is not None
