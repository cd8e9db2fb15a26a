"""Fitted states: which attributes a fitted model has, of which kinds and shapes, and what holds between them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Matrix
from kernelrank.persistence.kinds import (
    SPARSE,
    Array,
    Flag,
    Items,
    KernelValue,
    Kind,
    ListOf,
    Nested,
    NoneOr,
    Number,
    Record,
    Sizes,
    Text,
    WholeNumber,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#
# The state of a fitted estimator: which attributes it has, of which kinds and shapes, and conditions between them.
#
# A model file can be forged by anyone. What it holds is compared with this before it is a model, so that `load` says
# whatever is wrong, and no compiled loop follows an index out of its array.

LARGEST_KERNEL = 8
"""How many items a kernel is tried on."""


@dataclass(frozen=True)
class FittedState:
    """What a fitted estimator of one class consists of."""

    needed: Mapping[str, Kind]
    one_of: tuple[Mapping[str, Kind], ...] = ()
    optional: Mapping[str, Kind] = field(default_factory=dict)
    laws: tuple[tuple[str, Callable[[Any], bool]], ...] = ()
    outputs: str = ""

    def with_optional(self, **kinds: Kind) -> FittedState:
        """Return the same state with further attributes that it may have."""
        return FittedState(self.needed, self.one_of, {**self.optional, **kinds}, self.laws, self.outputs)

    def fault(self, estimator: object) -> str | None:
        """Return what is wrong with a fitted estimator; None if nothing is. Time O(bytes)."""
        held, sizes = vars(estimator), Sizes()
        kinds = dict(self.needed)
        if self.one_of:
            chosen = [kinds_of_one for kinds_of_one in self.one_of if kinds_of_one.keys() <= held.keys()]
            mixed = {name for kinds_of_one in self.one_of for name in kinds_of_one} & held.keys()
            if len(chosen) != 1 or mixed != chosen[0].keys():
                sets = " or ".join(" and ".join(kinds_of_one) for kinds_of_one in self.one_of)
                return f"expected {sets}, got {', '.join(sorted(mixed)) or 'neither'}"
            kinds |= chosen[0]
        for name in kinds:
            if name not in held:
                return f"{name} is missing"
        kinds |= {name: kind for name, kind in self.optional.items() if name in held}
        for name, kind in kinds.items():
            if not kind.accepts(held[name], sizes):
                return f"{name}: expected {kind.words(sizes)}, got {_found(held[name])}"
        for sentence, law in self.laws:
            if not _holds(law, estimator):
                return f"expected {sentence}"
        return None


def _holds(law: Callable[[Any], bool], estimator: object) -> bool:
    try:
        return bool(law(estimator))
    except Exception:  # what a forged value makes of a law is up to the forger
        return False


def _found(value: object) -> str:
    """Describe a value for a message, in which it has no place itself."""
    if isinstance(value, (np.ndarray, *SPARSE)):
        entries = value if isinstance(value, np.ndarray) else value.data
        what = f"{'an array' if entries is value else 'a sparse matrix'} of {entries.dtype} of shape {value.shape}"
        if entries.dtype.kind == "f" and not np.isfinite(entries).all():
            return f"{what} that is not finite"
        return what
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, Real)):
        return repr(value)
    return f"a {type(value).__name__}"


class Kernel(Protocol):
    """What `kernelrank.kernels.Kernel` can do, which this module must not import."""

    def matrix(self, X: Matrix, Y: Matrix) -> Float:
        """Return the kernel of items."""
        ...


def gives_finite_numbers(kernel: Kernel, items: Matrix) -> bool:
    """Whether a kernel gives finite numbers for some of the items that it will be called with."""
    some = items[:LARGEST_KERNEL]
    return bool(np.isfinite(kernel.matrix(some, some)).all())


def kernel_works(model: BaseEstimator) -> bool:
    """Whether the kernel gives finite numbers for the items that it keeps."""
    return getattr(model, "X_fit_", None) is None or gives_finite_numbers(model.kernel_, model.X_fit_)


def items_unless_precomputed(model: BaseEstimator) -> bool:
    """Whether a model with dual coefficients keeps its items, unless its kernel is precomputed."""
    return not hasattr(model, "dual_coef_") or (model.X_fit_ is None) == model.kernel_.precomputed


def precomputed_columns(model: BaseEstimator) -> bool:
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


def outputs_for_classes(model: BaseEstimator) -> bool:
    """Whether there is one output for two classes, and one for each of more."""
    from sklearn.base import is_classifier

    if not is_classifier(model):
        return True
    n_classes = len(model.classes_)
    return n_classes >= 2 and _outputs(model) == (1 if n_classes == 2 else n_classes)


def view_kernels_work(model: BaseEstimator) -> bool:
    """Whether the kernel of each view gives finite numbers for its basis items."""
    views = zip(model.kernels_, model.X_fit_, strict=True)
    return all(
        (items is None) == kernel.precomputed and (items is None or gives_finite_numbers(kernel, items))
        for kernel, items in views
    )


def dyad_kernels_work(model: BaseEstimator) -> bool:
    """Whether the kernels of both sides give finite numbers for the objects that they keep."""
    sides = [(model.kernel_rows_, getattr(model, "X_rows_fit_", None))]
    sides.append((model.kernel_columns_, getattr(model, "X_columns_fit_", None)))
    return all(items is None or gives_finite_numbers(kernel, items) for kernel, items in sides)


def dyad_items_unless_precomputed(model: BaseEstimator) -> bool:
    """Whether the objects of each side are kept where they are needed: with one set, those of the rows."""
    if hasattr(model, "coef_"):
        return bool(model.kernel_rows_.linear and model.kernel_columns_.linear)
    kept = model.X_columns_fit_ is None
    columns = kept if model.relation is not None else kept == model.kernel_columns_.precomputed
    return bool((model.X_rows_fit_ is None) == model.kernel_rows_.precomputed and columns)


def dyad_precomputed_columns(model: BaseEstimator) -> bool:
    """Whether the columns of precomputed kernels are those that the coefficients are for."""
    if hasattr(model, "coef_"):
        return True
    rows, columns = model.dual_coef_.shape[:2]
    return bool(
        (not model.kernel_rows_.precomputed or rows == model.n_features_rows_in_)
        and (not model.kernel_columns_.precomputed or columns == model.n_features_columns_in_)
        and (model.relation is None or rows == columns)
    )


def rising_bounds(model: BaseEstimator) -> bool:
    """Whether the bounds of the pairs of labels rise from zero to their number."""
    bounds = model.first_bounds_
    return bounds[0] == 0 and bounds[-1] == model.n_pairs_ and bool(np.all(np.diff(bounds) >= 0))


def pairs_and_outcomes(model: BaseEstimator) -> bool:
    """Whether there are two items in a pair, three outcomes, and something that was compared."""
    return model.pairs_.shape[1] == 2 and len(model.counts_) == 3 and len(model.items_) >= 2 and len(model.pairs_) >= 1


def coefficients_of_features_and_items(model: BaseEstimator) -> bool:
    """Whether there is a coefficient for each feature and each item."""
    n_features = 0 if model.X_fit_ is None else model.X_fit_.shape[1]
    return bool(len(model.coef_) == n_features + len(model.items_))


def precisions_are_positive(model: BaseEstimator) -> bool:
    """Whether precisions are positive, and counts of votes are not negative."""
    counts = [model.counts_] if model.judge_counts_ is None else [model.counts_, model.judge_counts_]
    return bool(
        model.noise_ > 0
        and np.all(model.prior_ > 0)
        and np.all(model.curvature_ >= 0)
        and np.all(getattr(model, "scales_", 1.0) > 0)
        and all(np.all(count >= 0) for count in counts)
        and np.any(model.counts_ > 0)
    )


def mixtures_are_whole(model: BaseEstimator) -> bool:
    """Whether a mixture with features has positive variances of each item, and its weights."""
    own = getattr(model, "item_scales_", None)
    with_features = model.X_fit_ is not None and np.size(getattr(model, "scales_", ())) > 0
    return bool((own is not None) == with_features and (own is None or np.all(own > 0)))


def judges_have_votes(model: BaseEstimator) -> bool:
    """Whether all that is kept of judges is there, or nothing."""
    parts = (model.judges_, model.judge_pairs_, model.judge_counts_, model.judge_numbers_)
    return len({part is None for part in parts}) == 1


def features_and_vectorizer_agree(model: BaseEstimator) -> bool:
    """Whether the features of an extractor are known, its scheme is one, and its vectoriser is made for them."""
    names = getattr(model.vectorizer_, "names", ())
    wanted = () if model.features_ == "article" else model.features_.split("+")
    return model._graphs([]) == [] and (model.features_ == "parts" or sorted(names) == sorted(wanted))


# Model states ---------------------------------------------------------------------------------------------------------
#
# The models that can be saved: where each class is imported from, and the state of a fitted one.

REGISTRY: dict[str, str] = {
    "AllPathsVectorizer": "kernelrank.estimators:AllPathsVectorizer",
    "BradleyTerry": "kernelrank.votes:BradleyTerry",
    "ColumnTransformer": "sklearn.compose:ColumnTransformer",
    "CoRankRLS": "kernelrank.estimators:CoRankRLS",
    "CoRankRLSCV": "kernelrank.model_selection:CoRankRLSCV",
    "FunctionTransformer": "sklearn.preprocessing:FunctionTransformer",
    "GreedyRLS": "kernelrank.selection:GreedyRLS",
    "GreedyRankRLS": "kernelrank.selection:GreedyRankRLS",
    "MaxAbsScaler": "sklearn.preprocessing:MaxAbsScaler",
    "MaxMarginClustering": "kernelrank.estimators:MaxMarginClustering",
    "MinMaxScaler": "sklearn.preprocessing:MinMaxScaler",
    "MissingIndicator": "sklearn.impute:MissingIndicator",
    "Normalizer": "sklearn.preprocessing:Normalizer",
    "KroneckerRLS": "kernelrank.dyads:KroneckerRLS",
    "KroneckerRLSCV": "kernelrank.dyads:KroneckerRLSCV",
    "KroneckerRankRLS": "kernelrank.dyads:KroneckerRankRLS",
    "KroneckerRankRLSCV": "kernelrank.dyads:KroneckerRankRLSCV",
    "Leaderboard": "kernelrank.votes:Leaderboard",
    "NystromMap": "kernelrank.estimators:NystromMap",
    "OneHotEncoder": "sklearn.preprocessing:OneHotEncoder",
    "OrdinalEncoder": "sklearn.preprocessing:OrdinalEncoder",
    "PCA": "sklearn.decomposition:PCA",
    "PartsVectorizer": "kernelrank.relations:PartsVectorizer",
    "Pipeline": "sklearn.pipeline:Pipeline",
    "RLS": "kernelrank.estimators:RLS",
    "RLSCV": "kernelrank.model_selection:RLSCV",
    "RLSClassifier": "kernelrank.estimators:RLSClassifier",
    "RLSClassifierCV": "kernelrank.model_selection:RLSClassifierCV",
    "RankRLS": "kernelrank.estimators:RankRLS",
    "RankRLSCV": "kernelrank.model_selection:RankRLSCV",
    "RankSVM": "kernelrank.estimators:RankSVM",
    "RelationExtractor": "kernelrank.relations:RelationExtractor",
    "RobustScaler": "sklearn.preprocessing:RobustScaler",
    "SimpleImputer": "sklearn.impute:SimpleImputer",
    "StandardScaler": "sklearn.preprocessing:StandardScaler",
    "TransductiveRankRLS": "kernelrank.estimators:TransductiveRankRLS",
    "TruncatedSVD": "sklearn.decomposition:TruncatedSVD",
    "TwoStepRLS": "kernelrank.dyads:TwoStepRLS",
    "TwoStepRLSCV": "kernelrank.dyads:TwoStepRLSCV",
    "VarianceThreshold": "sklearn.feature_selection:VarianceThreshold",
}

PRIVATE: dict[str, tuple[str, ...]] = {
    "ColumnTransformer": ("_columns", "_transformer_to_input_indices", "_remainder"),
    "MissingIndicator": ("_precomputed", "_n_features"),
    "OneHotEncoder": (
        "_infrequent_enabled",
        "_drop_idx_after_grouping",
        "_n_features_outs",
        "_infrequent_indices",
        "_default_to_infrequent_mappings",
    ),
    "OrdinalEncoder": (
        "_infrequent_enabled",
        "_missing_indices",
        "_infrequent_indices",
        "_default_to_infrequent_mappings",
    ),
    "SimpleImputer": ("_fit_dtype", "_fill_dtype"),
}
"""What scikit-learn's transformers keep of a fit under a private name, and need."""


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


