"""Streams: functions of the seed, the purpose and the index, and of nothing else."""

import numpy as np
import pytest

from minisig.seeds import stream


def raw(*of):
    """The first bits, which NumPy promises to keep from version to version."""
    return stream(*of).bit_generator.random_raw(4).tolist()


def test_a_stream_is_the_same_whatever_was_drawn_from_others():
    before = raw(3, "dropout", 10_000)
    stream(3, "dropout", 9_999).random(100)
    np.random.default_rng(3).random(100)
    assert raw(3, "dropout", 10_000) == before


@pytest.mark.parametrize(
    "other", [(4, "dropout", 1), (3, "batches", 1), (3, "dropoff", 1), (3, "dropout", 2), (3, "dropout")]
)
def test_another_seed_purpose_or_index_has_other_numbers(other):
    assert not set(raw(3, "dropout", 1)) & set(raw(*other))


def test_a_purpose_that_goes_on_where_another_ends_is_another():
    assert raw(3, "weights") != raw(3, "weight", ord("s"))


def test_a_run_of_an_older_version_is_resumed_with_its_own_numbers():
    assert raw(0, "dropout", 7)[0] == 15616478732387814337
