"""Threads of BLAS: one pool at a time.

The wheels of NumPy and SciPy each bring a BLAS of their own, and each keeps a pool of threads that wait actively for
some milliseconds after a product. Where products of NumPy and factorisations of SciPy follow each other, the threads of
one pool take the cores that the other one needs: with all threads such a loop can take several times as long as with
one. Factorisations and large products are SciPy's here, so NumPy has one thread while a fit or a hold-out runs.

Where both share one library, as in Conda's packages, nothing is limited.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, ContextDecorator
from functools import cache
from pathlib import Path
from types import TracebackType

import numpy as np
from threadpoolctl import LibController, ThreadpoolController

__all__ = ["OnePool", "numpy_alone", "one_pool", "one_thread"]


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries with thread pools, once, because it takes as long as a small fit."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which every BLAS has one thread, for products that cost less than to wake a second."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


def numpy_alone(files: list[str], package: Path) -> list[str]:
    """Return the BLAS libraries that only NumPy uses; none where it shares them with others.

    Parameters
    ----------
    files : list of str
        The paths of all BLAS libraries that are loaded.
    package : Path
        The folder of NumPy.

    Returns
    -------
    list of str

    Examples
    --------
    >>> numpy = Path("/lib/numpy")
    >>> numpy_alone(["/lib/numpy.libs/blas.so", "/lib/scipy.libs/blas.so"], numpy)
    ['/lib/numpy.libs/blas.so']
    >>> numpy_alone(["/lib/libopenblas.so"], numpy)
    []
    """
    homes = (package, package.with_name(f"{package.name}.libs"))
    own = [file for file in files if any(Path(file).is_relative_to(home) for home in homes)]
    return own if len(own) < len(files) else []


@cache
def _of_numpy() -> list[LibController]:
    """Find the libraries that only NumPy uses."""
    loaded = {lib.filepath: lib for lib in _libraries().lib_controllers if lib.user_api == "blas"}
    return [loaded[file] for file in numpy_alone(list(loaded), Path(np.__file__).parent)]


class OnePool(ContextDecorator):
    """A context, or a decorator, in which NumPy's own BLAS has one thread, until the last of several callers has left.

    Examples
    --------
    >>> with one_pool:
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew: whoever was inside while its process forked never leaves in the child."""
        self.lock, self.inside, self.earlier = threading.Lock(), 0, list[int]()

    def __enter__(self) -> None:
        libraries = _of_numpy()
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.earlier = [lib.get_num_threads() for lib in libraries]
                for lib in libraries:
                    lib.set_num_threads(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                for lib, number in zip(_of_numpy(), self.earlier, strict=True):
                    lib.set_num_threads(number)


one_pool = OnePool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_pool.forget)
