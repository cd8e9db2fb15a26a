"""``kernelrank auc --select``: columns are selected anew in every training set."""

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
    """Refuse what a selection cannot be combined with; return whether there is a curve, and how many permutations."""
    from kernelrank.errors import InvalidInputError

    if kernel != "linear":
        raise InvalidInputError(f"--select selects columns for the linear kernel; --kernel {kernel} has none")
    if permutations and grouped:
        raise InvalidInputError("--select has no p-value for groups: leave out --permutations, or --groups")
    if roc:
        answer.note("no ROC curve: with --select it would take a selection without every pair of items")
    if permutations is None:
        answer.note("no p-value: with --select it takes ten selections a permutation; --permutations 100 asks for it")
    return False, permutations or 0


def selector(number: int, alpha: float | None, grid: Any, X: Any) -> Any:
    """Return what selects so many columns, or all if there are fewer, with one alpha or one chosen at each step."""
    from kernelrank.estimators import GreedyRankRLS

    return GreedyRankRLS(min(number, X.shape[1]), alpha=grid if alpha is None else alpha)


def show_selected(answer: Answer, model: Any, items: Items) -> None:
    """Tell which columns are selected from all items."""
    names = items.column_names
    chosen = [f"column {number}" if names is None else str(names[number]) for number in model.selected_.tolist()]
    answer.fact("selected", chosen)
    answer.line(
        f"{counted(len(chosen), 'column')} selected anew in every training set; from all items: {', '.join(chosen)}."
    )
