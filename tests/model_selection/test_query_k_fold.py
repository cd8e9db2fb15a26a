"""Folds that never split a query, whatever the queries are called."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import QueryKFold

X, y, qid = make_ranking(n_queries=11, n_items=(1, 6), shuffle=True, random_state=3)

LABELS = {
    "integers": qid,
    "strings": np.array([f"q{q}" for q in qid]),
    "tuples": [("q", int(q)) for q in qid],
    "mixed": [int(q) if q % 2 else f"q{q}" for q in qid],
    "list": qid.tolist(),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_no_query_is_split_and_every_item_is_held_out_once(labels):
    seen = []
    for train, test in QueryKFold(4).split(X, y, groups=labels):
        assert set(qid[train]).isdisjoint(qid[test])
        assert len(train) + len(test) == len(X)
        seen.extend(test)
    assert sorted(seen) == list(range(len(X)))


def test_as_group_k_fold():
    for own, theirs in zip(
        QueryKFold(3).split(X, y, groups=qid),
        # Queries are numbered by their first item, so that the same queries get the same folds.
        GroupKFold(3).split(X, y, groups=np.unique(qid, return_index=True)[1][qid]),
        strict=True,
    ):
        assert sorted(own[1]) == sorted(theirs[1])


def test_names_of_the_queries_do_not_matter():
    folds = [[test.tolist() for _, test in QueryKFold(3).split(X, y, groups=labels)] for labels in LABELS.values()]
    assert all(fold == folds[0] for fold in folds)


def test_shuffled_folds_follow_the_seed():
    def folds(seed):
        return [t.tolist() for _, t in QueryKFold(3, shuffle=True, random_state=seed).split(X, y, groups=qid)]

    assert folds(0) == folds(0)
    assert folds(0) != folds(1)


def test_sparse_items_and_lists():
    from scipy import sparse

    assert len(list(QueryKFold(3).split(sparse.csr_array(X), y, groups=qid))) == 3
    assert len(list(QueryKFold(3).split(X.tolist(), y, groups=qid))) == 3


def test_qid_is_routed_without_asking():
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(RankRLS(), X, y, cv=QueryKFold(3), params={"qid": qid})
    assert scores.shape == (3,)


def test_shown_and_counted():
    splitter = QueryKFold(4, shuffle=True, random_state=1)
    assert repr(splitter) == "QueryKFold(n_splits=4, random_state=1, shuffle=True)"
    assert splitter.get_n_splits(X, y, qid) == 4
    assert clone(splitter, safe=False).n_splits == 4


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "pass groups=qid to split, or qid=... to a search with metadata routing on"),
        (qid[:-1], "qid has"),
        ([None, *qid[1:]], "qid is missing for item 0"),
    ],
)
def test_bad_queries(groups, message):
    with pytest.raises(InvalidInputError, match=message):
        list(QueryKFold(3).split(X, y, groups=groups))


def test_more_folds_than_queries():
    with pytest.raises(ValueError, match="greater than the number of groups"):
        list(QueryKFold(12).split(X, y, groups=qid))
