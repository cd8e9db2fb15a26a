"""The same names on a cluster: estimators for Dask arrays and data frames of any size."""

from importlib.util import find_spec
from typing import Any

from kernelrank.base.lazy import late_names
from kernelrank.errors import MissingExtraError

__all__, _find, _ = late_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import an estimator at its first use: ``import kernelrank.dask`` works without Dask."""
    if name in __all__:
        try:
            import dask.array  # noqa: F401
            import distributed  # noqa: F401
        except ImportError:
            raise MissingExtraError("dask", "dask") from None
    return _find(name)


def __dir__() -> list[str]:
    """List the estimators; none without Dask, so that ``help`` finds what it lists."""
    return sorted(__all__) if find_spec("dask") and find_spec("distributed") else []
