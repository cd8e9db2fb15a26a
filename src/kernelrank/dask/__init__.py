"""The same names on a cluster: estimators for Dask arrays and data frames of any size."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kernelrank.base.lazy import late_names
from kernelrank.errors import MissingExtraError

if TYPE_CHECKING:
    from kernelrank.dask.estimators import DaskRankRLS, DaskRankRLSCV

__all__ = ["DaskRankRLS", "DaskRankRLSCV"]

_find, _ = late_names(__name__, dict.fromkeys(__all__, "estimators"))


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
