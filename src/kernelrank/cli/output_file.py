"""Output files are checked before the work begins, so that no long run fails because of a missing folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["STANDARD_STREAM", "check_extra", "check_file", "check_output", "check_page"]

STANDARD_STREAM = "-"
"""What stands for standard input or output."""


def check_file(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Check an output file as `check_output` does, and refuse standard output."""
    if path is not None and str(path) == STANDARD_STREAM:
        from kernelrank.errors import InvalidInputError

        raise InvalidInputError("-: models and reports cannot be written to standard output: give a file name")
    check_output(path, inputs)


def check_page(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Check a report file as `check_file` does, and that what it needs is installed."""
    check_file(path, inputs)
    if path is not None:
        check_extra("report", "jinja2", "matplotlib")


def check_extra(extra: str, *packages: str) -> None:
    """Raise an error if the output needs a package that is not installed."""
    from importlib.util import find_spec

    from kernelrank.errors import MissingExtraError

    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(package, extra)


def check_output(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Raise an error for a place that cannot be written to, or that is one of the inputs."""
    if path is None or str(path) == STANDARD_STREAM:
        return
    from kernelrank.errors import InvalidInputError
    from kernelrank.persistence.atomic import is_stream

    if is_stream(path):
        return
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a folder; give the name of a file to write")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise InvalidInputError(f"{path}: is a symbolic link that points to itself; remove it")
    folder = target.parent
    if not folder.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{path}: the folder {folder} cannot be written to")
    for given in inputs:
        if str(given) != STANDARD_STREAM and given.exists() and path.exists() and path.samefile(given):
            raise InvalidInputError(f"{path}: is also an input file; write to another file")
