"""Claim: vectorising every candidate of a corpus takes less than five times as long as parsing its XML.

The corpus is AIMed, 5,834 candidates in 15 MB of XML, whose vectors have 10⁷ nonzeros. The reference is the standard
library's parser, with the file decompressed in memory. In the same run and in turns: making the graphs, making the
vectors, both together, and on some of the graphs the kernel as it is written, a dense inverse for each graph and a
dictionary of label pairs in plain Python. First in CPU seconds on one thread, then in wall-clock seconds on two; and
the memory of the vectors beside what making them took.

    python benchmarks/vectorising_graphs_costs_a_few_parses.py --data DIR

where DIR holds AImed-learning-format.xml, or the same with .xz or .gz.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import io
import lzma
import resource
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from harness import report, run_alone, time_interleaved

from kernelrank.estimators import AllPathsVectorizer
from kernelrank.kernels import LabelledGraph
from kernelrank.relations import candidate_graphs, read_interaction_xml

NAME = "AImed-learning-format.xml"
CLAIM = 5
SOME = 500


def read_bytes(folder: Path) -> bytes:
    """Return the XML, decompressed."""
    for ending, opened in (("", open), (".xz", lzma.open), (".gz", gzip.open)):
        path = folder / (NAME + ending)
        if path.is_file():
            with opened(path, "rb") as file:
                return bytes(file.read())
    raise SystemExit(f"{folder} has no {NAME}")


def plain_vectors(graphs: list[LabelledGraph]) -> list[dict[tuple[str, str], float]]:
    """Return the kernel's features as they are written, with the maximum."""
    vectors = []
    for graph in graphs:
        A = np.zeros((graph.n_vertices, graph.n_vertices))
        np.add.at(A, (graph.sources, graph.targets), graph.weights)
        W = np.linalg.inv(np.eye(len(A)) - A) - np.eye(len(A))
        G: dict[tuple[str, str], float] = {}
        for k, m in zip(*np.nonzero(W), strict=True):
            for a in graph.labels[k]:
                for b in graph.labels[m]:
                    G[a, b] = max(G.get((a, b), 0.0), W[k, m])
        vectors.append(G)
    return vectors


def memory(folder: Path) -> tuple[float, float]:
    """Return the megabytes of the vectors, and the peak before they were made."""
    graphs = list(candidate_graphs(read_interaction_xml(io.BytesIO(read_bytes(folder))).candidates))
    AllPathsVectorizer().fit_transform(graphs[:10])  # the compiler takes memory of its own
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    X = AllPathsVectorizer(normalize=True).fit_transform(graphs)
    return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20, before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    (size, before), peak = run_alone(memory, arguments.data)
    xml = read_bytes(arguments.data)
    candidates = read_interaction_xml(io.BytesIO(xml)).candidates
    graphs = list(candidate_graphs(candidates))
    X = AllPathsVectorizer().fit_transform(graphs)
    print(f"{len(graphs)} graphs, {np.mean([graph.n_vertices for graph in graphs]):.0f} vertices on average")
    print(f"{X.shape[1]} features, {X.nnz} nonzeros")
    print(f"the vectors take {size:.0f} MB; making them raised the peak from {before:.0f} to {peak:.0f} MB")
    for threads in (1, 2):
        runs = {
            "parsing the XML": lambda: ElementTree.parse(io.BytesIO(xml)),
            "making the graphs": lambda: list(candidate_graphs(candidates)),
            "vectors, maximum": functools.partial(vectors, graphs, "max", threads),
            "vectors, sum": functools.partial(vectors, graphs, "sum", threads),
            "graphs and vectors, maximum": lambda t=threads: vectors(candidate_graphs(candidates), "max", t),
        }
        seconds = time_interleaved(runs, arguments.repeats, threads)
        unit = "CPU seconds on one thread" if threads == 1 else "wall-clock seconds on two threads"
        report(f"all graphs, {unit}", seconds, "parsing the XML", CLAIM)
    some = graphs[:SOME]
    runs = {"vectors, maximum": lambda: vectors(some, "max", 1), "plain Python, maximum": lambda: plain_vectors(some)}
    seconds = time_interleaved(runs, min(2, arguments.repeats), 1)
    report(f"the first {SOME} graphs, CPU seconds on one thread", seconds, "vectors, maximum")


def vectors(graphs: Any, combine: Any, threads: int) -> Any:
    return AllPathsVectorizer(combine=combine, normalize=True, n_jobs=threads).fit_transform(graphs)


if __name__ == "__main__":
    main()
