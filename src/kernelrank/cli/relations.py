"""``kernelrank relations``: find interactions in parsed sentences."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.output_file import STANDARD_STREAM, check_output
from kernelrank.cli.relations_corpora import CorpusOptions, Mentions, Pairs, Parse, Tokenization, joined
from kernelrank.cli.relations_tables import as_csv, as_json_lines, interval_row, pair_row, score_facts, score_row

if TYPE_CHECKING:
    from kernelrank.relations import Corpus, RelationExtractor

__all__ = ["app"]

app = typer.Typer(
    rich_markup_mode="rich", no_args_is_help=True, help="Find interactions in parsed sentences.", add_completion=False
)

LEARNING = "What is learnt"

Corpora = Annotated[
    list[Path],
    typer.Argument(metavar="CORPUS...", help="Unified XML, also compressed, or CoNLL-U.", show_default=False),
]
CorpusFile = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="Unified XML, also compressed, or CoNLL-U.", show_default=False)
]
Learner = Annotated[
    Literal["rls", "rankrls"],
    typer.Option("--learner", help="Squared errors of labels, or of their differences.", rich_help_panel=LEARNING),
]
Features = Annotated[
    Literal["parts", "article"],
    typer.Option(
        "--features",
        help="Dependencies, path and order as parts that count the same; or the graph of the article.",
        rich_help_panel=LEARNING,
    ),
]
CombineWalks = Annotated[
    Literal["max", "sum"],
    typer.Option("--combine", help="How the walks between two labels are combined.", rich_help_panel=LEARNING),
]
Select = Annotated[
    Literal["auc", "f"],
    typer.Option("--select", help="What alpha is chosen by, documents left out.", rich_help_panel=LEARNING),
]
Alphas = Annotated[
    str | None,
    typer.Option(
        "--alphas",
        help="The alphas to choose from, with commas between.  [default: 1/16 to 8, doubling]",
        rich_help_panel=LEARNING,
        show_default=False,
    ),
]
BasisSize = Annotated[
    int | None,
    typer.Option(
        "--basis", help="How many pairs, drawn at random, carry the model; all unless given.", rich_help_panel=LEARNING
    ),
]
Lowercase = Annotated[
    bool, typer.Option("--lowercase", help="Whether words are taken in lower case.", rich_help_panel=LEARNING)
]


def _weight(flag: str, what: str, default: str) -> Any:
    return typer.Option(
        flag, min=0.0, help=f"{what}  [default: {default}]", rich_help_panel=LEARNING, show_default=False
    )


PathWeight = Annotated[float | None, _weight("--path-weight", "The weight of edges on the shortest paths.", "0.9")]
OtherWeight = Annotated[float | None, _weight("--other-weight", "The weight of edges beside them.", "0.3")]
OrderWeight = Annotated[float | None, _weight("--order-weight", "The weight of edges from word to word.", "0.9")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="How many processors make features.", show_default=False)]
RuleName = Annotated[
    Literal["calibrated", "resampled", "training", "zero", "proportion"],
    typer.Option("--rule", help="Where the scores of interactions begin."),
]


@app.command()
def train(
    corpora: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")] = Path("relations.kr"),
    learner: Learner = "rls",
    features: Features = "parts",
    combine: CombineWalks = "max",
    select: Select = "auc",
    alphas: Alphas = None,
    basis: BasisSize = None,
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

    Alpha and the decision threshold are those that are best when each document is left out in turn. Examples:

    kernelrank relations train corpus.xml -o model.kr

    kernelrank relations train parsed.conllu --mentions mentions.tsv --pairs pairs.tsv
    """
    from kernelrank.persistence import save

    answer = Answer("relations train", as_json=as_json)
    check_output(output, corpora)
    scheme = _scheme(lowercase, path_weight=path_weight, other_weight=other_weight, order_weight=order_weight)
    extractor = _extractor(learner, features, combine, select, alphas, basis, scheme, jobs=jobs, seed=seed)
    read = CorpusOptions(parse, tokenization, mentions, pairs).read(corpora, answer)
    candidates, documents = joined(read)
    with answer.noting_warnings():
        extractor.fit(candidates, documents=documents)
    save(extractor, output)
    answer.fact("model", str(output))
    answer.fact("pairs", extractor.n_candidates_)
    answer.fact("documents", extractor.n_documents_)
    answer.fact("alpha", extractor.alpha_)
    answer.fact("threshold", extractor.threshold_)
    answer.fact("left_out", extractor.cv_results_)
    answer.fact("skipped", {corpus.name: corpus.skipped for corpus in read})
    rows = [
        (f"{alpha:g}{' (chosen)' if alpha == extractor.alpha_ else ''}", f"{100 * auc:.1f}", f"{100 * f:.1f}")
        for alpha, auc, f in zip(*(extractor.cv_results_[name] for name in ("alpha", "auc", "f")), strict=True)
    ]
    answer.table("Each document scored by the model without it", ("alpha", "AUC", "best F"), rows)
    answer.line(
        f"The model of {extractor.n_candidates_:,} pairs in {extractor.n_documents_:,} documents is in {output}. "
        f"Scores above {extractor.threshold_:.3g} count as interactions."
    )
    answer.show()


