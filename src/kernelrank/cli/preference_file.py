"""A file of preferences as a command reads it: which columns are what, and which items they compare."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.learner import LearnerOptions
    from kernelrank.data import Items, Preferences

__all__ = ["PreferenceFile", "refuse_columns"]

ARGUMENT = re.compile(r"\b(winner|loser|left|right|tie|weight|judge)=(?=[\s,;)]|$)")
"""An argument of `read_pairs` in a message, which is an option of the command."""


@dataclass(frozen=True)
class PreferenceFile:
    """A file of preferences and how it is to be read.

    Parameters
    ----------
    path : Path
        "-" is standard input.
    winner, loser, left, right, tie, weight, judge : str or None
        Columns, as the options say; None lets the reader guess.
    """

    path: Path
    winner: str | None = None
    loser: str | None = None
    left: str | None = None
    right: str | None = None
    tie: str | None = None
    weight: str | None = None
    judge: str | None = None

    def read(self, answer: Answer, items: list[object] | None = None) -> Preferences:
        """Read the file, and note what was guessed; `items` are the names that it may have."""
        from kernelrank.data import read_pairs
        from kernelrank.errors import InvalidInputError

        columns = {name: value for name, value in asdict(self).items() if name != "path"}
        try:
            found = read_pairs(str(self.path), items=items, **columns)
        except InvalidInputError as error:
            error.args = (ARGUMENT.sub(r"--\1", str(error)),)
            raise
        if found.notes:
            answer.note(f"{self.path}: {'; '.join(found.notes)}")
        if found.weight is not None and not (found.weight > 0).any():
            raise InvalidInputError(
                f"{self.path}: every weight is zero: expected a vote with a weight above zero. An empty --pair-weight "
                "ignores weights"
            )
        return found

    def between(self, items: Items, answer: Answer) -> Preferences:
        """Read preferences between items: by name where they have names, by number, from 0, elsewhere."""
        from kernelrank.errors import InvalidInputError

        found = self.read(answer, None if items.ids is None else items.ids.tolist())
        if found.names is not None and items.ids is None:
            raise InvalidInputError(
                f"{self.path}: has names such as {str(found.names[0])!r}, but the items of {items.path} have no names: "
                "give --id"
            )
        largest = int(found.pairs.max())
        if largest >= len(items):
            raise InvalidInputError(
                f"{self.path}: has the item number {largest}, but the items of {items.path} go from 0 to "
                f"{len(items) - 1}"
            )
        return found

    def without_ties(self, found: Preferences, answer: Answer, reason: str) -> Preferences:
        """Leave the ties out, and note how many and why."""
        from kernelrank.errors import InvalidInputError

        if found.tie is None:
            return found
        if found.tie.all():
            raise InvalidInputError(f"{self.path}: has only ties, {reason}")
        answer.note(f"{self.path}: left out: {counted(int(found.tie.sum()), 'tie')}, {reason}")
        return found._replace(magnitude=_beside_ties(found)).chosen(~found.tie)

    def votes(self, found: Preferences, method: str) -> dict[str, Any]:
        """Return the arguments of `fit_pairs` for a method that does not support magnitudes."""
        from kernelrank.errors import InvalidInputError

        if _beside_ties(found) is not None:
            raise InvalidInputError(
                f"{self.path}: has magnitudes, which --method {method} does not support: use --method rankrls"
            )
        tie = None if found.tie is None or not found.tie.any() else found.tie
        given = {"pairs": found.pairs, "tie": tie, "weight": found.weight}
        return {name: value for name, value in given.items() if value is not None}

    def effects(self, found: Preferences, learner: LearnerOptions) -> dict[str, Any]:
        """Return what `fit_pairs` needs for a side bias and effects of judges; raise an error if the file lacks it."""
        from kernelrank.errors import InvalidInputError

        given: dict[str, Any] = {}
        if learner.side_bias or learner.judge_effect == "side":
            flag = "--side-bias" if learner.side_bias else "--judge-effect side"
            if found.side is None:
                raise InvalidInputError(
                    f"{self.path}: {flag} needs the side of each item: expected two columns of items, such as left and "
                    "right or model_a and model_b, and a column that says who won; found winners and losers. Name the "
                    f"columns with --left, --right and --winner, or remove {flag}"
                )
            given["side"] = found.side
        if learner.judge_effect is not None:
            flag = f"--judge-effect {learner.judge_effect}"
            if found.judge is None:
                raise InvalidInputError(
                    f"{self.path}: {flag} needs the judge of each vote: expected a column of judges; found none. Name "
                    f"it with --judge, or remove {flag}"
                )
            given["judge"] = found.judge
        return given

    def check_holdout(self, found: Preferences) -> None:
        """Raise an error if nothing can be learnt from some preferences and measured on others."""
        import numpy as np

        from kernelrank.errors import InvalidInputError

        counts = np.ones(len(found.pairs), dtype=np.bool_) if found.weight is None else found.weight > 0
        if found.tie is not None and found.tie[counts].all():
            raise InvalidInputError(
                f"{self.path}: has only ties, which neither order agrees with, so that alpha cannot be chosen"
            )
        if counts.sum() < 2:
            raise InvalidInputError(
                f"{self.path}: expected at least two votes to hold out; found {int(counts.sum())}. Use kernelrank fit "
                "with --alpha"
            )
        judges = None if found.judge is None else dict.fromkeys(found.judge[counts].tolist())
        if judges is not None and len(judges) < 2:
            raise InvalidInputError(
                f"{self.path}: expected at least two judges to hold out one at a time; found {next(iter(judges))!r} "
                "only. An empty --judge holds out votes instead"
            )


def refuse_columns(**columns: str | None) -> None:
    """Raise an error for columns of preferences that are named where there is no file of preferences."""
    from kernelrank.errors import InvalidInputError

    for role, column in columns.items():
        if column is not None:
            flag = f"--{role.replace('_', '-')}"
            raise InvalidInputError(
                f"{flag} names a column of preferences: give their file by --pairs, or remove {flag}"
            )


def _beside_ties(found: Preferences) -> Float | None:
    """Return the magnitudes, if they say more than which preferences are ties."""
    if found.magnitude is None or (found.tie is not None and not set(found.magnitude.tolist()) - {0.0, 1.0}):
        return None
    return found.magnitude
