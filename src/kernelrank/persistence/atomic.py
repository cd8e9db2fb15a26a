"""Atomic writes: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is there and is neither file nor folder: a device or a pipe, such as ``/dev/stdout``."""
    place = Path(path)
    return place.exists() and not place.is_file() and not place.is_dir()


def spooled() -> tempfile.SpooledTemporaryFile[bytes]:
    """Return a place for what goes to a stream: in memory up to 64 MiB, and in a temporary file beyond."""
    return tempfile.SpooledTemporaryFile(max_size=1 << 26)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file atomically: under a temporary name in the same folder, renamed when complete.

    Whoever opens `path` meanwhile sees the old file, or none. When the body raises anything, Ctrl-C included,
    the new file is removed and the old one stays. A symbolic link is followed, and the permissions of an existing file
    are kept. A device or a pipe is written to, once all is there, and never replaced. Costs one flush to the disk.
    """
    if is_stream(path):
        with spooled() as waiting:
            yield waiting
            waiting.seek(0)
            with naming(path), open(path, "wb") as stream:
                shutil.copyfileobj(waiting, stream)
        return
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    temporary = target.with_name(f".kernelrank-{secrets.token_hex(8)}.tmp")
    try:
        with naming(path, temporary):
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


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Let an error of the operating system name the file that is written, such as where the disk is full.

    An error that names another file stays as it is, unless that is the temporary of this one.
    """
    try:
        yield
    except OSError as error:
        known = (None, "", None if temporary is None else os.fspath(temporary))
        filename = None if error.filename is None else os.fsdecode(error.filename)
        if error.errno is None or isinstance(error, BrokenPipeError) or filename not in known:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
