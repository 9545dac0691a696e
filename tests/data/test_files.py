"""The user's own arrays: what is accepted."""

import numpy as np
import pytest

from minisig.data import DataConfig, Split, load, load_file
from minisig.errors import DataError
from tests.data.tables import PARTS, X, Y, labelled_rows, parts


def same(a, b):
    for ours, theirs in zip(parts(a), parts(b), strict=True):
        np.testing.assert_array_equal(ours.x, theirs.x)
        np.testing.assert_array_equal(ours.y, theirs.y)
    assert a.classes == b.classes


def test_an_npz_with_three_parts_keeps_them_and_their_order(npz):
    data = load_file(npz(x_train=X, y_train=Y, x_valid=X[:5], y_valid=Y[:5], x_test=X[5:12], y_test=Y[5:12]))
    for split, rows in ((data.train, slice(None)), (data.valid, slice(5)), (data.test, slice(5, 12))):
        np.testing.assert_array_equal(split.x, X[rows].astype(np.float32))
        np.testing.assert_array_equal(split.y, Y[rows])
        assert (split.x.dtype, split.y.dtype) == (np.float32, np.int64)
    assert data.classes == 3
    assert data.name == "mine.npz"


@pytest.mark.parametrize(("given", "train"), [((), 32), (("valid",), 36), (("test",), 36), (("valid", "test"), 40)])
def test_a_tenth_of_the_training_rows_is_held_out_for_each_missing_part(npz, given, train):
    extra = {f"{letter}_{part}": v[:7] for part in given for letter, v in (("x", X), ("y", Y))}
    data = load_file(npz(x_train=X, y_train=Y, **extra))
    assert {part: len(getattr(data, part).x) for part in PARTS} == {"train": train} | {
        part: 7 if part in given else 4 for part in ("valid", "test")
    }


def test_holding_out_loses_no_row_doubles_none_and_keeps_the_labels(npz):
    data = load_file(npz(x_train=X, y_train=Y))
    assert labelled_rows(*parts(data)) == labelled_rows(Split(X.astype(np.float32), Y))


def test_the_held_out_rows_are_the_same_for_every_seed(npz):
    path = npz(x_train=X, y_train=Y)
    config = DataConfig(source="file", path=str(path))
    same(load(config, seed=1), load(config, seed=2))


def test_the_held_out_rows_are_drawn_from_everywhere(npz):
    """The first or last rows alone would be one class where a file is sorted by label."""
    y = np.sort(Y)
    data = load_file(npz(x_train=X, y_train=y))
    assert len(set(data.valid.y.tolist() + data.test.y.tolist())) > 1


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u2", "f2", "f4", ">f8", ">i4", "g"])
def test_inputs_of_any_real_type_are_read(npz, dtype):
    x = (10 * np.abs(X)).round().astype(dtype)
    data = load_file(npz(x_train=x, y_train=Y, x_valid=x, y_valid=Y, x_test=x, y_test=Y))
    expected = x.astype(float)
    if dtype != "?":
        expected = 2 * (expected - expected.min(axis=0)) / np.ptp(expected, axis=0) - 1
    np.testing.assert_allclose(data.test.x, expected, atol=1e-6)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u8", "f2", "f8", ">i8"])
def test_labels_of_any_whole_numbered_type_are_read(npz, dtype):
    y = Y.astype(dtype)
    data = load_file(npz(x_train=X, y_train=y, x_valid=X, y_valid=y, x_test=X, y_test=y))
    np.testing.assert_array_equal(data.test.y, y.astype(np.int64))
    assert data.test.y.dtype == np.int64


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_other_names_are_left_alone(tmp_path, save):
    save(tmp_path / "mine.npz", x_train=X, y_train=Y, notes=np.array("by hand"), more=np.zeros((2, 0)))
    assert load_file(tmp_path / "mine.npz").classes == 3


def test_a_file_of_black_images_is_read_though_it_unpacks_to_nearly_a_thousand_times_its_size(tmp_path):
    path = tmp_path / "mine.npz"
    black = np.zeros((5000, 28, 28), np.uint8)
    np.savez_compressed(path, x_train=black, y_train=np.arange(5000) % 2)
    assert black.nbytes > 500 * path.stat().st_size  # or this test shows nothing
    assert set(np.unique(load_file(path).train.x)) == {-1.0}


@pytest.mark.parametrize("labels", [(-1, 1), (1, 2, 3), (5, 10**9), (-(10**18), 0, 10**18)])
def test_labels_are_any_whole_numbers(npz, labels):
    y = np.resize(labels, len(X))
    data = load_file(npz(x_train=X, y_train=y, x_valid=X, y_valid=y, x_test=X, y_test=y))
    assert data.classes == len(labels)
    np.testing.assert_array_equal(np.array(data.prepared.classes)[data.test.y], y)


@pytest.mark.parametrize("name", ["old.csv", "old.csv.gz", "old.parquet"])
def test_a_table_is_read_elsewhere_and_what_was_trained_on_it_must_be_trained_again(tmp_path, name):
    (tmp_path / name).write_text("1,2\n")
    with pytest.raises(DataError, match=rf"train it again with: minisig train .*{name}"):
        load_file(tmp_path / name)
