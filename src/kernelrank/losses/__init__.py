"""Pairwise losses: hinges over pairs, from sorted sweeps that never visit the pairs."""
