"""The source of a text file: a path, compressed or not, or an open file, as blocks of whole lines."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError
from kernelrank.persistence.atomic import IN_MEMORY, is_stream

__all__ = [
    "DECOMPRESSORS",
    "Block",
    "Source",
    "Spooled",
    "count_lines",
    "first_bytes",
    "opened_for_writing",
    "plain_size",
    "read_blocks",
    "readable",
    "source_name",
]

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

BLOCK_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STANDARD_INPUT = "<standard input>"

LONGEST_LINE = 1 << 30
"""How long a line may be: positions in a block of lines are numbers of 32 bits."""


def open_zstandard(file: Any, mode: str) -> Any:
    """Open a path or a binary file, ``"rb"`` or ``"wb"``, through pyarrow: Python itself has Zstandard from 3.14 on.

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    """
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

    Parameters
    ----------
    stream : binary file
    called : str
        What errors call it.
    """

    name = ""

    def __init__(self, stream: IO[bytes], called: str) -> None:
        super().__init__(max_size=IN_MEMORY)
        self.name = called
        shutil.copyfileobj(stream, self)
        self.seek(0)
        start = self.read(6)
        self.seek(0)
        self.suffix = next((suffix for magic, suffix in MAGIC_WORDS.items() if start.startswith(magic)), "")


class Block(NamedTuple):
    """Some whole lines of a file.

    Parameters
    ----------
    text : bytes
        The lines, each with its newline.
    first_line : int
        The number of the first one, counted from one.
    n_lines : int
    """

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

    Raises
    ------
    FileFormatError
        When there is no such file, or it cannot be opened or read.
    """
    if not isinstance(path, (str, os.PathLike)):
        yield path
        return
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise FileFormatError("standard input is closed: give the name of a file, or pipe one in", STANDARD_INPUT)
        with Spooled(sys.stdin.buffer, STANDARD_INPUT) as file:
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
    """Return what error messages call a source: its path, or a word for a file without a name.

    Examples
    --------
    >>> import io
    >>> source_name("train.txt"), source_name(io.BytesIO())
    ('train.txt', '<stream>')
    """
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def read_blocks(source: Source, block_bytes: int | None = None) -> Iterator[Block]:
    r"""Read whole lines, about `block_bytes` at a time.

    A byte order mark is dropped, a last line without a newline gets one. What no text line can hold (a NUL
    byte, a carriage return without its newline) is an error that names the line. Time O(bytes), memory
    O(block_bytes + longest line).

    Parameters
    ----------
    source : path or file object
        ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` and ``.zst`` paths are decompressed; a file object is read from where it
        stands and left open.
    block_bytes : int, optional
        How much to read at a time; one mebibyte by default.

    Yields
    ------
    Block

    Examples
    --------
    >>> import io
    >>> list(read_blocks(io.BytesIO(b"one\r\ntwo")))
    [Block(text=b'one\r\n', first_line=1, n_lines=1), Block(text=b'two\n', first_line=2, n_lines=1)]
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
    r"""Count the newlines of a text, faster than ``bytes.count`` where lines are short.

    Examples
    --------
    >>> count_lines(b"one\ntwo\n")
    2
    """
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


def _checked(text: bytes, first_line: int, name: str) -> Block:
    if first_line == 1 and text.startswith(b"PAR1"):
        raise FileFormatError(
            "expected a text file; got a Parquet file. Give it the suffix .parquet, and read it by "
            "kernelrank.data.read_items",
            name,
        )
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
            raise FileFormatError(
                f"expected text in the encoding that the file was opened with: {error}", name
            ) from error
        except OSError as error:
            # The decompressors raise an OSError without a number; the operating system's has one.
            if error.errno is not None:
                raise
            raise FileFormatError(f"the compressed data is damaged: {error}", name) from error
        if not piece:
            return
        data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else bytes(piece)
        yield data.removeprefix(BYTE_ORDER_MARK) if first else data
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
def opened_for_writing(stream: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """Compress what goes into an open binary file when the suffix of its path asks for it.

    Examples
    --------
    >>> import io
    >>> plain = io.BytesIO()
    >>> with opened_for_writing(plain, ".txt") as file:
    ...     _ = file.write(b"text")
    >>> plain.getvalue()
    b'text'
    """
    match suffix.lower():
        case ".gz":
            # No name and no time, so that the same data makes the same file.
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as compressed:
                yield compressed  # type: ignore[misc]
        case ".xz":
            with lzma.open(stream, "wb") as compressed:
                yield compressed
        case ".lzma":
            with lzma.open(stream, "wb", format=lzma.FORMAT_ALONE) as compressed:
                yield compressed
        case ".bz2":
            with bz2.open(stream, "wb") as compressed:
                yield compressed
        case ".zst" | ".zstd":
            with open_zstandard(stream, "wb") as compressed:
                buffered = io.BufferedWriter(_LeftOpen(compressed))
                try:
                    yield buffered
                finally:
                    buffered.detach()
        case _:
            yield stream
