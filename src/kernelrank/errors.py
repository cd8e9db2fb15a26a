"""The error tree.

::

    KernelRankError
    ├── InvalidInputError (also ValueError)   data or an option that cannot be used; the message names it
    │   ├── NothingToCompareError             no two items differ: one-item queries, all ties, no pairs
    │   └── FileFormatError                   a line that cannot be read; `.path`, `.line` and `.column` say where
    ├── ModelFileError (also ValueError)      a model file that is damaged, foreign or from the future
    └── MissingExtraError (also ImportError)  an optional dependency; the message has the pip line

Warnings stand apart, below scikit-learn's and Python's own::

    ConvergenceWarning
    └── NotConverged                          an iteration stopped at `max_iter`; the message has what is left
    UserWarning
    ├── EmptyBasisWarning                     held-out items were the whole basis; the message has how often
    ├── EdgeOfGridWarning                     the best alpha is the smallest or the largest that was tried
    ├── LostDigitsWarning                     rounding has left few digits; the message has how many, and what to do
    ├── PooledAUCWarning                      scores of different models were compared; the message has the reason
    ├── SkippedCandidateWarning               pairs that have no score; the message names the first
    ├── SplitDocumentWarning                  what belongs together is trained on and tested on
    └── UnconnectedVotesWarning               no vote compares items of two groups; the message has their sizes
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from kernelrank.base.text import printable

__all__ = [
    "EdgeOfGridWarning",
    "EmptyBasisWarning",
    "FileFormatError",
    "InvalidInputError",
    "KernelRankError",
    "LostDigitsWarning",
    "MissingExtraError",
    "ModelFileError",
    "NotConverged",
    "NothingToCompareError",
    "PooledAUCWarning",
    "SkippedCandidateWarning",
    "SplitDocumentWarning",
    "UnconnectedVotesWarning",
]


class KernelRankError(Exception):
    """Base class of all errors of kernelrank."""


class InvalidInputError(KernelRankError, ValueError):
    """Data or an option is not valid."""


class NothingToCompareError(InvalidInputError):
    """No two items can be compared, so there is nothing to learn from."""


class FileFormatError(InvalidInputError):
    """A file does not have the expected format; the message, in one line, names the file, line and column.

    Parameters
    ----------
    message : str
        What is wrong and what was expected.
    path : str
        The file.
    line : int or None
        The line, counted from one.
    column : str or None
        The name of the column, in a file that has names for them.
    row : str or None
        The row in words, in a file that has no lines.
    """

    def __init__(
        self, message: str, path: str, line: int | None = None, *, column: str | None = None, row: str | None = None
    ) -> None:
        self.path = path
        self.line = line
        self.column = column
        places = [
            path,
            row,
            None if line is None else f"line {line}",
            None if column is None else f"column {column!r}",
        ]
        super().__init__(printable(f"{', '.join(place for place in places if place is not None)}: {message}"))


class ModelFileError(KernelRankError, ValueError):
    """A model file is damaged, has another format, or is from a later version."""


class MissingExtraError(KernelRankError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that was looked for.
    extra : str
        The extra of kernelrank that includes it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'kernelrank[{extra}]'")


class NotConverged(ConvergenceWarning):
    """An iterative solver stopped before it reached its tolerance."""


class PooledAUCWarning(UserWarning):
    """An AUC pools scores of different models, which is biased low."""


class EmptyBasisWarning(UserWarning):
    """Held-out items include every basis item: the model without them is zero."""


class EdgeOfGridWarning(UserWarning):
    """The best alpha of a search is at the edge of the grid."""


class LostDigitsWarning(UserWarning):
    """Rounding errors are large; the message gives the expected accuracy.

    Alpha is tiny relative to the kernel or the columns, or `forget` removed items much larger than those that remain.
    """


class SkippedCandidateWarning(UserWarning):
    """Some candidate pairs were left out because their graphs have no features."""


class SplitDocumentWarning(UserWarning):
    """Items of one document are in training and test data: measures will be too optimistic."""


class UnconnectedVotesWarning(UserWarning):
    """The votes do not connect all items: the order across unconnected groups is unknown."""
