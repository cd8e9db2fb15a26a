"""A folder of data sets, packed or not."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import tempfile
from pathlib import Path

from studies.book.sources import Source

__all__ = ["DataFolder", "MissingDataError"]


class MissingDataError(Exception):
    """A study needs data that are not there; the message says where to get them."""


class DataFolder:
    """Find data sets in a folder, and unpack what is packed into a temporary folder.

    Parameters
    ----------
    folder : Path or None
        None if there are no data.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._place: Path | None = None
        self._found: dict[str, Path] = {}

    def has(self, source: Source) -> bool:
        """Return whether the data are there."""
        return self._path(source) is not None

    def __getitem__(self, source: Source) -> Path:
        """Return the file or folder that holds the data, unpacked."""
        path = self._path(source)
        if path is None:
            where = "no folder was given" if self.folder is None else f"found none of these in {self.folder}"
            raise MissingDataError(
                f"{source.name}: expected {' or '.join(source.paths)}; {where}. Get it from {source.where}."
            )
        if source.name not in self._found:
            self._found[source.name] = self._unpacked(path, source)
        return self._found[source.name]

    def _path(self, source: Source) -> Path | None:
        if self.folder is None:
            return None
        return next((self.folder / path for path in source.paths if (self.folder / path).exists()), None)

    def _unpacked(self, path: Path, source: Source) -> Path:
        if path.suffix != ".xz":
            return path
        if self._place is None:
            self._place = Path(tempfile.mkdtemp())
        target = self._place / path.stem
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as archive:
                archive.extractall(target, filter="data")
            return next(target.rglob(source.inside)) if source.inside else target
        target.write_bytes(lzma.decompress(path.read_bytes()))
        return target

    def close(self) -> None:
        """Remove what was unpacked."""
        if self._place is not None:
            shutil.rmtree(self._place)
            self._place = None
