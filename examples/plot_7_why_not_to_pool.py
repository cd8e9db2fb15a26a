"""
Why not to pool
===============

It seems natural: leave out each patient, collect the held-out scores, compute one AUC of all of
them. But these scores come from different models, each with a different constant, and the
constant depends on the class of the patient who was left out.
"""

# %%
# Data without any signal: the features are noise, so that the true AUC of every model is one
# half. We repeat this two hundred times with fifteen positive and fifteen negative items. The
# learner is regularised least squares with an intercept, as most classifiers have one: a column
# of tens, which regularisation hardly shrinks.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import kernelrank as kr
from kernelrank.errors import PooledAUCWarning

methods = {
    "pooled leave-one-out": {"method": "pooled", "cv": "leave_one_out"},
    "pooled, 5 folds": {"method": "pooled", "cv": 5},
    "averaged, 5 folds": {"method": "averaged", "cv": 5},
    "leave-pair-out": {"method": "leave_pair_out", "interval": "components"},
}
y = np.repeat([0, 1], 15)


def estimates(signal, repeats=200):
    """Return the estimates of every method, for data whose first feature has this much signal."""
    found = {name: [] for name in methods}
    for seed in range(repeats):
        X = np.random.default_rng(seed).standard_normal((30, 11))
        X[:, 0] += signal * y
        X[:, -1] = 10.0
        for name, options in methods.items():
            found[name].append(
                kr.estimate_auc(kr.RLS(100.0), X, y, random_state=seed, **options).auc
            )
    return found


# %%
# kernelrank warns when scores are pooled; here that is the point, so the warning is silenced.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", PooledAUCWarning)
    without, with_signal = estimates(0.0), estimates(1.0)
for name in methods:
    mean, spread, other = np.mean(without[name]), np.std(without[name]), np.mean(with_signal[name])
    print(f"{name:21} no signal: {mean:.3f} ± {spread:.3f}   some signal: {other:.3f}")

_, ax = plt.subplots()
for place, (found, colour, label) in enumerate(
    ((without, "C0", "no signal"), (with_signal, "C1", "some signal"))
):
    ax.boxplot(
        list(found.values()),
        positions=3 * np.arange(len(found)) + place,
        widths=0.7,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": colour, "alpha": 0.6},
        medianprops={"color": "black"},
        label=label,
    )
ax.axhline(0.5, color="C3", lw=1, label="truth without signal")
ax.set_xticks(3 * np.arange(len(methods)) + 0.5, [name.replace(" ", "\n", 1) for name in methods])
ax.tick_params(axis="x", labelsize="small")
ax.set_ylabel("estimated AUC")
ax.figure.legend(loc="outside lower center", ncols=3, fontsize="small", frameon=False)

# %%
# Without signal the correct answer is one half, and all but one of the methods give it on
# average. Pooled leave-one-out is far below. If a positive item is left out, positive items are
# rarer in training, so the model scores all items slightly lower, also the one left out; for a
# negative item it is the reverse. The stronger the regularisation, the larger the effect. It is
# smaller for a learner without an intercept, or with a small alpha. It is small for folds that
# keep the shares of the classes, as these do, and larger again for folds that do not, or for
# folds of groups.
#
# Leave-pair-out compares two items by one model, so the constant does not matter, for any
# learner. It does not help against small samples: its variance is as large as that of the others,
# and a single study with thirty items can show 0.7 without any signal. Use intervals and
# permutation tests.
