"""Figures of others: the tables of [APBPGS08]."""

from __future__ import annotations

CORPORA = ("AImed", "BioInfer", "HPRD50", "IEPA", "LLL")

# Table 1 of the article: positive, negative, P, R, F, σ of F, AUC, σ of AUC, P and F of co-occurrence.
TABLE_1 = {
    "AImed": (1000, 4834, 52.9, 61.8, 56.4, 5.0, 84.8, 2.3, 17.8, 30.1),
    "BioInfer": (2534, 7132, 56.7, 67.2, 61.3, 5.2, 81.9, 4.9, 26.6, 41.7),
    "HPRD50": (163, 270, 64.3, 65.8, 63.4, 11.4, 79.7, 6.3, 38.9, 55.4),
    "IEPA": (335, 482, 69.6, 82.7, 75.1, 7.0, 85.1, 5.1, 40.8, 57.6),
    "LLL": (164, 166, 72.5, 87.2, 76.8, 17.8, 83.4, 12.2, 55.9, 70.3),
}
# Tables 2 to 5, rows train and columns test: AUC, F with the threshold of the training set, the best one, and that of
# the class proportion.
_AUC = {
    "AImed": (None, 67.7, 82.4, 76.1, 77.8),
    "BioInfer": (77.8, None, 75.2, 79.3, 83.3),
    "HPRD50": (72.5, 61.8, None, 74.9, 64.0),
    "IEPA": (70.2, 72.2, 80.0, None, 82.5),
    "LLL": (61.8, 61.0, 69.4, 74.8, None),
}
_TRAINING = {
    "AImed": (None, 24.9, 64.6, 22.9, 17.7),
    "BioInfer": (44.2, None, 63.6, 64.5, 76.4),
    "HPRD50": (40.9, 27.2, None, 56.3, 45.5),
    "IEPA": (38.4, 47.0, 65.6, None, 77.0),
    "LLL": (32.6, 42.2, 58.3, 63.9, None),
}
_BEST = {
    "AImed": (None, 47.1, 69.0, 67.4, 74.5),
    "BioInfer": (47.2, None, 63.9, 68.0, 78.0),
    "HPRD50": (42.2, 42.5, None, 65.1, 67.9),
    "IEPA": (39.1, 51.7, 67.5, None, 77.6),
    "LLL": (33.3, 42.5, 59.8, 64.9, None),
}
_PROPORTION = {
    "AImed": (None, 44.7, 65.6, 63.9, 70.1),
    "BioInfer": (42.6, None, 62.0, 66.9, 75.6),
    "HPRD50": (39.1, 40.0, None, 63.3, 58.5),
    "IEPA": (33.5, 48.4, 66.3, None, 77.4),
    "LLL": (26.5, 38.7, 54.0, 63.0, None),
}
TABLES_2_TO_5 = {
    (train, test): tuple(table[train][place] for table in (_AUC, _TRAINING, _BEST, _PROPORTION))
    for train in CORPORA
    for place, test in enumerate(CORPORA)
    if test != train
}
