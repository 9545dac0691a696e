"""A small table of inputs and labels, and ways to spoil it and to look at what was read of it."""

import numpy as np
import pytest

from minisig.data import load_file
from minisig.errors import DataError

N = 40
X = np.random.default_rng(0).uniform(-1, 1, (N, 3))
Y = np.arange(N) % 3
PARTS = ("train", "valid", "test")


def as_csv(x=X, y=Y):
    return "".join(f"{','.join(map(repr, row))},{label}\n" for row, label in zip(x.tolist(), y.tolist(), strict=True))


def changed(values, where, value):
    values = np.array(values)
    values[where] = value
    return values


def complaint(path):
    """The one line that load_file says about a bad file."""
    with pytest.raises(DataError) as caught:
        load_file(path)
    assert caught.value.exit_code == 5
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert str(path) in message
    return message


def parts(data):
    return [getattr(data, part) for part in PARTS]


def labelled_rows(*splits):
    """Every row with its label, in sorted order."""
    return sorted(
        (*row, label) for split in splits for row, label in zip(split.x.tolist(), split.y.tolist(), strict=True)
    )
