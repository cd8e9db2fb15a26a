"""Several models measured on the same queries: their values, and how every two of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import MeasureResult, PairedTest, paired_test
from kernelrank.report.forest_rows import Forest

__all__ = ["ComparedModels", "ComparedPair", "holm"]

MOST_MODELS = 12
"""Beyond this many models a table of all pairs would not be read: 66 rows are enough."""


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct the p-values of several tests by Holm's step-down method.

    The chance that any true null hypothesis has a corrected p-value of at most x is at most x, however the tests depend
    on each other.

    Parameters
    ----------
    pvalues : sequence of float

    Returns
    -------
    list of float
        In the order of the p-values; none is above one.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in corrected]


@dataclass(frozen=True)
class ComparedPair:
    """Two models by one measure.

    Parameters
    ----------
    first, second : str
    test : PairedTest
    corrected : float
        The p-value, corrected for all tests of the comparison.
    """

    first: str
    second: str
    test: PairedTest
    corrected: float

    @property
    def n_equal(self) -> int:
        """The number of queries that both rank equally well."""
        return self.test.n_queries - self.test.n_first_better - self.test.n_second_better


@dataclass(frozen=True, eq=False)
class ComparedModels:
    """Several models by one measure, best first, with all pairs of them.

    Parameters
    ----------
    name, rules : str
        The measure and its conventions.
    results : list of (str, MeasureResult)
        The models in descending order of quality.
    chance : float or None
        The expected value of a random order; None where it is not known.
    values, differences : Forest
    pairs : list of ComparedPair
        The better of two models first, by their means.
    confidence : float
    interval_method : str
        What the intervals of the values are.
    """

    name: str
    rules: str
    results: list[tuple[str, MeasureResult]]
    chance: float | None
    values: Forest
    differences: Forest
    pairs: list[ComparedPair]
    confidence: float
    interval_method: str

    @property
    def n_queries(self) -> int:
        """The number of queries that were measured."""
        return len(self.results[0][1])

    @classmethod
    def all_of(
        cls,
        measured: Sequence[tuple[str, bool, Mapping[str, MeasureResult], float | None]],
        *,
        confidence: float = 0.95,
        n_resamples: int = 10_000,
        random_state: int | None = 0,
    ) -> list[ComparedModels]:
        """Compare models by several measures; p-values are corrected for all of the tests together.

        Parameters
        ----------
        measured : sequence of (str, bool, mapping of str to MeasureResult, float or None)
            For each measure its name, whether higher is better, what was measured of each model, and the value of a
            random order.
        confidence, n_resamples, random_state
            As in `kernelrank.metrics.paired_test`.

        Returns
        -------
        list of ComparedModels
        """
        tests, ordered = [], []
        for name, rising, results, chance in measured:
            if not 2 <= len(results) <= MOST_MODELS:
                raise InvalidInputError(f"Expected 2 to {MOST_MODELS} models to compare; got {len(results)}.")
            best_first = sorted(results.items(), key=lambda one: one[1].mean, reverse=rising)
            ordered.append((name, best_first, chance))
            options = {"confidence": confidence, "n_resamples": n_resamples, "random_state": random_state}
            tests.append([paired_test(one, two, **options) for (_, one), (_, two) in combinations(best_first, 2)])  # type: ignore[arg-type]
        corrected = iter(holm([test.pvalue for some in tests for test in some]))
        found = []
        for (name, results_of, chance), some in zip(ordered, tests, strict=True):
            names = list(combinations([model for model, _ in results_of], 2))
            pairs = [ComparedPair(*two, test, next(corrected)) for two, test in zip(names, some, strict=True)]
            intervals = [result.interval(confidence, random_state=random_state) for _, result in results_of]
            rows = [
                (model, result.mean, interval) for (model, result), interval in zip(results_of, intervals, strict=True)
            ]
            label = results_of[0][1].label
            found.append(
                cls(
                    name,
                    label.partition(" (")[2].rstrip(")"),
                    results_of,
                    chance,
                    Forest.of_values(rows, chance),
                    Forest.of_differences(
                        [(f"{one.first} − {one.second}", one.test.difference, one.test.interval) for one in pairs]
                    ),
                    pairs,
                    confidence,
                    intervals[0].method,
                )
            )
        return found
