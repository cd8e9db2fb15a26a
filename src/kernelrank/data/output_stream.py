"""The output stream of a file: compressed by its suffix, atomically; ``-`` is standard output."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kernelrank.base.text import is_terminal, printable
from kernelrank.data.text import opened_for_writing
from kernelrank.errors import InvalidInputError
from kernelrank.persistence.atomic import IN_MEMORY, atomic_write, is_stream, naming

__all__ = ["opened_output"]


@contextlib.contextmanager
def opened_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears atomically.

    What goes to standard output waits in a temporary file (in memory up to 64 MiB) until all of it is there.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` or ``.zst``.

    Yields
    ------
    binary file

    Raises
    ------
    InvalidInputError
        When the operating system does not let the file be made.

    Examples
    --------
    >>> import gzip
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "greeting.txt.gz"
    ...     with opened_output(path) as file:
    ...         _ = file.write(b"hello")
    ...     gzip.decompress(path.read_bytes())
    b'hello'
    """
    if os.fspath(path) == "-":
        with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as waiting:
            if sys.stdout is None:
                raise InvalidInputError("standard output is closed: give the name of a file to write")
            yield waiting
            waiting.seek(0)
            with naming("standard output"):
                if is_terminal(sys.stdout):
                    _show(waiting)
                else:
                    shutil.copyfileobj(waiting, sys.stdout.buffer)
                sys.stdout.buffer.flush()
        return
    _refuse_impossible(Path(path))
    with atomic_write(path) as file, opened_for_writing(file, Path(path).suffix) as stream:
        yield stream


def _show(file: IO[bytes]) -> None:
    """Write text to a terminal, with the characters escaped that it would obey; a pipe or a file gets every byte."""
    for line in file:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise InvalidInputError(
                "-: this format is not text and cannot be shown in a terminal: give a file name"
            ) from None
        sys.stdout.buffer.write(printable(text, lines=True).encode())


def _refuse_impossible(path: Path) -> None:
    """Describe what is wrong with the path before anything is computed for it."""
    if is_stream(path):
        return
    if Path(os.path.realpath(path)).is_symlink():
        raise InvalidInputError(f"{path}: this is a symbolic link that points to itself")
    if path.is_dir():
        raise InvalidInputError(f"{path}: this is a folder, and cannot be written as a file")
    if not path.parent.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise InvalidInputError(f"{path}: the folder {str(path.parent)!r} cannot be written to")
