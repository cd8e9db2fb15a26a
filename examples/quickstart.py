"""Rank the documents of queries, and patients by risk; choose alpha, measure, save, and show it all on one page.

Needs no network and a few seconds. Writes ``kernelrank-quickstart.html``, to look at, and ``kernelrank-quickstart.kr``,
a model file, into the current folder.
"""

from __future__ import annotations

import argparse
import html
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.data.atomic import atomic_write
from kernelrank.errors import MissingExtraError

ALPHAS = 2.0 ** np.arange(-6, 25, 2)
NDCG = kr.metrics.NDCG(k=10)
MEASURES = [
    kr.metrics.PairwiseAccuracy(),
    kr.metrics.KendallTau(),
    NDCG,
    # Where a measure knows only yes or no, the two best of the five grades are relevant.
    kr.metrics.MeanAveragePrecision(relevant_from=3),
    kr.metrics.ExpectedReciprocalRank(k=10, max_grade=4),
]


@dataclass(frozen=True)
class Task:
    """A search over alpha, and the best model measured on data that it has not seen."""

    name: str
    search: GridSearchCV
    results: list[kr.metrics.MeasureResult]


def rank_documents() -> tuple[Task, dict[str, Any]]:
    """Learn to order the documents of a query from graded ones; a third of the queries is held out."""
    X, y, qid = kr.make_ranking(
        n_queries=120,
        n_items=(5, 20),
        n_features=120,
        n_informative=12,
        n_levels=5,
        noise=0.7,
        query_shift=1.0,
        qid_type="str",
        shuffle=True,
        random_state=0,
    )
    train, test = next(kr.QueryKFold(3).split(X, y, groups=qid))
    # Routing carries qid to the folds, the fits and the scores; without it all queries would be scored as one.
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), kr.RankRLS()), {"rankrls__alpha": ALPHAS}, cv=kr.QueryKFold(5)
        ).fit(X[train], y[train], qid=qid[train])
    predicted = search.predict(X[test])
    results = [measure(y[test], predicted, qid[test]) for measure in MEASURES]
    data = {"X": X[test], "y": y[test], "qid": qid[test], "train": (len(train), len(set(qid[train])))}
    return Task("documents of queries", search, results), data


def rank_patients() -> tuple[Task, dict[str, Any]]:
    """Order tumours by malignancy: with two grades and one query, the pairwise accuracy is the AUC."""
    X, benign = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, 1 - benign, stratify=benign, random_state=0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), kr.RankRLS(kernel="gaussian", gamma=0.01)),
        {"rankrls__alpha": ALPHAS},
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    ).fit(X_train, y_train)
    results = [kr.metrics.AUC()(y_test, search.predict(X_test))]
    return Task("tumours by malignancy", search, results), {"train": (len(X_train), 1), "X": X_test, "y": y_test}


def measured_rows(tasks: list[Task]) -> list[tuple[str, ...]]:
    """One row for each measure: what, value, interval over queries, queries, left out, conventions."""
    rows = []
    for task in tasks:
        for result in task.results:
            name, _, rules = result.label.partition(" (")
            interval = result.interval(random_state=0) if len(result) > 1 else None
            rows.append(
                (
                    task.name,
                    name,
                    f"{result.mean:.3f}",
                    f"{interval.low:.3f} to {interval.high:.3f}" if interval else "one query",
                    str(len(result)),
                    str(result.n_left_out),
                    rules.removesuffix(")"),
                )
            )
    return rows


def print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, tuple("─" * width for width in widths), *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


# The page ----------------------------------------------------------------------------------------------------------

INK = "#123456"
"""The colour of text and axes in a plot, replaced by that of the page so that it can be read on light and on dark."""
BLUE, ORANGE = "#2f81c1", "#d9722e"


def load_pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "report") from None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kernelrank", "font.size": 11})
    plt.rcParams.update(dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK))
    plt.rcParams.update({"text.color": INK, "axes.spines.top": False, "axes.spines.right": False})
    return plt


def as_svg(figure: Any) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")


def plot_scores_over_alpha(tasks: list[Task]) -> str:
    plt = load_pyplot()
    figure, panels = plt.subplots(1, len(tasks), figsize=(10, 3.4), layout="constrained")
    for task, axes in zip(tasks, panels, strict=True):
        found = task.search.cv_results_
        mean, spread, best = found["mean_test_score"], found["std_test_score"], task.search.best_index_
        axes.plot(ALPHAS, mean, color=BLUE, marker="o", markersize=4)
        axes.fill_between(ALPHAS, mean - spread, np.minimum(mean + spread, 1), color=BLUE, alpha=0.2, linewidth=0)
        axes.plot(ALPHAS[best], mean[best], "o", markersize=12, color="none", markeredgecolor=ORANGE, markeredgewidth=2)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ALPHAS[::3])
        axes.minorticks_off()
        axes.set_title(task.name, fontsize=11)
        axes.set_xlabel("alpha")
    panels[0].set_ylabel("pairwise accuracy")
    svg = as_svg(figure)
    plt.close(figure)
    return svg


def plot_values_per_query(result: kr.metrics.MeasureResult) -> str:
    plt = load_pyplot()
    figure, axes = plt.subplots(figsize=(10, 2.8), layout="constrained")
    lowest = np.floor(10 * result.values.min()) / 10
    axes.hist(result.values, bins=np.linspace(lowest, 1, 26), color=BLUE, alpha=0.8)
    axes.axvline(result.mean, color=ORANGE, linewidth=2)
    axes.annotate(f"mean {result.mean:.3f}  ", (result.mean, axes.get_ylim()[1]), ha="right", va="top", color=ORANGE)
    axes.set_xlabel(f"{result.label.partition(' ')[0]} of a held-out query")
    axes.set_ylabel("queries")
    axes.yaxis.get_major_locator().set_params(integer=True)
    svg = as_svg(figure)
    plt.close(figure)
    return svg


