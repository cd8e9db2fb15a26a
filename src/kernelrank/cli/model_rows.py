"""A model in rows: its kind, its options, and its training data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.cli.vote_effects import effect_rows
from kernelrank.persistence.provenance import final_step, provenance

if TYPE_CHECKING:
    from kernelrank.cli.large_file import LargeFile
    from kernelrank.data import Items

__all__ = ["changed_parameters", "counted", "setting_rows"]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Put a number before its noun.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "query", "queries")
    ('1 item', '1,200 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def changed_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters of the ranker that differ from their defaults, and always alpha and the kernel."""
    ranker = final_step(model)
    plain = type(ranker)().get_params()
    given = ranker.get_params()
    shown = {name: value for name, value in given.items() if _differs(value, plain[name]) or name == "kernel"}
    shown.pop("alphas", None)
    shown.pop("random_state", None)
    chosen = getattr(ranker, "best_params_", None)
    alpha = {"alpha": getattr(ranker, "alpha_", given.get("alpha"))}
    return {**alpha, **shown, **(chosen or {})}


def _differs(value: object, other: object) -> bool:
    if hasattr(value, "tolist") or isinstance(value, (list, tuple)):
        return False
    return bool(value != other)


def setting_rows(model: Any, items: Items | LargeFile | None = None) -> list[tuple[str, str]]:
    """Return the description of a model as rows of the text table."""
    ranker = final_step(model)
    parameters = changed_parameters(model)
    rows = [("model", type(ranker).__name__)]
    rows.append(("options", ", ".join(f"{name} {_shown(value)}" for name, value in parameters.items())))
    if ranker is not model:
        rows.append(("columns", "standardised before training"))
    rows.append(("data", _data(model, items)))
    n_pairs = getattr(ranker, "n_pairs_", None)
    if n_pairs:
        idle = getattr(ranker, "n_idle_queries_", 0)
        left = f"; {counted(idle, 'query has', 'queries have')} none" if idle else ""
        rows.append(("compared", f"{counted(n_pairs, 'pair')}{left}"))
    rows += effect_rows(ranker)
    iterations = f", {counted(ranker.n_iter_, 'iteration')}" if ranker.n_iter_ > 1 else ""
    rows.append(("solved by", f"{ranker.solver_}{iterations}"))
    if hasattr(ranker, "gap_"):
        rows.append(("duality gap", f"{ranker.gap_:.2g} of the objective"))
    return rows


def _shown(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _data(model: Any, items: Items | LargeFile | None) -> str:
    ranker, known = final_step(model), provenance(model)
    n_items = len(items) if items is not None else known.get("items")
    n_queries = getattr(ranker, "n_queries_", None) if getattr(ranker, "n_pairs_", 0) else None
    parts = [] if n_items is None else [counted(n_items, "item")]
    parts.append(counted(model.n_features_in_, "column"))
    if n_queries is not None:
        parts.append(counted(n_queries, "query", "queries"))
    file = items.path if items is not None else known.get("file")
    return ", ".join(parts) + (f" of {file}" if file else "")
