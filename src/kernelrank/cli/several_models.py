"""Several models compared on the same queries: every two of them, with corrected p-values, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.base.text import pvalue
from kernelrank.cli.judgement import Judgement, measured
from kernelrank.cli.measuring import MeasureRules
from kernelrank.cli.model_file import command_line

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.metrics import Measure, MeasureResult
    from kernelrank.report.comparison import ComparedModels

__all__ = ["SeveralModels"]


@dataclass(frozen=True, eq=False)
class SeveralModels:
    """What several models reach by some measures, and how they differ.

    Parameters
    ----------
    compared : list of ComparedModels
        One for each measure.
    rules : list of list of str
        The conventions of the measures.
    n_items : int or None
        How many items were ranked; None for runs.
    resamples : int
    """

    compared: list[ComparedModels]
    rules: list[list[str]]
    n_items: int | None
    resamples: int

    @classmethod
    def of(
        cls,
        answer: Answer,
        judged: Sequence[Judgement],
        measures: Sequence[Measure],
        rules: MeasureRules,
        *,
        asked: bool,
        confidence: float,
        resamples: int,
        seed: int,
    ) -> SeveralModels:
        """Measure and compare; the arguments are those of the command."""
        from kernelrank.report.comparison import ComparedModels

        names = _short_names([judgement.name for judgement in judged])

        def find(measure: Measure) -> tuple[dict[str, MeasureResult], float | None]:
            results = [judgement.measure(measure, rules) for judgement in judged]
            return dict(zip(names, results, strict=True)), _chance(judged[0], measure)

        found = measured(answer, measures, find, asked=asked)
        values = [(measure.name, measure.higher_is_better, results, chance) for measure, (results, chance) in found]
        compared = ComparedModels.all_of(values, confidence=confidence, n_resamples=resamples, random_state=seed)
        n_items = None if judged[0].y is None else len(judged[0].y)
        return cls(compared, [rules.rules_of(measure) for measure, _ in found], n_items, resamples)

    def write(self, answer: Answer, path: Path, data: Path) -> None:
        """Write the page."""
        from kernelrank.base.progress import working
        from kernelrank.report.comparison import comparison_page

        with working("drawing the page"):
            title = f"{len(self.compared[0].results)} models on {data.name}"
            page = comparison_page(
                self.compared, n_items=self.n_items, title=title, command=command_line(), notes=answer.notes
            )
            page.save(path)
        answer.fact("report", str(path))
        answer.line(f"The report is in {path}.")

    def tell(self, answer: Answer, data: Path) -> None:
        """Add the means of all models, and the differences of every two, to the answer."""
        answer.fact("data", str(data))
        answer.fact("models", [self._facts(number) for number in range(len(self.compared))])
        for one in self.compared:
            percent = f"{100 * one.confidence:.4g}%"
            rows = [
                [row.name, f"{row.value:.4f}", f"[{row.interval.low:.4f}, {row.interval.high:.4f}]"]
                for row in one.values.rows
            ]
            if one.chance is not None:
                rows.append(["random order", f"{one.chance:.4f}", ""])
            answer.table(f"{one.name} on {data}", ("model", "value", f"{percent} interval"), rows)
            answer.table(
                f"Differences of {one.name}",
                ("first - second", "difference", f"{percent} interval", "p", "corrected", "wins"),
                [
                    [
                        f"{pair.first} - {pair.second}",
                        f"{pair.test.difference:+.4f}",
                        f"[{pair.test.interval.low:+.4f}, {pair.test.interval.high:+.4f}]",
                        pvalue(pair.test.pvalue),
                        pvalue(pair.corrected),
                        f"{pair.test.n_first_better}:{pair.test.n_second_better}",
                    ]
                    for pair in one.pairs
                ],
            )
        n_tests = sum(len(one.pairs) for one in self.compared)
        answer.line(f"p: by sign flips, two-sided; corrected: for all {n_tests} tests (Holm's method).", style="dim")
        answer.line("wins: how many queries first and second rank better.", style="dim")

    def _facts(self, number: int) -> dict[str, Any]:
        one = self.compared[number]
        return {
            "measure": one.name,
            "rules": self.rules[number],
            "values": [
                {"model": row.name, "value": row.value, "low": row.interval.low, "high": row.interval.high}
                for row in one.values.rows
            ],
            "random_order": one.chance,
            "differences": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "difference": pair.test.difference,
                    "low": pair.test.interval.low,
                    "high": pair.test.interval.high,
                    "pvalue": pair.test.pvalue,
                    "corrected_pvalue": pair.corrected,
                    "n_queries": pair.test.n_queries,
                    "n_first_better": pair.test.n_first_better,
                    "n_second_better": pair.test.n_second_better,
                }
                for pair in one.pairs
            ],
        }


def _chance(judgement: Judgement, measure: Measure) -> float | None:
    """Return the expected value of a random order; None for a run, whose items were chosen."""
    from kernelrank.report.measured import random_order

    return None if judgement.y is None else random_order(measure, judgement.y, judgement.qid)


def _short_names(names: Sequence[str]) -> list[str]:
    """Name models by their files without the folder where that tells them apart; equal paths are numbered.

    Examples
    --------
    >>> _short_names(["a/linear.kr", "a/rbf.kr"]), _short_names(["a.kr", "a.kr"])
    (['linear.kr', 'rbf.kr'], ['a.kr', 'a.kr (2)'])
    """
    short = [Path(name).name for name in names]
    chosen = short if len(set(short)) == len(short) else list(names)
    seen: dict[str, int] = {}
    found = []
    for name in chosen:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
