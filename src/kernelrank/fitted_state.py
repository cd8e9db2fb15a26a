"""The state of a fitted estimator: which attributes it has, of which kinds and shapes, and conditions between them.

A model file can be forged by anyone. What it holds is compared with this before it is a model, so that `load` says
whatever is wrong, and no compiled loop follows an index out of its array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernelrank.base.arrays import Float, Matrix
from kernelrank.persistence.fitted_states import SPARSE, Kind, Sizes

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = [
    "FittedState",
    "coefficients_of_features_and_items",
    "dyad_items_unless_precomputed",
    "dyad_kernels_work",
    "dyad_precomputed_columns",
    "features_and_vectorizer_agree",
    "gives_finite_numbers",
    "items_unless_precomputed",
    "judges_have_votes",
    "kernel_works",
    "mixtures_are_whole",
    "outputs_for_classes",
    "pairs_and_outcomes",
    "precisions_are_positive",
    "precomputed_columns",
    "rising_bounds",
    "view_kernels_work",
]

LARGEST_KERNEL = 8
"""How many items a kernel is tried on."""


@dataclass(frozen=True)
class FittedState:
    """What a fitted estimator of one class consists of.

    Parameters
    ----------
    needed : mapping of str to Kind
        The attributes that it always has. Axes get their lengths in this order.
    one_of : tuple of mappings, optional
        Sets of attributes of which it has exactly one.
    optional : mapping of str to Kind
        Attributes that it may have.
    laws : tuple of (str, callable)
        Further conditions: a description, and the function of the estimator that checks it.
    outputs : str, optional
        The attribute that says how many columns a transformer returns.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from kernelrank.persistence.model_files.fitted_states import Array, WholeNumber
    >>> state = FittedState({"n_features_in_": WholeNumber(1, "features"), "mean_": Array(("features",))})
    >>> state.fault(SimpleNamespace(n_features_in_=2, mean_=np.zeros(3)))
    'mean_: expected an array of finite floats of shape (2,), got an array of float64 of shape (3,)'
    """

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
