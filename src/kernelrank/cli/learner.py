"""The learner that the options describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank.data import Items

__all__ = ["KERNELS_WITH", "KERNEL_OPTIONS", "REFITTED", "LearnerOptions", "check_kernel_options", "joined", "scaled"]

KERNEL_OPTIONS = ("gamma", "degree", "coef0")

TAKES = {
    "rankrls": {"cost", "ties", "query_weight"},
    "ranksvm": {"loss", "query_weight"},
    "rls": set(),
    "bradley_terry": {"ties", "side_bias", "judge_effect"},
}
"""Which options belong to which method, beyond those of the kernel."""

TIES = {"rankrls": ("include", "exclude"), "bradley_terry": ("half", "davidson")}
"""What ``--ties`` may say, by method."""

SPECIAL = ("cost", "loss", "ties", "query_weight", "side_bias", "judge_effect")
"""The options that belong to some methods only."""

REFITTED = ("ranksvm", "bradley_terry")
"""The methods without an exact hold-out."""

KERNELS_WITH = {
    "gamma": ("rbf", "gaussian", "poly", "polynomial", "sigmoid", "laplacian", "chi2"),
    "degree": ("poly", "polynomial"),
    "coef0": ("poly", "polynomial", "sigmoid"),
}
"""Which kernels have a parameter."""


def check_kernel_options(kernels: Sequence[str], **given: Any) -> None:
    """Raise an error for a parameter that none of these kernels has.

    Parameters
    ----------
    kernels : sequence of str
    **given
        What the options say, by their flags: gamma or gammas, degree or degrees, coef0; None where they are silent.
    """
    from kernelrank.errors import InvalidInputError

    for flag, value in given.items():
        owners = KERNELS_WITH[flag.rstrip("s")]
        if value is not None and not any(kernel in owners for kernel in kernels):
            raise InvalidInputError(
                f"--{flag} has no effect with the kernel {', '.join(kernels)}: it is for {', '.join(owners)}"
            )


@dataclass(frozen=True)
class LearnerOptions:
    """The options of the learner; None where an option is not given.

    Parameters
    ----------
    method : {"rankrls", "ranksvm", "rls", "bradley_terry"}
    kernel : str
    gamma, degree, coef0, cost, loss, ties, query_weight, basis, side_bias, judge_effect
        Parameters of the estimator.
    scale : bool
        Whether columns are divided by their standard deviations first.
    seed : int
    classes : bool
        Whether the target is two classes by name, for which "rls" is a classifier.
    """

    method: str = "rankrls"
    kernel: str = "linear"
    gamma: float | str | None = None
    degree: float | None = None
    coef0: float | None = None
    cost: str | None = None
    loss: str | None = None
    ties: str | None = None
    query_weight: str | None = None
    basis: int | None = None
    side_bias: bool | None = None
    judge_effect: str | None = None
    scale: bool = False
    seed: int = 0
    classes: bool = False

    def of_items(self, items: Items) -> LearnerOptions:
        """Return the options for these items: least squares learn two classes that have names as classes."""
        return replace(self, classes=items.classes is not None)

    def estimator(self, alpha: float | None) -> Any:
        """Return the estimator for one alpha."""
        from kernelrank import estimators, votes

        room = votes if self.method == "bradley_terry" else estimators
        squares = "RLSClassifier" if self.classes else "RLS"
        kinds = {"rankrls": "RankRLS", "ranksvm": "RankSVM", "rls": squares, "bradley_terry": "BradleyTerry"}
        return getattr(room, kinds[self.method])(1.0 if alpha is None else alpha, **self.parameters())

    def search(self, alphas: Any, **options: Any) -> Any:
        """Return the estimator that chooses among alphas by exact hold-out; not for `REFITTED` methods."""
        from kernelrank import model_selection

        kinds = {"rankrls": "RankRLSCV", "rls": "RLSClassifierCV" if self.classes else "RLSCV"}
        return getattr(model_selection, kinds[self.method])(alphas, **self.parameters(), **options)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that were given; raise an error for those of another method."""
        from kernelrank.errors import InvalidInputError

        special = {name: getattr(self, name) for name in SPECIAL}
        for name, value in special.items():
            if value is not None and name not in TAKES[self.method]:
                owners = [method for method, names in TAKES.items() if name in names]
                flag = name.replace("_", "-")
                raise InvalidInputError(f"--{flag} belongs to --method {' or '.join(owners)}, not to {self.method}")
        if self.ties is not None and self.ties not in TIES[self.method]:
            raise InvalidInputError(
                f"--ties: expected {' or '.join(TIES[self.method])} with --method {self.method}; got {self.ties}"
            )
        given = {**special, **{name: getattr(self, name) for name in (*KERNEL_OPTIONS, "basis")}}
        chosen = {name: value for name, value in given.items() if value is not None}
        return {"kernel": self.kernel, **chosen, "random_state": self.seed}

    def check_votes(self, *, pairs: bool, judge: bool) -> None:
        """Raise an error for options of votes where there are none, and for judges that nothing depends on.

        Parameters
        ----------
        pairs : bool
            Whether there is a file of preferences.
        judge : bool
            Whether their judges were named, and have no other use.
        """
        from kernelrank.errors import InvalidInputError

        for_votes = {"--side-bias": self.side_bias, "--judge-effect": self.judge_effect}
        if self.method == "bradley_terry":
            for_votes["--ties"] = self.ties
        for flag, value in for_votes.items():
            if value and not pairs:
                raise InvalidInputError(f"{flag} needs votes: give their file by --pairs, or remove {flag}")
        if judge and self.judge_effect is None:
            raise InvalidInputError(
                "--judge has no effect without --judge-effect: remove it, or use tune, which holds out judges"
            )

    def scaler(self, X: Any) -> Any:
        """Return the scaling of these columns, fitted, or None if it is not requested."""
        if not self.scale:
            return None
        from scipy import sparse
        from sklearn.preprocessing import StandardScaler

        return StandardScaler(with_mean=not sparse.issparse(X)).fit(X)


def scaled(scaler: Any, X: Any) -> Any:
    """Return the items with scaled columns."""
    return X if scaler is None else scaler.transform(X)


def joined(scaler: Any, ranker: Any) -> Any:
    """Put a scaling before a ranker, both fitted."""
    if scaler is None:
        return ranker
    from sklearn.pipeline import Pipeline

    return Pipeline([("scale", scaler), ("rank", ranker)])
