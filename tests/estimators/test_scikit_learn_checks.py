"""scikit-learn's own checks, on every estimator with its defaults and on variations that take other paths."""

from __future__ import annotations

import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RLSClassifier

DRAWN = "an integer basis is drawn from other items when items are repeated"
DRAWN_BASIS = {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in ("dense", "sparse")}
THREE_GAUSSIANS = {"check_regressors_train": "three Gaussian bumps cannot explain half of the variance of ten features"}
NOT_A_KERNEL = {
    "check_estimators_dtypes": "the check truncates the kernel to integers; it becomes indefinite and is refused",
    "check_positive_only_tag_during_fit": "the check takes the mean away; the kernel becomes indefinite and is refused",
    "check_classifiers_one_label_sample_weights": "the check passes a random matrix, which is no kernel and is refused",
}

ESTIMATORS = [
    RLS(),
    RLSClassifier(),
    RLS(kernel="rbf"),
    RLSClassifier(kernel="gaussian", gamma=0.5),
    RLSClassifier(solver="conjugate_gradient", warm_start=True),
    RLSClassifier(basis=5, random_state=0),
    RLSClassifier(kernel="precomputed"),
    RLS(solver="conjugate_gradient"),
    RLS(1e3, solver="spectral", kernel="poly", degree=2),  # items of a hundred have kernels of 10⁸
    RLS(kernel="rbf", basis=3, random_state=0),
    RLS(missing="ignore"),
    RLS(kernel="precomputed"),
    RankRLS(),
    RankRLS(kernel="rbf"),
    RankRLS(kernel=ConstantKernel(2.0) * RBF(1.5)),
    RankRLS(cost="unit"),
    RankRLS(cost="relative"),
    RankRLS(ties="exclude", query_weight="items"),
    RankRLS(solver="conjugate_gradient"),
    RankRLS(solver="conjugate_gradient", kernel="rbf", warm_start=True),
    RankRLS(solver="spectral", query_weight="queries"),
    RankRLS(basis=3, random_state=0),
    RankRLS(missing="ignore"),
    RankRLS(kernel="precomputed"),
]


def expected_failures(estimator: RLS | RLSClassifier | RankRLS) -> dict[str, str]:
    expected = {}
    if estimator.basis is not None:
        expected |= DRAWN_BASIS
        expected |= THREE_GAUSSIANS if estimator.kernel == "rbf" else {}
    if estimator.kernel == "precomputed":
        expected |= NOT_A_KERNEL
    return expected


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    options = getattr(check, "keywords", {})
    if estimator.kernel == "precomputed" and options.get("X_dtype") == "float32":
        # The check passes a kernel of 24 bits off as one of 53, for which it is indefinite.
        with pytest.raises(InvalidInputError, match="indefinite"):
            check(estimator)
    else:
        check(estimator)
