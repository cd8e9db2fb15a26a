"""scikit-learn's private names that the package uses, all of them here.

| name | where scikit-learn has it | versions |
|---|---|---|
| `fit_context` | `sklearn.base._fit_context` | 1.3 and later |
| `HasMethods`, `Interval`, `InvalidParameterError`, `StrOptions` | `sklearn.utils._param_validation` | 1.2 and later |
| `num_samples` | `sklearn.utils.validation._num_samples` | all |
| `safe_indexing` | `sklearn.utils._safe_indexing` | all |
| `safe_split` | `sklearn.utils.metaestimators._safe_split` | all |

The package asks for 1.8, and is tested with it and with the newest version. `sklearn.callback` is public from 1.9 on.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "safe_split",
]
