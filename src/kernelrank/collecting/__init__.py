"""Votes collected in the browser: pages for judges and the owner, the next pair, a table that loses nothing."""

from kernelrank.base.lazy import late_names

__all__, __getattr__, __dir__ = late_names(__name__, __file__)
