"""What ``kernelrank auc`` compares its model with: a marker of the table, or a model of some covariates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernelrank.base.progress import working
from kernelrank.base.text import pvalue
from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.data import Items
    from kernelrank.model_selection import AUCComparison

__all__ = ["NamedComparison", "Rivals"]


@dataclass(frozen=True, eq=False)
class NamedComparison:
    """A comparison of two AUCs, with the names of both sides.

    Parameters
    ----------
    option : str
        The option that asked for it: "versus" or "covariates".
    first, second : str
    found : AUCComparison
    """

    option: str
    first: str
    second: str
    found: AUCComparison

    def show(self, answer: Answer) -> None:
        """Add the comparison to an answer, as a table and as facts."""
        found = self.found
        sides = ((self.first, found.first), (self.second, found.second))
        low, high = found.interval
        level, _ = found.interval._fact()
        rows = [(name, f"{side.auc:.3f}", side.interval._fact()[1], "") for name, side in sides]
        rows.append(("difference", f"{found.difference:+.3f}", f"{low:+.3f} to {high:+.3f}", pvalue(found.pvalue)))
        answer.table(f"{self.first} versus {self.second}", ("", "AUC", level, "p"), rows)
        facts: dict[str, Any] = {
            place: {"name": name, "auc": side.auc, "low": side.interval.low, "high": side.interval.high}
            for place, (name, side) in zip(("first", "second"), sides, strict=True)
        }
        facts |= {"difference": found.difference, "low": low, "high": high, "confidence": found.interval.level}
        if self.option == "versus" and found.second.auc < 0.5:
            turned = self.second[1:] if self.second.startswith("-") else f"-{self.second}"
            answer.note(
                f"high values of {self.second} go with the negative class here. If you expected that before "
                f"seeing the data, --versus={turned} compares its low values"
            )
        answer.fact(self.option, facts | {"pvalue": found.pvalue, "interval": found.interval.method})


@dataclass(frozen=True)
class Rivals:
    """The options --versus and --covariates.

    Parameters
    ----------
    marker : str or None
        A column whose high values speak for the positive class; with a minus sign before it, its low values.
    covariates : tuple of str
        Columns that a model of its own learns from.
    """

    marker: str | None = None
    covariates: tuple[str, ...] = ()

    @classmethod
    def read(cls, versus: str | None, covariates: str | None) -> Rivals:
        """Parse the options --versus and --covariates."""
        from kernelrank.errors import InvalidInputError

        names = tuple(name.strip() for name in (covariates or "").split(",") if name.strip())
        if covariates is not None and not names:
            raise InvalidInputError("--covariates: expected columns separated by commas, such as age,sex; got nothing")
        if versus is not None and not versus.strip():
            raise InvalidInputError("--versus: expected the name of a column; got nothing")
        return cls(versus, names)

    def __bool__(self) -> bool:
        return self.marker is not None or bool(self.covariates)

    def features(self, features: str | None) -> str | None:
        """Return the value of --features, extended by the columns that the model is compared with."""
        if features is None or all(name.strip().startswith("!") for name in features.split(",")):
            return features
        named = [name.strip() for name in features.split(",")]
        wanted = [*self.covariates, *([] if self.marker is None else [self.marker.removeprefix("-")])]
        return ",".join([*named, *(name for name in wanted if name not in named)])

    def take_marker(self, items: Items) -> tuple[Items, Any]:
        """Return the items without the column of the marker, and its values; None if there is none."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        if self.marker is None:
            return items, None
        sign = 1.0
        name = self.marker
        if name not in items.column_names and name.startswith("-"):
            sign, name = -1.0, name[1:]
        column = _column(items, name, "--versus")
        if items.n_features == len(column):
            raise InvalidInputError(
                f"{items.path}: no feature column is left after removing the column {name!r} of --versus"
            )
        if name not in items.column_names:
            raise InvalidInputError(f"{items.path}: --versus: expected a column of numbers; {name!r} has categories")
        values = items.X[:, [items.column_names.index(name)]]
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64).ravel()
        kept = np.setdiff1d(np.arange(items.n_features), column)
        names = tuple(items.column_names[number] for number in kept)
        filled = None if items.filled is None else items.filled[:, kept]
        return replace(items, X=items.X[:, kept], feature_names=names, filled=filled), sign * values

    def require_pairs(self, method: str, n_pairs: int) -> None:
        """Raise an error for a comparison where the pairs are not held out."""
        from kernelrank.errors import InvalidInputError

        if self and method != "leave_pair_out":
            option = "--covariates" if self.marker is None else "--versus"
            raise InvalidInputError(
                f"{option} needs leave-pair-out, which is slow with a choice of alpha for "
                f"{counted(n_pairs, 'pair')}. Give one --alpha, or --cv leave_pair_out if you can wait"
            )

    def compare(
        self,
        estimator_of: Callable[[Any], Any],
        X: Any,
        y: Any,
        items: Items,
        marker: Any,
        **options: Any,
    ) -> list[NamedComparison]:
        """Compare the model of all columns with the marker, and with a model of the covariates.

        Parameters
        ----------
        estimator_of : function
            Makes the estimator for some items; both models are made alike.
        X, y
            All items, and their classes.
        items : Items
            Their names.
        marker : ndarray, shape (m,), or None
        options
            As in `compare_auc`.

        Returns
        -------
        list of NamedComparison
        """
        from kernelrank.errors import InvalidInputError
        from kernelrank.model_selection import compare_auc

        found = []
        if self.marker is not None:
            with working(f"comparing with {self.marker}"):
                comparison = compare_auc(estimator_of(X), marker, X, y, **options)
            found.append(NamedComparison("versus", "model", self.marker, comparison))
        if self.covariates:
            columns = sorted({number for name in self.covariates for number in _column(items, name, "--covariates")})
            if len(columns) == items.n_features:
                raise InvalidInputError(
                    f"{items.path}: --covariates names all feature columns: leave at least one out, so that "
                    "there is something to compare"
                )
            part = X[:, columns]
            with working("comparing with the covariates alone"):
                comparison = compare_auc(estimator_of(X), estimator_of(part), (X, part), y, **options)
            found.append(NamedComparison("covariates", "model", f"model of {', '.join(self.covariates)}", comparison))
        return found


def _column(items: Items, name: str, option: str) -> list[int]:
    """Return the numbers of the columns that a column of the file became: its categories, and where it is missing."""
    import difflib

    from kernelrank.errors import InvalidInputError

    own = (name, f"{name} is missing")
    known = items.column_names
    found = [number for number, made in enumerate(known) if made in own or made.startswith(f"{name}=")]
    if found:
        return found
    close = difflib.get_close_matches(name, items.column_names, n=1)
    hint = f" (is it {close[0]!r}?)" if close else ""
    shown = ", ".join(map(repr, items.column_names[:10])) + (", ..." if items.n_features > 10 else "")
    raise InvalidInputError(
        f"{items.path}: {option} names {name!r}, which is not a feature column{hint}; these are {shown}"
    )
