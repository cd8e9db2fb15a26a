"""Methods of a model that is not fitted: the error says so."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.model_selection import RankRLSCV
from kernelrank.votes import BradleyTerry, Leaderboard

X = np.eye(3)
VOTES = [[0, 1]]

SCORED = {"predict": (X,), "score": (X, [0, 1, 2]), "score_pairs": (X, VOTES)}
COMPARED = {**SCORED, "compare": (X, X), "covariance": (X,)}
RANKED = {
    "table": (),
    "plot": (),
    "compare": ("a", "b"),
    "probability": ("a", "b"),
    "probabilities": (["a"], ["b"]),
    "separable_groups": (),
    "next_pair": (),
    "votes_needed": (),
    "judges": (),
}
METHODS = {
    RankRLS: COMPARED,
    RankRLSCV: COMPARED,
    RankSVM: SCORED,
    BradleyTerry: {**COMPARED, "predict_proba": (X, VOTES)},
    Leaderboard: RANKED,
}


@pytest.mark.parametrize(
    ("kind", "method", "args"),
    [(kind, method, args) for kind, methods in METHODS.items() for method, args in methods.items()],
    ids=lambda value: getattr(value, "__name__", value if isinstance(value, str) else ""),
)
def test_methods_say_that_the_model_is_not_fitted(kind, method, args):
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted yet"):
        getattr(kind(), method)(*args)


def test_probabilities_name_the_method_that_fits_them():
    with pytest.raises(NotFittedError, match="Call fit_pairs before predict_proba"):
        BradleyTerry().predict_proba(X, VOTES)
    assert not hasattr(BradleyTerry(), "predict_proba")
    scored = BradleyTerry().fit(X, [0, 1, 2])
    with pytest.raises(AttributeError, match="predict_proba needs a model fitted to votes"):
        scored.predict_proba(X, VOTES)
    assert BradleyTerry.predict_proba.__doc__.startswith("Return the probabilities")
