"""Tables 1, 4 and 5 of [PTAJB09]: training times, and the AUC of Reuters' topics."""

from __future__ import annotations

__all__ = ["PUBLISHED"]

# Topic: AUC of RankRLS, RLS and RankSVM, and the positive documents among 500 that train and 12,397 that test.
TOPICS = {
    "acq": (0.98, 0.979, 0.979, 94, 2275),
    "bop": (0.966, 0.88, 0.966, 4, 101),
    "cocoa": (0.931, 0.837, 0.923, 2, 71),
    "coffee": (0.969, 0.962, 0.962, 5, 134),
    "corn": (0.97, 0.95, 0.966, 11, 226),
    "cpi": (0.947, 0.601, 0.947, 3, 94),
    "crude": (0.976, 0.975, 0.976, 23, 555),
    "dlr": (0.971, 0.946, 0.972, 10, 165),
    "earn": (0.994, 0.993, 0.994, 158, 3806),
    "gnp": (0.987, 0.923, 0.987, 5, 131),
    "gold": (0.97, 0.922, 0.96, 4, 120),
    "grain": (0.979, 0.974, 0.979, 23, 559),
    "interest": (0.965, 0.952, 0.968, 19, 459),
    "livestock": (0.701, 0.637, 0.741, 3, 96),
    "money-fx": (0.954, 0.947, 0.959, 28, 689),
    "money-supply": (0.949, 0.907, 0.963, 7, 165),
    "nat-gas": (0.957, 0.941, 0.957, 5, 100),
    "oilseed": (0.898, 0.816, 0.895, 6, 165),
    "reserves": (0.943, 0.511, 0.92, 2, 71),
    "ship": (0.949, 0.925, 0.951, 13, 273),
    "soybean": (0.876, 0.805, 0.882, 4, 107),
    "sugar": (0.985, 0.964, 0.977, 6, 156),
    "trade": (0.978, 0.969, 0.982, 20, 466),
    "veg-oil": (0.89, 0.697, 0.853, 4, 120),
    "wheat": (0.984, 0.976, 0.983, 12, 271),
}

PUBLISHED = {
    **{name: {topic: row[k] for topic, row in TOPICS.items()} for k, name in enumerate(("RankRLS", "RLS", "RankSVM"))},
    "means": {
        name: sum(row[k] for row in TOPICS.values()) / len(TOPICS)
        for k, name in enumerate(("RankRLS", "RLS", "RankSVM"))
    },
    "test_documents": 12397,
    # Table 1, seconds: inputs, RankRLS, RankSVM (SVM-light).
    "times": {
        "1000": (10, 1740),
        "1500": (24, 4685),
        "2000": (48, 13707),
        "2500": (83, 20055),
        "4000": (280, None),
    },
}
