"""The data of the studies: where each set stands in the data folder, and where it can be got."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AIMED_SPLIT",
    "DAVIS",
    "JESTER",
    "LLMFAO",
    "MICROARRAYS",
    "OHSUMED",
    "PARSES",
    "PREFLIB",
    "REUTERS",
    "SURVIVAL",
    "TABLES",
    "Source",
    "corpus",
]


@dataclass(frozen=True)
class Source:
    """One data set.

    Parameters
    ----------
    name : str
        How people call it.
    paths : tuple of str
        Files or folders that may hold it, relative to the data folder. The first that exists is taken. A ``.tar.xz`` is
        unpacked, and the folder that `inside` names is taken; any other ``.xz`` is decompressed.
    where : str
        Where to get it.
    inside : str
        The folder of an archive that holds the files.
    """

    name: str
    paths: tuple[str, ...]
    where: str
    inside: str = ""


OHSUMED = Source(
    "LETOR 2.0 OHSUMED",
    ("letor/OHSUMED_letor2", "letor/ohsumed.tar.xz", "OHSUMED_letor2", "ohsumed.tar.xz"),
    "Microsoft Research, LETOR 2.0: https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    "OHSUMED_letor2",
)
REUTERS = Source(
    "Reuters-21578",
    ("reuters/reuters21578", "reuters/reuters21578.tar.xz", "reuters21578", "reuters21578.tar.xz"),
    "https://www.daviddlewis.com/resources/testcollections/reuters21578/",
    "reuters21578",
)
JESTER = tuple(
    Source(
        f"Jester, part {part}",
        tuple(f"{folder}jester-data-{part}.csv{end}" for folder in ("jester/", "") for end in ("", ".xz")),
        "https://eigentaste.berkeley.edu/dataset/",
    )
    for part in (1, 2, 3)
)
PARSES = Source(
    "ranked parses of BioInfer",
    ("parses/rlscore_parse_ranking", "parses/bioinfer-subset.tar.xz", "rlscore_parse_ranking"),
    "the examples of RLScore: https://github.com/aatapa/RLScore",
    "rlscore_parse_ranking",
)
MICROARRAYS = {
    name: Source(
        f"microarray {name}",
        tuple(f"{folder}microarray_{name}.csv{end}" for folder in ("microarray/", "") for end in ("", ".xz")),
        f"the R package datamicroarray (https://github.com/ramhiser/datamicroarray), data({name})",
    )
    for name in ("golub", "alon", "singh")
}
DAVIS = Source(
    "Davis et al., drugs and targets",
    ("drug-target/davis", "drug-target/davis.tar.xz", "davis", "davis.tar.xz"),
    "http://staff.cs.utu.fi/~aatapa/data/DrugTarget/",
    "davis",
)
PREFLIB = Source(
    "PrefLib",
    ("preferences/preflib", "preferences/preflib.tar.xz", "preflib", "preflib.tar.xz"),
    "https://preflib.org",
)
LLMFAO = Source(
    "llmfao",
    tuple(f"{folder}llmfao.csv{end}" for folder in ("preferences/", "") for end in ("", ".xz")),
    "https://github.com/dustalov/llmfao",
)
SURVIVAL = {
    name: Source(
        name,
        tuple(f"{folder}{name}.arff{end}" for folder in ("survival/", "") for end in ("", ".xz")),
        "the data sets of scikit-survival: https://github.com/sebp/scikit-survival",
    )
    for name in ("veteran", "GBSG2", "whas500")
}
TABLES = {
    name: Source(
        f"table {name}",
        tuple(f"{folder}{name}.csv{end}" for folder in ("tables/", "") for end in ("", ".xz")),
        "the UCI repository (https://archive.ics.uci.edu), as a CSV file with the target in the last column",
    )
    for name in (
        *("abalone", "airfoil", "bike", "california", "concrete", "energy", "wine-white", "yacht"),
        *("german", "ionosphere", "phoneme", "pima"),
    )
}
AIMED_SPLIT = Source(
    "a split of AIMed by document",
    ("ppi/aimed_10fold_documents.txt", "aimed_10fold_documents.txt"),
    "any file with a fold and a document in each line, with a tab between",
)


def corpus(name: str) -> Source:
    """Return the source of one corpus of protein interactions."""
    return Source(
        f"{name}, learning format",
        tuple(f"{folder}{name}-learning-format.xml{end}" for folder in ("ppi/", "") for end in ("", ".xz")),
        "the unified corpora of protein interactions: http://mars.cs.utu.fi/PPICorpora/",
    )
