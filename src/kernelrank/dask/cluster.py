"""The cluster: which client does the work, how results are gathered, and reductions in a tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from dask.delayed import Delayed, delayed
from distributed import Client, LocalCluster, get_client, progress

__all__ = ["connected", "gathered", "reduced"]

WIDTH = 8
"""How many results one task of a reduction merges."""


@contextmanager
def connected(client: Client | str | None) -> Iterator[Client]:
    """Provide a client, and close again what was opened for it.

    Parameters
    ----------
    client : distributed.Client, str or None
        A client, which stays open; the address of a scheduler; or None: the client in use if there is one, and a local
        cluster for the time of the work otherwise.

    Yields
    ------
    distributed.Client
    """
    if isinstance(client, Client):
        yield client
    elif client is not None:
        with Client(client, set_as_default=False) as opened:
            yield opened
    elif (current := _current()) is not None:
        yield current
    else:
        # Nothing listens beyond this machine, and no port is asked for that another program may have. Nobody knows
        # where the dashboard of a cluster is that lives for one fit, and starting it takes time.
        local: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
        with LocalCluster(**local) as cluster, Client(cluster, set_as_default=False) as opened:
            yield opened


def _current() -> Client | None:
    try:
        return get_client()
    except ValueError:
        return None


def gathered(client: Client, *tasks: Delayed) -> list[Any]:
    """Compute tasks on the cluster and bring their results here, with Dask's progress bar on a terminal.

    Whatever stops the wait, Ctrl-C included, cancels the work.
    """
    # The map of a large basis is sent with the graph on purpose: what the scheduler holds survives any worker.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        futures = client.compute(list(tasks))
    try:
        if sys.stdout.isatty():
            progress(futures, notebook=False)
        results: list[Any] = client.gather(futures)
    except BaseException:
        client.cancel(futures)
        raise
    return results


def reduced(function: Callable[[list[Any]], Any], parts: Sequence[Delayed], width: int = WIDTH) -> Delayed:
    """Merge the results of many tasks in a tree on the workers, eight (or a given number) at a time.

    Examples
    --------
    >>> reduced(sum, [delayed(number) for number in range(100)]).compute(scheduler="synchronous")
    4950
    """
    level = list(parts)
    while len(level) > 1:
        level = [delayed(function)(level[start : start + width]) for start in range(0, len(level), width)]
    return level[0]
