"""``kernelrank relations``: find interactions in parsed sentences."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank import persistence
from kernelrank.cli import shared
from kernelrank.cli.shared import STANDARD_STREAM, Answer, check_file, check_output, grouped, without

if TYPE_CHECKING:
    from kernelrank.metrics import Interval
    from kernelrank.relations import Corpus, RelationExtractor
    from kernelrank.relations.corpus import RankedCandidate
    from kernelrank.relations.scores import ExtractionScores

app = typer.Typer(
    rich_markup_mode="rich", no_args_is_help=True, help="Find interactions in parsed sentences.", add_completion=False
)


CORPUS = "Corpus: interaction XML (also compressed), CoNLL-U, or a CSV of sentences with <e1>…</e1> and <e2>…</e2>."
Corpora = Annotated[
    list[Path],
    typer.Argument(metavar="CORPUS", help=CORPUS, show_default=False),
]
CorpusFile = Annotated[
    Path,
    typer.Argument(metavar="CORPUS", help=CORPUS, show_default=False),
]
RuleName = Annotated[
    Literal["calibrated", "resampled", "training", "zero", "proportion"],
    shared.option()("How to set the decision threshold.", "--rule"),
]

# Relations corpora ----------------------------------------------------------------------------------------------------
#
# The corpora that ``kernelrank relations`` reads.

_reading = shared.option("How the corpus is read")


@dataclass(frozen=True)
class CorpusOptions:
    """How corpora are read."""

    parse: Annotated[str, _reading("XML: name of the parse to use.")] = "split_parse"
    tokenization: Annotated[
        str | None, _reading("XML: name of the tokenization to use. Default: that of the parse.")
    ] = None
    mentions: Annotated[
        list[Path] | None, _reading("CoNLL-U: table of the mentions. Give one per file, in the same order.")
    ] = None
    pairs: Annotated[
        list[Path] | None, _reading("CoNLL-U: table of the known pairs. Give one per file, in the same order.")
    ] = None

    def read(self, paths: Sequence[Path], answer: Answer) -> list[Corpus]:
        """Read corpora, and note what was left out: CoNLL-U and sentences by their name, XML otherwise."""
        from kernelrank.errors import InvalidInputError

        tables = [path for path in paths if path.suffix in (".conllu", ".conll")]
        mentions, pairs = self.mentions or [], self.pairs or []
        if len(mentions) != len(tables):
            raise InvalidInputError(
                f"{len(tables)} CoNLL-U files and {len(mentions)} --mentions: give the table of each file"
            )
        if pairs and len(pairs) != len(tables):
            raise InvalidInputError(f"{len(tables)} CoNLL-U files and {len(pairs)} --pairs: give one for each")
        corpora = [self._read(path, tables) for path in paths]
        for corpus, path in zip(corpora, paths, strict=True):
            for reason, count in corpus.skipped.items():
                answer.note(f"{path}: {count:,} {reason} left out")
            if not corpus.candidates:
                raise InvalidInputError(f"{path}: no sentence has two mentions that can be used")
        return corpora

    def _read(self, path: Path, tables: list[Path]) -> Corpus:
        from kernelrank.relations import read_conllu, read_interaction_xml, read_sentences

        if path.suffix in (".csv", ".tsv"):
            return read_sentences(path)
        if path not in tables:
            return read_interaction_xml(path, parse=self.parse, tokenization=self.tokenization)
        place = tables.index(path)
        return read_conllu(path, (self.mentions or [])[place], self.pairs[place] if self.pairs else None)


def joined(corpora: Sequence[Corpus]) -> tuple[list[Any], list[str]]:
    """Return the candidates of all corpora and their documents, each with the number of its corpus before it."""
    candidates = [candidate for corpus in corpora for candidate in corpus.candidates]
    documents = [f"{number}:{name}" for number, corpus in enumerate(corpora) for name in corpus.documents]
    return candidates, documents


# Relations learning ---------------------------------------------------------------------------------------------------
#
# What ``kernelrank relations`` learns: the options of the commands, and the extractor that they make.

_learner = shared.option("Model")


@dataclass(frozen=True)
class ExtractorOptions:
    """The options of the extractor."""

    learner: Annotated[
        Literal["rls", "rankrls"],
        _learner("rls: squared loss over labels. rankrls: squared loss over pairs."),
    ] = "rls"
    features: Annotated[
        str,
        _learner(
            "parts: dependencies, path and word order with equal weight; or some of them, as in path+order. article: "
            "one graph, as in the article. chosen: the best of these by leave-document-out.",
            metavar="[parts|article|chosen|PART+PART]",
        ),
    ] = "parts"
    combine: Annotated[Literal["max", "sum"], _learner("How to combine the walks between two labels.")] = "max"
    scoring: Annotated[
        Literal["auc", "f"], _learner("Measure to choose alpha by, in leave-document-out cross-validation.")
    ] = "auc"
    alphas: Annotated[str | None, _learner("Values of alpha to try, separated by commas, or auto.", default="auto")] = (
        None
    )
    basis: Annotated[
        int | None, _learner("Nyström approximation with this many random pairs as basis. Default: all pairs.")
    ] = None
    labels: Annotated[
        str | None, _learner("Labels of the words, separated by commas: text, pos, lemma.", default="text,pos")
    ] = None
    lowercase: Annotated[bool, _learner("Convert words to lower case.", "--lowercase")] = False
    path_weight: Annotated[float | None, _learner("Weight of edges on the shortest path.", default="0.9", min=0.0)] = (
        None
    )
    other_weight: Annotated[float | None, _learner("Weight of all other dependency edges.", default="0.3", min=0.0)] = (
        None
    )
    order_weight: Annotated[
        float | None, _learner("Weight of edges between neighbouring words.", default="0.9", min=0.0)
    ] = None
    jobs: Annotated[int | None, shared.option()("Number of parallel processes.")] = None
    seed: shared.Seed = 0

    def extractor(self) -> RelationExtractor:
        """Return an extractor with these options, checked."""
        from kernelrank.relations import GraphScheme, RelationExtractor
        from kernelrank.relations.features import feature_sets

        given: dict[str, Any] = {} if self.alphas in (None, "auto") else {"alphas": _numbers(self.alphas)}
        scheme = self.scheme()
        extractor = RelationExtractor(
            learner=self.learner,
            features=self.features,
            combine=self.combine,
            scheme=scheme,
            scoring=self.scoring,
            basis=self.basis,
            n_jobs=self.jobs,
            random_state=self.seed,
            **given,
        )
        extractor.learning()
        feature_sets(self.features)
        GraphScheme.of(scheme)
        return extractor

    def scheme(self) -> dict[str, Any] | None:
        """Return the graph options that were given; None if there are none."""
        names = ("path_weight", "other_weight", "order_weight")
        given: dict[str, Any] = {name: weight for name in names if (weight := getattr(self, name)) is not None}
        if self.lowercase:
            given["lowercase"] = True
        if self.labels is not None:
            given["labels"] = [label.strip() for label in self.labels.split(",")]
        return given or None


def _numbers(text: str) -> tuple[float, ...]:
    from kernelrank.errors import InvalidInputError

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInputError(f"--alphas: expected numbers such as 0.1,1,10; got {text!r}") from None


# Commands -------------------------------------------------------------------------------------------------------------


@app.command()
@grouped
def train(
    *,
    corpora: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("relations.kr"),
    learning: ExtractorOptions,
    reading: CorpusOptions,
    as_json: shared.AsJSON = False,
) -> None:
    """Learn from pairs that are known to interact or not, and save the model.

    Alpha, the decision threshold and, with --features chosen, the features are chosen by leave-document-out
    cross-validation.

    kernelrank relations train corpus.xml -o model.kr

    kernelrank relations train a.conllu --mentions mentions.tsv --pairs p.tsv
    """
    answer = Answer("relations train", as_json=as_json)
    check_file(output, corpora)
    extractor = learning.extractor()
    read = reading.read(corpora, answer)
    candidates, documents = joined(read)
    with answer.noting_warnings():
        extractor.fit(candidates, documents=documents)
    persistence.save(extractor, output)
    learnt = {"pairs": "n_candidates_", "documents": "n_documents_", "features": "features_", "alpha": "alpha_"}
    learnt |= {"features_left_out": "feature_results_", "threshold": "threshold_", "left_out": "cv_results_"}
    answer.add({name: getattr(extractor, attribute) for name, attribute in learnt.items()})
    answer.add({"model": str(output), "skipped": {corpus.name: corpus.skipped for corpus in read}})
    if extractor.feature_results_:
        measured = "AUC" if learning.scoring == "auc" else "best F"
        tried = [
            (f"{name}{' (chosen)' if name == extractor.features_ else ''}", f"{100 * value:.1f}")
            for name, value in extractor.feature_results_.items()
        ]
        answer.table("Features, by leave-document-out", ("features", measured), tried)
    rows = [
        (f"{alpha:,.4g}{' (chosen)' if alpha == extractor.alpha_ else ''}", f"{100 * auc:.1f}", f"{100 * f:.1f}")
        for alpha, auc, f in zip(*(extractor.cv_results_[name] for name in ("alpha", "auc", "f")), strict=True)
    ]
    answer.table("Measured by leave-document-out", ("alpha", "AUC", "best F"), rows)
    answer.line(
        f"The model of {extractor.n_candidates_:,} pairs in {extractor.n_documents_:,} documents is in {output}. "
        f"Scores above {extractor.threshold_:.3g} count as interactions."
    )
    answer.show()


@app.command()
@grouped
def extract(
    *,
    model: shared.Model,
    corpora: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file. - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    format: Annotated[Literal["csv", "json"], typer.Option("--format", "-f", help="Output format.")] = "csv",
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, help="Number of best pairs to write. Default: all.", show_default=False),
    ] = None,
    rule: RuleName = "calibrated",
    share: Annotated[
        float | None,
        typer.Option(
            "--share",
            min=0.0,
            max=1.0,
            help="For --rule proportion: expected share of interacting pairs. Default: the share in the training data.",
            show_default=False,
        ),
    ] = None,
    reading: Annotated[CorpusOptions, without("pairs")],
    as_json: shared.AsJSON = False,
) -> None:
    """Rank the pairs of a corpus, the likeliest interaction first, with scores and sentences.

    kernelrank relations extract model.kr new.xml -o interactions.csv

    kernelrank relations extract model.kr new.xml --top 20 --format json
    """
    to_stdout = str(output) == STANDARD_STREAM
    answer = Answer("relations extract", as_json=as_json, quiet=to_stdout and not as_json)
    check_output(output, [model, *corpora])
    extractor = _load(model)
    read = reading.read(corpora, answer)
    candidates, _ = joined(read)
    with answer.noting_warnings():
        ranked = extractor.rank(candidates, rule, share)
    rows = [pair_row(number, pair) for number, pair in enumerate(ranked[:top], 1)]
    n_found = sum(pair.interacts for pair in ranked)
    answer.fact("pairs", len(ranked))
    answer.fact("interactions", n_found)
    answer.fact("left_out", len(candidates) - len(ranked))
    if as_json and to_stdout:
        answer.fact("ranking", rows)
    else:
        _write(output, as_csv(rows) if format == "csv" else as_json_lines(rows))
        answer.fact("output", str(output))
        answer.line(f"{len(rows):,} of {len(ranked):,} pairs written; {n_found:,} of all count as interactions.")
    answer.show()


@app.command()
@grouped
def evaluate(
    *,
    corpora: Corpora,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", help="Evaluate this model on the corpora. Default: cross-validate.", show_default=False
        ),
    ] = None,
    cv: Annotated[
        str,
        typer.Option(
            "--cv",
            help="Number of cross-validation folds (documents stay whole), or a file with lines: fold, tab, document.",
        ),
    ] = "10",
    learning: ExtractorOptions,
    rule: RuleName = "calibrated",
    reading: CorpusOptions,
    confidence: shared.Confidence = 0.95,
    as_json: shared.AsJSON = False,
) -> None:
    """Measure by document: within each corpus, and from each corpus to the others.

    Each corpus is cross-validated by document (nested: alpha and threshold are chosen inside). With several corpora, a
    model of each is also tested on the others, with five rules for the threshold and the best threshold in hindsight.

    kernelrank relations evaluate corpus.xml

    kernelrank relations evaluate one.xml other.xml --json
    """
    answer = Answer("relations evaluate", as_json=as_json)
    extractor = learning.extractor()
    trained = None if model is None else _load(model)
    read = reading.read(corpora, answer)
    with answer.noting_warnings():
        if trained is not None:
            measure_model(answer, trained, read, rule, confidence)
        else:
            cross_validate_all(answer, extractor, read, cv, rule, confidence, learning.seed)
            if len(read) > 1:
                cross_corpora(answer, extractor, read)
    answer.show()


@app.command()
@grouped
def show(
    *,
    corpus: CorpusFile,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", help="Id of the pair, or its number counted from 0. Default: the first.", show_default=False
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file. - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    width: Annotated[
        int, typer.Option("--width", min=1, help="Width in pixels at which the words go on in a new line.")
    ] = 1000,
    reading: Annotated[CorpusOptions, without("pairs")],
    as_json: shared.AsJSON = False,
) -> None:
    """Draw the graph of one pair as SVG: words in lines, the parse above, the path between the pair in bold.

    kernelrank relations show corpus.xml --pair LLL.d0.s0.p1 -o pair.svg
    """
    from kernelrank.errors import InvalidInputError
    from kernelrank.relations.graphs import draw_candidate

    to_stdout = str(output) == STANDARD_STREAM
    if as_json and to_stdout:
        raise InvalidInputError("--json needs --output: the picture itself goes to standard output")
    answer = Answer("relations show", as_json=as_json, quiet=to_stdout)
    check_output(output, [corpus])
    (read,) = reading.read([corpus], answer)
    candidate = _find_pair(read, pair)
    _write(output, draw_candidate(candidate, width=width))
    answer.fact("pair", candidate.id)
    answer.fact("names", candidate.names)
    answer.fact("sentence", candidate.sentence.id)
    answer.fact("output", str(output))
    if not to_stdout:
        answer.line(f"{' and '.join(candidate.names)} of sentence {candidate.sentence.id} are drawn in {output}.")
    answer.show()


def _load(path: Path) -> RelationExtractor:
    from kernelrank.errors import InvalidInputError
    from kernelrank.relations import RelationExtractor

    model = persistence.load(path)
    if not isinstance(model, RelationExtractor):
        raise InvalidInputError(f"{path}: holds a {type(model).__name__}, not a model of relations train")
    return model


def _write(output: Path, text: str) -> None:
    """Write a file, atomically, or standard output."""
    from kernelrank.data.text import opened_output

    with opened_output(output) as file:
        file.write(text.encode())


def _find_pair(corpus: Corpus, pair: str | None) -> Any:
    from kernelrank.errors import InvalidInputError

    if pair is None:
        return corpus.candidates[0]
    for candidate in corpus.candidates:
        if candidate.id == pair:
            return candidate
    if pair.isdigit() and int(pair) < len(corpus.candidates):
        return corpus.candidates[int(pair)]
    last = len(corpus.candidates) - 1
    raise InvalidInputError(
        f"there is no pair {pair!r}: give an id such as {corpus.candidates[0].id!r}, or a number from 0 to {last}"
    )


# Relations evaluation -------------------------------------------------------------------------------------------------
#
# How ``kernelrank relations evaluate`` measures: within corpora, from corpus to corpus, or a given model.

SCORES = ("", "precision", "recall", "F", "AUC")


def _folds(text: str) -> int | dict[str, int]:
    from kernelrank.errors import FileFormatError

    if text.isdigit():
        return int(text)
    found = {}
    with open(text, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fold, tab, document = line.strip().partition("\t")
            if not (tab and fold.isdigit()):
                raise FileFormatError("a line must be the number of a fold, a tab and a document", text, number)
            found[document] = int(fold)
    return found


def cross_validate_all(
    answer: Answer,
    extractor: RelationExtractor,
    corpora: list[Corpus],
    cv: str,
    rule: Any,
    confidence: float,
    seed: int,
) -> None:
    """Cross-validate each corpus by document, and answer with a table."""
    from kernelrank.relations import cross_validate
    from kernelrank.relations.features import CHOSEN

    facts: dict[str, Any] = {}
    rows = []
    for corpus in corpora:
        result = cross_validate(extractor, corpus.candidates, _folds(cv), random_state=seed)
        mean, spread, baseline = result.mean(rule), result.deviation(rule), result.all_true()
        intervals = result.intervals(rule, confidence=confidence)
        rows += [
            score_row(corpus.name, mean),
            score_row("  deviation over folds", spread),
            score_row("  all folds together", result.pooled(rule)),
            interval_row(intervals),
            score_row("  all pairs interact", baseline),
        ]
        facts[corpus.name] = {
            "positive": corpus.n_positive,
            "negative": corpus.n_negative,
            "documents": corpus.n_documents,
            "mean": score_facts(mean),
            "pooled": score_facts(result.pooled(rule), intervals),
            "deviation": score_facts(spread),
            "all_true": score_facts(baseline),
            "features": [choice.features for choice in result.choices],
            "alphas": [choice.alpha for choice in result.choices],
            "thresholds": [choice.thresholds["calibrated"] for choice in result.choices],
        }
    answer.fact("cross_validation", facts)
    answer.table("Means over folds of documents; intervals by resampling documents", SCORES, rows)
    for name, fact in facts.items():
        chosen = Counter(fact["features"])
        if extractor.features == CHOSEN:
            answer.line(f"{name}: {', '.join(f'{one} in {count} folds' for one, count in chosen.most_common())}.")


def cross_corpora(answer: Answer, extractor: RelationExtractor, corpora: list[Corpus]) -> None:
    """Train on each corpus and test on the others, and answer with a table."""
    from sklearn.base import clone

    from kernelrank.relations import evaluate_on
    from kernelrank.relations.extractor import RULES

    facts = []
    rows = []
    for train in corpora:
        fitted = clone(extractor).fit(train.candidates)
        for test in corpora:
            if test is train:
                continue
            result = evaluate_on(fitted, test, train)
            chosen: dict[str, Any] = {name: result.measure(name) for name in RULES}
            best = result.best()
            f_scores = [*(scores.f for scores in chosen.values()), best.f, result.all_true().f]
            rows.append((train.name, test.name, f"{100 * best.auc:.1f}", *(f"{100 * f:.1f}" for f in f_scores)))
            facts.append(
                {
                    "train": train.name,
                    "test": test.name,
                    **{name: score_facts(scores) for name, scores in chosen.items()},
                    "best": score_facts(best),
                    "all_true": score_facts(result.all_true()),
                }
            )
    answer.fact("cross_corpus", facts)
    heading = ("trained on", "tested on", "AUC", *RULES, "best", "all")
    answer.table("From corpus to corpus: AUC, and F by the rule for the threshold", heading, rows)


def measure_model(
    answer: Answer, extractor: RelationExtractor, corpora: list[Corpus], rule: Any, confidence: float
) -> None:
    """Measure a trained model on each corpus, and answer with a table."""
    from kernelrank.relations import evaluate_on

    facts = {}
    rows = []
    for corpus in corpora:
        result = evaluate_on(extractor, corpus)
        intervals = result.intervals(rule, confidence=confidence)
        rows += [
            score_row(corpus.name, result.measure(rule)),
            interval_row(intervals),
            score_row("  all pairs interact", result.all_true()),
        ]
        facts[corpus.name] = {
            "measured": score_facts(result.measure(rule), intervals),
            "best": score_facts(result.best()),
            "all_true": score_facts(result.all_true()),
        }
    answer.fact("measured", facts)
    answer.table("Measured on other corpora; intervals by resampling documents", SCORES, rows)


# Relations tables -----------------------------------------------------------------------------------------------------
#
# The tables of ``kernelrank relations``: ranked pairs, and measures.

MEASURES = ("precision", "recall", "f", "auc")
COLUMNS = ("rank", "score", "interacts", "first", "second", "document", "sentence", "pair", "text")


def pair_row(rank: int, ranked: RankedCandidate) -> dict[str, Any]:
    """Return a ranked pair by the names of the columns."""
    candidate = ranked.candidate
    first, second = candidate.names
    where = candidate.sentence
    values = (rank, ranked.score, ranked.interacts, first, second, where.document, where.id, candidate.id, where.text)
    return dict(zip(COLUMNS, values, strict=True))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as CSV with a heading."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "score": repr(row["score"])} for row in rows)
    return text.getvalue()


def as_json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a JSON list, one row on each line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n" if rows else "[]\n"


def score_row(name: str, scores: ExtractionScores) -> tuple[str, ...]:
    """Return the four measures in hundredths."""
    values = [getattr(scores, measure) for measure in MEASURES]
    return (name, *("–" if value != value else f"{100 * value:.1f}" for value in values))


def interval_row(intervals: Mapping[str, Interval]) -> tuple[str, ...]:
    """Return the intervals of the four measures, in a row of their own: beside them they would not fit 80 columns."""
    shown = (f"[{100 * low:.1f}, {100 * high:.1f}]" for low, high in (intervals[name] for name in MEASURES))
    return (f"    {100 * intervals['f'].level:g} % interval", *shown)


def score_facts(scores: ExtractionScores, intervals: Mapping[str, Interval] | None = None) -> dict[str, Any]:
    """Return the four measures for programs."""
    facts: dict[str, Any] = {name: getattr(scores, name) for name in MEASURES}
    if intervals is not None:
        facts["intervals"] = {name: [found.low, found.high] for name, found in intervals.items()}
    return facts
