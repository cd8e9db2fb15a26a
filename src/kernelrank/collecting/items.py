"""The items that judges compare: rows of a table, or files of a folder."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelrank.collecting.store import Item
from kernelrank.data.table import Table
from kernelrank.data.text import file_format
from kernelrank.data.vote_tables import open_votes
from kernelrank.errors import FileFormatError, InvalidInputError

MEDIA = {
    ".png": ("image", "image/png"),
    ".jpg": ("image", "image/jpeg"),
    ".jpeg": ("image", "image/jpeg"),
    ".gif": ("image", "image/gif"),
    ".webp": ("image", "image/webp"),
    ".avif": ("image", "image/avif"),
    ".svg": ("image", "image/svg+xml"),
    ".mp3": ("audio", "audio/mpeg"),
    ".ogg": ("audio", "audio/ogg"),
    ".wav": ("audio", "audio/wav"),
    ".flac": ("audio", "audio/flac"),
    ".m4a": ("audio", "audio/mp4"),
    ".mp4": ("video", "video/mp4"),
    ".webm": ("video", "video/webm"),
}
"""What a browser shows, by suffix: the kind of item, and the content type."""
TEXTS = (".txt", ".md", ".markdown")
NAMES, BODIES, FILES = ("id", "name", "item", "key"), ("text", "content", "body"), ("file", "image", "path")


def read_collected_items(source: str | Path, *, category: str | None = None) -> list[Item]:
    """Read the items that judges compare.

    Parameters
    ----------
    source : str or path
        A CSV, TSV, Parquet or Excel table with one item in each row, or a folder of texts, Markdown files, images,
        sounds and videos. In a table the name is the column ``id``, ``name``, ``item`` or ``key``, else the first one.
        Judges see the column ``text``, ``content`` or ``body``, or the file of the column ``file``, ``image`` or
        ``path``, else all other columns.
    category : str, optional
        The column of the categories: only items of one category are compared.

    Returns
    -------
    list of Item

    Raises
    ------
    FileFormatError
        Where a row has no name, a name occurs twice, or a file is no text, image, sound or video.
    """
    source = Path(source)
    items = _folder_items(source, category) if source.is_dir() else _table_items(source, category)
    names: set[str] = set()
    for item in items:
        if item.name in names:
            raise FileFormatError(f"two items are called {item.name!r}: give one of them another name", str(source))
        names.add(item.name)
        if len(item.content) > 100_000:
            message = f"expected texts of at most 100,000 characters; {item.name!r} has {len(item.content):,}"
            raise FileFormatError(message, str(source))
    if len(items) < 2:
        raise FileFormatError(f"expected at least two items to compare; found {len(items)}", str(source))
    return items


def _folder_items(folder: Path, category: str | None) -> list[Item]:
    if category is not None:
        raise InvalidInputError("Expected a table with --categories, which names a column; got a folder.")
    items = []
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        suffix = path.suffix.lower()
        if path.name.startswith(".") or not path.is_file():
            continue
        if suffix in MEDIA:
            items.append(Item(path.name, MEDIA[suffix][0], path.name))
        elif suffix in TEXTS:
            items.append(Item(path.name, "text", _text_of(path).strip()))
    return items


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError("the file is not UTF-8: save it as UTF-8 text", str(path)) from None


def _table_of(path: Path) -> Table:
    kind = file_format(path)
    if kind == "svmlight":
        raise FileFormatError("expected a CSV, TSV, Parquet or Excel table", str(path))
    table = open_votes(path, kind)
    table.choose(range(len(table.names)))
    return table


def _rows_of(table: Table) -> Iterator[tuple[list[str], Callable[[str], FileFormatError]]]:
    """Yield the cells of each row, and what makes an error that names the row."""
    for block in table.blocks():
        columns = [block.strings(place).to_pylist() for place in range(len(table.names))]
        for row, cells in enumerate(zip(*columns, strict=True)):
            yield list(cells), functools.partial(table.error, position=int(block.positions[row]))


def _table_items(path: Path, category: str | None) -> list[Item]:
    table = _table_of(path)
    group = None if category is None else table.column(category, "categories")
    named, body, file = (_place(table.names, wanted) for wanted in (NAMES, BODIES, FILES))
    named = named or 0
    others = [place for place in range(len(table.names)) if place not in (named, group)]
    items = []
    for cells, error in _rows_of(table):
        name, inside = cells[named], "" if group is None else cells[group]
        if not name:
            raise error("expected a name of the item; the cell is empty")
        if file is not None and cells[file]:
            if safe_file(path.parent, cells[file]) is None:
                known = " ".join(sorted(MEDIA))
                raise error(
                    f"{cells[file]!r}: expected a file in the folder of the table that ends with one of {known}"
                )
            items.append(Item(name, MEDIA[Path(cells[file]).suffix.lower()][0], cells[file], inside))
            continue
        text = "\n".join(f"{table.names[place]}: {cells[place]}" for place in others)
        if body is not None or len(others) <= 1:
            text = cells[body if body is not None else others[0] if others else named]
        items.append(Item(name, "text", text, inside))
    return items


def read_fixed_pairs(path: Path) -> tuple[tuple[str, str], ...]:
    """Read the pairs of a fixed design: a table with two columns of names."""
    table = _table_of(path)
    pairs: list[tuple[str, str]] = []
    for cells, error in _rows_of(table):
        if len(cells) != 2 or not all(cells) or cells[0] == cells[1]:
            raise error("expected two different items in two columns")
        pairs.append((cells[0], cells[1]))
    if not pairs:
        raise table.error("expected a first line with names, and a pair of items in each further line")
    return tuple(pairs)


def _place(columns: tuple[str, ...], wanted: tuple[str, ...]) -> int | None:
    """Return the first column with one of these names."""
    lower = [name.lower() for name in columns]
    return next((lower.index(name) for name in wanted if name in lower), None)


def safe_file(folder: Path, content: str) -> Path | None:
    """Return the path of a file of an item, or None unless it is a media file inside the folder, links followed."""
    try:
        path = (folder / content).resolve()
        inside = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        return None
    return path if inside and path.suffix.lower() in MEDIA else None
