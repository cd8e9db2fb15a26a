"""The tables of ``kernelrank relations``: ranked pairs, and measures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank.metrics import Interval
    from kernelrank.relations.corpus import RankedCandidate
    from kernelrank.relations.scores import ExtractionScores

__all__ = ["COLUMNS", "as_csv", "as_json_lines", "interval_row", "pair_row", "score_facts", "score_row"]

MEASURES = ("precision", "recall", "f", "auc")
COLUMNS = ("rank", "score", "interacts", "first", "second", "document", "sentence", "pair", "text")


def pair_row(rank: int, ranked: RankedCandidate) -> dict[str, Any]:
    """Return a ranked pair by the names of the columns."""
    candidate = ranked.candidate
    first, second = candidate.names
    where = candidate.sentence
    values = (rank, ranked.score, ranked.interacts, first, second, where.document, where.id, candidate.id, where.text)
    return dict(zip(COLUMNS, values, strict=True))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as CSV with a heading."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "score": repr(row["score"])} for row in rows)
    return text.getvalue()


def as_json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a JSON list, one row on each line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n" if rows else "[]\n"


def score_row(name: str, scores: ExtractionScores) -> tuple[str, ...]:
    """Return the four measures in hundredths."""
    values = [getattr(scores, measure) for measure in MEASURES]
    return (name, *("–" if value != value else f"{100 * value:.1f}" for value in values))


def interval_row(intervals: Mapping[str, Interval]) -> tuple[str, ...]:
    """Return the intervals of the four measures, in a row of their own: beside them they would not fit 80 columns."""
    shown = (f"[{100 * low:.1f}, {100 * high:.1f}]" for low, high in (intervals[name] for name in MEASURES))
    return (f"    {100 * intervals['f'].level:g} % interval", *shown)


def score_facts(scores: ExtractionScores, intervals: Mapping[str, Interval] | None = None) -> dict[str, Any]:
    """Return the four measures for programs."""
    facts: dict[str, Any] = {name: getattr(scores, name) for name in MEASURES}
    if intervals is not None:
        facts["intervals"] = {name: [found.low, found.high] for name, found in intervals.items()}
    return facts
