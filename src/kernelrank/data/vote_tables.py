"""Preference files of every format: lines, tables of votes, arena logs, rankings of PrefLib."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable
from typing import cast

from kernelrank.data.delimited import DELIMITERS
from kernelrank.data.delimited_records import TextAfterQuoteError, scan_records
from kernelrank.data.file_format import FileFormat, file_format
from kernelrank.data.item_codes import ItemCodes
from kernelrank.data.preference_lines import COLUMNS, looks_like_a_line, read_lines
from kernelrank.data.preflib import is_preflib, read_preflib
from kernelrank.data.text import Source, first_bytes, read_blocks, readable, source_name
from kernelrank.data.vote_columns import VoteColumns, VoteRequest
from kernelrank.data.vote_table import open_votes, read_votes
from kernelrank.data.votes import Preferences
from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError

__all__ = ["read_pairs"]

FORMATS = ("lines", "csv", "tsv", "parquet", "xlsx", "preflib")


def read_pairs(
    source: Source,
    *,
    items: Iterable[object] | None = None,
    format: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    left: str | None = None,
    right: str | None = None,
    tie: str | None = None,
    weight: str | None = None,
    judge: str | None = None,
    magnitude: str | None = None,
) -> Preferences:
    r"""Read preferences: a table of winners and losers, an arena log, a PrefLib file, or plain lines.

    - A **table** (CSV, TSV, Parquet, Excel) has a column of winners and one of losers, and may have ties, weights,
      judges and magnitudes.
    - An **arena log** is a table with two columns of items, such as ``model_a`` and ``model_b`` or ``left`` and
      ``right``, and one that says who won: by the name of the column, by the name of the item, or by a side (left and
      right, a and b, 1 and 2, first and second, home and away); or that it was a tie. In place of the latter, columns
      such as ``winner_model_a``, ``winner_model_b`` and ``winner_tie`` may mark the winner by a 1.
    - A **PrefLib** file has rankings (``.soc``, ``.soi``, ``.toc``, ``.toi``) or weighted preferences (``.wmd``). The
      preferences of one ranking weigh together as much as one vote, and ties in it are ties.
    - **Lines** are ``winner loser [magnitude [weight]]``, separated by white space or commas, with the same number of
      columns throughout; what follows a ``#`` is a comment, and a first line of these very words is a header.

    Columns are recognised by their names, and `Preferences.notes` lists them. Winner and loser are item numbers from
    zero if all of them are integers (as Python writes them), and otherwise names.

    Time O(bytes), and O(preferences) for rankings; memory O(preferences). A million votes take about a second as a
    table, and a few as lines.

    Parameters
    ----------
    source : path or file object
        ``-`` is standard input; decompressed if its suffix is ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` or ``.zst``. Text
        is UTF-8.
    items : sequence, optional
        The names of all items, which fixes their numbers; any other name is an error. Otherwise names are numbered as
        they first occur.
    format : {"lines", "csv", "tsv", "parquet", "xlsx", "preflib"}, optional
        Guessed from the suffix and the first line by default.
    winner : str, optional
        The column of the winners; in an arena log, the one that says who won. Guessed: ``winner``, ``preferred``,
        ``better``, ``chosen``; in an arena log also ``outcome``, ``result``, ``vote``, ``choice``, ``preference``,
        ``verdict``, ``judgement``, ``decision``, ``FTR``. It holds the names of the columns, those of the items, or the
        sides (left, 1, a, home, …; H and A for home and away columns), and tie or draw.
    loser : str, optional
        The column of the losers. Guessed: ``loser``, ``dispreferred``, ``worse``, ``rejected``.
    left, right : str, optional
        The columns of the items in an arena log. Guessed: two names that differ by the words left and right, a and b,
        x and y, 1 and 2, first and second, one and two, home and away, white and black, or red and blue.
    tie : str, optional
        A column that says whether it was a tie: 1 or 0, true or false, yes or no. Guessed: ``tie``, ``draw``.
    weight : str, optional
        How much each row counts. Guessed: ``weight``, ``count``, ``multiplicity``, ``frequency``, ``votes``.
    judge : str, optional
        Who was asked. Guessed: ``judge``, ``worker``, ``annotator``, ``rater``, ``voter``, ``user``, ``reviewer`` and
        the like, with ``_id`` or without.
    magnitude : str, optional
        By how much the winner is better. Guessed: ``magnitude``, ``margin``.

        Pass an empty string for any of these columns if there is none, although a name would suggest one.

    Returns
    -------
    Preferences
        ``pairs, magnitude, weight, names, tie, judge, side, notes``.

    Raises
    ------
    FileFormatError
        At the first line that cannot be read; the message names the file and the line. An error about
        a name that is not among `items` lists similar names.
    MissingExtraError
        For tables without pyarrow.

    See Also
    --------
    write_pairs : write lines.
    kernelrank.Leaderboard : rank the items of such a file.

    Examples
    --------
    >>> import io
    >>> read_pairs(io.StringIO("0 2  # an opinion\n2, 1\n")).pairs
    array([[0, 2],
           [2, 1]])
    >>> chosen = read_pairs(io.StringIO("tea coffee 0.5\n"), items=["coffee", "tea", "water"])
    >>> chosen.pairs, chosen.magnitude, chosen.names
    (array([[1, 0]]), array([0.5]), array(['coffee', 'tea', 'water'], dtype=object))
    >>> log = read_pairs(io.StringIO("left,right,worker,winner\nGPT 4,Llama 2,ann,right\nLlama 2,Alpaca,bob,tie\n"))
    >>> log.names[log.pairs].tolist(), log.tie.tolist(), log.side.tolist(), log.judge.tolist()
    ([['Llama 2', 'GPT 4'], ['Llama 2', 'Alpaca']], [False, True], [-1, 1], ['ann', 'bob'])
    >>> print(*log.notes, sep="\n")
    the items are columns 'left' and 'right'; column 'winner' says the column of the winner
    the judges are column 'worker'
    """
    if format is not None and format not in FORMATS:
        raise InvalidInputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    request = VoteRequest(winner, loser, left, right, tie, weight, judge, magnitude)
    fixed = None if items is None else list(items)
    with readable(source) as opened:
        file = _from_its_beginning(opened)
        kinds = [format] if format else _likely_formats(file, request, ItemCodes(fixed))
        if request.named and kinds[0] in ("lines", "preflib"):
            role, name = next(iter(request.named.items()))
            raise InvalidInputError(f"{role} is {name!r}, but {source_name(file)} has no columns with names")
        failures: dict[str, Exception] = {}
        for kind in kinds:
            try:
                return _read_as(kind, file, request, ItemCodes(fixed))
            except (FileFormatError, MissingExtraError) as error:
                failures[kind] = error
        raise failures[max(kinds, key=lambda kind: (isinstance(failures[kind], FileFormatError), kind != "lines"))]


def _read_as(kind: str, source: Source, request: VoteRequest, items: ItemCodes) -> Preferences:
    if not isinstance(source, (str, os.PathLike)) and hasattr(source, "seek"):
        source.seek(0)
    if kind == "preflib":
        return read_preflib(source, items)
    if kind == "lines":
        return read_lines(source, items)
    return read_votes(open_votes(source, cast(FileFormat, kind)), request, items)


def _from_its_beginning(source: Source) -> Source:
    """Return what is left of an open file as one that can be read twice."""
    if isinstance(source, (str, os.PathLike)) or not hasattr(source, "read"):
        return source
    with contextlib.suppress(OSError, AttributeError):
        if source.seekable() and source.tell() == 0:
            return source
    rest = io.BytesIO(b"".join(block.text for block in read_blocks(source)))
    rest.name = source_name(source)
    return rest


def _likely_formats(source: Source, request: VoteRequest, items: ItemCodes) -> list[str]:
    """Distinguish lines, tables and PrefLib files by the suffix and the first line with content.

    A file that begins with the words that are a header of lines too may be either: what fails as the first of the two
    formats is read as the second.
    """
    suffix = None
    with contextlib.suppress(InvalidInputError):
        suffix = file_format(source, sniff=False)
    if suffix in ("parquet", "xlsx"):
        return [suffix]
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        return ["parquet"]
    start = first_bytes(source)
    if is_preflib(source, start):
        return ["preflib"]
    if start.startswith(b"PAR1"):
        return ["parquet"]
    if start.lstrip().startswith((b"{", b"[{")):
        message = (
            "a JSON file: expected CSV, TSV, Parquet, Excel, PrefLib, or lines of winner and loser; pandas.read_json "
            "and to_csv convert it"
        )
        raise FileFormatError(message, source_name(source))
    table = "tsv" if suffix == "tsv" else "csv"
    header = start.lstrip(b"\r\n").partition(b"\n")[0]
    names = _cells(header, table)
    if request.named:
        return [table]
    if len(names) < 2 or header.startswith(b"#"):
        return ["lines"]
    if VoteColumns.known_by(names) and not any(name in items.code_of for name in names):
        if [name.lower() for name in names] != list(COLUMNS[: len(names)]):
            return [table]
        has_comments = any(b"#" in block.text for block in read_blocks(source))
        return ["lines", table] if has_comments else [table, "lines"]
    return ["lines"] if looks_like_a_line(header) else [table]


def _cells(header: bytes, table: str) -> tuple[str, ...]:
    """Return the fields of a first line; one if it has no delimiter, or open quotes."""
    delimiter = max(DELIMITERS[table], key=lambda mark: header.count(mark.encode()))
    with contextlib.suppress(TextAfterQuoteError):
        for record in scan_records(header + b"\n", delimiter):
            return tuple(cell.decode(errors="replace") for cell in record.fields)
    return ("",)
