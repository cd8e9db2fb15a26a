"""Votes: one item is better than another, told by a likelihood; leaderboards and Bradley-Terry models."""

from kernelrank.base.lazy import late_names

__all__, __getattr__, __dir__ = late_names(__name__, __file__)
