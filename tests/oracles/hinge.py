"""The slow, obvious twin of the hinges: every pair is written out."""

from __future__ import annotations

import numpy as np


def hinge(f, edges):
    """Value and subgradient of the hinge over written-out pairs; a pair whose margin is exactly one is inactive."""
    active = f[edges.h] - 1.0 < f[edges.j]
    cost = np.where(active, edges.w2 * (1.0 - (f[edges.h] - f[edges.j])), 0.0)
    return cost.sum(), _scatter(edges, np.where(active, edges.w2, 0.0))


def squared_hinge(f, edges):
    """Value and gradient of the squared hinge."""
    short = np.maximum(0.0, 1.0 - (f[edges.h] - f[edges.j]))
    return (edges.w2 * short**2).sum(), _scatter(edges, 2.0 * edges.w2 * short)


def squared_hinge_curvature(f, v, edges):
    """Product of the generalised Hessian of the squared hinge with v."""
    active = f[edges.h] - 1.0 < f[edges.j]
    return -_scatter(edges, np.where(active, 2.0 * edges.w2 * (v[edges.h] - v[edges.j]), 0.0))


def smoothed_hinge(f, edges, width):
    """Value and gradient of the smoothed hinge, and the slack of its dual point."""
    short = 1.0 - (f[edges.h] - f[edges.j])
    slope = np.clip(short / width, 0.0, 1.0)
    value = np.where(short > width, short - width / 2, np.maximum(short, 0.0) ** 2 / (2 * width))
    slack = edges.w2 @ (np.maximum(short, 0.0) - slope * short)
    return edges.w2 @ value, _scatter(edges, edges.w2 * slope), slack


def _scatter(edges, slope):
    """Minus the slope at the head of each pair, plus at its tail."""
    gradient = np.zeros(edges.m)
    np.add.at(gradient, edges.h, -slope)
    np.add.at(gradient, edges.j, slope)
    return gradient
