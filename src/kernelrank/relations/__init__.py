"""Relations: candidate pairs in parsed sentences, their graphs, and the extractor that ranks them."""

from kernelrank.relations.candidate import Candidate
from kernelrank.relations.choice import Choice
from kernelrank.relations.corpus import Corpus
from kernelrank.relations.cross_corpus import CrossCorpus, evaluate_on
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.evaluation import CrossValidation, cross_validate, document_folds
from kernelrank.relations.extractor import RelationExtractor
from kernelrank.relations.generator import make_corpus
from kernelrank.relations.graph_scheme import GraphScheme
from kernelrank.relations.graphs import candidate_graph, candidate_graphs, candidate_parts
from kernelrank.relations.interaction_xml import read_interaction_xml
from kernelrank.relations.mention import Mention
from kernelrank.relations.parts_vectorizer import PartsVectorizer
from kernelrank.relations.readers import read_conllu
from kernelrank.relations.sentence import Sentence
from kernelrank.relations.spacy_doc import from_spacy
from kernelrank.relations.token import Token

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
]
