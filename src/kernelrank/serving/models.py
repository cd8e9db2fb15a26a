"""The models that a service answers with: one file, or all model files of a folder, reloaded when they change.

A model is replaced as a whole, once its new file has been read and checked. A file that is damaged, or half written,
changes nothing: the model that was read before stays, and the log says why.
"""

from __future__ import annotations

import logging
import math
import re
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.base.text import printable
from kernelrank.data import TablePreparation
from kernelrank.data.preparation import CellColumn, PreparedColumn, codes_pattern
from kernelrank.errors import InvalidInputError, KernelRankError, MissingExtraError
from kernelrank.persistence.model_files import column_names, feature_names, final_step, load, provenance
from kernelrank.report import explain
from kernelrank.report.explanations import scores_of

if TYPE_CHECKING:
    import pyarrow

    from kernelrank.base.arrays import Float


try:
    import orjson
except ImportError:
    raise MissingExtraError("orjson", "serve") from None

LOG = logging.getLogger("kernelrank.serving")

State = tuple[int, int, int]
"""When a file was changed, how long it is, and which file it is."""


@dataclass(eq=False)
class ServedModel:
    """A model that the service has loaded.

    Parameters
    ----------
    name : str
        The name of its file, without the suffix; what JSON or a terminal cannot show is escaped.
    model : estimator
    loaded : float
        When it was read, in seconds since 1970.
    """

    name: str
    model: Any
    loaded: float

    def __post_init__(self) -> None:
        known = provenance(self.model).get("preparation")
        self.preparation = None if known is None else TablePreparation.from_data(known)
        codes = self.preparation.missing_values if self.preparation is not None else ()
        self.codes = re.compile(codes_pattern(codes), re.IGNORECASE) if codes else None
        self.column_names = column_names(self.model)
        self.feature_names = feature_names(self.model)
        # Columns are found by name before the model sees them, which is to take arrays without a warning.
        for step in [step for _, step in getattr(self.model, "steps", [("", self.model)])]:
            vars(step).pop("feature_names_in_", None)

    @property
    def n_features(self) -> int:
        """How many columns of numbers it takes."""
        return int(self.model.n_features_in_)

    def example(self) -> list[Any]:
        """Return two items that it can rank."""
        if self.preparation is not None:
            return [
                {column.name: _example_cell(column, number) for column in self.preparation.columns}
                for number in range(2)
            ]
        rows = [[float(number + column) for column in range(self.n_features)] for number in range(2)]
        names = self.feature_names
        return rows if names is None else [dict(zip(names, row, strict=True)) for row in rows]

    def card(self) -> dict[str, Any]:
        """Describe the model, without file paths."""
        ranker, known = final_step(self.model), provenance(self.model)
        kernel = getattr(ranker, "kernel_", None)
        prepared = self.preparation
        return {
            "name": self.name,
            "class": type(ranker).__name__,
            "kernel": None if kernel is None else kernel.name,
            "alpha": getattr(ranker, "alpha_", getattr(ranker, "alpha", None)),
            "scaled": ranker is not self.model,
            "n_features": self.n_features,
            "features": self.column_names,
            "columns": None if prepared is None else list(prepared.names),
            "n_items": known.get("items"),
            "n_queries": known.get("queries"),
            "version": known.get("version"),
            "compares": has_posterior(self.model),
            "loaded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.loaded)),
        }


def _example_cell(column: PreparedColumn, number: int) -> str | float:
    if column.levels:
        return column.levels[number % len(column.levels)]
    return float(number) if math.isnan(column.fill) else float(f"{column.fill + number:.6g}")


def has_posterior(model: Any) -> bool:
    """Whether the ranker of a model has standard deviations and probabilities of its comparisons."""
    ranker = final_step(model)
    return hasattr(ranker, "comparison_scale_") or hasattr(ranker, "precision_factor_")


