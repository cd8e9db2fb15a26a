"""Folds: folders with training, validation and test files, as in LETOR."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from kernelrank.data.text import DECOMPRESSORS
from kernelrank.errors import FileFormatError

__all__ = ["Fold", "find_part", "fold_order", "letor_folds"]

PARTS = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "validationset", "valid"),
    "test": ("test", "testset"),
}


class Fold(NamedTuple):
    """The files of one fold.

    Parameters
    ----------
    name : str
        What its folder is called.
    train, vali, test : Path
        The files to train with, to choose parameters by and to test with.
    """

    name: str
    train: Path
    vali: Path
    test: Path


def letor_folds(folder: str | os.PathLike[str]) -> tuple[Fold, ...]:
    """Find the folds in a folder: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, and so on.

    The files may be compressed (``train.txt.gz``). No file is opened. Time O(files).

    Parameters
    ----------
    folder : str or path-like
        The folder that holds the folds, or one fold.

    Returns
    -------
    tuple of Fold
        By number: Fold10 comes after Fold9.

    Raises
    ------
    FileFormatError
        When there is no such folder, no fold in it, or a fold without one of its files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "Fold1").mkdir()
    ...     for part in ("train", "vali", "test"):
    ...         (Path(folder) / "Fold1" / f"{part}.txt").touch()
    ...     [(fold.name, fold.train.name) for fold in letor_folds(folder)]
    [('Fold1', 'train.txt')]
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileFormatError("there is no such folder", str(root))
    if find_part(root, "train") is not None:
        return (_fold(root),)
    folds = [child for child in root.iterdir() if child.is_dir() and re.fullmatch(r"(?i)fold[ _-]?\d+", child.name)]
    if not folds:
        message = "no fold is here: expected folders Fold1, Fold2, ... with train.txt, vali.txt and test.txt"
        raise FileFormatError(message, str(root))
    return tuple(_fold(child) for child in sorted(folds, key=fold_order))


def fold_order(folder: Path) -> tuple[int, str]:
    """Return what folds are sorted by: their numbers, then their names.

    Examples
    --------
    >>> [folder.name for folder in sorted([Path("Fold10"), Path("Fold9")], key=fold_order)]
    ['Fold9', 'Fold10']
    """
    return int("0" + "".join(letter for letter in folder.name if letter in "0123456789")), folder.name


def _fold(folder: Path) -> Fold:
    files = {part: find_part(folder, part) for part in PARTS}
    for part, file in files.items():
        if file is None:
            raise FileFormatError(f"the fold has no {part}.txt: expected train.txt, vali.txt and test.txt", str(folder))
    return Fold(folder.name, **files)  # type: ignore[arg-type]


def find_part(folder: Path, part: str) -> Path | None:
    """Return the file of a fold, "train", "vali" or "test", by any name, compressed or not; None without one."""
    candidates = (folder / f"{name}.txt{suffix}" for name in PARTS[part] for suffix in ("", *DECOMPRESSORS))
    return next((file for file in candidates if file.is_file()), None)
