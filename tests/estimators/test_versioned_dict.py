"""Every version of a versioned dictionary stays what it was, and many small batches are not copied each time."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from kernelrank.estimators.streams import VersionedDict

BATCHES = st.lists(st.dictionaries(st.integers(0, 30), st.integers(), max_size=8), max_size=20)


@given(batches=BATCHES, gone=st.sets(st.integers(0, 30)))
def test_versions_are_dictionaries_that_stay(batches, gone):
    versions, expected = [VersionedDict()], [{}]
    for batch in batches:
        versions.append(versions[-1].updated(batch))
        expected.append({**expected[-1], **batch})
    versions.append(versions[-1].without(gone))
    expected.append({key: value for key, value in expected[-1].items() if key not in gone})
    for version, plain in zip(pickle.loads(pickle.dumps(versions)), expected, strict=True):
        assert dict(version) == plain
        assert len(version) == len(plain)
        assert all((key in version) == (key in plain) for key in range(31))


def test_layers_stay_few():
    version = VersionedDict()
    copied = 0
    for number in range(4096):
        version = version.updated({number: None})
        copied += len(version._layers[-1])
    assert len(version._layers) <= 13
    assert copied <= 13 * 4096
