"""``--unscored FILE`` of ``fit`` and ``tune``: learners that use queries without scores during training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kernelrank.cli.shared import CHOSEN, UNSCORED, Answer, LearnerOptions, counted, joined, option, scaled
from kernelrank.cli.sources import SourceFile, speaking_of

if TYPE_CHECKING:
    from kernelrank.cli.tune import Plan
    from kernelrank.data import Items

UnscoredFile = Annotated[
    Path | None,
    option("Model")(
        "File of items without scores, in queries of their own and with the same columns: --method co_rank_rls and "
        "transductive learn from them too.",
        "--unscored",
    ),
]


def check_unscored(
    learner: LearnerOptions, settings: list[dict[str, Any]], others: Mapping[str, object]
) -> LearnerOptions:
    """Return the options of a learner that is given unscored items, with its kernel; or say what does not go with it.

    settings: The kernels that are tried. others: Options that need scores, and whether they were given.
    """
    from kernelrank.errors import InvalidInputError

    if learner.method not in UNSCORED:
        raise InvalidInputError(f"--unscored needs --method {' or '.join(UNSCORED)}; got {learner.method}")
    wrong = [flag for flag, given in others.items() if given]
    if wrong:
        raise InvalidInputError(f"--unscored cannot be used with {' and '.join(wrong)}")
    if len(settings) != 1 or settings[0]["kernel"] in CHOSEN:
        raise InvalidInputError("Expected one kernel, with one value of each parameter, with --unscored.")
    return replace(learner, kernel=settings[0]["kernel"], unscored=True)


def with_unscored(plan: Plan, path: Path, others: Mapping[str, object]) -> Plan:
    """Return a plan of ``tune`` that is given unscored items."""
    return replace(plan, learner=check_unscored(plan.learner, plan.settings, others), unscored=path)


@dataclass(frozen=True)
class PartlyScoredFiles:
    """Scored items and unscored ones: one table, NaN for scores that are not known, and queries as numbers."""

    items: Items
    X: Any
    y: Any
    qid: Any
    weight: Any
    scaler: Any
    facts: dict[str, Any]

    @classmethod
    def read(cls, source: SourceFile, path: Path, learner: LearnerOptions, answer: Answer) -> PartlyScoredFiles:
        """Read both files, the second with the columns of the first."""
        import numpy as np
        from scipy import sparse

        items = source.read(answer)
        other = replace(source.at(path), n_features=items.n_features, preparation=items.preparation)
        if items.feature_names is not None:
            names = tuple(str(name) for name in items.feature_names)
            other = replace(other, names=names, target="", positive=None, strict=items.preparation is None)
        unscored = other.read(answer, needs_target=False)
        stack = sparse.vstack if sparse.issparse(items.X) or sparse.issparse(unscored.X) else np.vstack
        X: Any = stack([items.X, unscored.X])
        codes = [_codes(part) for part in (items, unscored)]
        y = np.concatenate([np.asarray(items.y, dtype=np.float64), np.full(len(unscored), np.nan)])
        weight = None if items.weight is None else np.concatenate([items.weight, np.ones(len(unscored))])
        n_queries = int(codes[1].max()) + 1
        facts = {"file": str(path), "items": len(unscored), "queries": n_queries}
        qid = np.concatenate([codes[0], codes[0].max() + 1 + codes[1]])
        scaler = learner.scaler(X)
        return cls(items, scaled(scaler, X.tocsr() if sparse.issparse(X) else X), y, qid, weight, scaler, facts)

    def fit(self, ranker: Any, answer: Answer) -> Any:
        """Fit a learner to all of them, and tell how many there were."""
        with answer.noting_warnings(), speaking_of(self.items):
            ranker.fit(self.X, self.y, qid=self.qid, sample_weight=self.weight)
        answer.fact("unscored", self.facts)
        n_items, n_queries = (int(self.facts[name]) for name in ("items", "queries"))
        queries = counted(n_queries, "query", "queries")
        answer.note(f"{self.facts['file']}: {counted(n_items, 'item')} of {queries} took part without scores")
        return ranker


def _codes(items: Items) -> Any:
    import numpy as np

    if items.qid is None:
        return np.zeros(len(items), dtype=np.int64)
    return np.unique(items.qid, return_inverse=True)[1].astype(np.int64)


def fit_unscored(
    source: SourceFile, learner: LearnerOptions, alpha: float | None, path: Path, answer: Answer
) -> tuple[Any, Any, Items]:
    """Return the scaling, the fitted ranker and the scored items."""
    data = PartlyScoredFiles.read(source, path, learner, answer)
    return data.scaler, data.fit(learner.estimator(alpha), answer), data.items


def tune_unscored(
    answer: Answer, plan: Plan, source: SourceFile, path: Path
) -> tuple[str, list[dict[str, Any]], Items, Any]:
    """Choose alpha, and nu or anchor, by scored queries that are held out.

    Returns: How, the candidates with their scores, the scored items, and the model with its scaling.
    """
    import numpy as np

    from kernelrank import model_selection
    from kernelrank.errors import InvalidInputError

    learner, (setting,), cv = plan.learner, plan.settings, plan.cv
    data = PartlyScoredFiles.read(source, path, learner, answer)
    given: dict[str, Any] = {**learner.parameters(), **setting, "scoring": plan.measure}
    if learner.method == "transductive":
        if cv != "auto":
            raise InvalidInputError("--method transductive holds out every scored query: remove --cv")
        search: Any = model_selection.TransductiveRankRLSCV(plan.alphas, **given)
        how = "every scored query held out exactly"
    else:
        if cv in ("leave_pair_out", "leave_one_out"):
            raise InvalidInputError(f"--method co_rank_rls: expected --cv leave_query_out or a number; got {cv}")
        n_folds = min(5, len(np.unique(_codes(data.items)))) if cv == "auto" else cv
        search = model_selection.CoRankRLSCV(plan.alphas, cv=n_folds, **given)
        how = "every scored query held out" if isinstance(n_folds, str) else f"{n_folds} folds of scored queries"
    data.fit(search, answer).set_params(scoring=plan.measure_name)  # a model file holds names, not measures
    results = search.cv_results_
    scored = zip(results["params"], np.asarray(results["mean_test_score"]).tolist(), strict=True)
    return how, [{**setting, **one, "score": score} for one, score in scored], data.items, joined(data.scaler, search)
