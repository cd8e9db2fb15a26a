"""
Learning from preferences
=========================

Nobody gave scores; people only said which of two items they like better. They contradict
themselves and each other, and compare only few of all pairs.
"""

# %%
# Sixty items with ten features, and a hidden utility that is linear in them. In each comparison
# the better item wins with a probability that depends on how much better it is (the model of
# Bradley and Terry).

import matplotlib.pyplot as plt
import numpy as np

import kernelrank as kr

X, pairs, coef = kr.make_preferences(
    n_items=60, n_features=10, n_pairs=400, noise=0.5, return_coef=True, random_state=0
)
utility = X @ coef
wrong = np.mean(utility[pairs[:, 0]] < utility[pairs[:, 1]])
print(f"{len(pairs)} preferences, of which {wrong:.0%} contradict the hidden utility")

# %%
# Row (a, b) of ``pairs`` says that item a was preferred to item b. Nothing else is needed.

model = kr.RankRLS(alpha=10.0).fit_pairs(X, pairs)
print(f"preferences that the model agrees with: {model.score_pairs(X, pairs):.3f}")

# %%
# It agrees with fewer preferences than it was given, and should: some were mistakes. The model
# has learnt the utility up to a constant, which no comparison can tell, and up to scale, for "is
# preferred" is taken as a difference of one. The items below were in no comparison at all.

new = np.random.default_rng(1).standard_normal((60, 10))
_, ax = plt.subplots()
ax.scatter(utility, model.predict(X), label="compared items")
ax.scatter(new @ coef, model.predict(new), marker="x", label="new items")
ax.set(xlabel="hidden utility", ylabel="learnt score", title="Scores from 400 preferences")
ax.legend()

# %%
# How many preferences are enough? We draw ten sets of each size and measure, on all pairs of new
# items, how many are put in the right order. For comparison: the order of the same items by their
# number of wins less losses, which needs no features, and so says nothing about new items; it is
# measured on the compared items themselves.

sizes = [20, 50, 100, 200, 500, 1000, 2000]
by_model, by_wins = [], []
for size in sizes:
    for seed in range(10):
        items, given, weights = kr.make_preferences(
            60, 10, size, noise=0.5, return_coef=True, random_state=seed
        )
        fitted = kr.RankRLS(alpha=10.0).fit_pairs(items, given)
        by_model.append(kr.metrics.pairwise_accuracy(new @ weights, fitted.predict(new)))
        wins = np.bincount(given[:, 0], minlength=60) - np.bincount(given[:, 1], minlength=60)
        by_wins.append(kr.metrics.pairwise_accuracy(items @ weights, wins))

_, ax = plt.subplots()
ax.plot(sizes, np.reshape(by_model, (-1, 10)).mean(axis=1), "o-", label="RankRLS, new items")
ax.plot(
    sizes,
    np.reshape(by_wins, (-1, 10)).mean(axis=1),
    "s--",
    label="wins less losses, the items themselves",
)
ax.set(
    xscale="log",
    xlabel="preferences",
    ylabel="pairs in the right order",
    title="How many are enough?",
)
ax.legend()

# %%
# The features are what makes few preferences go far. Where the features say nothing about the
# preference, nothing is gained: with many comparisons of few items and no useful features, count
# wins, or fit a model of Bradley and Terry.
