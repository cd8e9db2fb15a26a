"""What CoRankRLS refuses, and how it says so."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import CoRankRLS
from kernelrank.features import View
from kernelrank.model_selection import CoRankRLSCV

X, y, qid = make_ranking(n_queries=6, n_items=5, n_features=3, random_state=0)
known = qid < 4
HALF = np.where(known, y, np.nan)


def refuse(pattern, *arguments, kind=InvalidInputError, learner=CoRankRLS, **options):
    model = learner(**options)
    X, y, *others = arguments
    names = ("qid", "X_unscored", "qid_unscored", "sample_weight")
    with pytest.raises(kind, match=pattern):
        model.fit(X, y, **dict(zip(names, others, strict=False)))
    assert not [name for name in vars(model) if name.endswith("_")]


def test_no_scored_query():
    refuse(
        "expected at least one scored query; y is NaN for every item",
        X,
        np.full(len(y), np.nan),
        qid,
        kind=NothingToCompareError,
    )
    nothing = np.where(known, 1.0, np.nan)
    refuse("nothing to compare: no query has two items with different scores", X, nothing, qid)


@pytest.mark.parametrize("learner", [CoRankRLS, CoRankRLSCV])
def test_no_unscored_query(learner):
    refuse("nu=.* needs unscored queries: pass X_unscored, set y to NaN", X, y, qid, learner=learner)


def test_unscored_queries_of_one_item():
    single = np.where(known, qid, np.arange(100, 100 + len(y)))
    refuse(r"no unscored query has two items to compare \(10 items", X, HALF, single, kind=NothingToCompareError)


def test_nan_inside_a_scored_query():
    broken = HALF.copy()
    broken[7] = np.nan
    refuse("y is NaN for item 7 of query 1, but not for the others of its query: score all items", X, broken, qid)
    refuse("y is NaN for item 20, but not for the others of its query", X, HALF)
    two = np.column_stack([HALF, HALF])
    two[3, 1] = np.nan
    refuse("y is NaN for item 3 of query 0", X, two, qid)


def test_unscored_in_two_ways():
    refuse("y is NaN for 10 items and X_unscored is given too", X, HALF, qid, X, qid)
    refuse("qid_unscored is given without X_unscored", X, y, qid, None, qid)


def test_basis_that_names_no_items():
    refuse("view 1: a basis has at least one item, got 0", X, HALF, qid, views=[View(), View(basis=0)])
    refuse("view 0: basis has the item 30", X, HALF, qid, views=[View(basis=[0, 30]), View()])
    refuse("view 0: basis names an item twice", X, HALF, qid, views=[View(basis=[0, 0]), View()])


def test_views_without_common_items():
    """The second view sees one value in each unscored query: there is nothing that it could agree on."""
    constant = np.column_stack([X, np.where(known, X[:, 0], qid)])
    views = [View(columns=[0, 1, 2]), View(columns=[3])]
    refuse("view 1 is constant within each unscored query", constant, HALF, qid, views=views)
    views = [View("linear", columns=[3]), View(columns=[0])]
    constant[~known, 3] = 0.0
    refuse("view 0 is constant within each unscored query", constant, HALF, qid, views=views)


BAD_VIEWS = {
    "expected at least two views; got 1": ["rbf"],
    "kernel 'gauss' is unknown": ["rbf", "gauss"],
    "view 1: Expected one column of a precomputed kernel for each of the 30 items": ["rbf", View("precomputed")],
    "a view has no parameter 'colums'": [{"colums": [0]}, {}],
    "a view is a View, a dict of its parameters or a kernel, got float": ["rbf", 0.5],
    "view 1: a view has the column 3, but the columns go from 0 to 2": ["rbf", View(columns=[3])],
    "view 0: a view has the column -1": [View(columns=[-1]), "rbf"],
    "a view names a column twice": [View(columns=[1, 1]), "rbf"],
    "must be numbers or names of columns": [View(columns=[]), "rbf"],
    "names of columns, but X has none": [View(columns=["a"]), "rbf"],
    "a basis is a number, 'all', or items, got 'every'": [View(basis="every"), "rbf"],
    "a basis is a number, 'all', or items, got 1.5": [View(basis=1.5), "rbf"],
    "view 1: X has 2 features, but CoRankRLS is expecting 3": ["rbf", View(basis=np.ones((4, 2)))],
}


@pytest.mark.parametrize("message", BAD_VIEWS)
def test_views_that_cannot_be_read(message):
    refuse(message, X, HALF, qid, views=BAD_VIEWS[message])


@pytest.mark.parametrize("options", [{"nu": -1.0}, {"alpha": 0.0}, {"views": 1}, {"basis": 0}, {"basis": "some"}])
def test_parameters(options):
    refuse(f"The '{next(iter(options))}' parameter of CoRankRLS must be", X, HALF, qid, kind=ValueError, **options)


def test_unscored_items_of_another_shape():
    refuse("X_unscored: X has 2 features, but CoRankRLS is expecting 3", X, y, qid, X[:, :2], qid)
    refuse("qid_unscored has 3 entries, but there are 30 items", X, y, qid, X, [1, 2, 3])


def test_grids():
    refuse("nus must be numbers that are at least zero", X, HALF, qid, learner=CoRankRLSCV, nus=[-1.0])
    refuse("alphas must be positive", X, HALF, qid, learner=CoRankRLSCV, alphas=[0.0])
    refuse(r"Expected cv between 2 and 4, the number of queries; got 5", X, HALF, qid, learner=CoRankRLSCV)
    one = np.where(qid == 0, y, np.nan)
    refuse("at least two queries", X, one, qid, learner=CoRankRLSCV, cv="leave_query_out")
