"""
Learning from preferences
=========================

There are no scores; people only said which of two items they like better. They contradict
themselves and each other, and compare only few of all pairs.
"""

# %%
# Sixty items with ten features, and a hidden utility that is linear in them. In each comparison
# the better item wins with a probability that depends on how much better it is (the model of
# Bradley and Terry).

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import kernelrank as kr

X, pairs, coef = kr.make_preferences(
    n_items=60, n_features=10, n_pairs=400, noise=0.5, return_coef=True, random_state=0
)
utility = X @ coef
wrong = np.mean(utility[pairs[:, 0]] < utility[pairs[:, 1]])
print(f"{len(pairs)} preferences, of which {wrong:.0%} contradict the hidden utility")

# %%
# Row (a, b) of ``pairs`` says that item a was preferred to item b. Nothing else is needed: alpha
# is chosen by the agreement with held-out preferences.

model = kr.RankRLSCV().fit_pairs(X, pairs)
print(f"alpha: {model.alpha_:g}")
print(f"preferences that the model agrees with: {model.score_pairs(X, pairs):.3f}")

# %%
# The model does not agree with all preferences, because some of them were mistakes. It has learnt
# the utility up to a constant, which comparisons do not determine, and up to scale, because "is
# preferred" is treated as a difference of one. The items below were in no comparison.

new = np.random.default_rng(1).standard_normal((60, 10))
_, ax = plt.subplots()
ax.scatter(utility, model.predict(X), label="compared items")
ax.scatter(new @ coef, model.predict(new), marker="x", label="new items")
ax.set(xlabel="hidden utility", ylabel="learnt score", title="Scores from 400 preferences")
ax.legend()

# %%
# How good is it on preferences that it has not seen? ``leave_preferences_out`` holds out one
# preference at a time, or all preferences of both items, as if the items were new. For least
# squares this costs a few fits.

plain = kr.RankRLS(model.alpha_)
print(kr.leave_preferences_out(plain, X, pairs).agreement)
print(kr.leave_preferences_out(plain, X, pairs, items=True).agreement)

# %%
# ``BradleyTerry`` learns the probability of each vote. With a sparse identity matrix for X it has
# no features, and a score for each item.

items = sparse.eye_array(60, format="csr")
folds = np.arange(len(pairs)) % 20
for name, features in (("features", X), ("no features", items)):
    held_out = kr.leave_preferences_out(kr.BradleyTerry(), features, pairs, groups=folds)
    print(f"{name}: agreement {held_out.agreement.value:.3f}, log-loss {held_out.log_loss:.3f}")

# %%
# How many preferences are enough? We draw ten sets of each size and measure how many pairs of
# items are put in the right order: all pairs of new items for the models with features, and all
# pairs of the compared items for scores without features, which cannot rank new items.

sizes = [20, 50, 100, 200, 500, 1000, 2000]
learners = {
    "RankRLS, new items": (kr.RankRLS(model.alpha_), True),
    "Bradley-Terry, new items": (kr.BradleyTerry(), True),
    "Bradley-Terry without features, the items themselves": (kr.BradleyTerry(), False),
}
right = {name: np.zeros(len(sizes)) for name in learners}
for place, size in enumerate(sizes):
    for seed in range(10):
        drawn, given, weights = kr.make_preferences(
            60, 10, size, noise=0.5, return_coef=True, random_state=seed
        )
        for name, (learner, featured) in learners.items():
            fitted = learner.fit_pairs(drawn if featured else items, given)
            truth = (new if featured else drawn) @ weights
            scores = fitted.predict(new if featured else items)
            right[name][place] += kr.metrics.pairwise_accuracy(truth, scores) / 10

_, ax = plt.subplots()
for (name, shares), style in zip(right.items(), ("o-", "^-", "s--"), strict=True):
    ax.plot(sizes, shares, style, label=name)
ax.set(
    xscale="log",
    xlabel="preferences",
    ylabel="pairs in the right order",
    title="How many are enough?",
    ylim=(0.5, 1.0),
)
ax.figure.legend(loc="outside lower center", frameon=False)

# %%
# With informative features, few preferences are enough. With many comparisons of few items and no
# useful features, give each item its own score, with intervals: see ``Leaderboard``.