LABEL = (str, bool, int, float)
"""What a category may be, besides None."""


def _columns_fit_transformers(model: BaseEstimator) -> bool:
    """Whether every transformer has columns that there are, as many as it was fitted to, and a place in the output."""
    for name, transformer, _ in model.transformers_:
        own = model._transformer_to_input_indices[name]
        if not (isinstance(name, str) and all(0 <= int(one) < model.n_features_in_ for one in own)):
            return False
        if isinstance(transformer, str):
            if transformer not in ("drop", "passthrough"):
                return False
        elif type(transformer).__name__ not in REGISTRY or transformer.n_features_in_ != len(own):
            return False
        if not isinstance(model.output_indices_[name], slice):
            return False
    return len(model._columns) == len(model.transformers) and len(model._remainder) == 3


def _encodes_categories(model: BaseEstimator) -> bool:
    """Whether an encoder has categories for every column, and encodes the first of each."""
    n = model.n_features_in_
    for categories in model.categories_:
        values = categories.tolist()
        if categories.ndim != 1 or not values or not all(one is None or isinstance(one, LABEL) for one in values):
            return False
    row = np.array([[categories[0] for categories in model.categories_]], dtype=object)
    found = _transformed(model, row)
    if type(model).__name__ == "OrdinalEncoder":
        return bool(len(model.categories_) == n and found.shape == (1, n))
    dropped = [None] * n if model.drop_idx_ is None else model.drop_idx_.tolist()
    widths = [len(c) - (d is not None) for c, d in zip(model.categories_, dropped, strict=True)]
    given = list(model._n_features_outs)
    fits = all(g <= w for g, w in zip(given, widths, strict=True)) if model._infrequent_enabled else given == widths
    return bool(fits and len(widths) == n and found.shape == (1, sum(given)))


