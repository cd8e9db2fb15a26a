"""What a vote was about: covariates, categories and times in tables of votes; nested records; embedded answers."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.table import Table, plain_name
from kernelrank.data.text import Source, is_parquet, read_blocks, rewind, shown, source_name
from kernelrank.errors import FileFormatError, InvalidInputError

TIMES = ("time", "timestamp", "tstamp", "date", "datetime", "createdat", "votedat", "day")
"""Names of columns of times, as small letters and digits."""

FORMS = (
    "%a, %d %b %Y %H:%M:%S %z",
    *(
        f"{day}{clock}"
        for day in ("%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
        for clock in ("", " %H:%M", " %H:%M:%S")
    ),
)
"""Forms of dates beside those of ISO 8601. 05/06/2024 is none of them: it is read as May or June."""

CovariateColumns: TypeAlias = Mapping[str, tuple[int, int | None] | None]
"""The columns of each covariate: of the two sides, or one that is signed; None for the side itself."""


def covariate_columns(
    table: Table, names: Sequence[str], pairs: Sequence[tuple[int, int]], *, sided: bool
) -> CovariateColumns:
    """Find the columns of covariates: two that differ by the words for the sides, or one of that name.

    pairs: Columns whose names differ by words for the two sides.
    """
    found: dict[str, tuple[int, int | None] | None] = {}
    for name in names:
        two = [pair for pair in pairs if _without_side(*(table.names[column] for column in pair)) == plain_name(name)]
        if name in table.names:
            found[name] = (table.names.index(name), None)
        elif len(two) == 1:
            found[name] = two[0]
        elif name == "side" and sided:
            found[name] = None
        else:
            likely = f"{name}_a and {name}_b" if sided else f"{name}_winner and {name}_loser"
            raise table.error(
                f"no column {name!r}, nor one for each side such as {likely}, for covariates; {table.known_names()}"
            )
    return found


def _without_side(first: str, second: str) -> str:
    """Return the words that two names have in common, as small letters and digits."""
    words = [re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name) for name in (first, second)]
    return plain_name("".join(a for a, b in zip(*words, strict=False) if a == b))


def read_times(words: Sequence[str]) -> tuple[NDArray[np.float64], bool]:
    """Read times: dates of any usual form as seconds since 1970, and whether they are dates; NaN where one is neither.

    Numbers above 10⁸ are Unix times in seconds, above 10¹¹ in milliseconds, and so on; smaller ones are what they are.
    """
    values = np.full(len(words), np.nan)
    try:
        values[:] = [float(word) if word else np.nan for word in words]
    except ValueError:
        for place, word in enumerate(words):
            values[place] = _seconds(word)
        return values, True
    size = float(np.nanmax(np.abs(values), initial=0.0))
    if all(re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])|", word) for word in words) and size:
        values[:] = [_seconds(word) for word in words]  # 20240531
        return values, True
    if size < 1e8:
        return values, False
    return values / 1000.0 ** max(0, int(np.floor((np.log10(size) - 8.0) / 3.0))), True


def _seconds(word: str) -> float:
    """Return a date as seconds since 1970, in UTC unless it says otherwise; NaN if it is none."""
    text = re.sub(r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})", r"\1-\2-\3", word.strip())
    text = f"{text}-01" if re.fullmatch(r"\d{4}-\d\d?", text) else text
    text = re.sub(r"\s*UTC$", "+00:00", re.sub(r"^(\d{4})-(\d)(?=-)", r"\1-0\2", text))
    text = re.sub(r"^(\d{4}-\d\d)-(\d)(?!\d)", r"\1-0\2", text)
    with contextlib.suppress(ValueError):
        return _in_utc(datetime.fromisoformat(text))
    for form in FORMS:
        with contextlib.suppress(ValueError):
            return _in_utc(datetime.strptime(text, form))
    return np.nan


def _in_utc(found: datetime) -> float:
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def in_period(
    times: NDArray[np.float64], dated: bool, since: str | None, until: str | None
) -> tuple[NDArray[np.bool_], str]:
    """Return which times are from `since` on and before `until`, and a note."""
    keep, said = np.ones(len(times), dtype=np.bool_), []
    for name, bound in (("since", since), ("until", until)):
        if bound is None:
            continue
        (limit,), is_date = read_times([bound])
        if not np.isfinite(limit) or (is_date and not dated):
            expected = "a date such as 2024-05-31" if dated else "a number, as times are"
            raise InvalidInputError(f"{name}= is {bound!r}: expected {expected}")
        if dated and not is_date:
            limit = _seconds(f"{bound}-01-01" if re.fullmatch(r"\d{4}", bound) else bound)
        keep &= times >= limit if name == "since" else times < limit
        said.append(f"{name} {bound}")
    return keep, f"of the period {' '.join(said)}: {int(keep.sum()):,} of {len(keep):,} votes"


def as_times(times: NDArray[np.float64], dated: bool) -> NDArray[Any]:
    """Return times as dates of NumPy if they are dates."""
    return np.rint(1e6 * times).astype("datetime64[us]") if dated else times


# Nested records -------------------------------------------------------------------------------------------------------


def json_as_table(source: Source) -> io.BytesIO:
    """Return records of JSON, one in each line or in one list, as a CSV table; nested names are joined by dots.

    Lists, such as conversations, and texts over several thousand letters are left out. Time and memory O(bytes).
    """
    path = source_name(source)
    rewind(source)
    text = b"".join(block.text for block in read_blocks(source))
    records: list[dict[str, Any]] = []
    try:
        if text.lstrip().startswith(b"["):
            records = [_flat(record, path, 1) for record in json.loads(text)]
        else:
            for number, line in enumerate(text.split(b"\n"), 1):
                if line.strip():
                    records.append(_flat(json.loads(line), path, number))
    except ValueError as error:
        where = f"line {len(records) + 1}: " if not text.lstrip().startswith(b"[") else ""
        raise FileFormatError(
            f"{where}expected JSON, one record in each line or a list of them; {error}", path
        ) from None
    names = list(dict.fromkeys(itertools.chain.from_iterable(records)))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    table = io.BytesIO(out.getvalue().encode())
    table.name = path
    return table


def _flat(record: Any, path: str, number: int) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise FileFormatError(f"expected a record with names in line {number}; got {shown(str(record))}", path)
    found: dict[str, Any] = {}
    stack = [(str(name), value) for name, value in reversed(record.items())]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{name}.{inner}", one) for inner, one in reversed(value.items()))
        elif isinstance(value, bool):
            found[name] = int(value)
        elif not isinstance(value, list) and not (isinstance(value, str) and len(value) > 4_000):
            found[name] = "" if value is None else value.replace("\n", " ") if isinstance(value, str) else value
    return found


def parquet_as_table(source: Source) -> Source:
    """Return a Parquet file with nested columns as one without, names joined by dots; other files as they are."""
    import pyarrow.parquet
    import pyarrow.types

    rewind(source)
    if not (isinstance(source, io.BytesIO) or str(source_name(source)).endswith(".parquet")):
        return source
    with pyarrow.parquet.ParquetFile(source) as opened:
        schema = opened.schema_arrow
        if not any(pyarrow.types.is_struct(field.type) for field in schema):
            rewind(source)
            return source
        plain = [field.name for field in schema if not pyarrow.types.is_nested(field.type)]
        nested = [field.name for field in schema if pyarrow.types.is_struct(field.type)]
        read = opened.read([*plain, *nested])
    while any(pyarrow.types.is_struct(kind) for kind in read.schema.types):
        read = read.flatten()
    read = read.drop_columns([one.name for one in read.schema if pyarrow.types.is_nested(one.type)])
    out = io.BytesIO()
    pyarrow.parquet.write_table(read, out)
    out.seek(0)
    out.name = source_name(source)
    return out


# Answers with embeddings ----------------------------------------------------------------------------------------------
#
# Of two answers to a prompt the chosen and the rejected one, each with a list of numbers.


class EmbeddedPairs(NamedTuple):
    """Preferences between answers with embeddings.

    Parameters
    ----------
    X : ndarray of float64, shape (m, n)
        The embeddings; equal ones are one item.
    pairs : ndarray of int64, shape (l, 2)
        Rows of X: the chosen and the rejected answer.
    groups : ndarray of str, shape (l,)
        The prompt of each pair.
    notes : tuple of str
    """

    X: NDArray[np.float64]
    pairs: NDArray[np.int64]
    groups: NDArray[Any]
    notes: tuple[str, ...] = ()


def read_embedded_pairs(
    source: Source, *, chosen: str | None = None, rejected: str | None = None, group: str = "prompt"
) -> EmbeddedPairs:
    """Read pairs of a chosen and a rejected answer to a prompt, with a list of numbers for each, from JSON or Parquet.

    Parameters
    ----------
    source : path or file object
        JSON with one record in each line, a JSON list of records, or Parquet.
    chosen, rejected : str, optional
        The columns of embeddings. Guessed if omitted: two columns of lists of numbers whose names differ by the words
        chosen and rejected, such as ``chosen_embedding`` and ``rejected_embedding``.
    group : str, default="prompt"
        The column of what is held out together.

    Returns
    -------
    EmbeddedPairs
        ``X, pairs, groups, notes``, for ``BradleyTerry().fit_pairs(X, pairs)`` and
        ``leave_preferences_out(BradleyTerry(), X, pairs, groups=groups)``.

    Raises
    ------
    FileFormatError
        For columns that are absent, and for embeddings that are not lists of so many finite numbers; the message has
        the record.

    Notes
    -----
    Time and memory O(bytes).

    Examples
    --------
    >>> import io
    >>> record = '{"prompt": "Hi", "chosen_embedding": [0.5, 1], "rejected_embedding": [0, 1]}'
    >>> found = read_embedded_pairs(io.StringIO(record))
    >>> found.X.tolist(), found.pairs.tolist(), found.groups.tolist()
    ([[0.5, 1.0], [0.0, 1.0]], [[0, 1]], ['Hi'])
    """
    path = source_name(source)
    records = _records(source, path)
    if not records:
        raise FileFormatError("expected a pair of answers; the file has no record", path)
    names = tuple(records[0])
    lists = tuple(name for name in names if _is_embedding(records[0][name]))
    two = [(name, name.replace("chosen", "rejected")) for name in lists if "chosen" in name]
    two = [pair for pair in two if pair[1] in lists]
    if chosen is None and rejected is None and len(two) == 1:
        ((chosen, rejected),) = two
    if chosen is None or rejected is None:
        raise FileFormatError(
            "expected embeddings of chosen and of rejected answers, such as chosen_embedding and rejected_embedding; "
            f"its lists of numbers are {', '.join(lists) or 'none'}. Name them by chosen= and rejected=",
            path,
        )
    for name in (chosen, rejected, group):
        if name not in names:
            raise FileFormatError(f"no column {name!r}; the columns are {', '.join(names)}", path)
    rows: list[NDArray[np.float64]] = []
    numbers: dict[bytes, int] = {}
    pairs = np.empty((len(records), 2), dtype=np.int64)
    for place, record in enumerate(records):
        for side, name in enumerate((chosen, rejected)):
            row = _embedding(record.get(name), len(records[0][chosen]), name, place, path)
            pairs[place, side] = numbers.setdefault(row.tobytes(), len(rows))
            if pairs[place, side] == len(rows):
                rows.append(row)
    groups = np.array([str(record.get(group)) for record in records], dtype=object)
    note = f"the embeddings are columns {chosen!r} and {rejected!r}, {len(rows):,} of them different"
    return EmbeddedPairs(np.array(rows), pairs, groups, (f"{note}; {len(set(groups)):,} groups by {group!r}",))


def _records(source: Source, path: str) -> list[dict[str, Any]]:
    """Return the records of a file; those of Parquet without columns of nested records."""
    rewind(source)
    if isinstance(source, (str, os.PathLike)) and is_parquet(source):
        import pyarrow.parquet

        return list(pyarrow.parquet.read_table(source).to_pylist())
    text = b"".join(block.text for block in read_blocks(source)).strip()
    try:
        found = json.loads(text) if text.startswith(b"[") else [json.loads(line) for line in text.splitlines() if line]
    except ValueError as error:
        raise FileFormatError(f"expected JSON, one record in each line or a list of them; {error}", path) from None
    if not all(isinstance(record, dict) for record in found):
        raise FileFormatError("expected records with names", path)
    return list(found)


def _is_embedding(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, (int, float)) for one in value)


def _embedding(value: Any, size: int, name: str, place: int, path: str) -> NDArray[np.float64]:
    row = np.array(value, dtype=np.float64) + 0.0 if _is_embedding(value) else np.empty(0)  # no negative zeros
    if len(row) != size or not np.isfinite(row).all():
        raise FileFormatError(f"expected {size} finite numbers", path, column=name, row=f"record {place + 1}")
    return row
