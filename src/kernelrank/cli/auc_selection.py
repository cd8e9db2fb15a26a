"""``kernelrank auc --select``: columns are selected again in every training set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.data import Items

__all__ = ["check_selection", "selector", "show_selected"]


def check_selection(
    answer: Answer, kernel: str, permutations: int | None, *, grouped: bool, roc: bool
) -> tuple[bool, int]:
    """Check what --select is combined with; return whether to draw the curve, and the number of permutations."""
    from kernelrank.errors import InvalidInputError

    if kernel != "linear":
        raise InvalidInputError(f"--select works with the linear kernel only; got --kernel {kernel}")
    if permutations and grouped:
        raise InvalidInputError("--select cannot compute a p-value with groups: remove --permutations or --groups")
    if roc:
        answer.note("no ROC curve: with --select it would need one feature selection for every held-out pair")
    if permutations is None:
        answer.note(
            "no p-value: with --select each permutation takes ten feature selections. Use --permutations 100 to "
            "compute it"
        )
    return False, permutations or 0


def selector(number: int, alpha: float | None, grid: Any, X: Any) -> Any:
    """Return what selects so many columns, or all if there are fewer, with one alpha or one chosen at each step."""
    from kernelrank.estimators import GreedyRankRLS

    return GreedyRankRLS(min(number, X.shape[1]), alpha=grid if alpha is None else alpha)


def show_selected(answer: Answer, model: Any, items: Items) -> None:
    """Add the columns that are selected from all items to the answer."""
    names = items.column_names
    chosen = [f"column {number}" if names is None else str(names[number]) for number in model.selected_.tolist()]
    answer.fact("selected", chosen)
    answer.line(
        f"{counted(len(chosen), 'column')} selected anew in every training set; from all items: {', '.join(chosen)}."
    )
