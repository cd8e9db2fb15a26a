"""The items that judges compare: rows of a CSV file, or files of a folder."""

from __future__ import annotations

import csv
from pathlib import Path

from kernelrank.collecting.store import Item
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
        A CSV or TSV file with one item in each row, or a folder of texts, Markdown files, images, sounds and videos.
        In a table the name is the column ``id``, ``name``, ``item`` or ``key``, else the first one. Judges see the
        column ``text``, ``content`` or ``body``, or the file of the column ``file``, ``image`` or ``path``, else all
        other columns.
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
        raise InvalidInputError("Expected a CSV file with --categories, which names a column; got a folder.")
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


def _table_items(path: Path, category: str | None) -> list[Item]:
    lines = _text_of(path)
    header = lines.partition("\n")[0]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=header.count)
    rows = csv.reader(lines.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        columns = [name.strip() for name in next(rows, [])]
        cells = [(rows.line_num, row) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FileFormatError(f"not a table: {error}", str(path), rows.line_num) from None
    if not columns:
        raise FileFormatError("expected a first line with the names of the columns; the file is empty", str(path))
    if category is not None and category not in columns:
        raise FileFormatError(f"expected a column {category!r} of categories; found {', '.join(columns)}", str(path))
    named, body, file = (_place(columns, wanted) for wanted in (NAMES, BODIES, FILES))
    named = 0 if named is None else named
    shown = [place for place, name in enumerate(columns) if place != named and name != category]
    items = []
    for line, row in cells:
        if len(row) != len(columns):
            raise FileFormatError(f"expected {len(columns)} cells; found {len(row)}", str(path), line)
        name = row[named].strip()
        if not name:
            raise FileFormatError("expected a name of the item; the cell is empty", str(path), line)
        group = "" if category is None else row[columns.index(category)].strip()
        if file is not None and row[file].strip():
            items.append(_file_item(path, line, name, row[file].strip(), group))
        else:
            text = row[body] if body is not None else _all_cells(columns, row, shown) or name
            items.append(Item(name, "text", text.strip(), group))
    return items


def _place(columns: list[str], wanted: tuple[str, ...]) -> int | None:
    """Return the first column with one of these names."""
    lower = [name.lower() for name in columns]
    return next((lower.index(name) for name in wanted if name in lower), None)


def _all_cells(columns: list[str], row: list[str], shown: list[int]) -> str:
    if len(shown) == 1:
        return row[shown[0]]
    return "\n".join(f"{columns[place]}: {row[place]}" for place in shown)


def _file_item(table: Path, line: int, name: str, content: str, group: str) -> Item:
    suffix = Path(content).suffix.lower()
    if suffix not in MEDIA:
        known = " ".join(sorted(MEDIA))
        raise FileFormatError(f"{content!r}: expected a file that ends with one of {known}", str(table), line)
    if safe_file(table.parent, content) is None:
        raise FileFormatError(f"{content!r}: expected a file in the folder of the table", str(table), line)
    return Item(name, MEDIA[suffix][0], content, group)


def safe_file(folder: Path, content: str) -> Path | None:
    """Return the path of a file of an item, or None unless it is a media file inside the folder, links followed."""
    try:
        path = (folder / content).resolve()
        inside = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        return None
    return path if inside and path.suffix.lower() in MEDIA else None
