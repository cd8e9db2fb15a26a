"""
The AUC of a small cohort
=========================

How good is a classifier for forty patients? There are too few patients for a test set, so each
pair of an ill and a well patient is left out once, and scored by a model that was trained without
both. In this example we also know the true AUC, from the other patients of the same study.
"""

# %%
# We draw a cohort of 20 malignant and 20 benign tumours from the breast cancer data of
# scikit-learn, with nine of the less informative measurements. All other patients are the test set.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.report import ROCDisplay

data = load_breast_cancer()
X, y = (
    data.data[:, [1, 4, 8, 9, 11, 14, 15, 18, 19]],
    np.array(["benign", "malignant"])[1 - data.target],
)


def draw_cohort(seed, size=20):
    """Return the numbers of the patients in a cohort, and of all others."""
    random = np.random.default_rng(seed)
    classes = (np.flatnonzero(y == name) for name in np.unique(y))
    cohort = np.concatenate([random.choice(items, size, replace=False) for items in classes])
    return cohort, np.setdiff1d(np.arange(len(y)), cohort)


cohort, others = draw_cohort(0)

# %%
# The columns have very different scales. Scaling uses the items but not their classes; we still
# learn it from the cohort alone, as in a real study.

scale = StandardScaler().fit(X[cohort])
model = kr.RankRLS(alpha=10.0)
estimate = kr.estimate_auc(model, scale.transform(X[cohort]), y[cohort])
print(estimate)

# %%
# The words at the end state what the interval allows for. Is there any signal? A permutation
# test shuffles the classes and estimates again; all permutations share one decomposition.

print(
    kr.permutation_test(
        model, scale.transform(X[cohort]), y[cohort], n_permutations=200, random_state=0
    )
)

# %%
# Pairs alone give no ROC curve, because the items have no scores. In a tournament each item's
# score is the number of held-out pairs that it wins; these scores have a ROC curve. The curve of
# the other patients is drawn for comparison.

model.fit(scale.transform(X[cohort]), y[cohort] == "malignant")
_, ax = plt.subplots(figsize=(4.8, 4.8))
ROCDisplay.from_estimator(
    kr.RankRLS(alpha=10.0),
    scale.transform(X[cohort]),
    y[cohort],
    ax=ax,
    random_state=0,
    name="cohort",
)
ROCDisplay.from_predictions(
    y[others],
    model.predict(scale.transform(X[others])),
    ax=ax,
    random_state=0,
    name="all others",
)
plt.title("Forty patients, and all others")

# %%
# Were we lucky with this cohort? We draw a hundred, each with its interval and with its own
# truth: the AUC of its model on the patients outside. The picture shows the first thirty.

found = []
for seed in range(100):
    cohort, others = draw_cohort(seed)
    pipeline = make_pipeline(StandardScaler(), kr.RankRLS(alpha=10.0)).fit(
        X[cohort], y[cohort] == "malignant"
    )
    truth = kr.metrics.auc(y[others] == "malignant", pipeline.predict(X[others]))
    guess = kr.estimate_auc(kr.RankRLS(alpha=10.0), pipeline[0].transform(X[cohort]), y[cohort])
    found.append((truth, guess.auc, *guess.interval))
truth, auc, low, high = np.array(found).T
held = (low <= truth) & (truth <= high)
print(f"mean estimate {auc.mean():.3f}, mean truth {truth.mean():.3f}")
print(f"{held.sum()} of 100 intervals hold the truth")

order = np.argsort(auc[:30])
_, ax = plt.subplots()
ax.errorbar(
    np.arange(30),
    auc[order],
    [(auc - low)[order], (high - auc)[order]],
    fmt="o",
    ms=4,
    label="estimate, 95%",
)
ax.plot(np.arange(30), truth[order], "x", color="C3", label="patients outside")
ax.set(xlabel="cohort, by its estimate", ylabel="AUC")
ax.legend(loc="lower center")

# %%
# On average the estimate is right; for one cohort it can be wrong by a tenth and more, as the
# width of the interval shows. No method of cross-validation can be more precise with forty
# patients. To choose alpha on these patients as well, pass ``RankRLSCV()`` to `estimate_auc`: it
# then chooses alpha in every training set (nested cross-validation).