class ServedModels:
    """The models of a file or a folder, by name.

    Parameters
    ----------
    path : path
        A model file, or a folder: every file in it whose name ends with ``.kr`` is a model.

    Examples
    --------
    >>> import tempfile
    >>> from kernelrank import RankRLS, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(RankRLS().fit([[0.0], [1.0]], [0, 1]), Path(folder) / "tiny.kr")
    ...     models = ServedModels(Path(folder))
    >>> models.get(None).name
    'tiny'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failures = 0
        self._states: dict[Path, State] = {}
        self._gone: set[Path] = set()
        self._models: Mapping[str, ServedModel] = {}
        self.refresh()
        if not self._models:
            if not path.is_dir():
                self._read(path)  # which says what is wrong
            raise InvalidInputError(f"{path}: Expected at least one model file that can be read; found none.")

    def __len__(self) -> int:
        return len(self._models)

    def names(self) -> list[str]:
        """Return the names of the models, sorted."""
        return sorted(self._models)

    def get(self, name: str | None) -> ServedModel:
        """Return a model by its name, which may be omitted if there is only one."""
        models = self._models
        if name is None and len(models) == 1:
            return next(iter(models.values()))
        if name is None:
            raise InvalidInputError(f"Expected the name of a model; there are {', '.join(sorted(models))}.")
        if name not in models:
            raise RefusedRequestError(f"There is no model {name!r}; there are {', '.join(sorted(models))}.", 404)
        return models[name]

    def refresh(self) -> list[str]:
        """Read the files that have changed, and return the names of the models that were replaced or removed.

        O(files) time where nothing has changed. Requests that are being answered keep the model that they began with.
        """
        files = sorted(self.path.glob("*.kr")) if self.path.is_dir() else [self.path]
        models, changed = dict(self._models), []
        for file in files:
            state = _state(file)
            if state is None or state == self._states.get(file):
                continue
            self._states[file] = state  # a damaged file is tried again when it changes again
            name = _name(file)
            try:
                models[name] = self._read(file)
            except (KernelRankError, OSError) as error:
                self.failures += 1
                kept = "the model that was read before stays" if name in models else "there is no such model"
                LOG.error("model not read", extra={"facts": {"model": name, "error": str(error), "kept": kept}})
            else:
                changed.append(name)
                LOG.info("model read", extra={"facts": {"model": name, "bytes": state[1]}})
        changed += self._without_missing(models, set(files))
        self._models = models
        return changed

    def _without_missing(self, models: dict[str, ServedModel], files: set[Path]) -> list[str]:
        """Remove the models whose files were missing twice: a file may be missing while it is being replaced."""
        missing = set(self._states) - files
        gone, self._gone = missing & self._gone, missing
        for file in gone:
            del self._states[file]
            models.pop(_name(file), None)
            LOG.info("model removed", extra={"facts": {"model": _name(file)}})
        return [_name(file) for file in gone]

    def _read(self, file: Path) -> ServedModel:
        model = load(file)
        if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
            raise InvalidInputError(
                f"{file}: Expected a model that ranks rows of numbers, such as RankRLS; got a {type(model).__name__}."
            )
        return ServedModel(_name(file), model, time.time())


def _name(file: Path) -> str:
    return printable(file.stem)


def _state(file: Path) -> State | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


# Request items --------------------------------------------------------------------------------------------------------
#
# Conversion of the items of a request to the numbers that a model takes.
#
# An item is a list of numbers, or an object of names and values. A model that prepares tables takes words and nulls,
# too.

CELL_BYTES = 8
"""What a cell counts at least, however few bytes it has in a body."""


class RefusedRequestError(InvalidInputError):
    """A request that is refused with an HTTP status of its own: 400 unless given, 413 where it is too large."""

    def __init__(self, message: str, status: int = 400, *, close: bool = False) -> None:
        super().__init__(message)
        self.status, self.close = status, close


def read_json(body: bytes) -> dict[str, Any]:
    """Read a JSON object; NaN, infinities and nesting without end are errors."""
    try:
        content = orjson.loads(body)
    except ValueError as error:
        raise RefusedRequestError(f"Expected JSON with finite numbers and nulls; {error}.") from None
    if not isinstance(content, dict):
        raise RefusedRequestError(f"Expected a JSON object; got {_kind(content)}.")
    return content


def read_arrow(body: bytes, most_bytes: int, most_rows: int) -> dict[str, list[Any]]:
    """Read an Arrow stream, or an Arrow file, as columns by name.

    most_bytes: How large the body may be when it is decompressed. A cell counts at least 8 bytes, a word as often as it
    is used, and a dictionary for each batch that uses it.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "serve") from None
    # A file is a stream between a magic number and a footer. The footer may list a batch twice: it is not read.
    stream = pa.py_buffer(body).slice(8 if body[:6] == b"ARROW1" else 0)
    try:
        with pa.ipc.open_stream(stream) as reader:
            for name, kind in zip(reader.schema.names, reader.schema.types, strict=True):
                _check_type(name, kind)
            _check_size(stream, len(reader.schema), most_bytes, most_rows)
            table = reader.read_all()
        _check_words(table, most_bytes)
        table.validate(full=True)
    except InvalidInputError:
        raise
    except (pa.ArrowException, ValueError, OSError, IndexError, struct.error) as error:
        raise RefusedRequestError(f"Expected an Arrow stream; {printable(' '.join(str(error).split()))}.") from None
    if len(set(table.column_names)) < table.num_columns:
        raise RefusedRequestError("Expected columns with different names; two share one.")
    return {
        name: [cell for chunk in table.column(name).chunks for cell in _cells(chunk)] for name in table.column_names
    }


