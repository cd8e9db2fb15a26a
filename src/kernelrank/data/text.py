"""The source of a text file: a path, compressed or not, or an open file, as blocks of whole lines."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.progress import is_terminal
from kernelrank.base.text import printable
from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError
from kernelrank.persistence.atomic import atomic_write, is_stream, naming, spooled

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]


BLOCK_BYTES = 1 << 20
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
LONGEST_LINE = 1 << 30
"""How long a line may be: positions in a block of lines are numbers of 32 bits."""


def open_zstandard(file: Any, mode: str) -> Any:
    """Open a path or a binary file, ``"rb"`` or ``"wb"``, through pyarrow: Python itself has Zstandard from 3.14 on."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow, which reads and writes .zst files,", "data") from None
    if mode == "wb":
        return pyarrow.CompressedOutputStream(pyarrow.PythonFile(_LeftOpen(file), "w"), "zstd")
    is_path = isinstance(file, (str, os.PathLike))
    plain = pyarrow.OSFile(os.fspath(file), "r") if is_path else pyarrow.PythonFile(_LeftOpen(file), "r")
    return pyarrow.CompressedInputStream(plain, "zstd")


class _LeftOpen(io.RawIOBase):
    """An open file that is not closed with whatever works on it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def write(self, data: Any) -> int:
        self._file.write(data)
        return len(data)


DECOMPRESSORS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".lzma": lzma.open,
    ".bz2": bz2.open,
    ".zst": open_zstandard,
    ".zstd": open_zstandard,
}
MAGIC_WORDS = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}


class Spooled(tempfile.SpooledTemporaryFile[bytes]):
    """What comes through standard input or another pipe, kept in a temporary file, so that it can be read twice.

    Compressed data is known by its first bytes. Up to 64 MiB stay in memory.
    """

    name = ""

    def __init__(self, stream: IO[bytes], called: str) -> None:
        super().__init__(max_size=1 << 26)
        self.name = called
        shutil.copyfileobj(stream, self)
        self.seek(0)
        start = self.read(6)
        self.seek(0)
        self.suffix = next((suffix for magic, suffix in MAGIC_WORDS.items() if start.startswith(magic)), "")


class Block(NamedTuple):
    """Some whole lines of a file."""

    text: bytes
    first_line: int
    n_lines: int

    def line(self, number: int) -> bytes:
        """Return the line that has this number in the file. Time O(block)."""
        return self.text.split(b"\n", number - self.first_line + 1)[number - self.first_line]


@contextlib.contextmanager
def readable(path: Source) -> Iterator[Any]:
    """Return a path or file that can be read twice; a pipe or standard input (``-``) is first copied to a file.

    What the operating system refuses becomes an error.
    """
    if not isinstance(path, (str, os.PathLike)):
        yield path
        return
    name = os.fspath(path)
    if name == "-":
        called = "<standard input>"
        if sys.stdin is None:
            raise FileFormatError("standard input is closed: give the name of a file, or pipe one in", called)
        with Spooled(sys.stdin.buffer, called) as file:
            yield file
        return
    try:
        if is_stream(name):
            with open(name, "rb") as stream, Spooled(stream, name) as file:
                yield file
        else:
            yield name
    except FileNotFoundError:
        raise FileFormatError("there is no such file", name) from None
    except OSError as error:
        raise FileFormatError(f"the file cannot be read: {error.strerror or error}", name) from error


def source_name(source: Source) -> str:
    """Return what error messages call a source: its path, or a word for a file without a name."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def rewind(source: Source) -> None:
    """Put an open file back to its beginning; a path is opened again."""
    if hasattr(source, "seek"):
        source.seek(0)


