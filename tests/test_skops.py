"""skops: our estimators load through its list of trusted types."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.persistence.model_files import trusted_types
from tests.exports.fitted_models import KERNELS, LINEAR, fitted_models, random_items, scores_of


@pytest.mark.parametrize("name", LINEAR + KERNELS)
def test_a_model_is_loaded_through_the_trusted_list(name):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    model, X = fitted_models()[name], random_items(10, 1)
    data = skops.dumps(model)
    unknown = set(skops.get_untrusted_types(data=data))
    assert unknown <= set(trusted_types())
    again = skops.loads(data, trusted=trusted_types())
    np.testing.assert_array_equal(scores_of(again, X), scores_of(model, X))
