"""What people look at: displays in scikit-learn's style."""

from kernelrank.report.alpha_curve import AlphaCurveDisplay
from kernelrank.report.query_scores import QueryScoreDisplay
from kernelrank.report.roc import ROCDisplay

__all__ = ["AlphaCurveDisplay", "QueryScoreDisplay", "ROCDisplay"]