def read_blocks(source: Source, block_bytes: int | None = None) -> Iterator[Block]:
    r"""Read whole lines, about `block_bytes` at a time.

    A byte order mark is dropped, a last line without a newline gets one. What no text line can hold (a NUL
    byte, a carriage return without its newline) is an error that names the line. Time O(bytes), memory
    O(block_bytes + longest line).
    """
    name = source_name(source)
    first_line = 1
    pending: list[bytes] = []
    with _opened_for_reading(source) as stream:
        for piece in _read_pieces(stream, name, block_bytes or BLOCK_BYTES):
            cut = piece.rfind(b"\n") + 1
            if cut:
                text = b"".join([*pending, memoryview(piece)[:cut]])
                pending = []
                block = _checked(text, first_line, name)
                yield block
                first_line += block.n_lines
            pending.append(piece[cut:])
            if sum(map(len, pending)) > LONGEST_LINE:
                raise FileFormatError(f"the line has more than {LONGEST_LINE:,} bytes", name, first_line)
    rest = b"".join(pending)
    if rest:
        yield _checked(rest + b"\n", first_line, name)


def count_lines(text: bytes) -> int:
    r"""Count the newlines of a text, faster than ``bytes.count`` where lines are short."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")))


def plain_size(source: Source) -> int | None:
    """Return the size of a file in bytes; None if it is compressed, or no path."""
    if not isinstance(source, (str, os.PathLike)) or os.path.splitext(source)[1].lower() in DECOMPRESSORS:
        return None
    return os.path.getsize(source)


def first_bytes(source: Source, size: int = 1 << 16) -> bytes:
    """Return the beginning of a file, decompressed; a file object is put back to where it stood."""
    place = None if isinstance(source, (str, os.PathLike)) else source.tell()
    with _opened_for_reading(source) as stream:
        start = next(_read_pieces(stream, source_name(source), size), b"")
    if place is not None:
        source.seek(place)  # type: ignore[union-attr]
    return start


def utf16_of(start: bytes) -> str | None:
    """Return how a file in UTF-16 is encoded, by its mark or by its first two characters; None for any other file."""
    if start[:2] in UTF16_MARKS:
        return "utf-16"
    zeros = "".join("0" if byte == 0 else "x" for byte in start[:4])
    return {"x0x0": "utf-16-le", "0x0x": "utf-16-be"}.get(zeros)


def read_unicode(source: Source) -> bytes | None:
    """Return a file in UTF-16, as spreadsheets save Unicode text, as lines in UTF-8; None for any other."""
    rewind(source)
    encoding = utf16_of(first_bytes(source, 4))
    if encoding is None:
        return None
    name = source_name(source)
    with _opened_for_reading(source) as stream:
        raw = b"".join(_read_pieces(stream, name, BLOCK_BYTES))
    try:
        text = raw.decode(encoding).encode()
    except UnicodeError as error:
        raise FileFormatError(f"the file begins as UTF-16, but is damaged: {error}; save it as UTF-8", name) from None
    return _checked(text if text.endswith(b"\n") else text + b"\n", 1, name).text


def _checked(text: bytes, first_line: int, name: str) -> Block:
    if first_line == 1 and text.startswith(b"PAR1"):
        message = "expected a text file; got a Parquet file. Give it the suffix .parquet, and read it by "
        raise FileFormatError(f"{message}kernelrank.data.read_items", name)
    if b"\0" in text:
        line = first_line + text.count(b"\n", 0, text.index(b"\0"))
        raise FileFormatError("found a NUL byte: expected a text file in UTF-8", name, line)
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        position = next(i for i, byte in enumerate(text) if byte == 13 and text[i + 1] != 10)
        line = first_line + text.count(b"\n", 0, position)
        raise FileFormatError("a carriage return inside a line: end lines with \\n or \\r\\n", name, line)
    return Block(text, first_line, count_lines(text))


def _read_pieces(stream: IO[Any], name: str, block_bytes: int) -> Iterator[bytes]:
    first = True
    while True:
        try:
            piece = stream.read(block_bytes)
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise FileFormatError(f"the compressed data is damaged: {error}", name) from error
        except UnicodeDecodeError as error:
            message = f"expected text in the encoding that the file was opened with: {error}"
            raise FileFormatError(message, name) from error
        except OSError as error:
            # The decompressors raise an OSError without a number; the operating system's has one.
            if error.errno is not None:
                raise
            raise FileFormatError(f"the compressed data is damaged: {error}", name) from error
        if not piece:
            return
        data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else bytes(piece)
        yield data.removeprefix(b"\xef\xbb\xbf") if first else data
        first = False


@contextlib.contextmanager
def _opened_for_reading(source: Source) -> Iterator[IO[Any]]:
    if not isinstance(source, (str, os.PathLike)):
        if not hasattr(source, "read"):
            raise InvalidInputError(f"expected a path or an open file, got {type(source).__name__}")
        if isinstance(source, Spooled) and source.suffix:
            yield DECOMPRESSORS[source.suffix](source, "rb")
        else:
            yield source
        return
    opener = DECOMPRESSORS.get(os.path.splitext(source)[1].lower(), open)
    with opener(source, "rb") as stream:
        yield stream


@contextlib.contextmanager
def compressed(stream: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """Compress what goes into an open binary file when the suffix of its path asks for it."""
    match suffix.lower():
        case ".gz":
            # No name and no time, so that the same data makes the same file.
            opened: Any = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
        case ".xz" | ".bz2" | ".lzma":
            options = {"format": lzma.FORMAT_ALONE} if suffix.lower() == ".lzma" else {}
            opened = DECOMPRESSORS[suffix.lower()](stream, "wb", **options)
        case ".zst" | ".zstd":
            with open_zstandard(stream, "wb") as plain, io.BufferedWriter(_LeftOpen(plain)) as buffered:
                yield buffered
            return
        case _:
            opened = contextlib.nullcontext(stream)
    with opened as file:
        yield file


# File format ----------------------------------------------------------------------------------------------------------
#
# The format of a file, from its name or else its first bytes.

FileFormat: TypeAlias = Literal["svmlight", "csv", "tsv", "parquet", "xlsx"]

SUFFIXES: dict[str, FileFormat] = {
    ".letor": "svmlight", ".svmlight": "svmlight", ".svm": "svmlight", ".libsvm": "svmlight",
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip
OTHER_NAMES: dict[str, FileFormat] = {"letor": "svmlight", "libsvm": "svmlight"}


CONVERT = ": save it as CSV, TSV, Parquet or Excel"
FOREIGN = {
    rb"PK\x03\x04": "a zip file, as Excel sheets and models are: expected SVMlight, CSV, TSV or Parquet "
    "(an Excel file is called .xlsx)",
    rb"\xd0\xcf\x11\xe0": "an Excel file of the old format: save it as .xlsx or CSV",
    rb"\s*(?:\{|\[\s*\{)": "a JSON file: expected CSV, TSV, Parquet or Excel; "
    "pandas.json_normalize and to_csv convert it",
    rb"(?:\s|%[^\n]*\n)*@relation": f"a file of Weka (ARFF){CONVERT}",
    rb"\s*<": f"HTML or XML, or a file of Stata{CONVERT}",
    rb"\$FL[23]": f"a file of SPSS{CONVERT}",
    rb"ARROW1|\x89HDF|\x93NUMPY": f"a file of arrays (Feather, HDF5 or NumPy){CONVERT}",
}
"""How files begin that are not read, and what to do with them."""


def compression_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that says how a file is compressed, or nothing."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in DECOMPRESSORS else ""


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a name is that of a Parquet file."""
    return SUFFIXES.get(Path(path).suffix.lower()) == "parquet"


