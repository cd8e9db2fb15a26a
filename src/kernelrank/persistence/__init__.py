"""Models as files that cannot run code."""

from typing import TYPE_CHECKING

from kernelrank.base.lazy import late_names

if TYPE_CHECKING:
    from kernelrank.persistence.model_files import load, register, save, trusted_types

__all__ = [
    "load",
    "register",
    "save",
    "trusted_types",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "load": "model_files",
        "register": "model_files",
        "save": "model_files",
        "trusted_types": "model_files",
    },
)
