"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.dask.estimators import DaskRankRLS as DaskRankRLS, DaskRankRLSCV as DaskRankRLSCV
