"""The format of a file, from its name or else its first bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from kernelrank.data.decimals import read_decimal
from kernelrank.data.text import DECOMPRESSORS, Source, first_bytes, source_name
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["FileFormat", "compression_suffix", "file_format", "is_parquet"]

FileFormat: TypeAlias = Literal["svmlight", "csv", "tsv", "parquet", "xlsx"]

SUFFIXES: dict[str, FileFormat] = {
    ".letor": "svmlight",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
ZIP = b"PK\x03\x04"
OTHER_NAMES: dict[str, FileFormat] = {"letor": "svmlight", "libsvm": "svmlight"}


def compression_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that says how a file is compressed, or nothing.

    Examples
    --------
    >>> compression_suffix("train.csv.gz"), compression_suffix("train.csv")
    ('.gz', '')
    """
    suffix = Path(path).suffix.lower()
    return suffix if suffix in DECOMPRESSORS else ""


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a name is that of a Parquet file.

    Examples
    --------
    >>> is_parquet("train.pq"), is_parquet("train.csv")
    (True, False)
    """
    return SUFFIXES.get(Path(path).suffix.lower()) == "parquet"


def file_format(source: Source, format: str | None = None, *, sniff: bool = True) -> FileFormat:
    """Return the format of a file: the one that is requested, that of its suffix, or what its first line looks like.

    Parameters
    ----------
    source : path or file object
    format : str, optional
        ``"svmlight"`` (or ``"letor"``), ``"csv"``, ``"tsv"``, ``"parquet"`` or ``"xlsx"``.
    sniff : bool, default=True
        Whether to look into the file where its suffix says nothing; else that is an error.

    Examples
    --------
    >>> file_format("train.csv.gz"), file_format("fold1.letor"), file_format("anything", "letor")
    ('csv', 'svmlight', 'svmlight')
    """
    if format is not None:
        known = OTHER_NAMES.get(format, format)
        if known not in get_args(FileFormat):
            raise InvalidInputError(f"format must be one of {', '.join(get_args(FileFormat))}, got {format!r}")
        return cast(FileFormat, known)
    if isinstance(source, (str, os.PathLike)):
        name = Path(source)
        suffix = name.with_suffix("").suffix if compression_suffix(source) else name.suffix
        if suffix.lower() in SUFFIXES:
            return SUFFIXES[suffix.lower()]
        if sniff and name.is_dir():
            return "parquet"
    if not sniff:
        raise InvalidInputError(
            f"{source}: unknown file suffix: give format as one of {', '.join(get_args(FileFormat))}"
        )
    start = first_bytes(source)
    if start.startswith(ZIP):
        message = (
            "a zip file, as Excel sheets and models are: expected SVMlight, CSV, TSV or Parquet (an Excel file is "
            "called .xlsx)"
        )
        raise FileFormatError(message, source_name(source))
    return _looks_like(start)


def _looks_like(start: bytes) -> FileFormat:
    """Distinguish the formats by the first line with content."""
    if start.startswith(b"PAR1"):
        return "parquet"
    lines = [line.partition(b"#")[0] for line in start.splitlines()]
    line = next((line for line in lines if line.strip()), b"")
    words = line.split()
    if words and read_decimal(words[0]) is not None and (len(words) == 1 or b":" in words[1]):
        return "svmlight"
    if b"\t" in line.strip():
        return "tsv"
    return "csv" if b"," in line or b";" in line else "svmlight"
