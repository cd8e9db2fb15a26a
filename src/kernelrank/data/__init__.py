"""Data: ranking and preference files, read and written, and generators of both."""

from kernelrank.base.labels import event_times
from kernelrank.data.generators import make_preferences, make_ranking
from kernelrank.data.items import Items
from kernelrank.data.letor import Fold, Ranking, letor_folds, read_ranking, read_ranking_chunks
from kernelrank.data.preparation import TablePreparation, read_table
from kernelrank.data.readers import read_item_chunks, read_items, read_parquet_chunks, read_scores
from kernelrank.data.trec import (
    LinearModelFile,
    Qrels,
    Run,
    read_linear_model,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from kernelrank.data.vote_contexts import EmbeddedPairs, read_embedded_pairs
from kernelrank.data.vote_tables import read_pairs
from kernelrank.data.votes import Preferences, Rankings, preferences_from_clicks, read_rankings
from kernelrank.data.writers import write_items, write_pairs, write_ranking, write_scores

__all__ = [
    "EmbeddedPairs",
    "Fold",
    "Items",
    "LinearModelFile",
    "Preferences",
    "Qrels",
    "Ranking",
    "Rankings",
    "Run",
    "TablePreparation",
    "event_times",
    "letor_folds",
    "make_preferences",
    "make_ranking",
    "preferences_from_clicks",
    "read_embedded_pairs",
    "read_item_chunks",
    "read_items",
    "read_linear_model",
    "read_pairs",
    "read_parquet_chunks",
    "read_qrels",
    "read_ranking",
    "read_ranking_chunks",
    "read_rankings",
    "read_run",
    "read_scores",
    "read_table",
    "write_items",
    "write_pairs",
    "write_qrels",
    "write_ranking",
    "write_run",
    "write_scores",
]
