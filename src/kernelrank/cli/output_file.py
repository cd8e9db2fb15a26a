"""Where a command writes: looked at before the work begins, so that no long run ends in a missing folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["STANDARD_STREAM", "check_file", "check_output"]

STANDARD_STREAM = "-"
"""What stands for standard input or output."""


def check_file(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Refuse what `check_output` does, and standard output: models and pages are files."""
    if path is not None and str(path) == STANDARD_STREAM:
        from kernelrank.errors import InvalidInputError

        raise InvalidInputError("-: models and pages are not written to standard output; give the name of a file")
    check_output(path, inputs)


def check_output(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Refuse a place that cannot be written to, or that is one of the inputs."""
    if path is None or str(path) == STANDARD_STREAM:
        return
    from kernelrank.data.atomic import is_stream
    from kernelrank.errors import InvalidInputError

    if is_stream(path):
        return
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a folder; give the name of a file to write")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{path}: the folder {folder} cannot be written to")
    for given in inputs:
        if str(given) != STANDARD_STREAM and given.exists() and path.exists() and path.samefile(given):
            raise InvalidInputError(f"{path}: is also read from; write to another file")
