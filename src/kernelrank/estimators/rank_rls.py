"""RankRLS: learn to rank by regularised least squares on the differences of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from kernelrank.base.sklearn_private import StrOptions, fit_context
from kernelrank.base.validation import FilePath, is_path, mapped, refuse_file_options, scores_or_times
from kernelrank.comparisons.costs import COSTS, TIES, CostOption, Ties
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner, check_alphas, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.posterior import PreferencePosterior
from kernelrank.estimators.streams import QueryMode, StreamLearner, fit_file
from kernelrank.estimators.tasks import Ranker
from kernelrank.kernels import GammaLike, KernelLike, MetricLike


class RankRLS(PreferencePosterior, Ranker, StreamLearner):
    """Kernel ranking by regularised least squares over pairs.

    Minimises ``Σ (y_i - y_j - (f_i - f_j))² + alpha ‖f‖²`` over all pairs (i, j) inside a query, exactly, without a
    list of pairs. Only differences are learnt: a constant added to all scores of a query changes nothing.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The loss is a sum (not a mean) over pairs, so more
        pairs need a larger alpha.
    kernel : str, callable or kernel object, default="linear"
        What scikit-learn's `pairwise_kernels` takes, "gaussian" (the same as "rbf"), "precomputed", a function of two
        rows, or a scikit-learn Gaussian-process kernel object. With a function, X may also be a list, or an object
        array, of strings, sets or anything else that the function compares.
    gamma : float, "scale", "median" or None, default=None
        Parameter of the kernels that have it. None is ``1 / n_features``, the default of scikit-learn's kernels (one
        for "chi2"); "scale" is ``1 / (n_features * X.var())``, as in `SVC`; "median" is one over the median squared
        distance between two different items, of 1,000 drawn at random if there are more (for "laplacian", over the
        median Manhattan distance). "scale" and "median" do not use y. Hold-outs use the gamma of all items; a stream
        uses that of its first batch, a file or a cluster that of the basis.
    degree : float, default=3
        The degree of the "poly" kernel.
    coef0 : float, default=1.0
        The constant of the "poly" and "sigmoid" kernels.
    kernel_params : dict, optional
        Further keyword arguments of the kernel function.
    metric : "variance", vector of shape (n_features,) or matrix of shape (n_features, n_features), optional
        Weights of the columns, or a positive semidefinite matrix S: a part of the kernel, which becomes that of
        ``X S^½``. Squared distances are ``(x - z)ᵀ S (x - z)``, inner products ``xᵀ S z``; the product Laplacian
        kernel takes the roots of the weights. "variance" weighs each column by one over its variance, and constant
        columns by zero, from all items and without labels; a stream uses that of its first batch. A metric that was
        learnt from the labels of the same items makes every hold-out too good: on noise an AUC of .998 was seen.
    cost : {"auto", "magnitude", "unit", "relative"}, default="auto"
        The cost of a pair with magnitude ``z = y_i - y_j > 0`` and predicted difference g: ``(z - g)²`` [PTAJB09]_
        (21), ``(1 - g)²`` (20), or ``(z - g)² / z²`` (22). The last two leave ties out, whatever `ties` says. "auto" is
        "unit" for censored times and "magnitude" otherwise. With censored times "magnitude" uses only pairs in which
        both times are known; take their logarithms first to learn from ratios.
    ties : {"include", "exclude"}, default="include"
        Whether two items with the same score are a pair whose difference should be zero.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight: pairs, items (a pair weighs ``1 / n_q``), or queries: a pair weighs one over
        the weight of all pairs that are compared in its query, ``1 / (n_q choose 2)`` without weights and with ties.
    basis : int or list of int, optional
        A number of basis items drawn at random, or the items themselves: predictions are then combinations of their
        kernels only. All items, unless given.
    solver : {"auto", "cholesky", "spectral", "conjugate_gradient", "nystrom_conjugate_gradient"}, default="auto"
        How the minimum is found; see `kernelrank.solvers.choose_solver` for the automatic choice.
    tol : float, optional
        Conjugate gradients stop at this root mean square error of the scores, relative to their spread inside queries
        and estimated from the last steps. Default: 1e-5 if ``solver="auto"`` chose them, which is too small to change
        a measure of the ranking, and 1e-10 if you chose them.
    max_iter : int, optional
        The largest number of iterations of conjugate gradients; ten times the number of unknowns unless given.
    warm_start : bool, default=False
        Whether conjugate gradients start from the coefficients of the last fit.
    missing : {"error", "ignore"}, default="error"
        Whether a NaN in y is an error, or the item is left out of the comparisons of that output.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the basis.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,) or (n_outputs, n_features)
        Weights of the features, for the linear kernel without a basis.
    dual_coef_ : ndarray, shape (r,) or (r, n_outputs)
        Coefficients of the training or basis items, for every other kernel.
    X_fit_ : array or sparse matrix, shape (r, n_features), or None
        The items whose kernels are evaluated; None for a precomputed kernel.
    basis_ : ndarray of int, shape (r,)
        The numbers of the basis items, if there is a basis.
    kernel_ : Kernel
        A copy of the kernel used in the fit; later changes of the parameters do not affect it.
    gamma_ : float or None
        The value of gamma used in the fit; None if the kernel has no gamma.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Its number of iterations; one for a direct solver.
    n_queries_, n_idle_queries_, n_pairs_ : int
        How many queries there were, how many of them without a single pair, and how many pairs.
    noise_ : float
        The variance of a preference of weight one, after `fit_pairs`; for a full kernel after the first `compare`.
    precision_factor_, precision_items_, compared_first_, compared_second_, compared_weights_, preference_squares_, \
