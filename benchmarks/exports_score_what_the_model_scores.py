"""Claim: an exported model gives the scores of `predict`, to 1e-9 of their spread in float64 and 1e-4 in float32.

Models of each kind are exported to ONNX and run by onnxruntime, in batches of 1 to 10,000 items; the largest error is
printed, with the seconds that 10,000 items take beside those of `predict`.

    python -m benchmarks.exports_score_what_the_model_scores
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import kernelrank as kr
from benchmarks.harness import time_interleaved
from tests.exports.fitted_models import fitted_models, random_items, scores_of

SIZES = (1, 7, 100, 1_000, 10_000)
LIMITS = {"float64": 1e-9, "float32": 1e-4}


def main() -> None:
    X = random_items(max(SIZES), 2).astype(np.float32).astype(np.float64)
    print(f"  {'model':<28}{'float64':>10}{'float32':>10}{'predict':>12}{'onnxruntime':>13}")
    worst = dict.fromkeys(LIMITS, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        for name, model in fitted_models().items():
            expected = scores_of(model, X)
            errors, sessions = {}, {}
            for dtype in LIMITS:
                path = Path(folder) / f"{dtype}.onnx"
                kr.export(model, path, dtype=dtype)
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                sessions[dtype] = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                found = [sessions[dtype].run(None, {"X": X[:size].astype(dtype)})[0] for size in SIZES]
                gaps = [np.max(np.abs(scores - expected[: len(scores)])) for scores in found]
                errors[dtype] = float(max(gaps) / np.ptp(expected))
                worst[dtype] = max(worst[dtype], errors[dtype])
            runs = {
                "predict": lambda model=model: scores_of(model, X),
                "onnxruntime": lambda session=sessions["float64"]: session.run(None, {"X": X}),
            }
            seconds = time_interleaved(runs, repeats=3, threads=1)
            print(
                f"  {name:<28}{errors['float64']:>10.1e}{errors['float32']:>10.1e}"
                f"{1e3 * seconds['predict']:>9.2f} ms{1e3 * seconds['onnxruntime']:>10.2f} ms"
            )
    for dtype, limit in LIMITS.items():
        print(f"  {dtype}: largest error {worst[dtype]:.1e} of the spread; claimed: at most {limit:g}")


if __name__ == "__main__":
    main()
