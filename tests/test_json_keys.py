"""The keys of JSON answers, and the columns and facts of results, are a contract.

`json_keys.json` is written anew by ``python -m tests.test_json_keys``; what a change of it takes from users is said in
the changelog. The commands run in their order in one folder of small files. Keys are recorded as a tree: a list is
described by its first entry, and a value by nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer", reason="typer is not installed: pip install 'kernelrank[cli]'")

from typer.testing import CliRunner

from kernelrank import metrics, model_selection, relations
from kernelrank.cli.app import app
from kernelrank.data import make_ranking
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import leave_pair_out
from kernelrank.report import explain
from kernelrank.selection import GreedyRankRLS, selection_curve, selection_stability
from tests import stand_ins

RECORDED = Path(__file__).with_name("json_keys.json")
BY_CHANCE = ("notes", "compile_seconds")
"""What depends on the data, or on the loops that were compiled before: only the key is recorded."""

COMMANDS = """
demo
fit train.txt -o model.kr --alpha 10
fit items.csv --pairs votes.csv -o dishes.kr
fit patients.csv --time months --event died -o survival.kr
fit patients.csv --target outcome -o classes.kr
fit train.txt -o levels.kr --levels
tune train.txt -o tuned.kr
tune items.csv --pairs votes.csv -o tuned_dishes.kr
fit train.txt --unscored more.txt --method transductive -o more.kr
predict model.kr test.txt
predict model.kr test.txt -o scores.txt
evaluate model.kr test.txt --by-query
evaluate classes.kr patients.csv --target outcome
evaluate levels.kr test.txt
evaluate survival.kr patients.csv --time months --event died
evaluate dishes.kr items.csv --pairs votes.csv
auc patients.csv --target outcome --permutations 20
auc samples.csv --target outcome --groups patient
risk patients.csv --target outcome
risk patients.csv --time months --event died --horizon 2
select patients.csv --target outcome -k 2 --halves 2 --repeats 1 --permutations 2
select train.txt -k 2 --halves 2
concordance patients.csv --time months --event died
leaderboard votes.csv
leaderboard arena.csv --items models.csv --id model
leaderboard arena.jsonl --covariates tokens --category conversation.language --time voted_at
compare model.kr tuned.kr test.txt
compare survival.kr survival.kr patients.csv --time months --event died
inspect model.kr
inspect dishes.kr
inspect model.kr --explain 3 8 --data test.txt
export model.kr -o exported.json
convert train.txt converted.csv
dyads fit --rows drugs.csv --columns targets.csv --scores scores.csv -o dyads.kr
dyads tune --rows drugs.csv --columns targets.csv --scores scores.csv -o tuned_dyads.kr
dyads predict dyads.kr --rows drugs.csv --columns targets.csv
dyads evaluate --rows drugs.csv --columns targets.csv --scores scores.csv
relations train corpus.xml -o relations.kr
relations extract relations.kr new.xml
relations evaluate corpus.xml --cv 3
relations evaluate one.xml other.xml
relations show corpus.xml --pair 0 -o pair.svg
""".strip().splitlines()


def keys_of(value: Any) -> Any:
    """Return the keys of what JSON was read from, as a tree."""
    if isinstance(value, dict):
        return {key: None if key in BY_CHANCE else keys_of(part) for key, part in value.items()}
    return [keys_of(value[0])] if isinstance(value, list) and value else None


def run(line: str) -> Any:
    """Make the files that a command line names, run it with ``--json``, and return the keys of its answer."""
    words = line.split()
    for place, word in enumerate(words):
        if word in stand_ins.FILES and words[place - 1] != "-o":
            stand_ins.make(word, "", Path())
    ended = CliRunner().invoke(app, [*words, "--json"], prog_name="kernelrank")
    assert ended.exit_code == 0, f"{line}: {ended.stderr} {ended.exception!r}"
    return keys_of(json.loads(ended.stdout))


def make_results() -> list[Any]:
    """Return one result of each class."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    X = rng.standard_normal((24, 3)) + 0.7 * y[:, None]
    time, event = rng.exponential(size=24), np.arange(24) % 4 > 0
    items, grades, qid = make_ranking(n_queries=6, n_features=3, n_levels=3, random_state=0)
    pairs = np.column_stack([np.arange(12), np.arange(12, 24)])
    ranker, greedy = RankRLS().fit(items, grades, qid=qid), GreedyRankRLS(2)
    measured = [metrics.NDCG()(grades, score, qid=qid) for score in (ranker.predict(items), items[:, 0])]
    survival = [metrics.Concordance()(time, score, event=event) for score in X.T[:2]]
    corpus = relations.make_corpus(24, random_state=0)
    validated = relations.cross_validate(relations.RelationExtractor(), corpus.candidates, 3)
    return [
        measured[0],
        measured[0].interval(),
        metrics.paired_test(*measured),
        metrics.preference_agreement(pairs, X[:, 0]),
        metrics.sensitivity_at(y, X[:, 0], 0.8),
        metrics.dyadic_concordance(X, np.round(X)),
        survival[0],
        survival[0].minus(survival[1]),
        RankRLS().fit_pairs(X, pairs).compare(X[:3], X[3:6]),
        explain(ranker, items[:2]),
        selection_curve(greedy, X, y, cv=3, n_repeats=1),
        selection_stability(greedy, X, y, n_subsamples=4, random_state=0),
        leave_pair_out(RankRLS(), X, y),
        model_selection.estimate_auc(RankRLS(), X, y),
        model_selection.compare_auc(RankRLS(), RankRLS(10.0), X, y),
        model_selection.tournament_roc(RankRLS(), X, y),
        model_selection.estimate_concordance(RankRLS(), X, time, event=event, cv=3),
        model_selection.leave_preferences_out(RankRLS(), X, pairs),
        model_selection.permutation_test(RankRLS(), X, y, n_permutations=5, random_state=0),
        model_selection.permutation_importance(ranker, items, grades, qid, n_repeats=2, random_state=0),
        validated,
        validated.choices[0],
        validated.mean(),
        relations.evaluate_on(relations.RelationExtractor().fit(corpus.candidates), corpus),
    ]


def describe(result: Any) -> dict[str, Any]:
    """Return the columns of `to_frame`, the keys of `to_dict`, and the names of the facts that a notebook shows."""
    found = {"columns": list(result.to_frame()), "facts": [name for name, _ in result._facts()]}
    return found | ({"keys": keys_of(result.to_dict())} if hasattr(result, "to_dict") else {})


def record(lines: list[str]) -> dict[str, Any]:
    """Run the commands, one after the other, in an empty folder."""
    before, rows = Path.cwd(), stand_ins.ROWS
    stand_ins.ROWS = 40
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return {line: run(line) for line in lines}
        finally:
            os.chdir(before)
            stand_ins.ROWS = rows


def test_keys_of_json_answers():
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["commands"]
    found = record(COMMANDS)
    assert sorted(found) == sorted(recorded)
    for line in COMMANDS:
        assert found[line] == recorded[line], line


def test_columns_and_facts_of_results():
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["results"]
    found = {type(result).__name__: describe(result) for result in make_results()}
    assert sorted(found) == sorted(recorded)
    for name, described in found.items():
        assert described == recorded[name], name


if __name__ == "__main__":
    results = {type(result).__name__: describe(result) for result in make_results()}
    text = json.dumps({"commands": record(COMMANDS), "results": results}, ensure_ascii=False, separators=(",", ":"))
    RECORDED.write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
