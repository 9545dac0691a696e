"""The user's own arrays: one clear line for everything that is wrong with them."""

import gc
import os
import pickle
import warnings

import numpy as np
import pytest

from tests.data.formats import archive, array_header, npy, with_header
from tests.data.tables import PARTS, N, X, Y, as_csv, changed, complaint

# What is wrong with the file


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "no such file" in complaint(tmp_path / "none.npz")
    assert "no such file" in complaint(tmp_path / "folder" / "none.npz")


@pytest.mark.parametrize("suffix", [".npz", ""])
def test_a_folder_is_not_a_file(tmp_path, suffix):
    path = tmp_path / f"folder{suffix}"
    path.mkdir()
    complaint(path)


@pytest.mark.parametrize("suffix", [".txt", ".xlsx", "", ".npy"])
def test_an_unknown_suffix_is_answered_with_the_known_ones(raw, suffix):
    message = complaint(raw(as_csv(), suffix))
    assert ".npz" in message
    assert ".csv" in message


def test_an_empty_file_is_called_empty(raw):
    assert "empty" in complaint(raw("", ".npz"))


def test_a_file_without_read_permission_is_refused(raw):
    path = raw(GOOD_NPZ, ".npz")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("permissions do not bind this user")
    assert "denied" in complaint(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path):
    path = tmp_path / "pipe.npz"
    os.mkfifo(path)
    complaint(path)


# What is wrong with an npz file


GOOD_NPZ = archive({"x_train": npy(X), "y_train": npy(Y)})


