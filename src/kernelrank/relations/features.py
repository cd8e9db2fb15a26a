"""FeatureSet: which graphs of a candidate its features come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

from kernelrank.base.arrays import Float
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import AllPathsVectorizer
from kernelrank.kernels.all_paths import Combine
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.gram import linear_kernel
from kernelrank.relations.graph_scheme import GraphScheme
from kernelrank.relations.graphs import PARTS, candidate_graphs, candidate_parts
from kernelrank.relations.parts_vectorizer import PartsVectorizer

__all__ = ["CHOSEN", "FeatureSet", "feature_kernels", "feature_sets"]

ALL_PARTS, ARTICLE, CHOSEN = "parts", "article", "chosen"


@dataclass(frozen=True)
class FeatureSet:
    """Some parts of a candidate, each with a norm of one; or the graph of the article, with one norm for all.

    Parameters
    ----------
    parts : tuple of str
        Some of "dependencies", "path" and "order", in that order. Without any it is the graph of the article.

    Examples
    --------
    >>> FeatureSet.named("order+path").name, FeatureSet.named("parts").parts
    ('path+order', ('dependencies', 'path', 'order'))
    """

    parts: tuple[str, ...]

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the set of a name: "parts", "article", or some parts joined by +."""
        if name == ARTICLE:
            return cls(())
        wanted = PARTS if name == ALL_PARTS else tuple(name.split("+")) if isinstance(name, str) else ()
        if not wanted or not set(wanted) <= set(PARTS) or len(set(wanted)) < len(wanted):
            raise InvalidInputError(
                f"features must be one of {ALL_PARTS}, {ARTICLE}, {CHOSEN}, or some of {', '.join(PARTS)} "
                f"joined by +; got {name!r}"
            )
        return cls(tuple(part for part in PARTS if part in wanted))

    @property
    def name(self) -> str:
        """What `named` takes."""
        if self.parts == PARTS:
            return ALL_PARTS
        return "+".join(self.parts) or ARTICLE

    def graphs(self, candidates: Iterable[Candidate], scheme: dict[str, Any] | None = None) -> list[Any]:
        """Return the graphs of candidates, or tuples of the graphs that are their parts: what the vectoriser takes."""
        settings = GraphScheme.of(scheme)
        if not self.parts:
            return list(candidate_graphs(candidates, settings))
        places = [PARTS.index(part) for part in self.parts]
        return [tuple(item[place] for place in places) for item in candidate_parts(candidates, settings)]

    def vectorizer(self, combine: Combine = "max", n_jobs: int | None = None) -> PartsVectorizer | AllPathsVectorizer:
        """Return a vectoriser of these graphs, not fitted."""
        if not self.parts:
            return AllPathsVectorizer(combine=combine, normalize=True, n_jobs=n_jobs)
        return PartsVectorizer(combine=combine, names=self.parts, n_jobs=n_jobs)


def feature_sets(features: str) -> list[FeatureSet]:
    """Return the sets that a setting stands for: one, or for "chosen" all, from the fullest to the smallest.

    Examples
    --------
    >>> [one.name for one in feature_sets("chosen")][:3]
    ['parts', 'dependencies+path', 'dependencies+order']
    >>> len(feature_sets("chosen")), feature_sets("path")
    (8, [FeatureSet(parts=('path',))])
    """
    if features != CHOSEN:
        return [FeatureSet.named(features)]
    some = [FeatureSet(parts) for size in range(len(PARTS), 0, -1) for parts in combinations(PARTS, size)]
    return [*some, FeatureSet(())]


def feature_kernels(
    sets: Sequence[FeatureSet],
    candidates: Sequence[Candidate],
    scheme: dict[str, Any] | None,
    combine: Combine,
    n_jobs: int | None,
) -> Iterator[Float]:
    """Yield the kernel matrix of candidates for each set.

    Notes
    -----
    The kernel of several parts is the mean of theirs, so that each part is made once for all sets. Memory is one
    matrix, or for several sets one for each part and one more.
    """
    known: dict[FeatureSet, Float] = {}

    def kernel(one: FeatureSet) -> Float:
        return linear_kernel(one.vectorizer(combine, n_jobs).fit_transform(one.graphs(candidates, scheme)))

    def part_kernel(part: str) -> Float:
        one = FeatureSet((part,))
        if one not in known:
            known[one] = kernel(one)
        return known[one]

    for one in sets:
        if len(sets) == 1 or not one.parts:
            yield kernel(one)
        else:
            total = part_kernel(one.parts[0]).copy()
            for part in one.parts[1:]:
                total += part_kernel(part)
            total /= len(one.parts)
            yield total
