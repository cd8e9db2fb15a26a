"""The alphas of the study, which was made with a fixed grid."""

from __future__ import annotations

ALPHAS = tuple(2.0**k for k in range(-4, 4))
