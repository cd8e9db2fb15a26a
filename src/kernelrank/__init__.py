"""Kernel-based learning to rank."""
