"""scikit-learn's private names that the package uses, all of them here.

| name | where scikit-learn has it | versions |
|---|---|---|
| `fit_context` | `sklearn.base._fit_context` | 1.3 and later |
| `HasMethods`, `Interval`, `InvalidParameterError`, `StrOptions` | `sklearn.utils._param_validation` | 1.2 and later |
| `num_samples` | `sklearn.utils.validation._num_samples` | all |
| `safe_indexing` | `sklearn.utils._safe_indexing` | all |
| `safe_split` | `sklearn.utils.metaestimators._safe_split` | all |
| `DocumentationLink` | overrides `_doc_link_module` and its relatives of `BaseEstimator` | 1.4 and later |

The package asks for 1.8, and is tested with it and with the newest version. `sklearn.callback` is public from 1.9 on.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "DocumentationLink",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "safe_split",
]


@cache
def _project_url() -> str:
    """Return the address of the documentation that the installed package names; empty if it names none."""
    try:
        urls = metadata("kernelrank").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named: dict[str, str] = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


class DocumentationLink:
    """Links the box that a notebook shows for an estimator to its page of the reference.

    The environment variable ``KERNELRANK_DOCUMENTATION`` says where the built documentation is, or else the project URL
    "Documentation" of the package. Without both the box has no link.
    """

    _doc_link_module = "kernelrank"

    @property
    def _doc_link_template(self) -> str:
        site = os.environ.get("KERNELRANK_DOCUMENTATION", "").rstrip("/") or _project_url()
        return f"{site}/api/generated/{{page}}.html" if site else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        name, room = type(self).__name__, type(self).__module__.split(".")[1]
        return {
            "page": f"kernelrank.{name}" if hasattr(sys.modules["kernelrank"], name) else f"kernelrank.{room}.{name}"
        }
