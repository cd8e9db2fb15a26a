"""``kernelrank inspect``: the content of a model file, and why one item ranks above another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelrank import persistence
from kernelrank.base.text import printable
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    STANDARD_STREAM,
    Answer,
    MeasureRules,
    changed_parameters,
    check_output,
    counted,
    facts_of,
    grouped,
    level_facts,
    only,
    setting_rows,
)
from kernelrank.cli.sources import SourceFile, columns_matched, fold_part, for_model, judge, load_model, measured
from kernelrank.cli.vote_effects import answer_effects

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
@grouped
def inspect(
    *,
    model: shared.Model,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of weights, items or terms to list.")] = 10,
    explain: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--explain",
            metavar="ITEM ITEM",
            help="Explain why the first item ranks above the second. Give item names, or row numbers from 0.",
        ),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option("--card", help="Write a model card in Markdown, with measures if --data has scores; - prints it."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Data file: that of the items to explain, or to measure for the card.")
    ] = None,
    source: Annotated[SourceFile, only("input_format", "query", "id", "no_header", "header_row", "skip_rows", "sheet")],
    as_json: shared.AsJSON = False,
) -> None:
    """Show what a model file contains, and explain why one item ranks above another.

    kernelrank inspect model.kr

    kernelrank inspect model.kr --explain 40626 43770 --data test.txt

    kernelrank inspect model.kr --card README.md --data test.txt
    """
    from kernelrank.errors import InvalidInputError

    if card is not None:
        _write_card(model, card, None if data is None else source.at(fold_part(data, "test")))
        return
    if (explain is None) != (data is None):
        raise InvalidInputError("--explain and --data go together: give two items and the data file that contains them")
    answer = Answer("inspect", as_json=as_json)
    loaded = load_model(model, or_dyads=explain is None)
    known = persistence.provenance(loaded)
    if not hasattr(loaded, "n_features_in_"):
        _show_dyads(answer, model, loaded, known)
        return
    ranker = persistence.final_step(loaded)
    answer.add({"model": str(model), "class": type(ranker).__name__, "scaled": ranker is not loaded})
    answer.fact("options", changed_parameters(loaded))
    answer.fact("columns", loaded.n_features_in_)
    answer.fact("provenance", known)
    answer.add(level_facts(loaded))
    rows = setting_rows(loaded)
    if "command" in known:
        rows += [("command", known["command"]), ("version", f"kernelrank {known['version']}")]
    answer.table(str(model), ("", ""), rows)
    answer_effects(answer, loaded)
    if explain is None or data is None:
        _largest(answer, loaded, top)
    else:
        source = source.at(fold_part(data, "test"))
        _explain(answer, loaded, for_model(source, loaded, needs_target=False), explain, top)
    answer.show()


def _show_dyads(answer: Answer, path: Path, model: Any, known: dict[str, Any]) -> None:
    """Show a model of dyads: its strength, its two sides, and what was done to their similarities."""
    from kernelrank.cli.dyads import strengths

    answer.add({"model": str(path), "class": type(model).__name__, "alpha": strengths(model), "provenance": known})
    rows = [("model", type(model).__name__)]
    rows += [(name.replace("_", " "), f"{value:.6g}") for name, value in strengths(model).items()]
    for side in ("rows", "columns") if "rows" in known else ():
        of = known[side]
        what = "similarities" if of["similarity"] else counted(len(of["columns"]), "feature")
        rows.append((side, "; ".join([f"{len(of['names']):,} of {of['file']}, {what}", *of.get("repair", ())])))
    if "command" in known:
        rows += [("command", known["command"]), ("version", f"kernelrank {known['version']}")]
    answer.table(str(path), ("", ""), rows)
    answer.show()


def _write_card(model: Path, card: Path, source: SourceFile | None) -> None:
    """Write a model card; measures need a file with scores."""
    from kernelrank.persistence.atomic import atomic_write

    to_stdout = str(card) == STANDARD_STREAM
    answer = Answer("inspect", as_json=False, quiet=to_stdout)
    check_output(card, [model])
    found: list[dict[str, Any]] = []
    if source is not None:
        judgement, rules = judge(answer, model, source), MeasureRules()
        known = measured(answer, rules.measures(None), lambda one: judgement.measure(one, rules), asked=False)
        found = [facts_of(result, one, confidence=0.95, seed=0, by_query=False, rules=rules) for one, result in known]
    text = model_card(load_model(model), model, None if source is None else str(source.path), found)
    if to_stdout:
        typer.echo(text, nl=False)
        return
    with atomic_write(card) as file:
        file.write(text.encode())
    answer.line(f"The card of {model} is in {card}.")
    answer.show()


def _largest(answer: Answer, model: Any, top: int) -> None:
    """List the largest weights, or the basis items with the largest coefficients."""
    import numpy as np

    ranker, known = persistence.final_step(model), persistence.provenance(model)
    linear = hasattr(ranker, "coef_")
    weights = np.asarray(ranker.coef_ if linear else ranker.dual_coef_)
    if weights.ndim > 1:
        answer.note(f"the model has {weights.shape[0 if linear else 1]} outputs; their weights are not listed")
        return
    names = persistence.column_names(model) if linear else known.get("training_ids")
    basis = getattr(ranker, "basis_", None)
    order = np.argsort(-np.abs(weights), kind="stable")[:top]
    found: list[dict[str, Any]] = []
    for place in order.tolist():
        number = place if linear or basis is None else int(basis[place])
        name = str(names[number]) if names is not None else f"{'x' if linear else 'item '}{number}"
        found.append({"name": name, "weight": float(weights[place])})
    answer.fact("weights" if linear else "coefficients", found)
    noun = "weights of columns" if linear else "coefficients of training items"
    if linear and ranker is not model:
        noun += ", standardised"
    shown = _column([one["weight"] for one in found], sign=True)
    answer.table(
        f"The largest of {len(weights):,} {noun}",
        ("name", "weight" if linear else "coefficient"),
        [[one["name"], weight] for one, weight in zip(found, shown, strict=True)],
    )


def _column(numbers: Sequence[float], *, sign: bool = False) -> list[str]:
    """Write numbers so that their points stand below each other."""
    from kernelrank.report.writing import in_column

    return [text.replace("\N{MINUS SIGN}", "-") for text in in_column(numbers, 4, sign=sign)]


def _explain(answer: Answer, model: Any, source: SourceFile, pair: tuple[str, str], top: int) -> None:
    from scipy import sparse

    from kernelrank.report import explain

    items = source.read(answer, needs_target=False)
    places = [_place(items, word) for word in pair]
    X = items.X[places]
    if sparse.issparse(X) and not model.__sklearn_tags__().input_tags.sparse:
        X = X.toarray()
    known = persistence.provenance(model)
    with columns_matched():
        found = explain(
            model, X, feature_names=persistence.column_names(model), training_ids=known.get("training_ids"), k=top
        )
    answer.fact("explanation", {"items": list(pair), **found.to_dict()})
    higher, lower = found.scores
    relation = "ranks above" if higher > lower else "ranks below" if higher < lower else "ties with"
    title = f"{pair[0]} ({higher:.4g}) {relation} {pair[1]} ({lower:.4g}): difference {found.difference:+.4g}"
    noun, values = ("feature", "value") if found.kind == "features" else ("training item", "kernel")
    weight = "weight" if found.kind == "features" else "coefficient"
    # Values are of different columns of the data, each with digits of its own.
    rest = [found.rest] if found.n_rest else []
    added = _column([*found.contributions, *rest], sign=True)
    rows = [
        [str(name), part, coefficient, f"{first:,.4g}", f"{second:,.4g}"]
        for name, part, coefficient, (first, second) in zip(
            found.names,
            added[: len(found.names)],
            _column(found.coefficients.tolist(), sign=True),
            found.values,
            strict=True,
        )
    ]
    if found.n_rest:
        rows.append([f"{found.n_rest:,} others", added[-1], "", "", ""])
    columns = (noun, "adds", weight, f"{values} of {pair[0]}", f"{values} of {pair[1]}")
    answer.table(title, columns, rows)


def _place(items: Any, word: str) -> int:
    """Find an item by its name, or by its row."""
    import numpy as np

    from kernelrank.errors import InvalidInputError

    if items.ids is not None:
        found = np.flatnonzero(items.ids == word)
        if len(found) > 1:
            raise InvalidInputError(
                f"{items.path}: {len(found)} items are called {word!r}, in several queries: give a row number instead"
            )
        if len(found) == 1:
            return int(found[0])
    if word.isdecimal() and int(word) < len(items):
        return int(word)
    what = "no item of that name, and no row" if items.ids is not None else "no row"
    raise InvalidInputError(f"{items.path}: there is {what} {word!r} among {len(items):,} items, counted from 0")


# Model card -----------------------------------------------------------------------------------------------------------
#
# A model card: a description of a model, its data, its measures and its limits, as Markdown.
#
# The front matter is that of the Hugging Face hub, which reads tags and measures from it.

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
    """Write the card of a model."""
    ranker = persistence.final_step(model)
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
    known, names = persistence.provenance(model), persistence.column_names(model)
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
        best = getattr(persistence.final_step(model), "best_score_", None)
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
    known, ranker = persistence.provenance(model), persistence.final_step(model)
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