preference_count_
        What `compare` and `covariance` need after `fit_pairs`: the factor of the precision of up to 2,000 coefficients,
        or the pairs that were compared, from which a full kernel makes it at the first call.
    fill_values_ : ndarray, shape (n_features,)
        What a missing number of a file becomes, after a fit to a file with `impute`; NaN for columns that lacked none.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        As in scikit-learn.

    Notes
    -----
    With r the number of columns (linear kernel) or basis items, the time is O(m r² + r³) in the primal, which is used
    when r ≤ m, and O(m³) in the dual; memory r² and a block, or m². Conjugate gradients take O(nnz) a step.
    `predict` takes O(t n) for a linear model and O(t r n) for others.

    References
    ----------
    .. [PTAJB09] Pahikkala, Tsivtsivadze, Airola, Järvinen and Boberg (2009). An efficient algorithm for learning to
       rank from preference graphs. Machine Learning 75(1).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS
    >>> X = np.array([[1.0], [2.0], [3.0], [10.0], [11.0]])
    >>> y = np.array([1.0, 2.0, 3.0, 0.0, 1.0])
    >>> model = RankRLS(alpha=0.01).fit(X, y, qid=["a", "a", "a", "b", "b"])
    >>> model.predict(np.array([[5.0], [6.0]])).round(2)
    array([4.99, 5.99])
    >>> model.score(X, y, qid=["a", "a", "a", "b", "b"])
    1.0
    """

    __metadata_request__fit: ClassVar = {"qid": True, "event": True, "entry": True}
    __metadata_request__score: ClassVar = {"qid": True, "event": True}
    _takes_events = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelLearner._parameter_constraints,
        "cost": [StrOptions({"auto", *COSTS})],
        "ties": [StrOptions(set(TIES))],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        cost: CostOption = "auto",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        event: Any = None,
        entry: Any = None,
        queries: QueryMode = "whole",
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        impute: Literal["median", "mean"] | None = None,
        checkpoint: FilePath | None = None,
    ) -> Self:
        r"""Fit to scored items, in memory or in a file, or to times that may be censored.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed, or a path
            The items. A path is that of a Parquet file, a folder of Parquet files, a CSV, TSV, SVMlight or LETOR file
            (compressed or not), all read in batches, or of a ``.npy`` file, which is memory-mapped. In files with
            named columns, all columns of numbers except y and qid are features.
        y : array-like, shape (m,) or (m, n_outputs), or str
            Their scores; each output is learnt as if it were alone. The name of the column in a file that has names;
            left out for SVMlight.
        qid : sequence, shape (m,), or str, optional
            The query of each item: any hashable labels in any order. One query if omitted. The name of the
            column in a file that has names; left out for SVMlight.
        sample_weight : array-like, shape (m,), optional
            Item weights; the pair (i, j) weighs ``w_i w_j``, so a weight of k repeats the item k times. Not for files.
        event : array-like of bool, or of 0 and 1, shape (m,), optional
            Whether the event, such as death, happened at the time in y. Otherwise the time is censored: the
            item is only known to last longer. y may also be a structured array of events and
            times, or a data frame with both as columns. Two columns of a plain array are two outputs.
        entry : array-like, shape (m,), optional
            When each item came under observation (left truncation): an event is compared with those who had entered
            before it. At most twice the time of a fit without; leaving items out refits, or takes whole strata.
            Not for files.
        queries : {"whole", "mergeable"}, default="whole"
            For files: "whole" if the rows of each query are contiguous (otherwise an error is raised), "mergeable" if
            they may be anywhere, which takes r² numbers of memory for each query.
        features, exclude : sequence of str
            For files with named columns: the features, or the columns not to use; ``gene*`` means all that begin with
            gene.
        impute : {"median", "mean"}, optional
            For files with named columns: what a missing number becomes. It is learnt in one more reading, and applied
            to files that `predict` takes. Missing numbers are an error otherwise.
        checkpoint : path, optional
            For files: as in `fit_stream`.

        Returns
        -------
        self

        Notes
        -----
        With censored times every event is compared with all items that are known to last longer, in O(m) time after one
        sort; tied events are not compared. Strata are queries. The score grows with the time survived, and the risk is
        its negative.

        A file gives the same model as its items in memory. It needs a linear kernel or a basis, and memory for one
        batch and r² numbers, for r columns or basis items. A terminal shows the progress.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from kernelrank import RankRLS
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "train.txt"
        ...     _ = file.write_text("\n".join(["1 qid:7 1:0.5", "0 qid:7 2:1", "2 qid:8 1:1", "1 qid:8 1:0.5"]))
        ...     RankRLS(0.1).fit(file).coef_.round(2)
        array([ 1.46, -0.24])
        >>> months, died = [3.0, 8.0, 12.0, 12.0], [True, True, False, True]
        >>> RankRLS(0.1).fit([[1.0], [2.0], [5.0], [3.0]], months, event=died).coef_.round(3)
        array([0.37])
        """
        X = mapped(X)
        if is_path(X):
            if event is not None or entry is not None:
                raise InvalidInputError(
                    "event is not supported when X is a path: an event is compared with items of later batches. Read "
                    "the file into memory."
                )
            columns: Any = {"features": features, "exclude": exclude, "impute": impute}
            fit_file(self, X, y, qid, sample_weight, queries, **columns, checkpoint=checkpoint)
            return self
        refuse_file_options(features=features, exclude=exclude, impute=impute, checkpoint=checkpoint)
        y, qid = scores_or_times(mapped(y), event, entry), mapped(qid)
        X = self._check_items(X, reset=True, finite=False)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output, finite=False)

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_pairs(self, X: Any, pairs: Any, *, magnitude: Any = None, weight: Any = None) -> Self:
        """Fit to preferences (A is better than B) instead of scores.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        pairs : array-like of int, shape (l, 2)
            Row numbers of X: the item of column 0 is preferred to that of column 1. A pair may occur many times, and
            in both directions.
        magnitude : array-like, shape (l,), optional
            By how much; one unless given.
        weight : array-like, shape (l,), optional
            The weight of the squared error of each preference; one unless given.

        Returns
        -------
        self

        Notes
        -----
        O(l) time and memory for the graph, whatever its form; then as `fit`.

        Examples
        --------
        >>> from kernelrank import RankRLS
        >>> model = RankRLS().fit_pairs([[0.0], [1.0], [2.0]], [[2, 0], [1, 0], [2, 1], [2, 0]])
        >>> model.predict([[3.0], [4.0]]).round(3)
        array([1.636, 2.182])
        """
        X = self._check_items(X, reset=True)
        graph = self._compare_pairs(X, pairs, magnitude, weight)
        return self._fit(X, [(np.zeros(1, dtype=np.int64), graph)], self._progress(X), one_output=True)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(
        self, X: Any, y: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None
    ) -> list[Self]:
        """Fit for many alphas at the cost of one decomposition.

        Parameters
        ----------
        X, y, qid, sample_weight, event
            As in `fit`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of RankRLS
            One fitted model for each alpha, in their order. This estimator itself is not changed.

        Notes
        -----
        O(s³) time once, where s is the smaller of the numbers of items and of columns, then O(s²) for each alpha and
        output.
        """
        return self._fit_scores_path(X, scores_or_times(y, event), alphas, qid, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_pairs_path(
        self, X: Any, pairs: Any, alphas: Any, *, magnitude: Any = None, weight: Any = None
    ) -> list[Self]:
        """Fit to preferences for many alphas at the cost of one decomposition.

        Parameters
        ----------
        X, pairs, magnitude, weight
            As in `fit_pairs`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of RankRLS
            One fitted model for each alpha, in their order. This estimator itself is not changed.

        Notes
        -----
        As `fit_path`, after O(l) time and memory for the graph.

        Examples
        --------
        >>> from kernelrank import RankRLS
        >>> path = RankRLS().fit_pairs_path([[0.0], [1.0], [2.0]], [[2, 0], [1, 0], [2, 1], [2, 0]], [0.1, 1.0])
        >>> [float(model.coef_[0].round(3)) for model in path]
        [0.594, 0.545]
        """
        learner: Self = clone(self)
        X = learner._check_items(X, reset=True)
        graphs = [(np.zeros(1, dtype=np.int64), learner._compare_pairs(X, pairs, magnitude, weight))]
        return learner._fit_path(X, graphs, check_alphas(alphas), one_output=True)
