"""The public names, and the modules that they are imported from at their first use."""

from kernelrank.persistence.model_files import (
    column_names as column_names,
    feature_names as feature_names,
    final_step as final_step,
    levels_of as levels_of,
    load as load,
    provenance as provenance,
    register as register,
    save as save,
    trusted_types as trusted_types,
)
