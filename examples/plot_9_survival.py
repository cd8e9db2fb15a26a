"""
Who lasts longer
================

Some times are censored: a patient was followed for three years and is still alive. Such a time
cannot be predicted directly, but it can be compared: every patient who died earlier survived for
a shorter time. We learn from all pairs whose order is known, and look at the survival curves of
held-out scores.
"""

# %%
# Two hundred patients with five features, of which two matter. Half of the times are censored.

import matplotlib.pyplot as plt
import numpy as np

import kernelrank as kr

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 5))
lasted = rng.exponential(np.exp(X[:, 0] - 0.5 * X[:, 1]))
followed = rng.exponential(1.5, 200)
time, event = np.minimum(lasted, followed), lasted <= followed
print(f"{event.sum()} events among {len(event)} patients")

# %%
# Each fold is scored by a model whose alpha was chosen without it. The concordance is the share of
# the pairs of known order that the scores have in that order: 0.5 is chance.

estimate = kr.estimate_concordance(kr.RankRLSCV(), X, time, event=event)
print(estimate.interval)

# %%
# The thirds of the held-out scores. If the score is informative, the curves differ; the
# log-rank test measures whether the difference could be chance.

third = estimate.thirds()
for number, label in enumerate(("lowest third", "middle third", "highest third")):
    part = third == number
    curve = kr.metrics.KaplanMeier.of(time[part], event[part])
    plt.step(np.append(0, curve.time), np.append(1, curve.survival), where="post", label=label)
plt.xlabel("time")
plt.ylabel("share without the event")
plt.legend(title="held-out score")
pvalue = kr.metrics.log_rank_pvalue(time, event, third)
plt.title("log-rank p < 0.001" if pvalue < 0.001 else f"log-rank p = {pvalue:.3f}")
plt.show()
