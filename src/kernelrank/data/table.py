"""A table: a file with named columns, read in blocks of rows, whatever its format; and which column is what."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.data.text import LONGEST_LABEL, first_long, first_of, long_message, read_decimal, shown
from kernelrank.errors import FileFormatError, InvalidInputError

if TYPE_CHECKING:
    import pyarrow

MISSING_WORDS = frozenset({
    "", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?", ".",
    "#nv", "#div/0!", "#value!", "#wert!", "#num!", "#zahl!",
})  # fmt: skip
"""Words for a missing cell, in small letters; the last ones are what a spreadsheet cannot compute."""


def is_missing(word: str) -> bool:
    """Return whether a cell is empty or has a word for a missing value."""
    return word.lower() in MISSING_WORDS


class TableBlock(ABC):
    """Some rows of a table, whose columns are Arrow arrays, whatever file they come from.

    Shapes: positions (m,).
    """

    table: Table
    positions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)

    @abstractmethod
    def numbers(
        self, columns: Sequence[int], *, missing: bool = False, advice: str = "", dtype: DTypeLike = np.float64
    ) -> NDArray[Any]:
        """Return some columns as numbers, shape (m, len(columns)); the first cell that is none is an error.

        With `missing`, cells that are empty or say that nothing is known become NaN. `advice` ends the message. A
        `dtype` of float32 is for columns that are stored so, see `Table.precision`.
        """

    @abstractmethod
    def labels(self, column: int) -> NDArray[Any]:
        """Return a column as int64 if all are integers, else as strings; an empty cell is an error."""

    @abstractmethod
    def holds_text(self, column: int) -> bool:
        """Return whether the first cell of a column that is not missing is text rather than a number."""

    @abstractmethod
    def holds_numbers(self, column: int) -> bool:
        """Return whether a column is one of numbers: in text, whether any cell is a number, or all are missing."""

    @abstractmethod
    def strings(self, column: int) -> pyarrow.Array:
        """Return a column as strings; an empty cell is an empty string."""

    def words(self, column: int) -> NDArray[np.object_]:
        """Return a column as strings, one object for all that are equal: labels come in runs."""
        codes, words = self.coded(column)
        return words[codes]

    def coded(self, column: int) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
        """Return the number of the word in each row, and the words, as they first occur."""
        import pyarrow.compute

        encoded = self.strings(column).cast(pyarrow.large_string()).dictionary_encode()
        lengths = pyarrow.compute.binary_length(encoded.dictionary).to_numpy(zero_copy_only=False)
        codes: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        if first_long(lengths) is not None:
            row = int(np.argmax(lengths[codes] > LONGEST_LABEL))
            raise self.error(long_message("the label", int(lengths[codes[row]])), row, column)
        words: NDArray[np.object_] = encoded.dictionary.to_numpy(zero_copy_only=False)
        return codes, words

    def error(self, message: str, row: int, column: int) -> FileFormatError:
        """Make the error that names file, row and column."""
        return self.table.error(message, int(self.positions[row]), column)


class Table(ABC):
    """A file with named columns."""

    path: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    n_rows: int | None = None
    index_columns: frozenset[int] = frozenset()
    share_read: float | None = None
    wrong_rows: list[tuple[int, FileFormatError]] | None = None
    """Rows that have another number of fields than columns, where they are left out; else they are an error."""

    @abstractmethod
    def blocks(self) -> Generator[TableBlock]:
        """Read the rows from the first one on, in blocks that are not empty."""

    def first_block(self) -> TableBlock | None:
        """Read some rows from the first one on; None if there is none."""
        with contextlib.closing(self.blocks()) as blocks:
            return next(blocks, None)

    def column(self, name: str, role: str) -> int:
        """Return the number of a column, or raise an error with the closest name."""
        if name not in self.names:
            close = difflib.get_close_matches(name, self.names, n=1)
            hint = f" (is it {close[0]!r}?)" if close else ""
            raise self.error(f"there is no column {name!r} for the {role}{hint}; {self.known_names()}")
        return self.names.index(name)

    def known_names(self) -> str:
        """Return the names of the columns, for a message."""
        return f"the columns are {self.named(range(len(self.names)))}"

    def named(self, columns: Sequence[int]) -> str:
        """Return the names of some columns, the first 20 of many, for a message."""
        names = [self.names[column] for column in columns]
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        return f"{', '.join(repr(name) for name in names[:20])}{more}"

    def precision(self, columns: Sequence[int]) -> np.dtype[Any]:  # noqa: ARG002 - text is read as float64
        """Return the type that holds these columns without a change: float32 if each is stored so."""
        return np.dtype(np.float64)

    def varying_labels(self, column: int) -> bool:  # noqa: ARG002 - any later line may hold a word
        """Return whether labels of one block can be integers, and those of another strings."""
        return True

    @abstractmethod
    def choose(self, columns: Collection[int], numbers: Collection[int] = ()) -> None:
        """Let `blocks` leave out all other columns, and read some of these as numbers where the file has no types."""

    @abstractmethod
    def place(self, position: int) -> dict[str, Any]:
        """Return the argument of `FileFormatError` that names a row."""

    def place_in_words(self, position: int) -> str:
        """Name a row."""
        return " ".join(f"{'' if key == 'row' else key} {value}".strip() for key, value in self.place(position).items())

    def error(self, message: str, position: int | None = None, column: int | None = None) -> FileFormatError:
        """Make the error that names file, row and column."""
        place = {} if position is None else self.place(position)
        return FileFormatError(message, self.path, column=None if column is None else self.names[column], **place)


def number_fault(token: bytes) -> str:
    """Return the error message for a cell that should be a finite number."""
    if not token:
        return "the cell is empty: expected a number"
    if is_missing(token.decode(errors="replace")):
        return f"{shown(token)} is missing: expected a number"
    if read_decimal(token) is not None:
        return f"{shown(token)} is not finite: expected a finite number"
    if re.fullmatch(rb"[+-]?[0-9]+,[0-9]+", token):
        return f"{shown(token)} is not a number: expected a decimal point, not a comma"
    if re.fullmatch(rb"true|false|yes|no", token, re.IGNORECASE):
        return f"{shown(token)} is not a number: expected 1 for true and 0 for false"
    return f"{shown(token)} is not a number"


# Roles ----------------------------------------------------------------------------------------------------------------
#
# Which column of a table is the target, the query, the id, and which are features.
#
# A column is a feature if it is named as one. Unless features are named, each column is one that has no other role and
# is not the index of a data frame. Features hold numbers: integers, floats, decimals and booleans. What becomes of a
# column that holds none, `ColumnRequest.numbers_only` says: it is left out, or an error.

# As the names are compared: small letters and digits alone, so that "Query ID", "query_id" and "queryId" are one.
NAMES = {
    "target": (
        "target", "label", "labels", "relevance", "rel", "relevancelabel", "y", "score", "grade", "outcome", "class",
        "diagnosis",
    ),
    "query": ("qid", "query", "queryid", "qids", "topic", "topicid"),
    "id": (
        "id", "docid", "documentid", "itemid", "sampleid", "rowid", "indexlevel0", "sample", "name", "item", "document",
        "doc",
    ),
    "weight": ("sampleweight", "itemweight", "caseweight", "weights", "weight"),
    "groups": ("group", "groups", "groupid", "patient", "patientid", "subject", "subjectid"),
}  # fmt: skip
# Names that say so only in the first column, and only of text.
ID_NAME = re.compile(
    r"(?i:(?:.*[\s_.-])?(?:id|ids|nr|no|mrn|uuid|guid|number|nummer|numero|número|numéro|index|unnamed: 0)\.?)"
    r"|(?i:(?:pat|patient|case|fall|lab|sample|study|record|visit|row|person|donor|subject|chart)s?(?:id|nr|no|nummer)?)"
    r"|.*[a-z](?:ID|Id|Nr|No)"
)
FIRST_COLUMN_IDS = {"", "sample", "name", "item", "document", "doc"}
Reader = TypeVar("Reader", bound=Callable[..., object])
SPOKEN = {
    "target": "the target is",
    "query": "the query is",
    "id": "the ids are",
    "weight": "the weights of the items are",
    "groups": "the groups are",
}


def plain_name(name: str) -> str:
    """Normalise a column name for the look-up in `NAMES`: lower case, without punctuation."""
    if name.isascii() and name.isalnum():
        return name.lower()
    return re.sub(r"[^a-z0-9]", "", name.lower())


class ColumnOptions(TypedDict, total=False):
    """The types of what a reader of items takes as keywords: the fields of `ColumnRequest`."""

    target: str | None
    query: str | None
    id: str | None
    weight: str | None
    groups: str | None
    features: Sequence[str] | None
    exclude: Sequence[str]
    n_features: int | None
    pos_label: str | None
    guess_positive: bool
    needs_target: bool
    missing_groups: bool


@dataclass(frozen=True)
class ColumnRequest:
    """The columns named by the user; None: guess from the names, an empty string: there is no such column."""

    target: str | None = None
    query: str | None = None
    id: str | None = None
    weight: str | None = None
    groups: str | None = None
    features: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    n_features: int | None = None
    pos_label: str | None = None
    guess_positive: bool = False
    needs_target: bool = True
    numbers_only: bool = False
    missing_groups: bool = False

    @classmethod
    def exactly(
        cls,
        target: str,
        query: str,
        *,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        n_features: int | None = None,
    ) -> ColumnRequest:
        """Name the target and the query, and let no other column have a role; columns without numbers are left out."""
        return cls(target, query, "", "", "", features, exclude, n_features, numbers_only=True)


def lists_columns(reader: Reader, options: type = ColumnOptions, request: type = ColumnRequest) -> Reader:
    """Let the signature of a reader list its column options, which its ``**columns`` are, for `help` and notebooks."""
    own, columns = inspect.signature(reader), inspect.signature(request).parameters
    listed = [columns[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in options.__annotations__]
    parameters = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    reader.__signature__ = own.replace(parameters=[*parameters, *listed])  # type: ignore[attr-defined]
    return reader


@dataclass(frozen=True)
class Roles:
    """The numbers of the columns that have a role, counted from zero."""

    target: int | None
    query: int | None
    id: int | None
    weight: int | None
    groups: int | None
    features: list[int]
    notes: tuple[str, ...]

    @property
    def columns(self) -> set[int]:
        """All columns that have a role."""
        single = (self.target, self.query, self.id, self.weight, self.groups)
        return {*self.features, *(column for column in single if column is not None)}


class RoleSearch:
    """The search for the roles of one table, from the request, the names and the first rows. Time O(columns)."""

    def __init__(self, table: Table, first: TableBlock, request: ColumnRequest) -> None:
        self.table = table
        self.first = first
        self.request = request
        self.number_of = {name: column for column, name in enumerate(table.names)}
        self.plain = [plain_name(name) for name in table.names]
        listed = [request.features] if isinstance(request.features, str) else list(request.features or ())
        unwanted = [name[1:] for name in listed if name.startswith("!") and name not in self.number_of]
        unwanted += request.exclude
        self.wanted = [name for name in listed if not name.startswith("!") or name in self.number_of]
        self.left_out = {column for name in unwanted for column in self._matching(name)}
        # A column that is named as a feature is nothing else; one that a pattern matches may be.
        self.named_features = {self.number_of[name] for name in self.wanted if name in self.number_of}
        self.taken: dict[str, int | None] = {}
        self.notes: list[str] = []

    def roles(self) -> Roles:
        """Return the columns that have a role."""
        for role in NAMES:
            name = getattr(self.request, role)
            if name is not None:
                column = self.table.column(name, role) if name else None
                for other, taken in self.taken.items():
                    # Groups may be the queries or the ids: then no split cuts a query.
                    if column is not None and taken == column and "groups" not in (role, other):
                        raise InvalidInputError(f"column {name!r} cannot be both {other} and {role}")
                self.taken[role] = column
        for role in NAMES:
            if role not in self.taken:
                self.taken[role] = self._guess(role)
        if self.taken["target"] is None and self.request.needs_target:
            raise self.table.error(f"no column looks like the target: name it by target; {self.table.known_names()}")
        features = self._features()
        return Roles(**self.taken, features=features, notes=tuple(self.notes))

    def _guess(self, role: str) -> int | None:
        taken = {*self.taken.values(), *self.named_features, *self.left_out}
        free = [column for column, name in enumerate(self.plain) if name in NAMES[role] and column not in taken]
        if role == "id":
            free = self._likely_ids(free)
        if role == "weight":
            free = self._likely_weights(free)
        if len(free) > 1:
            if role == "target" and not self.request.needs_target and self.named_features:
                return None
            names = " and ".join(repr(self.table.names[column]) for column in free)
            raise self.table.error(f"{names} could each be the {role}: name the right one")
        if not free:
            return None
        name = self.table.names[free[0]]
        self.notes.append(
            f"{SPOKEN[role]} column {name!r}" if name else "the ids are the first column, which has no name"
        )
        return free[0]

    def _likely_ids(self, free: list[int]) -> list[int]:
        sure = [column for column in free if self.plain[column] not in FIRST_COLUMN_IDS]
        if sure or 0 in self.taken.values():
            return sure
        if not self.table.names[0]:
            return [0]
        return [0] if self.plain[0] in FIRST_COLUMN_IDS and self.first.holds_text(0) else []

    def _likely_weights(self, free: list[int]) -> list[int]:
        """Leave out a plain "weight" where there are no queries: it is as likely to be measured in kilograms."""
        bare = [column for column in free if self.plain[column] == "weight"]
        if bare and self.taken["query"] is None:
            name = self.table.names[bare[0]]
            self.notes.append(f"column {name!r} is used as a feature: name it as the weights if it holds item weights")
            return [column for column in free if column not in bare]
        return free

    def _looks_like_ids(self, column: int) -> bool:
        """Whether a column is called an id and has no value twice, or is the first one and numbers the rows."""
        name, plain = self.table.names[column], self.plain[column]
        if self.request.id == "":
            return False
        if plain.endswith("id") and plain in (*NAMES["id"], *NAMES["groups"]):
            return True
        if column > 0 and not ID_NAME.fullmatch(name):
            return False
        words = self.first.words(column).tolist()
        if len(words) < 5 or len(set(words)) < len(words):
            return False
        if ID_NAME.fullmatch(name):
            return not any("." in word or "," in word for word in words)
        numbers = {int(word) for word in words if re.fullmatch(r"\d{1,15}", word)}
        return len(numbers) == len(words) >= 10 and min(numbers) < 2 and max(numbers) - min(numbers) < len(words)

    def _matching(self, pattern: str) -> list[int]:
        if pattern in self.number_of:
            return [self.number_of[pattern]]
        found = [column for column, name in enumerate(self.table.names) if fnmatch.fnmatchcase(name, pattern)]
        return found if found else [self.table.column(pattern, "features")]

    def _features(self) -> list[int]:
        roles = {column: role for role, column in self.taken.items() if column is not None}
        for column in self.named_features:
            if column in roles:
                name = self.table.names[column]
                raise InvalidInputError(f"column {name!r} cannot be both {roles[column]} and a feature")
        wanted = dict.fromkeys(column for name in self.wanted for column in self._matching(name))
        unnamed = (column for column in range(len(self.table.names)) if column not in self.table.index_columns)
        if self.request.numbers_only:
            unnamed = (column for column in unnamed if self.first.holds_numbers(column))
        columns = wanted if self.wanted else unnamed
        features = [column for column in columns if column not in roles and column not in self.left_out]
        used = {*roles, *features}
        ids = [] if self.wanted else [column for column in features if self._looks_like_ids(column)]
        if 0 < len(ids) < len(features):
            features = [column for column in features if column not in ids]
            listed = first_of(repr(self.table.names[column]) for column in ids)
            self.notes.append(f"left out, because they look like ids: {listed}; name them as features to use them")
        self.notes += left_out([name for column, name in enumerate(self.table.names) if column not in used])
        if not features:
            taken = "".join(f"; {self.table.names[column]!r} is the {role}" for column, role in roles.items())
            raise self.table.error(f"no column is left for the features: expected at least one{taken}")
        if self.request.n_features not in (None, len(features)):
            raise self.table.error(
                f"expected {self.request.n_features} feature columns; got {len(features)}: "
                f"{self.table.named(features)}. Remove the columns that are not features, or name them."
            )
        return features


def left_out(names: Sequence[str]) -> list[str]:
    """Return the note on columns that are not used; none if there are none."""
    return [f"left out: {len(names)} column{'s' * (len(names) > 1)} ({first_of(map(repr, names))})"] if names else []


# Classes --------------------------------------------------------------------------------------------------------------
#
# Classes: a text target, and which of its two words is the positive class, 1.
#
# Python follows scikit-learn: the word that sorts last is 1, unless `pos_label` says otherwise. The command may guess,
# and says so: the word that usually means a case is 1, or whose opposite usually means a control; where the words say
# nothing, the rarer one.

# In English, German, French, Spanish and Italian.
POSITIVE = frozenset({
    "case", "cases", "positive", "pos", "yes", "true", "t", "y", "disease", "diseased", "sick", "event", "dead", "died",
    "death", "deceased", "tumor", "tumour", "cancer", "malignant", "m", "abnormal", "infected", "relapse", "relapsed",
    "recurrence", "progression", "failed", "failure", "positiv", "ja", "j", "wahr", "krank", "tot", "verstorben",
    "gestorben", "bösartig", "rezidiv", "positif", "oui", "o", "vrai", "malade", "décès", "décédé", "mort", "malin",
    "récidive", "positivo", "sí", "si", "s", "verdadero", "enfermo", "muerto", "fallecido", "maligno", "recaída", "sì",
    "vero", "malato", "morto", "deceduto", "recidiva",
})  # fmt: skip
NEGATIVE = frozenset({
    "control", "controls", "negative", "neg", "no", "false", "f", "n", "healthy", "normal", "censored", "alive",
    "survived", "survivor", "benign", "b", "cured", "recovered", "negativ", "nein", "falsch", "gesund", "lebt",
    "lebend", "überlebt", "zensiert", "gutartig", "geheilt", "négatif", "non", "faux", "sain", "vivant", "survécu",
    "censuré",
    "bénin", "guéri", "negativo", "falso", "sano", "vivo", "sobrevivió", "censurado", "benigno", "curado",
    "sopravvissuto", "censurato", "guarito",
})  # fmt: skip
NEGATIONS = ("not", "no", "non", "un", "nicht", "kein", "keine", "ohne", "pas", "sin", "senza", "without")
# One letter says something only beside its opposite: "m" and "b" are malignant and benign, "m" and "f" are not.
OPPOSITES = {"t": "f", "y": "n", "m": "b", "j": "n", "o": "n", "s": "n"}


@dataclass(frozen=True)
class Classes:
    """Two classes of a target."""

    negative: str
    positive: str
    reason: str
    note: str

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two classes: the negative one, then the positive one."""
        return self.negative or f"not {self.positive}", self.positive

    def targets(self, words: NDArray[np.str_]) -> NDArray[np.float64]:
        """Return 1 for the positive class and 0 for the other."""
        is_positive: NDArray[np.bool_] = words == self.positive
        return is_positive.astype(np.float64)

    @classmethod
    def of(
        cls,
        words: Mapping[str, int],
        counts: Mapping[str, int],
        table: Table,
        column: int,
        *,
        pos_label: str | None,
        guess: bool,
    ) -> Classes:
        """Find the classes from the words of a target, each with its first position and its number of rows."""
        known = sorted(words)
        if pos_label is not None:
            if pos_label not in words:
                listed = ", ".join(map(repr, known[:10]))
                raise table.error(
                    f"no row has the positive class {pos_label!r}; the classes are {listed}", None, column
                )
            others = [word for word in known if word != pos_label]
            negative = others[0] if len(others) == 1 else ""
            rest = repr(negative) if negative else "everything else"
            note = f"the target {pos_label!r} is 1 and {rest} is 0, as requested"
            return cls(negative, pos_label, "as requested", note)
        if len(known) > 2:
            third = sorted(words.values())[2]
            listed = ", ".join(shown(word.encode()) for word in known[:5])
            message = f"the target has a third class ({listed}): expected numbers or two classes; name the positive one"
            raise table.error(message, third, column)
        by_meaning = "by its meaning"
        if len(known) == 1:
            [word] = known
            note = f"{by_meaning}; there is no other class"
            if guess and len(word) > 1 and word.casefold() in POSITIVE:
                return cls("", word, by_meaning, f"the target {word!r} is 1, {note}")
            if guess and len(word) > 1 and word.casefold() in NEGATIVE:
                return cls(word, "", by_meaning, f"the target {word!r} is 0, {note}")
            raise table.error(f"all targets are {shown(word.encode())}: expected numbers or two classes", None, column)
        for negative, positive in (known, known[::-1]) if guess else ():
            if opposed(negative.casefold(), positive.casefold()):
                return cls._guessed(negative, positive, by_meaning, "by their meaning")
        if guess and counts[known[0]] != counts[known[1]]:
            positive, negative = sorted(known, key=lambda word: counts[word])
            return cls._guessed(negative, positive, "it is rarer", f"as {positive!r} is rarer")
        negative, positive = known
        return cls._guessed(negative, positive, "it sorts last", f"as {positive!r} sorts last", guess=guess)

    @classmethod
    def _guessed(cls, negative: str, positive: str, reason: str, why: str, *, guess: bool = True) -> Classes:
        other = f"--positive {negative}" if guess else f"pos_label={negative!r}"
        note = f"the target {positive!r} is 1 and {negative!r} is 0, {why} ({other} reverses it)"
        return cls(negative, positive, reason, note)


def opposed(negative: str, positive: str) -> bool:
    """Return whether two words, in small letters, usually mean a control and a case."""
    start = re.sub(rf"[\s_-]*{re.escape(positive)}", "", negative)
    if start != negative and start in NEGATIONS:
        return True
    if len(negative) == 1 or len(positive) == 1:
        return OPPOSITES.get(positive) == negative
    return (positive in POSITIVE) + (negative in NEGATIVE) > (negative in POSITIVE) + (positive in NEGATIVE)
