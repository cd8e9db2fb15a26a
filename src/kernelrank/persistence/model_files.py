"""Persistence: estimators as files that cannot run code.

A model file is a sealed container (see the part “Container”) whose content is::

    class     a name from the registry
    params    the constructor's parameters
    fitted    the fitted attributes, which end with an underscore; `kernelrank.persistence.fitted_states` says which

Values are plain data, arrays, sparse matrices, scikit-learn's Gaussian-process kernels and registered
estimators. Anything else is refused when the model is saved, and nothing is written.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from kernelrank import __version__
from kernelrank.errors import InvalidInputError, ModelFileError
from kernelrank.persistence.atomic import atomic_write
from kernelrank.persistence.fitted_states import PRIVATE, REGISTRY, FittedState

VALUES: dict[str, str] = {
    "Kernel": "kernelrank.kernels",
    "KernelSum": "kernelrank.kernels",
    "View": "kernelrank.features",
}
"""Small values that parameters and fitted models are made of: dataclasses, kept by their fields."""

KERNELS = frozenset({
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "PairwiseKernel",
    "Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel",
})  # fmt: skip
"""The Gaussian-process kernels of scikit-learn."""
SPARSE_TYPES = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")


def register(name: str, place: str, state: FittedState | None = None) -> None:
    """Register an estimator class with `save` and `load`.

    Only registered classes are ever imported by `load`: a file names a class, the program says where it is.

    Parameters
    ----------
    name : str
        The name of the class in the file.
    place : str
        Where it is imported from: ``"package.module:Class"``.
    state : FittedState, optional
        Which fitted attributes it has, of which kinds and shapes (see `kernelrank.persistence.fitted_states`). What a
        file holds is compared with it; without one it is for the class itself to doubt its attributes.

    Examples
    --------
    >>> register("RankRLS", "kernelrank.estimators:RankRLS")
    """
    module, colon, attribute = place.partition(":")
    if not (module and colon and attribute.isidentifier()):
        raise InvalidInputError(f"place must be 'package.module:Class', got {place!r}")
    known, known_state = REGISTRY.get(name, (place, None))
    if known not in (place, module):
        raise InvalidInputError(f"{name!r} is already registered as {known}")
    REGISTRY[name] = (place, known_state if state is None else state)


def save(estimator: BaseEstimator, path: str | os.PathLike[str], *, statistics: bool = True) -> None:
    """Save a fitted estimator to a file (atomic write, no pickle).

    Parameters and fitted attributes are kept to the last bit. Time O(bytes), memory O(1) beyond the estimator.

    Parameters
    ----------
    estimator : estimator
        Of a registered class, and fitted.
    path : str or path-like
    statistics : bool, default=True
        Whether the statistics of a stream (`partial_fit`, `fit_stream`) are saved, so that a loaded model goes on with
        `partial_fit` and `forget` as the saved one would. They take 8 r² bytes for r columns or basis items, which is
        0.8 GB for 10,000, and as much for each query with ``queries="mergeable"``; the coefficients take 8 r.

    Raises
    ------
    InvalidInputError
        If the estimator is not fitted, its class is not registered, or a value cannot be saved; the message
        names the cause, and nothing is written.

    Examples
    --------
    >>> save(object(), "model.kr")
    Traceback (most recent call last):
    kernelrank.errors.InvalidInputError: cannot save object: the class is not registered (see register)
    """
    encoder = _Encoder(statistics=statistics)
    content = encoder.estimator(estimator, type(estimator).__name__, 0)
    with atomic_write(path) as file:
        write_container(file, content, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that `save` wrote. Model files contain no code, so loading runs none.

    Time O(bytes), memory O(result).

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        Fitted; it predicts what the saved one does, to the last bit.

    Raises
    ------
    ModelFileError
        When the file is damaged, truncated, tampered with, of an unknown class, or from a later version, or when its
        parameters and arrays are not those of a fitted estimator of its class.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     load(file.name)
    Traceback (most recent call last):
    kernelrank.errors.ModelFileError: ...: the file is empty
    """
    with open(path, "rb") as file:
        try:
            content, arrays = read_container(file)
            return _Decoder(arrays).estimator(content)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__
        except Exception as error:
            # Whoever forges a file chooses what fails first, so that no list of exceptions would be complete.
            raise ModelFileError(f"{os.fspath(path)}: cannot be read: {type(error).__name__}: {error}") from error


