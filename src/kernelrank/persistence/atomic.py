"""Atomic writes: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PREFIX, SUFFIX = ".kernelrank-", ".tmp"
NAME = re.compile(r"\.kernelrank-[0-9a-f]{16}\.tmp")
"""What the temporary files are called."""

IN_MEMORY = 1 << 26
"""What goes to a stream waits in memory up to this many bytes, and in a temporary file beyond."""


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is there and is neither file nor folder: a device or a pipe, such as ``/dev/stdout``."""
    place = Path(path)
    return place.exists() and not place.is_file() and not place.is_dir()


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file atomically: under a temporary name in the same folder, renamed when complete.

    Whoever opens `path` meanwhile sees the old file, or none. When the body raises anything, Ctrl-C included,
    the new file is removed and the old one stays; what a killed process left in the folder is removed, too. A symbolic
    link is followed, and the permissions of an existing file are kept. A device or a pipe is written to, once all is
    there, and never replaced. Costs one flush to the disk.
    """
    if is_stream(path):
        with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as waiting:
            yield waiting
            waiting.seek(0)
            with naming(path), open(path, "wb") as stream:
                shutil.copyfileobj(waiting, stream)
        return
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    remove_abandoned(target.parent)
    temporary, file = _opened_temporary(target, path)
    try:
        with naming(path), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            if fcntl is None:
                file.close()  # Windows renames no open file; elsewhere the lock ends after the renaming
            _rename(temporary, target, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error of the operating system name the file that is written, such as where the disk is full.

    An error that names another file stays as it is, unless that is the temporary of this one.
    """
    try:
        yield
    except OSError as error:
        named = "" if error.filename is None else os.path.basename(os.fsdecode(error.filename))
        if error.errno is None or isinstance(error, BrokenPipeError) or (named and not NAME.fullmatch(named)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _rename(temporary: Path, target: Path, path: str | os.PathLike[str]) -> None:
    with naming(path):
        os.replace(temporary, target)


def _opened_temporary(target: Path, path: str | os.PathLike[str]) -> tuple[Path, IO[bytes]]:
    """Open a new file beside the target, and lock it, so that no other process takes it for abandoned."""
    while True:
        temporary = target.with_name(f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}")
        with naming(path):
            file = open(temporary, "x+b")  # noqa: SIM115 - the caller closes it
        _lock(file.fileno(), wait=True)
        # Another process may have removed it before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that are gone, such as after ``kill -9``.

    The lock of a file ends with the process that made it, whatever ended that. A file that is locked, or that cannot be
    opened, stays. Time O(files in the folder).
    """
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for place in folder.glob(f"{PREFIX}*{SUFFIX}"):
            if NAME.fullmatch(place.name) and not place.is_symlink():
                _remove_if_abandoned(place)


def _remove_if_abandoned(place: Path) -> None:
    with contextlib.suppress(OSError), open(place, "r+b") as file:
        if _lock(file.fileno()):
            place.unlink()


def _lock(number: int, *, wait: bool = False) -> bool:
    """Lock an open file; False if another process has it and `wait` is False, or if the file system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
