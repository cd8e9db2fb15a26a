"""The container: JSON and arrays in one file with checksums and no code.

A container is a zip file without compression::

    arrays/0.npy    each array in NumPy's format, never pickled
    arrays/1.npy
    model.json      format, versions, content; name, size and SHA-256 of each array
    (zip comment)   "sha256:" and the digest of every byte before it, the manifest included

The seal makes each damaged or missing byte an error before anything is read. It is no signature: whoever
forges a file can seal it again. That is why what follows it trusts nothing either: members, sizes and types
are compared with the manifest before memory is allocated, and no type of array can hold an object.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Sequence
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kernelrank import __version__
from kernelrank.errors import ModelFileError

__all__ = ["FORMAT_NAME", "FORMAT_VERSION", "read_container", "storable", "write_container"]

FORMAT_NAME = "kernelrank model"
FORMAT_VERSION = 1
MANIFEST = "model.json"
SEAL_WORD = b"sha256:"
SEAL_BYTES = len(SEAL_WORD) + 64
END_RECORD_BYTES = 22
PIECE_BYTES = 1 << 20


def storable(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this type can be stored: numbers, booleans, text, bytes, dates; no objects.

    Examples
    --------
    >>> storable(np.dtype("float32")), storable(np.dtype("object"))
    (True, False)
    """
    return dtype.kind in "biufcSUmM" and dtype.names is None and dtype.subdtype is None


def write_container(file: IO[bytes], content: object, arrays: Sequence[NDArray[Any]]) -> None:
    """Write JSON content and arrays into an empty file open for writing and reading. Time O(bytes), memory O(1).

    The same content and arrays make the same bytes.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> write_container(file, {"answer": 42}, [np.arange(3)])
    >>> read_container(file)
    ({'answer': 42}, [array([0, 1, 2])])
    """
    members = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for number, array in enumerate(arrays):
            name = _member_name(number)
            # The fixed date of a bare ZipInfo keeps the bytes the same.
            large = array.nbytes > 2**30
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=large) as member:
                digest = _Digest(member)
                np.lib.format.write_array(digest, array, version=(1, 0), allow_pickle=False)
            members.append({"name": name, "size": digest.size, "sha256": digest.hexdigest()})
        manifest = {
            "format": FORMAT_NAME,
            "format_version": FORMAT_VERSION,
            "kernelrank_version": __version__,
            "content": content,
            "members": members,
        }
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, allow_nan=False, indent=1))
        archive.comment = b" " * SEAL_BYTES
    end = file.seek(0, os.SEEK_END)
    seal = _seal_of(file, end - SEAL_BYTES)
    file.seek(end - SEAL_BYTES)
    file.write(seal)


def read_container(file: IO[bytes]) -> tuple[Any, list[NDArray[Any]]]:
    """Read the content and the arrays of a container, all of them checked. Time O(bytes), memory O(result).

    Raises
    ------
    ModelFileError
        With what is wrong.
    """
    _check_seal(file)
    with zipfile.ZipFile(file) as archive:
        manifest = _read_manifest(archive)
        members = manifest["members"]
        _check_members(archive, [member["name"] for member in members])
        return manifest["content"], [_read_array(archive, member) for member in members]


class _Digest(io.RawIOBase):
    """A file that takes the digest of what goes through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def _note(self, data: bytes) -> bytes:
        self._hash.update(data)
        self.size += len(data)
        return data

    def write(self, data: Any) -> int:
        return self._file.write(self._note(bytes(data)))

    def read(self, size: int = -1) -> bytes:
        return self._note(self._file.read(size))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _member_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _seal_of(file: IO[bytes], size: int) -> bytes:
    """Return the seal for the first `size` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0:
        piece = file.read(min(size, PIECE_BYTES))
        if not piece:
            raise ModelFileError("the file became shorter while it was read")
        digest.update(piece)
        size -= len(piece)
    return SEAL_WORD + digest.hexdigest().encode()


def _check_seal(file: IO[bytes]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(4)
    if not start:
        raise ModelFileError("the file is empty")
    if not b"PK\x03\x04".startswith(start):
        raise ModelFileError(f"not a {FORMAT_NAME}: expected a zip archive written by kernelrank.save")
    file.seek(max(0, size - SEAL_BYTES - END_RECORD_BYTES))
    tail = file.read()
    seal = tail[-SEAL_BYTES:]
    if not (tail.startswith(b"PK\x05\x06") and seal.startswith(SEAL_WORD)):
        raise ModelFileError(f"truncated, damaged, or a zip file that is not a {FORMAT_NAME}")
    if _seal_of(file, size - SEAL_BYTES) != seal:
        raise ModelFileError("damaged: the content differs from what was written (SHA-256 digest mismatch)")


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    def refuse(word: str) -> NoReturn:
        raise ModelFileError(f"{word} in {MANIFEST}")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a key that occurs twice")

    if MANIFEST not in archive.namelist():
        raise ModelFileError(f"{MANIFEST} is missing: this zip file is not a {FORMAT_NAME}")
    text = archive.read(_checked_info(archive, MANIFEST))
    manifest = json.loads(text, parse_constant=refuse, object_pairs_hook=distinct)
    if not (isinstance(manifest, dict) and manifest.get("format") == FORMAT_NAME):
        raise ModelFileError(f"not a {FORMAT_NAME}: {MANIFEST} names another format")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"expected a format version as a positive integer; got {version!r}")
    if version > FORMAT_VERSION:
        writer = manifest.get("kernelrank_version")
        raise ModelFileError(
            f"written by kernelrank {writer} in format {version}; this version reads up to format "
            f"{FORMAT_VERSION}. Upgrade kernelrank"
        )
    return manifest


def _check_members(archive: zipfile.ZipFile, promised: list[str]) -> None:
    """Compare what the archive holds with what the manifest promises."""
    if promised != [_member_name(number) for number in range(len(promised))]:
        raise ModelFileError(f"{MANIFEST} has no valid number of arrays")
    held = archive.namelist()
    for name in promised:
        if name not in held:
            raise ModelFileError(f"the member {name} is missing")
    if sorted(held) != sorted([*promised, MANIFEST]):
        extra = next(name for name in held if name not in {*promised, MANIFEST} or held.count(name) > 1)
        raise ModelFileError(f"the member {extra!r} is not expected")


def _checked_info(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the entry of a member that is stored as it is, so that no byte becomes many."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
        raise ModelFileError(f"the member {name} is compressed or encrypted")
    return info


def _read_array(archive: zipfile.ZipFile, member: dict[str, Any]) -> NDArray[Any]:
    name = member["name"]
    info = _checked_info(archive, name)
    if info.file_size != member["size"]:
        raise ModelFileError(f"the member {name} has {info.file_size} bytes, not {member['size']}")
    with archive.open(info) as file:
        _check_header(file, info)
    with archive.open(info) as file:
        digest = _Digest(file)
        array: NDArray[Any] = np.lib.format.read_array(digest, allow_pickle=False)
    if digest.hexdigest() != member["sha256"]:
        raise ModelFileError(f"the member {name} is damaged: its SHA-256 digest differs")
    return array


def _check_header(file: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Check that the array is as large as its bytes, before memory is allocated for it."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ModelFileError(f"the member {info.filename} is in another version of NumPy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if not storable(dtype):
        raise ModelFileError(f"the member {info.filename} has the type {dtype}, which is not allowed in a model file")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != info.file_size - file.tell():
        raise ModelFileError(f"the member {info.filename} has the shape {shape}, which does not match its size")
