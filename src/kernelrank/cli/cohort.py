"""Two classes of items, as ``kernelrank auc`` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelrank.cli.learner import scaled
from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.learner import LearnerOptions
    from kernelrank.data import Items

__all__ = ["Cohort"]


@dataclass(frozen=True, eq=False)
class Cohort:
    """Two classes of items.

    Parameters
    ----------
    X : array or sparse matrix, shape (m, n_features)
    y : ndarray, shape (m,)
        The classes by name, if they have names.
    y01 : ndarray, shape (m,)
        The same as numbers.
    groups : ndarray, shape (m,), or None
    positive : label
    reason : str
        Why this class is positive.
    """

    X: Any
    y: Any
    y01: Any
    groups: Any
    positive: Any
    reason: str

    @classmethod
    def of(cls, items: Items, learner: LearnerOptions, answer: Answer) -> Cohort:
        """Scale the columns if requested, and give the classes their names."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        for what, values in (("queries", items.qid), ("weights of items", items.weight)):
            if values is not None:
                answer.note(f"{what} are ignored: every positive item is compared once with every negative one")
        y: Any = items.y
        levels = np.unique(y)
        if len(levels) != 2:
            some = ", ".join(f"{level:g}" for level in levels[:5])
            raise InvalidInputError(
                f"{items.path}: an AUC needs two classes, and the target has {counted(len(levels), 'value')} ({some}"
                f"{', ...' if len(levels) > 5 else ''})"
            )
        y01 = (y == levels[1]).astype(float)
        if items.classes is not None:
            y = np.array(items.classes)[y.astype(int)]
        elif np.all(levels == np.rint(levels)):
            y = y.astype(np.int64)  # classes are called 0 and 1, as in the file
        positive = y[y01 == 1][0].item()
        X = scaled(learner.scaler(items.X), items.X)
        return cls(X, y, y01, items.groups, positive, items.positive_reason or "the larger number")

    def can_be_permuted(self, answer: Answer) -> bool:
        """Whether groups can exchange their classes: some must have the same number of items."""
        import numpy as np

        if self.groups is None:
            return True
        sizes = np.unique(self.groups, return_counts=True)[1]
        if len(np.unique(sizes)) < len(sizes):
            return True
        answer.note(
            "no p-value: a permutation exchanges classes between groups of the same size, and no two groups have "
            "the same size"
        )
        return False

    def can_be_drawn(self, answer: Answer) -> bool:
        """Whether the tournament can be played: with three items, or groups, of each class."""
        from kernelrank.metrics.roc import TwoClasses, check_groups, shared_groups

        classes = TwoClasses.read(self.y, len(self.y), pos_label=self.positive)
        groups = shared_groups(check_groups(self.groups, classes))
        if classes.has(3, groups):
            return True
        noun = "items" if groups is None else "groups"
        answer.note(f"no ROC curve: the tournament needs three {noun} of each class")
        return False

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a positive and a negative item."""
        positives = int(self.y01.sum())
        return positives * (len(self.y01) - positives)
