"""A model card: a description of a model, its data, its measures and its limits, as Markdown.

The front matter is that of the Hugging Face hub, which reads tags and measures from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelrank.base.text import printable
from kernelrank.cli.model_rows import changed_parameters, counted, setting_rows
from kernelrank.persistence.provenance import column_names, final_step, provenance

__all__ = ["model_card"]

MOST_COLUMNS = 20

CARD = """{front}
# {title}

{model}, a ranker fitted with kernelrank. It gives a score to each item of a query; a higher score ranks higher.
Scores of different queries are not comparable.

## Model

{settings}

## Data

{data}

## Measures

{measures}

## Limits

{limits}

## Use

```python
import kernelrank as kr

model = kr.load("{file}")
scores = model.predict(X)  # X: (items, {columns})
```

The file holds data and no code.
"""


def model_card(model: Any, file: Path, measured_on: str | None, measures: Sequence[dict[str, Any]]) -> str:
    """Write the card of a model.

    Parameters
    ----------
    model : estimator
    file : path
        Where it is.
    measured_on : str or None
        The file that it was measured on.
    measures : sequence of dict
        Facts of `kernelrank.cli.measuring.facts_of`.

    Returns
    -------
    str
    """
    ranker = final_step(model)
    card = CARD.format(
        front=_front(type(ranker).__name__, file.stem, measured_on, measures),
        title=file.stem,
        model=type(ranker).__name__,
        settings=_table(("", ""), [row for row in setting_rows(model) if row[0] != "data"]),
        data=_data(model),
        measures=_measures(model, measured_on, measures),
        limits="\n".join(f"- {line}" for line in _limits(model, measured_on, measures)),
        file=file.name,
        columns=int(model.n_features_in_),
    )
    return printable(card, lines=True)


def _front(kind: str, name: str, data: str | None, measures: Sequence[dict[str, Any]]) -> str:
    """Return the front matter; JSON strings are YAML strings as well."""
    lines = ["---", "library_name: kernelrank", "tags:", "- learning-to-rank", f"- {kind}"]
    if measures and data is not None:
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:", "  - task:", "      type: ranking"]
        lines += ["    dataset:", f"      name: {json.dumps(Path(data).name)}", "      type: file", "    metrics:"]
        for facts in measures:
            lines += [f"    - type: {json.dumps(facts['measure'])}", f"      value: {facts['mean']:.4f}"]
    return "\n".join([*lines, "---"])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in [columns, *rows]]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])


def _data(model: Any) -> str:
    known, names = provenance(model), column_names(model)
    if not known:
        return "The model was fitted in Python; the source of its data was not recorded."
    queries = known.get("queries")
    size = counted(known["items"], "item") + ("" if queries is None else f" in {counted(queries, 'query', 'queries')}")
    listed = []
    if names is not None:
        more = f", and {len(names) - MOST_COLUMNS:,} more" if len(names) > MOST_COLUMNS else ""
        listed = [f"\nColumns: {', '.join(f'`{name}`' for name in names[:MOST_COLUMNS])}{more}."]
    prepared = known.get("preparation")
    if prepared is not None and prepared["missing"] in ("median", "mean"):
        listed.append(f"A missing number becomes the {prepared['missing']} of its column in the training data.")
    return "\n".join([f"`{Path(known['file']).name}`: {size}, kernelrank {known['version']}.", *listed])


def _measures(model: Any, data: str | None, measures: Sequence[dict[str, Any]]) -> str:
    if not measures:
        best = getattr(final_step(model), "best_score_", None)
        chosen = (
            ""
            if best is None
            else f" The best cross-validated score of the search was {best:.4f}, which is optimistic."
        )
        how = "`kernelrank inspect model.kr --card card.md --data test.txt`"
        return f"Not measured on other data; {how} does that.{chosen}"
    level = f"{100 * measures[0]['confidence']:.4g}% interval"
    rows = [
        [
            facts["measure"],
            f"{facts['mean']:.4f}",
            "-" if facts["low"] is None else f"{facts['low']:.4f} to {facts['high']:.4f}",
            f"{facts['queries']:,}",
            facts["interval"] or "-",
        ]
        for facts in measures
    ]
    assert data is not None
    return f"On `{Path(data).name}`:\n\n{_table(('measure', 'mean', level, 'queries', 'interval by'), rows)}"


def _limits(model: Any, data: str | None, measures: Sequence[dict[str, Any]]) -> list[str]:
    known, ranker = provenance(model), final_step(model)
    found = ["The measures are valid for queries similar to those that were measured, not for data that have changed."]
    if not measures:
        found = ["How well it ranks new queries is not known from this card."]
    elif data is not None and known.get("file") is not None and Path(data).name == Path(known["file"]).name:
        found.append("It was measured on a file of the same name as its training data: the measures may be optimistic.")
    if changed_parameters(model).get("kernel", "linear") != "linear":
        found.append("Scores of a kernel model are unreliable far from all training items.")
    if hasattr(ranker, "X_fit_") and ranker.X_fit_ is not None:
        count = counted(int(ranker.X_fit_.shape[0]), "training item")
        found.append(f"The file contains {count}: share it only where you may share these data.")
    if hasattr(ranker, "classes_"):
        found.append("Scores are not probabilities.")
    return found
