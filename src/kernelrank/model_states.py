"""The states of the models that can be saved: one row for each class of `kernelrank.persistence.REGISTRY`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from kernelrank.arrays import Float, Matrix
from kernelrank.fitted_state import (
    Array,
    FittedState,
    Flag,
    Items,
    KernelValue,
    Kind,
    ListOf,
    Nested,
    NoneOr,
    Number,
    Record,
    Text,
    WholeNumber,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["STATES"]

LARGEST_KERNEL = 8
"""How many items a kernel is tried on."""


class Kernel(Protocol):
    """What `kernelrank.kernels.Kernel` can do, which this module must not import."""

    def matrix(self, X: Matrix, Y: Matrix) -> Float:
        """Return the kernel of items."""
        ...


def _gives_finite_numbers(kernel: Kernel, items: Matrix) -> bool:
    """Whether a kernel gives finite numbers for some of the items that it will be asked for."""
    some = items[:LARGEST_KERNEL]
    return bool(np.isfinite(kernel.matrix(some, some)).all())


def _kernel_works(model: BaseEstimator) -> bool:
    return getattr(model, "X_fit_", None) is None or _gives_finite_numbers(model.kernel_, model.X_fit_)


def _items_unless_precomputed(model: BaseEstimator) -> bool:
    return not hasattr(model, "dual_coef_") or (model.X_fit_ is None) == model.kernel_.precomputed


def _precomputed_columns(model: BaseEstimator) -> bool:
    """Whether the columns of a precomputed kernel are those that the coefficients are for."""
    if not model.kernel_.precomputed or not hasattr(model, "dual_coef_"):
        return True
    if hasattr(model, "basis_"):
        return bool(np.all(model.basis_ < model.n_features_in_))
    return bool(len(model.dual_coef_) == model.n_features_in_)


def _outputs(model: BaseEstimator) -> int:
    if hasattr(model, "coef_"):
        return 1 if model.coef_.ndim == 1 else len(model.coef_)
    return 1 if model.dual_coef_.ndim == 1 else model.dual_coef_.shape[1]


def _outputs_for_classes(model: BaseEstimator) -> bool:
    from sklearn.base import is_classifier

    if not is_classifier(model):
        return True
    n_classes = len(model.classes_)
    return n_classes >= 2 and _outputs(model) == (1 if n_classes == 2 else n_classes)


def _view_kernels_work(model: BaseEstimator) -> bool:
    views = zip(model.kernels_, model.X_fit_, strict=True)
    return all(
        (items is None) == kernel.precomputed and (items is None or _gives_finite_numbers(kernel, items))
        for kernel, items in views
    )


def _dyad_kernels_work(model: BaseEstimator) -> bool:
    sides = [(model.kernel_rows_, getattr(model, "X_rows_fit_", None))]
    sides.append((model.kernel_columns_, getattr(model, "X_columns_fit_", None)))
    return all(items is None or _gives_finite_numbers(kernel, items) for kernel, items in sides)


def _dyad_items_unless_precomputed(model: BaseEstimator) -> bool:
    """Whether the objects of each side are kept where they are needed: with one set, those of the rows."""
    if hasattr(model, "coef_"):
        return bool(model.kernel_rows_.linear and model.kernel_columns_.linear)
    kept = model.X_columns_fit_ is None
    columns = kept if model.relation is not None else kept == model.kernel_columns_.precomputed
    return bool((model.X_rows_fit_ is None) == model.kernel_rows_.precomputed and columns)


def _dyad_precomputed_columns(model: BaseEstimator) -> bool:
    """Whether the columns of precomputed kernels are those that the coefficients are for."""
    if hasattr(model, "coef_"):
        return True
    rows, columns = model.dual_coef_.shape[:2]
    return bool(
        (not model.kernel_rows_.precomputed or rows == model.n_features_rows_in_)
        and (not model.kernel_columns_.precomputed or columns == model.n_features_columns_in_)
        and (model.relation is None or rows == columns)
    )


def _rising_bounds(model: BaseEstimator) -> bool:
    bounds = model.first_bounds_
    return bounds[0] == 0 and bounds[-1] == model.n_pairs_ and bool(np.all(np.diff(bounds) >= 0))


def _pairs_and_outcomes(model: BaseEstimator) -> bool:
    return model.pairs_.shape[1] == 2 and len(model.counts_) == 3 and len(model.items_) >= 2 and len(model.pairs_) >= 1


def _coefficients_of_features_and_items(model: BaseEstimator) -> bool:
    n_features = 0 if model.X_fit_ is None else model.X_fit_.shape[1]
    return bool(len(model.coef_) == n_features + len(model.items_))


def _precisions_are_positive(model: BaseEstimator) -> bool:
    counts = [model.counts_] if model.judge_counts_ is None else [model.counts_, model.judge_counts_]
    return bool(
        model.noise_ > 0
        and np.all(model.prior_ > 0)
        and np.all(model.curvature_ >= 0)
        and all(np.all(count >= 0) for count in counts)
        and np.any(model.counts_ > 0)
    )


def _judges_have_votes(model: BaseEstimator) -> bool:
    parts = (model.judges_, model.judge_pairs_, model.judge_counts_, model.judge_numbers_)
    return len({part is None for part in parts}) == 1


def _features_and_vectorizer_agree(model: BaseEstimator) -> bool:
    """Whether the features of an extractor are known, its scheme is one, and its vectoriser is made for them."""
    names = getattr(model.vectorizer_, "names", ())
    wanted = () if model.features_ == "article" else model.features_.split("+")
    return model._graphs([]) == [] and (model.features_ == "parts" or sorted(names) == sorted(wanted))


def _steps_fit_together(model: BaseEstimator) -> bool:
    """Whether each step of a pipeline takes as many columns as the one before returns."""
    given: int | None = None
    for name, step in model.steps:
        if not isinstance(name, str) or not hasattr(step, "get_params"):
            return False
        if given is not None and getattr(step, "n_features_in_", given) != given:
            return False
        state = STATES.get(type(step).__name__)
        given = getattr(step, state.outputs) if state is not None and state.outputs else None
    return len(model.steps) > 0


NAMES: dict[str, Kind] = {"n_features_in_": WholeNumber(1, "features")}
PROVENANCE = Record(
    {
        "file": Text(),
        "items": WholeNumber(),
        "queries": NoneOr(WholeNumber()),
        "feature_names": NoneOr(ListOf(Text(), "named features")),
        "first_index": WholeNumber(),
        "training_ids": NoneOr(Array(("training items",), of="labels")),
        "named": Record(),
        "command": Text(),
        "version": Text(),
    }
)
ANY: dict[str, Kind] = {"provenance_": PROVENANCE, "feature_names_in_": Array(("features",), of="labels")}
COUNTS: dict[str, Kind] = {
    "solver_": Text(),
    "n_iter_": WholeNumber(),
    "n_queries_": WholeNumber(),
    "n_idle_queries_": WholeNumber(),
    "n_pairs_": WholeNumber(),
}
SEARCH: dict[str, Kind] = {
    "alphas_": Array(("alphas",)),
    "best_params_": Record(),
    "cv_results_": Record(),
    "best_score_": Number(finite=False),
}

LEARNER = FittedState(
    needed={**NAMES, "kernel_": KernelValue(), **COUNTS},
    one_of=(
        {"coef_": Array(("features",), ("outputs", "features"))},
        {
            "dual_coef_": Array(("support",), ("support", "outputs")),
            "X_fit_": NoneOr(Items("support", "features")),
        },
    ),
    optional={
        "basis_": Array(("support",), of="indices"),
        "classes_": Array(("classes",), of="labels"),
        **ANY,
    },
    laws=(
        ("X_fit_ where the kernel is not precomputed, and there alone", _items_unless_precomputed),
        ("coefficients for the columns of the precomputed kernel", _precomputed_columns),
        ("a kernel that gives finite numbers for X_fit_", _kernel_works),
        ("one output for two classes, or one for each of more", _outputs_for_classes),
    ),
)

COMPARISONS: dict[str, Kind] = {
    "precision_factor_": Array(("precisions", "precisions")),
    "precision_items_": Array(("precisions",), of="indices", below="support"),
    "comparison_scale_": Number(),
    "comparison_std_": Number(),
    "comparison_pairs_": WholeNumber(),
    "comparison_holdout_": Text(),
}

RANKER = LEARNER.with_optional(
    **COMPARISONS,
    noise_=Number(),
    compared_first_=Array(("compared",), of="indices", below="support"),
    compared_second_=Array(("compared",), of="indices", below="support"),
    compared_weights_=Array(("compared",)),
    preference_squares_=Number(),
    preference_count_=WholeNumber(1),
)

VOTES = LEARNER.with_optional(
    **COMPARISONS,
    gap_=Number(finite=False),
    objective_=Number(),
    tie_log_=Number(finite=False),
    side_bias_=Number(),
    fitted_to_scores_=Flag(),
    judges_=Array(("judges",), of="labels"),
    judge_effects_=Array(("judges",)),
)

SELECTION = LEARNER.with_optional(
    selected_=Array(("selected",), of="indices", below="features"),
    path_=ListOf(
        Record(
            {
                "feature": WholeNumber(),
                "added": Flag(),
                "criterion": Number(),
                "standard_error": Number(finite=False),
                "alpha": Number(),
                "columns": Array(("chosen*",), of="indices", below="features"),
                "coefficients": Array(("chosen*",), ("chosen*", "outputs")),
                "pair_accuracy": Number(finite=False),
            }
        ),
        "steps",
    ),
    criterion_=Text(("leave_query_out", "leave_pair_out", "leave_one_out")),
    alpha_=Number(),
)

VIEWS = FittedState(
    needed={
        **NAMES,
        "n_views_": WholeNumber(1, "views"),
        "kernels_": ListOf(KernelValue(), "views"),
        "columns_": ListOf(
            NoneOr(Array(("columns*",), of="indices", below="features"), equal=("columns*", "features")), "views"
        ),
        "dual_coef_": ListOf(Array(("support*",), ("support*", "outputs")), "views"),
        "X_fit_": ListOf(NoneOr(Items("support*", "columns*")), "views"),
        **COUNTS,
    },
    optional={"n_unscored_": WholeNumber(), "n_unscored_queries_": WholeNumber(), **ANY},
    laws=(
        ("kernels that give finite numbers for the items of their views", _view_kernels_work),
        (
            "coefficients of as many outputs in each view",
            lambda model: len({dual.ndim for dual in model.dual_coef_}) == 1,
        ),
    ),
)

DYADS = FittedState(
    needed={
        "n_features_rows_in_": WholeNumber(1, "row features"),
        "n_features_columns_in_": WholeNumber(1, "column features"),
        "kernel_rows_": KernelValue(),
        "kernel_columns_": KernelValue(),
        "solver_": Text(),
        "n_iter_": WholeNumber(),
        "n_dyads_": WholeNumber(),
    },
    one_of=(
        {"coef_": Array(("row features", "column features"), ("row features", "column features", "outputs"))},
        {
            "dual_coef_": Array(("rows", "columns"), ("rows", "columns", "outputs")),
            "X_rows_fit_": NoneOr(Items("rows", "row features")),
            "X_columns_fit_": NoneOr(Items("columns", "column features")),
        },
    ),
    optional={
        "provenance_": Record(),
        "feature_names_rows_in_": Array(("row features",), of="labels"),
        "feature_names_columns_in_": Array(("column features",), of="labels"),
    },
    laws=(
        ("the objects of a side where its kernel is not precomputed, and there alone", _dyad_items_unless_precomputed),
        ("coefficients for the columns of precomputed kernels", _dyad_precomputed_columns),
        ("kernels that give finite numbers for the objects of their sides", _dyad_kernels_work),
    ),
)

PATHS = FittedState(
    needed={
        "n_pairs_": WholeNumber(0, "pairs"),
        "labels_": Array(("labels",), of="labels"),
        "first_bounds_": Array(("labels+1",), of="indices"),
        "seconds_": Array(("pairs",), of="indices", below="labels"),
        "combine_": Text(("max", "sum")),
        "normalize_": Flag(),
    },
    laws=(("bounds that rise from 0 to the number of pairs", _rising_bounds),),
    outputs="n_pairs_",
)

LEADERBOARD = FittedState(
    needed={
        "items_": Array(("items",), of="labels"),
        "scores_": Array(("items",)),
        "alpha_": Number(),
        "noise_": Number(),
        "notes_": ListOf(Text(), "notes"),
        "n_votes_": WholeNumber(1),
        "pairs_": Array(("pairs", "two"), of="indices", below="items"),
        "counts_": Array(("three", "pairs")),
        "curvature_": Array(("pairs",)),
        "X_fit_": NoneOr(Items("items", "features")),
        "coef_": Array(("coefficients",)),
        "prior_": Array(("coefficients",)),
        "moves_": Array(("coefficients", "variances")),
        "judges_": NoneOr(Array(("judges",), of="labels")),
        "judge_pairs_": NoneOr(Array(("judged", "two"), of="indices", below="items")),
        "judge_counts_": NoneOr(Array(("three", "judged"))),
        "judge_numbers_": NoneOr(Array(("judged",), of="indices", below="judges")),
    },
    optional={"provenance_": PROVENANCE},
    laws=(
        ("two items and three outcomes of each pair", _pairs_and_outcomes),
        ("one coefficient for each feature and each item", _coefficients_of_features_and_items),
        ("positive precisions, and curvatures that are not negative", _precisions_are_positive),
        ("judges with their votes, or neither", _judges_have_votes),
    ),
)

STATES: dict[str, FittedState] = {
    "AllPathsVectorizer": PATHS,
    "BradleyTerry": VOTES,
    "CoRankRLS": VIEWS,
    "CoRankRLSCV": VIEWS.with_optional(alpha_=Number(), nu_=Number(), **SEARCH),
    "GreedyRLS": SELECTION,
    "GreedyRankRLS": SELECTION,
    "MaxMarginClustering": LEARNER.with_optional(
        labels_=Array(("items",), of="indices", below="clusters"),
        objective_=Number(),
        lower_bound_=Number(),
        n_clusters_=WholeNumber(1, "clusters"),
    ),
    "KroneckerRLS": DYADS,
    "KroneckerRLSCV": DYADS.with_optional(alpha_=Number(), **SEARCH),
    "KroneckerRankRLS": DYADS,
    "KroneckerRankRLSCV": DYADS.with_optional(alpha_=Number(), **SEARCH),
    "Leaderboard": LEADERBOARD,
    "NystromMap": FittedState(
        needed={
            **NAMES,
            "kernel_": KernelValue(),
            "basis_items_": Items("basis", "features"),
            "rank_": WholeNumber(1, "rank"),
            "taken_": Array(("rank",), of="indices", below="basis"),
            "factor_": Array(("rank", "rank")),
        },
        optional={"basis_": NoneOr(Array(("basis",), of="indices")), **ANY},
        laws=(
            (
                "a kernel that gives finite numbers for basis_items_",
                lambda m: _gives_finite_numbers(m.kernel_, m.basis_items_),
            ),
            ("a factor without zeros on its diagonal", lambda model: bool(np.all(np.diagonal(model.factor_) != 0))),
        ),
        outputs="rank_",
    ),
    "PartsVectorizer": FittedState(
        needed={"vectorizers_": ListOf(Nested(("AllPathsVectorizer",)), "parts"), "n_pairs_": WholeNumber()},
        laws=(
            ("one vectorizer for each of its names", lambda model: len(model.vectorizers_) == len(model.names)),
            ("as many pairs as its parts have", lambda m: m.n_pairs_ == sum(part.n_pairs_ for part in m.vectorizers_)),
        ),
        outputs="n_pairs_",
    ),
    "Pipeline": FittedState(
        needed={}, optional=ANY, laws=(("steps of which each takes what the one before returns", _steps_fit_together),)
    ),
    "RLS": LEARNER,
    "RLSCV": LEARNER.with_optional(**SEARCH),
    "RLSClassifier": LEARNER,
    "RLSClassifierCV": LEARNER.with_optional(**SEARCH),
    "RankRLS": RANKER,
    "RankRLSCV": RANKER.with_optional(**SEARCH),
    "RankSVM": LEARNER.with_optional(gap_=Number(finite=False)),
    "RelationExtractor": FittedState(
        needed={
            "vectorizer_": Nested(("AllPathsVectorizer", "PartsVectorizer"), {"n_pairs_": "pairs"}),
            "features_": Text(),
            "scheme_": NoneOr(Record()),
            "coef_": Array(("pairs",)),
            "intercept_": Number(),
            "threshold_": Number(),
            "resampled_threshold_": Number(),
            "training_threshold_": Number(),
            "share_": Number(),
        },
        optional={
            "alpha_": Number(),
            "alphas_": Array(("alphas",)),
            "cv_results_": Record(),
            "n_candidates_": WholeNumber(),
            "n_documents_": WholeNumber(),
            **ANY,
        },
        laws=(("features and a scheme of graphs that the vectorizer is made for", _features_and_vectorizer_agree),),
    ),
    "StandardScaler": FittedState(
        needed={
            **NAMES,
            "mean_": NoneOr(Array(("features",))),
            "var_": NoneOr(Array(("features",))),
            "scale_": NoneOr(Array(("features",))),
        },
        optional=ANY,
        laws=(
            ("a scale where it scales", lambda model: not model.with_std or model.scale_ is not None),
            ("means where it centres", lambda model: not model.with_mean or model.mean_ is not None),
        ),
        outputs="n_features_in_",
    ),
    "TransductiveRankRLS": LEARNER.with_optional(
        transduction_=Array(("unscored",), ("unscored", "outputs"), finite=False),
        inductive_=Array(("unscored",), ("unscored", "outputs"), finite=False),
    ),
    "TwoStepRLS": DYADS,
    "TwoStepRLSCV": DYADS.with_optional(alpha_rows_=Number(), alpha_columns_=Number(), **SEARCH),
}
"""What `load` compares a model with; `save` does so, too, so that whatever is written can be read."""
