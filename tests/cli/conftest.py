"""The command in this process: what it writes, and how it ends."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelrank.cli.app import app
from kernelrank.data import make_ranking, write_ranking


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder; what is wrong with the command itself is not caught."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def command(*args: object, input: str | bytes | None = None, code: int | None = 0) -> Ended:
        words = [str(arg) for arg in args]
        monkeypatch.setattr("sys.argv", ["kernelrank", *words])
        result = CliRunner().invoke(app, words, input=input, prog_name="kernelrank")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        ended = Ended(result.exit_code, result.stdout, result.stderr)
        assert code is None or ended.code == code, ended
        assert "Traceback" not in ended.err
        return ended

    return command


@pytest.fixture
def ranking(tmp_path):
    """Files of ten training and six test queries: train.txt and test.txt, with names."""
    X, y, qid = make_ranking(n_queries=16, n_items=(4, 9), n_features=5, n_levels=3, noise=0.5, random_state=1)
    X = np.round(X, 3)
    codes = np.unique(qid, return_inverse=True)[1]
    ids = np.array([f"d{number}" for number in range(len(y))])
    for name, part in (("train", codes < 10), ("test", codes >= 10)):
        write_ranking(tmp_path / f"{name}.txt", X[part], y[part], qid=qid[part], docid=ids[part])
    return tmp_path


@pytest.fixture
def cohort(tmp_path):
    """A table of 10 patients with two samples each, two classes and four columns: patients.csv."""
    rng = np.random.default_rng(0)
    lines = ["sample,patient,age,a,b,c,outcome"]
    for patient in range(10):
        ill = patient % 2
        for sample in range(2):
            values = rng.normal([10 + 2 * ill, ill, 0, 0])
            words = ",".join(f"{value:.3f}" for value in values)
            lines.append(f"s{2 * patient + sample},p{patient},{words},{'ill' if ill else 'well'}")
    (tmp_path / "patients.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "patients.csv"
