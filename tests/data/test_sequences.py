"""Running text: streams side by side in training, every token once and in order in evaluation."""

import numpy as np
import pytest

from minisig.data.sequences import Text
from minisig.errors import DataError


def test_streams_are_consecutive_text_read_side_by_side():
    text = Text(np.arange(1, 24), steps=3)  # 22 tokens to predict: two streams of eleven
    batches = text.batches(2, seed=0)
    x = np.concatenate([batches.at(i).x for i in range(1, 5)])
    y = np.concatenate([batches.at(i).labels for i in range(1, 5)])
    np.testing.assert_array_equal(x.T, [np.arange(1, 12), np.arange(12, 23)])
    np.testing.assert_array_equal(y, x + 1)
    assert [len(batches.at(i).x) for i in range(1, 6)] == [3, 3, 3, 2, 3]
    assert [batches.at(i).fresh for i in range(1, 6)] == [True, False, False, False, True]
    np.testing.assert_array_equal(batches.at(5).x, batches.at(1).x)


def test_tokens_that_fill_no_stream_are_left_out():
    batches = Text(np.arange(24), steps=11).batches(2, seed=0)  # 23 tokens to predict: two streams of eleven, and one
    np.testing.assert_array_equal(batches.at(1).x.T, [np.arange(11), np.arange(11, 22)])
    np.testing.assert_array_equal(batches.at(1).labels, batches.at(1).x + 1)
    assert batches.per_epoch == 1


def test_a_window_may_be_as_long_as_the_streams():
    batch = Text(np.arange(7), steps=3).batches(2, seed=0).at(1)
    np.testing.assert_array_equal(batch.x.T, [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(("size", "needed"), [(20, 40), (8, 16)])
def test_a_window_longer_than_the_streams_is_refused_with_a_remedy(size, needed):
    text = Text(np.arange(15), steps=2)
    with pytest.raises(
        DataError, match=f"needs {needed} tokens, the training text has 14: use more text, a smaller batch size"
    ):
        text.batches(size, 0)


def test_evaluation_reads_every_token_once_and_in_order():
    text = Text(np.arange(1234), steps=35)
    windows = list(text.windows())
    np.testing.assert_array_equal(np.concatenate([w.x[:, 0] for w in windows]), np.arange(1233))
    np.testing.assert_array_equal(np.concatenate([w.labels[:, 0] for w in windows]), np.arange(1, 1234))
    assert [w.fresh for w in windows] == [True, False, False]
    assert len(text.head(100).tokens) == 101
