"""Claim: graph features of walks of at most five edges take no longer than those of walks of all lengths.

The graphs are those of the 330 candidates of the LLL corpus. All ways are measured in the same run and in turns, in CPU
seconds on one thread.

    python benchmarks/short_walks_cost_no_more_than_all.py --data DIR

where DIR holds LLL-learning-format.xml, or the same with .xz or .gz.
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import Any

from harness import report, time_interleaved

from kernelrank.estimators import AllPathsVectorizer
from kernelrank.relations import candidate_graphs, read_interaction_xml

CLAIM = 1.0
WAYS: dict[str, dict[str, Any]] = {
    "all lengths": {},
    "max_length=5": {"max_length": 5},
    "max_length=3": {"max_length": 3},
    "one length, 5": {"min_length": 5, "max_length": 5},
    'all lengths, decay="auto"': {"decay": "auto"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    endings = ("", ".xz", ".gz")
    paths = [path for ending in endings if (path := arguments.data / f"LLL-learning-format.xml{ending}").is_file()]
    if not paths:
        raise SystemExit(f"{arguments.data} has no LLL-learning-format.xml")
    graphs = list(candidate_graphs(read_interaction_xml(paths[0]).candidates))
    runs = {}
    for name, options in WAYS.items():
        vectorizer = AllPathsVectorizer(normalize=True, **options)
        runs[name] = functools.partial(vectorizer.fit_transform, graphs)
        print(f"{name:<28}{vectorizer.fit_transform(graphs).nnz:9,} nonzeros")
    report(f"{len(graphs)} graphs", time_interleaved(runs, arguments.repeats, 1), "all lengths", CLAIM)


if __name__ == "__main__":
    main()
