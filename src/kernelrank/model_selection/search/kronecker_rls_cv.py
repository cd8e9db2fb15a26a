"""KroneckerRLSCV: regression on dyads that chooses its alpha by one of the four settings."""

from __future__ import annotations

from kernelrank.dyads.searches import KroneckerSearch

__all__ = ["KroneckerRLSCV"]


class KroneckerRLSCV(KroneckerSearch):
    """KroneckerRLS with alpha chosen by exact cross-validation over cells, rows, columns or both.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try: "auto" takes powers of two times the mean eigenvalue of the kernel of the dyads, and
        goes on while the best one is at an edge.
    setting : {"cell", "row", "column", "both"}, default="cell"
        What will be new when the model is used: as in `dyadic_holdout`. The best alpha differs between the settings.
    cv : int, splitter or iterable of splits, optional
        As in `dyadic_holdout`: single cells or objects unless given.
    scoring : str, measure or callable, optional
        A name that `kernelrank.metrics.get_measure` reads, such as "concordance", or a function of ``(y_true, y_score,
        qid)`` for which higher is better. Unless given, minus the mean squared error.
    per : {"auto", "overall", "row", "column"}, default="auto"
        What is measured: all dyads together, or the dyads of each row or column, averaged over these. "auto" is
        "overall".
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        As in `KroneckerRLS`.
    relation, solver, tol, max_iter, random_state
        As in `KroneckerRLS`; `random_state` shuffles a number of folds.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_ : float
        The alpha that was chosen.
    best_score_ : float
        Its held-out score; slightly optimistic, because it is the best of several.
    alphas_ : ndarray
        The values that were tried, ascending.
    best_params_ : dict
    cv_results_ : dict
        All candidates with their held-out scores, as that of `GridSearchCV`.
    holdout_scores_ : ndarray, shape (m1, m2) or (m1, m2, n_outputs)
        Every dyad, held out with the alpha that was chosen; `kernelrank.metrics.dyadic_concordance` measures them.
    coef_, dual_coef_, kernel_rows_, solver_, n_dyads_, …
        All attributes of `KroneckerRLS`.

    See Also
    --------
    kernelrank.dyadic_holdout : The held-out scores of every setting.

    Notes
    -----
    The decompositions of one fit serve all alphas; each alpha then costs what `dyadic_holdout` says.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLSCV
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((12, 2)), rng.standard_normal((9, 2))
    >>> Y = drugs @ targets.T + rng.standard_normal((12, 9))
    >>> KroneckerRLSCV(alphas=[0.01, 0.1, 1.0, 10.0], setting="row").fit(drugs, targets, Y).alpha_
    1.0
    """
