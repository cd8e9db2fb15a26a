"""Measures as the options describe them, and their results in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from kernelrank.cli.options import TIES_BY_NAME

if TYPE_CHECKING:
    from kernelrank.metrics import Measure, MeasureResult

__all__ = ["DEFAULT_MEASURES", "MeasureRules", "facts_of", "interval_lines", "row_of"]

DEFAULT_MEASURES = ("pairwise_accuracy", "ndcg@10", "map")


@dataclass(frozen=True)
class MeasureRules:
    """The conventions of measures given by options; None where an option is not given.

    Parameters
    ----------
    gain, discount, ties, empty, relevant_from, max_grade, threshold
        Options of the measures.
    trec : bool
        Whether to follow trec_eval where nothing else is said.
    """

    gain: str | None = None
    discount: str | None = None
    ties: str | None = None
    empty: str | None = None
    relevant_from: float | None = None
    max_grade: float | None = None
    threshold: float | None = None
    trec: bool = False

    def measures(self, names: Sequence[str] | None) -> list[Measure]:
        """Return the measures of these names, each with the rules that it has."""
        from kernelrank.errors import InvalidInputError
        from kernelrank.metrics import get_measure

        wanted = [get_measure(name) for name in names or DEFAULT_MEASURES]
        found = []
        used: set[str] = set()
        for measure in wanted:
            known = {field.name for field in fields(measure)}
            rules = {name: value for name, value in self._rules().items() if name in known}
            used |= rules.keys()
            found.append(get_measure(measure, **rules))
        for name in self._given().keys() - used:
            flag = {"ties": "tied"}.get(name, name.replace("_", "-"))
            raise InvalidInputError(f"--{flag} has no effect on the measures {', '.join(map(str, wanted))}")
        return found

    def _given(self) -> dict[str, Any]:
        names = [field.name for field in fields(self) if field.name != "trec"]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _rules(self) -> dict[str, Any]:
        trec = {"gain": "linear", "ties": "order", "empty": "zero"} if self.trec else {}
        return {**trec, **self._given()}

    @property
    def _by_name(self) -> bool:
        """Whether items with the same score are placed by their names."""
        return self.trec and self.ties is None

    def rules_of(self, measure: Measure) -> list[str]:
        """Return the rules of a measure in words, with trec_eval's rule for ties if items are ordered by name."""
        from kernelrank.metrics.lists import TIE_WORDS

        by_name = {TIE_WORDS["order"]: TIES_BY_NAME} if self._by_name else {}
        return [by_name.get(words, words) for words in measure.rules]

    def label_of(self, measure: Measure) -> str:
        """Return the name of a measure with its rules."""
        return f"{measure.name} ({', '.join(self.rules_of(measure))})"

    def order(self, ids: Any) -> Any:
        """Return the order in which items are given to the measures: by decreasing name for trec_eval, else None."""
        if not self._by_name:
            return None
        import numpy as np

        from kernelrank.errors import InvalidInputError

        if ids is None or any(str(name) == "" for name in ids):
            raise InvalidInputError("--trec orders ties by item name, and some items have no name: give --id")
        return np.argsort(np.array(list(map(str, ids)), dtype=object), kind="stable")[::-1]


def facts_of(
    result: MeasureResult,
    measure: Measure,
    *,
    confidence: float,
    seed: int,
    by_query: bool,
    rules: MeasureRules | None = None,
) -> dict[str, Any]:
    """Return a measured result as values for JSON."""
    interval = result.interval(confidence, random_state=seed) if result.has_interval else None
    facts: dict[str, Any] = {
        "measure": measure.name,
        "rules": (rules or MeasureRules()).rules_of(measure),
        "mean": result.mean,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "confidence": confidence,
        "interval": None if interval is None else interval.method,
        "queries": len(result),
        "left_out": result.n_left_out,
    }
    if by_query:
        facts["by_query"] = {
            **dict(zip(map(str, result.queries.tolist()), result.values.tolist(), strict=True)),
            **{str(query): None for query in result.left_out.tolist()},
        }
    return facts


def interval_lines(found: Sequence[dict[str, Any]]) -> list[str]:
    """Describe how the intervals of some results were computed."""
    kinds: dict[str, list[str]] = {}
    for facts in found:
        if facts["interval"] is not None:
            kinds.setdefault(facts["interval"], []).append(facts["measure"])
    lines = []
    for how, names in kinds.items():
        subject = "Intervals" if len(kinds) == 1 and len(found) == len(names) else f"Interval of {', '.join(names)}"
        lines.append(f"{subject}: {how}.")
    return lines


def row_of(facts: dict[str, Any]) -> list[str]:
    """Return a measured result as a row of the text table."""
    interval = "one query" if facts["low"] is None else f"{facts['low']:.4f} to {facts['high']:.4f}"
    return [facts["measure"], f"{facts['mean']:.4f}", interval, str(facts["queries"]), str(facts["left_out"])]
