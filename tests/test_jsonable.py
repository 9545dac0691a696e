"""Numbers for JSON: what it does not know is null, at any depth."""

import json

import numpy as np

from minisig.jsonable import jsonable


def test_what_json_does_not_know_is_null_at_any_depth():
    given = {"a": [np.float32(0.5), float("nan")], "b": {"c": (np.inf, -np.inf, np.float64("nan"))}}
    found = jsonable(given)
    assert found == {"a": [0.5, None], "b": {"c": [None, None, None]}}
    assert json.dumps(found, allow_nan=False)


def test_what_json_knows_stays_and_numpys_numbers_become_pythons():
    given = {"words": "mean", "none": None, "yes": True, "count": np.int64(3), "flag": np.bool_(0)}
    found = jsonable(given)
    assert found == {"words": "mean", "none": None, "yes": True, "count": 3, "flag": False}
    assert [type(value) for value in found.values()] == [str, type(None), bool, int, bool]