def trusted_types() -> list[str]:
    """Return the types of kernelrank that skops has to trust to load a model.

    With skops, another format without pickles, a model is loaded as
    ``skops.io.load(file, trusted=trusted_types())``. Only classes of kernelrank are listed; skops knows NumPy, SciPy
    and scikit-learn itself.

    Examples
    --------
    >>> "kernelrank.estimators.rank_rls.RankRLS" in trusted_types()
    True
    """
    found = [_resolve(name) for name in REGISTRY] + [_resolve(name, VALUES) for name in VALUES]
    types = {f"{kind.__module__}.{kind.__qualname__}" for kind in found if kind is not None}
    return sorted(name for name in types if name.startswith("kernelrank."))


def _resolve(name: str, homes: Mapping[str, Any] | None = None) -> type | None:
    """Import a class of the registry, or of other homes, where it may have another name; None for any other name."""
    places = {key: place for key, (place, _) in REGISTRY.items()} if homes is None else homes
    if name not in places:
        return None
    module, _, attribute = places[name].partition(":")
    found = getattr(importlib.import_module(module), attribute or name)
    return found if isinstance(found, type) else None


class _Encoder:
    """Estimators as JSON, with the arrays apart. An array that occurs twice is kept once."""

    def __init__(self, *, statistics: bool = True) -> None:
        self.statistics = statistics
        self.arrays: list[NDArray[Any]] = []
        self._number_of: dict[int, int] = {}

    def estimator(self, estimator: BaseEstimator, where: str, depth: int = 0) -> dict[str, Any]:
        name = type(estimator).__name__
        registered: object = _resolve(name)
        if registered is not type(estimator):
            advice = "save what its to_local() returns" if hasattr(estimator, "to_local") else "see register"
            raise InvalidInputError(f"cannot save {where}: the class is not registered ({advice})")
        fitted = {key: v for key, v in vars(estimator).items() if _is_fitted_name(key, name)}
        # A pipeline has nothing of its own; a step that is not fitted is refused in its turn.
        if not fitted and name != "Pipeline":
            raise InvalidInputError(f"cannot save {where}: it is not fitted")
        stream = estimator._stream_record() if self.statistics and hasattr(estimator, "_stream_record") else None
        if stream is not None:
            fitted["stream_"] = stream
        params = estimator.get_params(deep=False)
        if params.get("memory") is not None:
            raise InvalidInputError(
                f"cannot save {where}: it has a cache (memory=), which refers to other files. Set memory=None"
            )
        if "ranker_" in fitted:
            params["ranker"] = fitted["ranker_"]  # the one that was given is not fitted, and has the same parameters
        if name == "ColumnTransformer":
            params, fitted = _with_fitted_transformers(params, fitted)
        # A learner that trains a copy of its parameter is saved with the trained copy in both places.
        params = {k: fitted.get(f"{k}_", v) if isinstance(v, BaseEstimator) else v for k, v in params.items()}
        content = {
            "class": name,
            "params": {k: self.value(v, f"the parameter {k} of {where}", depth + 1) for k, v in params.items()},
            "fitted": {k: self.value(v, f"the attribute {k} of {where}", depth + 1) for k, v in fitted.items()},
        }
        # What is written can be read: `load` refuses the same.
        fault = _state_fault(estimator)
        if fault is not None:
            raise InvalidInputError(f"cannot save {where}: {fault}")
        return content

    def value(self, value: Any, where: str, depth: int) -> Any:
        """Return the JSON of one value; `where` names it in errors."""
        kind = type(value)
        if depth > 40:
            raise InvalidInputError(f"cannot save {where}: it is nested too deeply")
        if value is None or kind in (bool, str) or (kind is int and value.bit_length() <= 10_000):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, np.generic) and storable(value.dtype):
            return {"is": "scalar", "array": self._keep(np.asarray(value))}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, where, depth)
        if kind is slice:
            parts = [value.start, value.stop, value.step]
            return {"is": "slice", "items": [self.value(part, where, depth + 1) for part in parts]}
        if isinstance(value, np.dtype) and (value.kind == "O" or storable(value)):
            return {"is": "dtype", "value": value.str}
        if kind is type and issubclass(value, np.generic) and storable(np.dtype(value)):
            return {"is": "number type", "value": np.dtype(value).str}
        if kind in (list, tuple):
            items = [self.value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
            return {"is": kind.__name__, "items": items}
        if kind is dict and all(type(key) is str for key in value):
            return {"is": "dict", "items": self._items(value, where, depth)}
        if kind.__name__ in SPARSE_TYPES and sparse.issparse(value):
            parts = [self.value(part, where, depth + 1) for part in (value.data, value.indices, value.indptr)]
            return {"is": kind.__name__, "shape": list(value.shape), "parts": parts}
        if kind.__module__ == "sklearn.gaussian_process.kernels" and kind.__name__ in KERNELS:
            params = self._items(value.get_params(deep=False), where, depth)
            return {"is": "kernel", "class": kind.__name__, "params": params}
        if kind.__name__ in VALUES and _resolve(kind.__name__, VALUES) is kind:
            fields = {name: part for name, part in vars(value).items() if name != "root" or part is not None}
            return {"is": "value", "class": kind.__name__, "params": self._items(fields, where, depth)}
        if kind.__name__ in REGISTRY:
            return {"is": "estimator", "content": self.estimator(value, where, depth + 1)}
        raise InvalidInputError(f"cannot save {where}: {_why_not(value)}")

    def _items(self, mapping: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
        return {key: self.value(value, f"{where}[{key!r}]", depth + 1) for key, value in mapping.items()}

    def _array(self, array: NDArray[Any], where: str, depth: int) -> dict[str, Any]:
        if array.dtype == object:
            items = [self.value(item, f"{where}, entry {i}", depth + 1) for i, item in enumerate(array.flat)]
            return {"is": "objects", "shape": list(array.shape), "items": items}
        if not storable(array.dtype):
            raise InvalidInputError(f"cannot save {where}: an array of {array.dtype}")
        return {"is": "array", "array": self._keep(array)}

    def _keep(self, array: NDArray[Any]) -> int:
        # `arrays` keeps the array alive, so that its id stays its own.
        number = self._number_of.setdefault(id(array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        return number


def _state_fault(estimator: BaseEstimator) -> str | None:
    """Return what is wrong with the attributes of a fitted estimator; None if nothing is known to be wrong."""
    _, state = REGISTRY.get(type(estimator).__name__, ("", None))
    return None if state is None else state.fault(estimator)


def _is_fitted_name(name: str, owner: str) -> bool:
    return (name.isidentifier() and name.endswith("_") and not name.startswith("__")) or name in PRIVATE.get(owner, ())


def _with_fitted_transformers(params: dict[str, Any], fitted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give a ColumnTransformer the fitted transformers for parameters; a clone forgets what they learnt.

    Columns that were chosen by a function are the columns that it chose.
    """
    names = [name for name, *_ in params["transformers"]]
    given = [entry for entry in fitted["transformers_"] if entry[0] in names]
    remainder = params["remainder"]
    if not isinstance(remainder, str):
        remainder = {name: one for name, one, _ in fitted["transformers_"]}.get("remainder", "drop")
    rest = (fitted["_remainder"][0], remainder, fitted["_remainder"][2])
    return {**params, "transformers": given, "remainder": remainder}, {**fitted, "_remainder": rest}


def _why_not(value: object) -> str:
    """Return why a value is not kept, and what to do."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return "it is a random number generator; give random_state an integer or None"
    if isinstance(value, dict):
        return "it is a dict with keys that are not strings"
    if isinstance(value, int):
        return "it is an integer of more than 10000 bits"
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(value):
        return (
            f"it is code ({kind}), and a model file holds data only; use a named kernel or a scikit-learn kernel object"
        )
    return f"a {kind} is not data that a model file can hold"


class _Decoder:
    """Estimators from JSON and arrays; what the encoder would not have written is an error."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays

    def estimator(self, content: dict[str, Any]) -> BaseEstimator:
        name = content["class"]
        kind = _resolve(name)
        if kind is None:
            raise ModelFileError(f"the class {name!r} is unknown; registered are {', '.join(sorted(REGISTRY))}")
        known = inspect.signature(kind).parameters
        for parameter in content["params"]:
            if parameter not in known:
                raise ModelFileError(f"{name} has no parameter {parameter!r} in this version of kernelrank")
        if content["params"].get("memory") is not None:
            raise ModelFileError(f"{name} has a cache (memory=), which model files may not have")
        estimator = kind(**self._items(content["params"]))
        for attribute, value in self._items(content["fitted"]).items():
            if not _is_fitted_name(attribute, name):
                raise ModelFileError(f"{attribute!r} is not the name of a fitted attribute")
            vars(estimator)[attribute] = value  # past __setattr__ and properties: data is put, no code is asked
        self._check(estimator, name)
        if "stream_" in vars(estimator):
            estimator._restore_stream(vars(estimator).pop("stream_"))
        return estimator

    def _check(self, estimator: BaseEstimator, name: str) -> None:
        """Raise an error for parameters and fitted attributes that no estimator of this class has."""
        if hasattr(estimator, "_parameter_constraints"):
            try:
                estimator._validate_params()
            except (TypeError, ValueError) as error:
                raise ModelFileError(f"{name}: {error}") from None
        fault = _state_fault(estimator)
        if fault is not None:
            raise ModelFileError(f"{name}: {fault}")

    def value(self, node: Any) -> Any:
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise ModelFileError("a list without its type")
            return node
        match node["is"]:
            case "float":
                return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["value"]]
            case "scalar":
                return self._array(node)[()]
            case "array":
                return self._array(node)
            case "objects":
                items = np.empty(len(node["items"]), dtype=object)
                for i, item in enumerate(node["items"]):
                    items[i] = self.value(item)
                return items.reshape(node["shape"])
            case "slice":
                parts = [self.value(part) for part in node["items"]]
                if len(parts) != 3 or not all(part is None or type(part) in (int, str) for part in parts):
                    raise ModelFileError("a slice needs three whole numbers or names")
                return slice(*parts)
            case "dtype" | "number type":
                dtype = np.dtype(node["value"])
                if not (storable(dtype) or (dtype.kind == "O" and node["is"] == "dtype")):
                    raise ModelFileError(f"arrays of {dtype} are not kept in model files")
                return dtype if node["is"] == "dtype" else dtype.type
            case "list":
                return [self.value(item) for item in node["items"]]
            case "tuple":
                return tuple(self.value(item) for item in node["items"])
            case "dict":
                return self._items(node["items"])
            case "kernel" if node["class"] in KERNELS:
                kernels = importlib.import_module("sklearn.gaussian_process.kernels")
                return getattr(kernels, node["class"])(**self._items(node["params"]))
            case "value" if (value_kind := _resolve(node["class"], VALUES)) is not None:
                return value_kind(**self._items(node["params"]))
            case "estimator":
                return self.estimator(node["content"])
            case name if name in SPARSE_TYPES:
                return self._sparse(node)
        raise ModelFileError(f"a value of the unknown kind {node['is']!r}")

    def _items(self, nodes: dict[str, Any]) -> dict[str, Any]:
        return {key: self.value(node) for key, node in nodes.items()}

    def _array(self, node: dict[str, Any]) -> NDArray[Any]:
        number: int = node["array"]
        if not 0 <= number < len(self._arrays):
            raise ModelFileError(f"there is no array {number}")
        return self._arrays[number]

    def _sparse(self, node: dict[str, Any]) -> Any:
        data, indices, bounds = (self.value(part) for part in node["parts"])
        matrix = getattr(sparse, node["is"])((data, indices, bounds), shape=tuple(node["shape"]))
        # SciPy may have chosen another integer type.
        matrix.data, matrix.indices, matrix.indptr = data, indices, bounds
        matrix.check_format(full_check=True)
        return matrix


# Container ------------------------------------------------------------------------------------------------------------
#
# The container: JSON and arrays in one file with checksums and no code.
#
# A container is a zip file without compression::
#
#     arrays/0.npy    each array in NumPy's format, never pickled
#     arrays/1.npy
#     model.json      format, versions, content; name, size and SHA-256 of each array
#     (zip comment)   "sha256:" and the digest of every byte before it, the manifest included
#
# The seal makes each damaged or missing byte an error before anything is read. It is no signature: whoever
# forges a file can seal it again. That is why what follows it trusts nothing either: members, sizes and types
# are compared with the manifest before memory is allocated, and no type of array can hold an object.

FORMAT_NAME = "kernelrank model"
FORMAT_VERSION = 1
MANIFEST = "model.json"
SEAL_BYTES = len(b"sha256:") + 64


def storable(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this type can be stored: numbers, booleans, text, bytes, dates; no objects."""
    return dtype.kind in "biufcSUmM" and dtype.names is None and dtype.subdtype is None


def write_container(file: IO[bytes], content: object, arrays: Sequence[NDArray[Any]]) -> None:
    """Write JSON content and arrays into an empty file open for writing and reading. Time O(bytes), memory O(1).

    The same content and arrays make the same bytes.
    """
    members = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for number, array in enumerate(arrays):
            name = _member_name(number)
            # The fixed date of a bare ZipInfo keeps the bytes the same.
            large = array.nbytes > 2**30
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=large) as member:
                digest = _Digest(member)
                np.lib.format.write_array(digest, array, version=(1, 0), allow_pickle=False)
            members.append({"name": name, "size": digest.size, "sha256": digest.hexdigest()})
        manifest = {
            "format": FORMAT_NAME,
            "format_version": FORMAT_VERSION,
            "kernelrank_version": __version__,
            "content": content,
            "members": members,
        }
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, allow_nan=False, indent=1))
        archive.comment = b" " * SEAL_BYTES
    end = file.seek(0, os.SEEK_END)
    seal = _seal_of(file, end - SEAL_BYTES)
    file.seek(end - SEAL_BYTES)
    file.write(seal)


def read_container(file: IO[bytes]) -> tuple[Any, list[NDArray[Any]]]:
    """Read the content and the arrays of a container, all of them checked. Time O(bytes), memory O(result)."""
    _check_seal(file)
    with zipfile.ZipFile(file) as archive:
        manifest = _read_manifest(archive)
        members = manifest["members"]
        _check_members(archive, [member["name"] for member in members])
        return manifest["content"], [_read_array(archive, member) for member in members]


class _Digest(io.RawIOBase):
    """A file that takes the digest of what goes through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def _note(self, data: bytes) -> bytes:
        self._hash.update(data)
        self.size += len(data)
        return data

    def write(self, data: Any) -> int:
        return self._file.write(self._note(bytes(data)))

    def read(self, size: int = -1) -> bytes:
        return self._note(self._file.read(size))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _member_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _seal_of(file: IO[bytes], size: int) -> bytes:
    """Return the seal for the first `size` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0:
        piece = file.read(min(size, 1 << 20))
        if not piece:
            raise ModelFileError("the file became shorter while it was read")
        digest.update(piece)
        size -= len(piece)
    return b"sha256:" + digest.hexdigest().encode()


def _check_seal(file: IO[bytes]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(4)
    if not start:
        raise ModelFileError("the file is empty")
    if not b"PK\x03\x04".startswith(start):
        raise ModelFileError(f"not a {FORMAT_NAME}: expected a zip archive written by kernelrank.save")
    file.seek(max(0, size - SEAL_BYTES - 22))  # the record that ends a zip file, without its comment
    tail = file.read()
    seal = tail[-SEAL_BYTES:]
    if not (tail.startswith(b"PK\x05\x06") and seal.startswith(b"sha256:")):
        raise ModelFileError(f"truncated, damaged, or a zip file that is not a {FORMAT_NAME}")
    if _seal_of(file, size - SEAL_BYTES) != seal:
        raise ModelFileError("damaged: the content differs from what was written (SHA-256 digest mismatch)")


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    def refuse(word: str) -> NoReturn:
        raise ModelFileError(f"{word} in {MANIFEST}")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a key that occurs twice")

    if MANIFEST not in archive.namelist():
        raise ModelFileError(f"{MANIFEST} is missing: this zip file is not a {FORMAT_NAME}")
    text = archive.read(_checked_info(archive, MANIFEST))
    manifest = json.loads(text, parse_constant=refuse, object_pairs_hook=distinct)
    if not (isinstance(manifest, dict) and manifest.get("format") == FORMAT_NAME):
        raise ModelFileError(f"not a {FORMAT_NAME}: {MANIFEST} names another format")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"expected a format version as a positive integer; got {version!r}")
    if version > FORMAT_VERSION:
        writer = manifest.get("kernelrank_version")
        raise ModelFileError(
            f"written by kernelrank {writer} in format {version}; this version reads up to format "
            f"{FORMAT_VERSION}. Upgrade kernelrank"
        )
    return manifest


def _check_members(archive: zipfile.ZipFile, promised: list[str]) -> None:
    """Compare what the archive holds with what the manifest promises."""
    if promised != [_member_name(number) for number in range(len(promised))]:
        raise ModelFileError(f"{MANIFEST} has no valid number of arrays")
    held = archive.namelist()
    for name in promised:
        if name not in held:
            raise ModelFileError(f"the member {name} is missing")
    if sorted(held) != sorted([*promised, MANIFEST]):
        extra = next(name for name in held if name not in {*promised, MANIFEST} or held.count(name) > 1)
        raise ModelFileError(f"the member {extra!r} is not expected")


def _checked_info(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the entry of a member that is stored as it is, so that no byte becomes many."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
        raise ModelFileError(f"the member {name} is compressed or encrypted")
    return info


def _read_array(archive: zipfile.ZipFile, member: dict[str, Any]) -> NDArray[Any]:
    name = member["name"]
    info = _checked_info(archive, name)
    if info.file_size != member["size"]:
        raise ModelFileError(f"the member {name} has {info.file_size} bytes, not {member['size']}")
    with archive.open(info) as file:
        _check_header(file, info)
    with archive.open(info) as file:
        digest = _Digest(file)
        array: NDArray[Any] = np.lib.format.read_array(digest, allow_pickle=False)
    if digest.hexdigest() != member["sha256"]:
        raise ModelFileError(f"the member {name} is damaged: its SHA-256 digest differs")
    return array


def _check_header(file: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Check that the array is as large as its bytes, before memory is allocated for it."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ModelFileError(f"the member {info.filename} is in another version of NumPy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if not storable(dtype):
        raise ModelFileError(f"the member {info.filename} has the type {dtype}, which is not allowed in a model file")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != info.file_size - file.tell():
        raise ModelFileError(f"the member {info.filename} has the shape {shape}, which does not match its size")


# Provenance -----------------------------------------------------------------------------------------------------------
#
# What is known of a fitted model besides its numbers. The command writes a record with every model that it saves: the
# attribute `provenance_`. A model that was fitted in Python has none, and knows its columns only from a data frame.


def final_step(model: Any) -> Any:
    """Return the ranker of a model that may scale its columns first, and turn scores into levels."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return getattr(last, "ranker_", last)


def levels_of(model: Any) -> Any:
    """Return the levels that a model predicts, ascending; None if it predicts scores."""
    return getattr(model.steps[-1][1] if hasattr(model, "steps") else model, "levels_", None)


def provenance(model: Any) -> dict[str, Any]:
    """Return what is recorded about the data of a model; an empty dict if the command did not save it."""
    found = getattr(model, "provenance_", None)
    return found if isinstance(found, dict) else {}


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the columns that a model knows, from a file or from a data frame in Python."""
    known = provenance(model).get("feature_names", getattr(model, "feature_names_in_", None))
    return None if known is None else [str(name) for name in known]


def column_names(model: Any) -> list[str] | None:
    """Return what the columns are called: by name, or by number as in the file that the model was fitted to."""
    names, first = feature_names(model), provenance(model).get("first_index")
    if names is not None or first is None:
        return names
    return [f"f{number}" for number in range(first, first + int(model.n_features_in_))]
