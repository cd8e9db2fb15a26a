"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.persistence.model_files import (
    load as load,
    register as register,
    save as save,
    trusted_types as trusted_types,
)
