"""The time of each step, from the file to the figures."""

from __future__ import annotations

import io
import lzma
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from kernelrank.relations import read_interaction_xml
from kernelrank.relations.cross_validation import cross_validate_kernel
from kernelrank.relations.feature_set import FeatureSet
from kernelrank.relations.gram import linear_kernel
from kernelrank.relations.held_out_documents import Learning
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.corpora import Study, find


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result with its seconds on the wall and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def show_steps(folder: Path, study: Study) -> np.ndarray:
    """Time each step from the XML to the nested cross-validation of one split."""
    path = find(folder, study.name)
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    parts = FeatureSet.named("parts")
    parts.vectorizer().fit_transform(parts.graphs(study.corpus.candidates[:50]))  # compiles
    _, parse, parse_processor = timed(lambda: ElementTree.parse(io.BytesIO(text)))
    steps = [("parsing the XML alone", parse, parse_processor)]
    _, wall, processor = timed(lambda: read_interaction_xml(io.BytesIO(text)))
    steps.append(("reading it as sentences and pairs", wall, processor))
    graphs, wall, processor = timed(lambda: parts.graphs(study.corpus.candidates))
    steps.append(("graphs", wall, processor))
    X, wall, processor = timed(lambda: parts.vectorizer().fit_transform(graphs))
    steps.append((f"features ({X.nnz:.2g} nonzeros, {X.shape[1]:,} columns)", wall, processor))
    K, wall, processor = timed(lambda: linear_kernel(X))
    steps.append(("kernel matrix", wall, processor))
    folds = study.folds(study.splits[0])
    learning = Learning("rls", ALPHAS, "auc", None, 0)
    _, wall, processor = timed(lambda: cross_validate_kernel(learning, K, study.labels, study.corpus.documents, folds))
    steps.append((f"nested 10-fold cross-validation, {len(ALPHAS)} alphas", wall, processor))
    print(f"\nSteps for {study.name}: seconds on the wall, of the processor, and × the XML's")
    for name, wall, processor in steps:
        print(f"  {name:<52}{wall:8.2f}{processor:8.2f}{processor / parse_processor:8.1f} ×")
    total = sum(wall for _, wall, _ in steps[1:])
    print(f"  {'everything, from the file to the figures':<52}{total:8.2f}")
    return K
