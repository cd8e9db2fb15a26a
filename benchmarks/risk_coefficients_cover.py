"""How often the 95 % intervals of `risk_coefficients` hold the coefficients that one fit to 20,000 patients has.

Times are exponential with hazards ``exp(x b)``, and a third of them is censored. The fit to many patients has the alpha
of the small ones for each pair, so that it is regularised as they are.

    python -m benchmarks.risk_coefficients_cover --cohorts 100
"""

from __future__ import annotations

import argparse

import numpy as np

from kernelrank import RankRLS
from kernelrank.model_selection import risk_coefficients
from kernelrank.model_selection.concordance import _risk_of

WEIGHTS = np.array([1.0, -0.5, 0.25, 0.0, 0.0])


def cohort(m: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw features, times and events."""
    X = random.standard_normal((m, len(WEIGHTS)))
    X[:, 4] = 0.6 * X[:, 0] + 0.8 * X[:, 4]
    lasted = random.exponential(np.exp(-X @ WEIGHTS))
    followed = random.exponential(2.0, m)
    return X, np.minimum(lasted, followed), lasted <= followed


def main() -> None:
    """Print the coverage of each coefficient."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cohorts", type=int, default=100)
    cohorts = parser.parse_args().cohorts
    random = np.random.default_rng(0)
    many, many_time, many_event = cohort(20_000, random)
    for m in (80, 300):
        for alpha in (1.0, 0.1 * m**2):
            large = RankRLS(alpha * (len(many) / m) ** 2).fit(many, many_time, event=many_event)
            truth, held, width = _risk_of(large.coef_, many), np.zeros(len(WEIGHTS)), np.zeros(len(WEIGHTS))
            for seed in range(cohorts):
                X, time, event = cohort(m, random)
                found = risk_coefficients(RankRLS(alpha), X, time, event=event, random_state=seed)
                held += (found.low <= truth) & (truth <= found.high)
                width += (found.high - found.low) / cohorts
            shares = "  ".join(f"{truth[k]:+.2f} {held[k] / cohorts:.2f} ({width[k]:.2f})" for k in range(len(truth)))
            print(f"{m:4} patients, alpha {alpha:7.0f}: truth, share of cohorts (mean width)  {shares}", flush=True)


if __name__ == "__main__":
    main()
