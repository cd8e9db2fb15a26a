"""Relations: candidate pairs in parsed sentences, their graphs, and the extractor that ranks them."""

from kernelrank.relations.corpus import Candidate, Corpus, Dependency, Mention, Sentence, Token, make_corpus
from kernelrank.relations.evaluation import CrossCorpus, CrossValidation, cross_validate, document_folds, evaluate_on
from kernelrank.relations.extractor import Choice, RelationExtractor
from kernelrank.relations.features import PartsVectorizer
from kernelrank.relations.graphs import GraphScheme, candidate_graph, candidate_graphs, candidate_parts
from kernelrank.relations.readers import from_spacy, read_conllu, read_interaction_xml, read_sentences

__all__ = [
    "Candidate",
    "Choice",
    "Corpus",
    "CrossCorpus",
    "CrossValidation",
    "Dependency",
    "GraphScheme",
    "Mention",
    "PartsVectorizer",
    "RelationExtractor",
    "Sentence",
    "Token",
    "candidate_graph",
    "candidate_graphs",
    "candidate_parts",
    "cross_validate",
    "document_folds",
    "evaluate_on",
    "from_spacy",
    "make_corpus",
    "read_conllu",
    "read_interaction_xml",
    "read_sentences",
]
