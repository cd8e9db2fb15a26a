"""Figures of others: the tables of [APBPGS08], and the sketch that came before kernelrank."""

from __future__ import annotations

# Table 1 of the article: positive, negative, P, R, F, σ of F, AUC, σ of AUC, P and F of co-occurrence.
TABLE_1 = {
    "AImed": (1000, 4834, 52.9, 61.8, 56.4, 5.0, 84.8, 2.3, 17.8, 30.1),
    "IEPA": (335, 482, 69.6, 82.7, 75.1, 7.0, 85.1, 5.1, 40.8, 57.6),
    "LLL": (164, 166, 72.5, 87.2, 76.8, 17.8, 83.4, 12.2, 55.9, 70.3),
}
# AUC and F of a sketch of 120 lines with the same features, its splits of IEPA and LLL unknown.
SKETCH = {"AImed": (84.9, 56.1), "IEPA": (83.8, 72.9), "LLL": (84.0, 79.7)}
# Tables 2 to 5: AUC, F with the threshold of the training set, the best one and that of the class proportion.
TABLES_2_TO_5 = {
    ("AImed", "IEPA"): (76.1, 22.9, 67.4, 63.9),
    ("AImed", "LLL"): (77.8, 17.7, 74.5, 70.1),
    ("IEPA", "AImed"): (70.2, 38.4, 39.1, 33.5),
    ("IEPA", "LLL"): (82.5, 77.0, 77.6, 77.4),
    ("LLL", "AImed"): (61.8, 32.6, 33.3, 26.5),
    ("LLL", "IEPA"): (74.8, 63.9, 64.9, 63.0),
}
