"""The scheme of a candidate's graph: every weight and every label that goes into it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

from kernelrank.errors import InvalidInputError

__all__ = ["GraphScheme"]

TOKEN_LABELS = ("text", "pos", "lemma")


@dataclass(frozen=True)
class GraphScheme:
    """What the graph of a candidate is made of [APBPGS08]_.

    Parameters
    ----------
    path_weight, other_weight : float, default=0.9 and 0.3
        The weights of edges on the shortest paths between the pair and elsewhere, in the dependency graph; the former
        also that of all edges of the path graph.
    order_weight : float, default=0.9
        The weight of edges from a word to the next, in the order graph.
    path_tag : str, default="_IP"
        The suffix of labels on the shortest paths.
    before_tag, middle_tag, after_tag : str, default="_B", "_M" and "_A"
        The suffixes of labels of the order graph: before, between and after the pair.
    pair_tag : str, default=""
        The suffix of labels of the pair itself in the order graph.
    up_tag, down_tag : str, default="<" and ">"
        The suffixes of labels of dependencies in the path graph, from a dependent to its governor and from a governor
        to its dependent.
    pair_names : tuple of two str, default=("PROT1", "PROT2")
        The words that replace the texts of the pair, in the order of the sentence.
    other_name : str, default="PROT"
        The word that replaces the texts of other mentions.
    labels : tuple of str, default=("text", "pos")
        The labels of each token: "text", "pos" and "lemma" (the text, if there is no lemma).
    keep_pos : bool, default=True
        Whether replaced tokens keep the label of their part of speech.
    lowercase : bool, default=False
        Whether texts and lemmas are taken in lower case.

    References
    ----------
    .. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
       protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.

    Examples
    --------
    >>> GraphScheme(other_weight=0.2).path_weight
    0.9
    """

    path_weight: float = 0.9
    other_weight: float = 0.3
    order_weight: float = 0.9
    path_tag: str = "_IP"
    before_tag: str = "_B"
    middle_tag: str = "_M"
    after_tag: str = "_A"
    pair_tag: str = ""
    up_tag: str = "<"
    down_tag: str = ">"
    pair_names: tuple[str, str] = ("PROT1", "PROT2")
    other_name: str = "PROT"
    labels: tuple[str, ...] = ("text", "pos")
    keep_pos: bool = True
    lowercase: bool = False

    def __post_init__(self) -> None:
        for name in ("path_weight", "other_weight", "order_weight"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
                raise InvalidInputError(f"{name} must be a finite number of at least zero, got {value!r}")
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "pair_names", tuple(self.pair_names))
        unknown = [label for label in self.labels if label not in TOKEN_LABELS]
        if unknown or not self.labels:
            raise InvalidInputError(f"labels must be some of {', '.join(TOKEN_LABELS)}, got {self.labels!r}")
        if len(self.pair_names) != 2:
            raise InvalidInputError(f"pair_names must be two names, got {self.pair_names!r}")

    @classmethod
    def of(cls, settings: dict[str, Any] | None) -> Self:
        """Make a scheme from some of its settings by name; None is the default.

        Examples
        --------
        >>> GraphScheme.of({"path_weigth": 0.5})
        Traceback (most recent call last):
        kernelrank.errors.InvalidInputError: the scheme has no 'path_weigth'; it has path_weight, other_weight, ...
        """
        names = [one.name for one in fields(cls)]
        for name in settings or {}:
            if name not in names:
                raise InvalidInputError(f"the scheme has no {name!r}; it has {', '.join(names)}")
        return cls(**(settings or {}))
