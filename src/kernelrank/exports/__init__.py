"""A fitted ranker as a file for other programs: ONNX, search engines, SQL, Python, JSON."""

from kernelrank.exports.formula import FORMAT_NAMES, KernelTerm, ScoringFormula, export, formula_of

__all__ = ["FORMAT_NAMES", "KernelTerm", "ScoringFormula", "export", "formula_of"]
