"""A scoring formula as an ONNX graph.

A kernel matrix is never larger than batch × basis items: squared distances come from squared lengths, around the mean
of the basis items, so that few digits are lost. Kernels that need every difference of two items are left to other
formats. A graph computes in double precision, also where single precision goes in and comes out: sums over basis items
are differences of large numbers.
"""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kernelrank import __version__
from kernelrank.data.table import MISSING_WORDS
from kernelrank.errors import MissingExtraError

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.data.preparation import PreparedColumn
    from kernelrank.exports.formula import KernelTerm, ScoringFormula

KERNELS = ("poly", "rbf", "cosine")
UNKNOWN, MISSING = -1.0, -2.0
"""The codes of a word that is no level, and of one that says that there is none."""

Precision = Literal["float64", "float32"]


def onnx_fault(formula: ScoringFormula) -> str | None:
    """Return which part of a formula ONNX cannot represent; None if it can represent all."""
    for term in formula.terms:
        if term.metric not in KERNELS:
            return f"it has linear, poly, rbf and cosine kernels, and the kernel is {term.metric}"
    if 8 * sum(term.items.size for term in formula.terms) > 2e9:
        return "it holds at most 2 GB, and the model is larger"
    return None


def onnx_model(formula: ScoringFormula, *, dtype: Precision = "float64") -> bytes:
    """Return an ONNX file: input ``X``, or one input for each column of a prepared table; output ``scores``."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "onnx") from None
    graph = _Graph(onnx, dtype)
    scores = _scores(graph, formula, _items(graph, formula))
    if formula.one_output:
        scores = graph.node("Squeeze", scores, graph.constant(np.array([1])))
    graph.node("Cast", scores, name="scores", to=graph.outside)
    shape: list[Any] = ["items"] if formula.one_output else ["items", len(formula.output_names)]
    output = onnx.helper.make_tensor_value_info("scores", graph.outside, shape)
    made = onnx.helper.make_graph(graph.nodes, "kernelrank", graph.inputs, [output], graph.constants)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = onnx.helper.make_model(
        made, opset_imports=opsets, ir_version=8, producer_name="kernelrank", producer_version=__version__
    )
    names = {"features": json.dumps(formula.feature_names), "outputs": json.dumps(formula.output_names)}
    onnx.helper.set_model_props(model, {"model": formula.model, **names})
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


class _Graph:
    """The nodes, inputs and constants of a graph, each under a name of its own."""

    def __init__(self, onnx: Any, dtype: Precision) -> None:
        self._onnx = onnx
        self._numbers = itertools.count()
        self.outside = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []

    def input(self, name: str, columns: int, *, words: bool = False) -> str:
        """Add an input of some columns; numbers are in double precision from here on."""
        kind = self._onnx.TensorProto.STRING if words else self.outside
        self.inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, ["items", columns]))
        return name if words else self.number(name)

    def constant(self, value: Any) -> str:
        """Add an array of real or whole numbers."""
        array = np.asarray(value)
        array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        name = f"constant{next(self._numbers)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator: str, *inputs: str, name: str = "", domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output, and return the name of that."""
        output = name or f"{operator.lower()}{next(self._numbers)}"
        made = self._onnx.helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def number(self, node: str) -> str:
        """Turn what is of another type into numbers in double precision."""
        return self.node("Cast", node, to=self._onnx.TensorProto.DOUBLE)


def _items(graph: _Graph, formula: ScoringFormula) -> str:
    """Return the features, prepared and scaled, (items, n)."""
    n_features = len(formula.feature_names)
    if formula.takes_words:
        assert formula.preparation is not None
        columns = [part for column in formula.preparation.columns for part in _column(graph, column)]
        Z = graph.node("Concat", *columns, axis=1)
    else:
        Z = _filled(graph, graph.input("X", n_features), formula.fills)
    if formula.scaled:
        Z = graph.node("Sub", Z, graph.constant(formula.mean))
        Z = graph.node("Div", Z, graph.constant(formula.scale))
    return Z


def _filled(graph: _Graph, values: str, fills: Float | float) -> str:
    """Put fills in the place of missing numbers; without any, NaN stays NaN."""
    if np.all(np.isnan(fills)):
        return values
    return graph.node("Where", graph.node("IsNaN", values), graph.constant(np.asarray(fills, np.float64)), values)


