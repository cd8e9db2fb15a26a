"""Fused tasks: what makes a partition and what is done with it, in one task.

Dask makes one task of functions that are mapped over blocks, and of chains. Where blocks come from a list of tasks
instead, as from stacks of files or delayed readers, X, y and qid are three of these, and Dask leaves a task with three
inputs alone. It then reads many partitions before it uses one, and sends some from worker to worker.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import dask
import dask.array as da
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

__all__ = ["fused_tasks"]

Key: TypeAlias = str | tuple[str, int]
"""What Dask calls a task."""


def fused_tasks(calls: da.Array) -> list[Delayed]:
    """Return one task for each block of an array, which also does everything that only this block needs.

    Parameters
    ----------
    calls : dask array

    Returns
    -------
    list of Delayed
        In the order of the blocks. What several blocks need stays a task of its own.

    Notes
    -----
    O(tasks) time; nothing is computed.
    """
    try:
        from dask._task_spec import Task, convert_legacy_graph
    except ImportError:
        # Dask keeps its tasks elsewhere now, and leaves them as they are.
        return list(calls.to_delayed().ravel())
    keys = list(dask.core.flatten(calls.__dask_keys__()))
    with dask.config.set({"optimization.fuse.active": False}):
        graph = convert_legacy_graph(dict(calls.__dask_optimize__(calls.__dask_graph__(), calls.__dask_keys__())))
    dependents: dict[Key, set[Key]] = {key: set() for key in graph}
    for key, task in graph.items():
        for needed in task.dependencies:
            dependents.setdefault(needed, set()).add(key)
    used = set(keys)
    for key in keys:
        own = _own_tasks(key, graph, dependents, used)
        if len(own) > 1:
            whole = Task.fuse(*(graph[one] for one in own), key=key)
            for one in own:
                del graph[one]
            graph[key] = whole
    layer = f"fused-{calls.name}"
    collected = HighLevelGraph.from_collections(layer, graph, dependencies=())
    return [Delayed(key, collected, layer=layer) for key in keys]


def _own_tasks(key: Key, graph: dict[Key, Any], dependents: dict[Key, set[Key]], kept: set[Key]) -> set[Key]:
    """Return the keys of a task and of those that it alone needs, directly or through others of them."""
    from dask._task_spec import Alias, Task

    own, waiting = {key}, list(graph[key].dependencies)
    while waiting:
        needed = waiting.pop()
        task = graph.get(needed)
        # Results that are on the cluster already, and what Dask says is to be left alone, are no tasks to join.
        if needed in own or needed in kept or not isinstance(task, Task | Alias) or task.block_fusion:
            continue
        if dependents[needed] <= own:
            own.add(needed)
            waiting.extend(task.dependencies)
    return own