def _check_type(name: str, kind: pyarrow.DataType) -> None:
    """Refuse types that no model takes; some of them need few bytes for many values."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    words = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if not any(known(plain) for known in (pa.types.is_primitive, pa.types.is_null, *words)):
        raise InvalidInputError(
            f"Expected columns of numbers or words; the column {printable(name)[:60]!r} has the type {str(kind)[:60]}."
        )


def _check_size(stream: pyarrow.Buffer, n_columns: int, most_bytes: int, most_rows: int) -> None:
    """Add up what the batches of a stream become, from their metadata: nothing is decompressed."""
    import pyarrow as pa

    rows = size = dictionaries = 0
    known: dict[int, int] = {}
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type not in ("record batch", "dictionary"):
            continue
        header = _Record(message.metadata).record(2)
        if message.type == "dictionary":
            number, grows = header.integer(0, "<q"), header.integer(2, "<b")
            length, found = header.record(1).batch_size(message.body)
            found = max(found, CELL_BYTES * length) + (known.get(number, 0) if grows else 0)
            dictionaries += found - known.get(number, 0)
            known[number] = found
        else:
            length, found = header.batch_size(message.body)
            rows += length
            found = max(found, CELL_BYTES * length * n_columns) + dictionaries
        size += found
        if rows > most_rows:
            raise RefusedRequestError(f"Expected at most {most_rows:,} items; got {rows:,} or more.", 413)
        if size > most_bytes:
            raise RefusedRequestError(
                f"Expected at most {most_bytes:,} bytes when decompressed; got {size:,} or more.", 413
            )


class _Record:
    """A table of a flatbuffer, the format of Arrow's metadata: fields by number, each with a place or without one."""

    def __init__(self, data: pyarrow.Buffer, place: int | None = None) -> None:
        self._data = memoryview(data)
        self._place = self._read("<I", 0) if place is None else place

    def _read(self, kind: str, place: int) -> int:
        if place < 0:
            raise IndexError("an offset points before the metadata")
        return int(struct.unpack_from(kind, self._data, place)[0])

    def _field(self, number: int) -> int | None:
        fields = self._place - self._read("<i", self._place)
        if 4 + 2 * number >= self._read("<H", fields):
            return None
        offset = self._read("<H", fields + 4 + 2 * number)
        return self._place + offset if offset else None

    def integer(self, number: int, kind: str) -> int:
        place = self._field(number)
        return 0 if place is None else self._read(kind, place)

    def record(self, number: int) -> _Record:
        place = self._field(number)
        if place is None:
            raise IndexError("a message has no content")
        return _Record(self._data, place + self._read("<I", place))

    def batch_size(self, body: pyarrow.Buffer) -> tuple[int, int]:
        """Return the rows of a record batch, and its bytes when its buffers are decompressed."""
        length, place = max(0, self.integer(0, "<q")), self._field(2)
        if place is None:
            return length, 0
        place += self._read("<I", place)
        count = self._read("<I", place)
        buffers = np.frombuffer(self._data, "<i8", 2 * count, place + 4).reshape(count, 2)
        if self._field(3) is None:
            return length, sum(buffers[:, 1].tolist())
        content, size = memoryview(body), 0
        for offset, stored in buffers.tolist():
            if stored:  # a compressed buffer begins with its length, or with -1 if it is not compressed after all
                if offset < 0:
                    raise IndexError("an offset points before the body")
                (full,) = struct.unpack_from("<q", content, offset)
                size += max(full, stored - CELL_BYTES)
        return length, size