def _column(graph: _Graph, column: PreparedColumn) -> list[str]:
    """Return the features of one column of a table, each (items, 1) or (items, levels)."""
    if column.kind == "number":
        cells = graph.input(column.name, 1)
        missing = graph.number(graph.node("IsNaN", cells)) if column.indicator else None
        features = _filled(graph, cells, column.fill)
        return [features] if missing is None else [features, missing]
    cells = graph.input(column.name, 1, words=True)
    # ONNX compares words as they are; a missing one may be written in either case.
    cases = (itertools.product(*({letter, letter.upper()} for letter in word)) for word in MISSING_WORDS)
    missing_words = sorted({"".join(letters) for letters in itertools.chain.from_iterable(cases)})
    words = {} if column.kind == "category" else dict.fromkeys(missing_words, MISSING)
    words |= {level: float(number) for number, level in enumerate(column.levels)}
    codes = _codes(graph, cells, words, UNKNOWN)
    if column.kind == "category":
        features = graph.number(graph.node("Equal", codes, graph.constant(np.arange(float(len(column.levels))))))
    else:
        features = codes
        for code, value in ((MISSING, column.fill), (UNKNOWN, float("nan"))):
            there = graph.node("Equal", codes, graph.constant(code))
            features = graph.node("Where", there, graph.constant(value), features)
    if not column.indicator:
        return [features]
    return [features, _codes(graph, cells, dict.fromkeys(missing_words, 1.0), 0.0)]


def _codes(graph: _Graph, cells: str, words: dict[str, float], unknown: float) -> str:
    """Return a number for each word."""
    table: dict[str, Any] = {
        "keys_strings": list(words),
        "values_floats": list(words.values()),
        "default_float": unknown,
    }
    return graph.number(graph.node("LabelEncoder", cells, domain="ai.onnx.ml", **table))


def _scores(graph: _Graph, formula: ScoringFormula, Z: str) -> str:
    """Return the scores, (items, outputs)."""
    parts = []
    if formula.weights is not None:
        parts.append(graph.node("MatMul", Z, graph.constant(formula.weights.T)))
    for term in formula.terms:
        seen = Z if term.columns is None else graph.node("Gather", Z, graph.constant(term.columns), axis=1)
        parts.append(graph.node("MatMul", _kernel(graph, term, seen), graph.constant(term.dual)))
    return functools.reduce(lambda total, part: graph.node("Add", total, part), parts)


def _kernel(graph: _Graph, term: KernelTerm, Z: str) -> str:
    """Return the kernel of items and basis items, (items, t)."""
    items, parameters = term.items, term.parameters
    if term.metric == "rbf":
        # -γ ‖z - i‖² = -γ ‖z‖² - γ ‖i‖² + 2 γ z·i, of items around the mean of the basis items; rounding may leave
        # a little more than zero.
        mean, gamma = items.mean(axis=0), parameters["gamma"]
        around = graph.node("Sub", Z, graph.constant(mean))
        lengths = graph.node("ReduceSumSquare", around, axes=[1], keepdims=1)
        lengths = graph.node("Mul", lengths, graph.constant(-gamma))
        products = graph.node("MatMul", around, graph.constant(2 * gamma * (items - mean).T))
        offsets = graph.constant(-gamma * np.square(items - mean).sum(axis=1))
        exponent = graph.node("Add", graph.node("Add", products, offsets), lengths)
        return graph.node("Exp", graph.node("Min", exponent, graph.constant(0.0)))
    if term.metric == "cosine":
        norms = np.linalg.norm(items, axis=1, keepdims=True)
        length = graph.node("Sqrt", graph.node("ReduceSumSquare", Z, axes=[1], keepdims=1))
        zero = graph.node("Equal", length, graph.constant(0.0))
        length = graph.node("Where", zero, graph.constant(1.0), length)
        directions = items / np.where(norms == 0, 1.0, norms)
        return graph.node("MatMul", graph.node("Div", Z, length), graph.constant(directions.T))
    products = graph.node("MatMul", Z, graph.constant(parameters["gamma"] * items.T))
    inner = graph.node("Add", products, graph.constant(parameters["coef0"]))
    return graph.node("Pow", inner, graph.constant(parameters["degree"]))
