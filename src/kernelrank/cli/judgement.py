"""What is measured: the scores of a model on a file, or a run against qrels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kernelrank.cli.measuring import MeasureRules
from kernelrank.cli.model_file import for_model, is_model_file, load_model, trained_on
from kernelrank.cli.scoring import scores_of
from kernelrank.cli.sources import SourceFile, speaking_of

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.data import Items
    from kernelrank.metrics import JudgedRun, Measure, MeasureResult

__all__ = ["Judgement", "judge", "measured"]

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Judgement:
    """Predicted scores with true scores, ready to be measured.

    Parameters
    ----------
    name : str
        What was judged.
    y, scores, qid, ids : arrays or None
        Of a model on a file; None for a run.
    run : JudgedRun or None
    """

    name: str
    y: Any = None
    scores: Any = None
    qid: Any = None
    ids: Any = None
    run: JudgedRun | None = None

    @classmethod
    def of_sets(cls, sets: Sequence[tuple[str, Items, Any]]) -> Judgement:
        """Combine test sets (name, items, predicted scores); queries of different sets stay different."""
        import numpy as np

        names = [name for name, _, _ in sets]
        if len(sets) == 1:
            _, items, scores = sets[0]
            return cls(names[0], items.y, scores, items.qid, items.ids)
        truth: list[Any] = [items.y for _, items, _ in sets]
        queries = [
            f"{name}: {query}"
            for name, items, _ in sets
            for query in (["all"] * len(items) if items.qid is None else items.qid.tolist())
        ]
        scores = np.concatenate([scores for _, _, scores in sets])
        ids = [items.ids for _, items, _ in sets]
        known = None if any(one is None for one in ids) else np.concatenate([one for one in ids if one is not None])
        return cls(", ".join(names), np.concatenate(truth), scores, np.array(queries), known)

    def measure(self, measure: Measure, rules: MeasureRules) -> MeasureResult:
        """Compute a measure; the rules decide the order of tied items."""
        if self.run is not None:
            return self.run.measure(measure, order=rules.order(self.run.ids))
        placed = self.placed(rules)
        return measure(placed.y, placed.scores, qid=placed.qid)

    def placed(self, rules: MeasureRules) -> Judgement:
        """Return the items of a model on a file in the order in which the rules place tied ones."""
        order = rules.order(self.ids)
        if order is None:
            return self
        columns = (None if column is None else column[order] for column in (self.y, self.scores, self.qid, self.ids))
        return Judgement(self.name, *columns)


def measured(
    answer: Answer, measures: Sequence[Measure], find: Callable[[Measure], Found], *, asked: bool
) -> list[tuple[Measure, Found]]:
    """Compute the measures; default measures that do not apply to the scores are left out, with a note.

    Parameters
    ----------
    answer : Answer
    measures : sequence of Measure
    find : callable
        Takes a measure and returns what it finds.
    asked : bool
        Whether these very measures were asked for, so that each must fit.

    Returns
    -------
    list of (measure, found)
        At least one.
    """
    from kernelrank.errors import InvalidInputError

    found, problems = [], []
    for measure in measures:
        try:
            found.append((measure, find(measure)))
        except InvalidInputError as error:
            if asked:
                raise
            problems.append(error)
    if not found:
        raise problems[0]
    for problem in problems:
        answer.note(f"left out: {problem}")
    return found


def judge(answer: Answer, judged: Path, truth: SourceFile) -> Judgement:
    """Pair predictions with true scores: those of a model (also of RankLib or SVM-rank) or of a TREC run."""
    from kernelrank.data.trec import is_linear_model_file, read_linear_model

    if str(judged) != "-" and is_model_file(judged):
        model = load_model(judged)
        items = for_model(truth, model).read(answer)
        if trained_on(model, truth.path):
            answer.note(f"{judged} was trained on {truth.path}: the measures are too optimistic for new items")
        with speaking_of(items):
            scores = scores_of(model, items.X)
        return Judgement(str(judged), items.y, scores, items.qid, items.ids)
    if str(judged) != "-" and is_linear_model_file(judged):
        linear, items = read_linear_model(judged), truth.read(answer)
        answer.note(f"{judged}: a model of {linear.program} ({linear.method}), with features by their numbers")
        return Judgement(str(judged), items.y, linear.scores(items.X, items.first_index), items.qid, items.ids)
    return _judge_run(answer, judged, truth.path)


def _judge_run(answer: Answer, path: Path, qrels_path: Path) -> Judgement:
    from kernelrank.cli.model_rows import counted
    from kernelrank.data import read_qrels, read_run
    from kernelrank.metrics import JudgedRun

    run, qrels = read_run(str(path)), read_qrels(str(qrels_path))
    judged = JudgedRun.of((run.qid, run.ids, run.scores), (qrels.qid, qrels.ids, qrels.grades))
    if judged.unjudged_queries:
        number = len(judged.unjudged_queries)
        answer.note(f"{path}: {counted(number, 'query', 'queries')} without a judgement left out")
    if judged.unanswered_queries:
        number = len(judged.unanswered_queries)
        answer.note(
            f"{path}: {counted(number, 'judged query', 'judged queries')} missing from the run: they count as empty "
            "rankings"
        )
    if judged.n_unjudged:
        answer.note(f"{path}: {counted(judged.n_unjudged, 'item')} without a judgement count as not relevant")
    return Judgement(str(path), run=judged)