@app.command()
def extract(
    model: options.Model,
    corpora: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write; - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    format: Annotated[Literal["csv", "json"], typer.Option("--format", "-f", help="What to write.")] = "csv",
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Write only so many pairs.", show_default=False)
    ] = None,
    rule: RuleName = "calibrated",
    share: Annotated[
        float | None,
        typer.Option(
            "--share",
            min=0.0,
            max=1.0,
            help="For --rule proportion: the share of pairs that interact; that of the training pairs unless given.",
            show_default=False,
        ),
    ] = None,
    parse: Parse = "split_parse",
    tokenization: Tokenization = None,
    mentions: Mentions = None,
    as_json: options.AsJSON = False,
) -> None:
    """Rank the pairs of a corpus, the likeliest interaction first, with scores and sentences.

    Examples: kernelrank relations extract model.kr new.xml -o interactions.csv

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
            "--model", help="Measure this model on the corpora; cross-validate unless given.", show_default=False
        ),
    ] = None,
    folds: Annotated[
        str, typer.Option("--folds", help="How many folds of documents; or a file of lines: fold, tab, document.")
    ] = "10",
    learner: Learner = "rls",
    features: Features = "parts",
    combine: CombineWalks = "max",
    select: Select = "auc",
    alphas: Alphas = None,
    basis: BasisSize = None,
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

    Each corpus is cross-validated by document, alpha and threshold chosen inside. With several corpora, a model of each
    is also tested on the others, with five rules for the threshold and the best with hindsight. Examples:

    kernelrank relations evaluate corpus.xml

    kernelrank relations evaluate one.xml other.xml --json
    """
    answer = Answer("relations evaluate", as_json=as_json)
    scheme = _scheme(lowercase, path_weight=path_weight, other_weight=other_weight, order_weight=order_weight)
    extractor = _extractor(learner, features, combine, select, alphas, basis, scheme, jobs=jobs, seed=seed)
    trained = None if model is None else _load(model)
    read = CorpusOptions(parse, tokenization, mentions, pairs).read(corpora, answer)
    with answer.noting_warnings():
        if trained is not None:
            _measure_model(answer, trained, read, rule, confidence)
        else:
            _cross_validate(answer, extractor, read, folds, rule, confidence, seed)
            if len(read) > 1:
                _cross_corpora(answer, extractor, read)
    answer.show()