def _imputes(model: BaseEstimator) -> bool:
    """Whether an imputer has a value for every column, and fills in rows of its own type."""
    statistics = model.statistics_
    if not isinstance(model._fit_dtype, np.dtype) or statistics.shape != (model.n_features_in_,):
        return False
    if statistics.dtype == object and not all(one is None or isinstance(one, LABEL) for one in statistics.tolist()):
        return False
    return bool(_transformed(model, statistics.astype(model._fit_dtype)[None]).shape[0] == 1)


def _transformed(model: BaseEstimator, row: NDArray[Any]) -> Any:
    """Transform a row without names."""
    from sklearn import config_context

    with config_context(transform_output="default"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the row has no names of columns
        return model.transform(row)


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
        ("X_fit_ if and only if the kernel is not precomputed", items_unless_precomputed),
        ("coefficients for the columns of the precomputed kernel", precomputed_columns),
        ("a kernel that gives finite numbers for X_fit_", kernel_works),
        ("one output for two classes, or one for each of more", outputs_for_classes),
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

STREAM: dict[str, Kind] = {
    "stream_": Record(
        {
            "gram": Array(("columns", "columns")),
            "right": Array(("columns", "targets")),
            "energy": Array(("targets",)),
            "rounding_gram": Array(("columns",)),
            "rounding_right": Array(("columns", "targets")),
            "one_output": Flag(),
            "mode": Text(),
            "n_items": WholeNumber(),
            "n_pairs": WholeNumber(),
            "n_idle_queries": WholeNumber(),
            "forgot": Flag(),
            "fingerprints": ListOf(WholeNumber(), "learnt queries"),
            "moments": ListOf(
                Record(
                    {
                        "n_items": WholeNumber(),
                        "uncompared": Number(),
                        "scatter": Array(("columns", "columns")),
                        "moment": Array(("columns", "targets")),
                    }
                ),
                "merged queries",
            ),
        }
    )
}

VOTES = LEARNER.with_optional(
    **COMPARISONS,
    gap_=Number(finite=False),
    objective_=Number(),
    tie_log_=Number(finite=False),
    side_bias_=Number(),
    side_bias_std_=Number(),
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
        ("kernels that give finite numbers for the items of their views", view_kernels_work),
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
        ("the objects of a side if and only if its kernel is not precomputed", dyad_items_unless_precomputed),
        ("coefficients for the columns of precomputed kernels", dyad_precomputed_columns),
        ("kernels that give finite numbers for the objects of their sides", dyad_kernels_work),
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
    laws=(("bounds that rise from 0 to the number of pairs", rising_bounds),),
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
    optional={
        "provenance_": PROVENANCE,
        "scales_": Array(("three", "scales")),
        "item_scales_": NoneOr(Array(("items", "scales"))),
    },
    laws=(
        ("two items and three outcomes of each pair", pairs_and_outcomes),
        ("one coefficient for each feature and each item", coefficients_of_features_and_items),
        ("positive precisions, and curvatures that are not negative", precisions_are_positive),
        ("weights of a mixture with features, and positive variances of its items", mixtures_are_whole),
        ("judges with their votes, or neither", judges_have_votes),
    ),
)

SCALED: dict[str, Kind] = {"scale_": Array(("features",))}

STATES: dict[str, FittedState] = {
    "ColumnTransformer": FittedState(
        needed={**NAMES, "sparse_output_": Flag(), "output_indices_": Record()},
        optional=ANY,
        laws=(("columns that its transformers were fitted to", _columns_fit_transformers),),
    ),
    "FunctionTransformer": FittedState(
        needed=NAMES,
        optional=ANY,
        laws=(("no function", lambda model: model.func is None and model.inverse_func is None),),
        outputs="n_features_in_",
    ),
    "MaxAbsScaler": FittedState({**NAMES, **SCALED, "max_abs_": Array(("features",))}, (), ANY, (), "n_features_in_"),
    "MinMaxScaler": FittedState({**NAMES, **SCALED, "min_": Array(("features",))}, (), ANY, (), "n_features_in_"),
    "MissingIndicator": FittedState({**NAMES, "features_": Array(("missing",), of="indices", below="features")}),
    "Normalizer": FittedState(NAMES, (), ANY, (), "n_features_in_"),
    "OneHotEncoder": FittedState(
        {**NAMES, "_infrequent_enabled": Flag()}, (), ANY, (("categories that it can encode", _encodes_categories),)
    ),
    "OrdinalEncoder": FittedState(
        {**NAMES, "_infrequent_enabled": Flag()},
        (),
        ANY,
        (("categories that it can encode", _encodes_categories),),
        "n_features_in_",
    ),
    "PCA": FittedState(
        {
            **NAMES,
            "n_components_": WholeNumber(1, "components"),
            "mean_": Array(("features",)),
            "components_": Array(("components", "features")),
            "explained_variance_": Array(("components",)),
        },
        (),
        ANY,
        (),
        "n_components_",
    ),
    "RobustScaler": FittedState(
        {**NAMES, "center_": NoneOr(Array(("features",))), "scale_": NoneOr(Array(("features",)))},
        (),
        ANY,
        (
            ("a scale if it scales", lambda model: not model.with_scaling or model.scale_ is not None),
            ("centres if it centres", lambda model: not model.with_centering or model.center_ is not None),
        ),
        "n_features_in_",
    ),
    "SimpleImputer": FittedState(NAMES, (), ANY, (("a value for every column", _imputes),)),
    "TruncatedSVD": FittedState({**NAMES, "components_": Array(("components", "features"))}, (), ANY),
    "VarianceThreshold": FittedState({**NAMES, "variances_": Array(("features",))}, (), ANY),
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
                lambda m: gives_finite_numbers(m.kernel_, m.basis_items_),
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
        needed={}, optional=ANY, laws=(("steps whose numbers of inputs and outputs match", _steps_fit_together),)
    ),
    "RLS": LEARNER.with_optional(**STREAM),
    "RLSCV": LEARNER.with_optional(**SEARCH),
    "RLSClassifier": LEARNER,
    "RLSClassifierCV": LEARNER.with_optional(**SEARCH),
    "RankRLS": RANKER.with_optional(**STREAM),
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
        laws=(("features and a scheme of graphs that the vectorizer is made for", features_and_vectorizer_agree),),
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
            ("a scale if it scales", lambda model: not model.with_std or model.scale_ is not None),
            ("means if it centres", lambda model: not model.with_mean or model.mean_ is not None),
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