def _check_words(table: pyarrow.Table, most_bytes: int) -> None:
    """Count the words of columns that refer to them: many rows may refer to one long word."""
    import pyarrow as pa

    size = 0
    for column in table.columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                lengths = _word_lengths(chunk.dictionary)
                if lengths is not None:
                    size += int(lengths.sum())
                    uses = chunk.indices.drop_null().cast(pa.int64()).to_numpy()
                    size += int(lengths[uses[(uses >= 0) & (uses < len(lengths))]].sum())
            elif pa.types.is_string_view(chunk.type):
                size += int(_word_lengths(chunk).sum())
    if size > most_bytes:
        raise RefusedRequestError(f"Expected at most {most_bytes:,} bytes of words; got {size:,}.", 413)


def _word_lengths(words: pyarrow.Array) -> Any:
    """Return the bytes of each word, shape (m,); None for other types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string_view(words.type):  # a view has 16 bytes, and begins with the length of its word
        views = words.buffers()[1]
        lengths = np.frombuffer(b"" if views is None else views, "<i4")[: 4 * len(words) : 4]
    elif pa.types.is_string(words.type) or pa.types.is_large_string(words.type):
        lengths = pc.binary_length(words).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        return None
    return np.maximum(0, lengths).astype(np.int64)


def _cells(column: pyarrow.Array) -> list[Any]:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    words = column.dictionary.to_pylist()
    return [None if place is None else words[place] for place in column.indices.to_pylist()]


def items_of_rows(served: ServedModel, rows: Any, what: str = "items") -> Float:
    """Return the items of a JSON request, shape (m, n_features)."""
    if not isinstance(rows, list) or not rows:
        raise InvalidInputError(f"Expected {what!r}: a list with at least one item; got {_kind(rows)}.")
    if all(type(row) is dict for row in rows):
        return items_of_columns(served, _columns_of(served, rows, what))
    if not all(type(row) is list for row in rows):
        raise InvalidInputError(f"Expected {what!r}: all lists of numbers, or all objects; got something else.")
    prepared = served.preparation
    if prepared is not None and not prepared.only_numbers:
        raise InvalidInputError(
            f"Expected objects with the columns {_listed(prepared.names)}, "
            "because the model encodes text columns; got lists."
        )
    for number, row in enumerate(rows):
        if len(row) != served.n_features:
            raise InvalidInputError(
                f"Expected {served.n_features} numbers for each item; item {number} of {what!r} has {len(row)}."
            )
    rows = [_without_codes(served, row) for row in rows]
    if not set(map(type, chain.from_iterable(rows))) <= {float, int, type(None)}:
        number = next(i for i, row in enumerate(rows) if not set(map(type, row)) <= {float, int, type(None)})
        raise InvalidInputError(f"Expected numbers; item {number} of {what!r} has something else.")
    return _checked(served, _numbers(rows, what))


def items_of_columns(served: ServedModel, columns: dict[str, list[Any]]) -> Float:
    """Return the items of columns by name, shape (m, n_features); the columns of numbered features by their order."""
    prepared = served.preparation
    columns = {name: _without_codes(served, cells) for name, cells in columns.items()}
    if prepared is not None and not prepared.only_numbers:
        _check_names(columns, prepared.names)
        return np.hstack([_prepared(column, columns[column.name]) for column in prepared.columns])
    names = served.feature_names
    if names is None:
        if len(columns) != served.n_features:
            raise InvalidInputError(f"Expected {served.n_features} columns; got {len(columns)}.")
        names = list(columns)
    _check_names(columns, names)
    for name in names:
        if not set(map(type, columns[name])) <= {float, int, type(None)}:
            raise InvalidInputError(f"Expected numbers; the feature {name!r} has something else.")
    return _checked(served, np.column_stack([_numbers(columns[name], name) for name in names]))


def _without_codes(served: ServedModel, cells: list[Any]) -> list[Any]:
    """Return the cells with nulls for the codes of missing cells that the model was fitted with."""
    if (codes := served.codes) is None:
        return cells
    return [None if codes.fullmatch(str(cell).strip()) else cell for cell in cells]


def _columns_of(served: ServedModel, rows: list[dict[str, Any]], what: str) -> dict[str, list[Any]]:
    """Turn objects into columns; every object has the same names."""
    wanted = served.feature_names
    if served.preparation is not None:
        wanted = list(served.preparation.names)
    if wanted is None:
        raise InvalidInputError(
            f"Expected lists of {served.n_features} numbers, because the model has no feature names; got objects."
        )
    names = set(wanted)
    for number, row in enumerate(rows):
        if row.keys() != names:
            _check_names(row, wanted, f"item {number} of {what!r}")
    return {name: [row[name] for row in rows] for name in wanted}


def _check_names(found: Any, wanted: Sequence[str], where: str = "the request") -> None:
    known = set(wanted)
    missing, unknown = [name for name in wanted if name not in found], [name for name in found if name not in known]
    if missing:
        raise InvalidInputError(f"Expected the features {_listed(wanted)}; {where} lacks {_listed(missing)}.")
    if unknown:
        raise InvalidInputError(f"Expected the features {_listed(wanted)}; {where} also has {_listed(unknown)}.")


def _numbers(values: list[Any], what: str) -> Float:
    try:
        return np.array(values, dtype=np.float64)
    except (OverflowError, ValueError):
        raise InvalidInputError(f"Expected numbers below 1.8e308; {what!r} has a larger one.") from None


def _checked(served: ServedModel, X: Float) -> Float:
    """Impute missing values if the model does, and raise an error for anything else that is not a number."""
    if np.isfinite(X.sum()) or np.isfinite(X).all():
        return X
    if np.isinf(X).any():
        raise InvalidInputError("Expected numbers below 1.8e308; there is a larger one.")
    missing = np.isnan(X)
    if served.preparation is not None:
        fills = np.array([column.fill for column in served.preparation.columns])
        X = np.where(missing, fills, X)
        missing = np.isnan(X)
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        name = column if served.feature_names is None else repr(served.feature_names[column])
        raise InvalidInputError(f"Expected a number; item {row} has none for the feature {name}.")
    return X


def _prepared(column: PreparedColumn, cells: list[Any]) -> Float:
    """Return the features of one column of a table."""
    for cell in cells:
        if type(cell) not in (str, float, int, type(None)):
            raise InvalidInputError(f"Expected words, numbers or nulls; the column {column.name!r} has {_kind(cell)}.")
    words = np.array(["" if cell is None else str(cell).strip() for cell in cells], dtype=object)
    found = CellColumn(column.name, words)
    values = column.values(found)
    if column.kind != "category":
        strange = np.flatnonzero(np.isnan(values) & ~found.missing)
        if len(strange):
            expected = "a number" if column.kind == "number" else f"one of {_listed(column.levels)}"
            raise InvalidInputError(
                f"Expected {expected} in the column {column.name!r}; item {strange[0]} has {words[strange[0]][:40]!r}."
            )
        if found.missing.any() and math.isnan(column.fill):
            row = int(np.flatnonzero(found.missing)[0])
            raise InvalidInputError(f"Expected a value in the column {column.name!r}; item {row} has none.")
    return column.matrix(found)


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(repr(str(name)[:60]) for name in names[:10]) + (", ..." if len(names) > 10 else "")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", type(None): "nothing", bool: "true or false"}
    if isinstance(value, list) and not value:
        return "an empty list"
    return kinds.get(type(value), "a number")


# Responses ------------------------------------------------------------------------------------------------------------
#
# The responses of a service: the ranks of items, and the comparison of two.


def ranked(served: ServedModel, content: dict[str, Any], columns: dict[str, list[Any]] | None = None) -> dict[str, Any]:
    """Rank the items of a request; `columns` holds them where they came as Arrow."""
    _check_keys(content, {"model", "items", "ids", "standard_deviations"})
    X = items_of_rows(served, content.get("items")) if columns is None else items_of_columns(served, columns)
    ids = content.get("ids")
    if ids is not None and (not isinstance(ids, list) or len(ids) != len(X)):
        raise InvalidInputError(f"Expected 'ids' as a list with one entry for each of the {len(X)} items.")
    scores = _scores(served, X)
    answer: dict[str, Any] = {"model": served.name, "scores": scores.tolist(), "ranks": _ranks(scores).tolist()}
    if scores.ndim == 1:
        order = np.argsort(-scores, kind="stable").tolist()
        answer["order"] = order if ids is None else [ids[item] for item in order]
    if content.get("standard_deviations"):
        answer["standard_deviations"] = _deviations(served, X).tolist()
    return answer


def _scores(served: ServedModel, X: Float) -> Float:
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores_of(served.model, X)
    if not np.isfinite(scores).all():
        raise InvalidInputError("Expected items whose scores are below 1.8e308; there is a larger one.")
    return scores


def _check_keys(content: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(content) - known)
    if unknown:
        raise InvalidInputError(f"Expected the keys {', '.join(sorted(known))}; got {unknown[0][:60]!r} as well.")


def _ranks(scores: Float) -> Any:
    """Return one plus the number of items with a higher score, for each output."""
    if scores.ndim == 2:
        return np.column_stack([_ranks(column) for column in scores.T])
    return 1 + len(scores) - np.searchsorted(np.sort(scores), scores, side="right")


def _scaled(model: Any, X: Float) -> Float:
    """Return items as the ranker sees them, behind the steps of a pipeline."""
    if not hasattr(model, "steps"):
        return X
    for _, step in model.steps[:-1]:
        X = step.transform(X)
    return X


def _deviations(served: ServedModel, X: Float) -> Float:
    ranker = final_step(served.model)
    if not hasattr(ranker, "precision_factor_"):
        raise InvalidInputError(
            f"Expected a model of preferences for standard deviations of scores; got a {type(ranker).__name__} without "
            "a posterior. Fit it with fit_pairs, or ask /compare for differences of a calibrated model."
        )
    X = _scaled(served.model, X)
    # In blocks of items, since only the diagonal is wanted.
    blocks = [ranker.covariance(X[start : start + 256]) for start in range(0, len(X), 256)]
    return np.asarray(np.sqrt(np.concatenate([np.diagonal(block) for block in blocks])))


def compared(served: ServedModel, content: dict[str, Any]) -> dict[str, Any]:
    """Compare two items: the difference of their scores, how probable it is, and why."""
    _check_keys(content, {"model", "first", "second", "top"})
    if "first" not in content or "second" not in content:
        raise InvalidInputError("Expected two items, 'first' and 'second'; one is missing.")
    top = content.get("top", 10)
    if type(top) is not int or not 1 <= top <= 1000:
        raise InvalidInputError("Expected 'top' from 1 to 1,000; got something else.")
    X = items_of_rows(served, [content["first"], content["second"]], "first and second")
    _scores(served, X)  # which must be finite
    training_ids = provenance(served.model).get("training_ids")
    why = explain(served.model, X, feature_names=served.column_names, training_ids=training_ids, k=top)
    deviation = probability = basis = None
    if has_posterior(served.model):
        first, second = _scaled(served.model, X)
        found = final_step(served.model).compare(first[None], second[None])
        deviation, probability, basis = float(found.std[0]), float(found.probability[0]), found.basis
    return {
        "model": served.name,
        "difference": why.difference,
        "standard_deviation": deviation,
        "probability": probability,
        "basis": basis,
        "why": why.to_dict(),
    }