@app.command()
def show(
    corpus: CorpusFile,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", help="The id of the pair, or its number from 0; the first unless given.", show_default=False
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write; - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    parse: Parse = "split_parse",
    tokenization: Tokenization = None,
    mentions: Mentions = None,
    as_json: options.AsJSON = False,
) -> None:
    """Draw the graph of one pair as SVG: words in a line, the parse above, the path between the pair in bold.

    Example: kernelrank relations show corpus.xml --pair LLL.d0.s0.p1 -o pair.svg
    """
    from kernelrank.errors import InvalidInputError
    from kernelrank.relations.drawing import draw_candidate

    to_stdout = str(output) == STANDARD_STREAM
    if as_json and to_stdout:
        raise InvalidInputError("--json needs --output: the picture itself goes to standard output")
    answer = Answer("relations show", as_json=as_json, quiet=to_stdout)
    check_output(output, [corpus])
    (read,) = CorpusOptions(parse, tokenization, mentions, None).read([corpus], answer)
    candidate = _find_pair(read, pair)
    _write(output, draw_candidate(candidate))
    answer.fact("pair", candidate.id)
    answer.fact("names", candidate.names)
    answer.fact("sentence", candidate.sentence.id)
    answer.fact("output", str(output))
    if not to_stdout:
        answer.line(f"{' and '.join(candidate.names)} of sentence {candidate.sentence.id} are drawn in {output}.")
    answer.show()


def _extractor(
    learner: str,
    features: str,
    combine: Any,
    select: str,
    alphas: str | None,
    basis: int | None,
    scheme: dict[str, Any] | None,
    *,
    jobs: int | None,
    seed: int,
) -> RelationExtractor:
    from kernelrank.relations import RelationExtractor

    given: dict[str, Any] = {} if alphas is None else {"alphas": _numbers(alphas)}
    extractor = RelationExtractor(
        learner=learner,
        features=features,
        combine=combine,
        scheme=scheme,
        select=select,
        basis=basis,
        n_jobs=jobs,
        random_state=seed,
        **given,
    )
    extractor.learning()
    return extractor


def _scheme(lowercase: bool, **weights: float | None) -> dict[str, Any] | None:
    """Return the settings of the graphs that were given; None if none was."""
    given: dict[str, Any] = {name: weight for name, weight in weights.items() if weight is not None}
    return {**given, **({"lowercase": True} if lowercase else {})} or None


def _numbers(text: str) -> tuple[float, ...]:
    from kernelrank.errors import InvalidInputError

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInputError(f"--alphas must be numbers with commas between, got {text!r}") from None


def _load(path: Path) -> RelationExtractor:
    from kernelrank.errors import InvalidInputError
    from kernelrank.persistence import load
    from kernelrank.relations import RelationExtractor

    model = load(path)
    if not isinstance(model, RelationExtractor):
        raise InvalidInputError(f"{path}: holds a {type(model).__name__}, not a model of relations train")
    return model


def _write(output: Path, text: str) -> None:
    """Write a file, whole or not at all, or standard output."""
    from kernelrank.data.atomic import atomic_write

    if str(output) == STANDARD_STREAM:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with atomic_write(output) as file:
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
        f"there is no pair {pair!r}; pairs have ids such as {corpus.candidates[0].id!r} or 0 to {last}"
    )


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


SCORES = ("", "precision", "recall", "F", "AUC")


def _cross_validate(
    answer: Answer,
    extractor: RelationExtractor,
    corpora: list[Corpus],
    folds: str,
    rule: Any,
    confidence: float,
    seed: int,
) -> None:
    from kernelrank.relations import cross_validate

    facts = {}
    rows = []
    for corpus in corpora:
        result = cross_validate(extractor, corpus.candidates, _folds(folds), random_state=seed)
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
            "alphas": result.alphas,
            "thresholds": result.thresholds,
        }
    answer.fact("cross_validation", facts)
    answer.table("Means over folds of documents; intervals by resampling documents", SCORES, rows)


def _cross_corpora(answer: Answer, extractor: RelationExtractor, corpora: list[Corpus]) -> None:
    from sklearn.base import clone

    from kernelrank.relations import evaluate_on
    from kernelrank.relations.threshold import RULES

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


def _measure_model(
    answer: Answer, extractor: RelationExtractor, corpora: list[Corpus], rule: Any, confidence: float
) -> None:
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
