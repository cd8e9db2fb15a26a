"""Items of ranking files: SVMlight and LETOR, with ids where the comments hold some."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.item_rows import repeated
from kernelrank.data.items import Items
from kernelrank.data.layout import Layout
from kernelrank.data.line import shown
from kernelrank.data.ranking import Ranking, chunks_with_lines, read_with_lines
from kernelrank.data.source import Source, read_blocks, source_name
from kernelrank.errors import FileFormatError

__all__ = ["ranking_item_chunks", "ranking_items"]

NAMED = re.compile(rb"#[\0- ]*docid[\0- ]*=")


def ranking_items(source: Source, n_features: int | None) -> Items:
    """Read the items of a ranking file; see `read_ranking` for time and memory."""
    layout = Layout(source_name(source), n_features, "auto", np.float64, "auto")
    ranking, lines = read_with_lines(source, layout)
    return _items(ranking, lines, source, layout)


def ranking_item_chunks(
    source: Source, n_features: int | None, chunk_rows: int, whole_queries: bool
) -> Iterator[Items]:
    """Read the items of a ranking file in chunks; see `read_ranking_chunks` for time and memory."""
    layout = Layout(source_name(source), n_features, "auto", np.float64, "auto")
    for ranking, lines in chunks_with_lines(source, layout, chunk_rows, whole_queries, False):
        yield _items(ranking, lines, source, layout)


def _items(ranking: Ranking, lines: NDArray[np.int64], source: Source, layout: Layout) -> Items:
    ids, notes = _find_ids(ranking, lines, source)
    name, first = source_name(source), layout.first_index
    return Items(ranking.X, ranking.y, ranking.qid, ids, None, None, None, name, notes, first_index=first)


def _find_ids(
    ranking: Ranking, lines: NDArray[np.int64], source: Source
) -> tuple[NDArray[np.object_] | None, tuple[str, ...]]:
    """Return the ids, if the comments hold one for each row; comments that say ``docid =`` must."""
    named = ranking.docid != ""
    if not named.any():
        return None, ()
    if not named.all():
        line = int(lines[np.argmin(named)])
        return None, (f"the ids were left out: line {line} has none",)
    pair = repeated(ranking.docid, ranking.qid)
    if pair is None:
        return ranking.docid, ()
    first, second = (int(lines[row]) for row in pair)
    docid = shown(ranking.docid[pair[1]])
    if not NAMED.search(_line(source, second)):
        return None, (f"the ids were left out: the comments of lines {first} and {second} both begin with {docid}",)
    query = "" if ranking.qid is None else f" in query {shown(ranking.qid[pair[1]])}"
    message = f"the docid {docid} occurs twice{query}, first in line {first}: expected one item for each docid"
    raise FileFormatError(message, source_name(source), second)


def _line(source: Source, number: int) -> bytes:
    """Read a line again."""
    if hasattr(source, "seek"):
        source.seek(0)
    for block in read_blocks(source):
        if number < block.first_line + block.text.count(b"\n"):
            return block.line(number)
    return b""
