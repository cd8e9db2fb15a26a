"""
Small labelled graphs
=====================

A molecule is a graph: atoms with labels, and bonds. We rank twenty-eight of them by the
temperature at which they boil, from walks along the bonds, and ask how long these walks should be.
Leave-pair-out uses every pair of molecules as test data, so that no example is wasted.
"""

# %%
# Each molecule is a text of its atoms (without hydrogen) and a list of its bonds. Bonds go both
# ways, so every graph has cycles, and with weights of one the sum over all walks does not converge.

import matplotlib.pyplot as plt
import numpy as np

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import LabelledGraph


def chain(n):
    """Return the bonds of n atoms in a row."""
    return [(i, i + 1) for i in range(n - 1)]


def ring(n):
    """Return the bonds of n atoms in a ring."""
    return [*chain(n), (0, n - 1)]


molecules = {  # atoms, bonds, and the boiling point in degrees Celsius
    "ethane": ("CC", chain(2), -89),
    "propane": ("CCC", chain(3), -42),
    "butane": ("CCCC", chain(4), 0),
    "isobutane": ("CCCC", [(0, 1), (0, 2), (0, 3)], -12),
    "pentane": ("CCCCC", chain(5), 36),
    "neopentane": ("CCCCC", [(0, 1), (0, 2), (0, 3), (0, 4)], 10),
    "hexane": ("CCCCCC", chain(6), 69),
    "heptane": ("CCCCCCC", chain(7), 98),
    "cyclopropane": ("CCC", ring(3), -33),
    "cyclobutane": ("CCCC", ring(4), 13),
    "cyclopentane": ("CCCCC", ring(5), 49),
    "cyclohexane": ("CCCCCC", ring(6), 81),
    "methylcyclohexane": ("CCCCCCC", [*ring(6), (0, 6)], 101),
    "methanol": ("CO", chain(2), 65),
    "ethanol": ("CCO", chain(3), 78),
    "propanol": ("CCCO", chain(4), 97),
    "isopropanol": ("CCCO", [(0, 1), (1, 2), (1, 3)], 83),
    "butanol": ("CCCCO", chain(5), 118),
    "cyclohexanol": ("CCCCCCO", [*ring(6), (0, 6)], 161),
    "glycol": ("OCCO", chain(4), 197),
    "dimethyl ether": ("COC", chain(3), -24),
    "diethyl ether": ("CCOCC", chain(5), 35),
    "tetrahydrofuran": ("CCCCO", ring(5), 66),
    "methylamine": ("CN", chain(2), -6),
    "ethylamine": ("CCN", chain(3), 17),
    "propylamine": ("CCCN", chain(4), 48),
    "trimethylamine": ("NCCC", [(0, 1), (0, 2), (0, 3)], 3),
    "piperidine": ("CCCCCN", ring(6), 106),
}


def graph_of(name):
    """Return the graph: the labels of an atom are its element, also with its number of bonds."""
    atoms, bonds, _ = molecules[name]
    bonds = np.array(bonds)
    degrees = np.bincount(bonds.ravel(), minlength=len(atoms))
    labels = [(atom, f"{atom}{degree}") for atom, degree in zip(atoms, degrees, strict=True)]
    sources, targets = np.concatenate([bonds, bonds[:, ::-1]]).T
    return LabelledGraph(labels, sources, targets, np.ones(len(sources)), name)


graphs = [graph_of(name) for name in molecules]
y = np.array([degrees for _, _, degrees in molecules.values()], dtype=float)
try:
    kr.AllPathsVectorizer().fit(graphs)
except InvalidInputError as error:
    print(error)

# %%
# Walks of a bounded length have a sum, and so have walks that decay. Each pair of molecules is
# predicted by a model that was learnt without the two, and whose regularisation strength was chosen
# without them as well.

accuracies = {}
for longest in (1, 2, 3, 4, 6, 8):
    vectors = kr.AllPathsVectorizer(combine="sum", max_length=longest, decay=0.5)
    X = vectors.fit_transform(graphs)
    accuracies[str(longest)] = kr.leave_pair_out(kr.RankRLSCV(), X, y).accuracy
vectors = kr.AllPathsVectorizer(combine="sum", decay="auto")
X = vectors.fit_transform(graphs)
accuracies["all"] = kr.leave_pair_out(kr.RankRLSCV(), X, y).accuracy
print(f"decay='auto' took {vectors.decay_:.3f}")
for longest, accuracy in accuracies.items():
    print(f"longest walk {longest:>3}: {accuracy:.3f} of the pairs in order")

# %%
# Which bonds raise the boiling point, and which molecules are most often out of order? The features
# are pairs of labels, such as "C -> O1": walks from a carbon to an oxygen with one bond.

model = kr.RankRLSCV().fit(X, y)
names = vectors.get_feature_names_out()
for feature in np.argsort(-np.abs(model.coef_))[:6]:
    print(f"{names[feature]:>10} {model.coef_[feature]:+.1f}")

held_out = kr.leave_pair_out(kr.RankRLSCV(), X, y)
wrong = np.bincount(
    np.concatenate([held_out.first, held_out.second]),
    weights=np.tile((held_out.difference * (y[held_out.first] - y[held_out.second]) < 0), 2),
)
print("most often out of order:", [list(molecules)[i] for i in np.argsort(-wrong)[:4]])

_, ax = plt.subplots()
ax.bar(list(accuracies), list(accuracies.values()), color="C0")
ax.set(xlabel="longest walk, in bonds", ylabel="pairs in order, left out", ylim=(0.5, 1))
plt.show()
