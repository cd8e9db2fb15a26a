"""
Strings and sets
================

A kernel is a function that tells how similar two items are. The items may be anything: here they
are strings and sets. A list of them takes the place of the rows of X.
"""

# %%
# String kernels
# --------------
#
# The *spectrum kernel* counts the words of k letters that two strings share. The *mismatch kernel*
# also counts words that differ in one letter. Both are inner products of counts of words, so they
# are positive semidefinite. Sixty generated strings of twenty letters are ordered by how much of
# the word ``GATTA`` they contain.

from collections import Counter
from functools import cache

import matplotlib.pyplot as plt
import numpy as np

import kernelrank as kr

LETTERS, MOTIF = "ACGT", "GATTA"


@cache
def words(text, k):
    """Return how often each word of k letters is in a text."""
    return Counter(text[i : i + k] for i in range(len(text) - k + 1))


@cache
def similar_words(text, k):
    """Return the same, each word with all that differ from it in one letter."""
    counts = Counter()
    for word, count in words(text, k).items():
        counts[word] += count
        for i in range(k):
            for letter in LETTERS.replace(word[i], ""):
                counts[word[:i] + letter + word[i + 1 :]] += count
    return counts


def inner(some, others):
    """Return the inner product of two tables of counts."""
    return float(sum(count * others[word] for word, count in some.items()))


def spectrum(a, b, k=3):
    """Count the words that two strings share."""
    return inner(words(a, k), words(b, k))


def mismatch(a, b, k=3):
    """Count the words that they share up to one letter."""
    return inner(similar_words(a, k), similar_words(b, k))


rng = np.random.default_rng(0)


def planted():
    """Return a string and how many letters of the motif it was given, between noise."""
    letters, start = rng.choice(list(LETTERS), 20), rng.integers(0, 15)
    kept = rng.random(5) < rng.random()
    letters[start : start + 5] = np.where(kept, list(MOTIF), letters[start : start + 5])
    return "".join(letters), kept.sum()


strings, y = zip(*(planted() for _ in range(60)), strict=True)
y = np.array(y, dtype=float)
print(strings[:3], y[:3])

# %%
# ``kernel_params`` are passed on to the function. Leave-pair-out predicts each pair of strings by a
# model that was trained without the two, and whose alpha was chosen without them.

LENGTHS = (2, 3, 4, 5)
accuracies = {}
for kernel in (spectrum, mismatch):
    for k in LENGTHS:
        search = kr.RankRLSCV(kernel=kernel, kernel_params={"k": k})
        accuracies[kernel.__name__, k] = kr.leave_pair_out(search, list(strings), y).accuracy

for kernel in (spectrum, mismatch):
    print(
        f"{kernel.__name__:9}", *(f"k={k}: {accuracies[kernel.__name__, k]:.3f}" for k in LENGTHS)
    )

# %%
# The kernel of sets
# ------------------
#
# The share of common members, ``|A ∩ B| / |A ∪ B|``, is positive semidefinite as well. Forty dishes
# are sets of ingredients; how much people like them depends on which ingredients come together.

PANTRY = ["basil", "tomato", "garlic", "chocolate", "orange", "chili", "mint", "anchovy"]
GOOD = [{"basil", "tomato"}, {"chocolate", "orange"}, {"garlic", "chili"}]
BAD = [{"chocolate", "anchovy"}, {"mint", "garlic"}]


def jaccard(a, b):
    """Return the share of what is in both sets, of what is in one of them."""
    return len(a & b) / len(a | b)


dishes = [
    set(rng.choice(PANTRY, size=rng.integers(2, 6), replace=False).tolist()) for _ in range(40)
]
liked = [sum(pair <= dish for pair in GOOD) - sum(pair <= dish for pair in BAD) for dish in dishes]
liked = np.array(liked, dtype=float)

rows = np.array([[ingredient in dish for ingredient in PANTRY] for dish in dishes], dtype=float)
of_sets = kr.leave_pair_out(kr.RankRLSCV(kernel=jaccard), dishes, liked).accuracy
of_rows = kr.leave_pair_out(kr.RankRLSCV(), rows, liked).accuracy
print(f"Jaccard kernel of sets {of_sets:.3f}, linear kernel of zeros and ones {of_rows:.3f}")

model = kr.RankRLSCV(kernel=jaccard).fit(dishes, liked)
menu = [{"basil", "tomato", "garlic"}, {"chocolate", "anchovy"}, {"orange", "mint"}]
for dish, score in zip(menu, model.predict(menu), strict=True):
    print(f"{score:+.2f}  {', '.join(sorted(dish))}")

_, ax = plt.subplots()
for kernel in ("spectrum", "mismatch"):
    ax.plot(LENGTHS, [accuracies[kernel, k] for k in LENGTHS], "o-", label=kernel)
ax.set(xlabel="letters of a word", ylabel="pairs in order, left out", xticks=LENGTHS, ylim=(0.5, 1))
ax.legend()
plt.show()

# %%
# A function is called for each pair of items. Where a vectoriser makes the same features, it is
# faster: ``CountVectorizer(analyzer="char", ngram_range=(3, 3))`` and a linear kernel give the
# spectrum kernel. Models with functions cannot be saved; models with a vectoriser, or with
# ``kernel="precomputed"``, can.
