"""A scoring formula as a Python module with one function, which needs NumPy only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kernelrank.exports.formula import KernelTerm, ScoringFormula

__all__ = ["KERNELS", "python_fault", "python_function"]

HEAD = '''"""Score items as a fitted {model} does. Written by kernelrank {version}; needs NumPy only."""

import numpy as np

FEATURES = {features}
'''

SCORE = '''

def score(X):
    """Return the scores of items: {shape}; a higher score ranks higher.

    X is {inputs}.
    """
{body}'''

ARRAY = """    if hasattr(X, "keys"):
        X = np.column_stack([np.asarray(X[name], dtype=float) for name in FEATURES])
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != len(FEATURES):
        raise ValueError(f"Expected X of shape (m, {len(FEATURES)}); got {X.shape}.")
"""

TABLE = """    missing_words = {missing}
    columns = []
    for name, kind, fill, levels, indicator in {columns}:
        cells = list(X[name])
        missing = [
            cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in missing_words)
            for cell in cells
        ]
        if kind == "category":
            columns += [[float(cell == level) for cell in cells] for level in levels]
        elif kind == "ordinal":
            columns.append([fill if gone else float(levels.index(cell)) for cell, gone in zip(cells, missing)])
        else:
            columns.append([fill if gone else float(cell) for cell, gone in zip(cells, missing)])
        if indicator:
            columns.append([float(gone) for gone in missing])
    X = np.column_stack([np.asarray(column, dtype=float) for column in columns])
"""

PYTHON_KERNELS = {
    "poly": "({gamma!r} * (rows @ items.T) + {coef0!r}) ** {degree!r}",
    "cosine": "_directions(rows) @ _directions(items).T",
    "rbf": "np.exp(-{gamma!r} * np.maximum(_squares(rows - middle) - 2 * (rows - middle) @ (items - middle).T"
    " + _squares(items - middle).T, 0))",
    "laplacian": "np.exp(-{gamma!r} * np.abs(rows[:, None] - items).sum(axis=2))",
    "chi2": "np.exp(-{gamma!r} * _chi2(rows, items))",
}
"""The kernel of some rows and all basis items."""

HELPERS = {
    "_squares": """

def _squares(rows):
    return np.square(rows).sum(axis=1, keepdims=True)
""",
    "_directions": """

def _directions(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1.0, lengths)
""",
    "_chi2": """

def _chi2(rows, items):
    total = rows[:, None] + items
    return (np.square(rows[:, None] - items) / np.where(total == 0, 1.0, total)).sum(axis=2)
""",
}

TERM = """    items = np.array({items})
    dual = np.array({dual})
    seen = {seen}
    middle = items.mean(axis=0)
    step = max(1, {cells} // items.size)
    for start in range(0, len(X), step):
        rows = seen[start : start + step]
        scores[start : start + step] += {kernel} @ dual
"""
CELLS = 4_000_000
"""How many numbers a block of differences has."""


def python_fault(formula: ScoringFormula) -> str | None:
    """Return which part of a formula the function cannot represent; None if it can represent all."""
    for term in formula.terms:
        if term.metric not in PYTHON_KERNELS or set(term.kernel.parameters) - {"gamma", "degree", "coef0"}:
            return f"it supports the kernels linear, {', '.join(PYTHON_KERNELS)}, and the kernel is {term.metric}"
    return None


def python_function(formula: ScoringFormula) -> bytes:
    """Return the source of a module with the function ``score``."""
    from kernelrank import __version__

    lines = []
    if formula.scaled:
        lines.append(f"    X = (X - np.array({formula.mean.tolist()!r})) / np.array({formula.scale.tolist()!r})\n")
    lines.append(f"    scores = np.zeros((len(X), {len(formula.output_names)}))\n")
    if formula.weights is not None:
        lines.append(f"    scores += X @ np.array({formula.weights.T.tolist()!r})\n")
    lines += [_term(term) for term in formula.terms]
    lines.append(f"    return {'scores[:, 0]' if formula.one_output else 'scores'}\n")
    body = "".join([_inputs(formula), *lines])
    named = "a mapping from the names of FEATURES to columns"
    text = HEAD.format(model=formula.model, version=__version__, features=repr(_columns(formula)))
    text += "".join(helper for name, helper in HELPERS.items() if name in body)
    text += SCORE.format(
        shape="shape (m,)" if formula.one_output else f"shape (m, {len(formula.output_names)})",
        inputs=f"{named}, such as a data frame" if formula.takes_words else f"an array with these columns, or {named}",
        body=body,
    )
    return text.encode()


def _columns(formula: ScoringFormula) -> tuple[str, ...]:
    return formula.preparation.names if formula.preparation is not None else formula.feature_names


def _inputs(formula: ScoringFormula) -> str:
    """Return the lines that make numbers of X."""
    if formula.takes_words:
        from kernelrank.data.preparation import MISSING_WORDS

        assert formula.preparation is not None
        columns: list[Any] = [
            (column.name, column.kind, column.fill, column.levels, column.indicator)
            for column in formula.preparation.columns
        ]
        return TABLE.format(missing=repr(tuple(sorted(MISSING_WORDS))), columns=_source(columns))
    fills = formula.fills
    if np.all(np.isnan(fills)):
        return ARRAY
    return ARRAY + f"    X = np.where(np.isnan(X), np.array({_source(fills.tolist())}), X)\n"


def _term(term: KernelTerm) -> str:
    return TERM.format(
        items=repr(term.items.tolist()),
        dual=repr(term.dual.tolist()),
        seen="X" if term.columns is None else f"X[:, {term.columns.tolist()!r}]",
        cells=CELLS,
        kernel=PYTHON_KERNELS[term.metric].format(**term.parameters),
    )


def _source(value: Any) -> str:
    """Write plain data as Python does, with a name for what is no number."""
    if isinstance(value, float) and np.isnan(value):
        return "np.nan"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_source, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    return repr(value)
