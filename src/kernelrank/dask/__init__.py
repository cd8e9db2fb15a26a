"""The same names on a cluster: estimators for Dask arrays and data frames of any size."""

from kernelrank.errors import MissingExtraError

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError:
    raise MissingExtraError("dask", "dask") from None

from kernelrank.dask.rank_rls import DaskRankRLS
from kernelrank.dask.rank_rls_cv import DaskRankRLSCV

__all__ = ["DaskRankRLS", "DaskRankRLSCV"]
