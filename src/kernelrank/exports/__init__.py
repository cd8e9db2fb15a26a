"""A fitted ranker as a file for other programs: ONNX, search engines, SQL, Python, JSON."""

from kernelrank.exports.exporter import FORMAT_NAMES, export
from kernelrank.exports.formula import KernelTerm, ScoringFormula, formula_of

__all__ = ["FORMAT_NAMES", "KernelTerm", "ScoringFormula", "export", "formula_of"]
