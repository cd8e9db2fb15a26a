"""The rows of a table of measures: value, interval, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelrank.base.arrays import RandomStateLike
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Interval, Measure, MeasureResult, get_measure
from kernelrank.report.measured import MeasuredItems

__all__ = ["MeasuredValue", "measure_all"]


@dataclass(frozen=True, eq=False)
class MeasuredValue:
    """A measure with its value, or with the reason why it could not be computed.

    Parameters
    ----------
    measure : Measure
    result : MeasureResult or None
    interval : Interval or None
        None for one query, unless it is an AUC.
    problem : str
        Why it cannot be measured; empty if it can.
    """

    measure: Measure
    result: MeasureResult | None
    interval: Interval | None
    problem: str = ""

    @property
    def rules(self) -> str:
        """The conventions that the number depends on."""
        return ", ".join(self.measure.rules)


def measure_all(
    items: MeasuredItems, measures: Sequence[str | Measure], random_state: RandomStateLike
) -> list[MeasuredValue]:
    """Compute several measures; one that does not apply gives its reason instead of a value.

    Parameters
    ----------
    items : MeasuredItems
    measures : sequence of str or Measure
    random_state : int, Generator, RandomState or None
        Resamples queries for the intervals.

    Returns
    -------
    list of MeasuredValue
    """
    values = []
    # "AUC" and "auc" are the same measure.
    for measure in dict.fromkeys(get_measure(name) for name in measures):
        try:
            result = measure(items.y, items.scores, qid=items.qid)
        except InvalidInputError as error:
            values.append(MeasuredValue(measure, None, None, str(error)))
            continue
        interval = result.interval(random_state=random_state) if result.has_interval else None
        values.append(MeasuredValue(measure, result, interval))
    return values
