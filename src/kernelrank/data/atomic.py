"""Atomic writes: a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["atomic_write", "is_stream"]

IN_MEMORY = 1 << 26
"""What goes to a stream waits in memory up to this many bytes, and in a temporary file beyond."""


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is there and is neither file nor folder: a device or a pipe, such as ``/dev/stdout``.

    Examples
    --------
    >>> is_stream(os.devnull), is_stream(os.curdir)
    (True, False)
    """
    place = Path(path)
    return place.exists() and not place.is_file() and not place.is_dir()


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file under another name in the same folder, and rename it when all of it is on the disk.

    Whoever opens `path` meanwhile sees the old file, or none. When the body raises anything, Ctrl-C included,
    the new file is removed and the old one stays. A symbolic link is followed, and the permissions of an
    existing file are kept. A device or a pipe is written to, once all is there, and never replaced. Costs one flush
    to the disk.

    Parameters
    ----------
    path : str or path-like

    Yields
    ------
    binary file
        Open for writing and reading.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "greeting.txt"
    ...     with atomic_write(path) as file:
    ...         _ = file.write(b"hello")
    ...     path.read_bytes(), len(list(Path(folder).iterdir()))
    (b'hello', 1)
    """
    if is_stream(path):
        with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as waiting:
            yield waiting
            waiting.seek(0)
            with open(path, "wb") as stream:
                shutil.copyfileobj(waiting, stream)
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".kernelrank-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
