"""Damaged and forged model files: always a ModelFileError, never another model."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kernelrank.errors import ModelFileError
from kernelrank.estimators import RLS
from kernelrank.persistence.model_files import SEAL_BYTES, load, save


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def model_bytes(folder, **attributes):
    model = RLS().fit(np.eye(3), [1.0, 2.0, 4.0])
    vars(model).update(attributes)
    save(model, folder / "whole.kr")
    return (folder / "whole.kr").read_bytes()


@pytest.fixture(scope="module")
def small(folder):
    """The bytes of a small model."""
    return model_bytes(folder)


def load_bytes(data, folder):
    (folder / "damaged.kr").write_bytes(data)
    return load(folder / "damaged.kr")


class TestDamage:
    def test_truncated_anywhere(self, small, folder):
        for length in range(len(small)):
            with pytest.raises(ModelFileError, match=r"damaged\.kr: "):
                load_bytes(small[:length], folder)

    def test_one_byte_flipped_anywhere(self, small, folder):
        generator = np.random.default_rng(0)
        for place in range(len(small)):
            damaged = bytearray(small)
            damaged[place] ^= int(generator.integers(1, 256))
            with pytest.raises(ModelFileError):
                load_bytes(bytes(damaged), folder)

    @given(st.data())
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_bytes_inserted_removed_or_doubled(self, small, folder, data):
        start = data.draw(st.integers(0, len(small) - 1))
        stop = data.draw(st.integers(start, len(small)))
        damaged = small[:start] + data.draw(st.sampled_from([b"", b"x", small[start:stop] * 2])) + small[stop:]
        if damaged != small:
            with pytest.raises(ModelFileError):
                load_bytes(damaged, folder)

    @pytest.mark.parametrize(
        ("data", "pattern"),
        [
            (b"", "empty"),
            (b"hello", "expected a zip archive"),
            (pickle.dumps([1]), "expected a zip archive"),
            (b"PK", "truncated"),
        ],
    )
    def test_other_files(self, folder, data, pattern):
        with pytest.raises(ModelFileError, match=pattern):
            load_bytes(data, folder)

    def test_another_zip(self, folder):
        file = io.BytesIO()
        np.savez(file, a=np.arange(3))
        with pytest.raises(ModelFileError, match="a zip file that is not a kernelrank model"):
            load_bytes(file.getvalue(), folder)

    def test_a_missing_file_is_the_operating_systems_error(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "nothing.kr")


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def forge(small, change, *, compression=zipfile.ZIP_STORED):
    """Unpack a model, let `change` alter manifest and members, pack and seal it again, digests included."""
    with zipfile.ZipFile(io.BytesIO(small)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("model.json"))
    change(manifest, members)
    for entry in manifest["members"]:
        if entry["name"] in members and not entry.pop("keep", False):
            entry["size"] = len(members[entry["name"]])
            entry["sha256"] = hashlib.sha256(members[entry["name"]]).hexdigest()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("model.json", json.dumps(manifest))
        archive.comment = b" " * SEAL_BYTES
    body = file.getvalue()[:-SEAL_BYTES]
    return body + b"sha256:" + hashlib.sha256(body).hexdigest().encode()


def setting(*keys, to):
    def change(manifest, members):
        node = manifest
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = to

    return change


ARRAY = "arrays/0.npy"


class TestForgery:
    """A seal can be made by anyone, so that what it covers is checked as well."""

    def test_the_forger_can_forge(self, small, folder):
        forged = load_bytes(forge(small, lambda *_: None), folder)
        assert np.array_equal(forged.coef_, load_bytes(small, folder).coef_)

    @pytest.mark.parametrize(
        ("change", "pattern"),
        [
            (setting("format", to="other"), "names another format"),
            (
                setting("format_version", to=2),
                "written by kernelrank .* in format 2; this version reads up to format 1. Upgrade",
            ),
            (setting("format_version", to="1"), "expected a format version as a positive integer"),
            (setting("format_version", to=True), "expected a format version as a positive integer"),
            (setting("content", "class", to="os.system"), "'os.system' is unknown; registered are"),
            (setting("content", "class", to=["RLS"]), "cannot be read"),
            (setting("content", "params", "extra", to=1), "no parameter 'extra'"),
            (setting("content", "fitted", "__class__", to=1), "'__class__' is not the name of a fitted attribute"),
            (setting("content", "fitted", "predict", to=1), "'predict' is not the name"),
            (setting("content", "fitted", "coef_", "array", to=7), "there is no array 7"),
            (setting("content", "fitted", "coef_", "array", to=-1), "there is no array -1"),
            (setting("content", "fitted", "coef_", "is", to="code"), "unknown kind 'code'"),
            (setting("content", "fitted", "coef_", to=[1]), "a list without its type"),
            (
                setting("content", "fitted", "coef_", to={"is": "kernel", "class": "Kernel", "params": {}}),
                "unknown kind",
            ),
            (setting("content", "fitted", "coef_", to={"is": "float", "value": "1"}), "cannot be read"),
            (setting("content", to=None), "cannot be read"),
            (setting("members", to=[]), "is not expected"),
            (lambda manifest, members: members.pop(ARRAY), "arrays/0.npy is missing"),
            (lambda manifest, members: members.update(extra=b"x"), "'extra' is not expected"),
            (setting("members", 0, to={"name": ARRAY, "size": 9, "sha256": "", "keep": 1}), "bytes, not 9"),
            (setting("members", 0, to={"name": ARRAY, "size": 152, "sha256": "", "keep": 1}), "digest"),
            (setting("members", 0, "name", to="../a.npy"), "has no valid number of arrays"),
        ],
        ids=lambda value: value[:30] if isinstance(value, str) else "",
    )
    def test_refused(self, small, folder, change, pattern):
        with pytest.raises(ModelFileError, match=pattern):
            load_bytes(forge(small, change), folder)

    @pytest.mark.parametrize(
        ("array", "pattern"),
        [
            (npy(np.array([print], dtype=object)), "object, which is not allowed in a model file"),
            (npy(np.zeros(1, dtype=[("x", "f8")])), "which is not allowed in a model file"),
            (npy(np.arange(3), version=(2, 0)), "another version"),
            (npy(np.arange(3.0))[:-1], "does not match its size"),
            (npy(np.arange(3.0)).replace(b"(3,)", b"(9999999999999,)"), "cannot be read|does not match its size"),
            (npy(np.arange(3.0)).replace(b"(3,), }         ", b"(3333333333,), }"), "does not match its size"),
            (npy(np.arange(3.0)).replace(b"(3,), } ", b"(-3,), }"), "does not match its size"),
            (b"not an array", "cannot be read"),
        ],
        ids=range(8),
    )
    def test_arrays_refused(self, small, folder, array, pattern):
        def change(manifest, members):
            members[ARRAY] = array

        with pytest.raises(ModelFileError, match=pattern):
            load_bytes(forge(small, change), folder)

    def test_compression(self, small, folder):
        with pytest.raises(ModelFileError, match="compressed"):
            load_bytes(forge(small, lambda *_: None, compression=zipfile.ZIP_DEFLATED), folder)

    @pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000, b'{"a": NaN}', b'{"a": 1, "a": 1}', b"1" * 5000])
    def test_manifests(self, folder, text):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("model.json", text)
            archive.comment = b" " * SEAL_BYTES
        body = file.getvalue()[:-SEAL_BYTES]
        with pytest.raises(ModelFileError):
            load_bytes(body + b"sha256:" + hashlib.sha256(body).hexdigest().encode(), folder)

    def test_indices_that_point_outside(self, folder):
        data = model_bytes(folder, extra_=csr_array(np.eye(3)), a_=np.array([0, 1, 9], dtype=np.int32))

        def change(manifest, members):
            nodes = manifest["content"]["fitted"]
            nodes["extra_"]["parts"][1] = nodes["a_"]

        with pytest.raises(ModelFileError, match="cannot be read"):
            load_bytes(forge(data, change), folder)
