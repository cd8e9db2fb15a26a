"""What is known of a fitted model besides its numbers: its ranker, and the data and columns that it was fitted to.

The command writes a record with every model that it saves: the attribute `provenance_`, which `kernelrank.save` keeps
like any other. A model that was fitted in Python has none, and knows the names of its columns only from a data frame.
"""

from __future__ import annotations

from typing import Any


def final_step(model: Any) -> Any:
    """Return the ranker of a model that may scale its columns first."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def provenance(model: Any) -> dict[str, Any]:
    """Return what is recorded about the data of a model; an empty dict if the command did not save it."""
    found = getattr(model, "provenance_", None)
    return found if isinstance(found, dict) else {}


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the columns that a model knows, from a file or from a data frame in Python."""
    known = provenance(model).get("feature_names", getattr(model, "feature_names_in_", None))
    return None if known is None else [str(name) for name in known]


def column_names(model: Any) -> list[str] | None:
    """Return what the columns are called: by name, or by number as in the file that the model was fitted to."""
    names, first = feature_names(model), provenance(model).get("first_index")
    if names is not None or first is None:
        return names
    return [f"f{number}" for number in range(first, first + int(model.n_features_in_))]
