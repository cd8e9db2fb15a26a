"""The plan of ``kernelrank tune``: which learners are tried, how they are held out and measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelrank.cli.judgement import Judgement
from kernelrank.cli.learner import REFITTED, LearnerOptions
from kernelrank.cli.measuring import MeasureRules
from kernelrank.cli.scoring import scores_of
from kernelrank.cli.searches import Search, search_exactly, search_folds

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.metrics import Measure

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """Which candidates are tried, and how they are measured.

    Parameters
    ----------
    learner : LearnerOptions
    alphas : list of float, or "auto"
    settings : list of dict
        Kernels with their parameters.
    rules : MeasureRules
        The conventions of the measures.
    measures : list of Measure
        What is measured; the first one chooses.
    measure_name : str
        The first one as it was typed.
    cv : str or int
    by_query : bool
        Whether columns are scaled inside each query.
    """

    learner: LearnerOptions
    alphas: str | list[float]
    settings: list[dict[str, Any]]
    rules: MeasureRules
    measures: list[Measure]
    measure_name: str
    cv: str | int
    by_query: bool = False

    @property
    def measure(self) -> Measure:
        """The measure by which candidates are compared."""
        return self.measures[0]

    def scaled(self, items: Items) -> Items:
        """Return the items with their columns scaled inside queries, if requested."""
        from kernelrank.data.letor import scale_items_by_query

        return scale_items_by_query(items) if self.by_query else items

    def value(self, model: Any, items: Items, X: Any = None) -> float:
        """Measure a model on scored items, or on their columns as they are given."""
        from kernelrank.errors import FileFormatError, InvalidInputError

        scores = scores_of(model, items.X if X is None else X)
        judgement = Judgement(str(items.path), items.y, scores, items.qid, items.ids)
        try:
            return float(judgement.measure(self.measure, self.rules).mean)
        except InvalidInputError as error:
            raise FileFormatError(str(error), items.path) from error

    @property
    def sign(self) -> int:
        """The factor that makes higher values better: -1 for an error measure."""
        return 1 if self.measure.higher_is_better else -1

    def search(self, X: Any, items: Items) -> Search:
        """Choose by cross-validation on one file."""
        from kernelrank.errors import InvalidInputError

        if self.learner.method not in REFITTED:
            by_query = self.cv == "leave_query_out" or (self.cv == "auto" and items.qid is not None)
            if by_query and (items.n_queries or 0) < 2:
                raise InvalidInputError(
                    f"Expected at least two queries to hold out one at a time; got {items.n_queries or 'none'}. Name "
                    "the column of the queries by --query, or use --cv leave_pair_out."
                )
            squares = self.learner.method == "rls" and self.measure_name == "pairwise_accuracy"
            scoring = None if squares else self.measure
            found = search_exactly(self.learner, X, items, self.alphas, self.settings, cv=self.cv, scoring=scoring)
            if not squares:
                found.model.set_params(scoring=self.measure_name)  # a model file holds names, not measures
            return found
        folds = 5 if self.cv == "auto" else self.cv
        if not isinstance(folds, int):
            raise InvalidInputError(
                f"--cv {folds} is exact for rankrls and rls; for {self.learner.method} give a number of folds"
            )
        return search_folds(self.learner, X, items, self.alphas, self.settings, folds=folds, measure=self.measure)

    def nested(self, found: Search, X: Any, items: Items) -> Any:
        """Run nested cross-validation: return held-out scores, or for pairs the share in the right order."""
        from sklearn.base import clone

        from kernelrank.errors import InvalidInputError
        from kernelrank.model_selection import leave_one_out, leave_pair_out, leave_query_out

        search = clone(found.model)
        if not isinstance(search.cv, str):
            raise InvalidInputError("--nested holds out queries, pairs or items; groups are held out in folds")
        if items.qid is not None and search.cv in ("auto", "leave_query_out"):
            return leave_query_out(search, X, items.y, items.qid, sample_weight=items.weight)
        if search.cv == "leave_pair_out" or (search.cv == "auto" and search._without_queries == "leave_pair_out"):
            return float(leave_pair_out(search, X, items.y, differences=False, sample_weight=items.weight).accuracy)
        return leave_one_out(search, X, items.y, sample_weight=items.weight)
