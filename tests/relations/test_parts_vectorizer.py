from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import AllPathsVectorizer
from kernelrank.kernels import LabelledGraph
from kernelrank.persistence import load, save
from kernelrank.relations import PartsVectorizer, candidate_parts, make_corpus
from tests.oracles.all_paths import connections


@pytest.fixture(scope="module")
def items():
    return list(candidate_parts(make_corpus(6, random_state=0).candidates))


@pytest.mark.parametrize("combine", ["max", "sum"])
def test_inner_products_are_the_means_of_the_cosines_of_the_parts(items, combine):
    X = PartsVectorizer(combine=combine).fit_transform(items)
    assert isinstance(X, sparse.csr_array)

    def product(one, other):
        return sum(value * other.get(pair, 0.0) for pair, value in one.items())

    literal = [[connections(graph, combine) for graph in item] for item in items]
    cosines = np.array(
        [
            [
                np.mean(
                    [product(a, b) / np.sqrt(product(a, a) * product(b, b)) for a, b in zip(one, other, strict=True)]
                )
                for other in literal
            ]
            for one in literal
        ]
    )
    np.testing.assert_allclose((X @ X.T).toarray(), cosines, atol=1e-12)


def test_features_are_those_of_each_part(items):
    vectorizer = PartsVectorizer().fit(items[:9])
    X = vectorizer.transform(items).toarray()
    names, start = vectorizer.get_feature_names_out(), 0
    assert X.shape == (18, vectorizer.n_pairs_) == (18, len(names))
    for place, name in enumerate(("dependencies", "path", "order")):
        alone = AllPathsVectorizer(normalize=True).fit([item[place] for item in items[:9]])
        stop = start + alone.n_pairs_
        expected = alone.transform([item[place] for item in items]).toarray() / np.sqrt(3)
        np.testing.assert_allclose(X[:, start:stop], expected, rtol=1e-14)
        assert names[start:stop].tolist() == [f"{name}: {pair}" for pair in alone.get_feature_names_out()]
        start = stop
    assert start == vectorizer.n_pairs_
    two = PartsVectorizer(n_jobs=2).fit(items[:9])
    assert (two.transform(items) != sparse.csr_array(X)).nnz == 0


def test_a_part_with_nothing_in_it_is_zero():
    empty, full = LabelledGraph((), [], [], []), LabelledGraph([("a",), ("b",)], [0], [1], [0.5])
    vectorizer = PartsVectorizer(names=("one", "other"))
    X = vectorizer.fit_transform([(empty, full), (full, full), (empty, empty)]).toarray()
    np.testing.assert_allclose(X**2, [[0, 0.5], [0.5, 0.5], [0, 0]])
    assert vectorizer.transform([]).shape == (0, 2)


def test_what_is_no_tuple_of_parts_is_named(items):
    with pytest.raises(InvalidInputError, match=r"item 1 must be a tuple of 3 graphs \(.*\), got LabelledGraph$"):
        PartsVectorizer().fit([items[0], items[1][0]])
    with pytest.raises(InvalidInputError, match=r"item 0 must be a tuple of 3 graphs .*, got tuple of 2$"):
        PartsVectorizer().fit([items[0][:2]])
    with pytest.raises(NotFittedError):
        PartsVectorizer().transform(items)
    with pytest.raises(NotFittedError):
        PartsVectorizer().get_feature_names_out()


def test_a_fit_that_fails_leaves_the_transformer_as_it_was(items):
    vectorizer = PartsVectorizer().fit(items)
    before = vectorizer.transform(items)
    loop = LabelledGraph([("new",)], [0], [0], [1.0], name="bad")
    with pytest.raises(InvalidInputError, match=r"^bad: the spectral radius"):
        vectorizer.fit([(items[0][0], items[0][1], loop)])
    assert (vectorizer.transform(items) != before).nnz == 0


def test_saved_and_loaded(items, tmp_path):
    vectorizer = PartsVectorizer(combine="sum").fit(items[:7])
    save(vectorizer, tmp_path / "vectorizer.kr")
    loaded = load(tmp_path / "vectorizer.kr")
    assert loaded.get_params() == vectorizer.get_params() == clone(vectorizer).get_params()
    assert (loaded.transform(items) != vectorizer.transform(items)).nnz == 0
