"""The steps of `protein_interactions.py`: its corpora, what it compares with, and what it prints."""