NO_NPZ = {
    "text": b"hello",
    "csv": as_csv().encode(),
    "zeros": b"\0" * 1000,
    "one byte": b"P",
    "pickle": pickle.dumps([X, Y]),
    "zip magic": GOOD_NPZ[:4],
    "half": GOOD_NPZ[: len(GOOD_NPZ) // 2],
    "cut": GOOD_NPZ[:-3],
    "no magic": GOOD_NPZ.replace(b"\x93NUMPY", b"\x93NVMPY"),
}


@pytest.mark.parametrize("content", NO_NPZ.values(), ids=NO_NPZ)
def test_bytes_that_are_no_npz_are_refused(raw, content):
    assert ".npz" in complaint(raw(content, ".npz"))


@pytest.mark.parametrize("content", NO_NPZ.values(), ids=NO_NPZ)
def test_a_refused_npz_is_closed_again(raw, content):
    """Windows could not delete or mend a file that is still open."""
    path = raw(content, ".npz")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        complaint(path)
        gc.collect()
    assert not [warning for warning in caught if str(path) in str(warning.message)]


def test_a_lone_array_renamed_to_npz_is_answered_with_how_to_save(raw):
    assert "np.savez" in complaint(raw(npy(X), ".npz"))


def test_a_member_that_is_no_array_is_refused_by_name(raw):
    assert "x_train" in complaint(raw(archive({"x_train": b"hello", "y_train": npy(Y)}), ".npz"))


@pytest.mark.parametrize("name", ["x_train", "y_train"])
def test_pickled_objects_are_refused(npz, name):
    complaint(npz(**{"x_train": X, "y_train": Y, name: np.array([[{}]] * N, dtype=object)}))


class Trap:
    """Whoever unpickles it creates the file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_pickle_in_an_npz_is_never_run(npz, tmp_path):
    sprung = tmp_path / "sprung"
    complaint(npz(x_train=np.array([Trap(str(sprung))], dtype=object), y_train=Y))
    assert not sprung.exists()


BROKEN_MEMBERS = {
    "terabytes": array_header("(1000000000000, 2)"),
    "10^30 rows": array_header("(1" + "0" * 30 + ", 2)"),
    "negative": array_header("(-5, 2)"),
    "bool": array_header("(True,)"),
    "python 2": array_header("(5L, 2)"),
    "unclosed": array_header("(5, 2"),
    "unclosed string": array_header("'''"),
    "deep": array_header("(" * 3000),
    "deep minus": array_header("-" * 3000),
    "70 axes": array_header("(" + "1," * 70 + ")"),
    "list key": array_header("(5, 2), []: 1"),
    "bad dtype": with_header("{'descr': 'f8,(2,', 'fortran_order': False, 'shape': (1,)}"),
    "dtype 5": with_header("{'descr': 5, 'fortran_order': False, 'shape': (1,)}"),
    "indented": with_header("   {}\n  x"),
    "long": with_header("{" + " " * 20_000 + "}"),
    "not UTF-8": with_header("ÿ", version=3),
    "version 9": with_header("", version=9),
}


@pytest.mark.parametrize("member", BROKEN_MEMBERS.values(), ids=BROKEN_MEMBERS)
def test_a_broken_array_header_is_refused(raw, member):
    complaint(raw(archive({"x_train": member + bytes(64), "y_train": npy(Y)}), ".npz"))


@pytest.mark.parametrize(
    ("arrays", "missing"),
    [
        ({}, "x_train"),
        ({"X": X, "Y": Y}, "x_train"),
        ({"x_train": X}, "y_train"),
        ({"y_train": Y}, "x_train"),
        ({"x_train": X, "y_train": Y, "x_test": X}, "y_test"),
        ({"x_train": X, "y_train": Y, "y_valid": Y}, "x_valid"),
    ],
    ids=["nothing", "other names", "x alone", "y alone", "x_test alone", "y_valid alone"],
)
def test_a_missing_array_is_named_beside_those_that_are_there(npz, arrays, missing):
    message = complaint(npz(**arrays))
    assert missing in message
    assert all(name in message for name in arrays)


BAD_ARRAYS = {
    "too few labels": ("y", Y[:-1], ["40", "39"]),
    "one-hot": ("y", np.eye(3)[Y], ["(40, 3)"]),
    "0-d labels": ("y", np.array(1), ["()"]),
    "text labels": ("y", np.array(["cat", "dog"] * 20), ["<U3"]),
    "complex labels": ("y", Y.astype(complex), ["complex"]),
    "fractional": ("y", changed(Y.astype(float), 5, 1.5), ["1.5", "row 5"]),
    "nan label": ("y", changed(Y.astype(float), 5, np.nan), ["nan", "row 5"]),
    "inf label": ("y", changed(Y.astype(float), 5, np.inf), ["inf", "row 5"]),
    "2^63-1": ("y", changed(Y, 5, 2**63 - 1), []),
    "2^64-1": ("y", changed(Y.astype("u8"), 5, 2**64 - 1), []),
    "2^63": ("y", changed(Y.astype("u8"), 5, 2**63), []),
    "1e19": ("y", changed(Y.astype(float), 5, 1e19), []),
    "1e300": ("y", changed(Y.astype(float), 5, 1e300), []),
    "1-d": ("x", X[:, 0], ["(40,)"]),
    "0-d": ("x", np.array(1.0), ["()"]),
    "text": ("x", X.astype(str), ["<U"]),
    "bytes": ("x", X.astype("S"), ["S"]),
    "complex": ("x", X + 1j, ["complex"]),
    "dates": ("x", X.astype("M8[s]"), ["datetime64"]),
    "records": ("x", np.zeros((N, 3), "i4,f4"), ["f0"]),
    "no columns": ("x", X[:, :0], ["(40, 0)"]),
    "nan": ("x", changed(X, (7, 2), np.nan), ["nan", "row 7", "column 2"]),
    "inf": ("x", changed(X, (7, 2), -np.inf), ["inf", "row 7", "column 2"]),
    "inf16": ("x", changed(X, (7, 2), np.inf).astype("f2"), ["inf", "row 7", "column 2"]),
}


def test_names_in_the_file_cannot_write_on_the_terminal(raw):
    message = complaint(raw(archive({"\x1b]0;title\x07\x1b[31mred\n": npy(X)}), ".npz"))
    assert message.isprintable()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("letter", "values", "words"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_a_bad_array_is_named_with_what_is_wrong_in_it(npz, part, letter, values, words):
    arrays = {f"{p}_{q}": v for q in PARTS for p, v in (("x", X), ("y", Y))}
    message = complaint(npz(**arrays | {f"{letter}_{part}": values}))
    assert f"{letter}_{part}" in message
    assert all(word in message for word in words)


@pytest.mark.parametrize("part", PARTS)
def test_empty_arrays_are_refused_by_name(npz, part):
    arrays = {f"{p}_{q}": v for q in PARTS for p, v in (("x", X), ("y", Y))}
    assert f"x_{part}" in complaint(npz(**arrays | {f"x_{part}": X[:0], f"y_{part}": Y[:0]}))


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_label_that_training_never_saw_is_named(npz, part):
    message = complaint(npz(x_train=X, y_train=Y, **{f"x_{part}": X, f"y_{part}": changed(Y, 4, 3)}))
    assert f"y_{part}" in message
    assert "label 3" in message


@pytest.mark.parametrize("part", ["valid", "test"])
def test_parts_of_different_width_are_refused_with_both_widths(npz, part):
    message = complaint(npz(x_train=X, y_train=Y, **{f"x_{part}": X[:, :2], f"y_{part}": Y}))
    assert f"x_{part} has 2" in message
    assert "x_train has 3" in message


@pytest.mark.parametrize("label", [0, 1, 5])
def test_a_single_class_is_nothing_to_learn(npz, label):
    complaint(npz(x_train=X, y_train=np.full(N, label)))


def test_test_inputs_too_large_for_float32_are_refused(npz):
    message = complaint(npz(x_train=X, y_train=Y, x_test=changed(X, (7, 2), 1e300), y_test=Y))
    assert "x_test" in message


@pytest.mark.parametrize("rows", [1, 2])
def test_too_few_rows_to_hold_any_out_are_refused(npz, rows):
    complaint(npz(x_train=X[:rows], y_train=Y[:rows]))


def test_images_of_another_shape_in_another_part_are_refused(npz):
    x = np.zeros((40, 8, 8))
    assert "images of shape (4, 16)" in complaint(npz(x_train=x, y_train=Y, x_test=x.reshape(40, 4, 16), y_test=Y))
