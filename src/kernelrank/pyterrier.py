"""kernelrank in PyTerrier pipelines: a learner and a fitted ranker as transformers.

Documents come with a column ``features``, as PyTerrier's feature pipelines (``**``) make it, and leave with new scores
and ranks. No validation set is needed: `RankRLSCV` chooses alpha by exact leave-query-out from the training queries.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.model_selection import RankRLSCV
from kernelrank.report import explain
from kernelrank.report.explanations import scores_of

pyterrier: Any = None  # the classes below say so when they are made
Transformer: Any = object
Estimator: Any = object
with suppress(ImportError):
    pyterrier = import_module("pyterrier")
    Transformer, Estimator = pyterrier.Transformer, pyterrier.Estimator

if TYPE_CHECKING:
    from pandas import DataFrame

    from kernelrank.base.arrays import Float

Unjudged: TypeAlias = Literal["zero", "missing"]


class FittedRanker(Transformer):
    """Rank documents with a fitted model.

    Parameters
    ----------
    model : estimator
        A fitted ranker of kernelrank or a pipeline of scikit-learn, such as what `kernelrank.load` returns.
    explanations : int, default=0
        How many contributions of features (or of training items) to write into a column ``explanation``: why a document
        ranks above the next one of its query. 0 writes no column.
    feature_names : sequence of str, optional
        What the features are called there.

    Notes
    -----
    O(t n) time for t documents and a linear model; explanations call `kernelrank.report.explain` for each document.
    """

    def __init__(self, model: Any, *, explanations: int = 0, feature_names: Any = None) -> None:
        _require_pyterrier()
        super().__init__()
        self.model = model
        self.explanations = explanations
        self.feature_names = feature_names

    def transform(self, inp: DataFrame) -> DataFrame:
        """Return the documents with new scores and ranks, the best of each query first.

        Parameters
        ----------
        inp : DataFrame
            With the columns ``qid``, ``docno`` and ``features``.

        Returns
        -------
        DataFrame
        """
        pyterrier.validate.columns(inp, includes=["qid", "docno", "features"])
        found = inp.drop(columns=["score", "rank"], errors="ignore")
        if len(inp) == 0:
            return pyterrier.model.add_ranks(found.assign(score=np.empty(0)))
        X = _features(inp)
        scores = scores_of(self.model, X)
        if scores.ndim != 1:
            raise InvalidInputError(f"Expected a model of one output; got {scores.shape[1]}.")
        ranked = pyterrier.model.add_ranks(found.assign(score=scores, explanation=np.arange(len(inp))))
        ranked = ranked.sort_values(["qid", "rank"], kind="stable").reset_index(drop=True)
        places = ranked.pop("explanation").to_numpy()
        return ranked if self.explanations < 1 else ranked.assign(explanation=self._explained(ranked, X[places]))

    def _explained(self, ranked: DataFrame, X: Float) -> list[str]:
        """Explain why each document ranks above the next one of its query; empty for the last."""
        qid = ranked["qid"].to_numpy()
        return [
            str(explain(self.model, X[[row, row + 1]], feature_names=self.feature_names, k=self.explanations))
            if row + 1 < len(X) and qid[row] == qid[row + 1]
            else ""
            for row in range(len(X))
        ]


class RankLearner(Estimator):
    """Learn to rank documents at the end of a pipeline.

    Parameters
    ----------
    estimator : estimator, optional
        What is fitted, as ``fit(X, y, qid=qid)``; `RankRLSCV` unless given. It is cloned first.
    unjudged : {"zero", "missing"}, default="zero"
        What a document without a judgement is in training: not relevant, or not there.
    explanations, feature_names
        See `FittedRanker`.

    Attributes
    ----------
    model_ : estimator
        What was fitted.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        unjudged: Unjudged = "zero",
        explanations: int = 0,
        feature_names: Any = None,
    ) -> None:
        _require_pyterrier()
        super().__init__()
        if unjudged not in ("zero", "missing"):
            raise InvalidInputError(f"Expected unjudged 'zero' or 'missing'; got {unjudged!r}.")
        self.estimator = RankRLSCV() if estimator is None else estimator
        self.unjudged = unjudged
        self.explanations = explanations
        self.feature_names = feature_names

    def fit(
        self,
        topics_or_res_tr: DataFrame,
        qrels_tr: DataFrame,
        topics_or_res_va: DataFrame | None = None,  # noqa: ARG002
        qrels_va: DataFrame | None = None,  # noqa: ARG002
    ) -> RankLearner:
        """Fit the estimator to documents and their judgements.

        Parameters
        ----------
        topics_or_res_tr : DataFrame
            Documents of training queries, with the columns ``qid``, ``docno`` and ``features``.
        qrels_tr : DataFrame
            Judgements: ``qid``, ``docno`` and ``label``.
        topics_or_res_va, qrels_va : DataFrame, optional
            Not used, present for API consistency by convention.

        Returns
        -------
        self
        """
        pyterrier.validate.columns(topics_or_res_tr, includes=["qid", "docno", "features"])
        judged = qrels_tr[["qid", "docno", "label"]].astype({"qid": str, "docno": str})
        documents = topics_or_res_tr.assign(
            qid=topics_or_res_tr["qid"].astype(str), docno=topics_or_res_tr["docno"].astype(str)
        ).drop(columns="label", errors="ignore")
        documents = documents.merge(judged, how="left", on=["qid", "docno"])
        if not documents["label"].notna().any():
            raise InvalidInputError("Expected qrels for some of the documents; none of their docnos occurs in qrels.")
        if self.unjudged == "missing":
            documents = documents[documents["label"].notna()]
        y = documents["label"].fillna(0).to_numpy(dtype=np.float64)
        self.model_ = clone(self.estimator).fit(_features(documents), y, qid=documents["qid"].to_numpy(dtype=object))
        return self

    def transform(self, inp: DataFrame) -> DataFrame:
        """Rank documents; see `FittedRanker.transform`."""
        if not hasattr(self, "model_"):
            raise InvalidInputError("Expected a fitted pipeline; call its fit with training topics and qrels first.")
        ranker = FittedRanker(self.model_, explanations=self.explanations, feature_names=self.feature_names)
        return ranker.transform(inp)


def _require_pyterrier() -> None:
    if pyterrier is None:
        raise MissingExtraError("pyterrier", "pyterrier")


def _features(documents: DataFrame) -> Float:
    """Return the column ``features`` as a matrix, shape (t, n)."""
    rows = [np.asarray(row, dtype=np.float64).ravel() for row in documents["features"]]
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1:
        raise InvalidInputError(
            f"Expected equally many features for every document; got {', '.join(map(str, widths))}."
        )
    return np.vstack(rows)