def as_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kernelrank: quickstart</title>
<style>
  :root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --paper: #ffffff; --line: #d1d9e0; }
  @media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4ae; --paper: #0d1117; --line: #3d444d; } }
  body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
         color: var(--ink); background: var(--paper); }
  h1 { margin-bottom: 0; } h2 { margin: 2.2rem 0 .4rem; font-size: 1.2rem; }
  .soft, figcaption { color: var(--soft); } figcaption { font-size: .9rem; } figure { margin: 1rem 0; }
  svg { width: 100%; height: auto; } svg text { font-family: inherit !important; }
  .wide { overflow-x: auto; }
  table { border-collapse: collapse; font-size: .9rem; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0;
           border-bottom: 1px solid var(--line); }
  td { font-variant-numeric: tabular-nums; } th, td:nth-child(-n+5) { white-space: nowrap; }
  td:last-child { white-space: normal; color: var(--soft); }
</style>
<h1>kernelrank: quickstart</h1>
<p class="soft">$subtitle</p>

<h2>What was done</h2>
<p>Two rankers were trained by regularised least squares over all pairs of items (<code>RankRLS</code>), behind a
<code>StandardScaler</code> in a pipeline. For each, a grid search chose alpha, the weight of the norm, by five-fold
cross-validation: over whole queries for the documents, over patients for the tumours, which form one ranking. The
chosen model was then measured on items that neither the search nor the fit had seen.</p>

<h2>The data</h2>
<div class="wide">$data</div>

<h2>Choosing alpha</h2>
<figure>$alphas
<figcaption>Mean pairwise accuracy over five folds, per query and then averaged; a tied prediction counts a half. The
bands are one standard deviation over the folds; the rings mark what was chosen.</figcaption></figure>

<h2>How well it ranks</h2>
<div class="wide">$measures</div>
<p class="soft">Intervals hold 95% of the means of 2,000 bootstrap samples of the held-out queries. They say how the
value varies with the queries that are asked, not with the training set. Queries that cannot be measured are left out
and counted.</p>
<figure>$queries
<figcaption>$queries_caption</figcaption></figure>

<h2>The model as a file</h2>
<p>The ranker inside the chosen pipeline for documents was saved to <code>$model</code> ($size), a file that holds data
and no code, and loaded again. The largest difference between the scores of the two on $checked documents is
<strong>$difference</strong>.</p>
</html>
""")


def counted(n_items: int, n_queries: int) -> str:
    return f"{n_items:,} items, {n_queries:,} " + ("query" if n_queries == 1 else "queries")


def write_page(path: Path, tasks: list[Task], data: list[dict[str, Any]], saved: dict[str, str]) -> None:
    sizes = [
        (
            task.name,
            counted(*d["train"]),
            counted(len(d["y"]), len(set(d.get("qid", [0])))),
            str(d["X"].shape[1]),
            ", ".join(f"{level:g}" for level in np.unique(d["y"])),
            f"{task.search.best_params_['rankrls__alpha']:g}",
        )
        for task, d in zip(tasks, data, strict=True)
    ]
    header = ("task", "measure", "value", "95% interval", "queries", "left out", "conventions")
    ndcg = tasks[0].results[MEASURES.index(NDCG)]
    page = PAGE.substitute(
        subtitle=f"kernelrank {kr.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}",
        data=as_table(("task", "trained on", "held out", "features", "grades", "chosen alpha"), sizes),
        alphas=plot_scores_over_alpha(tasks),
        measures=as_table(header, measured_rows(tasks)),
        queries=plot_values_per_query(ndcg),
        queries_caption=html.escape(str(ndcg)) + ".",
        **saved,
    )
    with atomic_write(path) as file:
        file.write(page.encode())


def save_and_load(task: Task, data: dict[str, Any], path: Path) -> dict[str, str]:
    """Keep the ranker of the best pipeline in a file, read it back, and compare their scores."""
    scaler, ranker = task.search.best_estimator_
    kr.save(ranker, path)
    items = scaler.transform(data["X"])
    difference = np.abs(kr.load(path).predict(items) - ranker.predict(items)).max()
    return {
        "model": path.name,
        "size": f"{path.stat().st_size / 1000:.1f} kB",
        "checked": f"{len(items):,}",
        "difference": f"{difference:.1g}",
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("kernelrank-quickstart.html"), help="the page")
    page: Path = parser.parse_args(arguments).output
    load_pyplot()
    documents, document_data = rank_documents()
    patients, patient_data = rank_patients()
    tasks = [documents, patients]
    header = ("task", "measure", "value", "95% interval", "queries")
    print_table(header, [row[:5] for row in measured_rows(tasks)])
    saved = save_and_load(documents, document_data, page.with_suffix(".kr"))
    print(
        f"\nmodel   {page.with_suffix('.kr')} ({saved['size']}), loaded again: scores differ by {saved['difference']}"
    )
    write_page(page, tasks, [document_data, patient_data], saved)
    print(f"page    {page}")


if __name__ == "__main__":
    try:
        main()
    except MissingExtraError as error:
        sys.exit(str(error))
