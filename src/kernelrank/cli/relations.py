"""``kernelrank relations``: find interactions in parsed sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.output_file import STANDARD_STREAM, check_file, check_output
from kernelrank.cli.relations_corpora import CorpusOptions, Mentions, Pairs, Parse, Tokenization, joined
from kernelrank.cli.relations_evaluation import cross_corpora, cross_validate_all, measure_model
from kernelrank.cli.relations_learning import (
    Alphas,
    BasisSize,
    CombineWalks,
    Corpora,
    CorpusFile,
    Features,
    Jobs,
    Labels,
    Learner,
    Lowercase,
    OrderWeight,
    OtherWeight,
    PathWeight,
    RuleName,
    Scoring,
    graph_settings,
    make_extractor,
)
from kernelrank.cli.relations_tables import as_csv, as_json_lines, pair_row

if TYPE_CHECKING:
    from kernelrank.relations import Corpus, RelationExtractor

__all__ = ["app"]

app = typer.Typer(
    rich_markup_mode="rich", no_args_is_help=True, help="Find interactions in parsed sentences.", add_completion=False
)


@app.command()
def train(
    corpora: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("relations.kr"),
    learner: Learner = "rls",
    features: Features = "parts",
    combine: CombineWalks = "max",
    scoring: Scoring = "auc",
    alphas: Alphas = None,
    basis: BasisSize = None,
    labels: Labels = None,
    lowercase: Lowercase = False,
    path_weight: PathWeight = None,
    other_weight: OtherWeight = None,
    order_weight: OrderWeight = None,
    parse: Parse = "split_parse",
    tokenization: Tokenization = None,
    mentions: Mentions = None,
    pairs: Pairs = None,
    jobs: Jobs = None,
    seed: options.Seed = 0,
    as_json: options.AsJSON = False,
) -> None:
    """Learn from pairs that are known to interact or not, and save the model.

    Alpha, the decision threshold and, with --features chosen, the features are chosen by leave-document-out
    cross-validation.

    kernelrank relations train corpus.xml -o model.kr

    kernelrank relations train a.conllu --mentions mentions.tsv --pairs p.tsv
    """
    from kernelrank.persistence.model_files import save

    answer = Answer("relations train", as_json=as_json)
    check_file(output, corpora)
    weights = {"path_weight": path_weight, "other_weight": other_weight, "order_weight": order_weight}
    scheme = graph_settings(lowercase, labels, **weights)
    extractor = make_extractor(learner, features, combine, scoring, alphas, basis, scheme, jobs=jobs, seed=seed)
    read = CorpusOptions(parse, tokenization, mentions, pairs).read(corpora, answer)
    candidates, documents = joined(read)
    with answer.noting_warnings():
        extractor.fit(candidates, documents=documents)
    save(extractor, output)
    answer.fact("model", str(output))
    answer.fact("pairs", extractor.n_candidates_)
    answer.fact("documents", extractor.n_documents_)
    answer.fact("features", extractor.features_)
    answer.fact("features_left_out", extractor.feature_results_)
    answer.fact("alpha", extractor.alpha_)
    answer.fact("threshold", extractor.threshold_)
    answer.fact("left_out", extractor.cv_results_)
    answer.fact("skipped", {corpus.name: corpus.skipped for corpus in read})
    if extractor.feature_results_:
        measured = "AUC" if scoring == "auc" else "best F"
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
def extract(
    model: options.Model,
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
    parse: Parse = "split_parse",
    tokenization: Tokenization = None,
    mentions: Mentions = None,
    as_json: options.AsJSON = False,
) -> None:
    """Rank the pairs of a corpus, the likeliest interaction first, with scores and sentences.

    kernelrank relations extract model.kr new.xml -o interactions.csv

    kernelrank relations extract model.kr new.xml --top 20 --format json
    """
    to_stdout = str(output) == STANDARD_STREAM
    answer = Answer("relations extract", as_json=as_json, quiet=to_stdout and not as_json)
    check_output(output, [model, *corpora])
    extractor = _load(model)
    read = CorpusOptions(parse, tokenization, mentions, None).read(corpora, answer)
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
def evaluate(
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
    learner: Learner = "rls",
    features: Features = "parts",
    combine: CombineWalks = "max",
    scoring: Scoring = "auc",
    alphas: Alphas = None,
    basis: BasisSize = None,
    labels: Labels = None,
    lowercase: Lowercase = False,
    path_weight: PathWeight = None,
    other_weight: OtherWeight = None,
    order_weight: OrderWeight = None,
    rule: RuleName = "calibrated",
    parse: Parse = "split_parse",
    tokenization: Tokenization = None,
    mentions: Mentions = None,
    pairs: Pairs = None,
    confidence: options.Confidence = 0.95,
    jobs: Jobs = None,
    seed: options.Seed = 0,
    as_json: options.AsJSON = False,
) -> None:
    """Measure by document: within each corpus, and from each corpus to the others.

    Each corpus is cross-validated by document (nested: alpha and threshold are chosen inside). With several corpora, a
    model of each is also tested on the others, with five rules for the threshold and the best threshold in hindsight.

    kernelrank relations evaluate corpus.xml

    kernelrank relations evaluate one.xml other.xml --json
    """
    answer = Answer("relations evaluate", as_json=as_json)
    weights = {"path_weight": path_weight, "other_weight": other_weight, "order_weight": order_weight}
    scheme = graph_settings(lowercase, labels, **weights)
    extractor = make_extractor(learner, features, combine, scoring, alphas, basis, scheme, jobs=jobs, seed=seed)
    trained = None if model is None else _load(model)
    read = CorpusOptions(parse, tokenization, mentions, pairs).read(corpora, answer)
    with answer.noting_warnings():
        if trained is not None:
            measure_model(answer, trained, read, rule, confidence)
        else:
            cross_validate_all(answer, extractor, read, cv, rule, confidence, seed)
            if len(read) > 1:
                cross_corpora(answer, extractor, read)
    answer.show()


@app.command()
def show(
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
    parse: Parse = "split_parse",
    tokenization: Tokenization = None,
    mentions: Mentions = None,
    as_json: options.AsJSON = False,
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
    (read,) = CorpusOptions(parse, tokenization, mentions, None).read([corpus], answer)
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
    from kernelrank.persistence.model_files import load
    from kernelrank.relations import RelationExtractor

    model = load(path)
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