def file_format(source: Source, format: str | None = None, *, sniff: bool = True) -> FileFormat:
    """Return the format of a file: the one that is requested, that of its suffix, or what its first line looks like."""
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
        known = ", ".join(get_args(FileFormat))
        raise InvalidInputError(f"{source}: unknown file suffix: give format as one of {known}")
    start = first_bytes(source)
    if encoding := utf16_of(start):
        start = start.decode(encoding, "ignore").encode()
    for beginning, message in FOREIGN.items():
        if re.match(beginning, start, re.IGNORECASE):
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
    return "csv" if any(mark in line for mark in (b",", b";", b"|")) else "svmlight"


# Words ----------------------------------------------------------------------------------------------------------------
#
# Words: labels as an array of strings, or of integers where all of them are integers.
#
# Strings stand in arrays of objects, one object for a run of equal words: an array of fixed width would make every row
# as wide as the longest word of the file.

LONGEST_LABEL = 1 << 16
"""How many bytes a label, a name or a class may have: what is longer is text that stands in the wrong place."""


def join_labels(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Join labels of several texts: integers if all are. Integers go back to strings as they were read."""
    if all(piece.dtype.kind == "i" for piece in pieces):
        return np.concatenate(pieces)
    return np.concatenate([labels_as_strings(piece) for piece in pieces])


def labels_as_strings(labels: NDArray[Any]) -> NDArray[np.object_]:
    """Return labels that were read as strings: integers as they stood in the file, strings as they are."""
    return labels if labels.dtype == object else as_strings(labels)


def as_strings(labels: NDArray[Any] | Iterable[object]) -> NDArray[np.object_]:
    """Return labels as an array of strings, each as long as it is."""
    values: Iterable[object] = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.array([str(value) for value in values], dtype=object)


def label_array(labels: NDArray[Any] | Sequence[object]) -> NDArray[Any]:
    """Return labels as an array without making all strings as wide as the longest."""
    if not isinstance(labels, (list, tuple)):
        return np.asarray(labels)
    return np.array(labels, dtype=object if str in set(map(type, labels)) else None)


def first_long(lengths: NDArray[Any]) -> int | None:
    """Return the place of the first label that is longer than `LONGEST_LABEL`, if there is one."""
    place = int(np.argmax(lengths > LONGEST_LABEL)) if len(lengths) else 0
    return place if len(lengths) and lengths[place] > LONGEST_LABEL else None


def long_message(what: str, length: int) -> str:
    """Return the error message for a label that is too long."""
    return f"{what} has {length:,} bytes: expected at most {LONGEST_LABEL:,}"


def shown(token: object) -> str:
    """Quote a word for a message, which must stay short and printable whatever the file holds."""
    word = token.decode(errors="replace") if isinstance(token, bytes) else token
    text = repr(word) if isinstance(word, str) else str(word)
    return text if len(text) <= 60 else f"{text[:56]}...'"


def first_of(words: Iterable[str], most: int = 5) -> str:
    """Return the first of some words, for a message, and dots if there are more."""
    first = list(itertools.islice(words, most + 1))
    return ", ".join(first[:most]) + (", ..." if len(first) > most else "")


def read_decimal(token: bytes) -> float | None:
    """Read one number, which may be infinite or NaN; None if it is not a number.

    Python's ``float`` also takes underscores and digits of other scripts: typing errors in a data file.
    """
    number = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:nan|inf|infinity)"
    return float(token) if re.fullmatch(number, token) else None


# Output stream --------------------------------------------------------------------------------------------------------
#
# The output stream of a file: compressed by its suffix, atomically; ``-`` is standard output.


@contextlib.contextmanager
def opened_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears atomically.

    What goes to standard output waits in a temporary file (in memory up to 64 MiB) until all of it is there.
    """
    if os.fspath(path) == "-":
        with spooled() as waiting:
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
    with atomic_write(path) as file, compressed(file, Path(path).suffix) as stream:
        yield stream


def _show(file: IO[bytes]) -> None:
    """Write text to a terminal, with the characters escaped that it would obey; a pipe or a file gets every byte."""
    for line in file:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            message = "-: this format is not text and cannot be shown in a terminal: give a file name"
            raise InvalidInputError(message) from None
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
