"""Progress: scikit-learn's callbacks, if the installed scikit-learn has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.solvers.base import Step

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """What scikit-learn ≥ 1.9 adds to an estimator."""

        def _init_callback_context(self, **options: Any) -> Any: ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:  # scikit-learn 1.8

        class CallbackSupportMixin:
            """Stand-in for scikit-learn's callback mixin, which needs scikit-learn 1.9."""


__all__ = ["CallbackSupportMixin", "FitProgress", "GapProgress"]


class FitProgress:
    """Tells the callbacks of an estimator about its fit and the iterations inside.

    Parameters
    ----------
    estimator : estimator
        The estimator that is being fitted.
    X, y : array-like
        Its training data, which a callback may ask for.
    """

    def __init__(self, estimator: Any, X: Any, y: Any = None) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self._context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self.data)

    @property
    def step(self) -> Step | None:
        """The function that a solver calls after each iteration; None without callbacks."""
        context = self._context
        if context is None or not getattr(self.estimator, "_skl_callbacks", None):
            return None

        def step(number: int, residual: float) -> bool:  # noqa: ARG001 - a callback counts; it is not told the residual
            iteration = context.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return bool(iteration.call_on_fit_task_end(estimator=self.estimator, **self.data))

        return step

    def done(self) -> None:
        """Close the task of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self.estimator, **self.data)


class GapProgress(FitProgress):
    """Progress that leaves the current gap on the estimator, where callbacks find it."""

    @property
    def step(self) -> Step | None:
        """The function that a solver calls after each iteration; None without callbacks."""
        tell = super().step
        if tell is None:
            return None

        def step(number: int, gap: float) -> bool:
            self.estimator.gap_ = gap
            return tell(number, gap)

        return step
